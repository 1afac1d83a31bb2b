"""The 27 labels, their groups, their model heads, and which source wins when sources disagree.

Groups follow Murugadoss et al., Patterns 2021, Table 1: A is HIPAA Safe Harbor, B adds providers, C adds facilities,
states and countries. An AGE over 89 is in group A, any other AGE in group C.
"""

from typing import Final

LABELS: Final[tuple[str, ...]] = (
    "PATIENT", "DOCTOR", "USERNAME", "AGE", "DATE", "PHONE", "FAX", "EMAIL", "URL", "IPADDR", "SSN", "MEDICALRECORD",
    "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID", "IDNUM", "STREET", "CITY", "STATE", "COUNTRY",
    "ZIP", "HOSPITAL", "ORGANIZATION", "LOCATION-OTHER",
)  # fmt: skip

#: Head name to the labels it tags. One model head per entity class (Murugadoss et al., Supplementary Table 1).
HEADS: Final[dict[str, tuple[str, ...]]] = {
    "name": ("PATIENT", "DOCTOR", "USERNAME"),
    "location": ("STREET", "CITY", "STATE", "COUNTRY", "ZIP", "LOCATION-OTHER"),
    "organization": ("HOSPITAL", "ORGANIZATION"),
    "age": ("AGE",),
    "identifier": (
        "DATE", "PHONE", "FAX", "EMAIL", "URL", "IPADDR", "SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE",
        "VEHICLE", "DEVICE", "BIOID", "IDNUM",
    ),
}  # fmt: skip

HEAD_OF: Final[dict[str, str]] = {label: head for head, labels in HEADS.items() for label in labels}

_GROUP_B: Final = frozenset({"DOCTOR", "USERNAME"})
_GROUP_C: Final = frozenset({"HOSPITAL", "STATE", "COUNTRY", "LOCATION-OTHER"})


def group_of(label: str, *, age_years: float | None = None) -> str:
    """Return the smallest group, ``"A"``, ``"B"`` or ``"C"``, that ``label`` belongs to.

    An AGE is in A when ``age_years`` is over 89 and in C otherwise (younger ages may be kept under Safe Harbor).
    """
    if label == "AGE":
        return "A" if age_years is not None and age_years > 89 else "C"
    if label in _GROUP_C:
        return "C"
    return "B" if label in _GROUP_B else "A"


#: Source to rank; the lowest rank wins a conflict. The ranks of ``model:<head>`` follow Murugadoss et al.,
#: Supplementary Table 1, extended.
SOURCE_RANK: Final[dict[str, int]] = {
    "template": 0,
    "pattern": 1,
    "record": 2,
    "propagation:initials": 3,
    "model:name": 4,
    "model:location": 5,
    "model:age": 6,
    "model:organization": 7,
    "rule:people": 8,
    "model:identifier": 9,
    "rule:people:weak": 10,
    "propagation": 11,
    "rule:people:alone": 12,
    "pattern:weak": 13,
}

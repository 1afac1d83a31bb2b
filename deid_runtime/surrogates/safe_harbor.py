"""The Safe Harbor method, 45 CFR 164.514(b)(2)(i): which parts of dates, postal codes, ages and states may stay.

============================  =========  =======================================================================
labels                        paragraph  result
============================  =========  =======================================================================
PATIENT, DOCTOR, USERNAME     (A), (R)   replaced by the operator: surrogate, tag or mask
STREET, CITY, LOCATION-OTHER  (B)        replaced; a surrogate town is in the same state
HOSPITAL, ORGANIZATION        (A), (B)   replaced
STATE, COUNTRY                (B)        kept: not smaller than a state
ZIP                           (B)        the first three digits; 000 where 20,000 people or fewer live
                                         (:func:`restricted_zip3`); postal codes of other countries are replaced
DATE                          (C)        only the year stays. A date without a year is replaced by ``[DATE]``, a
                                         tag or a mask. A year that reveals an age over 89 becomes, for example,
                                         "1929 or earlier": 90 years before the note
AGE                           (C)        kept up to 89; "90+" or a similar form above
PHONE, FAX                    (D), (E)   replaced
EMAIL, URL, IPADDR            (F) (N-O)  replaced
SSN                           (G)        replaced
MEDICALRECORD, HEALTHPLAN     (H), (I)   replaced
ACCOUNT, LICENSE              (J), (K)   replaced
VEHICLE, DEVICE               (L), (M)   replaced
BIOID                         (P)        replaced
IDNUM                         (R)        replaced
============================  =========  =======================================================================

(Q), photographs, does not apply to text. In addition, (b)(2)(ii) requires that the discloser has no actual knowledge
that the remaining text could identify a person. No program can guarantee that, nor that every identifier was found.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Final

from deid_runtime.dates.parts import DateStyle
from deid_runtime.dates.stated import stated_decade
from deid_runtime.surrogates.over_89 import GROUPED_AGE_YEARS

#: Replaces a date that has no year to keep, when surrogates are wanted.
NO_YEAR: Final = "[DATE]"
#: The year of a note that names none. It is late, so that no year of birth of a person over 89 is kept by mistake.
UNKNOWN_NOTE_YEAR: Final = 2035

_RESTRICTED_FILE: Final = "zip3_restricted.txt"
_NO_ZIP3: Final = "000"
_ZIP: Final = re.compile(r"\d{3}(?:\d{2}(?:[-\s]?\d{4})?)?")


def year_alone(value: str, years: Sequence[int], style: DateStyle, note_year: int) -> str | None:
    """Return the part of a date of ``years`` that Safe Harbor allows: years or a decade, None when it names none.

    ``note_year`` is the year at which ages are stated. A year 90 years or more before it becomes "... or earlier".
    """
    years = list(dict.fromkeys(years))
    oldest = note_year - GROUPED_AGE_YEARS
    if years:
        if min(years) <= oldest:
            return f"{oldest} or earlier"
        return "-".join(str(year) for year in years)
    decade = stated_decade(value, style)
    if decade is None:
        return None
    return f"{oldest} or earlier" if decade <= oldest else f"{decade}s"


def zip3(value: str) -> str | None:
    """Return the first three digits of a United States postal code, or 000; None when ``value`` is not one."""
    digits = value.strip()
    if not _ZIP.fullmatch(digits) or not digits.isascii():
        return None
    return _NO_ZIP3 if digits[:3] in restricted_zip3() else digits[:3]


@lru_cache(maxsize=1)
def restricted_zip3() -> frozenset[str]:
    """Return the first three digits of postal codes with 20,000 people or fewer. The file names source and year."""
    text = (files("deid_runtime") / "data" / _RESTRICTED_FILE).read_text(encoding="utf-8")
    return frozenset(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


#: Labels whose values are kept.
KEPT: Final = frozenset({"STATE", "COUNTRY"})

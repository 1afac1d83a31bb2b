"""Find mentions of a person without a name in real prose, and what may replace each mention.

The rules read only the text. They need not find every mention, but everything that they find must be one. The sentence
must stay correct when a name replaces the mention.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from deid_runtime.lexicon.vocabulary import alternation, kin

#: patient: the patient. staff: a person who provides care. kin: a relative or friend. titled: the name after a title.
Role = Literal["patient", "staff", "kin", "titled"]


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch ``[start, end)`` of prose to be replaced by a name; a possessive one keeps or gets its ``'s``."""

    start: int
    end: int
    role: Role
    possessive: bool = False


_VERBS: Final = (
    r"was|is|has|had|denie[sd]|report(?:s|ed)|state[sd]|tolerate[sd]|underwent|present(?:s|ed)|will|did|does|complain(?:s|ed)|"
    r"remain(?:s|ed)|continue[sd]?|return(?:s|ed)|agree[sd]|appear(?:s|ed)|wants?|feels?|felt|takes?|took|received|"
    r"require[sd]|develop(?:s|ed)|came|went|says|said|notes|noted|describe[sd]|live[sd]|smoke[sd]|drinks|works|worked|"
    r"would|can|could|should|may|understands|understood|verbalized|failed|responded|started|stopped|began|needs|needed|"
    r"declined|refused|asked|called|met|saw|lost|gained|ambulated|walked|slept|ate|voided|arrived|recovered|admits|"
    r"desires|elected|wishes|gave|sustained|fell|performed|placed|made|used|examined|reviewed|recommended|discussed"
)
_STAFF: Final = (
    "surgeon|anesthesiologist|anesthetist|physician|nurse|therapist|assistant|resident|cardiologist|neurologist|"
    "oncologist|radiologist|pathologist|pediatrician|urologist|pulmonologist|nephrologist|dietitian|technologist|"
    "technician|psychiatrist|internist|hospitalist|primary care physician|PCP|attending physician|referring physician"
)
_KIN: Final = alternation(kin("mention"))
_PATIENT: Final = "patient|infant|child|baby|boy|girl|gentleman|lady|woman|man|pt|client|newborn"
_NOT_BEHIND: Final = r"(?![\w-]|[ ](?:population|care|safety|education|history|control|information|portal|list|years))"
#: A pronoun before one of these words is not possessive: `her was`.
_FUNCTION: Final = (
    "a an the and or but if of to in on at by for with from as is was are were be been has had have will would can "
    "could should may that this which who whom when while because so than then there here not no also just again now "
    "today yesterday home back up down out over under off about all both each more most other some such only own same "
    "very she he they it her his him them".split()
)

_RULES: Final[tuple[tuple[re.Pattern[str], Role, bool], ...]] = (
    (re.compile(rf"\b[Tt]h(?:e|is) (?:{_PATIENT})['\u2019]s(?= [a-z])"), "patient", True),
    (re.compile(rf"\b[Tt]h(?:e|is) (?:{_PATIENT}){_NOT_BEHIND}(?!['\u2019]s)"), "patient", False),
    (re.compile(rf"\b[Tt]he (?:{_STAFF})['\u2019]s(?= [a-z])"), "staff", True),
    (re.compile(rf"\b(?:[Tt]he|[Hh]is|[Hh]er|[Mm]y) (?:{_STAFF}){_NOT_BEHIND}(?!['\u2019]s)"), "staff", False),
    (re.compile(rf"\b(?:[Tt]he|[Hh]is|[Hh]er) (?:{_KIN})['\u2019]s(?= [a-z])"), "kin", True),
    (re.compile(rf"\b(?:[Tt]he|[Hh]is|[Hh]er) (?:{_KIN}){_NOT_BEHIND}(?!['\u2019]s)"), "kin", False),
    (re.compile(rf"(?:(?<=[.!?:] )|(?<=\n))(?:He|She|Patient|Pt)(?= (?:{_VERBS})\b)"), "patient", False),
    (re.compile(rf"(?<=[a-z,] )(?:he|she)(?= (?:{_VERBS})\b)"), "patient", False),
    (re.compile(
        r"(?:(?<=[.!?:] )|(?<=\n)|(?<=[a-z] ))(?:[Hh]is|[Hh]er)(?= (?!(?:" + "|".join(_FUNCTION) + r")\b)[a-z]{3,})"
    ), "patient", True),
    (re.compile(r"(?<=[a-z] )him(?=[ .,;])"), "patient", False),
    (re.compile(r"(?<=\bM[rs]\. )[A-Z][A-Za-z]{1,20}\b"), "titled", False),
    (re.compile(r"(?<=\bMrs\. )[A-Z][A-Za-z]{1,20}\b"), "titled", False),
    (re.compile(r"(?<=\bDr\. )[A-Z][A-Za-z]{1,20}\b"), "titled", False),
)  # fmt: skip


def find_mentions(text: str) -> list[Mention]:
    """Return the mentions of people in ``text``, sorted and disjoint; the first rule that matches a stretch wins."""
    taken: list[Mention] = []
    for mention in sorted(_all(text), key=lambda mention: (mention.start, -mention.end)):
        if not taken or taken[-1].end <= mention.start:
            taken.append(mention)
    return taken


def _all(text: str) -> Iterator[Mention]:
    for pattern, role, possessive in _RULES:
        for match in pattern.finditer(text):
            yield Mention(match.start(), match.end(), role, possessive)

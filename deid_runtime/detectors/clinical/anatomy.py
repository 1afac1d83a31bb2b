"""Levels of the spine, segments and ECG leads, with their numbers."""

import re
from typing import Final

from deid_runtime.detectors.clinical.rows import ClinicalRow
from deid_runtime.detectors.clinical.times import ORDINALS

ROWS: Final = (
    ClinicalRow(
        name="spine-level",
        kind="level",
        # "C5/6", "L4-5", "T11/12", "L5/S1". The letter must touch its number: "T 9/27" is "typed on 9/27".
        pattern=(
            r"(?P<letter>[CTLS])(?P<first>\d{1,2})[ ]?[-–/][ ]?(?P<other>[CTLS]?)(?P<second>\d{1,2})(?:[ "
            r"]?[-–/][ ]?[CTLS]?\d{1,2})?(?![\d/\w])"
        ),
        words=frozenset({"c", "t", "l", "s"}),
        check=lambda match: _is_level(match),
    ),
    ClinicalRow(
        name="rib-level",
        kind="level",
        pattern=(r"(?i:ribs?|cranial nerves?|CNs?)[ ](?:#[ ]?)?\d{1,2}(?:[ ]?[-–,&][ ]?\d{1,2}){0,4}(?![\d/:])"),
        words=frozenset("rib ribs cranial cn cns".split()),
    ),
    ClinicalRow(
        name="ordinal-part",
        kind="level",
        # "the 4th and 5th fingers", "the 1st and 2nd dose": parts and steps that are counted, not days of a month
        pattern=(
            rf"(?i:the)[ ]{ORDINALS}[ ](?i:(?:left|right|distal|proximal|lower|upper)[ ])?(?i:fingers?|toes?|digits?|"
            r"ribs?|metatarsals?|metacarpals?|phalan\w{2,4}|rays?|web ?spaces?|interspaces?|intercostal|knuckles?|"
            r"mtps?|mcps?|vertebra\w{0,2}|teeth|molars?|premolars?|ventricles?|cranial|nerves?|branch\w{0,2}|"
            r"portions?|trimesters?|percentiles?|centiles?|doses?|boosters?|injections?|infusions?|shots?|stages?|"
            r"degrees?|generations?|lines?|attempts?|episodes?|admissions?|pregnan\w{2,4}|deliver\w{1,3}|cycles?)\b"
        ),
        words=frozenset({"the"}),
        sure=True,
    ),
)

_LAST: Final = {"C": 8, "T": 12, "L": 5, "S": 5}


def _is_level(match: re.Match[str]) -> bool:
    """Return whether the second level is one of the next three, or in the region below: ``C5/6``, ``L5/S1``."""
    letter, first, second = match["letter"], int(match["first"]), int(match["second"])
    before = match.string[match.start() - 1 : match.start()]
    if before not in ("", " ", "(", "\n", "\t", ",", "/", "-", ";", ".") or not 1 <= first <= _LAST[letter]:
        return False
    if match["other"] and match["other"] != letter:
        return True
    return first < second <= min(first + 3, _LAST[letter] + 1)

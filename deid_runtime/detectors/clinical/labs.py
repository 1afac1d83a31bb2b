"""Laboratory values: the name of a test and the numbers after it."""

import re
from typing import Final

from deid_runtime.detectors.clinical.forms import (
    FILL,
    JOIN,
    NOT_AGE,
    NUMBER,
    SMALL,
    UNIT,
    anchors,
    any_of,
    by_lower_case,
    chain,
)
from deid_runtime.detectors.clinical.rows import ClinicalRow
from deid_runtime.lexicon.tables import listed_words, words_for

#: Tests whose values are below a thousand in the units of clinical notes.
_SMALL_TESTS: Final = words_for("measures", "small-test", "name", "uses")
#: Tests whose values can be in the thousands, like years.
_LARGE_TESTS: Final = words_for("measures", "large-test", "name", "uses")
#: The first words of the names of tests.
TEST_WORDS: Final = anchors((*_SMALL_TESTS, *_LARGE_TESTS))
_QUALIFIER: Final = r"(?:[ ](?i:ratio|level|count|titer|titre|peak|trough|quant|index|today|serum|total|absolute|%))?"

#: A number that may be a year counts only when no further number or colon follows: not ``ferritin 2019: 340``.
_LARGE: Final = rf"(?:(?!(?:19|20)\d\d(?:[ ]?:|[ ]{{1,2}}\d|[ ]?\()){NUMBER})"
_LATER: Final = rf"(?:(?!(?:19|20)\d\d(?!\d)){NUMBER})"

ROWS: Final = (
    ClinicalRow(
        name="lab-value",
        kind="lab",
        # In a table row, the next value may follow after white space only.
        pattern=(
            rf"{any_of(_SMALL_TESTS)}(?![^\W\d_]|['’]s){_QUALIFIER}{FILL}{chain(SMALL, 4)}(?:[ \t]{{1,"
            rf"4}}{SMALL}{NOT_AGE}(?=[ \t\n]|$)){{0,3}}"
        ),
        words=anchors(_SMALL_TESTS),
        check=lambda match: _is_written_as_test(match),
    ),
    ClinicalRow(
        name="lab-large-value",
        kind="lab",
        pattern=(
            rf"{any_of(_LARGE_TESTS)}(?![^\W\d_]|['’]s){_QUALIFIER}{FILL}{_LARGE}{NOT_AGE}(?:[ ]?{UNIT})?"
            rf"(?:{JOIN}{_LATER}{NOT_AGE}(?:[ ]?{UNIT})?){{0,5}}"
        ),
        words=anchors(_LARGE_TESTS),
        check=lambda match: _is_written_as_test(match),
    ),
    ClinicalRow(
        name="lab-sequence",
        kind="sequence",
        # "glucose 388-291-204-168", "Cr 1.2/1.4/1.9": three or more values, none of them a year
        pattern=(
            rf"{any_of(_SMALL_TESTS)}(?![^\W\d_]|['’]s){FILL}\d{{1,3}}(?:\.\d{{1,2}})?(?:(?P<by>[ ]?(?:[-/>]|"
            rf"->|→)[ ]?)\d{{1,3}}(?:\.\d{{1,2}})?(?![\d])){{2,9}}"
        ),
        words=anchors(_SMALL_TESTS),
        check=lambda match: (
            _is_written_as_test(match) and ("." in match[0] or match[0].count("-") + match[0].count(">") > 2)
        ),
    ),
    ClinicalRow(
        name="lab-calcium",
        kind="lab",
        # "CA" and "ca" are omitted: they also mean cancer, California and calendar age.
        pattern=r"(?:Ca|iCa|Ca\+\+|corr(?:ected)? Ca)[ :=]{1,2}\d{1,2}\.\d{1,2}(?!\d)",
        words=frozenset({"ca", "ica", "corr", "corrected"}),
    ),
    ClinicalRow(
        name="lab-blood-gas",
        kind="lab",
        pattern=(
            r"[67]\.\d{1,2}[ ]?/[ ]?\d{1,3}(?:\.\d)?[ ]?/[ ]?\d{1,3}(?:\.\d)?(?:[ ]?/[ ]?[-+]?\d{1,"
            r"3}(?:\.\d)?){0,2}(?![\d/])"
        ),
        at_numbers=True,
        after=".",
    ),
)

#: Tests whose names are also words, units, initials or codes: they count as tests only in this case.
_CASES: Final = by_lower_case(listed_words("clinical_words", "test-case"))


def _is_written_as_test(match: re.Match[str]) -> bool:
    """Return whether the name is written as a test: ``PT 14``; not ``pt 14`` or a code (``CEA-19-2562``, ``H-114``)."""
    text, start = match.string, match.start()
    word = re.match(r"[^\W\d_]+", match[0])
    if word is None or text[start - 1 : start] in ("-", "_", "#", "@"):
        return False
    if re.match(r"[A-Z]{1,4}-?\d{2,}-?\d*$", match[0]):
        return False  # no gap before the number: a code
    cases = _CASES.get(word.group().lower())
    return cases is None or word.group() in cases

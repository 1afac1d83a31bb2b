"""Parts of patterns that several families share: numbers, units, and the text between a name and its value."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from deid_runtime.detectors.patterns.words import either

#: A number of any size: ``4``, ``4.1``, ``1,250``, ``<0.01``, ``+2``.
NUMBER: Final = r"(?:[<>≤≥~≈=±]{0,2}[ ]?[+−]?\d{1,6}(?:[.,]\d{1,4})?(?![\d/]|-\d|[ ]\d{2,4}[ -]\d))"
#: A number of up to three figures before the point that is not part of a date or of a longer number with spaces.
SMALL: Final = r"(?:[<>≤≥~≈=±]{0,2}[ ]?[+−]?\d{1,3}(?:\.\d{1,3})?(?![\d/]|\.\d|-\d{1,3}-|[ ]\d{3}[ ]\d))"

#: Text after an age that never follows another number.
AGE_BEHIND: Final = (
    r"(?:[ \t\-]{0,3}(?:y\.?[ ]?/?[ ]?o\b|y\.o|yo[MFmf]?\b|y\b|yrs?\b|years?\b|year-|[MF]\b(?!/)|mos?\b|months?\b|"
    r"(?:fe)?male\b|man\b|woman\b|boy\b|girl\b|gentleman\b|lady\b|g\d))"
)
#: Words about trend and time between a name and its value. They do not change what the number measures.
_COURSE: Final = (
    r"now|was|is|were|are|of|to|up|down|low|high|normal|level|levels|count|score|today|tonight|"
    r"yesterday|remains|remained|stable|"
    r"steady|about|around|approx|came|back|trending|improved|improving|rose|fell|fallen|dropped|"
    r"dropping|increased|decreased|"
    r"still|this|last|am|pm|morning|night|run|ran|running|hovering|between|has|been|went|being|peaked|peak|nadir|"
    r"recheck|repeat|repeated|then|initially|currently|mid|upper|lower|only|just|better|worse|slightly|max|min|avg|"
    r"mean|goal|target|total|fasting|random|trough|on arrival|on admission|on presentation|on recheck|H|L|HH|LL|WNL"
)
_MARKS: Final = r"[:=~<>≥≤→↑↓]|-{1,2}>|[-–—](?=[ ])"
#: Between the name of a value and the value.
FILL: Final = rf"(?:[ \t]{{0,3}}(?:{_MARKS}|\b(?:{_COURSE})\b\.?)){{0,5}}[ \t]{{0,3}}"
#: Text between two values of one name. A comma needs a word after it, because an age or a date may also follow it.
JOIN: Final = (
    rf"(?:(?:[ \t]{{0,2}}[,;]?[ \t]{{0,2}}(?:{_MARKS}|\b(?:{_COURSE}|from|and|or|was|the)\b\.?)){{1,5}}[ \t]{{0,3}}|"
    r"[ ]?[-–][ ]?|[ ]?\([ ]?(?=[^)\n]{1,12}\)))"
)
#: A unit after a value; no unit is an ordinary word.
UNIT: Final = (
    r"(?:%|°[ ]?[CF]?|(?:m[cg]|[munp]?c?g|µg|μg|mEq|meq|mmol|umol|µmol|nmol|pmol|m?IU|m?U|units?|cells|copies|kg|K)"
    r"(?:/(?:[dmuµ]?[Ll]|kg|hr?|min|day|d|g|mL|24[ ]?h|hpf))?|mm[ ]?Hg|bpm|s|sec|hpf|/hpf|x10\S{0,6}|K/uL|M/uL)(?![\w])"
)
NOT_AGE: Final = rf"(?!{AGE_BEHIND})"


def words_of(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list, without white space around them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def by_lower_case(words: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Return each of ``words`` in lower case -> the cases in which it stands there."""
    found: dict[str, set[str]] = {}
    for word in words:
        found.setdefault(word.lower(), set()).add(word)
    return {word: frozenset(cases) for word, cases in found.items()}


def any_of(names: Iterable[str]) -> str:
    """Return a pattern for any of ``names`` in any case; a space in a name may be a hyphen."""
    return f"(?i:{either(sorted({name.lower() for name in names}))})".replace(r"\ ", r"[ \-]?")


def anchors(names: Iterable[str]) -> frozenset[str]:
    """Return the first run of letters of each name, in lower case: the words at which its row is tried."""
    found = (re.search(r"[^\W\d_]+", name) for name in names)
    return frozenset(match.group().lower() for match in found if match is not None)


def chain(value: str, most: int, join: str = JOIN) -> str:
    """Return a pattern for a ``value`` and up to ``most`` further values, each after a ``join``."""
    single = rf"{value}{NOT_AGE}(?:[ ]?{UNIT})?"
    return rf"{single}(?:{join}{single}){{0,{most}}}"

"""What surrogates of numbers and places must share with their originals, told without any code that makes surrogates.

Check digits are computed anew here and the lists of places are read as files: see ``surrogate_forms.py``.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from surrogate_forms import bare, rows

_SAID: Final = {
    word: kind
    for kind, words in (
        ("unit", "oh zero one two three four five six seven eight nine"),
        ("teen", "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"),
        ("tens", "twenty thirty forty fifty sixty seventy eighty ninety"),
    )
    for word in words.split()
}


def shape(value: str) -> str:
    """Return ``value`` with 9 for a digit, A and a for letters.

    A number said in words has the kinds of the words for its shape: ``sixty seventeen`` that of ``forty fifteen``.
    """
    words = re.findall(r"[^\W\d_]+", value.lower())
    if len(words) > 2 and all(word in _SAID for word in words):
        return re.sub(r"[^\W\d_]+", lambda match: _SAID[match[0].lower()], re.sub(r"\d", "9", value))
    return "".join(
        "9" if char.isdigit() else ("a" if char.islower() else "A") if char.isalpha() else char for char in value
    )


def passes_luhn(digits: str) -> bool:
    """Say whether the last of the digits is the Luhn check digit of the others."""
    doubled = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def check_kinds(value: str) -> set[str]:
    """Return which check digits hold in an identifier: ``npi``, ``nhs``, ``dea``, ``luhn``; one of ten by chance."""
    code = re.sub(r"[\s-]", "", value).upper()
    kinds = set()
    if re.fullmatch(r"[12]\d{9}", code) and passes_luhn("80840" + code):
        kinds.add("npi")
    if (
        re.fullmatch(r"\d{10}", code)
        and sum(int(d) * w for d, w in zip(code, (*range(10, 1, -1), 1), strict=True)) % 11 == 0
    ):
        kinds.add("nhs")
    if re.fullmatch(r"[A-Z][A-Z9]\d{7}", code):
        d = [int(char) for char in code[2:]]
        if (d[0] + d[2] + d[4] + 2 * (d[1] + d[3] + d[5])) % 10 == d[6]:
            kinds.add("dea")
    if re.fullmatch(r"\d{12,19}", code) and passes_luhn(code):
        kinds.add("luhn")
    return kinds


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """US states by every spelling, and what lies in each: towns, ZIP3 from and to, area codes."""

    states: Mapping[str, str]
    towns: Mapping[str, frozenset[str]]
    zips: Mapping[str, tuple[int, int]]
    area_codes: Mapping[str, frozenset[str]]


def read_gazetteer() -> Gazetteer:
    """Read the places that travel with the package."""
    states, zips, codes = {}, {}, {}
    named = {code: (name, short) for code, name, country, short, _ in rows("states.tsv", "lexicon") if country == "US"}
    for code, span, area in rows("us_states.tsv"):
        name, short = named[code]
        states.update(dict.fromkeys((bare(code), bare(name), bare(short)), code))
        first, last = span.split("-")
        zips[code] = (int(first), int(last))
        codes[code] = frozenset(area.split(","))
    towns: dict[str, frozenset[str]] = {}
    for name in ("us_cities.tsv", "us_towns.tsv"):
        for code, listed in rows(name):
            here = frozenset(bare(town.rsplit(" ", 1)[0]) for town in listed.split(","))
            towns[code] = towns.get(code, frozenset()) | here
    return Gazetteer(states, towns, zips, codes)


COUNTY: Final = re.compile(r"(?i)\b(?:county|co|parish|township|twp)\b")
_FACILITY_KINDS: Final = frozenset(
    """hospital clinic center centre pharmacy hospice church school university college elementary rehab nursing home
    dialysis laboratory lab imaging associates group institute medical surgical department police bank company inc
    llc""".split()
)
_STREET_KINDS: Final = frozenset(
    """street st avenue ave road rd lane ln drive dr court ct blvd boulevard way highway hwy apt unit room rm bed floor
    ward building wing suite ste""".split()
)


def kind_word(value: str, *, is_facility: bool) -> str:
    """Return the last word, not the first, that says of what kind a place is: the clinic of ``King Road Clinic``."""
    words = re.findall(r"(?<!\d)[^\W\d_]+", value.lower())
    kinds = _FACILITY_KINDS if is_facility else _STREET_KINDS
    return next((word for word in reversed(words[1:] if is_facility else words) if word in kinds), "")


def acronym(name: str) -> str:
    """Return the first letters of the words of a name, ``of``, ``the`` and their like left out."""
    words = [word for word in re.findall(r"[^\W\d_]+", name) if word.lower() not in ("of", "the", "and", "at", "for")]
    return "".join(word[0] for word in words).upper()


def area_code(number: str) -> str:
    """Return the area code of a North American telephone number, or nothing."""
    digits = re.sub(r"\D", "", number)
    digits = digits[1:] if len(digits) == 11 and digits[0] == "1" else digits
    return digits[:3] if len(digits) == 10 and not number.startswith("+") else ""


def neighbours(spans: list[tuple[int, int]], text: str) -> Iterator[tuple[int, int]]:
    """Yield the indices of spans ``[start, end)`` with at most four characters, no letter or digit, between them."""
    for left, right in pairwise(range(len(spans))):
        gap = text[spans[left][1] : spans[right][0]]
        if len(gap) <= 4 and not any(map(str.isalnum, gap)):
            yield left, right

"""The names of one person in a text: which words are meant, and how far a mention reaches."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from deid_runtime.name_cues import PARTICLES, fold, follows_title, is_eponym, is_ordinary, is_staff
from deid_runtime.spans import Span

_SOURCES: Final = ("record",)


@dataclass(frozen=True, slots=True)
class Person:
    """The words of one person's names, folded."""

    label: str
    given: frozenset[str] = field(repr=False)
    family: frozenset[str] = field(repr=False)
    initials: frozenset[str] = field(repr=False)
    long: frozenset[str] = field(repr=False)  # names that are still themselves with one letter wrong


_WORD: Final = re.compile(r"[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*")
_GAP: Final = re.compile(
    r"[.]?[ \t]{0,3}|[ \t]{0,2},[ \t]{0,3}|['\u2019\-\u2010.]|[ \t][\"\u201c(]|[\"\u201d)][,]?[ \t]?"
)
_POSSESSIVE: Final = re.compile(r"['\u2019]s?\b|['\u2019](?= )")
_SUFFIXES: Final = frozenset({"Jr", "Sr", "JR", "SR", "II", "III"})
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?:;\n\r•*#>|/\-\u2013—(\[\"\u201c])[\s\d.)]*$")
_NO_INITIALS: Final = frozenset(
    {
        "md", "do", "pa", "np", "rn", "pt", "ot", "po", "pr", "iv", "im", "sq", "am", "pm", "us", "uk", "bp", "hr",
        "ob", "gi", "gu", "ed", "er", "or", "ct", "mr", "ms", "dr", "st",
    }
)  # fmt: skip
#: Capitalised wherever they stand.
_CALENDAR: Final = frozenset(
    {
        "april",
        "may",
        "june",
        "august",
        "summer",
        "autumn",
        "mon",
        "tue",
        "wed",
        "thu",
        "fri",
        "sat",
        "sun",
        "jan",
        "mar",
        "jun",
    }
)


def name_parts(value: str) -> tuple[list[str], list[str]]:
    """Split ``Family, Given`` or ``Given Family`` into given and family names."""
    family, comma, given = value.partition(",")
    if comma:
        return [given], [family]
    given, _, family = value.rpartition(" ")
    return [given], [family]


def read_person(label: str, given: Sequence[str], family: Sequence[str]) -> Person:
    """Take given and family names, each perhaps of several words, apart."""
    given_words = {fold(word) for name in given for word in _WORD.findall(name)}
    family_words = {fold(word) for name in family for word in _WORD.findall(name)}
    return Person(
        label,
        frozenset(word for word in given_words if len(word) > 1) - PARTICLES,
        frozenset(word for word in family_words if len(word) > 1) - PARTICLES,
        frozenset(word[0] for word in given_words | family_words if word),
        frozenset(word for word in given_words | family_words if len(word) >= 6 and not is_ordinary(word)),
    )


class _Word(NamedTuple):
    start: int
    end: int
    text: str
    folded: str


def find_names(text: str, persons: Sequence[Person]) -> set[Span]:
    """Return a span for every mention of one of ``persons`` in ``text``."""
    found = (_Word(*match.span(), match[0], fold(match[0])) for match in _WORD.finditer(text))
    words = [word for word in found if word.folded]  # a mark of voice alone folds to nothing
    spans: set[Span] = set()
    for person in persons:
        last = -1
        for at in _parts(words, person, text):
            if at > last:
                first, last = _mention(text, words, at, last + 1, person)
                span = _judge(text, words[first : last + 1], person)
                if span is not None:
                    spans.add(span)
        spans.update(_find_initials(text, person))
    return spans


def _parts(words: Sequence[_Word], person: Person, text: str) -> list[int]:
    """Return the indices of the words that are a part of the name, perhaps misspelt."""
    names, starts = person.given | person.family, {name[0] for name in person.long}
    return [
        at
        for at, word in enumerate(words)
        if word[3] in names or (word[3][0] in starts and len(word[3]) >= 5 and _is_misspelt(word, person, text))
    ]


def _is_misspelt(word: _Word, person: Person, text: str) -> bool:
    """Say whether one letter of a long name, not the first, was changed, left out, added, or swapped with the next.

    Ordinary words, and words whose capital only begins a sentence, are taken for what they are.
    """
    return (
        word.text[0].isupper()
        and any(_distance_is_one(word.folded, name) for name in person.long)
        and not is_ordinary(word.folded)
        and _SENTENCE_START.search(text, max(word.start - 8, 0), word.start) is None
    )


def _distance_is_one(left: str, right: str) -> bool:
    if left[0] != right[0] or abs(len(left) - len(right)) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    if len(left) == len(right):
        is_swap = left[at : at + 2] == right[at : at + 2][::-1] and left[at + 2 :] == right[at + 2 :]
        return is_swap or left[at + 1 :] == right[at + 1 :]
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    return longer[at + 1 :] == shorter[at:]


def _mention(text: str, words: Sequence[_Word], at: int, earliest: int, person: Person) -> tuple[int, int]:
    """Return the first and last index of the words, from ``earliest`` on, that stand with ``words[at]`` as one name."""
    first = last = at
    while first > earliest and _belongs(words[first - 1], person) and _joined(text, words[first - 1], words[first]):
        first -= 1
    while last + 1 < len(words) and _joined(text, words[last], words[last + 1]):
        following = words[last + 1]
        if "," in text[words[last].end : following.start] and any(
            word.folded == following.folded for word in words[first : last + 1]
        ):
            break  # the next of a list: John Smith, John
        # John C. Smith: a letter the record does not know, when the name goes on behind it
        is_bridge = (
            len(following.text) == 1
            and following.text.isupper()
            and last + 2 < len(words)
            and words[last + 2].folded in person.family
            and _joined(text, following, words[last + 2])
        )
        is_suffix = following.text in _SUFFIXES and words[last].folded in person.family
        if not (_belongs(following, person) or is_bridge or is_suffix):
            break
        last += 1
    while last > at and words[last].folded in PARTICLES and words[last].folded not in person.family:
        last -= 1
    return first, last


def _belongs(word: _Word, person: Person) -> bool:
    if len(word.text) == 1:
        return word.text.isupper() and word.folded in person.initials
    return word.folded in person.given or word.folded in person.family


def _joined(text: str, left: _Word, right: _Word) -> bool:
    gap = right.start - left.end
    if gap > 4 or _GAP.fullmatch(text, left.end, right.start) is None:
        return False
    # Columns of a table are set apart by spaces; a letter there is a column of its own.
    return gap < 2 or (len(right.text) > 1 and len(left.text) > 1) or "  " not in text[left.end : right.start]


def _judge(text: str, words: Sequence[_Word], person: Person) -> Span | None:
    """Return the span of a mention, or None where it is only a word."""
    start, end = words[0].start, words[-1].end
    if len(words[-1].text) == 1 and text[end : end + 1] == ".":
        end += 1
    parts = [word for word in words if len(word.text) > 1]
    is_given = any(word.folded in person.given for word in parts)
    is_family = any(word.folded in person.family for word in parts)
    is_full = len({word.folded for word in parts}) > 1 and is_given and is_family
    span = Span(start, end, "DOCTOR" if is_staff(text, start, end) else person.label, 1.0, _SOURCES)
    if follows_title(text, start):
        return span
    if is_eponym(text, start, end):
        return None
    is_capitalised = all(word.text[0].isupper() for word in parts)
    is_strong = any(len(word.folded) > 2 and not is_ordinary(word.folded) for word in parts)
    if is_full:
        return span if is_capitalised or is_strong else None
    if is_strong:
        shortest = 3 if is_capitalised else 4
        return span if max(len(word.text) for word in parts) >= shortest else None
    with_initial = len(words) > len(parts)
    if with_initial and is_capitalised:
        return span
    return span if is_capitalised and _is_name_by_place(text, parts[0]) else None


def _is_name_by_place(text: str, word: _Word) -> bool:
    """Say whether an ordinary word, capitalised, stands where only a name is."""
    if len(word.text) < 3 or word.text.isupper() or word.folded in _CALENDAR:
        return False
    if _POSSESSIVE.match(text, word.end):  # Hodgkin's, Graves': more often the disease
        return False
    if _SENTENCE_START.search(text, max(word.start - 8, 0), word.start):
        return False
    following = _WORD.search(text, word.end, word.end + 20)
    previous = text[max(word.start - 20, 0) : word.start].split()
    # In headings and names of things the words beside are capitalised as well.
    is_beside_capitals = (
        following is not None and following[0][0].isupper() and text[word.end : following.start()] == " "
    ) or (bool(previous) and previous[-1][:1].isupper())
    return not is_beside_capitals


@lru_cache(maxsize=512)
def _initials_pattern(person: Person) -> re.Pattern[str] | None:
    given = {word[0] for word in person.given}
    family = {word[0] for word in person.family}
    pairs = sorted(f"{g}{f}" for g in given for f in family if f"{g}{f}" not in _NO_INITIALS)
    if not pairs:
        return None
    forms = "|".join(rf"{g}\.\s?(?:[A-Z]\.\s?)?{f}\." for g, f in (tuple(pair.upper()) for pair in pairs))
    return re.compile(rf"(?<![\w.])(?:{forms})(?![\w])")


def _find_initials(text: str, person: Person) -> Iterator[Span]:
    pattern = _initials_pattern(person)
    if pattern is not None:
        for match in pattern.finditer(text):
            yield Span(match.start(), match.end(), person.label, 1.0, _SOURCES)

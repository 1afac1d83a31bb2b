"""Find the names of persons in a text: decide which words belong to a mention and where it ends."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from deid_runtime.lexicon.name_cues import PARTICLES, fold, is_name_first, is_ordinary, is_staff
from deid_runtime.lexicon.name_slots import (
    begins_sentence,
    is_abbreviated,
    joins_across_lines,
    may_be_initial,
    meant_words,
    start_of_name,
)
from deid_runtime.lexicon.vocabulary import credential_keys
from deid_runtime.spans import Span

_SOURCES: Final = ("record",)


@dataclass(frozen=True)
class RecordPerson:
    """The folded words of one person's names."""

    label: str
    given: frozenset[str] = field(repr=False)
    family: frozenset[str] = field(repr=False)
    initials: frozenset[str] = field(repr=False)
    particles: frozenset[str] = field(repr=False)  # in the names, such as *de la*
    long: frozenset[str] = field(repr=False)  # names long enough to match with one wrong letter

    @cached_property
    def initials_pattern(self) -> re.Pattern[str] | None:
        """The pattern of two initials with full stops (``J.S.``); None if every pair would be a word or title."""
        given = {word[0] for word in self.given}
        family = {word[0] for word in self.family}
        pairs = sorted(f"{g}{f}" for g in given for f in family if f"{g}{f}" not in _NO_INITIALS)
        if not pairs:
            return None
        forms = "|".join(rf"{g}\.\s?(?:[A-Z]\.\s?)?{f}\." for g, f in (tuple(pair.upper()) for pair in pairs))
        return re.compile(rf"(?<![\w.])(?:{forms})(?![\w])")


_WORD: Final = re.compile(r"[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*")
_GAP: Final = re.compile(
    r"[.]?[ \t]{0,3}|[ \t]{0,2},[ \t]{0,3}|['\u2019\-\u2010.]|[ \t][\"\u201c(]|[\"\u201d)][,]?[ \t]?"
)
_COMPOUND: Final = re.compile(r"[^\W\d_]+(?:['\u2019\-\u2010][^\W\d_]+)+")
_HYPHENS: Final = ("-", "\u2010")
_MARKS: Final = re.compile(r"['\u2019\-\u2010]")
_LINE_END: Final = re.compile(r"[ \t]{0,3},?[ \t]?\r?\n[ \t]{0,4}")
_MOST_WORDS: Final = 12  # in a mention, to either side of a part of the name
_LONGEST_GAP: Final = 9
_SUFFIXES: Final = frozenset({"Jr", "Sr", "JR", "SR", "II", "III"})
_NO_INITIALS: Final = frozenset(
    {
        *credential_keys("not-initials"), "po", "pr", "iv", "im", "sq", "am", "pm", "us", "uk", "bp", "hr",
        "ob", "gi", "gu", "ed", "er", "or", "ct", "mr", "ms", "dr", "st",
    }
)  # fmt: skip


def name_parts(value: str) -> tuple[list[str], list[str]]:
    """Split ``Family, Given`` or ``Given Family`` into given and family names."""
    family, comma, given = value.partition(",")
    if comma:
        return [given], [family]
    given, _, family = value.rpartition(" ")
    return [given], [family]


def read_person(label: str, given: Sequence[str], family: Sequence[str]) -> RecordPerson:
    """Return the person with these given and family names, each of which may have several words."""
    given_words, family_words = _words_of(given), _words_of(family)
    particles = PARTICLES & (given_words | family_words) - _ends(given) - _ends(family)
    return RecordPerson(
        label,
        frozenset(word for word in given_words if len(word) > 1) - particles,
        frozenset(word for word in family_words if len(word) > 1) - particles,
        frozenset(word[0] for word in given_words | family_words if word),
        particles,
        frozenset(word for word in given_words | family_words if len(word) >= 6 and not is_ordinary(word)),
    )


def _words_of(names: Sequence[str]) -> set[str]:
    """Return the folded words of ``names``; compounds with an apostrophe or hyphen also as one word."""
    words = {fold(word) for name in names for word in _WORD.findall(name)}
    return words | {fold(_MARKS.sub("", compound)) for name in names for compound in _COMPOUND.findall(name)}


def _ends(names: Sequence[str]) -> frozenset[str]:
    """Return the folded last words of ``names``: *Le* and *Do* are particles only before another name."""
    words = (_WORD.findall(name) for name in names)
    return frozenset(fold(found[-1]) for found in words if found)


class _Word(NamedTuple):
    start: int
    end: int
    text: str
    folded: str
    is_particle: bool = False


def find_names(text: str, persons: Sequence[RecordPerson]) -> set[Span]:
    """Return a span for every mention of one of ``persons`` in ``text``."""
    found = (_Word(*match.span(), match[0], fold(match[0])) for match in _WORD.finditer(text))
    words = [word for word in found if word.folded]  # a lone diacritic folds to an empty string
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


def _parts(words: Sequence[_Word], person: RecordPerson, text: str) -> list[int]:
    """Return the indices of the words that are a part of the name, correct or misspelt."""
    names, starts = person.given | person.family, {name[0] for name in person.long}
    return [
        at
        for at, word in enumerate(words)
        if word[3] in names or (word[3][0] in starts and len(word[3]) >= 5 and _is_misspelt(word, person, text))
    ]


def _is_misspelt(word: _Word, person: RecordPerson, text: str) -> bool:
    """Return whether the word is a long name with one edit: a letter changed, left out, added, or two swapped.

    The first letter must be correct. Ordinary words, and words whose capital only begins a sentence, do not count.
    """
    return (
        word.text[0].isupper()
        and any(_distance_is_one(word.folded, name) for name in person.long)
        and not is_ordinary(word.folded)
        and not begins_sentence(text, word.start)
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


def _mention(text: str, words: Sequence[_Word], at: int, earliest: int, person: RecordPerson) -> tuple[int, int]:
    """Return the first and last index of the words that form one name with ``words[at]``, from ``earliest`` on."""
    first = last = at
    while (
        first > max(earliest, at - _MOST_WORDS)
        and _belongs(words[first - 1], person)
        and (len(words[first - 1].text) > 1 or may_be_initial(text, words[first - 1].start))
        and _joined(text, words[first - 1], words[first], person)
    ):
        first -= 1
    while last + 1 < min(len(words), at + _MOST_WORDS) and _joined(text, words[last], words[last + 1], person):
        following = words[last + 1]
        if ("," in text[words[last].end : following.start] or is_ordinary(following.folded)) and any(
            word.folded == following.folded for word in words[first : last + 1]
        ):
            break  # a new mention (John Smith, John) or an ordinary word (Kham Was was)
        # John C. Smith: the record lacks this initial, but the family name follows it.
        is_bridge = (
            len(following.text) == 1
            and following.text.isupper()
            and last + 2 < len(words)
            and words[last + 2].folded in person.family
            and _joined(text, following, words[last + 2], person)
        )
        is_suffix = (
            following.text in _SUFFIXES
            and words[last].folded in person.family
            and text[words[last].end : following.start] in (" ", ", ", ",")
        )
        if not (_belongs(following, person) or is_bridge or is_suffix):
            break
        if (
            len(following.text) == 1
            and not is_bridge
            and not _is_trailing_initial(text, words[first : last + 2], person)
        ):
            break
        last += 1
    return first, last


def _belongs(word: _Word, person: RecordPerson) -> bool:
    if len(word.text) == 1 and word.text.isupper():
        return word.folded in person.initials
    return word.folded in person.given or word.folded in person.family or word.folded in person.particles


def _is_trailing_initial(text: str, words: Sequence[_Word], person: RecordPerson) -> bool:
    """Return whether the letter that ends ``words`` is an initial, and not *M.D.*, *I* or a side (*R hip*)."""
    letter = words[-1]
    if is_abbreviated(text, letter.end) or not may_be_initial(text, letter.start):
        return False
    if text[letter.end : letter.end + 1] == ".":
        return True
    has_given = any(word.folded in person.given for word in words[:-1])
    return letter.text not in "AI" and not (has_given and "," in text[words[-2].end : letter.start])


def _joined(text: str, left: _Word, right: _Word, person: RecordPerson) -> bool:
    gap = right.start - left.end
    if gap > _LONGEST_GAP:
        return False
    if _LINE_END.fullmatch(text, left.end, right.start) is not None:
        return _order([left, right], person) is not None and joins_across_lines(text, left, right)
    if gap > 4 or _GAP.fullmatch(text, left.end, right.start) is None:
        return False
    between = text[left.end : right.start]
    if ("." in between and len(left.text) > 1) or ("," in between and len(left.text) == 1):
        return False
    # "Bao, her mother, came": after a comma, an ordinary word belongs to the name only as a capitalised given name.
    is_word = len(right.text) > 1 and is_ordinary(right.folded) and not is_name_first(right.folded)
    if "," in between and is_word and not (right.folded in person.given and right.text[0].isupper()):
        return False
    # Several spaces separate table columns; a single letter there is its own column.
    return gap < 2 or (len(right.text) > 1 and len(left.text) > 1) or "  " not in between


def _order(parts: Sequence[_Word], person: RecordPerson) -> bool | None:
    """Return whether given names stand before family names; None when one of the two is missing."""
    given = [at for at, part in enumerate(parts) if part.folded in person.given]
    family = [at for at, part in enumerate(parts) if part.folded in person.family]
    if not given or not family or given == family == [0]:
        return None
    return given[0] < family[-1]


def _place(text: str, parts: Sequence[_Word], person: RecordPerson) -> bool | None:
    """Return the same as :func:`_order`; both parts of a double name (*Min-jun*) also count as in order."""
    order = _order(parts, person)
    if order is None and all(text[left.end : right.start] in _HYPHENS for left, right in pairwise(parts)):
        return (
            True
            if len(parts) > 1
            and any({part.folded for part in parts} <= names for names in (person.given, person.family))
            else None
        )
    return order


def _judge(text: str, words: Sequence[_Word], person: RecordPerson) -> Span | None:
    """Return the span of a mention; None when the words are not meant as a name."""
    words = [word._replace(is_particle=word.folded in person.particles) for word in words]
    meant = meant_words(text, words, lambda parts: _place(text, parts, person))
    if not meant:
        return None
    start, end = start_of_name(text, meant[0].start), meant[-1].end
    if len(meant[-1].text) == 1 and text[end : end + 1] == ".":
        end += 1
    return Span(start, end, "DOCTOR" if is_staff(text, start, end) else person.label, 1.0, _SOURCES)


def _find_initials(text: str, person: RecordPerson) -> Iterator[Span]:
    pattern = person.initials_pattern
    if pattern is not None:
        for match in pattern.finditer(text):
            yield Span(match.start(), match.end(), person.label, 1.0, _SOURCES)

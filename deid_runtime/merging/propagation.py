"""Find repeated mentions: look up what detectors found once in the rest of the same note.

Propagation repeats names, numbers, e-mail addresses, streets, facilities and employers whose detector is certain.
It finds full names and their parts (``Okafor`` after ``Rosalind Okafor``), and initials and usernames that are built
from a name in the note.

Ages, dates, short numbers and short names of places are not repeated, because they can mean something else elsewhere.
A part of a name that is also an ordinary word is repeated only beside a title or another part of the name.

The search takes one pass over the words of the note, whatever the number of spans.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Final, NamedTuple

from deid_runtime.labels import SOURCE_RANK
from deid_runtime.lexicon.name_cues import PARTICLES, fold, is_name_first, is_ordinary, is_staff
from deid_runtime.lexicon.name_slots import (
    is_abbreviated,
    is_title_before,
    joins_across_lines,
    may_be_initial,
    meant_words,
    start_of_name,
)
from deid_runtime.merging.initials import INTRODUCED, InitialsFinder, find_listed
from deid_runtime.merging.usernames import UsernameFinder
from deid_runtime.spans import Span

#: Minimum score of a span to propagate. A propagated span has the score of the span it repeats.
MIN_SCORE: Final = 0.7
#: Minimum score of a span that only models found and that consists of ordinary words.
_MIN_SCORE_OF_WORDS: Final = 0.9
_MOST_WORDS: Final = 16  # in one mention of a name
_UNSURE: Final = frozenset({"propagation", "pattern:weak", "rule:people:weak"})
#: Sources of a person whose role is not known. Another mention in the note may tell the role.
_WITHOUT_ROLE: Final = ("rule:people:alone",)

_NAMES: Final = frozenset({"PATIENT", "DOCTOR"})
#: Labels whose values are looked up as a whole, in the same case or in another (see :class:`_Wholes`).
_NUMBERS: Final = frozenset(
    {
        "PHONE", "FAX", "SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID",
        "IDNUM", "USERNAME", "EMAIL", "URL", "IPADDR",
    }
)  # fmt: skip
_PLACES: Final = frozenset({"STREET", "CITY", "STATE", "LOCATION-OTHER", "HOSPITAL", "ORGANIZATION"})

_WORD: Final = re.compile(r"[^\W_]+")
_GAP: Final = re.compile(r"[ \t]{0,3}")
_COMPOUND: Final = re.compile(r"[^\W\d_]+(?:['\u2019\-\u2010][^\W\d_]+)+")
_LINE_END: Final = re.compile(r"[ \t]{0,3}\r?\n[ \t]{0,4}")
_HYPHENS: Final = ("-", "\u2010", "'", "\u2019")
_ARTICLE: Final = re.compile(r"(?i:the)[ \t]{1,2}(?=\w)")
_COMMA: Final = re.compile(r"[ \t]{0,2},(?:[ \t]{0,3}|[ \t]?\r?\n[ \t]{0,4})")


def propagate(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the spans (source ``propagation``) where ``text`` repeats ``spans``, none of them inside one of ``spans``.

    Initials in brackets behind their name, or in a list of those present, are the exception: their source is
    ``propagation:initials``, and they are returned also where a model has another label for them.
    Where the role of a person is not known, a repetition with another label is returned too: it may have the right one.
    Only spans that score :data:`MIN_SCORE` or more and have a better source than a weak pattern are repeated. The
    result is sorted and does not depend on the order of ``spans``.
    """
    sure = [
        span
        for span in spans
        if span.score >= MIN_SCORE and not _UNSURE.issuperset(span.sources) and _is_believed(text, span)
    ]
    persons = [span for span in sure if span.label in _NAMES]
    names = _Names(text, persons)
    wholes = _Wholes(text, [span for span in sure if span.label in _NUMBERS or span.label in _PLACES])
    listed = list(find_listed(text))
    if not (names or wholes or listed):
        return []
    words = [match.span() for match in _WORD.finditer(text)]
    found = {
        *names.find(words),
        *wholes.find(words),
        *UsernameFinder(text, persons).find(words),
        *InitialsFinder(text, persons).find(words),
        *listed,
    }
    without_role = {(span.start, span.end, span.label) for span in spans if span.sources == _WITHOUT_ROLE}
    with_role = [span for span in spans if span.sources != _WITHOUT_ROLE]
    other = [span for span in found if (span.start, span.end, span.label) not in without_role]
    return sorted(_outside(other, with_role))


def _is_believed(text: str, span: Span) -> bool:
    """Return whether to propagate ``span``. Ordinary words that only models found need a high score."""
    if span.score >= _MIN_SCORE_OF_WORDS or not all(source.startswith("model") for source in span.sources):
        return True
    return any(
        not word.isalpha() or not is_ordinary(folded) or is_name_first(folded)
        for word in _WORD.findall(text[span.start : span.end])
        if (folded := fold(word))
    )


def _outside(found: Iterable[Span], spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans of ``found`` that no span of ``spans`` contains, and all initials that the note introduces."""
    # A containing span starts no later and ends no sooner. In order of start, it is enough to keep the furthest end.
    furthest = 0
    events = sorted(
        chain(((span.start, 0, span) for span in spans), ((span.start, 1, span) for span in found)),
        key=lambda event: event[:2],
    )
    for _, is_found, span in events:
        if not is_found:
            furthest = max(furthest, span.end)
        elif span.end > furthest or span.sources == (INTRODUCED,):
            yield span


def _rank(span: Span) -> int:
    return min((SOURCE_RANK.get(source, len(SOURCE_RANK)) for source in span.sources), default=len(SOURCE_RANK))


@dataclass(slots=True)
class _NameWord:
    """Facts about one word of the names found: its position in each name, its labels and its best score."""

    places: dict[int, int] = field(default_factory=dict)  # name -> position in it, given name first
    labels: Counter[str] = field(default_factory=Counter)
    score: float = 0.0
    is_whole_part: bool = False


class _Part(NamedTuple):
    start: int
    end: int
    folded: str
    known: _NameWord

    @property
    def is_particle(self) -> bool:
        return self.folded in PARTICLES and not self.known.is_whole_part


class _Names:
    """Index of the words of the names found, to find them again alone or together."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self._text = text
        self._words: dict[str, _NameWord] = {}
        self._initials: dict[str, _NameWord] = {}
        names: dict[tuple[str, ...], int] = {}
        for span in sorted(spans, key=lambda span: (span.sources == _WITHOUT_ROLE, span)):
            words = _in_order(text[span.start : span.end])
            name = names.setdefault(tuple(words), len(names))
            joined = _joined_words(text[span.start : span.end])
            for place, word in chain(enumerate(words), ((len(words), word) for word in joined)):
                known = self._words.setdefault(word, _NameWord())
                known.places[name] = place
                if not known.labels or span.sources != _WITHOUT_ROLE:
                    known.labels[span.label] += 1
                known.score = max(known.score, span.score)
                # A word that begins a name of two words is not a particle (Le Ha, Al Young). Lower case is: de Souza.
                known.is_whole_part |= len(words) > 1 and (
                    place == len(words) - 1 or (len(words) == 2 and not text[span.start].islower())
                )
                known.score = max(known.score, span.score)
                if len(words) > 1:
                    self._initials.setdefault(word[:1], _NameWord()).places[name] = place

    def __bool__(self) -> bool:
        return bool(self._words)

    def find(self, words: Sequence[tuple[int, int]]) -> Iterator[Span]:
        """Yield a span for every mention: adjacent words of the index that are meant as a name."""
        run: list[_Part] = []
        text, known_words = self._text, self._words
        for start, end in words:
            if not run and end - start > 1 and fold(text[start:end]) not in known_words:
                continue  # most words: no part of a name, and none before them
            part = self._part(start, end)
            if part is not None and run and (len(run) == _MOST_WORDS or not self._belongs(run, part)):
                yield from self._judge(run)
                run = []
            if part is not None:
                run.append(part)
            elif run:
                yield from self._judge(run)
                run = []
        yield from self._judge(run)

    def _part(self, start: int, end: int) -> _Part | None:
        """Return the word ``[start, end)`` as a part of a name or as an initial of one; None if it is neither."""
        folded = fold(self._text[start:end])
        known = self._words.get(folded)
        if end - start == 1 and self._text[start].isupper():
            if not may_be_initial(self._text, start):
                return None
            known = known or self._initials.get(folded, _NO_NAME)
        elif end - start == 1 and folded not in PARTICLES:
            return None
        return _Part(start, end, folded, known) if known is not None else None

    def _belongs(self, run: Sequence[_Part], right: _Part) -> bool:
        left = run[-1]
        gap = self._text[left.end : right.start]
        is_letter = len(left.folded) == 1
        if gap.startswith("."):
            return (
                is_letter
                and _GAP.fullmatch(gap, 1) is not None
                and all(part.folded != right.folded for part in run if len(part.folded) > 1)
            )
        if gap in _HYPHENS or _GAP.fullmatch(gap):
            return True
        if any(part.folded == right.folded for part in run):
            return False
        shared = left.known.places.keys() & right.known.places.keys()
        # A comma also separates people and clauses, so across a comma only "Family, Given" is one name.
        if _COMMA.fullmatch(gap) is not None:
            return (
                bool(shared)
                and not is_letter
                and (
                    not is_ordinary(right.folded)
                    or is_name_first(right.folded)
                    or (
                        self._text[right.start].isupper()
                        and any(right.known.places[name] < left.known.places[name] for name in shared)
                    )
                )
            )
        return (
            _LINE_END.fullmatch(gap) is not None
            and any(left.known.places[name] < right.known.places[name] for name in shared)
            and joins_across_lines(self._text, left, right)
        )

    def _order(self, parts: Sequence[_Part]) -> bool | None:
        """Return whether ``parts`` are in the order of a name that has all of them; None if there is no such name."""
        shared = set.intersection(*(set(part.known.places) for part in parts))
        if not shared:
            return None
        return any(all(left.known.places[n] < right.known.places[n] for left, right in pairwise(parts)) for n in shared)

    def _judge(self, run: Sequence[_Part]) -> Iterator[Span]:
        """Yield the mention in ``run``, if there is one."""
        run = self._without_strange_initials(run)
        if not any(part.known.labels for part in run):
            return
        run = meant_words(self._text, run, self._order)
        named = [part for part in run if part.known.labels]
        if not named or (self._is_hyphenated(run) and not is_title_before(self._text, run[0])):
            return
        start, end = start_of_name(self._text, run[0].start), run[-1].end
        telling = [part for part in named if not is_ordinary(part.folded)] or named
        labels = sum((part.known.labels for part in telling), Counter[str]())
        label = "DOCTOR" if is_staff(self._text, start, end) else max(sorted(labels), key=labels.__getitem__)
        yield Span(start, end, label, max(part.known.score for part in telling), ("propagation",))

    def _without_strange_initials(self, run: Sequence[_Part]) -> Sequence[_Part]:
        """Return ``run`` without letters at its ends that are not initials of the name beside them.

        A letter that the name has only as a full word needs a full stop, because *R* after a name can mean the right
        hip. A letter at the end that begins an abbreviation (*M.D.*) is removed too.
        """
        first, last = 0, len(run)
        while first < last and not self._is_initial(run[first], run[first + 1 : first + 2]):
            first += 1
        while first < last and (
            not self._is_initial(run[last - 1], run[max(last - 2, first) : last - 1])
            or (len(run[last - 1].folded) == 1 and is_abbreviated(self._text, run[last - 1].end))
        ):
            last -= 1
        return run[first:last]

    def _is_initial(self, part: _Part, beside: Sequence[_Part]) -> bool:
        if len(part.folded) > 1:
            return True
        if self._text[part.end : part.end + 1] != "." and not part.known.labels:
            return False
        return any(
            other.known.places.keys() & part.known.places.keys()
            and (part.known.labels or not other.folded.startswith(part.folded))
            for other in beside
        )

    def _is_hyphenated(self, run: Sequence[_Part]) -> bool:
        """Return whether a hyphen attaches a word outside the name to it, as in *Kayser-Fleischer*."""
        if not all(is_ordinary(part.folded) for part in run):
            return False  # an uncommon word here may be half of a double name
        start, end = run[0].start, run[-1].end
        before, behind = self._text[max(start - 2, 0) : start], self._text[end : end + 2]
        return (before[-1:] in _HYPHENS and before[:1].isalpha()) or (behind[:1] in _HYPHENS and behind[1:].isupper())


#: Used for a letter that is an initial of no name found; it may be between two parts of a name.
_NO_NAME: Final = _NameWord()


def _joined_words(value: str) -> list[str]:
    """Return the folded words of ``value`` that contain an apostrophe or hyphen, without it: ``omalley``."""
    return [fold("".join(_WORD.findall(compound[0]))) for compound in _COMPOUND.finditer(value)]


def _in_order(value: str) -> list[str]:
    """Return the folded words of a name, given names first: ``Okafor, Rosa`` gives ``rosa okafor``."""
    family, comma, given = value.partition(",")
    words = [fold(word) for word in _WORD.findall(f"{given} {family}" if comma else value)]
    return [word for word in words if word]


class _Wholes:
    """Index of the numbers and places found, to find the same values again."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self._text = text
        self._lower = _lower_in_place(text)
        self._by_first: dict[str, dict[int, dict[str, Span]]] = {}
        for span in sorted(spans, key=lambda span: (_rank(span), -span.score, span)):
            article = _ARTICLE.match(text, span.start, span.end)
            if article is not None:  # an article would make a lower-case word a name of two words
                span = replace(span, start=article.end())
            value = self._lower[span.start : span.end]
            first = _WORD.search(value)
            if first is not None and first.start() == 0 and _is_telling(text[span.start : span.end], span.label):
                self._by_first.setdefault(first[0], {}).setdefault(len(value), {}).setdefault(value, span)

    def __bool__(self) -> bool:
        return bool(self._by_first)

    def find(self, words: Sequence[tuple[int, int]]) -> Iterator[Span]:
        """Yield a span for every occurrence of a value between word boundaries."""
        for start, first_end in words:
            for length, values in self._by_first.get(self._lower[start:first_end], {}).items():
                origin = values.get(self._lower[start : start + length])
                if origin is not None and self._is_same(origin, start):
                    yield Span(start, start + length, origin.label, origin.score, ("propagation",))

    def _is_same(self, origin: Span, start: int) -> bool:
        end = start + origin.end - origin.start
        here = self._text[start:end]
        if self._text[end : end + 1].isalnum() and here[-1].isalnum():
            return False
        before = self._text[origin.start : origin.end]
        if here == before:
            return True
        if " " in here:
            # "Home Care" may be the name of an employer, but "home care" is a service. So is any phrase in lower case.
            return not here.islower() or before.islower() or not all(map(is_ordinary, map(fold, _WORD.findall(here))))
        # One word in another case: a place may be in capitals, but a code in another case may be a different word.
        return origin.label in _PLACES and here[0].isupper()


def _is_telling(value: str, label: str) -> bool:
    """Return whether a value is specific enough to mean the same everywhere in the note."""
    letters = sum(character.isalpha() for character in value)
    digits = sum(character.isdigit() for character in value)
    if label in ("EMAIL", "URL", "IPADDR"):
        return len(value) >= 6
    if label == "USERNAME":
        return len(value) >= 4 and not is_ordinary(fold(value)) and (digits > 0 or len(value) >= 6)
    if label in _NUMBERS:
        return digits >= 5 or (digits >= 3 and letters + digits >= 6)
    if label == "STREET":
        return letters + digits >= 6 and " " in value
    words = _WORD.findall(value)
    if len(words) > 1:
        return letters + digits >= 6
    if value.isupper():
        return letters >= 4 and not is_ordinary(fold(value))
    return letters >= 4 and value[0].isupper() and not is_ordinary(fold(value))


def _lower_in_place(text: str) -> str:
    """Return ``text`` in lower case, with every character at its original offset."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    # Lower case turns a few capitals (İ) into two characters.
    return "".join(character.lower() if len(character.lower()) == 1 else character for character in text)

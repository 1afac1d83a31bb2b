"""What was found once in a note is found everywhere in it.

A name, number or address that some finder is sure of is looked up in the rest of its note: full names and their parts
(``Okafor`` after ``Rosalind Okafor``), numbers, e-mail addresses, streets, facilities and employers. Ages, dates, short
numbers and short abbreviations are not: they mean something else a line further down. Nor is a part of a name that is
also a word, unless a title or another part stands beside it. Log-in names that are made of a full name are found too.

One pass over the words of the note, whatever the number of spans.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, NamedTuple

from deid_runtime.labels import SOURCE_RANK
from deid_runtime.log_in_names import LogInNames
from deid_runtime.name_cues import PARTICLES, fold, follows_title, is_eponym, is_ordinary, is_staff
from deid_runtime.spans import Span

#: Least score of a span that is believed elsewhere; what is found by propagation carries the score it came from.
MIN_SCORE: Final = 0.7
_UNSURE: Final = frozenset({"propagation", "pattern:weak"})

_NAMES: Final = frozenset({"PATIENT", "DOCTOR"})
#: Labels whose values are looked up whole: in the same case, or in any.
_NUMBERS: Final = frozenset(
    {
        "PHONE", "FAX", "SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID",
        "IDNUM", "USERNAME", "EMAIL", "URL", "IPADDR",
    }
)  # fmt: skip
_PLACES: Final = frozenset({"STREET", "CITY", "STATE", "LOCATION-OTHER", "HOSPITAL", "ORGANIZATION"})

_WORD: Final = re.compile(r"[^\W_]+")
_GAP: Final = re.compile(r"[ \t]{0,2}")
_HYPHENS: Final = ("-", "\u2010", "'", "\u2019")
_ARTICLE: Final = re.compile(r"(?i:the)[ \t]{1,2}(?=\w)")
_COMMA: Final = re.compile(r",[ \t]{0,2}")


def propagate(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return further spans (source ``propagation``) where ``text`` repeats what ``spans`` found, none inside them.

    Only spans that score :data:`MIN_SCORE` or more and have a better source than a weak pattern are repeated. The
    result is sorted and does not depend on the order of ``spans``.
    """
    sure = [span for span in spans if span.score >= MIN_SCORE and not _UNSURE.issuperset(span.sources)]
    persons = [span for span in sure if span.label in _NAMES]
    names = _Names(text, persons)
    wholes = _Wholes(text, [span for span in sure if span.label in _NUMBERS or span.label in _PLACES])
    if not (names or wholes):
        return []
    words = [match.span() for match in _WORD.finditer(text)]
    found = {*names.find(words), *wholes.find(words), *LogInNames(text, persons).find(words)}
    return sorted(_outside(found, spans))


def _outside(found: Iterable[Span], spans: Iterable[Span]) -> Iterator[Span]:
    """Yield what of ``found`` no one of ``spans`` contains."""
    # A span that contains another starts no later and ends no sooner: sorted by start, the furthest end tells.
    furthest = 0
    events = sorted(
        chain(((span.start, 0, span) for span in spans), ((span.start, 1, span) for span in found)),
        key=lambda event: event[:2],
    )
    for _, is_found, span in events:
        if not is_found:
            furthest = max(furthest, span.end)
        elif span.end > furthest:
            yield span


def _rank(span: Span) -> int:
    return min((SOURCE_RANK.get(source, len(SOURCE_RANK)) for source in span.sources), default=len(SOURCE_RANK))


@dataclass(slots=True)
class _NameWord:
    """What is known of one word of the names: which spans it comes from, how they label it, how it was written."""

    origins: set[int] = field(default_factory=set)
    labels: Counter[str] = field(default_factory=Counter)
    score: float = 0.0
    has_lower: bool = False


class _Part(NamedTuple):
    start: int
    end: int
    folded: str
    known: _NameWord


class _Names:
    """The words of the names found, to be met again alone or together."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self._text = text
        self._words: dict[str, _NameWord] = {}
        origins: dict[tuple[str, ...], int] = {}
        for span in sorted(spans):
            value = text[span.start : span.end]
            words = _WORD.findall(value)
            origin = origins.setdefault(tuple(map(fold, words)), len(origins))
            for word in words:
                known = self._words.setdefault(fold(word), _NameWord())
                known.origins.add(origin)
                known.labels[span.label] += 1
                known.score = max(known.score, span.score)
                known.has_lower |= word.islower() and len(word) > 2

    def __bool__(self) -> bool:
        return bool(self._words)

    def find(self, words: Sequence[tuple[int, int]]) -> Iterator[Span]:
        """Yield every mention: the longest run of known words, written as names are, that belong together."""
        run: list[_Part] = []
        for start, end in words:
            folded = fold(self._text[start:end])
            known = self._words.get(folded)
            if known is not None and self._is_name_like(start, folded, known):
                part = _Part(start, end, folded, known)
                if run and not self._belongs(run, part):
                    yield from self._judge(run)
                    run = []
                run.append(part)
            elif run:
                yield from self._judge(run)
                run = []
        yield from self._judge(run)

    def _is_name_like(self, start: int, folded: str, known: _NameWord) -> bool:
        return (
            self._text[start].isupper()
            or (len(folded) > 2 and known.has_lower and not is_ordinary(folded))
            or (folded in PARTICLES and len(folded) > 1)
        )

    def _belongs(self, run: Sequence[_Part], right: _Part) -> bool:
        left = run[-1]
        gap = self._text[left.end : right.start]
        if gap.startswith("."):
            return left.end - left.start == 1 and _GAP.fullmatch(gap, 1) is not None
        if _GAP.fullmatch(gap) or gap in _HYPHENS:
            return True
        # A comma also separates people; only in a name met before does it join.
        return (
            right.end - right.start > 1
            and _COMMA.fullmatch(gap) is not None
            and not left.known.origins.isdisjoint(right.known.origins)
            and all(part.folded != right.folded for part in run)
        )

    def _judge(self, run: Sequence[_Part]) -> Iterator[Span]:
        """Yield the mention that ``run`` is, if it is one."""
        while run and run[-1].folded in PARTICLES:
            run = run[:-1]
        while run and run[0].folded in PARTICLES and not self._text[run[0].start].isupper():
            run = run[1:]
        if not run:
            return
        start, end = run[0].start, run[-1].end
        strong = [part for part in run if self._is_strong(part)]
        words = [part for part in run if len(part.folded) > 1 and part.folded not in PARTICLES]
        if not follows_title(self._text, start):
            together = len({part.folded for part in words}) > 1 and bool(
                set.intersection(*(part.known.origins for part in words))
            )
            if not (strong or together) or is_eponym(self._text, start, end) or self._is_hyphenated(start, end):
                return
        elif not words:
            return
        labels = sum((part.known.labels for part in strong or run), Counter[str]())
        label = "DOCTOR" if is_staff(self._text, start, end) else max(sorted(labels), key=labels.__getitem__)
        yield Span(start, end, label, max(part.known.score for part in strong or run), ("propagation",))

    def _is_hyphenated(self, start: int, end: int) -> bool:
        """Say whether a word that is no part of the name hangs on by a hyphen, as in *Kayser-Fleischer*."""
        before, behind = self._text[max(start - 2, 0) : start], self._text[end : end + 2]
        return (before[-1:] in _HYPHENS and before[:1].isalpha()) or (behind[:1] in _HYPHENS and behind[1:].isupper())

    def _is_strong(self, part: _Part) -> bool:
        """Say whether one word alone is enough: long and no ordinary word."""
        return (
            len(part.folded) > 2
            and part.folded not in PARTICLES
            and part.folded.isalpha()
            and not is_ordinary(part.folded)
        )


class _Wholes:
    """Numbers and places found, to be met again as they are."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self._text = text
        self._lower = _lower_in_place(text)
        self._by_first: dict[str, dict[int, dict[str, Span]]] = {}
        for span in sorted(spans, key=lambda span: (_rank(span), -span.score, span)):
            article = _ARTICLE.match(text, span.start, span.end)
            if article is not None:  # with it, a word in lower case would count as a name of two
                span = replace(span, start=article.end())
            value = self._lower[span.start : span.end]
            first = _WORD.search(value)
            if first is not None and first.start() == 0 and _is_telling(text[span.start : span.end], span.label):
                self._by_first.setdefault(first[0], {}).setdefault(len(value), {}).setdefault(value, span)

    def __bool__(self) -> bool:
        return bool(self._by_first)

    def find(self, words: Sequence[tuple[int, int]]) -> Iterator[Span]:
        """Yield every place where a value stands again, between word boundaries."""
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
        if here == before or " " in here:
            return True
        # One word in another case: a place may be shouted, a code may not be a word that only looks like it
        return origin.label in _PLACES and here[0].isupper()


def _is_telling(value: str, label: str) -> bool:
    """Say whether a value means the same wherever it stands in the note."""
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
    """Return ``text`` in lower case, every character at its old offset."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    # A few capitals (İ) become two characters
    return "".join(character.lower() if len(character.lower()) == 1 else character for character in text)

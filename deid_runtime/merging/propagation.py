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
from deid_runtime.merging.usernames import LogInNames
from deid_runtime.spans import Span

#: Least score of a span that is believed elsewhere; what is found by propagation carries the score it came from.
MIN_SCORE: Final = 0.7
#: Least score of what models alone found and what is made of ordinary words.
_MIN_SCORE_OF_WORDS: Final = 0.9
_MOST_WORDS: Final = 16  # of one mention of a name
_UNSURE: Final = frozenset({"propagation", "pattern:weak", "rule:people:weak"})

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
_GAP: Final = re.compile(r"[ \t]{0,3}")
_COMPOUND: Final = re.compile(r"[^\W\d_]+(?:['\u2019\-\u2010][^\W\d_]+)+")
_LINE_END: Final = re.compile(r"[ \t]{0,3}\r?\n[ \t]{0,4}")
_HYPHENS: Final = ("-", "\u2010", "'", "\u2019")
_ARTICLE: Final = re.compile(r"(?i:the)[ \t]{1,2}(?=\w)")
_COMMA: Final = re.compile(r"[ \t]{0,2},(?:[ \t]{0,3}|[ \t]?\r?\n[ \t]{0,4})")


def propagate(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return further spans (source ``propagation``) where ``text`` repeats what ``spans`` found, none inside them.

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
    if not (names or wholes):
        return []
    words = [match.span() for match in _WORD.finditer(text)]
    found = {*names.find(words), *wholes.find(words), *LogInNames(text, persons).find(words)}
    return sorted(_outside(found, spans))


def _is_believed(text: str, span: Span) -> bool:
    """Say whether what ``span`` holds is worth looking for: ordinary words are only where it is quite sure."""
    if span.score >= _MIN_SCORE_OF_WORDS or not all(source.startswith("model") for source in span.sources):
        return True
    return any(
        not word.isalpha() or not is_ordinary(folded) or is_name_first(folded)
        for word in _WORD.findall(text[span.start : span.end])
        if (folded := fold(word))
    )


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
    """What is known of one word of the names: where in which of them it stands, and how they are labelled."""

    places: dict[int, int] = field(default_factory=dict)  # name -> place in it, given name first
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
    """The words of the names found, to be met again alone or together."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self._text = text
        self._words: dict[str, _NameWord] = {}
        self._initials: dict[str, _NameWord] = {}
        names: dict[tuple[str, ...], int] = {}
        for span in sorted(spans):
            words = _in_order(text[span.start : span.end])
            name = names.setdefault(tuple(words), len(names))
            joined = _joined_words(text[span.start : span.end])
            for place, word in chain(enumerate(words), ((len(words), word) for word in joined)):
                known = self._words.setdefault(word, _NameWord())
                known.places[name] = place
                known.labels[span.label] += 1
                known.score = max(known.score, span.score)
                # Le Ha, Al Young: what begins a name of two words is no particle, though de Souza is such a name too
                known.is_whole_part |= len(words) > 1 and (
                    place == len(words) - 1 or (len(words) == 2 and not text[span.start].islower())
                )
                known.score = max(known.score, span.score)
                if len(words) > 1:
                    self._initials.setdefault(word[:1], _NameWord()).places[name] = place

    def __bool__(self) -> bool:
        return bool(self._words)

    def find(self, words: Sequence[tuple[int, int]]) -> Iterator[Span]:
        """Yield every mention: the words known that stand together, as far as they are meant as a name."""
        run: list[_Part] = []
        for start, end in words:
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
        """Return a word of the text as a part of a name, None where it is none; a capital may be an initial of one."""
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
        # A comma also separates people, and a word from the next: only Family, Given is one name.
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
        """Say whether ``parts`` stand as in one of the names they are of; None where they are of none."""
        shared = set.intersection(*(set(part.known.places) for part in parts))
        if not shared:
            return None
        return any(all(left.known.places[n] < right.known.places[n] for left, right in pairwise(parts)) for n in shared)

    def _judge(self, run: Sequence[_Part]) -> Iterator[Span]:
        """Yield the mention that ``run`` is, if it is one."""
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
        """Return ``run`` without letters at its ends that are no initials of the name beside them.

        One that only the name has in full needs a full stop, and so is *R* behind a name the right hip.
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
        """Say whether a word that is no part of the name hangs on by a hyphen, as in *Kayser-Fleischer*."""
        if not all(is_ordinary(part.folded) for part in run):
            return False  # half of a double name
        start, end = run[0].start, run[-1].end
        before, behind = self._text[max(start - 2, 0) : start], self._text[end : end + 2]
        return (before[-1:] in _HYPHENS and before[:1].isalpha()) or (behind[:1] in _HYPHENS and behind[1:].isupper())


#: A letter that is an initial of no name found, as it may stand between two parts of one.
_NO_NAME: Final = _NameWord()


def _joined_words(value: str) -> list[str]:
    """Return, folded and as one, the words of ``value`` that an apostrophe or hyphen divides: ``omalley``."""
    return [fold("".join(_WORD.findall(compound[0]))) for compound in _COMPOUND.finditer(value)]


def _in_order(value: str) -> list[str]:
    """Return the words of a name, folded, given names first: those of ``Okafor, Rosa`` as ``rosa okafor``."""
    family, comma, given = value.partition(",")
    words = [fold(word) for word in _WORD.findall(f"{given} {family}" if comma else value)]
    return [word for word in words if word]


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
        if here == before:
            return True
        if " " in here:
            # Home Care may be the name of one; home care is a service, as any words in small letters are
            return not here.islower() or before.islower() or not all(map(is_ordinary, map(fold, _WORD.findall(here))))
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

"""Find originals in a new corpus, and decide which original family names are ordinary words there.

*Grace*, *Rice* and *Alvarado* (a score) are family names and also words or eponyms. Such a word outside the spans, or
in the name of a place, does not prove a leak. It is counted but not rejected. A family name is an ordinary word in
these cases:

- It is on the list of the package or on a list that a person has reviewed.
- It is part of an eponym (``Parkinson's disease``).
- It is in lower case in the notes of another patient. Notes of a patient who has it marked as a name do not count.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.lexicon.name_cues import fold, is_eponym, is_ordinary
from deid_runtime.resynthesis.originals import (
    MOVING_LABELS,
    Originals,
    Word,
    patient_key,
    street_pairs,
    street_word,
    towns_of,
    words_of,
)
from deid_runtime.spans import Span
from deid_runtime.surrogates.forms import holds_text, normal_form

Kind = Literal["family name", "street", "city, state and ZIP", "original value"]
KINDS: Final[tuple[Kind, ...]] = ("family name", "street", "city, state and ZIP", "original value")

_NAME_LABELS: Final = frozenset({"PATIENT", "DOCTOR"})
_MOST_STREET_WORDS: Final = 6


@dataclass(frozen=True, slots=True)
class Violation:
    """An original at ``[start, end)`` of the new text of a note. ``label`` is empty outside spans."""

    note: str
    start: int
    end: int
    kind: Kind
    label: str
    word: str = field(repr=False)


@dataclass(frozen=True)
class Constraints:
    """The originals of a corpus, and which of its family names are ordinary words."""

    originals: Originals = field(repr=False)
    ordinary: frozenset[str] = field(repr=False)

    def in_surrogate(self, label: str, surrogate: str) -> Iterator[tuple[int, int, Kind]]:
        """Yield the originals in ``surrogate``: half-open offsets in it, and the kind.

        In the names of people, no family name is an ordinary word.
        """
        if label in MOVING_LABELS:
            return
        for word in words_of(surrogate):
            if self._is_family(word.form) and (label in _NAME_LABELS or word.form not in self.ordinary):
                yield word.start, word.end, "family name"
        if label == "STREET" and not self.originals.streets.isdisjoint(street_pairs(surrogate)):
            yield 0, len(surrogate), "street"

    def _is_family(self, form: str) -> bool:
        return form in self.originals.bearers


def make_constraints(notes: Sequence[AnnotatedNote], originals: Originals, judged: Collection[str] = ()) -> Constraints:
    """Return the constraints of a corpus.

    ``judged`` are words, in any letter case, that a person found to be ordinary. They may also be names of streets that
    are not streets (*Lyme road* for *the road to Lyme*).
    """
    ordinary = {normal_form(word) for word in judged}
    ordinary |= {form for form in originals.bearers if is_ordinary(fold(form))}
    for note in notes:
        if note.text.islower():
            continue  # all words are in lower case here, so names are too
        key = patient_key(note)
        for word in _outside(note.text, note.spans):
            bearers = originals.bearers.get(word.form)
            if bearers and key not in bearers and note.text[word.start : word.end].islower():
                ordinary.add(word.form)
    return Constraints(originals, frozenset(ordinary))


@dataclass(frozen=True)
class Violations:
    """The result of :func:`find_violations`: violations, and family names that are ordinary words.

    ``ordinary`` counts occurrences by (normal form, label or empty outside spans).
    """

    violations: list[Violation]
    ordinary: Counter[tuple[str, str]] = field(repr=False)


def find_violations(
    notes: Sequence[AnnotatedNote], constraints: Constraints, originals_of: Mapping[str, frozenset[str]]
) -> Violations:
    """Search new notes for originals, inside and outside the surrogates.

    ``originals_of`` maps a note id to the normal forms that no surrogate in that note may equal.
    """
    found = Violations([], Counter())
    for note in notes:
        for span in note.spans:
            _search_surrogate(note, span, constraints, originals_of.get(note.id, frozenset()), found)
        for town, span in towns_of(note.text, note.spans):
            if town in constraints.originals.towns:
                value = note.text[span.start : span.end]
                found.violations.append(
                    Violation(note.id, span.start, span.end, "city, state and ZIP", span.label, value)
                )
        _search_outside(note, constraints, found)
    return found


def _search_surrogate(
    note: AnnotatedNote, span: Span, constraints: Constraints, originals: frozenset[str], found: Violations
) -> None:
    value = note.text[span.start : span.end]
    for start, end, kind in constraints.in_surrogate(span.label, value):
        found.violations.append(
            Violation(note.id, span.start + start, span.start + end, kind, span.label, value[start:end])
        )
    if span.label in MOVING_LABELS or not holds_text(value):
        return
    if normal_form(value) in originals:
        found.violations.append(Violation(note.id, span.start, span.end, "original value", span.label, value))
    if span.label not in _NAME_LABELS:
        for word in words_of(value):
            if word.form in constraints.ordinary and word.form in constraints.originals.bearers:
                found.ordinary[word.form, span.label] += 1


def _search_outside(note: AnnotatedNote, constraints: Constraints, found: Violations) -> None:
    words = list(_outside(note.text, note.spans))
    for word in words:
        if word.form not in constraints.originals.bearers:
            continue
        if word.form in constraints.ordinary or is_eponym(note.text, word.start, word.end):
            found.ordinary[word.form, ""] += 1
        else:
            value = note.text[word.start : word.end]
            found.violations.append(Violation(note.id, word.start, word.end, "family name", "", value))
    for start, end in _streets_outside(note.text, words, constraints.originals.streets):
        value = note.text[start:end]
        if normal_form(value) not in constraints.ordinary:
            found.violations.append(Violation(note.id, start, end, "street", "", value))


def _streets_outside(
    text: str, words: Sequence[Word], streets: frozenset[tuple[str, ...]]
) -> Iterator[tuple[int, int]]:
    """Yield the offsets of each original street, name and kind, in one line of the text outside the spans.

    Pairs with a number (Route 9) are skipped, because rooms and doses look the same.
    """
    firsts = {pair[0] for pair in streets}
    joined = [not text[left.end : right.start].strip(" .") for left, right in pairwise(words)] + [False]
    for index, word in enumerate(words):
        kind = street_word(word.form)
        if kind not in firsts or not kind.isalpha():
            continue
        pair = [kind]
        for place in range(index, min(index + _MOST_STREET_WORDS, len(words)) - 1):
            if not joined[place]:
                break
            pair.append(street_word(words[place + 1].form))
            if tuple(pair) in streets and pair[-1].isalpha():
                yield word.start, words[place + 1].end


def _outside(text: str, spans: Sequence[Span]) -> Iterator[Word]:
    """Yield the words of a text that no span touches; ``spans`` are sorted."""
    waiting = iter(spans)
    span = next(waiting, None)
    for word in words_of(text):
        while span is not None and span.end <= word.start:
            span = next(waiting, None)
        if span is None or word.end <= span.start:
            yield word

"""Check a candidate against all the notes it came from, before a person sees it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from deid_export.adapt.harvest.counting import Tally
from deid_export.adapt.harvest.masks import TOKEN, Masks, entity_mask, fixed_words, syntax_mask
from deid_export.adapt.harvest.passages import CONTEXTUAL, MarkedNote, Passage
from deid_runtime.detectors.templates import Templates, compile_template
from deid_runtime.labels import HEAD_OF

#: A word counts as part of names, places or facilities when more than this share of its occurrences is inside them.
NAME_LIKE: Final = 0.05


class WordUse:
    """Count how often each of ``words`` occurs inside a name, place or facility, and how often in total."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(words)
        self._inside: Counter[str] = Counter()
        self._all: Counter[str] = Counter()

    def add(self, note: MarkedNote) -> None:
        """Count the words of ``note``."""
        at = 0
        for token in TOKEN.finditer(note.text):
            word = token[0].casefold()
            if word not in self._words:
                continue
            while at < len(note.spans) and note.spans[at].end <= token.start():
                at += 1
            self._all[word] += 1
            if at < len(note.spans) and note.spans[at].start < token.end():
                self._inside[word] += HEAD_OF[note.spans[at].label] in CONTEXTUAL

    def name_like(self, words: Iterable[str]) -> list[str]:
        """Return those of ``words`` that often occur in names, places or facilities, sorted."""
        return sorted(word for word in words if self._inside[word] > NAME_LIKE * self._all[word])


class MaskCheck:
    """Check the condition of Murugadoss et al.: one syntax mask has one entity mask.

    For every template, count the sentences that have the syntax mask and the fixed words of one of its sentences, but
    other entities.
    """

    def __init__(self, masks: Sequence[Iterable[Masks]]) -> None:
        self.others = [0] * len(masks)
        self._templates: dict[tuple[str, ...], dict[tuple[str, ...], dict[tuple[str, ...], list[int]]]] = {}
        for number, of_template in enumerate(masks):
            for mask in of_template:
                by_fixed = self._templates.setdefault(mask.syntax, {}).setdefault(mask.entity, {})
                by_fixed.setdefault(mask.fixed, []).append(number)

    def add(self, passage: Passage) -> None:
        """Compare one sentence with the templates that have its syntax mask."""
        by_entity = self._templates.get(syntax_mask(passage.text))
        if by_entity is None:
            return
        own = entity_mask(passage.text, passage.spans)
        contradicted = {
            number
            for entity, by_fixed in by_entity.items()
            if entity != own
            for number in by_fixed.get(fixed_words(passage.text, entity), ())
        }
        for number in contradicted:
            self.others[number] += 1


class MatchCheck:
    """Match every template alone, as ``deid run`` does, against sentences whose identifiers are known."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._templates = Templates([compile_template(line) for line in lines])
        self.matched = [Tally() for _ in lines]
        #: Matches whose slots differ from the identifiers of the sentence or their labels.
        self.differing = [0] * len(lines)
        #: The number of these that leave a character of an identifier uncovered.
        self.leaking = [0] * len(lines)

    def add(self, passage: Passage, note: int, patient: int) -> None:
        """Match the templates against one sentence."""
        marked = {(span.start, span.end, span.label) for span in passage.spans}
        for number, found in self._templates.matches(passage.text):
            self.matched[number].add(note, patient)
            if passage.is_cut or {(span.start, span.end, span.label) for span in found} != marked:
                self.differing[number] += 1
                covered = {at for span in found for at in range(span.start, span.end)}
                self.leaking[number] += any(
                    at not in covered and passage.text[at].isalnum()
                    for span in passage.spans
                    for at in range(span.start, span.end)
                )


def share(part: int, whole: int) -> float:
    """Return ``part / whole``, rounded for display; 0 when ``whole`` is 0."""
    return round(part / whole, 4) if whole else 0.0


def value_counts(values: Sequence[tuple[str, int]]) -> Mapping[str, int]:
    """Return, by label, the smallest number of distinct values of any of its slots."""
    fewest: dict[str, int] = {}
    for label, count in values:
        fewest[label] = min(count, fewest.get(label, count))
    return fewest

"""Find the error space: the sentences of annotated notes with errors of the ensemble, and excerpts around them.

Every note is checked in two ways, both at the served thresholds (Murugadoss et al. 2021, Supplementary Figure 1):

*Each head alone*, its versions combined, on the words that the models read. A word with a gold label of the head that
the head does not find is missed. A word that the head finds and that has no gold label is wrong. A word with a gold
label of another head is not an error, because the ensemble must find it anyway.

*The whole ensemble*, with rules and propagation, on the tokens of :mod:`deid_runtime.evaluation.tokens`. A gold token
that nothing finds counts for the head of its label. A wrong token counts for each head that found it. Training cannot
correct a wrong token that only rules found; such tokens are counted and skipped.

A sentence with an error of either kind is an *error sentence*. It is stored as the digest of its text and its offsets,
so the file of an error space contains no text.
"""

import dataclasses
import hashlib
import json
import random
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from deid_export.adapt.ensemble import Ensemble, Seen
from deid_export.adapt.registry import ErrorCounts, replace_file
from deid_export.data.corpus import text_sha256
from deid_export.data.gazetteers import Gazetteers
from deid_export.data.resample import Resampler
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError, SourceError
from deid_runtime.evaluation.tokens import label_tokens, token_offsets
from deid_runtime.labels import HEAD_OF, HEADS
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.spans import Note, Sentence, Span
from deid_runtime.text.sentences import split_sentences

_BATCH_NOTES: Final = 16
_HEADS: Final = tuple(HEADS)
_MODEL: Final = "model:"


@dataclass(frozen=True, slots=True)
class ErrorSentence:
    """A sentence ``[start, end)`` with an error, in code points of the text with that digest.

    ``variant`` is 0 for the annotated note itself, otherwise the number of its resampled variant. ``heads`` are the
    heads that can learn from the sentence. ``by_ensemble`` is true when the whole ensemble errs there, not only a
    single head.
    """

    text_sha256: str
    note: str
    variant: int
    start: int
    end: int
    heads: tuple[str, ...]
    by_ensemble: bool


@dataclass(frozen=True, slots=True)
class ErrorSpace:
    """Error sentences, and error counts by head; ``ruled_wrong`` counts wrong tokens that only rules found."""

    sentences: tuple[ErrorSentence, ...]
    by_head: Mapping[str, ErrorCounts]
    ruled_wrong: int


@dataclass
class _Tally:
    """The errors of one note by sentence index, while the note is checked."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)  # (head, field of ErrorCounts)
    heads: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    by_ensemble: set[int] = field(default_factory=set)
    ruled_wrong: int = 0


def with_variants(
    notes: Iterable[AnnotatedNote], variants: int, lists: Gazetteers, seed: int
) -> Iterator[tuple[int, AnnotatedNote]]:
    """Yield (0, note) for every note, then (n, its n-th variant).

    A variant depends only on the note, its number and the seed.
    """
    for note in notes:
        yield 0, note
        for number in range(1, variants + 1):
            text, spans = Resampler(lists, random.Random(f"{seed}-{number}-{note.id}")).note(note)
            yield number, dataclasses.replace(note, text=text, spans=tuple(spans))


def find_errors(ensemble: Ensemble, notes: Iterable[tuple[int, AnnotatedNote]]) -> ErrorSpace:
    """Run ``ensemble`` over ``notes``, each with the number of its variant, and return its errors.

    Raises InputError when a note cannot be processed.
    """
    sentences: list[ErrorSentence] = []
    counts: Counter[tuple[str, str]] = Counter()
    ruled_wrong = 0
    rest = iter(notes)
    while batch := list(islice(rest, _BATCH_NOTES)):
        seen = ensemble.run([Note(note.id, note.text) for _, note in batch])
        for (variant, note), outcome in zip(batch, seen, strict=True):
            if isinstance(outcome, Quarantined):
                raise InputError(f"note {note.id}: {outcome.reason}", stage=outcome.stage)
            tiles = split_sentences(note.text)
            tally = _errors_of(ensemble, note, tiles, outcome)
            counts.update(tally.counts)
            ruled_wrong += tally.ruled_wrong
            digest = text_sha256(note.text)
            for at in sorted(tally.heads):
                heads = tuple(head for head in ensemble.heads if head in tally.heads[at])
                counts.update((head, "sentences") for head in heads)
                sentences.append(
                    ErrorSentence(
                        digest, note.id, variant, tiles[at].start, tiles[at].end, heads, at in tally.by_ensemble
                    )
                )
    by_head = {
        head: ErrorCounts(**{name: counts[head, name] for name in ErrorCounts.__dataclass_fields__})
        for head in ensemble.heads
    }
    return ErrorSpace(tuple(sentences), by_head, ruled_wrong)


def _errors_of(ensemble: Ensemble, note: AnnotatedNote, tiles: Sequence[Sentence], seen: Seen) -> _Tally:
    tally = _Tally()
    starts = [tile.start for tile in tiles]

    def add(offset: int, heads: Iterable[str], kind: str, *, by_ensemble: bool) -> None:
        at = bisect_right(starts, offset) - 1
        for head in heads:
            if head in ensemble.heads:
                tally.counts[head, kind] += 1
                tally.heads[at].add(head)
                if by_ensemble:
                    tally.by_ensemble.add(at)

    gold_heads = [_HEADS.index(HEAD_OF[span.label]) for span in note.spans]
    gold = label_tokens(seen.words.offsets, note.spans, gold_heads)
    for head in ensemble.heads:
        found = seen.words.scores[head] >= ensemble.thresholds[head]
        own = gold == _HEADS.index(head)
        for kind, errors in (("missed", own & ~found), ("wrong", (gold < 0) & found)):
            for word in np.flatnonzero(errors).tolist():
                add(int(seen.words.starts[word]), [head], kind, by_ensemble=False)

    tokens = token_offsets(note.text)
    token_gold = label_tokens(tokens, note.spans, gold_heads)
    token_found = label_tokens(tokens, seen.spans, range(len(seen.spans)))
    for token in np.flatnonzero((token_gold >= 0) & (token_found < 0)).tolist():
        add(int(tokens[token, 0]), [_HEADS[token_gold[token]]], "ensemble_missed", by_ensemble=True)
    for token in np.flatnonzero((token_gold < 0) & (token_found >= 0)).tolist():
        finders = _finders(seen.spans[token_found[token]])
        tally.ruled_wrong += not finders
        add(int(tokens[token, 0]), finders, "ensemble_wrong", by_ensemble=True)
    return tally


def _finders(span: Span) -> list[str]:
    """Return the heads among the sources of a fused span; a propagated span counts for the head of its label."""
    heads = {source.removeprefix(_MODEL) for source in span.sources if source.startswith(_MODEL)}
    if not heads and "propagation" in span.sources:
        heads = {HEAD_OF[span.label]}
    return sorted(heads)


def excerpts(
    notes: Iterable[tuple[int, AnnotatedNote]],
    sentences: Sequence[ErrorSentence],
    *,
    heads: Sequence[str],
    neighbours: int,
    repeat: int,
    ensemble_repeat: int,
) -> list[AnnotatedNote]:
    """Return excerpts of ``notes`` around the error sentences of ``heads``, repeated as often as they are learnt.

    An excerpt has ``neighbours`` sentences on each side, or as many as exist. No span is cut, and overlapping excerpts
    are merged. An excerpt occurs ``repeat`` times if only heads err, and ``ensemble_repeat`` times if the ensemble
    errs. Sentences of texts that are not among ``notes`` are skipped.
    """
    wanted: defaultdict[str, list[ErrorSentence]] = defaultdict(list)
    for sentence in sentences:
        if not set(heads).isdisjoint(sentence.heads):
            wanted[sentence.text_sha256].append(sentence)
    found: list[AnnotatedNote] = []
    for _, note in notes:
        for first, last, by_ensemble in _stretches(note, wanted.pop(text_sha256(note.text), ()), neighbours):
            found += [_cut(note, first, last)] * (ensemble_repeat if by_ensemble else repeat)
    return found


def _stretches(
    note: AnnotatedNote, sentences: Sequence[ErrorSentence], neighbours: int
) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, whether the ensemble errs there) of each excerpt, disjoint and in order."""
    tiles = split_sentences(note.text)
    starts = [tile.start for tile in tiles]
    merged: list[tuple[int, int, bool]] = []
    for sentence in sorted(sentences, key=lambda s: s.start):
        at = bisect_right(starts, sentence.start) - 1
        start, end = tiles[max(0, at - neighbours)].start, tiles[min(len(tiles) - 1, at + neighbours)].end
        before = None
        while before != (start, end):  # extending over one span may cut another span
            before = start, end
            for span in note.spans:
                if span.start < end and start < span.end:
                    start = min(start, tiles[bisect_right(starts, span.start) - 1].start)
                    end = max(end, tiles[bisect_right(starts, span.end - 1) - 1].end)
        if merged and start < merged[-1][1]:
            start, end = merged[-1][0], max(merged[-1][1], end)
            merged[-1] = (start, end, merged[-1][2] or sentence.by_ensemble)
        else:
            merged.append((start, end, sentence.by_ensemble))
    yield from merged


def _cut(note: AnnotatedNote, start: int, end: int) -> AnnotatedNote:
    spans = tuple(span.shift(-start) for span in note.spans if start <= span.start and span.end <= end)
    return dataclasses.replace(note, id=f"{note.id}[{start}:{end}]", text=note.text[start:end], spans=spans)


def write_errors(path: Path, sentences: Iterable[ErrorSentence]) -> str:
    """Write error sentences, one JSON object per line, and return the SHA-256 of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(dataclasses.asdict(sentence)) + "\n" for sentence in sentences).encode()
    replace_file(path, data)
    return hashlib.sha256(data).hexdigest()


def read_errors(path: Path, sha256: str) -> list[ErrorSentence]:
    """Read a file of :func:`write_errors`. Raises SourceError when its digest is not ``sha256``."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}; restore it from a copy") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise SourceError(f"{path} is not the file that the registry names; restore it from a copy")
    rows = [json.loads(line) for line in data.splitlines()]
    return [ErrorSentence(**{**row, "heads": tuple(row["heads"])}) for row in rows]

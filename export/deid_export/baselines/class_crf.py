"""The CRF of :mod:`deid_export.baselines.crf` over classes of labels, quick to train on many parts of a corpus.

The model is the same: a linear chain with weights for the same features, for those pairs of a feature and a tag that
training meets often enough, and for all pairs of tags, under a quadratic penalty, by L-BFGS. Three things make it many
times faster, for benchmarks that train dozens. The features of all notes are taken once and cut by note. A tag names
the class of a head, which makes 11 tags out of 55. And the sums of weights, which are most of the work, are sums over
bags of rows in torch: forwards over the features of each word, backwards over the words of each feature.

Inside, words stand in the order of time: the first words of all sentences, then all second words, with the longest
sentence first, so that one step of the chain (Rabiner 1989, with his scaling) is one product of matrices.
"""

from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from deid_export.baselines.features import note_features
from deid_export.baselines.gazetteer import Gazetteer
from deid_export.baselines.tags import sentence_words, tag_words
from deid_export.train.scoring import WordScores
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import SourceError
from deid_runtime.labels import HEAD_OF, HEADS

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

TAGS: Final = ("O", *(f"{prefix}-{head}" for head in HEADS for prefix in "BI"))
_CHECK_EVERY: Final = 10  # iterations between two looks at the loss


@dataclass(frozen=True, kw_only=True)
class ClassCrfSettings:
    """How the CRF learns; training ends when ten iterations have lowered the loss by less than ``tolerance`` of it."""

    iterations: int = 100  # of L-BFGS, at most
    tolerance: float = 1e-3
    c2: float = 0.3  # weight of the sum of squared weights, as in CrfSettings
    min_count: int = 2  # a feature and a tag that met less often have no weight


@dataclass(frozen=True)
class Encoded:
    """The words of notes, one behind the other, as numbers.

    ``features`` int32 holds the features of all words, ``sizes`` int32 ``(words,)`` how many each word has, ``tags``
    int32 ``(words,)`` indices into :data:`TAGS`, ``lengths`` int32 ``(sentences,)`` the words of each sentence,
    ``notes`` int32 ``(notes,)`` the sentences of each note.
    """

    features: Ints = field(repr=False)
    sizes: Ints = field(repr=False)
    tags: Ints = field(repr=False)
    lengths: Ints = field(repr=False)
    notes: Ints = field(repr=False)

    def part(self, numbers: Sequence[int]) -> "Encoded":
        """Return the notes of these numbers, in this order. Raises SourceError when there is none."""
        if not numbers:
            raise SourceError("no note to learn from or to score on; expected at least one")
        sentences = _starts(self.notes)
        words = _starts(self.lengths)[sentences]
        features = _starts(self.sizes)[words]

        def cut(values: Ints, starts: Longs) -> Ints:
            return np.concatenate([values[starts[note] : starts[note + 1]] for note in numbers])

        return Encoded(
            cut(self.features, features),
            cut(self.sizes, words),
            cut(self.tags, words),
            cut(self.lengths, sentences),
            self.notes[list(numbers)],
        )


@dataclass(frozen=True)
class ClassCrf:
    """A trained model: ``table`` float32 ``(features, tags)`` and ``transitions`` float32 ``(tags, tags)``.

    ``rows`` int32 has the row in ``table`` of each feature of the corpus that was encoded, or -1.
    """

    rows: Ints = field(repr=False)
    table: Tensor = field(repr=False)
    transitions: Floats = field(repr=False)
    iterations: int
    loss: float

    def score(self, notes: Encoded) -> WordScores:
        """Return, for each word in order, the probability of every class and whether it is gold."""
        chain = _in_time(notes.lengths)
        features, sizes = _known(notes, self.rows, chain.words)
        found = _expect(_sums(features, sizes, self.table), self.transitions, chain.alive).tags
        probabilities = np.empty_like(found)
        probabilities[chain.words] = found
        classes = {head: (1 + 2 * number, 3 + 2 * number) for number, head in enumerate(HEADS)}
        return WordScores(
            {head: probabilities[:, low:high].sum(1) for head, (low, high) in classes.items()},
            {head: (notes.tags >= low) & (notes.tags < high) for head, (low, high) in classes.items()},
        )


@dataclass(frozen=True)
class _Chain:
    """``words`` int64: the place of each word of the order of time; ``alive``: how many sentences reach each step."""

    words: Longs
    alive: list[int]


@dataclass(frozen=True)
class _Expected:
    """What a model expects: of each word float32 ``(words, tags)``, of neighbours float64 ``(tags, tags)``."""

    tags: Floats
    pairs: NDArray[np.float64]
    log_sum: float  # of all sequences of tags


def encode(notes: Sequence[AnnotatedNote], gazetteer: Gazetteer) -> Encoded:
    """Take the features and tags of all words of ``notes``."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    index = {tag: number for number, tag in enumerate(TAGS)}
    features, sizes, tags, lengths, sentences = (array("i") for _ in range(5))
    for note in notes:
        pieces = sentence_words(note.text)
        for words, rows in zip(pieces, note_features(note.text, pieces, gazetteer), strict=True):
            for tag, row in zip(tag_words(words, note.spans, "BIO"), rows, strict=True):
                features.extend(map(numbers.__getitem__, row))
                sizes.append(len(row))
                tags.append(index[_class_tag(tag)])
            lengths.append(len(rows))
        sentences.append(len(pieces))
    return Encoded(*(np.array(values, np.int32) for values in (features, sizes, tags, lengths, sentences)))


def train(notes: Encoded, settings: ClassCrfSettings) -> ClassCrf:
    """Train on ``notes``, from weights of 0: the same notes and settings give the same model."""
    chain = _in_time(notes.lengths)
    tags = notes.tags[chain.words]
    rows, active = _weights_of(notes, settings.min_count)
    known = int(rows.max()) + 1
    features, sizes = _known(notes, rows, chain.words)
    words = np.repeat(np.arange(len(tags), dtype=np.int32), sizes)
    words = words[np.argsort(features, kind="stable")]
    words_sizes = np.bincount(features, minlength=known).astype(np.int32)
    pairs = _pairs(tags, chain.alive)
    places = torch.from_numpy(active)
    table = torch.zeros(known * len(TAGS))
    weights = torch.zeros(len(active), requires_grad=True)
    transitions = torch.zeros(len(TAGS), len(TAGS), requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weights, transitions],
        max_iter=_CHECK_EVERY,
        history_size=6,
        tolerance_grad=0,
        line_search_fn="strong_wolfe",
    )

    def loss() -> float:
        table[places] = weights.detach()
        emissions = _sums(features, sizes, table.view(-1, len(TAGS)))
        right = float(emissions[np.arange(len(tags)), tags].sum(dtype=np.float64))
        right += float((transitions.detach().numpy() * pairs).sum())
        expected = _expect(emissions, transitions.detach().numpy(), chain.alive)
        surplus = expected.tags
        surplus[np.arange(len(tags)), tags] -= 1
        gradient = torch.from_numpy(_sums(words, words_sizes, torch.from_numpy(surplus))).view(-1)
        weights.grad = gradient[places] + 2 * settings.c2 * weights.detach()
        transitions.grad = torch.from_numpy(expected.pairs - pairs).float() + 2 * settings.c2 * transitions.detach()
        squares = sum(float(each.detach().double().square().sum()) for each in (weights, transitions))
        return expected.log_sum - right + settings.c2 * squares

    last, iterations = loss(), 0
    while iterations < settings.iterations:
        optimizer.step(loss)  # type: ignore[no-untyped-call]
        iterations += _CHECK_EVERY
        before, last = last, loss()
        if before - last < settings.tolerance * last:
            break
    table[places] = weights.detach()
    return ClassCrf(rows, table.view(-1, len(TAGS)), transitions.detach().numpy(), iterations, last)


def _class_tag(tag: str) -> str:
    prefix, _, label = tag.partition("-")
    return f"{prefix}-{HEAD_OF[label]}" if label else tag


def _weights_of(notes: Encoded, min_count: int) -> tuple[Ints, Longs]:
    """Number the features that have a weight, others -1; and say which (row, tag) have one, flat and sorted."""
    often = np.bincount(notes.features) >= min_count
    rows = np.where(often, np.cumsum(often) - 1, -1).astype(np.int32)
    places = rows[notes.features] * np.int64(len(TAGS)) + np.repeat(notes.tags, notes.sizes)
    active = np.flatnonzero(np.bincount(places[places >= 0], minlength=int(often.sum()) * len(TAGS)) >= min_count)
    return rows, active


def _known(notes: Encoded, rows: Ints, words: Longs) -> tuple[Ints, Ints]:
    """Return the rows of the features of all ``words``, in their order, and how many each of them has."""
    starts = _starts(notes.sizes)
    sizes = notes.sizes[words]
    # The place in ``features`` of each feature: where its word begins, and the step from there.
    places = np.repeat(starts[words] - _starts(sizes)[:-1], sizes) + np.arange(sizes.sum())
    features = notes.features[places]
    found = np.full(len(features), -1, np.int32)
    inside = features < len(rows)
    found[inside] = rows[features[inside]]
    kept = np.repeat(np.arange(len(words)), sizes)[found >= 0]
    return found[found >= 0], np.bincount(kept, minlength=len(words)).astype(np.int32)


def _sums(members: Ints, sizes: Ints, table: Tensor) -> Floats:
    """Return the sum of the rows of ``table`` that are members of each bag."""
    offsets = torch.from_numpy(_starts(sizes)[:-1].astype(np.int32))
    with torch.inference_mode():
        sums: Floats = nn.functional.embedding_bag(torch.from_numpy(members), table, offsets, mode="sum").numpy()
    return sums


def _in_time(lengths: Ints) -> _Chain:
    order = np.argsort(-lengths, kind="stable")
    starts = _starts(lengths)[:-1][order]
    alive = [int((lengths > step).sum()) for step in range(int(lengths.max(initial=0)))]
    return _Chain(np.concatenate([starts[:number] + step for step, number in enumerate(alive)]), alive)


def _expect(emissions: Floats, transitions: Floats, alive: Sequence[int]) -> _Expected:
    """Run the chain forwards and backwards."""
    top = emissions.max(1, keepdims=True)
    odds = np.exp(emissions - top)
    highest = float(transitions.max())
    steps = np.exp(transitions - highest)
    parts = _starts(alive)
    forwards = np.empty_like(odds)
    factors = np.empty((len(odds), 1), np.float32)
    for number, (first, last) in enumerate(pairwise(parts)):
        reached = odds[first:last]
        if number:
            reached = (forwards[parts[number - 1] :][: last - first] @ steps) * reached
        factors[first:last] = reached.sum(1, keepdims=True)
        forwards[first:last] = reached / factors[first:last]
    backwards = np.ones_like(odds)
    pairs = np.zeros(steps.shape)
    for number in range(len(alive) - 1, 0, -1):
        first, last = parts[number], parts[number + 1]
        coming = odds[first:last] * backwards[first:last] / factors[first:last]
        before = slice(parts[number - 1], parts[number - 1] + last - first)
        backwards[before] = coming @ steps.T
        pairs += forwards[before].T @ coming
    log_sum = np.log(factors, dtype=np.float64).sum() + top.sum(dtype=np.float64)
    joined = len(odds) - (alive[0] if alive else 0)  # pairs of neighbours
    return _Expected(forwards * backwards, pairs * steps, float(log_sum) + joined * highest)


def _pairs(tags: Ints, alive: Sequence[int]) -> NDArray[np.float64]:
    """Count which tag follows which."""
    pairs = np.zeros((len(TAGS), len(TAGS)))
    parts = _starts(alive)
    for number in range(1, len(alive)):
        here = tags[parts[number] : parts[number + 1]]
        np.add.at(pairs, (tags[parts[number - 1] :][: len(here)], here), 1)
    return pairs


def _starts(sizes: Sequence[int] | Ints) -> Longs:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

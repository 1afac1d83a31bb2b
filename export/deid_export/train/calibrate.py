"""Choose a threshold for each head on annotated notes: the best precision that reaches the wanted recall.

The union is measured, as in a run: for every choice, what rules and other heads find also counts.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deid_export.data.corpus import as_read
from deid_export.onnx.assemble import write_manifest
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.detectors.inclusion import load_inclusion
from deid_runtime.detectors.known import KnownLines, packaged_lines, sentences_to_read
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.templates import load_templates
from deid_runtime.errors import InputError
from deid_runtime.evaluation.tokens import TOKEN
from deid_runtime.labels import HEADS
from deid_runtime.models.decoding import decode_traces
from deid_runtime.models.doubts import settle_doubts
from deid_runtime.models.tagger import load_tagger
from deid_runtime.models.words import read_words
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.settings import Profile, Settings
from deid_runtime.spans import Note, Span
from deid_runtime.text.sentences import split_sentences

GRID = (0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.04, 0.02)
_NEVER = 2.0  # a threshold that no score reaches
LABEL_TOKENS = 10  # a label with fewer gold tokens is too small for a separate estimate


@dataclass(frozen=True)
class Tokens:
    """One row per token of all notes: ``gold`` and ``ruled`` (found by rules) bool, ``scores`` by head float32.

    ``labels`` is the gold label, empty outside gold spans.
    """

    gold: NDArray[np.bool_]
    labels: NDArray[np.str_]
    ruled: NDArray[np.bool_]
    scores: Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Choice:
    """Thresholds, and their precision and recall over tokens of all labels."""

    thresholds: dict[str, float]
    precision: float
    recall: float


def score_tokens(notes: Sequence[AnnotatedNote], settings: Settings) -> Tokens:
    """Run rules and heads over ``notes``; every token gets the highest score of the words that it touches.

    Raises InputError when a note cannot be processed.
    """
    notes = as_read(notes)
    lines = KnownLines(load_inclusion(settings.inclusion, screen=find_patterns), load_templates(settings.templates))
    packaged = packaged_lines(settings)
    rules = Settings(use_models=False, inclusion=settings.inclusion, templates=settings.templates)
    with load_pipeline(rules, key=None, records={}) as pipeline:
        found = pipeline.detect([Note(note.id, note.text) for note in notes])
    texts = [note.text for note in notes]
    sentences = [split_sentences(text) for text in texts]
    unknown = [
        [each for each in row if not lines.explain(text[each.start : each.end])]
        for text, row in zip(texts, sentences, strict=True)
    ]
    # The same sentences as in serving.
    read = [sentences_to_read(*each, packaged) for each in zip(texts, sentences, unknown, strict=True)]
    with load_tagger(settings) as tagger:
        words = read_words(tagger, texts, read)
    labels: list[str] = []
    ruled: list[bool] = []
    scores: dict[str, list[float]] = {name: [] for name in HEADS}
    for note, outcome, of_note, unexplained in zip(notes, found, words, unknown, strict=True):
        if isinstance(outcome, Quarantined):
            raise InputError(f"note {note.id}: {outcome.reason}", stage=outcome.stage)
        tokens = [match.span() for match in TOKEN.finditer(note.text)]
        labels += _labels(tokens, note.spans)
        starts, ends = of_note.starts.tolist(), of_note.ends.tolist()
        traces = decode_traces(starts, ends, of_note.scores, dict.fromkeys(HEADS, _NEVER)) if starts else []
        ruled += [bool(label) for label in _labels(tokens, settle_doubts(outcome.spans, traces, unexplained))]
        for name in HEADS:
            by_char = np.zeros(len(note.text), dtype=np.float32)
            for start, end, score in zip(starts, ends, of_note.scores[name].tolist(), strict=True):
                by_char[start:end] = score
            scores[name] += [float(by_char[start:end].max()) for start, end in tokens]
    named = np.array(labels)
    return Tokens(
        named != "", named, np.array(ruled), {name: np.array(row, dtype=np.float32) for name, row in scores.items()}
    )


def choose(tokens: Tokens, recall: float, label_recall: float = 0.0) -> Choice:
    """Return the thresholds of :data:`GRID` with the best precision among those that reach ``recall`` over all tokens.

    Every label with at least :data:`LABEL_TOKENS` gold tokens must also reach ``label_recall``. All combinations are
    tried. If none reaches both, the combination that misses fewest tokens is taken.
    """
    heads = list(tokens.scores)
    gold_tokens = int(tokens.gold.sum())
    tokens = _undecided(tokens)
    masks = [[tokens.scores[head] >= threshold for threshold in GRID] for head in heads]
    labels = [tokens.labels == label for label in np.unique(tokens.labels[tokens.gold])]
    labels = [mask for mask in labels if mask.sum() >= LABEL_TOKENS]
    best: tuple[tuple[bool, float, float], tuple[int, ...]] | None = None
    for steps in itertools.product(range(len(GRID)), repeat=len(heads)):
        hits = tokens.ruled.copy()
        for row, step in zip(masks, steps, strict=True):
            hits |= row[step]
        right = int((hits & tokens.gold).sum())
        precision, reached = right / max(1, int(hits.sum())), right / max(1, gold_tokens)
        fits = reached >= recall
        if fits and best is not None and best[0][0] and precision <= best[0][1]:
            continue
        fits = fits and all((hits & mask).sum() >= label_recall * mask.sum() for mask in labels)
        merit = (True, precision, reached) if fits else (False, reached, precision)
        if best is None or merit > best[0]:
            best = merit, steps
    assert best is not None
    (fits, first, second), steps = best
    precision, reached = (first, second) if fits else (second, first)
    return Choice({head: GRID[step] for head, step in zip(heads, steps, strict=True)}, precision, reached)


def _undecided(tokens: Tokens) -> Tokens:
    """Return only the tokens that are gold or that some choice finds; most tokens are neither."""
    kept = tokens.gold | tokens.ruled
    for scores in tokens.scores.values():
        kept = kept | (scores >= min(GRID))
    return Tokens(
        tokens.gold[kept],
        tokens.labels[kept],
        tokens.ruled[kept],
        {head: scores[kept] for head, scores in tokens.scores.items()},
    )


def calibrate(
    repository: Path, notes: Sequence[AnnotatedNote], profile: Profile, recall: float, label_recall: float
) -> Choice:
    """Choose the thresholds of ``profile`` on ``notes`` and write them into the manifest of ``repository``."""
    choice = choose(
        score_tokens(notes, Settings(models=repository, trust_models=True, profile=profile)), recall, label_recall
    )
    content = json.loads((repository / "manifest.json").read_text(encoding="utf-8"))
    entry = content["profiles"][profile]
    entry["thresholds"] = choice.thresholds
    entry["calibrated"] = {"dev_precision": round(choice.precision, 4), "dev_recall": round(choice.recall, 4)}
    write_manifest(repository, content)
    return choice


def _labels(tokens: Sequence[tuple[int, int]], spans: Sequence[Span]) -> list[str]:
    """Return the label of the first span that touches each token, or an empty string; both sorted, spans disjoint."""
    labels: list[str] = []
    at = 0
    for start, end in tokens:
        while at < len(spans) and spans[at].end <= start:
            at += 1
        labels.append(spans[at].label if at < len(spans) and spans[at].start < end else "")
    return labels

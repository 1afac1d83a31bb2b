"""Thresholds by head, chosen on annotated notes where a lower one buys the most recall for the fewest false alarms.

Everything else the pipeline finds counts first: a head is only credited with tokens that no rule found anyhow. From
0.5 down, the next step of the head with the best ratio of gold tokens gained to false tokens gained is taken until
the wanted recall is reached.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deid_export.assemble import write_manifest
from deid_export.corpus import GoldNote
from deid_runtime.contract import find_models, read_manifest
from deid_runtime.detectors.models import pad
from deid_runtime.engines import load_engine
from deid_runtime.errors import InputError
from deid_runtime.evaluation.tokens import TOKEN
from deid_runtime.pipeline import Quarantined, load_pipeline
from deid_runtime.sentences import split_sentences
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, Span
from deid_runtime.windows import WordEncoder, make_windows

GRID = (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03)


@dataclass(frozen=True)
class Tokens:
    """One row per token of all notes: ``gold`` and ``ruled`` (found by rules) bool, ``scores`` by head float32."""

    gold: NDArray[np.bool_]
    ruled: NDArray[np.bool_]
    scores: Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Choice:
    """Thresholds and what they reach, over tokens of all labels."""

    thresholds: dict[str, float]
    precision: float
    recall: float


def score_tokens(notes: Sequence[GoldNote], settings: Settings) -> Tokens:
    """Run rules and heads over ``notes``; every token gets the best score of the words that it touches.

    Raises InputError when a note cannot be processed.
    """
    manifest = read_manifest(find_models(settings.models))
    names = [head.name for head in manifest.heads]
    engine = load_engine(settings.engine, manifest.graph, names, settings.engine_threads)
    encoder = WordEncoder.from_file(manifest.tokenizer)
    rules = Settings(use_models=False, inclusion=settings.inclusion, templates=settings.templates)
    with load_pipeline(rules, key=None, records={}) as pipeline:
        found = pipeline.detect([Note(note.id, note.text) for note in notes])
    gold: list[bool] = []
    ruled: list[bool] = []
    scores: dict[str, list[float]] = {name: [] for name in names}
    for note, outcome in zip(notes, found, strict=True):
        if isinstance(outcome, Quarantined):
            raise InputError(f"note {note.id}: {outcome.reason}", stage=outcome.stage)
        tokens = [match.span() for match in TOKEN.finditer(note.text)]
        gold += _touched(tokens, note.spans)
        ruled += _touched(tokens, outcome.spans)
        by_char = {name: np.zeros(len(note.text), dtype=np.float32) for name in names}
        for window in make_windows(note.text, split_sentences(note.text), encoder):
            for name, answer in zip(names, engine(*pad([window], 1, encoder.pad)), strict=True):
                row = answer.scores[0, window.positions]
                for start, end, score in zip(window.starts, window.ends, row.tolist(), strict=True):
                    by_char[name][start:end] = np.maximum(by_char[name][start:end], score)
        for name in names:
            scores[name] += [float(by_char[name][start:end].max()) for start, end in tokens]
    engine.close()
    return Tokens(
        np.array(gold), np.array(ruled), {name: np.array(row, dtype=np.float32) for name, row in scores.items()}
    )


def choose(tokens: Tokens, recall: float) -> Choice:
    """Lower thresholds along :data:`GRID` until ``recall`` over tokens is reached, or the grid is used up."""
    steps = dict.fromkeys(tokens.scores, 0)

    def found(at: Mapping[str, int]) -> NDArray[np.bool_]:
        hits = tokens.ruled.copy()
        for head, step in at.items():
            hits |= tokens.scores[head] >= GRID[step]
        return hits

    hits = found(steps)
    while (hits & tokens.gold).sum() < recall * tokens.gold.sum():
        best: tuple[float, dict[str, int]] | None = None
        for head, step in steps.items():
            for further in range(step + 1, len(GRID)):  # a step may gain nothing and the one after it a lot
                trial = steps | {head: further}
                new = found(trial) & ~hits
                gained, lost = int((new & tokens.gold).sum()), int((new & ~tokens.gold).sum())
                if gained and (best is None or gained / (lost + 1) > best[0]):
                    best = gained / (lost + 1), trial
        if best is None:
            break
        steps = best[1]
        hits = found(steps)
    return Choice(
        {head: GRID[step] for head, step in steps.items()},
        float((hits & tokens.gold).sum() / max(1, hits.sum())),
        float((hits & tokens.gold).sum() / max(1, tokens.gold.sum())),
    )


def calibrate(repository: Path, notes: Sequence[GoldNote], recall: float) -> Choice:
    """Choose thresholds on ``notes`` and write them into the manifest of ``repository``."""
    choice = choose(score_tokens(notes, Settings(models=repository)), recall)
    content = json.loads((repository / "manifest.json").read_text(encoding="utf-8"))
    for head in content["heads"]:
        head["threshold"] = choice.thresholds[head["name"]]
    content["calibration"] = {"wanted_recall": recall, "precision": choice.precision, "recall": choice.recall}
    write_manifest(repository, content)
    return choice


def _touched(tokens: Sequence[tuple[int, int]], spans: Sequence[Span]) -> list[bool]:
    """Say of each token whether a span touches it; both sorted, spans disjoint."""
    touched: list[bool] = []
    at = 0
    for start, end in tokens:
        while at < len(spans) and spans[at].end <= start:
            at += 1
        touched.append(at < len(spans) and spans[at].start < end)
    return touched

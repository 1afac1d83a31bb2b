"""The learners that benchmarks of training data compare: each is given notes, and scores the words of other notes.

``joint`` is the joint model of all heads as we train it, for a given number of tokens. ``crf`` is the linear-chain CRF
of :mod:`deid_runtime.audit.crf` with one label for each head. A processor trains it until more iterations would hardly
change it, so that its scores tell of the notes and not of the length of the training.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pycrfsuite
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))
from joint_training import Trainer, load_trainer

from deid_export.data.corpus import corpus_digest
from deid_export.train.scoring import WordScores, score_words
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.audit.crf import MODEL_FILE, CrfSettings, train
from deid_runtime.audit.features import note_features
from deid_runtime.audit.gazetteer import make_gazetteer
from deid_runtime.audit.word_tags import sentence_words, tag_words
from deid_runtime.labels import HEAD_OF, HEADS
from deid_runtime.spans import Span

#: The one label that stands for all labels of a head.
LABEL_OF = {head: labels[0] for head, labels in HEADS.items()}


class Learner(Protocol):
    """What both learners offer; ``settings`` is ready for JSON."""

    @property
    def settings(self) -> dict[str, Any]: ...

    def scores(
        self, name: str, notes: Sequence[AnnotatedNote], tests: Mapping[str, Sequence[AnnotatedNote]], seed: int
    ) -> dict[str, WordScores]:
        """Learn ``notes`` and score each of ``tests``; what was learnt before under this name is taken up again."""


@dataclass(frozen=True)
class Joint:
    """Our joint model. Trained models are kept."""

    trainer: Trainer

    @property
    def settings(self) -> dict[str, Any]:
        return {"tokens": self.trainer.tokens, "torch": torch.__version__}

    def scores(
        self, name: str, notes: Sequence[AnnotatedNote], tests: Mapping[str, Sequence[AnnotatedNote]], seed: int
    ) -> dict[str, WordScores]:
        model = self.trainer.model(name, notes, seed)
        return {test: score_words(model, tested, self.trainer.encoder) for test, tested in tests.items()}


@dataclass(frozen=True)
class Crf:
    """The CRF. Scores of words are kept under a digest of notes, tests and settings; a seed changes nothing.

    After a change to the features the folder must be removed by hand.
    """

    work: Path
    crf: CrfSettings

    @property
    def settings(self) -> dict[str, Any]:
        return asdict(self.crf)

    def scores(
        self, name: str, notes: Sequence[AnnotatedNote], tests: Mapping[str, Sequence[AnnotatedNote]], seed: int
    ) -> dict[str, WordScores]:
        learnt = [corpus_digest(notes), {test: corpus_digest(tested) for test, tested in tests.items()}, self.settings]
        kept = self.work / f"{hashlib.sha256(json.dumps(learnt).encode()).hexdigest()[:16]}.npz"
        if not kept.is_file():
            begun, begun_cpu = time.perf_counter(), time.process_time()
            with tempfile.TemporaryDirectory() as folder:
                figures = train([(note.text, by_head(note.spans)) for note in notes], self.crf, Path(folder))
                tagger = pycrfsuite.Tagger()
                tagger.open(str(Path(folder) / MODEL_FILE))
                found = {test: score_words_by_crf(tagger, tested) for test, tested in tests.items()}
                tagger.close()
            print(
                f"{name}: {figures['iterations']} iterations, {time.perf_counter() - begun:.0f} s, "
                f"{time.process_time() - begun_cpu:.0f} s of processor time",
                flush=True,
            )
            self._keep(kept, found)
        with np.load(kept) as arrays:
            return {
                test: WordScores(
                    {head: arrays[f"{test} {head} score"] for head in HEADS},
                    {head: arrays[f"{test} {head} gold"] for head in HEADS},
                )
                for test in tests
            }

    def _keep(self, path: Path, found: Mapping[str, WordScores]) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part.npz")
        arrays: dict[str, NDArray[Any]] = {}
        for test, words in found.items():
            for head in HEADS:
                arrays[f"{test} {head} score"], arrays[f"{test} {head} gold"] = words.scores[head], words.gold[head]
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        partial.rename(path)


def by_head(spans: Sequence[Span]) -> list[Span]:
    """Return the spans with the first label of their head in place of their own."""
    return [Span(span.start, span.end, LABEL_OF[HEAD_OF[span.label]]) for span in spans]


def score_words_by_crf(tagger: pycrfsuite.Tagger, notes: Sequence[AnnotatedNote]) -> WordScores:
    """Return the probability of each head's two tags for every word of ``notes``, and the annotation."""
    gazetteer = make_gazetteer()
    learnt = set(tagger.labels())
    tags = {head: [tag for tag in (f"B-{label}", f"I-{label}") if tag in learnt] for head, label in LABEL_OF.items()}
    scores: dict[str, list[float]] = {head: [] for head in HEADS}
    gold: dict[str, list[bool]] = {head: [] for head in HEADS}
    for note in notes:
        sentences = sentence_words(note.text)
        spans = by_head(note.spans)
        for words, rows in zip(sentences, note_features(note.text, sentences, gazetteer), strict=True):
            tagger.set(rows)
            right = tag_words(words, spans, "BIO")
            for head, label in LABEL_OF.items():
                scores[head] += [sum(tagger.marginal(tag, word) for tag in tags[head]) for word in range(len(rows))]
                gold[head] += [tag.endswith(f"-{label}") for tag in right]
    return WordScores(
        {head: np.array(each, np.float32) for head, each in scores.items()},
        {head: np.array(each, np.bool_) for head, each in gold.items()},
    )


def add_arguments(parser: argparse.ArgumentParser, *, tokens: int) -> None:
    """Add what chooses and sets a learner; ``tokens`` is the default of the joint one."""
    parser.add_argument("--learner", choices=("joint", "crf"), default="joint")
    parser.add_argument("--work", type=Path, required=True, help="folder to go on from after an interruption")
    parser.add_argument("--lists", type=Path, help="to resample from, for joint")
    parser.add_argument("--negatives", type=Path, action="append", help="clean sentences, for joint")
    parser.add_argument("--tokens", type=int, default=tokens, help="of each joint training")
    parser.add_argument("--crf-iterations", type=int, default=80)
    parser.add_argument("--crf-min-count", type=int, default=4, help="of a feature with a tag")
    parser.add_argument("--threads", type=int, default=2)


def make_learner(options: argparse.Namespace) -> Learner:
    """Return the learner that was asked for."""
    if options.learner == "joint":
        return Joint(load_trainer(options.work, options.tokens, options.threads, options.lists, options.negatives))
    return Crf(options.work, CrfSettings(iterations=options.crf_iterations, min_count=options.crf_min_count))


def require_sources(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End with a usage error when the joint learner lacks its lists or clean sentences."""
    if options.learner == "joint" and (options.lists is None or not options.negatives):
        parser.error("--learner joint needs --lists and --negatives")

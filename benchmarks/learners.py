"""The learners that benchmarks of training data compare: each is given notes, and scores the words of other notes.

``joint`` is the joint model of all heads as we train it, for a given number of tokens. ``crf`` is the linear-chain CRF
of ``deid_export.baselines.class_crf``, which a processor trains until more would hardly change it, so that its scores
tell of the notes and not of the length of the training.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from joint_training import Trainer, load_trainer
from numpy.typing import NDArray

from deid_export.baselines.class_crf import ClassCrfSettings, Encoded, encode, train
from deid_export.baselines.gazetteer import make_gazetteer
from deid_export.data.corpus import corpus_digest
from deid_export.train.scoring import WordScores, score_words
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.labels import HEADS


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
    """The CRF. ``numbers`` has the place of each note, by its id, among the ``encoded``.

    Scores of words are kept under a digest of notes, tests and settings; a seed changes nothing. After a change to the
    features the folder must be removed by hand.
    """

    work: Path
    encoded: Encoded
    numbers: Mapping[str, int]
    crf: ClassCrfSettings

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
            model = train(self._part(notes), self.crf)
            found = {test: model.score(self._part(tested)) for test, tested in tests.items()}
            print(
                f"{name}: {model.iterations} iterations, loss {model.loss:.0f}, {time.perf_counter() - begun:.0f} s, "
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

    def _part(self, notes: Sequence[AnnotatedNote]) -> Encoded:
        return self.encoded.part([self.numbers[note.id] for note in notes])

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


def make_learner(options: argparse.Namespace, notes: Sequence[AnnotatedNote]) -> Learner:
    """Return the learner that was asked for; ``notes`` are all that it will learn or be scored on."""
    if options.learner == "joint":
        return Joint(load_trainer(options.work, options.tokens, options.threads, options.lists, options.negatives))
    torch.set_num_threads(options.threads)
    numbers = {note.id: number for number, note in enumerate(notes)}
    settings = ClassCrfSettings(iterations=options.crf_iterations, min_count=options.crf_min_count)
    return Crf(options.work, encode(notes, make_gazetteer()), numbers, settings)


def require_sources(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End with a usage error when the joint learner lacks its lists or clean sentences."""
    if options.learner == "joint" and (options.lists is None or not options.negatives):
        parser.error("--learner joint needs --lists and --negatives")

"""A linear-chain CRF over hand-made features, like the one that Dernoncourt et al. 2016 compare with their network.

CRFsuite (python-crfsuite) trains it by L-BFGS with elastic net. One sequence is one sentence. The features of a word
may come from other sentences.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pycrfsuite

from deid_runtime.audit.features import note_features
from deid_runtime.audit.gazetteer import Gazetteer, load_gazetteer, make_gazetteer, save_gazetteer
from deid_runtime.audit.word_tags import sentence_words, spans_of_tags, tag_words
from deid_runtime.errors import ModelError
from deid_runtime.spans import Span

NAME: Final = "crf"
MODEL_FILE: Final = "model.crfsuite"
_LISTS: Final = "gazetteer.json.gz"


@dataclass(frozen=True, kw_only=True)
class CrfSettings:
    """Training settings of the CRF.

    Without the first penalty, L-BFGS learns more in the same number of iterations. On held-out training patients, 40
    iterations over two fifths of the notes found .82 of the tokens with (c1, c2) = (0, 0.3) and .75 with (0.1, 0.01).
    """

    iterations: int = 100  # of L-BFGS
    c1: float = 0.0  # weight of the sum of absolute weights (L1 penalty)
    c2: float = 0.3  # weight of the sum of squared weights (L2 penalty)
    min_count: int = 2  # features with fewer occurrences are dropped


class CrfDetector:
    """A :data:`~deid_runtime.spans.Detector` on whole notes; made by :func:`load`."""

    def __init__(self, tagger: pycrfsuite.Tagger, gazetteer: Gazetteer) -> None:
        self._tagger = tagger
        self._gazetteer = gazetteer

    def __call__(self, texts: Sequence[str]) -> list[list[Span]]:
        """Return one row of sorted, disjoint spans per text."""
        return [self._find(text) for text in texts]

    def _find(self, text: str) -> list[Span]:
        sentences = sentence_words(text)
        features = note_features(text, sentences, self._gazetteer)
        return [
            span
            for words, rows in zip(sentences, features, strict=True)
            for span in spans_of_tags(words, self._tagger.tag(rows), NAME)
        ]


def train(
    notes: Sequence[tuple[str, Sequence[Span]]], settings: CrfSettings, out: Path, gazetteer: Gazetteer | None = None
) -> dict[str, object]:
    """Train on ``notes``, which are texts with their spans, and write the model into ``out``; return training figures.

    ``gazetteer`` has the lists to learn with; None uses the lists of the runtime.
    """
    out.mkdir(parents=True, exist_ok=True)
    gazetteer = gazetteer or make_gazetteer()
    begun = time.perf_counter()
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    words_seen = 0
    for text, spans in notes:
        sentences = sentence_words(text)
        for words, rows in zip(sentences, note_features(text, sentences, gazetteer), strict=True):
            trainer.append(rows, tag_words(words, spans, "BIO"))
            words_seen += len(rows)
    trainer.set_params(
        {
            "c1": settings.c1,
            "c2": settings.c2,
            "max_iterations": settings.iterations,
            "feature.minfreq": settings.min_count,
            "feature.possible_transitions": True,  # so that it can learn that I after O is wrong
        }
    )
    features_s = time.perf_counter() - begun
    trainer.train(str(out / MODEL_FILE))
    save_gazetteer(gazetteer, out / _LISTS)
    last = trainer.logparser.last_iteration or {}
    return {
        "words": words_seen,
        "seconds_for_features": round(features_s, 1),
        "iterations": int(last.get("num", 0)),
        "loss": last.get("loss"),
        "active_features": last.get("active_features"),
    }


def load(folder: Path) -> CrfDetector:
    """Load what :func:`train` wrote. Raises ModelError when it cannot be read."""
    tagger = pycrfsuite.Tagger()
    try:
        tagger.open(str(folder / MODEL_FILE))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{folder / MODEL_FILE} is not a CRF model ({type(error).__name__}); train it again"
        ) from error
    return CrfDetector(tagger, load_gazetteer(folder / _LISTS))

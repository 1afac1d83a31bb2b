"""A toy ensemble whose heads find words by their first letter, together with the real rules."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from deid_export.adapt.ensemble import Ensemble
from deid_runtime.labels import HEADS
from deid_runtime.models.engines import Ids, TokenScores
from deid_runtime.models.manifest import Graph, HeadVersion, Profile
from deid_runtime.models.tagger import ModelTagger
from deid_runtime.settings import Precision, Settings
from deid_runtime.text.windows import WordEncoder
from tests.deid_runtime.text.test_windows import small_tokenizer

#: Maps the output of a version of a head, as ``name@v1``, to the scores of first letters.
Letters = Mapping[str, Mapping[str, float]]


class LetterEngine:
    """An engine that gives each token the score of its letter; the tag is always the first one."""

    name = "letters"
    precision: Precision = "float32"

    def __init__(self, letters: Letters, encoder: WordEncoder) -> None:
        self._scores = [
            {encoder.encode(letter)[0][0]: score for letter, score in scores.items()} for scores in letters.values()
        ]

    def __call__(self, ids: Ids, types: Ids, mask: Ids) -> list[TokenScores]:
        answers = []
        for scores in self._scores:
            found = np.full(ids.shape, 0.001, dtype=np.float32)
            for token, score in scores.items():
                found[ids == token] = score
            answers.append(TokenScores(np.zeros(ids.shape, dtype=np.uint8), found))
        return answers

    def close(self) -> None:
        pass


def letter_ensemble(letters: Letters, *, threshold: float = 0.5, settings: Settings | None = None) -> Ensemble:
    """Return an ensemble of these versions; a head that is not named gets a version that finds nothing."""
    named = {output.partition("@")[0] for output in letters}
    letters = {**letters, **{f"{head}@v0": {} for head in HEADS if head not in named}}
    versions = tuple(
        HeadVersion(head, version, output, tuple(f"{p}-{label}" for label in HEADS[head] for p in "BI"))
        for output in letters
        for head, _, version in [output.partition("@")]
    )
    graph = Graph("letters", Path("letters.onnx"), versions)
    encoder = WordEncoder(small_tokenizer())
    profile = Profile("full", (graph,), dict.fromkeys(HEADS, threshold), False)
    settings = settings or Settings()
    engines = [(graph, LetterEngine(letters, encoder))]
    return Ensemble(ModelTagger(engines, profile, settings.thresholds, encoder, settings.batch_windows, {}), settings)

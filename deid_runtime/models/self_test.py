"""Test inference engines against a known answer, when they are loaded and at intervals.

An engine may load and still compute wrongly: short of memory, on an unsupported processor, or with damaged weights.
Its wrong answer can look like a valid one. So an engine must give the answer in the model manifest when it is loaded,
and again at every other shape before it is first used at that shape: engines have code of their own for each. Later the
engine is run on the same window again, before answers leave the process, and must give the same bytes.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from deid_runtime.errors import EngineError, ModelError
from deid_runtime.models.engines import Array, Engine, Ids, TokenScores
from deid_runtime.models.manifest import Graph, KnownAnswer
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, WordEncoder, make_windows

#: An invented sentence with an entity for every head. It fits the narrowest padded window, of 32 tokens.
KNOWN_TEXT: Final = "Seen by Dr. Ruth Hartman in Millbrook, Ohio on 03/12/2019; son Ben, 91, of Harmon Steel."
#: Maximum calls before the engine is tested again. A test takes about 1/32 of the time of a full call.
CALLS_BETWEEN_TESTS: Final = 8
#: Maximum difference of a score from the manifest. Engines and processors round differently, by 0.02 at most here.
TOLERANCE: Final = 0.15
_LEAST_SCORE: Final = 0.01  # lower scores are not in the manifest and count as 0


class SelfTestingEngine:
    """An :class:`~deid_runtime.models.engines.Engine` that is tested when created, at new shapes, and between calls.

    ``shapes`` are the ``(rows, tokens)`` to test at once, the narrowest first. The test of the largest allocates the
    memory that it needs. Shapes too narrow for the window of the known answer are skipped; with the vocabulary of
    another tokenizer, the window is longer.
    """

    def __init__(
        self, engine: Engine, graph: Graph, known: KnownAnswer, encoder: WordEncoder, shapes: Sequence[tuple[int, int]]
    ) -> None:
        """Test ``engine`` at ``shapes``. Raises EngineError when an answer differs from the known answer."""
        self.name = engine.name
        self.precision = engine.precision
        self._engine = engine
        self._graph = graph
        self._known = known
        self._pad_id = encoder.pad
        [self._window] = make_windows(known.text, split_sentences(known.text), encoder)
        self._tested: set[tuple[int, int]] = set()
        wide_enough = [shape for shape in shapes if shape[1] >= len(self._window.ids)]
        self._most_rows = max(rows for rows, _ in shapes)  # larger batches are not tested: a test would take seconds
        for shape in wide_enough:
            self._test_at(shape)
        self._question = _tiled(self._window, self._pad_id, wide_enough[0])
        self._answer = engine(*self._question)
        self._calls = 0

    def __call__(self, ids: Ids, types: Ids, mask: Ids) -> list[TokenScores]:
        """Run the engine; see :class:`~deid_runtime.models.engines.Engine`.

        Raises EngineError when the shape is new and the engine does not give the known answer at it.
        """
        rows, tokens = ids.shape
        if rows <= self._most_rows and tokens >= len(self._window.ids) and (rows, tokens) not in self._tested:
            self._test_at((rows, tokens))
        self._calls += 1
        return self._engine(ids, types, mask)

    def _test_at(self, shape: tuple[int, int]) -> None:
        self._check(self._engine(*_tiled(self._window, self._pad_id, shape)))
        self._tested.add(shape)

    def test_if_due(self) -> None:
        """Call :meth:`test` when :data:`CALLS_BETWEEN_TESTS` calls were made since the last test."""
        if self._calls >= CALLS_BETWEEN_TESTS:
            self.test()

    def test(self) -> None:
        """Raise EngineError unless the engine gives the same bytes as when it was loaded."""
        self._calls = 0
        for first, now in zip(self._answer, self._engine(*self._question), strict=True):
            if not (np.array_equal(first.tags, now.tags) and np.array_equal(first.scores, now.scores)):
                raise EngineError(
                    f"the engine {self.name} no longer gives the known answer; its memory may be damaged, so start a "
                    "new process"
                )

    def _check(self, answers: Sequence[TokenScores]) -> None:
        positions = self._window.positions
        for version, answer in zip(self._graph.heads, answers, strict=True):
            scores = answer.scores[:, positions]
            expected = np.zeros(len(positions), np.float32)
            for word, score in self._known.scores[version.output].items():
                expected[word] = score
            if not (np.abs(scores - expected) <= TOLERANCE).all():
                raise EngineError(
                    f"the engine {self.name} does not give the known answer of head {version.output} in graph "
                    f"{self._graph.name} for {len(scores)} rows; so it cannot run these models here; try another "
                    "--engine, or give it more memory"
                )
            if not (scores == scores[0]).all():
                raise EngineError(f"the engine {self.name} gives equal rows of a batch different scores")

    def close(self) -> None:
        """Free the engine."""
        self._engine.close()


def known_answer(graph: Graph, engine: Engine, encoder: WordEncoder, text: str = KNOWN_TEXT) -> KnownAnswer:
    """Return the scores of ``engine`` for ``text``, which must fit one window; an export writes them to the manifest.

    Raises ModelError when ``text`` does not fit.
    """
    windows = list(make_windows(text, split_sentences(text), encoder))
    if len(windows) != 1:
        raise ModelError(f"the text of the known answer fills {len(windows)} windows, expected one; shorten it")
    [window] = windows
    answers = engine(*_tiled(window, encoder.pad, (1, len(window.ids))))
    return KnownAnswer(
        text,
        {
            version.output: {
                word: round(score, 3)
                for word, score in enumerate(answer.scores[0, window.positions].tolist())
                if score >= _LEAST_SCORE
            }
            for version, answer in zip(graph.heads, answers, strict=True)
        },
    )


def _tiled(window: Window, pad_id: int, shape: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Return ids, types and mask, int32 of ``shape``, with ``window`` in every row."""
    length = len(window.ids)
    ids, types, mask = (np.full(shape, value, np.int32) for value in (pad_id, 0, 0))
    ids[:, :length] = window.ids
    types[:, :length] = window.types
    mask[:, :length] = 1
    return ids, types, mask

"""Test the known answer: engines that give it pass; other engines are refused, when loaded and later."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deid_runtime.errors import EngineError
from deid_runtime.models.engines import Engine, Ids, TokenScores, load_engine
from deid_runtime.models.manifest import Graph, KnownAnswer, find_models, read_manifest
from deid_runtime.models.self_test import CALLS_BETWEEN_TESTS, SelfTestingEngine
from deid_runtime.models.tagger import ModelTagger, load_tagger
from deid_runtime.settings import Precision, Settings
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import WordEncoder

MANIFEST = read_manifest(find_models(None))
GRAPH = MANIFEST.graphs["v0"]
SHAPES = [(1, 32), (2, 32), (4, 64)]


class Failing:
    """A real engine that starts to give the scores of another word, as damaged memory may cause."""

    precision: Precision = "float32"

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self.is_damaged = False
        self._engine = engine

    def __call__(self, ids: Ids, types: Ids, mask: Ids) -> list[TokenScores]:
        answers = self._engine(ids, types, mask)
        if not self.is_damaged:
            return answers
        return [TokenScores(each.tags, np.roll(each.scores, 1, axis=1)) for each in answers]

    def close(self) -> None:
        self._engine.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    loaded = load_engine("auto", GRAPH.file, [version.output for version in GRAPH.heads], 1)
    yield loaded
    loaded.close()


@pytest.fixture(scope="module")
def encoder() -> WordEncoder:
    return MANIFEST.word_encoder()


def known(graph: Graph) -> KnownAnswer:
    assert graph.known_answer is not None
    return graph.known_answer


def test_every_graph_that_ships_has_a_known_answer_with_something_for_every_head() -> None:
    for graph in MANIFEST.graphs.values():
        for scores in known(graph).scores.values():
            assert max(scores.values()) > 0.9


def test_an_engine_that_gives_the_known_answer_passes(engine: Engine, encoder: WordEncoder) -> None:
    tested = SelfTestingEngine(engine, GRAPH, known(GRAPH), encoder, SHAPES)

    tested.test()


def test_an_engine_that_does_not_give_it_is_refused(engine: Engine, encoder: WordEncoder) -> None:
    failing = Failing(engine)
    failing.is_damaged = True

    with pytest.raises(EngineError, match="does not give the known answer of head name in graph v0"):
        SelfTestingEngine(failing, GRAPH, known(GRAPH), encoder, SHAPES)


def test_an_engine_that_begins_to_fail_is_found_out(engine: Engine, encoder: WordEncoder) -> None:
    failing = Failing(engine)
    tested = SelfTestingEngine(failing, GRAPH, known(GRAPH), encoder, SHAPES)
    ids = np.full((1, 32), 1012, np.int32)
    question = ids, np.zeros_like(ids), np.ones_like(ids)
    tested(*question)
    failing.is_damaged = True

    for _ in range(CALLS_BETWEEN_TESTS - 2):
        tested(*question)
    tested.test_if_due()  # too early for a test
    tested(*question)

    with pytest.raises(EngineError, match="no longer gives the known answer"):
        tested.test_if_due()


def test_a_tagger_gives_out_nothing_of_an_engine_that_fails_its_test(encoder: WordEncoder) -> None:
    failing = Failing(load_engine("auto", GRAPH.file, [version.output for version in GRAPH.heads], 1))
    engines = [(GRAPH, SelfTestingEngine(failing, GRAPH, known(GRAPH), encoder, SHAPES))]
    text = "Seen by nurse Ada Quist.\n" * 400
    with ModelTagger(engines, MANIFEST.profiles["fast"], {}, encoder, 4, {}) as tagger:
        assert tagger([text], [split_sentences(text)])[0]
        failing.is_damaged = True

        with pytest.raises(EngineError, match="no longer gives the known answer"):
            tagger([text], [split_sentences(text)])


def test_models_that_say_something_else_than_their_manifest_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(GRAPH, known_answer=replace(known(GRAPH), scores={**known(GRAPH).scores, "age": {0: 1.0}}))
    profile = replace(MANIFEST.profiles["fast"], graphs=(wrong,))
    monkeypatch.setattr("deid_runtime.models.tagger.choose_profile", lambda settings: (MANIFEST, profile))

    with pytest.raises(EngineError, match="known answer of head age"):
        load_tagger(Settings())


def test_a_shape_is_tested_before_it_is_first_used(engine: Engine, encoder: WordEncoder) -> None:
    failing = Failing(engine)
    tested = SelfTestingEngine(failing, GRAPH, known(GRAPH), encoder, SHAPES)
    failing.is_damaged = True

    def ask(rows: int, tokens: int) -> None:
        ids = np.full((rows, tokens), 1012, np.int32)
        tested(ids, np.zeros_like(ids), np.ones_like(ids))

    ask(2, 32)  # was tested when created
    ask(8, 64)  # too many rows for a test
    with pytest.raises(EngineError, match="does not give the known answer of head name in graph v0 for 4 rows"):
        ask(4, 32)

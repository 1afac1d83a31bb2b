"""Test the cache of windows: the same spans with and without it, bounded memory, nothing that leaves the process."""

import gc
import pickle
import tracemalloc
from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from deid_runtime.labels import HEADS
from deid_runtime.models.engines import Engine, Ids, TokenScores, load_engine
from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.models.tagger import ModelTagger, load_tagger
from deid_runtime.models.window_cache import WindowCache, key_of
from deid_runtime.settings import Precision, Settings
from deid_runtime.spans import Span
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, make_windows

MANIFEST = read_manifest(find_models(None))
PLAN = "PLAN:\nContinue lisinopril. Call Dr. Ada Quist at 555-0142 in Millbrook, Ohio.\nReturn on 03/12/2019.\n"
HISTORY = "HISTORY:\nMr. Ben Hartman, 71, works for Harmon Steel. Seen by nurse Ruth Okafor.\n"


class Counting:
    """A real engine that counts the rows it is asked about, without rows of padding."""

    precision: Precision = "float32"

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self.rows = 0
        self._engine = engine

    def __call__(self, ids: Ids, types: Ids, mask: Ids) -> list[TokenScores]:
        self.rows += int(mask.any(axis=1).sum())
        return self._engine(ids, types, mask)

    def close(self) -> None:
        self._engine.close()


def notes() -> list[str]:
    """Return notes that repeat each other: whole, and in blocks behind new lines."""
    days = [f"Hospital day {day}\n\n{PLAN}\n{HISTORY}" for day in range(3)]
    return [*days, PLAN * 3, PLAN * 3, "", HISTORY, f"New text.\n{HISTORY}", days[0]]


@pytest.fixture(scope="module")
def engines() -> Iterator[dict[str, Engine]]:
    loaded = {
        name: load_engine("auto", graph.file, [version.output for version in graph.heads], 1)
        for name, graph in MANIFEST.graphs.items()
    }
    yield loaded
    for engine in loaded.values():
        engine.close()


@pytest.fixture
def counting(engines: dict[str, Engine]) -> Counting:
    return Counting(engines["v0"])


def tagger_of(engines: Mapping[str, Engine], cache_bytes: int, *, blocks: bool = False) -> ModelTagger:
    """Return a tagger of the profile with these engines, by graph."""
    profile = next(each for each in MANIFEST.profiles.values() if {graph.name for graph in each.graphs} == {*engines})
    return ModelTagger(
        [(graph, engines[graph.name]) for graph in profile.graphs],
        profile,
        {},
        MANIFEST.word_encoder(),
        2,
        {},
        cache_bytes=cache_bytes,
        end_at_blank_lines=blocks,
    )


def tag(tagger: ModelTagger) -> list[list[list[Span]]]:
    """Return the spans of all notes, asked about together and then one by one."""
    texts = notes()
    sentences = [split_sentences(text) for text in texts]
    alone = [tagger([text], [row])[0] for text, row in zip(texts, sentences, strict=True)]
    return [tagger(texts, sentences), alone]


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize(("graphs", "cache_bytes"), [(["v0"], 2**20), (["v0"], 3_000), (["v0", "v1"], 2**20)])
def test_spans_are_the_same_without_a_cache(
    engines: dict[str, Engine], graphs: list[str], cache_bytes: int, blocks: bool
) -> None:
    chosen = {name: engines[name] for name in graphs}
    cached, plain = (tagger_of(chosen, size, blocks=blocks) for size in (cache_bytes, 0))

    found = tag(cached)

    assert found == tag(plain)
    assert any(found[0])
    counts = cached.window_counts()
    assert 0 < counts["from_cache"] < counts["read"]
    assert plain.window_counts() == {"read": 0, "from_cache": 0}


def test_the_cache_is_a_setting_and_is_freed_with_the_tagger() -> None:
    with load_tagger(Settings(batch_windows=1, window_cache_bytes=5_000)) as tagger:
        tagger([PLAN], [split_sentences(PLAN)])
        assert repr(tagger._cache).endswith(" of 2500 bytes)")
        assert len(tagger._cache) == 1

    assert (len(tagger._cache), tagger._cache.size_bytes) == (0, 0)


def test_a_copied_block_is_computed_once_when_windows_end_at_blank_lines(counting: Counting) -> None:
    texts = [f"Hospital day {day} is a day.\n\n{PLAN}\n{HISTORY}" for day in range(4)]
    tagger = tagger_of({"v0": counting}, 2**20, blocks=True)

    tagger(texts, [split_sentences(text) for text in texts])
    assert counting.rows == 4 + 2
    tagger(texts, [split_sentences(text) for text in texts])

    assert counting.rows == 4 + 2
    assert tagger.window_counts() == {"read": 24, "from_cache": 18}


def answers(rows: int, width: int, seed: int) -> dict[str, TokenScores]:
    generator = np.random.default_rng(seed)
    return {
        head: TokenScores(
            generator.integers(0, 4, (rows, width), dtype=np.uint8), generator.random((rows, width), dtype=np.float32)
        )
        for head in HEADS
    }


def test_what_decoding_looks_at_comes_back_as_it_was() -> None:
    cache = WindowCache(2**20, least_score=0.9)
    answer = answers(4, 64, 0)
    keys = [b"a", b"b", b"c"]
    cache.keep(keys, answer)

    kept = [cache.find(key) for key in keys]
    back = cache.restored([each for each in kept if each is not None], 64)

    is_kept = np.any([each.scores[:3] >= 0.9 for each in answer.values()], axis=0)
    assert 0 < is_kept.sum() < is_kept.size
    for head in HEADS:
        assert np.array_equal(back[head].scores, np.where(is_kept, answer[head].scores[:3], 0))
        assert np.array_equal(back[head].tags[is_kept], answer[head].tags[:3][is_kept])


def test_the_limit_holds_for_the_memory_that_is_really_used() -> None:
    limit = 2**20
    cache = WindowCache(limit, least_score=0.8)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(3_000):
            cache.keep([key_of(Window([number, *range(99)], [1] * 100, [], [], []))], answers(1, 112, number))
        gc.collect()
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert cache.size_bytes <= limit
    assert len(cache) < 3_000
    assert 0.8 * cache.size_bytes < used < 1.1 * limit


def test_the_windows_used_last_stay() -> None:
    cache = WindowCache(4_500, least_score=0.0)
    for key in (b"a", b"b", b"a", b"c"):
        if cache.find(key) is None:
            cache.keep([key], answers(1, 32, 0))

    assert [cache.find(key) is not None for key in (b"a", b"b", b"c")] == [True, False, True]


def test_the_key_is_everything_that_the_answer_depends_on() -> None:
    [window] = make_windows(HISTORY, split_sentences(HISTORY), MANIFEST.word_encoder())
    other_type = Window(window.ids, [*window.types[:-1], window.types[-1] + 1], [], [], [])
    other_id = Window([*window.ids[:-1], window.ids[-1] + 1], window.types, [], [], [])
    elsewhere = Window(window.ids, window.types, [], [start + 9 for start in window.starts], [])

    assert len({key_of(each) for each in (window, other_type, other_id)}) == 3
    assert key_of(elsewhere) == key_of(window)


def test_no_text_is_shown_or_pickled() -> None:
    cache = WindowCache(2**20, least_score=0.5)
    cache.keep([b"Hartman"], answers(1, 32, 0))

    assert repr(cache).startswith("WindowCache(1 windows, ")
    assert "Hartman" not in repr(cache)
    with pytest.raises(TypeError, match="must stay in its process"):
        pickle.dumps(cache)

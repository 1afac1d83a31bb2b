"""Test that the cache of blocks changes no outcome, keeps to its limit, and shows no text."""

import gc
import pickle
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.pipeline.block_cache import BlockCache, Findings, moved
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, PatientRecord, Sentence, Span

KEY = bytes(range(32))
RECORDS = {"p1": PatientRecord("p1", {"given": "Rosalind", "family": "Okafor", "mrn": "4417829"})}
#: Blocks whose findings depend on words at their ends, on each other's names, and on the record.
BLOCKS = (
    "Dictated by: Ann Holm, MD", "Dr.", "Okafor was seen on 3/4/2031.", "Account number:", "70001234", "MRN: 4417829",
    "PLAN:\nCall 212-867-4410 in 3/7 days.\nHolm signed.", "with", "Rosalind left; BP 120/80, 3/14 nodes.", "10-12",
    "Dear", "Marisol Vega\n12 Elm Street\nSpringfield, IL 62704", "The fever resolved.", "aholm2 signed 03/05/2031",
    "and", "Date of birth\n", "1961", "E-mail:\nm.vega@example.org", "\u00a0Ｏkafor \u2013 7/8",
)  # fmt: skip
GAPS = ("\n\n", "\n \n", "\r\n\r\n", "\n\n\n", "\n", " ")

texts = st.lists(st.tuples(st.sampled_from(BLOCKS), st.sampled_from(GAPS)), max_size=9).map(
    lambda rows: "".join(part for row in rows for part in row)
)


def pipelines(**options: object) -> tuple[Pipeline, Pipeline]:
    """Return a pipeline with a cache and one without."""
    cached, plain = (
        load_pipeline(Settings(window_cache_bytes=size, window_borders="blocks", **options), key=KEY, records=RECORDS)  # type: ignore[arg-type]
        for size in (2**22, 0)
    )
    return cached, plain


RULES = pipelines(use_models=False)


@given(st.lists(st.tuples(texts, st.sampled_from(["p1", "p2", ""])), min_size=1, max_size=5))
@settings(max_examples=150)
def test_outcomes_are_the_same_with_and_without_a_cache(rows: list[tuple[str, str]]) -> None:
    cached, plain = RULES
    notes = [Note(f"n{number}", text, patient) for number, (text, patient) in enumerate(rows)]

    assert cached.deidentify(notes) == plain.deidentify(notes)
    assert [cached.deidentify([note])[0] for note in notes] == plain.deidentify(notes)


@pytest.fixture(scope="module")
def with_models() -> Iterator[tuple[Pipeline, Pipeline]]:
    cached, plain = pipelines()
    with cached, plain:
        yield cached, plain


def test_outcomes_of_models_are_the_same_with_and_without_a_cache(with_models: tuple[Pipeline, Pipeline]) -> None:
    cached, plain = with_models
    notes = [
        Note(f"n{turn}-{shift}", "\n\n".join(BLOCKS[shift:] + BLOCKS[:shift]), ("p1", "p2")[turn])
        for turn in range(2)
        for shift in range(0, len(BLOCKS), 5)
    ]

    found = cached.deidentify(notes)

    assert found == plain.deidentify(notes)
    assert cached.deidentify(notes[::-1])[::-1] == found
    assert all(isinstance(outcome, Deidentified) and outcome.spans for outcome in found)
    counts = cached.cache_counts
    assert 0.8 * counts["blocks_read"] < counts["blocks_from_cache"] < counts["blocks_read"]
    assert set(plain.cache_counts.values()) == {0}


def test_the_cache_is_freed_with_the_pipeline() -> None:
    with load_pipeline(Settings(use_models=False, window_cache_bytes=40_000), key=KEY, records={}) as pipeline:
        pipeline.detect([Note(f"n{n}", f"Ann Holm {n}\n\nseen on 3/{n}/2031") for n in range(1, 28)])
        assert 10_000 < pipeline.cache_bytes_used <= 20_000

    assert pipeline.cache_bytes_used == 0


def findings(number: int) -> Findings:
    spans = [Span(300 * n + number, 300 * n + number + 9, "DOCTOR", 0.9 + n / 1e4, ("model:name",)) for n in range(9)]
    return Findings.of(spans[:3], spans, [Sentence(300 * n, 300 * n + 299) for n in range(9)], spans[:4])


def test_the_limit_holds_for_the_memory_that_is_really_used() -> None:
    limit = 2**21
    cache = BlockCache(limit)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(2_000):
            cache.add(f"{number} {'x' * 400}", findings(number))
        gc.collect()
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert cache.size_bytes <= limit
    assert len(cache) < 2_000
    assert 0.6 * cache.size_bytes < used < 1.1 * limit


def test_findings_come_back_as_they_were_and_those_used_last_stay() -> None:
    cache = BlockCache(2 * (findings(0).size_bytes + 700))
    for key in ("a", "b", "a", "c"):
        if cache.find(key) is None:
            cache.add(key, findings(ord(key)))

    assert [cache.find(key) is not None for key in "abc"] == [True, False, True]
    kept = cache.find("c")
    assert kept is not None
    assert next(moved(kept.found, 5)) == Span(5 + ord("c"), 14 + ord("c"), "DOCTOR", 0.9, ("model:name",))


def test_no_text_is_shown_or_pickled() -> None:
    cache = BlockCache(2**20)
    cache.add("Hartman", findings(0))

    assert repr(cache).startswith("BlockCache(1 blocks, ")
    with pytest.raises(TypeError, match="must stay in its process"):
        pickle.dumps(cache)

"""Test what the benchmark of the client's memory counts as flat."""

import random

import pytest

from tests.benchmarks.scripts import load_script

pytest.importorskip("tritonclient.grpc")


@pytest.fixture(scope="module")
def memory():
    return load_script("client_memory")


def test_short_notes_come_to_just_so_many_sentences(memory):
    split_sentences = memory.split_sentences
    batches = list(memory.short_notes(["fever", "cough"], 1_234, random.Random(0)))

    texts = [text for batch in batches for text in batch]
    assert sum(len(split_sentences(text)) for text in texts) == 1_234
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("sizes", "passed"),
    [
        pytest.param([100, 300, 280, 310], True, id="level"),
        pytest.param([100, 300, 320, 340], False, id="growing"),
        pytest.param([50, 60, 60, 75], True, id="growing-less-than-an-allocator-may"),
        pytest.param([100], True, id="one-sample"),
    ],
)
def test_memory_is_flat_when_the_second_half_stays_near_the_first(memory, sizes, passed):
    assert memory.describe_growth([size * 2**20 for size in sizes])["passed"] == passed


def test_thinning_keeps_the_peaks(memory):
    samples = [(float(number), number, number % 7) for number in range(70)]

    thin = memory.thinned(samples, 10)

    assert len(thin) == 10
    assert {size for _, _, size in thin} == {6}

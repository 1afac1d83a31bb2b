"""Test notes in, outcomes out: in order, bounded, failures as values, and equal to the embedded pipeline."""

import asyncio
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from deid_client.notes import DeidClient, SyncDeidClient, _each
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Fault, Quarantined
from deid_runtime.settings import Settings
from tests.client import fault_server as faults
from tests.client.conftest import ROOT, embedded
from tests.client.fault_server import FaultServer

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def pipeline(models):
    class Embedded:
        def connect(self, settings):
            return Kept()

    class Kept:
        def __enter__(self):
            return embedded(models, Settings(window_cache_bytes=0))

        def __exit__(self, *details):
            pass

    with load_pipeline(Settings(window_cache_bytes=0, server=Embedded()), key=KEY, records={}) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def client(models, asking):
    settings = Settings(window_cache_bytes=0)  # every window must reach the server
    with FaultServer(models) as server, DeidClient(asking(server), settings, key=KEY, notes_in_flight=4) as loaded:
        yield server, loaded


def many(notes, times):
    return [replace(note, id=f"{note.id}-{turn}") for turn in range(times) for note in notes]


def test_outcomes_come_in_order_and_are_those_of_the_embedded_pipeline(client, pipeline, notes):
    _, loaded = client
    given = many(notes, 4)

    async def collect():
        return [pair async for pair in loaded.deidentify(given)]

    pairs = asyncio.run(collect())

    assert [note for note, _ in pairs] == given
    assert [outcome for _, outcome in pairs] == pipeline.deidentify(given)


def test_notes_may_come_one_by_one_and_are_taken_in_only_when_there_is_room(client, notes):
    _, loaded = client
    taken = handed_out = most = 0

    async def source():
        nonlocal taken
        for note in many(notes, 5):
            taken += 1
            yield note

    async def run():
        nonlocal handed_out, most
        async for _ in loaded.detect(source()):
            handed_out += 1
            await asyncio.sleep(0.005)
            most = max(most, taken - handed_out)

    asyncio.run(run())

    assert handed_out == taken == 5 * len(notes)
    assert 1 < most <= 4


def test_the_settings_of_windows_hold_for_each_pipeline(models, asking, notes):
    counts = {}
    given = [replace(note, text=f"{note.text}\n\nPriya left.") for note in many(notes, 2)]
    for borders in ("blocks", "packed"):
        with (
            FaultServer(models) as server,
            DeidClient(asking(server), Settings(window_borders=borders), threads=1) as loaded,
        ):
            list(SyncDeidClient(loaded).detect(given))
            pipeline = loaded._pipelines.get()
            counts[borders] = pipeline.cache_counts
            loaded._pipelines.put(pipeline)

    assert counts["blocks"]["blocks_read"] > counts["packed"]["blocks_read"] > 0
    assert all(each["blocks_from_cache"] >= each["blocks_read"] / 2 for each in counts.values())
    assert counts["blocks"]["windows_read"] > 0


def test_a_pipeline_that_ran_out_of_memory_is_replaced(client, pipeline, notes):
    _, loaded = client
    for _ in range(loaded._pipelines.qsize()):
        faulty = loaded._pipelines.get()
        faulty._faults.append(Fault("models", "memory ran out"))
        loaded._pipelines.put(faulty)

    assert [found for _, found in SyncDeidClient(loaded).detect(notes)] == pipeline.detect(notes)


def test_a_note_that_fails_comes_as_a_value_and_alone(client, pipeline, notes, models):
    server, loaded = client
    server.refused_token = int(embedded(models, Settings(window_cache_bytes=0))._encoder.encode("Priya")[0][0])
    try:
        outcomes = [outcome for _, outcome in SyncDeidClient(loaded).detect(notes)]
    finally:
        server.refused_token = None

    failed = [note.id for note, outcome in zip(notes, outcomes, strict=True) if isinstance(outcome, Quarantined)]
    assert failed == [note.id for note in notes if "Priya" in note.text]
    assert [found for found in outcomes if not isinstance(found, Quarantined)] == [
        found for found in pipeline.detect(notes) if found.note_id not in failed
    ]
    assert all("Priya" not in outcome.reason for outcome in outcomes if isinstance(outcome, Quarantined))


def test_a_server_that_dies_on_the_way_costs_no_note(client, pipeline, notes):
    server, loaded = client
    server.faults.extend((None, faults.die(0.2), None, faults.half))
    given = many(notes, 4)

    pairs = list(SyncDeidClient(loaded).deidentify(given))

    assert [note for note, _ in pairs] == given
    assert [outcome for _, outcome in pairs] == pipeline.deidentify(given)


def test_a_stream_can_be_left_early(client, notes):
    _, loaded = client

    stream = SyncDeidClient(loaded).detect(many(notes, 10))
    first, _ = next(stream)
    stream.close()

    assert first.id == "n0-0"
    assert len(list(SyncDeidClient(loaded).detect(notes))) == len(notes)


def test_what_the_source_raises_is_raised_after_what_came_before(client, notes):
    _, loaded = client

    def source():
        yield from notes[:2]
        raise OSError("the disk is gone")

    seen = []
    with pytest.raises(OSError, match="disk"):
        seen.extend(note for note, _ in SyncDeidClient(loaded).detect(source()))


def test_rewriting_needs_a_key(models, asking):
    with (
        FaultServer(models) as server,
        DeidClient(asking(server), threads=1) as client,
        pytest.raises(SettingsError, match="key"),
    ):
        client.deidentify([])


def test_a_closed_client_says_so(models, asking, notes):
    with FaultServer(models) as server:
        with DeidClient(asking(server), threads=1) as client:
            pass
        with pytest.raises(ModelError, match="closed"):
            list(SyncDeidClient(client).detect(notes))


def test_the_example_runs_as_it_stands(models):
    with FaultServer(models) as server:
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / "stream_notes.py"), server.address],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "client")])},
            capture_output=True, text=True, check=True,
        )  # fmt: skip

    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("Ms. ")
    assert not [name for name in ("Halvorsen", "3/11/2019", "Lindqvist") if name in done.stdout]


def test_a_source_ends_where_it_says_so_and_not_before():
    async def taken(notes):
        return [note async for note in _each(notes, asyncio.Semaphore(9))]

    assert asyncio.run(taken(["a", None, "b"])) == ["a", None, "b"]

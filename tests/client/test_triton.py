"""Test the same promises on the real server: equal answers on every path, and no note lost after SIGKILL."""

import os
import signal
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from grpc import StatusCode

from deid_client.errors import CallError
from deid_client.metrics import ClientMetrics
from deid_client.notes import DeidClient, SyncDeidClient
from deid_client.server import TritonServer
from deid_client.tagger import load_tagger
from deid_runtime.errors import ModelError
from deid_runtime.pipeline.outcomes import Deidentified
from deid_runtime.serving.graph_models import GraphModels, ServingOptions
from deid_runtime.serving.repository import repository_folder, write_graph_model
from deid_runtime.serving.supervisor import RestartPolicy
from deid_runtime.settings import Settings
from deid_runtime.spans import Note
from deid_runtime.text.sentences import split_sentences
from tests.client.conftest import ROOT, embedded
from tests.commands import read_rows
from tests.deid_runtime.serving.requests import grpc, token_inputs, tokens, windows
from tests.running_server import ServedFolder, changed_models, started, supervised

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def sample_texts():
    """Return the sample notes and texts with special windows: capitals, a line far too long, a note of many windows."""
    texts = [row["text"] for row in read_rows(ROOT / "examples" / "notes.jsonl")]
    return [
        *texts,
        texts[0].upper(),
        " ".join(texts[1].split()) * 3,
        *(f"{number}: {texts[2]}" for number in range(12)),
    ]


@pytest.mark.parametrize(
    ("profile", "changes"),
    [
        pytest.param("fast", {}, id="fast"),
        pytest.param("full", {}, id="full"),
        pytest.param("fast", {"is_streaming": True}, id="fast-stream"),
        pytest.param("full", {"is_streaming": True, "request_tokens": 300}, id="full-stream"),
    ],
)
def test_answers_are_those_of_the_embedded_engine(triton, models, sample_texts, profile, changes):
    settings = Settings(profile=profile, window_cache_bytes=0)
    texts = sample_texts if profile == "fast" else sample_texts[:8]
    sentences = [split_sentences(text) for text in texts]
    expected = embedded(models, settings)(texts, sentences)

    with TritonServer(endpoints=(triton.options.grpc,), **changes).connect(settings) as tagger:
        assert tagger(texts, sentences) == expected


def test_a_server_of_other_models_is_refused(triton, tmp_path):
    def swap(content):
        content["graphs"]["v0"], content["graphs"]["v1"] = content["graphs"]["v1"], content["graphs"]["v0"]

    with pytest.raises(ModelError, match="graph_sha256"):
        TritonServer(endpoints=(triton.options.grpc,)).connect(
            Settings(models=changed_models(tmp_path, swap), trust_models=True)
        )


@pytest.mark.parametrize("is_streaming", [pytest.param(False, id="unary"), pytest.param(True, id="stream")])
def test_a_server_killed_on_the_way_costs_no_note(served_folder, models, sample_texts, is_streaming):
    texts = [f"{number}. {sample_texts[number % 8]}" for number in range(40)]
    sentences = [split_sentences(text) for text in texts]
    notes = [Note(f"n{number}", text, f"p{number % 7}") for number, text in enumerate(texts)]
    expected = embedded(models, Settings(window_cache_bytes=0))(texts, sentences)

    with supervised(served_folder.options(), RestartPolicy(first_delay_s=0.1)) as running:
        server = TritonServer(
            endpoints=(running.server.options.grpc,),
            is_streaming=is_streaming,
            request_tokens=512,
            call_seconds=60.0,
            batch_seconds=300.0,  # a busy machine needs long to start a server
        )
        with server.connect(Settings(window_cache_bytes=0)) as tagger:
            found = tagger(texts[:10], sentences[:10])
            killer = threading.Timer(0.2, lambda: os.kill(running.server.pid, signal.SIGKILL))
            killer.start()
            found += tagger(texts[10:], sentences[10:])
            killer.join()
            running.wait_started(2)
            again = tagger(texts[:2], sentences[:2])
        with DeidClient(server, key=KEY, threads=1) as client:
            outcomes = []
            for note, outcome in SyncDeidClient(client).deidentify(notes):
                outcomes.append((note.id, outcome))
                if len(outcomes) == 10:
                    os.kill(running.server.pid, signal.SIGKILL)

    assert found == expected
    assert again == expected[:2]
    assert [note_id for note_id, _ in outcomes] == [note.id for note in notes]
    assert all(isinstance(outcome, Deidentified) for _, outcome in outcomes)


def process_of(model, server):
    """Return the process of a model of a running server."""
    folder_of_model = f"{server.options.repository}/{model}/".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # a process that has ended in the meantime
            is_child = f"PPid:\t{server.pid}\n" in (folder / "status").read_text()
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if is_child and any(word.startswith(folder_of_model) for word in words):
                found.append(int(folder.name))
    [pid] = found
    return pid


def test_a_model_whose_process_is_stopped_costs_one_deadline_for_all_notes(served_folder, sample_texts):
    notes = [Note(f"n{number}", f"{number}. {sample_texts[number % 8]}", "p1") for number in range(30)]
    # A supervisor that leaves it to the client to handle the stopped process.
    policy = RestartPolicy(first_delay_s=0.1, unready_s=600.0, stopped_s=600.0, silent_s=600.0)
    with supervised(served_folder.options(), policy) as running, ExitStack() as clients:
        endpoint = running.server.options.grpc
        settings = [
            TritonServer(endpoints=(endpoint,), is_streaming=is_streaming, batch_seconds=3.0, call_seconds=3.0)
            for is_streaming in (False, True)
        ]
        opened = [clients.enter_context(DeidClient(each, key=KEY, threads=1)) for each in settings]

        def outcomes(client, some):
            return [outcome for _, outcome in SyncDeidClient(client).deidentify(some)]

        # Other text than that of the notes: findings in equal text come from the cache, without a server.
        others = [Note(f"s{number}", f"{number + 40}. {sample_texts[number]}", "p1") for number in range(4)]
        served = [outcomes(client, others) for client in opened]
        stopped = process_of("v0", running.server)
        os.kill(stopped, signal.SIGSTOP)
        try:
            assert running.server.is_ready()  # the server's own readiness does not show the fault
            lost = [outcomes(client, notes) for client in opened]
            for note in notes[:8]:  # far apart in time, so that a short pause of the endpoint is not enough
                time.sleep(0.5)
                lost = [row + outcomes(client, [note]) for row, client in zip(lost, opened, strict=True)]
            labels = {"endpoint": endpoint, "status": "DEADLINE_EXCEEDED"}
            calls = [client.metrics.registry.get_sample_value("deid_client_calls_total", labels) for client in opened]
        finally:
            os.kill(running.server.pid, signal.SIGKILL)  # the supervisor ends the rest and starts a new server
        running.wait_started(2)
        again = []
        for client in opened:
            until, row = time.monotonic() + 120, []
            while time.monotonic() < until and not any(isinstance(each, Deidentified) for each in row):
                time.sleep(0.1)
                row = outcomes(client, notes[:1])
            again.append(row)

    for row in lost:
        assert len(row) == len(notes) + 8
        assert all("no answer in time" in outcome.reason for outcome in row)
        assert sum("the service is down" in outcome.reason for outcome in row) >= len(row) - 8  # a batch has 8 notes
    assert all(0 < count <= settings[0].requests_in_flight for count in calls)
    assert again[0] == again[1]
    assert all(isinstance(outcome, Deidentified) for row in (*served, *again) for outcome in row)


@pytest.mark.parametrize("is_streaming", [pytest.param(False, id="unary"), pytest.param(True, id="stream")])
def test_a_full_queue_turns_requests_down_and_none_is_lost(tmp_path, models, sample_texts, is_streaming):
    texts = sample_texts[:4]
    sentences = [split_sentences(text) for text in texts]
    expected = embedded(models, Settings(window_cache_bytes=0))(texts, sentences)
    folder = ServedFolder(tmp_path / "repository", tmp_path)
    with repository_folder(models.manifest, folder.repository):
        graph = models.manifest.graphs["v0"]
        # A third request within the 50 ms that rows wait for others finds the queue full.
        options = ServingOptions(call_rows=1, preferred_sizes=(64,), max_queue_delay_us=50_000, max_queue_size=2)
        write_graph_model(folder.repository, GraphModels(models.manifest, options).whole(graph), graph.file)

    metrics = ClientMetrics()
    with started(folder.options()) as server:
        settings = TritonServer(
            endpoints=(server.options.grpc,), is_streaming=is_streaming, request_tokens=1, requests_in_flight=12
        )
        with load_tagger(Settings(window_cache_bytes=0), settings, metrics) as tagger:
            assert tagger(texts, sentences) == expected

    def count(status):
        labels = {"endpoint": server.options.grpc, "status": status}
        return metrics.registry.get_sample_value("deid_client_calls_total", labels)

    requests = metrics.registry.get_sample_value("deid_client_requests_total", {"outcome": "answered"})
    assert count("RESOURCE_EXHAUSTED") > 0
    assert count("OK") == requests > 0
    assert metrics.registry.get_sample_value("deid_client_requests_total", {"outcome": "failed"}) is None


def test_a_request_that_waited_too_long_is_turned_down_as_overload(triton):
    inputs = token_inputs(tokens(windows()[:1], 128))

    with (
        grpc.InferenceServerClient(triton.options.grpc) as client,
        pytest.raises(grpc.InferenceServerException, match="Request timeout expired") as error,
    ):
        # Its own time limit, in microseconds, ends before the row has waited for others.
        client.infer("v0", inputs, timeout=1)

    assert error.value.status() == "StatusCode.UNAVAILABLE"
    assert CallError.of_stream("server", error.value.message()).code is StatusCode.RESOURCE_EXHAUSTED

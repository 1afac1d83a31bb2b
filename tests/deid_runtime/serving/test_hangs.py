"""Test that servers that run without answering are started again, and busy servers are not."""

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from deid_runtime.serving.canary import Canary
from deid_runtime.serving.server import Server
from deid_runtime.serving.supervisor import RestartPolicy
from tests.deid_runtime.serving.requests import LINES, grpc, note_inputs, token_inputs, tokens, windows
from tests.running_server import KEY_NAME, ServedFolder, processes, started, supervised

POLICY = RestartPolicy(first_delay_s=0.1, poll_s=0.1, stopped_s=1, canary_s=0.5, silent_s=60)


def answers(server: Server) -> bool:
    with grpc.InferenceServerClient(server.options.grpc) as client:
        return client.infer("v0", token_inputs(tokens(windows()[:1], 128)), client_timeout=60) is not None


@contextmanager
def asked(server: Server, *, silent_s: float, computing_s: float = 600) -> Iterator[Canary]:
    """Send requests to a server as its supervisor does."""
    with Canary(server, interval_s=0.2, silent_s=silent_s, computing_s=computing_s) as canary:
        yield canary


def wait_for(condition: Callable[[], object], timeout_s: float) -> bool:
    until = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < until:
        time.sleep(0.1)
    return bool(condition())


@pytest.mark.parametrize("number", [pytest.param(0, id="server"), pytest.param(1, id="model")])
def test_a_server_with_a_stopped_process_is_started_again(
    small_folder: ServedFolder, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    with supervised(small_folder.options(), POLICY) as state:
        first = processes(state.server)
        first[number].send_signal(signal.SIGSTOP)
        second = state.wait_started(2)
        assert answers(second)
        assert not [each for each in first if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]

    assert "has a stopped process; restart in" in caplog.text


def test_a_stopped_process_that_is_continued_costs_no_restart(small_folder: ServedFolder) -> None:
    with supervised(small_folder.options(), dataclasses.replace(POLICY, stopped_s=30, canary_s=600)) as state:
        model = processes(state.server)[1]
        model.send_signal(signal.SIGSTOP)
        time.sleep(2)
        model.send_signal(signal.SIGCONT)
        assert answers(state.server)
        time.sleep(2)

    assert len(state.servers) == 1


def test_a_model_that_does_not_answer_is_noticed_by_what_it_is_asked(
    small_folder: ServedFolder, caplog: pytest.LogCaptureFixture
) -> None:
    # A deadlock: the supervisor does not check the state of the process.
    policy = dataclasses.replace(POLICY, stopped_s=1e9, silent_s=3)

    with supervised(small_folder.options(), policy) as state:
        processes(state.server)[1].send_signal(signal.SIGSTOP)
        assert answers(state.wait_started(2))

    assert "no longer answers (v0); restart in" in caplog.text


def test_every_model_is_asked_for_a_real_answer(triton: Server) -> None:
    def counts(model: str) -> tuple[int, int]:
        with grpc.InferenceServerClient(triton.options.grpc) as client:
            [stats] = client.get_inference_statistics(model).model_stats
        return stats.inference_stats.success.count, stats.inference_stats.fail.count

    before = {model: counts(model) for model in triton.options.models}
    assert set(before) == {"v0", "v1", "deidentify", "deidentify_stream"}

    with asked(triton, silent_s=60) as canary:
        assert wait_for(lambda: all(counts(model)[0] > before[model][0] for model in before), 60)
        assert canary.hung is None

    assert {model: counts(model)[1] for model in before} == {model: fail for model, (_, fail) in before.items()}


@pytest.mark.parametrize("model", ["deidentify", "deidentify_stream", "v1"])
def test_each_hung_model_is_found(served_folder: ServedFolder, model: str) -> None:
    with started(served_folder.options()) as server, asked(server, silent_s=4) as canary:
        time.sleep(2)
        assert canary.hung is None
        [process] = [each for each in processes(server) if f"/{model}/" in " ".join(each.cmdline())]
        process.send_signal(signal.SIGSTOP)
        assert wait_for(lambda: canary.hung is not None, 60)
        assert canary.hung == model
        server.clean_up()  # it would take long to stop itself


def test_a_server_that_hangs_is_found_without_a_look_at_its_process(small_folder: ServedFolder) -> None:
    with started(small_folder.options()) as server, asked(server, silent_s=2) as canary:
        os.kill(server.pid, signal.SIGSTOP)
        assert wait_for(lambda: canary.hung is not None, 60)
        server.clean_up()


def test_a_busy_model_is_not_hung(small_folder: ServedFolder) -> None:
    """Test a queue longer than the canary's wait: each of its requests fails, while others are answered."""
    rows = token_inputs(tokens((windows() * 64)[:64], 128))
    done = threading.Event()
    answered = []

    def ask() -> None:
        with grpc.InferenceServerClient(options.grpc) as client:
            while not done.is_set():
                with suppress(grpc.InferenceServerException):  # refused after waiting too long
                    client.infer("v0", rows, client_timeout=120)
                    answered.append(1)

    options = small_folder.options()
    with started(options) as server, ThreadPoolExecutor(24) as pool:
        futures = [pool.submit(ask) for _ in range(24)]
        try:
            assert wait_for(lambda: len(answered) > 3, 60)
            with asked(server, silent_s=1.5) as canary:
                time.sleep(12)
                waited = canary.failures
                assert canary.hung is None
        finally:
            done.set()
        for future in futures:
            future.result()

    assert waited  # otherwise the load was too small to show anything
    assert len(answered) > 3


@pytest.mark.parametrize(("computing_s", "is_hung"), [(600, False), (4, True)])
def test_a_model_may_compute_for_long_over_one_note(
    served_folder: ServedFolder, computing_s: float, is_hung: bool
) -> None:
    text = "\n".join(f"{line} {number}" for number in range(2000) for line in LINES)
    note = note_inputs(text=[text], note_id=["n"], patient=["p"], key=[KEY_NAME])
    options = served_folder.options()

    with started(options) as server, grpc.InferenceServerClient(options.grpc) as client:
        client.async_infer("deidentify", note, callback=lambda result, error: None)
        time.sleep(1)
        with asked(server, silent_s=1, computing_s=computing_s) as canary:
            assert wait_for(lambda: canary.failures > 5, 120)
            assert wait_for(lambda: canary.hung == "deidentify", 10 if is_hung else 1) == is_hung
        server.clean_up()  # the note need not be finished


def test_its_socket_can_lie_deep(small_folder: ServedFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))

    with started(small_folder.options()) as server:
        assert server.is_ready()

"""Test that readiness is true only while the real server de-identifies, on all ports that tell it, and its metrics."""

import dataclasses
import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.labels import LABELS
from deid_runtime.serving.monitor import Monitor
from deid_runtime.serving.server import Server
from deid_runtime.serving.server_options import ServerOptions
from deid_runtime.serving.server_state import ServerState
from deid_runtime.serving.supervisor import RestartPolicy, supervise
from deid_runtime.settings import Settings
from tests.deid_runtime.serving.requests import grpc, note_inputs, token_inputs, tokens, windows
from tests.running_server import KEY_NAME, ServedFolder, free_ports, installation, processes, started

health_pb2: Any = pytest.importorskip("grpc_health.v1.health_pb2")
health_pb2_grpc: Any = pytest.importorskip("grpc_health.v1.health_pb2_grpc")

ROOT = Path(__file__).resolve().parents[3]


@dataclasses.dataclass
class Watched:
    """A supervised server and its monitor."""

    options: ServerOptions
    metrics_port: int
    health_port: int
    state: ServerState
    servers: list[Server]

    def http(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=10)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def health(self, service: str) -> str:
        import grpc as plain

        with plain.insecure_channel(f"127.0.0.1:{self.health_port}") as channel:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(service=service), timeout=10
            )
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))

    def metric(self, line: str) -> float:
        """Return the value of the line of metrics that begins with ``line``."""
        found = re.search(rf"^{re.escape(line)} (\S+)$", self.http("/metrics")[1], re.MULTILINE)
        assert found, line
        return float(found[1])

    def probe(self) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "deid_runtime", "probe", "--server", self.options.grpc],
            capture_output=True, text=True, check=False, cwd=ROOT, timeout=30,
        )  # fmt: skip


@contextmanager
def watched(options: ServerOptions, policy: RestartPolicy) -> Iterator[Watched]:
    metrics_port, health_port = free_ports(2)
    options = dataclasses.replace(options, metrics_port=None)
    it = Watched(options, metrics_port, health_port, ServerState(), [])
    stop = threading.Event()
    found = installation()
    with Monitor(it.state, "127.0.0.1", metrics_port, health_port):
        assert it.http("/ready")[0] == 503
        assert it.health("readiness") == "NOT_SERVING"
        thread = threading.Thread(target=supervise, args=(found, options, stop, it.servers.append, policy, it.state))
        thread.start()
        try:
            wait_for(lambda: it.servers and it.health("") == "SERVING", 120)
            yield it
        finally:
            stop.set()
            thread.join()
        assert it.http("/ready")[0] == 503


def wait_for(condition: Callable[[], object], timeout_s: float) -> float:
    """Wait until a condition holds; return the seconds that it took."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < timeout_s
        time.sleep(0.05)
    return time.monotonic() - begun


def model_process(server: Server, model: str) -> psutil.Process:
    [process] = [each for each in processes(server) if f"/{model}/" in " ".join(each.cmdline())]
    return process


def test_readiness_ends_with_a_model_that_is_stopped_or_dead_and_comes_back(fast_folder: ServedFolder) -> None:
    policy = RestartPolicy(first_delay_s=1.0, canary_s=2.0)
    with watched(fast_folder.options(), policy) as it:
        assert it.http("/ready") == (200, "ready\n")
        assert it.http("/live")[0] == 200
        assert it.health("readiness") == it.health("liveness") == "SERVING"
        done = it.probe()
        assert (done.returncode, done.stderr) == (0, "")
        assert f"{it.options.grpc} de-identifies" in done.stdout
        with grpc.InferenceServerClient(it.options.grpc) as client:
            send_notes(client)
            check_metrics(it)
            check_that_a_probe_passes_the_queue(it, client)

        stopped = model_process(it.servers[-1], "deidentify")
        stopped.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        assert wait_for(lambda: it.http("/ready")[0] == 503, 5) < 5
        assert wait_for(lambda: it.health("") == "NOT_SERVING", 5) < 5
        assert it.probe().returncode == 1
        assert time.monotonic() - begun < 9
        assert it.http("/live")[0] == 200
        wait_for(lambda: len(it.servers) == 2 and it.http("/ready")[0] == 200, 90)

        model_process(it.servers[-1], "v0").kill()
        assert wait_for(lambda: it.http("/ready")[0] == 503, 5) < 5
        assert it.metric("deid_server_ready") == 0
        wait_for(lambda: len(it.servers) == 3 and it.http("/ready")[0] == 200, 90)
        assert it.metric('deid_server_restarts_total{reason="stopped_process"}') == 1
        assert it.metric('deid_server_restarts_total{reason="lost_model"}') == 1
        assert it.metric("deid_server_ready") == 1


def send_notes(client: Any) -> None:
    """Send two good notes, a note that is held back, and two requests that are refused."""

    def ask(text: str, key: str = KEY_NAME) -> Any:
        return client.infer("deidentify", note_inputs(text=[text], note_id=["n"], patient=["p"], key=[key]))

    for _ in range(2):
        assert ask("Mr. Halvorsen was seen on March 3, 2019.")
    for text, key in (("null \0 character", KEY_NAME), ("x", "unknown"), ("x" * (2**20 + 1), KEY_NAME)):
        with pytest.raises(grpc.InferenceServerException):
            ask(text, key)


def check_metrics(it: Watched) -> None:
    wait_for(lambda: it.metric('deid_server_refusals_total{reason="note_size"}') == 1, 5)  # the last; sent with a delay
    outcomes = {
        outcome: it.metric(f'deid_server_notes_total{{outcome="{outcome}"}}')
        for outcome in ("deidentified", "quarantined", "refused", "failed")
    }
    assert outcomes == {"deidentified": 2, "quarantined": 1, "refused": 2, "failed": 0}
    assert it.metric('deid_server_quarantined_total{stage="read"}') == 1
    assert it.metric('deid_server_refusals_total{reason="unknown_key"}') == 1
    assert it.metric('deid_server_refusals_total{reason="note_size"}') == 1
    assert it.metric("deid_server_characters_total") == 2 * len("Mr. Halvorsen was seen on March 3, 2019.")
    assert it.metric('deid_server_spans_total{label="DATE"}') == 2
    assert sum(it.metric(f'deid_server_spans_total{{label="{label}"}}') for label in LABELS) == 4
    assert it.metric("deid_server_note_seconds_count") == 2
    assert it.metric('deid_server_stage_seconds_total{stage="models"}') > 0
    page = it.http("/metrics")[1]
    assert page.count("\ndeid_server_model_info{") == 1
    assert "nv_inference_queue_duration_us" in page
    assert not any(word in page for word in ("Halvorsen", "March", 'unknown"}'))


def check_that_a_probe_passes_the_queue(it: Watched, client: Any) -> None:
    answered: list[float] = []
    for number in range(20):  # texts that differ, or the answers would come from the cache
        text = "".join(f"{number}.{line} Mr. Halvorsen was seen on March 3, 2019.\n" for line in range(200))
        note = note_inputs(text=[text], note_id=["n"], patient=["p"], key=[KEY_NAME])
        client.async_infer("deidentify", note, callback=lambda result, error: answered.append(time.monotonic()))
    done = it.probe()
    assert done.returncode == 0, done.stderr
    assert len(answered) < 18  # others still wait
    wait_for(lambda: len(answered) == 20, 120)
    assert it.http("/ready")[0] == 200


def test_a_client_tells_that_a_server_is_shutting_down(
    small_folder: ServedFolder, caplog: pytest.LogCaptureFixture
) -> None:
    from deid_client.canary import ask_servers
    from deid_client.server import TritonServer

    options = small_folder.options()
    rows = token_inputs(tokens((windows() * 64)[:64], 128))
    settings = TritonServer(endpoints=(options.grpc,), connect_seconds=1.0)
    with started(options) as server, grpc.InferenceServerClient(options.grpc) as client:
        for _ in range(60):  # they are answered before it ends
            client.async_infer("v0", rows, callback=lambda result, error: None)
        os.kill(server.pid, signal.SIGTERM)
        time.sleep(0.3)
        [health] = ask_servers(settings, 4)
        with pytest.raises(ModelError, match="is shutting down"):
            settings.connect(Settings())
        server.clean_up()

    assert "is shutting down, or still starting" in health.message
    assert "is shutting down, or still starting; wait for it" in caplog.text


def test_the_monitor_takes_nothing_else_and_hides_nothing(tmp_path: Path) -> None:
    metrics_port, _ = free_ports(2)
    it = Watched(ServerOptions(repository=tmp_path), metrics_port, 0, ServerState(), [])
    with Monitor(it.state, "127.0.0.1", metrics_port, None):
        assert it.http("/v2/health/ready")[0] == 404
        assert it.http("/../ready")[0] == 404
        assert it.metric("deid_server_ready") == 0
        it.state.set_ready(True)
        assert it.http("/ready")[0] == 200
        connection = http.client.HTTPConnection("127.0.0.1", metrics_port, timeout=10)
        connection.request("POST", "/metrics", "x")
        assert connection.getresponse().status == 413
        connection.close()
        with pytest.raises(SettingsError, match=rf"127.0.0.1:{metrics_port} for metrics .*--metrics-port"):
            Monitor(it.state, "127.0.0.1", metrics_port, None)
        with pytest.raises(SettingsError, match=rf"127.0.0.1:{metrics_port} for health .*--health-port"):
            Monitor(it.state, "127.0.0.1", free_ports(1)[0], metrics_port)


def test_a_supervisor_that_hangs_is_neither_ready_nor_live(monkeypatch: pytest.MonkeyPatch) -> None:
    state = ServerState()
    state.set_ready(True)
    assert state.is_ready
    now = time.monotonic()
    monkeypatch.setattr("deid_runtime.serving.server_state.monotonic", lambda: now + 10)
    assert not state.is_ready
    assert state.is_live
    monkeypatch.setattr("deid_runtime.serving.server_state.monotonic", lambda: now + 100)
    assert not state.is_live

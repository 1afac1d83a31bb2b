"""Load the files of ``docker/observability`` into a real Prometheus that watches a real server, client and run."""

import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.commands import write_rows
from tests.running_server import KEY_NAME, ServedFolder, free_ports, installation, write_fast_folder

ROOT = Path(__file__).resolve().parents[1]
FILES = ROOT / "docker" / "observability"
WORDS = ("Halvorsen", "Lindqvist", "507-882", "secret-note", "secret-patient")


def prometheus(program: str) -> str:
    return shutil.which(program) or pytest.skip(f"{program} is not installed; scripts/environment.sh has it")


def promtool(*arguments: str) -> str:
    done = subprocess.run(
        [prometheus("promtool"), *arguments], cwd=FILES, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_configuration_and_the_rules_are_right() -> None:
    promtool("check", "config", "prometheus.yml")
    assert "SUCCESS" in promtool("check", "rules", "rules.yml")


def test_each_alert_fires_for_what_it_is_for() -> None:
    promtool("test", "rules", "rules_test.yml")
    alerts = set(re.findall(r"alert: (\w+)", (FILES / "rules.yml").read_text()))
    assert alerts == set(re.findall(r'alertname="(\w+)"', (FILES / "rules_test.yml").read_text()))
    page = (ROOT / "docs" / "how-to" / "monitoring.md").read_text()
    assert not [alert for alert in alerts if alert not in page]


def panels() -> list[tuple[str, str]]:
    """Return title and expression of each query of the dashboard, with the variables of Grafana filled in."""
    dashboard = json.loads((FILES / "dashboard.json").read_text())
    return [
        (panel["title"], target["expr"].replace("$__rate_interval", "20s").replace("$instance", ".*"))
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
    ]


@dataclass(frozen=True)
class Watching:
    """A running Prometheus."""

    url: str

    def ask(self, path: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=10) as response:
            return json.load(response)["data"]

    def values(self, expression: str) -> list[float]:
        """Return the values of an instant query that are numbers."""
        found = [float(each["value"][1]) for each in self.ask("query", query=expression)["result"]]
        return [value for value in found if value == value]


@contextmanager
def serving(folder: ServedFolder) -> Iterator[tuple[str, str]]:
    """Run ``deid serve``; yield the addresses of gRPC and of the metrics."""
    grpc_port, metrics_port = free_ports(2)
    command = [sys.executable, "-m", "deid_runtime", "serve", "--repository", str(folder.repository)]
    command += ["--keys", str(folder.keys), "--grpc-port", str(grpc_port), "--metrics-port", str(metrics_port)]
    with subprocess.Popen([*command, "--log-format", "json"], stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stderr is not None
        try:
            assert json.loads(process.stderr.readline())["event"] == "server_ready"
            yield f"127.0.0.1:{grpc_port}", f"127.0.0.1:{metrics_port}"
        finally:
            process.terminate()
            _, log = process.communicate(timeout=60)
    assert [json.loads(line)["event"] for line in log.splitlines()][-1] == "server_stopped"
    assert not any(word in log for word in WORDS)


@contextmanager
def watching(folder: Path, server: str, client: str, node: str) -> Iterator[Watching]:
    """Run Prometheus with the configuration of the project, at other addresses and every second."""
    config = (FILES / "prometheus.yml").read_text()
    for before, after in (
        ("127.0.0.1:8002", server), ("127.0.0.1:9001", client), ("127.0.0.1:9100", node), ("15s", "1s"),
        ("  - job_name: node\n", "  - job_name: node\n    metrics_path: /nightly.prom\n"),
    ):  # fmt: skip
        assert before in config
        config = config.replace(before, after)
    (folder / "prometheus.yml").write_text(config)
    shutil.copy(FILES / "rules.yml", folder)
    [port] = free_ports(1)
    command = [prometheus("prometheus"), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with subprocess.Popen(
        [*command, f"--web.listen-address=127.0.0.1:{port}"], stderr=subprocess.DEVNULL, cwd=folder
    ) as process:
        try:
            yield Watching(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


@contextmanager
def textfiles(folder: Path) -> Iterator[str]:
    """Serve the metrics file of a run as the node exporter does."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def run_with_metrics(folder: Path, address: str) -> None:
    """Run ``deid run`` against the server, with a note that is held back."""
    rows = [{"id": f"secret-note-{number}", "text": "Call 507-882-4417, seen 3/11/2019."} for number in range(5)]
    rows.append({"id": "", "text": "no id"})
    write_rows(folder / "notes.jsonl", rows)
    command = [sys.executable, "-m", "deid_runtime", "run", "notes.jsonl", "-o", "out.jsonl", "--server", address]
    (folder / "prom").mkdir()
    done = subprocess.run(
        [*command, "--workers", "1", "--metrics-file", "prom/nightly.prom"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr


def send(client: Any, address: str) -> None:
    """Send notes by a client that has the pipeline, and whole notes to the server; some are held back or refused."""
    from deid_runtime.spans import Note
    from tests.deid_runtime.serving.requests import grpc, note_inputs

    text = "Ms. Halvorsen, seen 3/11/2019 by Dr. Lindqvist."
    notes = [Note("secret-note", text, "secret-patient"), Note("", text)]
    assert [type(outcome).__name__ for _, outcome in client.deidentify(notes)] == ["Deidentified", "Quarantined"]
    with grpc.InferenceServerClient(address) as plain:
        for body, key in ((text, KEY_NAME), (f"{text}\0", KEY_NAME), (text, "unknown")):
            inputs = note_inputs(text=[body], note_id=["secret-note"], patient=["secret-patient"], key=[key])
            try:
                plain.infer("deidentify", inputs)
            except grpc.InferenceServerException:
                assert body != text or key != KEY_NAME


def test_every_query_of_the_dashboard_returns_data(tmp_path: Path) -> None:
    installation()
    prometheus("prometheus")
    client_library = pytest.importorskip("prometheus_client")
    from deid_client.notes import DeidClient, SyncDeidClient
    from deid_client.settings import ServerSettings

    with ExitStack() as stack:
        address, server = stack.enter_context(serving(write_fast_folder(tmp_path)))
        run_with_metrics(tmp_path, address)
        client = DeidClient(ServerSettings(endpoints=(address,)), key=bytes(range(32)), threads=1)
        stack.enter_context(SyncDeidClient(client))
        [port] = free_ports(1)
        page, thread = client_library.start_http_server(port, "127.0.0.1", client.metrics.registry)
        stack.callback(thread.join)
        stack.callback(page.server_close)
        stack.callback(page.shutdown)
        node = stack.enter_context(textfiles(tmp_path / "prom"))
        (tmp_path / "watching").mkdir()
        it = stack.enter_context(watching(tmp_path / "watching", server, f"127.0.0.1:{port}", node))
        sync = SyncDeidClient(client)
        missing = panels()
        assert len(missing) > 30
        until = time.monotonic() + 60
        while missing and time.monotonic() < until:
            send(sync, address)
            time.sleep(0.5)
            try:
                missing = [(title, expression) for title, expression in missing if not it.values(expression)]
            except OSError:  # it is not up yet
                continue

        assert missing == []
        assert it.values("sum(deid_server_ready)") == [1]
        check_rules_and_names(it)
        for address in (server, f"127.0.0.1:{port}"):
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as response:
                content = response.read().decode()
            assert not any(word in content for word in WORDS)


def check_rules_and_names(it: Watching) -> None:
    """Check that no rule fails, and that the names in all files are names of metrics."""
    groups = it.ask("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert [(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] == "err"] == []
    names = set(it.ask("label/__name__/values"))
    used = re.compile(r"\b((?:deid_(?:server|client|run)|nv)_[a-z_]+|deid:[a-z_:]+)\b")
    for name in ("rules.yml", "dashboard.json"):
        assert {each for each in used.findall((FILES / name).read_text()) if each not in names} == set()

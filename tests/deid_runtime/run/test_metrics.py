"""Test the metrics of a run: the file, as the node exporter reads it, and what a Pushgateway gets."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deid_runtime.cli.main import main
from deid_runtime.errors import SettingsError
from deid_runtime.run.metrics import metrics_in_file, pushed_metrics
from deid_runtime.run.report import Counts
from tests.commands import write_rows
from tests.running_server import free_ports

parser: Any = pytest.importorskip("prometheus_client.parser")

NOTES = (
    {"id": "secret-id-1", "text": "Call 507-882-4417 about MRN: 8841207, seen 3/11/2019."},
    {"id": "secret-id-2", "text": "null \0 character"},
)


def read(path: Path) -> dict[tuple[str, ...], float]:
    """Return the samples by name and values of labels, without the label ``run``."""
    samples = {}
    for family in parser.text_string_to_metric_families(path.read_text(encoding="utf-8")):
        assert family.documentation
        for sample in family.samples:
            assert sample.labels.pop("run") == path.stem
            samples[(sample.name, *sample.labels.values())] = sample.value
    return samples


def run(folder: Path, *options: str) -> tuple[int, dict[tuple[str, ...], float]]:
    source = folder / "notes.jsonl"
    write_rows(source, NOTES)
    arguments = ["run", str(source), "-o", str(folder / "out.jsonl"), "--no-models", "--workers", "1", "--overwrite"]
    path = folder / "nightly.prom"
    result = CliRunner().invoke(main, [*arguments, "--metrics-file", str(path), *options])
    return result.exit_code, read(path)


def test_the_metrics_of_a_run_are_those_of_its_report(tmp_path: Path) -> None:
    begun = time.time()
    code, found = run(tmp_path)
    report = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())

    assert code == 1
    assert found["deid_run_notes_total", "written"] == found["deid_run_notes_total", "quarantined"] == 1
    assert found["deid_run_quarantined_total", "read"] == 1
    assert found["deid_run_characters_total",] == len(NOTES[0]["text"])  # the other could not be read
    labels = {labels[0]: value for (name, *labels), value in found.items() if name == "deid_run_spans_total" and value}
    assert labels == report["notes"]["spans_by_label"]
    assert {"PHONE", "DATE"} <= set(labels)
    assert found["deid_run_stage_seconds_total", "patterns"] == report["seconds_by_stage"]["patterns"]
    assert (found["deid_run_running",], found["deid_run_succeeded",]) == (0, 1)
    assert begun <= found["deid_run_start_timestamp_seconds",] <= found["deid_run_last_success_timestamp_seconds",]
    text = (tmp_path / "nightly.prom").read_text()
    assert not any(word in text for word in ("secret", "507-882", "8841207", "notes.jsonl", "out.jsonl"))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("nightly.prom.")]


def test_a_run_that_fails_says_so_and_keeps_the_last_success(tmp_path: Path) -> None:
    _, before = run(tmp_path)
    code, after = run(tmp_path, "--id-column", "missing")

    assert code == 2
    assert (after["deid_run_running",], after["deid_run_succeeded",]) == (0, 0)
    key = ("deid_run_last_success_timestamp_seconds",)
    assert after[key] == before[key]


def test_a_run_that_goes_on_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deid_runtime.run.metrics.EVERY_S", 0.0)
    path = tmp_path / "long.prom"
    file = metrics_in_file(path)
    assert read(path)["deid_run_running",] == 1

    counts = Counts(read=5, written=4, chars=100)
    counts.quarantined["models"] = 1
    file.update(counts)

    found = read(path)
    assert (found["deid_run_notes_total", "written"], found["deid_run_quarantined_total", "models"]) == (4, 1)
    assert found["deid_run_running",] == 1


@pytest.mark.parametrize("name", ["nightly.txt", "nightly", "a b.prom", "ä.prom", ".prom"])
def test_a_name_that_the_node_exporter_does_not_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=r"expected NAME\.prom"):
        metrics_in_file(tmp_path / name)


def test_a_folder_that_is_not_there_is_told_before_the_run(tmp_path: Path) -> None:
    source = tmp_path / "notes.jsonl"
    source.write_text(json.dumps(NOTES[0]) + "\n")
    arguments = ["run", str(source), "-o", str(tmp_path / "out.jsonl"), "--no-models"]

    result = CliRunner().invoke(main, [*arguments, "--metrics-file", str(tmp_path / "none" / "a.prom")])

    assert result.exit_code == 2
    assert "a.prom: cannot be written" in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


class Receiver(ThreadingHTTPServer):
    """Takes pushes over HTTP and keeps the last of each path; answers with ``status``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.status = 200
        self.bodies: list[tuple[str, str, str]] = []


class Taking(BaseHTTPRequestHandler):
    """Keeps the body of a request."""

    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode("utf-8")
        self.server.bodies.append((self.command, self.path, body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def push(folder: Path, url: str, *options: str) -> Any:
    source = folder / "notes.jsonl"
    source.write_text("".join(json.dumps(note) + "\n" for note in NOTES))
    arguments = ["run", str(source), "-o", str(folder / "out.jsonl"), "--no-models", "--workers", "1", "--overwrite"]
    return CliRunner().invoke(main, [*arguments, "--metrics-push", url, *options])


def test_a_pushgateway_gets_what_the_file_says(receiver: Receiver, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{receiver.server_port}/push/nightly"

    result = push(tmp_path, url, "--metrics-file", str(tmp_path / "nightly.prom"))

    assert result.exit_code == 1
    assert {(method, path) for method, path, _ in receiver.bodies} == {
        ("POST", "/push/metrics/job/deid_run/run/nightly")  # POST: families that are not in it stay
    }
    (_, _, first), *_, (_, _, last) = receiver.bodies
    assert 'deid_run_running{run="nightly"} 1.0' in first
    (tmp_path / "pushed").mkdir()
    (tmp_path / "pushed" / "nightly.prom").write_text(last)
    pushed, written = read(tmp_path / "pushed" / "nightly.prom"), read(tmp_path / "nightly.prom")
    assert pushed["deid_run_notes_total", "quarantined"] == 1
    assert {each: value for each, value in pushed.items() if "timestamp" not in each[0]} == {
        each: value for each, value in written.items() if "timestamp" not in each[0]
    }
    assert pushed.keys() == written.keys()
    assert not any(word in first + last for word in ("secret", "507-882", "8841207", "notes.jsonl", "out.jsonl"))


def test_a_run_that_fails_pushes_so_and_leaves_the_last_success(receiver: Receiver, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{receiver.server_port}/nightly"

    assert push(tmp_path, url, "--id-column", "missing").exit_code == 2

    last = receiver.bodies[-1][2]
    assert 'deid_run_succeeded{run="nightly"} 0.0' in last
    assert "last_success" not in last


@pytest.mark.parametrize("kind", ["refuses", "is away"])
def test_a_pushgateway_without_an_answer_stops_no_run(
    kind: str, receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status = 500
    port = receiver.server_port if kind == "refuses" else free_ports(1)[0]

    result = push(tmp_path, f"http://127.0.0.1:{port}/nightly")

    assert result.exit_code == 1
    assert (tmp_path / "out.jsonl").exists()
    assert "the metrics cannot be pushed" in caplog.text


@pytest.mark.parametrize(
    "url",
    [
        "pushgateway:9091/a",
        "http://host:9091",
        "http://host:9091/",
        "http://u:p@host/a",
        "http://host/a?b",
        "file:///a",
    ],
)
def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="expected the address of a Pushgateway") as error:
        pushed_metrics(url)
    assert "u:p" not in str(error.value)

"""Test ``deid run --server``: the same bytes as without a server, every note once, whatever the server does."""

import json
import os
import subprocess
import sys
import urllib.request

import pytest
from click.testing import CliRunner

from deid_runtime.cli.main import main
from deid_runtime.run.job import RunOptions, deidentify_files
from deid_runtime.settings import Settings
from tests.client import fault_server as faults
from tests.client.conftest import ROOT
from tests.client.fault_server import FaultServer
from tests.commands import read_rows, write_rows

KEY = bytes(range(32))
NOTES = 24


@pytest.fixture(scope="module")
def source(tmp_path_factory, notes):
    path = tmp_path_factory.mktemp("notes") / "notes.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(NOTES):
            note = notes[number % len(notes)]
            text = note.text.replace("Halvorsen", f"Halvorsen{number}")
            file.write(json.dumps({"id": f"n{number}", "patient": note.patient, "text": text}) + "\n")
    return path


@pytest.fixture(scope="module")
def embedded_bytes(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("embedded") / "out.jsonl"
    deidentify_files([source], out, Settings(window_cache_bytes=0), RunOptions(quiet=True), key=KEY)
    return out.read_bytes()


def test_the_bytes_are_those_of_the_embedded_engine_though_the_server_dies(
    models, asking, source, embedded_bytes, tmp_path
):
    out = tmp_path / "out.jsonl"
    with FaultServer(
        models, faults=(*[None] * 3, faults.die(0.3), *[None] * 5, faults.half, faults.die(0.1))
    ) as server:
        settings = Settings(window_cache_bytes=0, server=asking(server, request_tokens=1024))
        summary = deidentify_files([source], out, settings, RunOptions(quiet=True, batch_size=8, workers=2), key=KEY)

    assert summary.counts.quarantined.total() == 0
    assert out.read_bytes() == embedded_bytes
    manifest = json.loads(summary.manifest.read_text())
    assert manifest["pipeline"]["engine"] == "server"
    assert manifest["pipeline"]["models"]["server"]["endpoints"] == [server.address]
    assert manifest["pipeline"]["models"]["graphs"]["v0"]["sha256"]


def test_every_note_is_written_or_quarantined_when_the_server_is_lost(models, asking, source, embedded_bytes, tmp_path):
    def lost(server, context, answer):
        server.stop()
        return answer

    out = tmp_path / "out.jsonl"
    with FaultServer(models, faults=(*[None] * 8, lost)) as server:
        settings = Settings(window_cache_bytes=0, server=asking(server, request_tokens=1024, batch_seconds=0.5))
        summary = deidentify_files([source], out, settings, RunOptions(quiet=True, batch_size=4), key=KEY)

    written = out.read_bytes().splitlines()
    expected = embedded_bytes.splitlines()
    held_back = [row["id"] for row in read_rows(summary.quarantine)]
    kept = [row for number, row in enumerate(expected) if f"n{number}" not in held_back]
    assert 0 < len(held_back) < NOTES
    assert len(set(held_back)) == len(held_back)
    assert written == kept
    assert "Halvorsen" not in summary.quarantine.read_text()


def test_whole_patients_are_served_as_without_a_server(models, asking, source, tmp_path):
    by_patient = tmp_path / "in.jsonl"
    rows = sorted(read_rows(source), key=lambda row: row["patient"])
    write_rows(by_patient, rows)
    options = RunOptions(quiet=True, whole_patients=True)
    deidentify_files([by_patient], tmp_path / "embedded.jsonl", Settings(window_cache_bytes=0), options, key=KEY)

    with FaultServer(models) as server:
        settings = Settings(window_cache_bytes=0, server=asking(server))
        summary = deidentify_files([by_patient], tmp_path / "out.jsonl", settings, options, key=KEY)

    assert summary.counts.quarantined.total() == 0
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "embedded.jsonl").read_bytes()


def command(*arguments):
    return CliRunner().invoke(main, [str(each) for each in arguments])


@pytest.mark.parametrize(
    "options",
    [("--stream",), ("--tls",), ("--server", "host", "--no-models"), ("--server", "host", "--engine", "openvino")],
)
def test_options_that_do_not_go_together(options, source, tmp_path):
    result = command("detect", source, "-o", tmp_path / "out.jsonl", *options)

    assert result.exit_code == 2
    assert "--server" in result.stderr


def test_a_server_beyond_this_machine_needs_tls(source, tmp_path):
    result = command("detect", source, "-o", tmp_path / "out.jsonl", "--server", "127.0.0.1,triton.quist.org:8001")

    assert result.exit_code == 2
    assert "triton.quist.org:8001" in result.stderr
    assert "--tls-ca" in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_server_that_is_not_there_stops_the_command(models, source, tmp_path):
    server = FaultServer(models)
    server.stop()

    result = command(
        "detect", source, "-o", tmp_path / "out.jsonl", "--server", server.address, "--workers", 1, "--deadline", 0.3
    )

    assert result.exit_code == 2
    assert server.address in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_the_command_serves_metrics_and_keeps_the_header_to_itself(models, source, tmp_path):
    secret = "Bearer 9f2c-not-to-be-seen"
    port = free_port()
    pages = []

    def look(server, context, answer):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
            pages.append(page.read().decode())
        return answer

    arguments = ["-o", str(tmp_path / "out.jsonl"), "--workers", "1", "--request-tokens", "256"]
    path = os.pathsep.join([str(ROOT), str(ROOT / "client")])
    with FaultServer(models, always=look) as server:
        done = subprocess.run(
            [sys.executable, "-m", "deid_runtime", "run", str(source), *arguments, "--server", server.address,
             "--metrics-port", str(port)],
            env={**os.environ, "DEID_AUTHORIZATION": secret, "PYTHONPATH": path}, capture_output=True, text=True,
            check=True,
        )  # fmt: skip

    assert {each["authorization"] for each in server.metadata} == {secret}
    written = "".join(path.read_text() for path in tmp_path.iterdir())
    assert secret not in done.stdout + done.stderr + written
    assert f'deid_client_calls_total{{endpoint="{server.address}",status="OK"}}' in pages[-1]
    assert "deid_client_in_flight_requests" in pages[-1]
    assert "Halvorsen" not in pages[-1]


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

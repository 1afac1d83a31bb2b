"""Test the traces of runs and applications with OpenTelemetry's own exporter in memory: counts, and no text."""

import http.server
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deid_runtime.cli.main import main
from deid_runtime.pipeline.tracing import trace_with
from deid_runtime.run.job import RunOptions, deidentify_files
from deid_runtime.settings import Settings
from tests.commands import write_rows

sdk: Any = pytest.importorskip("opentelemetry.sdk.trace")
export: Any = pytest.importorskip("opentelemetry.sdk.trace.export")
in_memory: Any = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")

TEXTS = (
    "Ms. Halvorsen was seen on 3/11/2019.",
    "Call Priya Raman at 507-882-4417 in Dundas.",
    "M r s . H a l v o r s e n w a s s e e n b y D r . L i n d " * 5,
)


@pytest.fixture
def exporter() -> Iterator[Any]:
    memory = in_memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(memory))
    trace_with(provider)
    try:
        yield memory
    finally:
        trace_with(None)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    rows = [{"id": f"id-{number}", "patient": "pat-1", "text": text} for number, text in enumerate(TEXTS)]
    write_rows(path, rows)
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_has_a_span_for_each_batch_and_stage(exporter: Any, source: Path, tmp_path: Path, workers: int) -> None:
    options = RunOptions(quiet=True, workers=workers, in_process=workers == 1)
    deidentify_files([source], tmp_path / "out.jsonl", Settings(use_models=False), options, key=bytes(32))

    spans = exporter.get_finished_spans()
    [batch] = [span for span in spans if span.name == "deid.batch"]
    assert batch.attributes["deid.notes"] == 3
    assert batch.attributes["deid.characters"] == sum(map(len, TEXTS))
    assert (batch.attributes["deid.quarantined"], batch.attributes["deid.quarantined.read"]) == (1, 1)
    assert batch.attributes["deid.spans"] >= 3
    stages = {span.attributes["deid.stage"]: span for span in spans if span is not batch}
    assert {"read", "sentences", "patterns", "people", "fusion", "surrogates", "rewrite"} <= set(stages)
    for stage in stages.values():
        assert stage.parent.span_id == batch.context.span_id
        assert batch.start_time <= stage.start_time <= stage.end_time <= batch.end_time
        assert stage.attributes["deid.seconds"] == pytest.approx((stage.end_time - stage.start_time) / 1e9, abs=1e-5)


def test_no_word_of_a_note_is_in_a_span(exporter: Any, source: Path, tmp_path: Path) -> None:
    deidentify_files(
        [source], tmp_path / "out.jsonl", Settings(use_models=False), RunOptions(quiet=True), key=bytes(32)
    )

    said = json.dumps([json.loads(span.to_json()) for span in exporter.get_finished_spans()])
    values = set(re.findall(r'"([^"]*)"', said))
    words = {word for text in TEXTS for word in re.findall(r"\w+", text)}
    # Names of stages and attributes are ours, and contain short words such as `read`.
    assert not {value for value in values for word in words if len(word) > 4 and word in value}
    assert "id-" not in said
    assert "pat-1" not in said
    assert "jsonl" not in said


def test_traces_are_off_unless_asked_for(source: Path, tmp_path: Path) -> None:
    memory = in_memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(memory))

    deidentify_files(
        [source], tmp_path / "out.jsonl", Settings(use_models=False), RunOptions(quiet=True), key=bytes(32)
    )

    assert memory.get_finished_spans() == ()


def test_the_command_sends_them_to_a_collector(source: Path, tmp_path: Path) -> None:
    trace_pb2: Any = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    received: list[bytes] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            received.append(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1/traces"
        arguments = ["run", str(source), "-o", str(tmp_path / "out.jsonl"), "--no-models", "--workers", "1"]
        result = CliRunner().invoke(main, [*arguments, "--otlp-endpoint", url])
        server.shutdown()

    assert result.exit_code == 1
    names = [
        span.name
        for body in received
        for resource in trace_pb2.ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert {"deid.run", "deid.batch", "deid.stage.patterns"} <= set(names)
    assert not any(word in body for body in received for word in (b"Halvorsen", b"Priya", b"507-882", b"id-0"))


def test_a_collector_that_is_no_url_is_refused(source: Path, tmp_path: Path) -> None:
    arguments = ["run", str(source), "-o", str(tmp_path / "out.jsonl"), "--no-models"]

    result = CliRunner().invoke(main, [*arguments, "--otlp-endpoint", "collector:4318"])

    assert result.exit_code == 2
    assert "expected a form like http://127.0.0.1:4318/v1/traces" in result.stderr
    assert not (tmp_path / "out.jsonl").exists()

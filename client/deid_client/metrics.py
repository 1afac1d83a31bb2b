"""Prometheus metrics of the client: numbers, endpoints and status codes; no text, no ids.

``deid run`` has several processes. They write memory-mapped counters to one folder, and the parent process serves their
sums. This is the multi-process mode of prometheus_client, which an environment variable switches on.
"""

import os
import tempfile
from collections import Counter as TallyCounter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from deid_client.refusals import REFUSALS
from deid_runtime.errors import SettingsError
from deid_runtime.labels import LABELS
from deid_runtime.pipeline.outcomes import Outcome, Quarantined
from deid_runtime.spans import Note
from deid_runtime.stages import PIPELINE_STAGES
from deid_runtime.system.extras import install_extra

_FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
_CALL_SECONDS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_NOTE_SECONDS: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class ClientMetrics:
    """The metrics of one process. ``registry`` belongs to this object; its creator may serve or read it."""

    def __init__(self) -> None:
        # Imported here, since prometheus_client reads the environment at import.
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry = CollectorRegistry()
        self.requests = Counter(
            "deid_client_requests", "Requests, each answered or given up after any number of calls.", ["outcome"],
            registry=self.registry,
        )  # fmt: skip
        self.calls = Counter(
            "deid_client_calls", "Calls, by endpoint and gRPC status; OK with a wrong answer counts as BAD_ANSWER.",
            ["endpoint", "status"], registry=self.registry,
        )  # fmt: skip
        self.retries = Counter("deid_client_retries", "Calls after the first of a request.", registry=self.registry)
        self.failovers = Counter(
            "deid_client_failovers", "Calls after the first of a request that went to another endpoint.",
            registry=self.registry,
        )  # fmt: skip
        self.reconnects = Counter("deid_client_streams", "Streams opened.", ["endpoint"], registry=self.registry)
        self.windows = Counter("deid_client_windows", "Windows of text tagged.", registry=self.registry)
        self.tokens = Counter("deid_client_tokens", "Tokens sent, padding included.", registry=self.registry)
        self.queued = Gauge(
            "deid_client_queued_requests", "Requests that wait for their turn.", registry=self.registry,
            multiprocess_mode="livesum",
        )  # fmt: skip
        self.in_flight = Gauge(
            "deid_client_in_flight_requests", "Requests under way, pauses between calls included.",
            registry=self.registry, multiprocess_mode="livesum",
        )  # fmt: skip
        self.is_down = Gauge(
            "deid_client_service_down", "1 while no endpoint answers and notes are held back.",
            registry=self.registry, multiprocess_mode="livemax",
        )  # fmt: skip
        self.call_seconds = Histogram(
            "deid_client_call_seconds", "Seconds from sending a request to its answer, answered calls only.",
            buckets=_CALL_SECONDS, registry=self.registry,
        )  # fmt: skip
        self.queue_seconds = Histogram(
            "deid_client_queue_seconds", "Seconds that a request waited in the client for its turn.",
            buckets=_CALL_SECONDS, registry=self.registry,
        )  # fmt: skip
        self.refusals = Counter(
            "deid_client_refusals", "Calls that a server refused, by reason.", ["reason"], registry=self.registry
        )
        self.models = Gauge(
            "deid_client_model_info", "The graphs that servers must run, by digest. Always 1.", ["graph", "sha256"],
            registry=self.registry, multiprocess_mode="livemax",
        )  # fmt: skip
        self._add_notes()
        self._begin()

    def _add_notes(self) -> None:
        """Create the metrics of notes, which only DeidClient counts."""
        from prometheus_client import Counter, Histogram

        self.notes = Counter("deid_client_notes", "Notes of DeidClient.", ["outcome"], registry=self.registry)
        self.characters = Counter(
            "deid_client_characters", "Characters (code points) of the notes of DeidClient that succeeded.",
            registry=self.registry,
        )  # fmt: skip
        self.spans = Counter(
            "deid_client_spans", "Identifiers found in notes of DeidClient, by label.", ["label"],
            registry=self.registry,
        )  # fmt: skip
        self.quarantined = Counter(
            "deid_client_quarantined", "Notes of DeidClient that were held back, by the stage that failed.", ["stage"],
            registry=self.registry,
        )  # fmt: skip
        self.note_seconds = Histogram(
            "deid_client_note_seconds", "Seconds from reading a note of DeidClient to its outcome.",
            buckets=_NOTE_SECONDS, registry=self.registry,
        )  # fmt: skip

    def _begin(self) -> None:
        """Create all counters with known labels at 0: a missing counter would look as if nothing was measured."""
        for reason in REFUSALS:
            self.refusals.labels(reason)
        for label in LABELS:
            self.spans.labels(label)
        for stage in PIPELINE_STAGES:
            self.quarantined.labels(stage)

    def count_note(self, note: Note, outcome: Outcome, seconds: float) -> None:
        """Count a note of DeidClient that took ``seconds`` from reading to its outcome."""
        self.notes.labels(type(outcome).__name__.lower()).inc()
        self.note_seconds.observe(seconds)
        if isinstance(outcome, Quarantined):
            self.quarantined.labels(outcome.stage).inc()
            return
        self.characters.inc(len(note.text))
        for label, count in TallyCounter(span.label for span in outcome.spans).items():
            self.spans.labels(label).inc(count)

    def set_models(self, graphs: Mapping[str, str]) -> None:
        """Name the graphs in use; ``graphs`` maps their names to their SHA-256."""
        for name, digest in graphs.items():
            self.models.labels(name, digest).set(1)


@contextmanager
def serving_metrics(port: int) -> Iterator[None]:
    """Serve the metrics of this process and of its child processes on ``port`` of the loopback interface.

    Enter this context before making any child process or :class:`ClientMetrics`. Raises SettingsError when the port is
    in use.
    """
    with tempfile.TemporaryDirectory(prefix="deid-metrics-") as folder:
        os.environ[_FOLDER_VARIABLE] = folder
        try:
            try:
                from prometheus_client import CollectorRegistry, start_http_server
                from prometheus_client.multiprocess import MultiProcessCollector
            except ImportError:
                raise SettingsError(f"metrics need prometheus-client; {install_extra('client')}") from None
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            try:
                server, thread = start_http_server(port, "127.0.0.1", registry)
            except OSError as error:
                raise SettingsError(
                    f"cannot listen on 127.0.0.1:{port} for metrics ({error.strerror}); name another --metrics-port"
                ) from None
            try:
                yield
            finally:
                server.shutdown()
                server.server_close()
                thread.join()
        finally:
            del os.environ[_FOLDER_VARIABLE]

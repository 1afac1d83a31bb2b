"""Counters of the client for Prometheus: numbers, endpoints, status codes; no text, no ids.

``deid run`` has several processes. They share a folder of memory-mapped counters, which the parent process sums up for
whoever asks: the multi-process mode of prometheus_client, chosen by a variable of the environment.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from deid_runtime.errors import SettingsError
from deid_runtime.system.extras import install_extra

_FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
_CALL_SECONDS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class ClientMetrics:
    """What one process does with its servers. ``registry`` is its own, to be served or read by whoever made it."""

    def __init__(self) -> None:
        # Imported here, because it looks at the environment as it is imported.
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry = CollectorRegistry()
        self.requests = Counter(
            "deid_client_requests", "Requests, each answered or given up after any number of calls.", ["outcome"],
            registry=self.registry,
        )  # fmt: skip
        self.calls = Counter(
            "deid_client_calls", "Calls, by endpoint and gRPC status; OK that was wrong counts as BAD_ANSWER.",
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
        self.notes = Counter("deid_client_notes", "Notes of DeidClient.", ["outcome"], registry=self.registry)


@contextmanager
def serving_metrics(port: int) -> Iterator[None]:
    """Serve the metrics of this process and of those it starts on ``port`` of the loopback interface.

    To be entered before any process or :class:`ClientMetrics` is made. Raises SettingsError for a port that is taken.
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

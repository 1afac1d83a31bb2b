"""Prometheus metrics of the gateway: numbers, names of projects, kinds of problems; no text, no ids."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class GatewayMetrics:
    """The metrics of one process, with those of ``others``, registries of the connections to the servers."""

    def __init__(self, others: Sequence["CollectorRegistry"] = ()) -> None:
        # Imported here: it is part of the extra [gateway].
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        registry = CollectorRegistry()
        self._registries = (registry, *others)
        self.requests = Counter(
            "deid_gateway_requests", "Requests, by operation and status.", ["operation", "status"], registry=registry
        )
        self.problems = Counter(
            "deid_gateway_problems", "Requests that were refused or failed, by kind.", ["kind"], registry=registry
        )
        self.notes = Counter(
            "deid_gateway_notes", "Notes, by project, task and outcome (done, held_back).",
            ["project", "task", "outcome"], registry=registry,
        )  # fmt: skip
        self.held_back = Counter(
            "deid_gateway_held_back", "Notes that were held back, by stage.", ["stage"], registry=registry
        )
        self.chars = Counter("deid_gateway_characters", "Characters of the notes.", ["project"], registry=registry)
        self.spans = Counter("deid_gateway_spans", "Identifiers found, by label.", ["label"], registry=registry)
        self.in_progress = Gauge("deid_gateway_requests_in_progress", "Requests being handled.", registry=registry)
        self.seconds = Histogram(
            "deid_gateway_request_seconds", "Seconds from the headers of a request to the end of its answer.",
            ["operation"], buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.note_seconds = Histogram(
            "deid_gateway_note_seconds", "Seconds from the turn of a note to the answer of the servers.",
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.access_faults = Gauge(
            "deid_gateway_access_file_faults", "Changes of the access file that were ignored because it was wrong.",
            registry=registry,
        )  # fmt: skip

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        from prometheus_client import generate_latest

        return b"".join(generate_latest(registry) for registry in self._registries)

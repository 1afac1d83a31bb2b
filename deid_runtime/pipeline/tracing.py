"""OpenTelemetry traces: a span for each batch of notes, and below it one for each stage. Off by default.

The attributes are counts, seconds and names of stages: no text, no ids, no file names. Stages of a batch take turns
note by note, so the span of a stage does not show when it ran: it is as long as the stage took in total, and the stages
follow each other in their order. Work on notes is recorded where its outcomes arrive, so worker processes send nothing.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import time_ns
from typing import Any, Final
from urllib.parse import urlsplit

from deid_runtime.errors import SettingsError
from deid_runtime.pipeline.outcomes import Outcome, Quarantined
from deid_runtime.spans import Note
from deid_runtime.stages import PIPELINE_STAGES
from deid_runtime.system.extras import install_extra

_NAME: Final = "deid_runtime"
#: How long one attempt to send spans may take. A collector that cannot be reached must not delay notes.
_EXPORT_S: Final = 2.0


@dataclass(slots=True)
class _State:
    """The tracer of this process, None while nothing is traced."""

    tracer: Any = None


_STATE: Final = _State()


def trace_with(provider: Any) -> None:
    """Record spans with this ``TracerProvider`` of OpenTelemetry from now on; None turns traces off."""
    _STATE.tracer = None if provider is None else provider.get_tracer(_NAME)


@contextmanager
def exported_traces(endpoint: str | None, name: str) -> Iterator[None]:
    """Send spans to the OTLP collector ``endpoint`` while the block runs, as parts of one span ``name``.

    ``endpoint`` is a URL such as ``http://127.0.0.1:4318/v1/traces``; nothing is traced when it is None. Raises
    SettingsError for another kind of URL, or when a library is missing.
    """
    if endpoint is None:
        yield
        return
    provider = export_traces(endpoint)
    try:
        with _STATE.tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False):
            yield
    finally:
        trace_with(None)
        provider.shutdown()


def export_traces(endpoint: str) -> Any:
    """Send spans to the OTLP collector ``endpoint`` from now on. Return the provider, to shut it down at the end.

    Raises SettingsError like :func:`exported_traces`.
    """
    check_collector(endpoint)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise SettingsError(f"traces need OpenTelemetry; {install_extra('otel')}") from None
    provider = TracerProvider(resource=Resource.create({"service.name": "deid"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=_EXPORT_S)))
    trace_with(provider)
    return provider


def check_collector(endpoint: str) -> None:
    """Raise SettingsError unless ``endpoint`` is a URL of HTTP."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(
            f"the collector {endpoint!r:.80} is not a URL; expected a form like http://127.0.0.1:4318/v1/traces "
            "(--otlp-endpoint)"
        )


def record_batch(
    notes: Sequence[Note], outcomes: Sequence[Outcome], started_ns: int, spent: Mapping[str, float]
) -> None:
    """Record a batch of notes that ends now, if traces are on.

    ``started_ns`` is its beginning in nanoseconds since 1970, ``spent`` has the seconds of each stage.
    """
    tracer = _STATE.tracer
    if tracer is None:
        return
    from opentelemetry.trace import set_span_in_context

    held_back = Counter(outcome.stage for outcome in outcomes if isinstance(outcome, Quarantined))
    found = sum(len(outcome.spans) for outcome in outcomes if not isinstance(outcome, Quarantined))
    counts = {"deid.notes": len(notes), "deid.spans": found}
    batch = tracer.start_span(
        "deid.batch",
        start_time=started_ns,
        attributes={
            **counts,
            "deid.characters": sum(len(note.text) for note in notes),
            "deid.quarantined": held_back.total(),
            **{f"deid.quarantined.{stage}": count for stage, count in held_back.items()},
        },
    )
    inside = set_span_in_context(batch)
    at_ns = started_ns
    for stage in PIPELINE_STAGES:
        seconds = spent.get(stage, 0.0)
        if seconds > 0:
            attributes = {"deid.stage": stage, "deid.seconds": round(seconds, 6), **counts}
            span = tracer.start_span(f"deid.stage.{stage}", inside, start_time=at_ns, attributes=attributes)
            at_ns += int(seconds * 1e9)
            span.end(end_time=at_ns)
    batch.end(end_time=max(time_ns(), at_ns))


def more_seconds(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of each stage between two readings of a pipeline."""
    return {stage: seconds - before.get(stage, 0.0) for stage, seconds in after.items()}

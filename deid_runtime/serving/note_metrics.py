"""Counters of the model ``deidentify`` on the metrics page of its server, beside Triton's own metrics.

Triton counts requests, not notes: a note that was held back is a success there. These counters count the outcome of
each note. They have numbers, labels from closed lists, and digests of models; no text and no ids. Canary requests do
not count. The processes of a model add to the same counters.

Triton's own metrics show how long requests wait: ``nv_inference_queue_duration_us{model="deidentify"}``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from deid_runtime.labels import LABELS
from deid_runtime.run.report import deid_version
from deid_runtime.serving.refusals import REASONS, Reason
from deid_runtime.spans import Span
from deid_runtime.stages import PIPELINE_STAGES

#: The possible outcomes of a note.
OUTCOMES: Final = ("deidentified", "quarantined", "refused", "failed")
#: Upper bounds of the histogram of seconds for a note.
NOTE_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

#: Name and meaning of each counter, with the label that divides it and the values of that label.
_COUNTERS: Final[tuple[tuple[str, str, str, Sequence[str]], ...]] = (
    ("notes", "Notes in requests, by outcome.", "outcome", OUTCOMES),
    ("quarantined", "Notes that were held back, by the stage that failed.", "stage", PIPELINE_STAGES),
    ("refusals", "Requests refused before their note was read, by reason.", "reason", REASONS),
    ("characters", "Characters (code points) of notes that were de-identified.", "", ()),
    ("spans", "Spans that were replaced, by label.", "label", LABELS),
    ("stage_seconds", "Seconds that each stage of the pipeline took.", "stage", PIPELINE_STAGES),
)


class NoteMetrics:
    """The counters of one process of the model. Close them before the process ends."""

    def __init__(self, triton: Any, description: Mapping[str, Any]) -> None:
        """Create all counters. ``triton`` is the module of Triton's python backend.

        ``description`` is that of the pipeline: its digests and settings.
        """
        # Triton forbids freeing a family before its metrics, so both are kept until `close`.
        self._families: list[Any] = []
        self._counters: dict[str, dict[str, Any]] = {}
        for name, meaning, label, values in _COUNTERS:
            family = self._family(triton, f"deid_server_{name}_total", meaning, triton.MetricFamily.COUNTER)
            rows = [{label: value} for value in values] or [{}]
            self._counters[name] = {"".join(row.values()): family.Metric(labels=row) for row in rows}
        seconds = self._family(
            triton, "deid_server_note_seconds", "Seconds to process a note.", triton.MetricFamily.HISTOGRAM
        )
        self._seconds: Any = seconds.Metric(labels={}, buckets=list(NOTE_SECONDS))
        self._infos = [self._info(triton, *each) for each in _infos(description)]
        self._stage_seconds: dict[str, float] = {}

    def _family(self, triton: Any, name: str, meaning: str, kind: Any) -> Any:
        self._families.append(triton.MetricFamily(name=name, description=meaning, kind=kind))
        return self._families[-1]

    def _info(self, triton: Any, name: str, meaning: str, rows: Sequence[Mapping[str, str]]) -> list[Any]:
        family = self._family(triton, name, meaning, triton.MetricFamily.GAUGE)
        metrics = [family.Metric(labels=dict(row)) for row in rows]
        for metric in metrics:
            metric.set(1)
        return metrics

    def deidentified(self, chars: int, spans: Sequence[Span], seconds: float) -> None:
        """Count a note of ``chars`` code points that was de-identified in ``seconds``."""
        self._add("notes", "deidentified")
        self._add("characters", "", chars)
        found: dict[str, int] = {}
        for span in spans:
            found[span.label] = found.get(span.label, 0) + 1
        for label, count in found.items():
            self._add("spans", label, count)
        self._seconds.observe(seconds)

    def quarantined(self, stage: str) -> None:
        """Count a note that was held back."""
        self._add("notes", "quarantined")
        self._add("quarantined", stage)

    def refused(self, reason: Reason) -> None:
        """Count a request that was refused before its note was read."""
        self._add("notes", "refused")
        self._add("refusals", reason)

    def failed(self) -> None:
        """Count a note that met an unexpected error."""
        self._add("notes", "failed")

    def stages(self, seconds: Mapping[str, float]) -> None:
        """Record the seconds that each stage took since the pipeline was loaded."""
        for stage, total in seconds.items():
            more = total - self._stage_seconds.get(stage, 0.0)
            if more > 0:
                self._add("stage_seconds", stage, more)
        self._stage_seconds = dict(seconds)

    def _add(self, name: str, value: str, count: float = 1) -> None:
        metrics = self._counters[name]
        if value in metrics and count:  # a value outside the closed list is not counted by it
            metrics[value].increment(count)

    def close(self) -> None:
        """Free the metrics, then their families, as Triton requires."""
        self._counters.clear()
        self._infos.clear()
        self._seconds = None
        self._families.clear()


def _infos(description: Mapping[str, Any]) -> list[tuple[str, str, list[dict[str, str]]]]:
    """Return name, meaning and labels of the metrics that are always 1: what the server runs."""
    models = description["models"]
    return [
        (
            "deid_server_model_info",
            "The graphs that the server runs, by digest. Always 1.",
            [{"graph": name, "sha256": graph["sha256"]} for name, graph in models["graphs"].items()],
        ),
        (
            "deid_server_info",
            "The version and the settings of the server. Always 1.",
            [
                {
                    "version": deid_version(),
                    "tokenizer_sha256": models["tokenizer"]["sha256"],
                    **{
                        name: str(description[name]).lower()
                        for name in ("profile", "operator", "dates", "safe_harbor", "hold_back_unreadable")
                    },
                }
            ],
        ),
    ]

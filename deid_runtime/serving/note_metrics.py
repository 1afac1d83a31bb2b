"""Counters of the model ``deidentify`` on the metrics page of its server, beside Triton's own metrics.

Triton counts requests, not notes: a note that was held back is a success there. These counters count the outcome of
each note. They have numbers, labels from closed lists, and digests of models; no text and no ids. Canary requests do
not count. The processes of a model add to the same counters.

Each call of Triton's counters is a message to the server and waits for its answer, about a millisecond; a note makes
two dozen of them. So notes are counted in this process, and a thread tells the server the sums.

Requests wait in Triton's queue (``nv_inference_queue_duration_us{model="deidentify"}``), then in the process of the
model (``deid_server_waiting_seconds_total``, see :mod:`deid_runtime.serving.note_queue`).
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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

#: Seconds between two messages to the server.
SEND_SECONDS: Final = 0.25

#: Name and meaning of each counter, with the label that divides it and the values of that label.
_COUNTERS: Final[tuple[tuple[str, str, str, Sequence[str]], ...]] = (
    ("notes", "Notes in requests, by outcome.", "outcome", OUTCOMES),
    ("quarantined", "Notes that were held back, by the stage that failed.", "stage", PIPELINE_STAGES),
    ("refusals", "Requests refused before their note was read, by reason.", "reason", REASONS),
    ("characters", "Characters (code points) of notes that were de-identified.", "", ()),
    ("spans", "Spans that were replaced, by label.", "label", LABELS),
    ("waiting_seconds", "Seconds that requests waited in the process of the model, behind Triton's queue.", "", ()),
    ("stage_seconds", "Seconds that each stage of the pipeline took.", "stage", PIPELINE_STAGES),
)


class NoteMetrics:
    """The counters of one process of the model. Close them before the process ends."""

    def __init__(self, triton: Any, description: Mapping[str, Any], waiting: Callable[[], int]) -> None:
        """Create all counters. ``triton`` is the module of Triton's python backend.

        ``description`` is that of the pipeline: its digests and settings. ``waiting`` returns the number of requests
        that wait in the process of the model now.
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
        waiting_now = self._family(
            triton, "deid_server_waiting_notes", "Requests in the process of the model.", triton.MetricFamily.GAUGE
        )
        self._waiting_metric: Any = waiting_now.Metric(labels={})
        self._waiting = waiting
        self._sent_waiting = 0
        self._infos = [self._info(triton, *each) for each in _infos(description)]
        self._stage_seconds: Mapping[str, float] = {}
        self._sent_stage_seconds: Mapping[str, float] = {}
        self._lock = threading.Lock()
        self._due: dict[tuple[str, str], float] = defaultdict(float)  # by counter and value of its label, not yet sent
        self._due_seconds: list[float] = []
        self._ended = threading.Event()
        self._sender = threading.Thread(target=self._send_until_ended, name="note metrics", daemon=True)
        self._sender.start()

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
        self._add(("notes", "deidentified"), *(("spans", span.label) for span in spans))
        with self._lock:
            self._due["characters", ""] += chars
            self._due_seconds.append(seconds)

    def quarantined(self, stage: str) -> None:
        """Count a note that was held back."""
        self._add(("notes", "quarantined"), ("quarantined", stage))

    def refused(self, reason: Reason) -> None:
        """Count a request that was refused before its note was read."""
        self._add(("notes", "refused"), ("refusals", reason))

    def failed(self) -> None:
        """Count a note that met an unexpected error."""
        self._add(("notes", "failed"))

    def waited(self, seconds: float) -> None:
        """Count the seconds that a request waited in the process of the model."""
        with self._lock:
            self._due["waiting_seconds", ""] += seconds

    def stages(self, seconds: Mapping[str, float]) -> None:
        """Take the seconds that each stage took since the pipeline was loaded."""
        with self._lock:
            self._stage_seconds = dict(seconds)

    def _add(self, *counted: tuple[str, str]) -> None:
        with self._lock:
            for each in counted:
                self._due[each] += 1

    def _send_until_ended(self) -> None:
        while not self._ended.wait(SEND_SECONDS):
            with suppress(Exception):  # what could not be sent is lost; notes go on
                self._send()

    def _send(self) -> None:
        """Send what was counted since the last time. Only one thread does this at a time."""
        with self._lock:
            due, seconds = self._due, self._due_seconds
            self._due, self._due_seconds = defaultdict(float), []
            stages = self._stage_seconds
        for (name, value), count in due.items():
            metric = self._counters[name].get(value)  # None for a value outside the closed list
            if metric is not None and count:
                metric.increment(count)
        for each in seconds:
            self._seconds.observe(each)
        for stage, total in stages.items():
            more = total - self._sent_stage_seconds.get(stage, 0.0)
            if more > 0 and stage in self._counters["stage_seconds"]:
                self._counters["stage_seconds"][stage].increment(more)
        self._sent_stage_seconds = stages
        # The processes of a model share this metric, so each adds its changes.
        waiting = self._waiting()
        if waiting != self._sent_waiting:
            self._waiting_metric.increment(waiting - self._sent_waiting)
        self._sent_waiting = waiting

    def close(self) -> None:
        """Send what is left, then free the metrics and after them their families, as Triton requires."""
        self._ended.set()
        self._sender.join()
        self._send()
        self._counters.clear()
        self._infos.clear()
        self._seconds = self._waiting_metric = None
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

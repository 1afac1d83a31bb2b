"""The metrics of a run for Prometheus: a file for the textfile collector of the node exporter, or a Pushgateway.

The file is replaced as a whole, so a reader never sees an incomplete one. The metrics show how far a run is, and how
the last one ended: node exporter and Pushgateway serve them until the next run. Label names and values come from closed
lists, from the models, and from the name that the user gives; there is no text, no note id and no file name of notes.
"""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from time import monotonic, time
from typing import Any, Final
from urllib.parse import urlsplit

from deid_runtime.errors import OutputError, SettingsError
from deid_runtime.labels import LABELS
from deid_runtime.run.report import Counts, deid_version
from deid_runtime.stages import STAGES
from deid_runtime.system.extras import install_extra

SUFFIX: Final = ".prom"
#: How often the metrics are written or pushed during a run.
EVERY_S: Final = 10.0

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_LAST_SUCCESS: Final = "deid_run_last_success_timestamp_seconds"
_PUSH_S: Final = 5.0  # the longest wait for a Pushgateway
_PUSH_PAUSE_S: Final = 60.0  # after a push that failed, so that a silent Pushgateway costs little time
#: The file of an earlier run is read up to this size.
_FILE_LIMIT_BYTES: Final = 2**20

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class RunState:
    """What the metrics say about a run. Times are seconds since 1970; ``report`` is empty until the run has ended."""

    name: str
    started_s: float
    counts: Counts = field(default_factory=Counts)
    updated_s: float = 0.0
    ended_s: float | None = None
    succeeded: bool = False
    last_success_s: float | None = None
    report: Mapping[str, Any] = field(default_factory=dict)


class RunMetrics:
    """The metrics of one run, written by ``write``: when it begins, every 10 seconds, and when it ends.

    ``write`` takes a registry, and whether it is the last one of the run.
    """

    def __init__(self, name: str, write: Callable[[Any, bool], None], last_success_s: float | None = None) -> None:
        """Write that the run begins. Raises the errors of ``write``."""
        self._write_out = write
        self._state = RunState(name, time(), last_success_s=last_success_s)
        self._written_s = 0.0
        self._write()

    def update(self, counts: Counts) -> None:
        """Store the counts of the run so far; write them when the last write is long enough ago."""
        self._state.counts = counts
        if monotonic() - self._written_s >= EVERY_S:
            self._write()

    def finish(self, report: Mapping[str, Any]) -> None:
        """Write the run report of a run that has succeeded."""
        state, notes = self._state, report["notes"]
        state.counts = Counts(
            written=notes["written"],
            chars=notes["characters"],
            quarantined=Counter(notes["quarantined_by_stage"]),
            labels=Counter(notes["spans_by_label"]),
        )
        state.report = report
        state.succeeded, state.ended_s = True, time()
        state.last_success_s = state.ended_s
        self._write()

    def fail(self) -> None:
        """Write that the run has failed or was stopped."""
        self._state.ended_s = time()
        self._write()

    def _write(self) -> None:
        from prometheus_client import CollectorRegistry
        from prometheus_client.registry import Collector

        state = self._state
        state.updated_s = time()

        class RunCollector(Collector):
            def collect(self) -> Iterator[Any]:
                yield from _families(state)

        registry = CollectorRegistry()
        registry.register(RunCollector())
        self._write_out(registry, state.ended_s is not None)
        self._written_s = monotonic()


def metrics_in_file(path: Path) -> RunMetrics:
    """Return metrics that are written to ``path``, ``NAME.prom``.

    Raises SettingsError for another name or when a library is missing, OutputError when the file cannot be written.
    """
    if path.suffix != SUFFIX or not _NAME.fullmatch(path.stem):
        raise SettingsError(
            f"--metrics-file {path.name!r:.80}: expected NAME{SUFFIX} with 1 to 64 letters, digits, _, - and dots; "
            "the node exporter reads no other files"
        )
    _check_library("--metrics-file")

    def write(registry: Any, is_last: bool) -> None:
        from prometheus_client import write_to_textfile

        try:
            write_to_textfile(str(path), registry)
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror or type(error).__name__}") from None

    return RunMetrics(path.stem, write, _last_success(path))


def pushed_metrics(url: str) -> RunMetrics:
    """Return metrics that are pushed to a Pushgateway. The last part of the path of ``url`` names the run.

    A push that fails does not stop the run: it is logged once, and tried again after a while and at the end. Raises
    SettingsError for another URL or when a library is missing.
    """
    parts = urlsplit(url)
    base, _, name = parts.path.rpartition("/")
    is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain or not _NAME.fullmatch(name):
        raise SettingsError(
            "--metrics-push: expected the address of a Pushgateway and a name for the run, as "
            "http://pushgateway:9091/nightly, the name of 1 to 64 letters, digits, _, - and dots"
        )
    _check_library("--metrics-push")
    return RunMetrics(name, _Push(f"{parts.scheme}://{parts.netloc}{base}", name))


class _Push:
    """Pushes metrics into the group ``job="deid_run"``, ``run=NAME``. Families that a push lacks stay as they are.

    So the time of the last success outlives a run that fails.
    """

    def __init__(self, gateway: str, name: str) -> None:
        self._gateway = gateway
        self._name = name
        self._has_failed = False
        self._next_s = 0.0

    def __call__(self, registry: Any, is_last: bool) -> None:
        from prometheus_client import pushadd_to_gateway

        if monotonic() < self._next_s and not is_last:
            return
        try:
            pushadd_to_gateway(self._gateway, "deid_run", registry, grouping_key={"run": self._name}, timeout=_PUSH_S)
        except (OSError, HTTPException) as error:
            self._next_s = monotonic() + _PUSH_PAUSE_S
            if not self._has_failed or is_last:
                reason = getattr(error, "reason", None) or type(error).__name__
                _logger.warning("the metrics cannot be pushed to %s (%s); the run goes on", self._gateway, reason)
            self._has_failed = True


def _check_library(option: str) -> None:
    """Raise SettingsError when prometheus-client is missing: that must be told before the run."""
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        raise SettingsError(f"{option} needs prometheus-client; {install_extra('metrics')}") from None


@contextmanager
def run_metrics(file: Path | None, url: str | None) -> Iterator[tuple[RunMetrics, ...]]:
    """Yield the metrics of a run, in a file or pushed or both. Writes them as failed when the block raises."""
    found = [metrics_in_file(file)] if file is not None else []
    if url is not None:
        found.append(pushed_metrics(url))
    try:
        yield tuple(found)
    except BaseException:
        for each in found:
            each.fail()
        raise


def _families(state: RunState) -> Iterator[Any]:
    """Yield the families of metrics of a run."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    def counter(name: str, meaning: str, label: str, values: Mapping[str, float]) -> Any:
        family = CounterMetricFamily(f"deid_run_{name}", meaning, labels=["run", *([label] if label else [])])
        for value, count in values.items():
            family.add_metric([state.name, *([value] if label else [])], count)
        return family

    def gauge(name: str, meaning: str, value: float) -> Any:
        family = GaugeMetricFamily(f"deid_run_{name}", meaning, labels=["run"])
        family.add_metric([state.name], value)
        return family

    counts, report = state.counts, state.report
    held_back = counts.quarantined
    outcomes = {"written": counts.written, "quarantined": held_back.total()}
    yield counter("notes", "Notes read, by outcome.", "outcome", outcomes)
    by_stage = {stage: held_back[stage] for stage in STAGES}
    yield counter("quarantined", "Notes that were held back, by the stage that failed.", "stage", by_stage)
    yield counter("characters", "Characters (code points) of the notes that were read.", "", {"": counts.chars})
    by_label = {label: counts.labels[label] for label in LABELS}
    yield counter("spans", "Identifiers found, by label.", "label", by_label)
    yield gauge("running", "1 during the run.", state.ended_s is None)
    yield gauge("succeeded", "1 when the run has written its output.", state.succeeded)
    yield gauge("start_timestamp_seconds", "When the run began.", state.started_s)
    yield gauge("updated_timestamp_seconds", "When these metrics were written.", state.updated_s)
    if state.ended_s is not None:
        yield gauge("end_timestamp_seconds", "When the run ended.", state.ended_s)
    if state.last_success_s is not None:
        yield gauge("last_success_timestamp_seconds", "When a run with this name last succeeded.", state.last_success_s)
    yield from _from_report(state.name, report, counter)


def _from_report(name: str, report: Mapping[str, Any], counter: Any) -> Iterator[Any]:
    """Yield the metrics that only the report of a finished run has."""
    from prometheus_client.core import GaugeMetricFamily

    if not report:
        return
    yield counter("stage_seconds", "Seconds of each stage, over all workers.", "stage", report["seconds_by_stage"])
    for kind, told, other in (
        ("blocks", "Blocks of notes, by where their findings came from.", "detectors"),
        ("windows", "Windows of the other blocks, by where the answer came from.", "models"),
    ):
        read, cached = report[kind]["read"], report[kind]["from_cache"]
        yield counter(kind, told, "source", {other: read - cached, "cache": cached})
    info = GaugeMetricFamily(
        "deid_run_info",
        "Version and settings of the run. Always 1.",
        labels=["run", "version", "task", "engine", "profile"],
    )
    pipeline = report["pipeline"]
    info.add_metric(
        [name, deid_version(), report["task"], str(pipeline.get("engine", "")), str(pipeline.get("profile", ""))], 1
    )
    yield info
    models = GaugeMetricFamily(
        "deid_run_model_info", "The graphs of the models, by digest. Always 1.", labels=["run", "graph", "sha256"]
    )
    for graph, entry in ((pipeline.get("models") or {}).get("graphs") or {}).items():
        models.add_metric([name, graph, entry["sha256"]], 1)
    yield models


def _last_success(path: Path) -> float | None:
    """Return when a run last succeeded, from the file that an earlier run wrote; None when it is not in the file."""
    try:
        with path.open("rb") as file:
            text = file.read(_FILE_LIMIT_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    found = re.search(rf"^{_LAST_SUCCESS}\{{[^}}]*\}} (\S+)$", text, re.MULTILINE)
    try:
        return float(found[1]) if found else None
    except ValueError:
        return None

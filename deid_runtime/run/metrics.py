"""The metrics file of a run: Prometheus' text format, for the textfile collector of the node exporter.

The file is replaced as a whole, so a reader never sees an incomplete one. It shows how far a run is, and how the last
one ended: the node exporter serves it until the next run. Label names and values come from closed lists, from the
models, and from the name of the file; the file has no text, no note id and no file name of notes.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, time
from typing import Any, Final

from deid_runtime.errors import OutputError, SettingsError
from deid_runtime.labels import LABELS
from deid_runtime.run.report import Counts, deid_version
from deid_runtime.stages import STAGES
from deid_runtime.system.extras import install_extra

SUFFIX: Final = ".prom"
#: How often the file is written during a run.
EVERY_S: Final = 10.0

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_LAST_SUCCESS: Final = "deid_run_last_success_timestamp_seconds"
#: The file of an earlier run is read up to this size.
_FILE_LIMIT_BYTES: Final = 2**20


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


class MetricsFile:
    """Writes the metrics of one run to ``path``, ``NAME.prom``."""

    def __init__(self, path: Path) -> None:
        """Check the name and that the file can be written.

        Raises SettingsError for another name or when a library is missing, OutputError when the file cannot be written.
        """
        if path.suffix != SUFFIX or not _NAME.fullmatch(path.stem):
            raise SettingsError(
                f"--metrics-file {path.name!r:.80}: expected NAME{SUFFIX} with 1 to 64 letters, digits, _, - and dots; "
                "the node exporter reads no other files"
            )
        self._path = path
        self._state = RunState(path.stem, time(), last_success_s=_last_success(path))
        self._written_s = 0.0
        try:
            import prometheus_client  # noqa: F401 - a missing library must be told before the run
        except ImportError:
            raise SettingsError(f"--metrics-file needs prometheus-client; {install_extra('metrics')}") from None
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
        from prometheus_client import CollectorRegistry, write_to_textfile
        from prometheus_client.registry import Collector

        state = self._state
        state.updated_s = time()

        class RunCollector(Collector):
            def collect(self) -> Iterator[Any]:
                yield from _families(state)

        registry = CollectorRegistry()
        registry.register(RunCollector())
        try:
            write_to_textfile(str(self._path), registry)
        except OSError as error:
            raise OutputError(f"{self._path}: cannot be written: {error.strerror or type(error).__name__}") from None
        self._written_s = monotonic()


@contextmanager
def metrics_file(path: Path | None) -> Iterator[MetricsFile | None]:
    """Yield the metrics file of a run, or None without ``path``. Writes it as failed when the block raises."""
    if path is None:
        yield None
        return
    file = MetricsFile(path)
    try:
        yield file
    except BaseException:
        file.fail()
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
    yield gauge("updated_timestamp_seconds", "When this file was written.", state.updated_s)
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
    windows = report["windows"]
    read, cached = windows["read"], windows["from_cache"]
    by_source = {"models": read - cached, "cache": cached}
    yield counter(
        "windows", "Windows of text that the models read, by where the answer came from.", "source", by_source
    )
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

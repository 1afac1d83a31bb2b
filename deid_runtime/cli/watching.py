"""The options of ``deid run``, ``detect`` and ``serve`` for monitoring: metrics and traces."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import ignore_stop_signals
from deid_runtime.system.json_logs import log_event

if TYPE_CHECKING:
    from deid_runtime.run.job import RunOptions, Summary

trace_option: Final = click.option(
    "--otlp-endpoint",
    metavar="URL",
    help="Send OpenTelemetry traces to this collector, for instance http://127.0.0.1:4318/v1/traces: a span for each "
    "batch and each stage, with counts and seconds; no text and no ids. Needs the extra [otel]. Default: none.",
)

#: Options of runs.
run_watching_options: Final = cli_options.section(
    "Watching",
    click.option(
        "--metrics-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="NAME.prom",
        help="Write metrics of the run to this file, for the textfile collector of Prometheus' node exporter, during "
        "the run and at its end. NAME distinguishes this run from others on this machine. They contain no text and no "
        "ids. Needs the extra [metrics].",
    ),
    trace_option,
)


def watched(
    command: str,
    options: "RunOptions",
    work: Callable[["RunOptions"], "Summary"],
    *,
    metrics_file: Path | None,
    otlp_endpoint: str | None,
    **_: object,
) -> "Summary":
    """Call ``work``, the run of ``command``, with metrics, traces and logged events as the options say.

    Stop signals are ignored afterwards, because the output is complete.
    """
    from deid_runtime.pipeline.tracing import exported_traces
    from deid_runtime.run import metrics

    with exported_traces(otlp_endpoint, f"deid.{command}"), metrics.metrics_file(metrics_file) as file:
        log_event("run_started", "", command=command, workers=options.workers)
        summary = work(replace(options, on_counts=file.update) if file else options)
        ignore_stop_signals()
        report = json.loads(summary.manifest.read_text(encoding="utf-8"))
        if file:
            file.finish(report)
        notes = {name: report["notes"][name] for name in ("read", "written", "quarantined", "quarantined_by_stage")}
        log_event("run_finished", "", command=command, run=report["run"]["id"], seconds=report["seconds"], **notes)
    return summary

"""Throughput against latency: a column for each number of rows a request, a row for each percentile."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

PERCENTILES = ("p50", "p95", "p99")


def series_points(rows: Sequence[dict[str, Any]], rows_a_request: int) -> dict[str, list[dict[str, Any]]]:
    """Return the measured cells with so many rows a request by series, each in the order of concurrency."""
    series: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["rows_a_request"] == rows_a_request and "failed" not in row and row["latency_ms"]["p50"] is not None:
            series.setdefault(row["series"], []).append(row)
    return {name: sorted(points, key=lambda row: row["concurrency"]) for name, points in series.items()}


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write the plot as SVG. Needs matplotlib (extra ``bench``)."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "deid"  # the same figures give the same file
    matplotlib.rcParams["svg.fonttype"] = "none"  # text as text: a tenth of the size
    from matplotlib import pyplot

    columns = sorted({row["rows_a_request"] for row in rows})
    names = list(dict.fromkeys(row["series"] for row in rows))
    colours = {name: f"C{number}" for number, name in enumerate(names)}
    figure, axes = pyplot.subplots(
        len(PERCENTILES), len(columns), figsize=(4.5 * len(columns), 9), sharex="col", sharey=True, squeeze=False
    )
    for column, count in enumerate(columns):
        for number, percentile in enumerate(PERCENTILES):
            panel = axes[number][column]
            for name, points in series_points(rows, count).items():
                panel.plot(
                    [point["distinct_sentences_per_second"] for point in points],
                    [point["latency_ms"][percentile] for point in points],
                    marker="o", markersize=3, linewidth=1, color=colours[name], label=name,
                )  # fmt: skip
            panel.set_yscale("log")
            panel.set_xlim(left=0)
            panel.grid(visible=True, linewidth=0.3)
            if column == 0:
                panel.set_ylabel(f"latency {percentile}, ms")
        axes[0][column].set_title(f"{count} row{'s' if count > 1 else ''} a request")
        axes[-1][column].set_xlabel("distinct sentences a second")
    handles = {label: handle for panel in axes.flat for handle, label in zip(*panel.get_legend_handles_labels())}  # noqa: B905
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=5, frameon=False)
    figure.suptitle("Points of a line: 1, 4, 16 and 64 requests under way")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    print(f"written: {path}")

"""The plots of the report page as SVG elements, drawn by matplotlib. The same report gives the same bytes.

Every plot repeats figures of a table beside it, so readers who cannot see it miss nothing. Text stays text.
"""

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from deid_runtime.evaluation.breakdown import LabelIntervals, NoteErrors
from deid_runtime.evaluation.report import LabelScore
from deid_runtime.evaluation.significance import Interval
from deid_runtime.evaluation.threshold_table import ThresholdRow

#: Colours that differ in lightness, too, and have a contrast of 4.5 or more against white.
_FOUND, _RIGHT, _GREY = "#0b5394", "#a8430f", "#595959"
_WIDTH_INCHES: Final = 6.8
_MOST_MISSES: Final = 10  # notes with more are counted together
_SVG: Final = re.compile(r"<svg\b.*</svg>", re.DOTALL)


def label_plot(labels: Mapping[str, LabelScore], intervals: Mapping[str, LabelIntervals]) -> str:
    """Return recall and precision of each label as points with their intervals."""
    figure, axes = _figure(0.9 + 0.34 * max(1, len(labels)))
    for row, (label, score) in enumerate(labels.items()):
        interval = intervals[label]
        _point(axes, row - 0.14, score.recall, interval.recall, _FOUND, "o", "recall" if row == 0 else "")
        _point(axes, row + 0.14, score.precision, interval.precision, _RIGHT, "s", "precision" if row == 0 else "")
    axes.set_yticks(range(len(labels)), list(labels))
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}" if value <= 1 else "")
    axes.grid(axis="x", color="#d9d9d9", linewidth=0.6)
    if labels:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
    return _svg(figure, "labels", "Recall and precision of each label with 95 % intervals; the table has the figures.")


def notes_plot(notes: Sequence[NoteErrors]) -> str:
    """Return how many notes have how many missed words, as bars."""
    counts = Counter(min(note.missed, _MOST_MISSES + 1) for note in notes)
    figure, axes = _figure(2.4)
    bars = [counts[missed] for missed in range(_MOST_MISSES + 2)]
    drawn = axes.bar(range(len(bars)), bars, color=[_GREY, *[_FOUND] * (len(bars) - 1)])
    axes.bar_label(drawn, [f"{count:,}" if count else "" for count in bars], fontsize=8)
    axes.set_xticks(range(len(bars)), [*map(str, range(_MOST_MISSES + 1)), f"over {_MOST_MISSES}"])
    axes.set_xlabel("missed words in a note")
    axes.set_ylabel("notes")
    axes.margins(y=0.15)
    return _svg(figure, "notes", "Notes by their number of missed words, as bars.")


def thresholds_plot(tables: Mapping[str, Sequence[ThresholdRow]]) -> str:
    """Return recall and precision by threshold, one small plot for each head."""
    figure, axes_of = _figure(2.3, columns=len(tables))
    for (head, rows), axes in zip(tables.items(), axes_of, strict=True):
        thresholds = [row.threshold for row in rows]
        for name, colour, line in (("recall", _FOUND, "-"), ("precision", _RIGHT, "--")):
            values = [float("nan") if (value := getattr(row, name)) is None else value for row in rows]
            axes.plot(thresholds, values, color=colour, linestyle=line, label=name, linewidth=1.6)
        axes.set_title(head, fontsize=9)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        axes.grid(color="#d9d9d9", linewidth=0.6)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}" if value <= 1 else "")
    if len(tables):
        figure.supxlabel("threshold", fontsize=9)
        axes_of[0].legend(loc="lower left", fontsize=7, frameon=False)
    return _svg(figure, "thresholds", "Recall and precision by threshold of each head; the tables have the figures.")


def _figure(height_inches: float, columns: int = 0) -> tuple[Any, Any]:
    """Return a figure, and its axes: one, or a row of ``columns`` with one scale."""
    from matplotlib.figure import Figure  # not at import: the extra report may not be installed

    figure = Figure((_WIDTH_INCHES, height_inches), layout="constrained")
    row = figure.subplots(1, max(1, columns), sharey=True, squeeze=False)[0]
    for each in row:
        each.spines[["top", "right"]].set_visible(False)
        each.tick_params(labelsize=8)
    return figure, row if columns else row[0]


def _point(
    axes: Any, row: float, value: float | None, interval: Interval | None, colour: str, marker: str, name: str
) -> None:
    if interval is not None:
        axes.plot([interval.low, interval.high], [row, row], color=colour, linewidth=1.4, solid_capstyle="butt")
    if value is not None or name:
        axes.plot([] if value is None else [value], [] if value is None else [row], marker, color=colour, label=name,
                  markersize=5)  # fmt: skip


def _svg(figure: Any, name: str, description: str) -> str:
    """Return a figure as one ``<svg>`` element with a description. Figures of different ``name`` share no id."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": f"deid-{name}", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    [svg] = _SVG.findall(buffer.getvalue())
    # The groups of all figures have the same ids, which are never referred to; a page may have each id only once.
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    return str(svg).replace("<svg ", f'<svg role="img" aria-label="{escape(description)}" ', 1)

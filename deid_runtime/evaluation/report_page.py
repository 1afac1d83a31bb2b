"""The report as one self-contained page: no script, no request, readable on paper, a phone and by a screen reader.

The page is made by jinja2 from ``deid_runtime/data/report/report.html``; every value is escaped. Its own policy
(``Content-Security-Policy``) forbids the browser to load or run anything, whatever a note contains.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Final

from deid_runtime.errors import SettingsError
from deid_runtime.evaluation import report_plots
from deid_runtime.evaluation.agreement import strength
from deid_runtime.evaluation.entities import printed
from deid_runtime.evaluation.full_report import FullReport
from deid_runtime.evaluation.report_tables import page_tables
from deid_runtime.evaluation.significance import Interval
from deid_runtime.system.extras import install_extra
from deid_runtime.system.shown_ids import shown_id

#: Most errors of each sort on a page with text; more would make it slow to open.
ERRORS_SHOWN: Final = 2_000
_LIBRARIES: Final = ("jinja2", "matplotlib")


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """What was compared, for the page footer: names and digests of files, and the version of the program."""

    version: str
    files: Mapping[str, str]


def require_libraries() -> None:
    """Raise SettingsError when the libraries of the page are not installed."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise SettingsError(f"the report page needs {' and '.join(missing)}; {install_extra('report')}")


def render_page(report: FullReport, inputs: ReportInputs) -> str:
    """Return the page as HTML. The same report and inputs give the same page.

    Raises SettingsError when jinja2 or matplotlib is not installed.
    """
    require_libraries()
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "number": lambda value: f"{value:,}",
        "percent": percent,
        "interval": interval,
        "inert": inert,
        "shown_id": shown_id,
        "p_value": p_value,
        "points": points,
        "strength": strength,
    }
    source = (files("deid_runtime") / "data" / "report" / "report.html").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        report=report,
        scores=report.scores,
        inputs=inputs,
        tables=page_tables(report),
        plots=_plots(report),
        printed={name: printed(score) for name, score in report.scores.entities.items()},
        errors={sort: [each for each in report.errors if each.error == sort] for sort in ("missed", "wrong")},
        errors_shown=ERRORS_SHOWN,
    )


def _plots(report: FullReport) -> dict[str, Any]:
    from markupsafe import Markup

    return {
        "labels": Markup(report_plots.label_plot(report.scores.labels, report.label_intervals)),
        "notes": Markup(report_plots.notes_plot(report.notes)),
        "thresholds": Markup(report_plots.thresholds_plot(report.thresholds)) if report.thresholds else "",
    }


def percent(value: float | None) -> str:
    """Return a share in percent. What is not 0 or 100 % is never rounded to it."""
    if value is None:
        return "–"
    for decimals in (1, 2, 3, 4):
        shown = f"{value:.{decimals}%}"
        if value in (0.0, 1.0) or float(shown[:-1]) not in (0.0, 100.0):
            break
    return f"{shown[:-1]}\u00a0%"


def interval(value: Interval | None) -> str:
    """Return an interval in percent, for use after a share."""
    if value is None:
        return "–"
    return f"{percent(value.low)[:-2]} to {percent(value.high)}"


def points(value: float | None) -> str:
    """Return a difference of two shares in percentage points, with its sign."""
    return "–" if value is None else f"{100 * value:+.2f}".replace("-", "\u2212")


def p_value(value: float | None) -> str:
    """Return a probability with four decimals."""
    return "–" if value is None else f"{value:.4f}"


def inert(text: str) -> str:
    """Return note text without characters that affect the page around them: each becomes a visible mark.

    These are control characters, characters that change the direction of writing, and unassigned code points.
    """
    return "".join("\ufffd" if unicodedata.category(each)[0] == "C" else each for each in text)

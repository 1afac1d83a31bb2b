"""Write the report: the page, and the same figures as JSON and as one CSV table."""

import csv
import io
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from deid_runtime.errors import OutputError, SettingsError
from deid_runtime.evaluation.full_report import FullReport
from deid_runtime.evaluation.report_page import ReportInputs, render_page

SUFFIX: Final = ".html"
#: First characters of a cell that a spreadsheet program would read as a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
#: Modes of files without and with note text.
EVERYBODY: Final = 0o644
OWNER_ONLY: Final = stat.S_IRUSR | stat.S_IWUSR


def write_report(path: Path, report: FullReport, inputs: ReportInputs, *, overwrite: bool = False) -> list[Path]:
    """Write ``path`` (``.html``) and the ``.json`` and ``.csv`` beside it; return the three paths.

    A page with note text is readable only by its owner; the other files never contain text. Each file appears whole
    or not at all. Raises SettingsError for another suffix and OutputError when a file exists (without ``overwrite``) or
    cannot be written.
    """
    if path.suffix != SUFFIX:
        raise SettingsError(f"{path}: the report is an HTML page; give it a name that ends in {SUFFIX}")
    contents = {
        path: render_page(report, inputs),
        path.with_suffix(".json"): json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n",
        path.with_suffix(".csv"): render_csv(report),
    }
    require_free(list(contents), overwrite=overwrite)
    for each, content in contents.items():
        write_whole(each, content, mode=OWNER_ONLY if report.shows_text and each == path else EVERYBODY)
    return list(contents)


def require_free(paths: Sequence[Path], *, overwrite: bool) -> None:
    """Raise OutputError when one of ``paths`` exists, unless ``overwrite``."""
    taken = [path for path in paths if os.path.lexists(path)]
    if taken and not overwrite:
        raise OutputError(f"{', '.join(map(str, taken))}: already exists; name another file, or give --overwrite")


def render_csv(report: FullReport) -> str:
    """Return all figures as rows of ``table, row, measure, value``; a figure that is not defined has no value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("table", "row", "measure", "value"))
    for row in _rows(report):
        writer.writerow(_cell(value) for value in row)
    return out.getvalue()


def _rows(report: FullReport) -> Iterator[tuple[str, str, str, object]]:
    values = report.to_json()
    scores = values.pop("scores")
    assert isinstance(scores, dict)
    errors = scores.pop("errors")
    errors.pop("relabelled", None)
    for table, content in (*scores.items(), *values.items()):
        if table == "sentences":
            continue
        if isinstance(content, Mapping):
            for name, row in content.items():
                yield from ((table, name, measure, value) for measure, value in _flat(row))
        elif isinstance(content, list):
            for number, row in enumerate(content, 1):
                name = str(row.get("source") or row.get("form") or row.get("id") or number)
                yield from ((table, name, measure, value) for measure, value in _flat(row))
        else:
            yield (table, "", "", content)
    for sort, content in errors.items():
        for aspect, tallies in content["aspects"].items():
            for name, tally in tallies.items():
                yield from ((f"errors.{sort}", f"{aspect}: {name}", measure, value) for measure, value in _flat(tally))


def _flat(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield the numbers and strings in nested JSON values, each with its dotted name."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key or 'none'}" if name else str(key or "none"))
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            yield from _flat(inner, f"{name}.{number}" if name else str(number))
    else:
        yield name, value


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


def write_whole(path: Path, content: str, *, mode: int = EVERYBODY) -> None:
    """Write a file under another name first, so that nobody sees an incomplete file or opens it with a wrong mode.

    A file at ``path`` is replaced. Raises OutputError when it cannot be written.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # readable only by the owner
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(content)
            os.chmod(name, mode)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or type(error).__name__}") from error

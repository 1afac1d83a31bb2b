"""The page of a run bundle: the same facts in words, for people who decide on a release."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;"
    "background:#fff}h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;vertical-align:top;"
    "border-bottom:1px solid #c9c9c9;padding:.3rem .6rem;overflow-wrap:anywhere}"
    "td.n{text-align:right;white-space:nowrap}caption{text-align:left;color:#595959}"
    ".verdict{font-weight:700;border:2px solid;border-radius:6px;padding:.6rem 1rem}"
    "@media(max-width:40rem){body{margin:1rem auto}}"
    "@media print{body{margin:0}h2{break-after:avoid}tr{break-inside:avoid}}"
)
_VERDICTS: Final = {
    "PASS": "PASS: a second look at every note found nothing that identifies a person.",
    "REVIEW": "REVIEW: in some notes, a second look found text that a person must check before a release.",
    "FAIL": "FAIL: identifiers are still in the output. It must not be released.",
}
_GATES = {
    "none": "The notes of this run had no second look.",
    "fail": "Every note had a second look, and notes that still had an identifier were held back.",
    "review": "Every note had a second look, and all notes in which something was found were held back.",
}


def bundle_page(content: Mapping[str, Any]) -> str:
    """Return the page of a bundle. Equal content gives an equal page."""
    run = content["run"]
    notes = run["notes"]
    look = content["second_look"]
    verdict = _VERDICTS[look["verdict"]] if look else _GATES[run["options"]["gate"]]
    counts = (
        f"{notes['read']:,} notes were read, {notes['written']:,} written and {notes['quarantined']:,} held back. "
        f"{sum(notes['spans_by_label'].values()):,} identifiers were replaced."
    )
    sections = [
        f"<p>{counts}</p>",
        f'<p class="verdict">{escape(verdict)}</p>',
        _table(
            "Replacements of the 18 identifiers of HIPAA Safe Harbor",
            ("", "Identifier", "Labels", "Replaced"),
            (
                (
                    row["letter"],
                    row["identifier"] + (f" ({row['note']})" if row["note"] else ""),
                    ", ".join(row["labels"]) or "none",
                    row["replaced"] if row["is_covered"] else "not covered",
                )
                for row in content["safe_harbor"]
            ),
            "The counts show what was found and replaced. They do not show what was missed.",
        ),
        _table("Notes held back, by reason", ("Reason", "Notes"), content["quarantine_reasons"].items()),
        *([_second_look(look)] if look else []),
        _table("What was read and written", ("What", "Value"), _facts(content)),
    ]
    body = "\n".join(sections)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>Report of a de-identification run</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>Report of a de-identification run</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _second_look(look: Mapping[str, Any]) -> str:
    rows = [*((f"notes with {name}", count) for name, count in look["notes"].items()), *look["reasons"].items()]
    if look["released_notes_without_input"]:
        rows.append(("released notes that are not in the inputs", look["released_notes_without_input"]))
    return _table("Second look", ("What", "Count"), rows)


def _facts(content: Mapping[str, Any]) -> Iterable[tuple[str, object]]:
    run = content["run"]
    pipeline = run["pipeline"]
    yield "Started", run["started"]
    yield "Finished", run["finished"]
    yield "Program", f"deid-runtime {run['deid_version']}, Python {run['python']}"
    yield "Key (its name, not the key)", content["key_id"] or "a random key, which was discarded"
    yield "Input", _shown(content["inputs"])
    yield "Output", _shown(run["outputs"]["body"])
    for name, graph in ((pipeline.get("models") or {}).get("graphs") or {}).items():
        yield f"Model {name}", f"SHA-256 {graph['sha256']}"
    for name in ("inclusion", "templates"):
        yield f"List: {name}", f"{pipeline[name]['entries']:,} entries, SHA-256 {pipeline[name]['sha256']}"
    yield "Patient records", pipeline["patient_records"]
    for name in ("profile", "operator", "dates", "date_shift_days", "safe_harbor", "hold_back_unreadable"):
        yield f"Setting: {name}", pipeline[name]
    for name, value in run["options"].items():
        yield f"Option: {name}", value


def _shown(value: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {each:,}" if isinstance(each, int) else f"{name} {each}"
        for name, each in value.items()
        if not isinstance(each, list | dict)
    )


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    lines = [
        "<tr>"
        + "".join(
            f'<td class="n">{cell:,}</td>'
            if isinstance(cell, int) and not isinstance(cell, bool)
            else f"<td>{escape(_word(cell))}</td>"
            for cell in row
        )
        + "</tr>"
        for row in rows
    ]
    if not lines:
        return f"<h2>{escape(title)}</h2>\n<p>None.</p>"
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    shown = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f"<h2>{escape(title)}</h2>\n<table>{shown}<thead><tr>{head}</tr></thead>\n<tbody>\n"
        + "\n".join(lines)
        + ("\n</tbody></table>")
    )


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)

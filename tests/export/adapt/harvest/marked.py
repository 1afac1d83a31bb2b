"""Convert texts with identifiers marked as ``<LABEL>...</LABEL>`` to the input of a harvest."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from deid_export.adapt.harvest.counting import digest
from deid_export.adapt.harvest.passages import MarkedNote, Passage, passages
from deid_export.adapt.harvest.sources import Pass
from deid_runtime.annotations.tagged import parse_tagged


def note(tagged: str, patient: str = "p1") -> MarkedNote:
    text, spans = parse_tagged(tagged)
    return MarkedNote(text, digest(patient), spans)


def passage(tagged: str) -> Passage:
    [only] = passages(note(tagged))
    return only


def notes_of(rows: Iterable[tuple[str, str]]) -> Pass:
    """Return a pass over notes made from (patient, tagged text)."""
    notes = [note(tagged, patient) for patient, tagged in rows]
    return lambda: iter(notes)


def write_jsonl(path: Path, rows: Sequence[tuple[str, str]], *, with_spans: bool = True) -> Path:
    """Write (patient, tagged text) as JSON Lines, with or without the annotation."""
    lines = []
    for number, (patient, tagged) in enumerate(rows):
        text, spans = parse_tagged(tagged)
        row: dict[str, object] = {"id": f"n{number}", "patient": patient, "text": text}
        if with_spans:
            row["spans"] = [{"start": s.start, "end": s.end, "label": s.label} for s in spans]
        lines.append(json.dumps(row) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


NAMES = ("Ann Quist", "ORR, BIRK", "Cleo van der Falk", "D. E. Holm", "Ilse Roe")


def ward_rows() -> list[tuple[str, str]]:
    """Return invented notes of five patients, as the system of one ward writes them."""
    rows = []
    for i, name in enumerate(NAMES):
        lines = (
            "Breath sounds equal on both sides.",
            f"Ordered via Zephyr by <DOCTOR>{name}</DOCTOR>, MD on <DATE>0{i + 1}/14/2031</DATE> at 10:4{i}",
            f"- Rass score {i + 1}",
            "Warfarin held.",
            f"Cuff {120 + i}/8{i}",
            f"Seen for the {i}th time this spring with {i + 2} complaints of the {'abcde'[i]} kind.",
            "Cordially yours,",
            f"<DOCTOR>{name}</DOCTOR>",
        )
        rows.append((f"p{i}", "\n".join(lines) + "\n"))
    return rows

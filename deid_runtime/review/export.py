"""Export the result of a review: annotated notes, or the marks of a blind review."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deid_runtime.annotations.jsonl import render_jsonl
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.formats.jsonl import dump_line
from deid_runtime.review.project import ReviewProject
from deid_runtime.review.schema import ADJUDICATOR, Decision
from deid_runtime.system.owner_only import write_owner_only


@dataclass(slots=True)
class ExportCounts:
    """Notes written, those of them without a span, and notes omitted because reviewers differ."""

    written: int = 0
    empty: int = 0
    unsettled: int = 0


def export_gold(project: ReviewProject, out: Path, reviewer: str = "") -> ExportCounts:
    """Write the notes that were read whole, with the spans of ``reviewer``, or with those on which all reviewers agree.

    A decision of the adjudication overrides all others. Raises OutputError when ``out`` exists.
    """
    counts = ExportCounts()
    write_owner_only(out, _gold_lines(project, reviewer, counts), what="annotated notes")
    return counts


def _gold_lines(project: ReviewProject, reviewer: str, counts: ExportCounts) -> Iterator[str]:
    for each, decisions in project.decided(reviewer):
        decision = _settled(decisions)
        if decision is None:
            counts.unsettled += 1
            continue
        counts.written += 1
        counts.empty += not decision.spans
        note = each.note
        yield render_jsonl(AnnotatedNote(note.id, note.patient, note.type, note.text, decision.spans)).decode()


def _settled(decisions: dict[str, Decision]) -> Decision | None:
    """Return the decision that counts, or None when reviewers differ and nobody has settled it."""
    if ADJUDICATOR in decisions:
        return decisions[ADJUDICATOR]
    first, *others = decisions.values()
    return first if all(each.spans == first.spans for each in others) else None


def export_marks(project: ReviewProject, out: Path, reviewer: str = "") -> int:
    """Write one line for each decision of a blind review, without text, and return their number."""
    lines = [
        dump_line(
            {
                "id": each.note.id,
                "patient": each.note.patient,
                "type": each.note.type,
                "reviewer": name,
                "mode": "blind",
                "read_whole": decision.read_whole,
                "marks": [{"start": span.start, "end": span.end, "label": span.label} for span in decision.spans],
            }
        ).decode()
        for each, decisions in project.decided(reviewer)
        for name, decision in decisions.items()
    ]
    write_owner_only(out, lines, what="marks of a blind review")
    return len(lines)

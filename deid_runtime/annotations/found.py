"""Read the spans that a system found, by note: the output of ``deid detect``, or the spans of annotated notes."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from deid_runtime.annotations import jsonl
from deid_runtime.annotations.read import read_gold, require_unique_ids
from deid_runtime.errors import SourceError
from deid_runtime.spans import Span
from deid_runtime.system.shown_ids import shown_id

_SOURCE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,39}")


def read_found(path: Path) -> dict[str, list[Span]]:
    """Return the found spans, sorted, by note id.

    ``path`` is the output of ``deid detect``, or any format that :func:`~deid_runtime.annotations.read.read_gold`
    reads. Scores and sources are read from JSON Lines only. Raises SourceError or InputError for a file that cannot be
    read.
    """
    if not path.name.endswith(jsonl.SUFFIXES):
        return {note.id: list(note.spans) for note in read_gold(path)}
    rows = [_found_in(place, row) for place, row in jsonl.read_rows(path)]
    require_unique_ids(path, [note_id for note_id, _ in rows])
    return dict(rows)


def _found_in(place: str, row: Mapping[str, Any]) -> tuple[str, list[Span]]:
    note_id = jsonl.row_id(place, row)
    named = f"{place}: note {shown_id(note_id)}"
    spans = jsonl.spans_of_rows(named, row.get("spans"))
    return note_id, sorted(
        replace(span, score=_score(named, entry), sources=_sources(named, entry))
        for span, entry in zip(spans, row["spans"], strict=True)
    )


def _score(named: str, row: Mapping[str, Any]) -> float:
    """Return the score of a span; 1.0 when the other system gives none. Raises SourceError."""
    score = row.get("score", 1.0)
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise SourceError(f"{named}: 'score' must be a number from 0 to 1")
    return float(score)


def _sources(named: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the sources of a span; other systems may not give any. Raises SourceError."""
    sources = row.get("sources") or []
    # Reports show the sources, so free text in them would be a leak.
    if not isinstance(sources, list) or not all(isinstance(name, str) and _SOURCE.fullmatch(name) for name in sources):
        raise SourceError(f"{named}: 'sources' must be a list of names of detectors, letters and digits with - _ . :")
    return tuple(sources)

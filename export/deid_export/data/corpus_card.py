"""Compute the tables of the data card of a corpus from its notes, for a README that is kept equal to them.

In the README, a table is between ``<!-- corpus-card: NAME -->`` and ``<!-- /corpus-card: NAME -->``.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from deid_export.data.corpus import batch_of, corpus_digest
from deid_export.data.corpus_check import check_corpus
from deid_export.data.marked_tables import markdown_table
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated
from deid_runtime.errors import InputError
from deid_runtime.labels import HEAD_OF, LABELS, group_of

Parts = Mapping[str, Sequence[AnnotatedNote]]

#: The kind of the table markers in the README.
MARK: Final = "corpus-card"
_OTHER: Final = "other"

#: Maps a kind of note to the beginnings of words in its note types; the first match counts.
_KINDS: Final[Mapping[str, re.Pattern[str]]] = {
    kind: re.compile(rf"\b(?:{words})", re.IGNORECASE)
    for kind, words in {
        "telephone, voicemail, portal, e-mail, chat": (
            r"(tele)?phone|voicemail|portal|messag|calls?\b|chat|e-?mail|text\b|thread|after-hours|relay"
        ),
        "pathology, laboratory, imaging, diagnostics": (
            r"patholog|dermatopath|lab(oratory)?\b|cytolog|cytogen|radiolog|imaging|x-?ray|ct\b|mri?\b|ultrasound|echo|"
            r"ecg|ekg|eeg|emg|nuclear|pet\b|dexa|dxa|scan|blood bank|transfusion|microbiolog|autopsy|post-?mortem|"
            r"spirometr|sleep study|device (check|interrogation)|specimen|manometry|haematolog|immunolog"
        ),
        "operations, procedures, anaesthesia, dialysis": (
            r"operat|procedur|op\b|surgical|an(a)?esth|endoscop|colonoscop|bronchoscop|cath\b|catheteri|implant|pacu|"
            r"perfusion|dialysis|hemodialysis|delivery|cesarean|biopsy|theatre"
        ),
        "emergency, triage, ambulance": (
            r"ed\b|emergency|trauma|triage|ems\b|ambulance|a&e|code status|rapid response|casualty|urgent|stroke alert"
        ),
        "discharge, transfer, death": r"discharge|death|transfer|deceased|organ donation|summary",
        "nursing, therapy, pharmacy, social work": (
            r"nurs|rn\b|therap|pt\b|ot\b|speech|physio|dietit|nutrition|pharm|social work|case manag|care coord|"
            r"chaplain|home (health|visit)|hospice|wound|infusion|respiratory|midwi|lactation|school|community|"
            r"immuni[sz]|rehab|sw\b"
        ),
        "letters, forms, tables, logs": (
            r"letter|forms?\b|referral|certificat|consent|authori[sz]ation|registration|face sheet|insurance|billing|"
            r"claim|administrative|order|requisition|prescription|refill|incident|report|request|logs?\b|list|sheet|"
            r"flowsheet|schedule|roster|record|handoff|handover|sign-?out|minutes|fax|appeal|export|tables?\b|grid|rows|"
            r"slips?\b|block|card\b|extract|ledger|history printout|intake"
        ),
        "admission, consultation": r"h&p|admission|admit|consult|history and physical|evaluation|assessment|clerking",
        "clinic, ward and progress notes": (
            r"progress|clinic|visit|follow|ward|round|soap|note|check|exam|telehealth|video|entry|entries|review|daily|"
            r"encounter|screen|plan|conference|meeting|addendum|management|update|board"
        ),
    }.items()
}


def card_tables(paths: Sequence[Path]) -> dict[str, str]:
    """Return the tables by name, in Markdown; each path is one part of the corpus, named after its folder or file.

    Raises SourceError or InputError when notes cannot be read, InputError when two parts have the same name.
    """
    parts = {path.resolve().stem: read_annotated([path]) for path in paths}
    if len(parts) < len(paths):
        raise InputError("two parts of the corpus have the same name; rename one, because each names a column")
    tables: dict[str, Callable[[Parts], str]] = {
        "size": _size, "batches": _batches, "labels": _labels, "kinds": _kinds, "habits": _habits,
    }  # fmt: skip
    return {name: table(parts) for name, table in tables.items()} | {"check": _check(paths)}


def _size(parts: Parts) -> str:
    def marked(notes: Sequence[AnnotatedNote]) -> int:
        return sum(len(note.text[span.start : span.end].split()) for note in notes for span in note.spans)

    rows: tuple[tuple[str, Callable[[Sequence[AnnotatedNote]], int]], ...] = (
        ("patients", lambda notes: len({note.patient for note in notes})),
        ("notes", len),
        ("note types as written", lambda notes: len({note.type for note in notes})),
        ("words (between blanks)", _words),
        ("characters", lambda notes: sum(len(note.text) for note in notes)),
        ("spans", _spans),
        ("words inside spans", marked),
        ("distinct values", lambda notes: sum(map(len, _values(notes).values()))),
        ("notes without a span", lambda notes: sum(not note.spans for note in notes)),
    )
    digests = ["SHA-256 of texts and spans", *(f"`{corpus_digest(notes)[:16]}…`" for notes in parts.values())]
    return markdown_table(
        ["", *parts], [[name, *(count(notes) for notes in parts.values())] for name, count in rows] + [digests]
    )


def _batches(parts: Parts) -> str:
    rows: list[list[object]] = []
    for part, notes in parts.items():
        for batch, own in _by_batch(notes).items():
            words, spans = _words(own), _spans(own)
            patients = len({note.patient for note in own})
            rows.append([batch, part, patients, len(own), words, spans, f"{100 * spans / max(1, words):.1f}"])
    return markdown_table(["batch", "part", "patients", "notes", "words", "spans", "spans per 100 words"], rows)


def _labels(parts: Parts) -> str:
    counts = {part: Counter(span.label for note in notes for span in note.spans) for part, notes in parts.items()}
    values = {part: _values(notes) for part, notes in parts.items()}
    first, *later = parts
    rows: list[list[object]] = []
    for name, labels in [*((label, (label,)) for label in LABELS), ("all", LABELS)]:
        found = {part: {(label, value) for label in labels for value in values[part][label]} for part in parts}
        group = "A over 89, C" if name == "AGE" else "" if name == "all" else group_of(name)
        rows.append(
            [name, group, HEAD_OF.get(name, ""), *(sum(counts[part][label] for label in labels) for part in parts),
             len(set().union(*found.values())),
             *(_share(len(found[part] & found[first]), len(found[part])) for part in later)]
        )  # fmt: skip
    header = [
        "label",
        "group",
        "model head",
        *parts,
        "distinct values",
        *(f"{p} values also in {first}" for p in later),
    ]
    return markdown_table(header, rows)


def _habits(parts: Parts) -> str:
    """Count habits of the batch authors that a detector must not learn as a cue."""
    habits: tuple[tuple[str, frozenset[str], re.Pattern[str]], ...] = (
        ("EMAIL and URL in `.example`", frozenset({"EMAIL", "URL"}), re.compile(r"\.example\b", re.IGNORECASE)),
        ("PHONE and FAX with 555", frozenset({"PHONE", "FAX"}), re.compile(r"555")),
    )
    rows: list[list[object]] = []
    for batch, own in _by_batch([note for notes in parts.values() for note in notes]).items():
        row: list[object] = [batch]
        for _, labels, habit in habits:
            found = [n.text[s.start : s.end] for n in own for s in n.spans if s.label in labels]
            row.append(_share(sum(bool(habit.search(value)) for value in found), len(found)))
        rows.append(row)
    return markdown_table(["batch", *(name for name, _, _ in habits)], rows)


def _kinds(parts: Parts) -> str:
    counts = {part: Counter(_kind_of(note.type) for note in notes) for part, notes in parts.items()}
    kinds = sorted(_KINDS, key=lambda kind: -sum(count[kind] for count in counts.values()))
    return markdown_table(
        ["kind", *parts], [[kind, *(count[kind] for count in counts.values())] for kind in [*kinds, _OTHER]]
    )


def _check(paths: Sequence[Path]) -> str:
    checked = check_corpus(paths)
    rows = [[f"doubt: {rule}", count] for rule, count in checked.doubts.most_common()]
    return markdown_table(
        ["found by `deid-export corpus check`", "places"], [["problems", len(checked.problems)], *rows]
    )


def _by_batch(notes: Sequence[AnnotatedNote]) -> dict[str, list[AnnotatedNote]]:
    """Return the notes by batch, T2 before T10."""
    batches: defaultdict[str, list[AnnotatedNote]] = defaultdict(list)
    for note in notes:
        batches[batch_of(note)].append(note)
    return dict(sorted(batches.items(), key=lambda item: (len(item[0]), item[0])))


def _values(notes: Sequence[AnnotatedNote]) -> defaultdict[str, set[str]]:
    """Return the distinct values by label."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    for note in notes:
        for span in note.spans:
            values[span.label].add(note.text[span.start : span.end])
    return values


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def _kind_of(note_type: str) -> str:
    return next((kind for kind, words in _KINDS.items() if words.search(note_type)), _OTHER)


def _words(notes: Sequence[AnnotatedNote]) -> int:
    return sum(len(note.text.split()) for note in notes)


def _spans(notes: Sequence[AnnotatedNote]) -> int:
    return sum(len(note.spans) for note in notes)

"""Check annotated notes: find violations of the format, and places that a person should review.

A *problem* is always wrong: broken markup, an id used twice, a span with white space at its edge, an unmarked number of
the patient's record. A *doubt* is often correct: a name that is also a word may be unmarked where it is the word, and
in run-together text a span may end inside a run of letters. Findings name the place and never show text.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deid_export.data.corpus import text_sha256
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import annotated_files, read_annotated
from deid_runtime.annotations.tagged import parse_header
from deid_runtime.errors import DeidError
from deid_runtime.labels import HEADS, LABELS
from deid_runtime.records.fields import FIELD_NAMES, ID, RECORD_FIELDS
from deid_runtime.text.words import split_words

_TAG: Final = re.compile(r"<(/?)([A-Z][A-Z0-9_-]*)>")
_RUN: Final = re.compile(r"[^\W_]+")
_TITLE: Final = re.compile(r"(?:dr|mrs?|ms|miss|prof)\b\.?\s", re.IGNORECASE)
_POSSESSIVE: Final = re.compile(r"['’]s$", re.IGNORECASE)
_OPENING, _CLOSING = ",;:.)]", ",;:(["  # never the first, never the last character of a value

_NAMES: Final = frozenset(HEADS["name"])
_RECORD_FIELDS: Final = frozenset({ID, *(name for field in RECORD_FIELDS for name in (field.name, *field.aliases))})
_UNSEARCHED_FIELDS: Final = frozenset({"id", "sex", "gender"})
_UNSEARCHED_LABELS: Final = frozenset({"AGE", "DATE"})  # 67 and 2011 are also doses and counts
_LEAST_CHARS: Final = 3  # shortest value that is searched for unmarked
_LEAST_DIGITS: Final = 5
_LINES: Final = 2  # most lines that a value may extend over


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. ``place`` is ``file:line:column`` in tagged files, otherwise the note id and the offset."""

    place: str
    rule: str
    message: str
    is_problem: bool

    def __str__(self) -> str:
        return f"{self.place}: {self.rule}: {self.message}"


@dataclass(frozen=True)
class Checked:
    """The counts of the notes read, and the findings in reading order; ``words`` are separated by white space."""

    notes: int
    patients: int
    words: int
    spans: int
    findings: list[Finding]

    @property
    def problems(self) -> list[Finding]:
        """Return the findings that must be corrected."""
        return [finding for finding in self.findings if finding.is_problem]

    @property
    def doubts(self) -> Counter[str]:
        """Return the number of doubts by rule."""
        return Counter(finding.rule for finding in self.findings if not finding.is_problem)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A tag that is still open at the end of its line."""

    place: str
    label: str

    def finding(self) -> Finding:
        """Return the finding that the tag is never closed."""
        return Finding(self.place, "markup", f"{self.label} is not closed on its line or the next", True)


@dataclass(frozen=True, slots=True)
class _Origin:
    """The start of a note in a tagged file; ``first_line`` is the number of the first line of its text."""

    file: str
    first_line: int


def check_corpus(paths: Sequence[Path]) -> Checked:
    """Check annotated files, or folders of them, in the formats of :func:`deid_export.data.corpus.read_annotated`.

    A file that cannot be read is reported as a problem.
    """
    findings: list[Finding] = []
    notes: list[AnnotatedNote] = []
    records: dict[str, Mapping[str, str]] = {}
    origins: dict[str, _Origin] = {}
    for path in paths:
        for file in annotated_files(path):
            if file.suffix == ".txt":
                findings += _check_tagged(file, records, origins)
        read, unreadable = _read(path)
        notes += read
        findings += unreadable
    findings += _check_notes(notes, origins)
    by_patient: defaultdict[str, list[AnnotatedNote]] = defaultdict(list)
    for note in notes:
        findings += _check_spans(note, origins)
        by_patient[note.patient or note.id].append(note)
    for patient, own in by_patient.items():
        findings += _check_consistency(own, records.get(patient, {}), origins)
    return Checked(
        len(notes), len(by_patient), sum(len(n.text.split()) for n in notes), sum(len(n.spans) for n in notes), findings
    )


def _read(path: Path) -> tuple[list[AnnotatedNote], list[Finding]]:
    """Return the notes of a file or folder, and the findings for the files that cannot be read."""
    try:
        return read_annotated([path]), []
    except (DeidError, UnicodeDecodeError) as error:
        if not path.is_dir():
            reason = str(error) if isinstance(error, DeidError) else "a file is not UTF-8"
            return [], [Finding(path.name, "unreadable", f"{reason}; its spans were not checked", True)]
    notes: list[AnnotatedNote] = []
    findings: list[Finding] = []
    for file in annotated_files(path):
        read, unreadable = _read(file)
        notes += read
        findings += unreadable
    return notes, findings


# Tagged files, line by line -----------------------------------------------------------------------------------------


def _check_tagged(file: Path, records: dict[str, Mapping[str, str]], origins: dict[str, _Origin]) -> Iterator[Finding]:
    """Yield the format errors of one file; add its records, and where its notes begin."""
    try:
        lines = file.read_bytes().decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        yield Finding(file.name, "encoding", f"not UTF-8 from byte {error.start} on; save it as UTF-8", True)
        return
    patient, in_note = "", False
    opened: _Opened | None = None
    for number, line in enumerate(lines, start=1):
        place = f"{file.name}:{number}"
        if "\r" in line or "\ufeff" in line or len(line.splitlines()) > 1:
            yield Finding(place, "encoding", "a byte order mark, or a line end that is not LF; save it without", True)
        if not line.startswith("%%"):
            if not in_note and line.strip():
                yield Finding(place, "header", "text before the first %% note line; it belongs to no note", True)
            found, opened = _check_markup(place, line, opened)
            yield from found
            continue
        if opened is not None:
            yield opened.finding()
            opened = None
        try:
            kind, attributes = parse_header(line)
        except ValueError:
            return  # the reader reports it
        yield from _check_header(place, file, line, kind, attributes, patient)
        in_note = kind != "patient"
        if in_note:
            # The reader drops empty lines before the text.
            blank = next((n for n, text in enumerate(lines[number:]) if text), 0)
            origins.setdefault(attributes.get("id", ""), _Origin(file.name, number + 1 + blank))
            continue
        patient = attributes.get("id", "")
        if patient in records:
            yield Finding(place, "id", "this patient id occurs twice; put all notes of the patient into one file", True)
        records[patient] = attributes
    if opened is not None:
        yield opened.finding()
    if not patient:
        yield Finding(file.name, "header", "no %% patient line", True)


def _check_header(
    place: str, file: Path, line: str, kind: str, attributes: Mapping[str, str], patient: str
) -> Iterator[Finding]:
    def problem(message: str) -> Finding:
        return Finding(place, "header", message, True)

    if kind not in ("patient", "note"):
        yield problem("neither %% patient nor %% note")
    if len(line.split()) < 3 or line[:3] != "%% ":
        yield problem('expected "%% patient id=... given=..." or "%% note id=... type=..."')
    if not attributes.get("id"):
        yield problem("no id")
    if kind == "patient":
        unknown = sorted(attributes.keys() - _RECORD_FIELDS)
        if unknown:
            yield problem(f"unknown field {unknown[0][:40]!r}; known: {', '.join(FIELD_NAMES)}")
        if not f"{attributes.get('id', file.stem)}-".startswith(f"{file.stem}-"):
            yield problem("the file is named neither after the patient's id nor after its batch")
    else:
        if not attributes.get("type"):
            yield problem("no type")
        if not patient:
            yield problem("no %% patient line before it")
        elif not attributes.get("id", "").startswith(f"{patient}-"):
            yield problem("the note id does not begin with the patient's id and a dash")


def _check_markup(place: str, line: str, before: "_Opened | None") -> tuple[list[Finding], "_Opened | None"]:
    """Return the findings for the tags of a line, and the tag that is still open at its end.

    ``before`` is the tag that the previous line left open. A value extends over at most one more line, which is not
    blank.
    """
    found: list[Finding] = []
    opened = before.label if before is not None else ""
    for match in _TAG.finditer(line):
        closes, label = match.groups()
        here = f"{place}:{match.start() + 1}"
        if label not in LABELS:
            found.append(Finding(here, "markup", f"unknown tag {label[:40]!r}", True))
        elif not closes:
            if before is not None:
                found.append(before.finding())
            elif opened:
                found.append(Finding(here, "markup", f"{label} opens inside {opened}; tags never nest", True))
            opened, before = label, None
        else:
            if label != opened:
                message = f"{label} closes, and {opened or 'nothing'} is open"
                found.append(Finding(here, "markup", message, True))
            elif line[: match.start()].endswith(f"<{label}>"):
                found.append(Finding(here, "markup", f"{label} covers nothing", True))
            opened, before = "", None
    if before is not None:
        return [before.finding(), *found], None
    return found, _Opened(place, opened) if opened else None


# Notes, whatever they were read from --------------------------------------------------------------------------------


def _place(note: AnnotatedNote, offset: int, origins: Mapping[str, _Origin]) -> str:
    """Return the place of a text offset in the file; the column counts the tags before it."""
    origin = origins.get(note.id)
    if origin is None:
        return f"{note.id} at {offset}"
    start = note.text.rfind("\n", 0, offset) + 1
    tags = sum(len(s.label) + len("<>") for s in note.spans if start <= s.start < offset)
    tags += sum(len(s.label) + len("</>") for s in note.spans if start < s.end <= offset)
    line = origin.first_line + note.text.count("\n", 0, offset)
    return f"{origin.file}:{line}:{offset - start + tags + 1}"


def _check_notes(notes: Iterable[AnnotatedNote], origins: Mapping[str, _Origin]) -> Iterator[Finding]:
    ids: set[str] = set()
    texts: dict[str, str] = {}
    for note in notes:
        place = _place(note, 0, origins)
        if not note.id or note.id in ids:
            yield Finding(place, "id", "no note id" if not note.id else "this note id occurs twice", True)
        ids.add(note.id)
        if not note.text.strip():
            yield Finding(place, "empty", "a note without text", True)
            continue
        earlier = texts.setdefault(text_sha256(note.text), note.id)
        if earlier != note.id:
            yield Finding(place, "id", f"the same text as note {earlier}", True)


def _check_spans(note: AnnotatedNote, origins: Mapping[str, _Origin]) -> Iterator[Finding]:
    borders = {offset for word in split_words(note.text) for offset in word}
    for span in note.spans:
        value = note.text[span.start : span.end]
        place = _place(note, span.start, origins)
        if value != value.strip():
            yield Finding(place, "blank", f"{span.label} begins or ends with white space; keep it outside", True)
        elif len(value.splitlines()) > _LINES:
            yield Finding(place, "lines", f"{span.label} contains more than one line end; mark its parts", True)
        elif not {span.start, span.end} <= borders:
            yield Finding(place, "inside-word", f"{span.label} begins or ends inside a word", False)
        message = _edge(span.label, value)
        if message:
            yield Finding(place, "edge", f"{span.label} {message}", False)


def _edge(label: str, value: str) -> str:
    if value[0] in _OPENING or value[-1] in _CLOSING:
        return "begins or ends with punctuation"
    if any(value.count(left) != value.count(right) for left, right in ("()", "[]")):
        return "has only one of two brackets"
    if label in _NAMES and (_TITLE.match(value) or _POSSESSIVE.search(value)):
        return "has a title or a possessive; keep it outside"
    return ""


# One patient's notes together ---------------------------------------------------------------------------------------


def _check_consistency(
    notes: Sequence[AnnotatedNote], record: Mapping[str, str], origins: Mapping[str, _Origin]
) -> Iterator[Finding]:
    """Yield findings for unmarked values of the record or of spans, and for values marked with two labels."""
    labels: defaultdict[str, set[str]] = defaultdict(set)
    for note in notes:
        for span in note.spans:
            value = note.text[span.start : span.end]
            if span.label not in labels[value] and labels[value]:
                others = ", ".join(sorted(labels[value]))
                place = _place(note, span.start, origins)
                yield Finding(
                    place, "two-labels", f"{span.label} here, {others} earlier in this patient's notes", False
                )
            labels[value].add(span.label)
    searched = {
        value: f"{sorted(found)[0]} marked elsewhere"
        for value, found in labels.items()
        if not found <= _UNSEARCHED_LABELS and _is_searched(value)
    }
    own = {value: field for field, value in record.items() if field not in _UNSEARCHED_FIELDS and _is_searched(value)}
    finder = _Finder(searched.keys() | own.keys())
    for note in notes:
        for start, value in finder.unmarked(note):
            place = _place(note, start, origins)
            if value in own:
                is_number = sum(c.isdigit() for c in value) >= _LEAST_DIGITS
                yield Finding(place, "record", f"the patient's {own[value]} is unmarked", is_number)
            else:
                yield Finding(place, "unmarked", f"{searched[value]} in this patient's notes is unmarked", False)


def _is_searched(value: str) -> bool:
    if not _RUN.search(value):
        return False
    digits = sum(character.isdigit() for character in value)
    return digits >= _LEAST_DIGITS or (len(value) >= _LEAST_CHARS and any(c.isalpha() for c in value))


class _Finder:
    """Find many values at once, whole words only, in time linear in the text."""

    def __init__(self, values: Iterable[str]) -> None:
        self._by_run: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for value in values:
            first = _RUN.search(value)
            if first:
                self._by_run[first[0]].append((first.start(), value))

    def unmarked(self, note: AnnotatedNote) -> Iterator[tuple[int, str]]:
        """Yield offset and value of every occurrence that no span of the note touches."""
        text, ends = note.text, [span.end for span in note.spans]
        for run in _RUN.finditer(text):
            for before, value in self._by_run.get(run[0], ()):
                start = run.start() - before
                end = start + len(value)
                if start < 0 or text[start:end] != value or (value[-1].isalnum() and text[end : end + 1].isalnum()):
                    continue
                next_span = bisect_left(ends, start + 1)  # the first span that ends after start
                if next_span == len(ends) or note.spans[next_span].start >= end:
                    yield start, value

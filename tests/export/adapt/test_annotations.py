"""Test annotation out and back: three formats, and every way in which a text may be changed in between."""

import json
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_export.adapt.annotations import (
    Corrections,
    Refused,
    give_out,
    read_corrections,
    read_originals,
    write_corpus,
)
from deid_export.adapt.forms import FORMS
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated
from deid_runtime.errors import OutputError, SourceError
from deid_runtime.labels import LABELS
from deid_runtime.spans import Note, Span
from tests.commands import read_rows, write_rows

TEXT = 'Ms. Alma Orr-Quist\t(née "Löw" & <Co>) 😀 seen\r\nat Elko,\n  Nevada on 3/14.\r\n'


def marked(value: str, label: str) -> Span:
    return Span(TEXT.index(value), TEXT.index(value) + len(value), label)


SPANS = (
    marked("Alma Orr-Quist", "PATIENT"),
    marked('"Löw"', "PATIENT"),
    marked("Elko,\n  Nevada", "LOCATION-OTHER"),  # over two lines
    marked("3/14", "DATE"),
)
NOTES = [
    (Note("ward 3/n.1", TEXT, "p1", "Letter"), SPANS),
    (Note(".hidden", "no identifiers here\n"), ()),
    (Note("ü" * 150, "seen by Orr"), (Span(8, 11, "DOCTOR"),)),
]


def back(folder: Path) -> Corrections:
    return read_corrections(folder, read_originals(folder / "originals.json"))


@pytest.mark.parametrize("form", FORMS)
def test_what_goes_out_comes_back(tmp_path: Path, form: str) -> None:
    assert give_out(tmp_path / "out", form, NOTES) == []
    found = back(tmp_path / "out")

    assert (found.refused, found.missing) == ([], [])
    assert sorted(found.notes, key=lambda note: note.id) == sorted(
        (AnnotatedNote(note.id, note.patient, note.type, note.text, spans) for note, spans in NOTES),
        key=lambda note: note.id,
    )
    assert found.changes == {
        ("kept", "PATIENT"): 2, ("kept", "LOCATION-OTHER"): 1, ("kept", "DATE"): 1, ("kept", "DOCTOR"): 1
    }  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_label_goes_there_and_back(tmp_path: Path, form: str) -> None:
    text = " ".join(f"word{number}" for number in range(len(LABELS)))
    ends = [at for at, char in enumerate(text + " ") if char == " "]
    starts = [0, *(end + 1 for end in ends[:-1])]
    spans = tuple(Span(*row) for row in zip(starts, ends, LABELS, strict=True))
    give_out(tmp_path / "out", form, [(Note("n1", text), spans)])

    [note] = back(tmp_path / "out").notes
    assert note.spans == spans


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")) | st.sampled_from("\n\r\t "), min_size=1),
    st.data(),
)
def test_any_text_keeps_its_offsets(tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    span = Span(start, data.draw(st.integers(start + 1, len(text))), "CITY")
    for form in FORMS:
        folder = tmp_path_factory.mktemp("any") / "out"
        refused = give_out(folder, form, [(Note("n1", text), (span,))])
        found = back(folder)
        if form == "i2b2" and refused:
            assert "XML cannot hold" in refused[0].reason
            continue
        [note] = found.notes
        assert note.text == text
        if form != "brat" or (len(text[span.start : span.end].splitlines()) == 1 and _is_trim(text, span)):
            assert note.spans == (span,)


def _is_trim(text: str, span: Span) -> bool:
    """Return whether a span begins and ends with a visible character, as annotations of brat do."""
    value = text[span.start : span.end]
    return value.strip() == value


def test_a_note_that_xml_cannot_hold_is_refused_by_its_id(tmp_path: Path) -> None:
    notes = [(Note("form feed", "a\x0cb"), ()), (Note("fine", "ab"), ())]

    [refused] = give_out(tmp_path / "out", "i2b2", notes)
    assert refused.id == "form feed"
    assert "control character at offset 1; write jsonl or brat instead" in refused.reason
    assert [note.id for note in back(tmp_path / "out").notes] == ["fine"]


def test_the_folder_is_for_its_owner_and_never_written_over(tmp_path: Path) -> None:
    give_out(tmp_path / "out", "brat", NOTES)

    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert "Alma" not in (tmp_path / "out" / "originals.json").read_text()
    assert "PATIENT\n" in (tmp_path / "out" / "annotation.conf").read_text()
    with pytest.raises(OutputError, match="never overwritten"):
        give_out(tmp_path / "out", "brat", NOTES)


def edit_jsonl(folder: Path, change: Callable[[str], str]) -> None:
    path = folder / "notes.jsonl"
    rows = read_rows(path)
    for row in rows:
        row["text"] = change(row["text"])
    write_rows(path, rows)


def edit_files(suffix: str) -> Callable[[Path, Callable[[str], str]], None]:
    def edit(folder: Path, change: Callable[[str], str]) -> None:
        for path in folder.glob(f"*{suffix}"):
            path.write_bytes(change(path.read_bytes().decode()).encode())

    return edit


EDITS = {"jsonl": edit_jsonl, "brat": edit_files(".txt"), "i2b2": edit_files(".xml")}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(lambda t: t.replace("seen", "seem"), "or other characters", id="another letter"),
        pytest.param(lambda t: t.replace("seen", "has been seen"), "has 21 code points instead of 12", id="more"),
        pytest.param(lambda t: t.replace("\r\n", "\n").replace("&#13;\n", "\n"), "line ends were changed", id="ends"),
    ],
)
def test_a_changed_text_is_refused_with_the_notes_id(
    tmp_path: Path, form: str, change: Callable[[str], str], reason: str
) -> None:
    notes = [(Note("changed", "seen at\r\nElk"), ()), (Note("same", "no change"), ())]
    give_out(tmp_path / "out", form, notes)
    EDITS[form](tmp_path / "out", change)
    found = back(tmp_path / "out")

    assert [note.id for note in found.notes] == ["same"]
    [refused] = found.refused
    assert refused.id == "changed"
    assert "its text was changed" in refused.reason
    assert reason in refused.reason
    assert "Elk" not in refused.reason
    assert found.missing == []


def edited(spans: Sequence[object], text: str = "seen by Orr in Elko", note_id: str = "n1") -> str:
    return json.dumps({"id": note_id, "text": text, "spans": spans}) + "\n"


def span(start: object, end: object, label: object = "CITY") -> dict[str, object]:
    return {"start": start, "end": end, "label": label}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (edited([span(8, 11), span(10, 19)]), r"spans \[8, 11\) CITY and \[10, 19\) CITY overlap"),
        (edited([span(15, 20)]), "ends after a text of 19 code points"),
        (edited([span(4, 4)]), "empty or reversed"),
        (edited([span(4, "8")]), "whole numbers"),
        (edited([span(4, 8, "TOWN")]), "unknown label 'TOWN'"),
        (edited([{"start": 4}]), "whole numbers"),
        ('{"id": "n1", "spans": []}\n', "expected a string 'text'"),
        (edited([]) * 2, "it occurs twice"),
        (edited([], note_id="n7"), "not one of the written notes"),
        ("{nonsense\n", "not valid JSON"),
    ],
)
def test_what_cannot_be_learnt_is_refused(tmp_path: Path, line: str, reason: str) -> None:
    give_out(tmp_path / "out", "jsonl", [(Note("n1", "seen by Orr in Elko"), ())])
    (tmp_path / "out" / "notes.jsonl").write_text(line, encoding="utf-8")
    [refused] = back(tmp_path / "out").refused

    assert isinstance(refused, Refused)
    assert re.search(reason, refused.reason), refused.reason


def test_corrections_are_counted_and_absent_notes_named(tmp_path: Path) -> None:
    notes = [(Note("n1", "seen by Orr in Elko, May"), (Span(8, 11, "PATIENT"), Span(21, 24, "DATE"))), *NOTES[1:]]
    give_out(tmp_path / "out", "brat", notes)
    (tmp_path / "out" / "n1.ann").write_text("T1\tDOCTOR 8 11\tOrr\nT2\tCITY 15 19\tElko\n#1\tNote T1\tsure\n")
    (tmp_path / "out" / "%2Ehidden.ann").unlink()
    found = back(tmp_path / "out")

    assert found.missing == [".hidden"]
    assert found.changes == {
        ("relabelled", "DOCTOR"): 1, ("added", "CITY"): 1, ("removed", "DATE"): 1, ("kept", "DOCTOR"): 1
    }  # fmt: skip


def test_one_file_can_come_back_alone(tmp_path: Path) -> None:
    give_out(tmp_path / "out", "i2b2", [(Note("a", "one"), ()), (Note("b", "two"), ())])
    found = read_corrections(tmp_path / "out" / "b.xml", read_originals(tmp_path / "out" / "originals.json"))

    assert [note.id for note in found.notes] == ["b"]
    assert found.missing == ["a"]


def test_no_annotations_and_no_originals_are_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no annotations"):
        read_corrections(tmp_path, [])
    (tmp_path / "originals.json").write_text("[]")
    with pytest.raises(SourceError, match=r"not a valid originals\.json"):
        read_originals(tmp_path / "originals.json")
    (tmp_path / "notes.doc").write_text("")
    with pytest.raises(SourceError, match="annotations are read only from"):
        read_corrections(tmp_path / "notes.doc", [])


def test_corrected_notes_are_a_corpus(tmp_path: Path) -> None:
    give_out(tmp_path / "out", "brat", NOTES)
    notes = back(tmp_path / "out").notes
    write_corpus(tmp_path / "corrected.jsonl", notes)

    assert read_annotated([tmp_path / "corrected.jsonl"]) == notes
    assert stat.S_IMODE((tmp_path / "corrected.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize("form", FORMS)
def test_a_corpus_is_read_in_every_form(tmp_path: Path, form: str) -> None:
    notes = [(Note(f"n{number}", f"seen by Orr {number}"), (Span(8, 11, "DOCTOR"),)) for number in range(3)]
    give_out(tmp_path / "out", form, notes)
    (tmp_path / "out" / "originals.json").unlink()

    assert [(note.id, note.text, note.spans) for note in read_annotated([tmp_path / "out"])] == [
        (note.id, note.text, spans) for note, spans in notes
    ]

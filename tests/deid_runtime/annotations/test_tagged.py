from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_records
from deid_runtime.annotations.tagged import parse_header, read_tagged, read_tagged_records, render_tagged
from deid_runtime.errors import InputError, SourceError
from deid_runtime.spans import Span

_values = st.text("aZ 9.'\"\\é=%", min_size=1, max_size=8)


@given(st.lists(st.tuples(_values, st.sampled_from(["PATIENT", "LOCATION-OTHER", ""])), max_size=6), _values)
def test_what_is_rendered_reads_back(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[str, str]], family: str
) -> None:
    text, spans = "Note: ", []
    for value, label in pieces:
        if label:
            spans.append(Span(len(text), len(text) + len(value), label))
        text += f"{value}|\n-"
    note = AnnotatedNote("P1-1", "P1", "Phone note", text, tuple(spans))
    path = tmp_path_factory.mktemp("tagged") / "P1.txt"

    path.write_text(render_tagged("P1", {"family": family}, [note, note]), encoding="utf-8")

    assert list(read_tagged(path)) == [note, note]
    [record] = read_tagged_records(path)
    assert (record.id, record.fields.get("family", "")) == ("P1", " ".join(family.split()))


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        pytest.param("Alma\nMay\nOrr", (Span(0, 12, "PATIENT"),), id="span-over-two-line-ends"),
        pytest.param("Alma\n\nOrr", (Span(0, 9, "PATIENT"),), id="span-over-a-blank-line"),
        pytest.param("a\r\nb", (), id="line-end-of-windows"),
        pytest.param("a\n", (), id="empty-line-at-the-end"),
        pytest.param("%% note id=1", (), id="looks-like-a-header"),
        pytest.param("<DATE>x</DATE>", (), id="tags-in-the-text"),
        pytest.param("a\u2028b", (), id="line-separator"),
    ],
)
def test_a_note_that_would_not_read_back_is_refused(text: str, spans: tuple[Span, ...]) -> None:
    with pytest.raises(InputError, match="note n1: tagged text cannot hold it") as error:
        render_tagged("p", {}, [AnnotatedNote("n1", "", "", text, spans)])

    assert "Alma" not in str(error.value)


def test_a_value_may_be_broken_over_a_line_end(tmp_path: Path) -> None:
    note = AnnotatedNote(
        "P1-1", "P1", "", "Sister Una\nGallacher, then\n4 Elm\nCourt.", (Span(7, 20, "DOCTOR"), Span(27, 38, "STREET"))
    )
    (tmp_path / "P1.txt").write_text(render_tagged("P1", {}, [note]), encoding="utf-8")

    assert list(read_tagged(tmp_path / "P1.txt")) == [note]


def test_a_broken_header_is_named_by_its_line_without_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text('%% patient id=P1\n%% note id="Halvorsen\n')

    with pytest.raises(SourceError, match=r"a\.txt:2: unbalanced quotes") as error:
        list(read_tagged(tmp_path / "a.txt"))

    assert "Halvorsen" not in str(error.value)
    assert error.value.__cause__ is None


def test_a_header_has_a_kind_and_attributes() -> None:
    assert parse_header('%% note id=P1-1 type="H&P"') == ("note", {"id": "P1-1", "type": "H&P"})


@pytest.mark.parametrize(
    "body",
    [
        "<DOCTOR>Zebulon\n\nQuist</DOCTOR> called.",
        "<DOCTOR>Zebulon\nvan\nQuist</DOCTOR> called.",
        "<DOCTOR>Zebulon\n<DOCTOR>Quist</DOCTOR> called.",
        "<PATIENT>Alma Orr</DOCTOR> called.",
        "Call <PHONE>507-555-0139</PHONE now.",
        "SSN <SSN >219-09-9999</SSN>.",
        "<PATEINT>Alma Orr</PATEINT> called.",
    ],
)
def test_half_a_tag_is_an_error_without_what_it_marks(tmp_path: Path, body: str) -> None:
    path = tmp_path / "P1.txt"
    path.write_text(f"%% patient id=P1\n%% note id=n7\n{body}\n", encoding="utf-8")

    with pytest.raises(SourceError, match="note n7: an incomplete tag at offset") as error:
        list(read_tagged(path))

    assert not any(value in str(error.value) for value in ("Quist", "Orr", "0139", "9999"))


@pytest.mark.parametrize(
    "content", ["Alma Orr called.\n", "%% patient id=P1\nAlma Orr called.\n%% note id=n7\nWell.\n"]
)
def test_text_without_a_note_is_an_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "P1.txt"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(SourceError, match=r"P1\.txt:[12]: text before a %% note line"):
        list(read_tagged(path))


def test_records_of_one_patient_are_joined_and_may_not_differ(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("%% patient id=P1 given=Alma family=Orr\n%% note id=a\nWell.\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("%% patient id=P1 mrn=0044178\n%% note id=b\nWell.\n", encoding="utf-8")

    assert read_records([tmp_path])["P1"].fields == {"given": "Alma", "family": "Orr", "mrn": "0044178"}

    (tmp_path / "c.txt").write_text("%% patient id=P1 family=Quist\n%% note id=c\nWell.\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"c\.txt: patient P1 has a different family") as error:
        read_records([tmp_path])
    assert "Quist" not in str(error.value)

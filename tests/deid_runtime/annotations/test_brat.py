"""Test annotated notes in brat stand-off: pieces, line ends, and errors without text."""

import pytest

from deid_runtime.annotations.brat import read_brat, render_brat
from deid_runtime.errors import InputError, SourceError
from deid_runtime.spans import Span


def test_brat_keeps_line_ends_and_reads_pieces(tmp_path):
    (tmp_path / "n1.txt").write_bytes(b"Ilse\r\nVandermeer, rm 318 A")
    (tmp_path / "n1.ann").write_text(
        "T1\tPATIENT 0 4;6 16\tIlse Vandermeer\nR1\tOf Arg1:T1 Arg2:T2\n#1\tNote T1\tx\n"
        "T2\tLOCATION_OTHER 18 24;25 26\trm 318 A\n",
        encoding="utf-8",
    )

    note = read_brat(tmp_path / "n1.ann", "n1")

    assert [(note.text[span.start : span.end], span.label) for span in note.spans] == [
        ("Ilse\r\nVandermeer", "PATIENT"),  # one value, which brat marks per line
        ("rm 318", "LOCATION-OTHER"),
        ("A", "LOCATION-OTHER"),
    ]


@pytest.mark.parametrize("line", ["T1 PATIENT 0 4 Ilse", "T1\tPATIENT\tIlse", "T1\tPATIENT zero 4\tIlse"])
def test_bad_brat_lines(tmp_path, line):
    (tmp_path / "n1.txt").write_text("Ilse", encoding="utf-8")
    (tmp_path / "n1.ann").write_text(line, encoding="utf-8")

    with pytest.raises(SourceError, match="n1.ann:1: expected") as caught:
        read_brat(tmp_path / "n1.ann", "n1")

    assert "Ilse" not in str(caught.value)


def test_brat_without_its_text(tmp_path):
    (tmp_path / "n1.ann").write_text("", encoding="utf-8")

    with pytest.raises(SourceError, match=r"n1\.txt is missing"):
        read_brat(tmp_path / "n1.ann", "n1")


def test_brat_with_text_in_another_encoding(tmp_path):
    (tmp_path / "n1.txt").write_bytes(b"n\xe9e")
    (tmp_path / "n1.ann").write_text("", encoding="utf-8")

    with pytest.raises(SourceError, match="not UTF-8 \\(byte 1\\)"):
        read_brat(tmp_path / "n1.ann", "n1")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("T1\tCITY 0 9\tIlse", r"n1\.ann: note n1: gold span \[0, 9\) CITY ends after a text of 4 code points"),
        ("T1\tCITY 2 2\tIlse", r"n1\.ann:1: span \[2, 2\) of an unnamed source is empty"),
    ],
)
def test_spans_that_cannot_be_in_the_text_name_the_file(tmp_path, line, message):
    (tmp_path / "n1.txt").write_text("Ilse", encoding="utf-8")
    (tmp_path / "n1.ann").write_text(line, encoding="utf-8")

    with pytest.raises(InputError, match=message):
        read_brat(tmp_path / "n1.ann", "n1")


def test_what_is_rendered_reads_back(tmp_path):
    text, spans = "Ilse\nVandermeer, rm 318", (Span(0, 15, "PATIENT"), Span(17, 23, "LOCATION-OTHER"))
    (tmp_path / "n1.txt").write_bytes(text.encode())
    (tmp_path / "n1.ann").write_bytes(render_brat(text, spans))

    assert read_brat(tmp_path / "n1.ann", "n1").spans == spans

"""Test formats with one note per file: plain text, brat texts, i2b2 XML."""

from pathlib import Path

import pytest

from deid_runtime.errors import InputError
from deid_runtime.formats import FORMATS
from deid_runtime.formats.i2b2 import parse_text
from deid_runtime.formats.records import Meter, ReadOptions, Source
from deid_runtime.spans import Note
from tests.deid_runtime.formats.read import faults_of, notes_of, read_all

XML = (
    '<?xml version="1.0" encoding="UTF-8" ?>\n<deIdi2b2>\n<TEXT><![CDATA[\n{text}]]></TEXT>\n<TAGS>\n'
    '<NAME id="P0" start="1" end="7" text="Ingrid" TYPE="PATIENT" comment="" />\n</TAGS>\n</deIdi2b2>\n'
)


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_text_is_read_with_its_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    write(tmp_path / "in" / "b.txt", b"\xef\xbb\xbfone\r\ntwo\n\rthree\x0c")
    write(tmp_path / "in" / "a" / "2020.05.TXT", "naïve".encode())
    write(tmp_path / "in" / "c.txt", b"")

    assert read_all(tmp_path / "in") == [
        Note("a/2020.05", "naïve"),
        Note("b", "\ufeffone\r\ntwo\n\rthree\x0c"),
        Note("c", ""),
    ]


def test_what_is_no_suffix_of_the_format_stays_in_the_id_and_out_of_the_output(tmp_path: Path) -> None:
    for name in ("visit of Ms. Quist", "note.2019_Quist", "a.1", "a.2", "b.TXT"):
        write(tmp_path / name, b"fine")
        source = Source(tmp_path / name, name, "txt", 4)
        [note] = FORMATS["txt"].read(source, ReadOptions(), Meter())
        assert isinstance(note, Note)
        assert note.id == name.removesuffix(".TXT")
        (tmp_path / "out" / name).mkdir(parents=True)
        writer = FORMATS["txt"].write(source, ReadOptions(), tmp_path / "out" / name)
        writer.write(Note("N-1", "fine"))
        writer.close()
        assert [path.name for path in (tmp_path / "out" / name).iterdir()] == [
            "N-1" + (".TXT" if "TXT" in name else ".txt")
        ]


def test_a_bad_file_costs_that_file_only(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(folder / "bytes.txt", b"caf\xe9")
    write(folder / "good.txt", b"fine")
    write(folder / "long.txt", b"a" * 101)
    write(folder / "null.txt", b"a\0b")
    (folder / "gone.txt").symlink_to(tmp_path / "nowhere")

    items = read_all(folder, ReadOptions(record_limit_bytes=100))

    assert notes_of(items) == [("good", "fine")]
    assert faults_of(items) == [
        ("bytes", "byte 4 is not UTF-8; convert the file to UTF-8"),
        ("gone", "the file cannot be read: No such file or directory"),
        ("long", "the file is larger than 100 bytes; split the note"),
        ("null", "text has a null character at offset 1; remove it at the source"),
    ]


def test_brat_annotations_are_neither_read_nor_an_error(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.txt", b"Ingrid")
    write(tmp_path / "in" / "a.ann", b"T1\tPATIENT 0 6\tIngrid\n")

    for format_name in (None, "brat"):
        assert notes_of(read_all(tmp_path / "in", format_name=format_name)) == [("a", "Ingrid")]


def test_i2b2_gives_text_as_the_corpus_counts_it_and_the_patient_of_the_name(tmp_path: Path) -> None:
    write(tmp_path / "in" / "110-01.xml", XML.format(text="Ingrid <& co>\r\nend").encode())
    write(tmp_path / "in" / "follow-up.xml", XML.format(text="x").encode())

    assert read_all(tmp_path / "in") == [Note("110-01", "\nIngrid <& co>\nend", "110"), Note("follow-up", "\nx")]


@pytest.mark.parametrize(
    "inner",
    ["a<b>John</b>", "a<b/>", "a<!-- John -->", "a<?note John?>", "<![CDATA[a]]><b><![CDATA[John]]></b>"],
)
def test_xml_whose_text_would_be_lost_is_unreadable(inner: str) -> None:
    with pytest.raises(InputError, match="TEXT has elements, comments or instructions"):
        parse_text(f"<deIdi2b2><TEXT>{inner}</TEXT><TAGS/></deIdi2b2>".encode())


def test_xml_with_text_beside_the_text_element_is_unreadable() -> None:
    with pytest.raises(InputError, match="text outside the TEXT element"):
        parse_text(b"<deIdi2b2>\n<TEXT>a</TEXT>\nSeen by John.\n<TAGS/></deIdi2b2>")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"plain text", "not well-formed XML on line 1", id="no-xml"),
        pytest.param(b"", "not well-formed XML", id="empty"),
        pytest.param(b"<deIdi2b2><TEXT>caf\xe9</TEXT></deIdi2b2>", "not well-formed XML", id="bytes"),
        pytest.param(b"<root><TEXT>a</TEXT></root>", "expected the root element deIdi2b2", id="other-root"),
        pytest.param(b"<deIdi2b2><TAGS/></deIdi2b2>", "0 TEXT elements", id="no-text"),
        pytest.param(b"<deIdi2b2><TEXT>a</TEXT><TEXT>b</TEXT></deIdi2b2>", "2 TEXT elements", id="two-texts"),
        pytest.param(
            b'<!DOCTYPE d [<!ENTITY a "aaaa">]><deIdi2b2><TEXT>&a;</TEXT></deIdi2b2>', "document type", id="entities"
        ),
        pytest.param(
            b'<?xml version="1.0" encoding="klingon"?><deIdi2b2><TEXT>a</TEXT></deIdi2b2>', "XML", id="encoding"
        ),
    ],
)
def test_other_xml_is_unreadable(tmp_path: Path, data: bytes, reason: str) -> None:
    [(identity, why)] = faults_of(read_all(write(tmp_path / "n.xml", data)))

    assert identity == "n"
    assert reason in why


@pytest.mark.parametrize("text", ["plain", "a <b> & ]]> c]]", "one\r\ntwo\rthree & <", "\n", "tab\tand é 😀"])
def test_i2b2_text_survives_writing_and_reading(tmp_path: Path, text: str) -> None:
    writer = FORMATS["i2b2"].write(Source(tmp_path / "n.xml", "n.xml", "i2b2", 0), ReadOptions(), tmp_path / "out.xml")
    writer.write(Note("n", text))
    writer.close()

    data = (tmp_path / "out.xml").read_bytes()
    assert parse_text(data) == text
    assert b"TAGS" not in data


def test_files_are_written_below_a_folder_under_their_ids_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    writer = FORMATS["txt"].write(Source(tmp_path / "n.txt", "n.txt", "txt", 0), ReadOptions(), out)

    writer.write(Note("ward/1", "a\r\nb"))

    assert (out / "ward" / "1.txt").read_bytes() == b"a\r\nb"
    with pytest.raises(FileExistsError):
        writer.write(Note("ward/1", "other"))

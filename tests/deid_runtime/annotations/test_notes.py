import gzip
import json

import pytest

from deid_runtime.annotations.notes import GoldNote, read_found, read_gold
from deid_runtime.errors import DeidError, InputError, SourceError
from deid_runtime.spans import Span

TEXT = "Ilse Vandermeer, née Ångström\nrm 318"
NOTE = {
    "id": "n1",
    "patient": "p1",
    "type": "Letter",
    "text": TEXT,
    "spans": [{"start": 21, "end": 29, "label": "PATIENT"}, {"start": 0, "end": 15, "label": "PATIENT"}],
}
XML = """<?xml version="1.0" encoding="UTF-8" ?>
<deIdi2b2>
<TEXT><![CDATA[{text}]]></TEXT>
<TAGS>
{tags}
</TAGS>
</deIdi2b2>
"""


def write_lines(path, *values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def write_xml(path, tags, text=TEXT):
    path.write_text(XML.format(text=text, tags=tags), encoding="utf-8")
    return path


def test_json_lines(tmp_path):
    [note] = read_gold(write_lines(tmp_path / "gold.jsonl", NOTE))

    assert note == GoldNote("n1", TEXT, (Span(0, 15, "PATIENT"), Span(21, 29, "PATIENT")), "p1", "Letter")


def test_compressed_json_lines_blank_lines_and_numeric_ids(tmp_path):
    path = tmp_path / "gold.jsonl.gz"
    path.write_bytes(gzip.compress(b'\n{"id": 7, "text": "x", "spans": []}\n\n'))

    assert read_gold(path) == [GoldNote("7", "x", ())]


def test_found_spans_carry_no_text_and_may_have_scores(tmp_path):
    rows = write_lines(
        tmp_path / "found.jsonl",
        {"id": "n1", "spans": [{"start": 3, "end": 4, "label": "CITY", "score": 0.5, "sources": ["pattern"]}]},
        {"id": "n2", "spans": []},
    )

    assert read_found(rows) == {"n1": [Span(3, 4, "CITY", sources=("pattern",))], "n2": []}


@pytest.mark.parametrize("sources", ['"Ilse"', "[7]", '["Ilse Vandermeer"]', '{"model": 1}'])
def test_sources_are_names_of_finders(sources, tmp_path):
    path = tmp_path / "found.jsonl"
    path.write_text(f'{{"id": "n", "spans": [{{"start": 0, "end": 1, "label": "CITY", "sources": {sources}}}]}}')

    with pytest.raises(SourceError, match="note n: 'sources' must be a list") as error:
        read_found(path)
    assert "Ilse" not in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Ilse {", "gold.jsonl:1: not a JSON object"),
        ('["Ilse"]', "expected a JSON object, found list"),
        ('{"text": "Ilse", "spans": []}', "field 'id' must be a string"),
        ('{"id": "n", "spans": []}', "field 'text' must be a string"),
        ('{"id": "n", "text": "Ilse"}', "no list 'spans'"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": 0}]}', "each span needs"),
        ('{"id": "n", "text": "Ilse", "spans": ["Ilse"]}', "each span needs"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": "0", "end": 4, "label": "CITY"}]}', "must be integers"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": 2, "end": 2, "label": "CITY"}]}', "empty or reversed"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": 0, "end": 4, "label": "TOWN"}]}', "unknown label 'TOWN'"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": 0, "end": 4, "label": "Ilse"}]}', "unknown label of 4 char"),
        ('{"id": "n", "text": "Ilse", "spans": [{"start": 0, "end": 5, "label": "CITY"}]}', "ends behind a text of 4"),
        (
            '{"id": "n", "text": "Ilse", "spans": [{"start": 1, "end": 4, "label": "CITY", "text": "Ils"}]}',
            "not what stands there",
        ),
    ],
)
def test_bad_lines_are_named_without_their_text(tmp_path, line, message):
    path = tmp_path / "gold.jsonl"
    path.write_text(line, encoding="utf-8")

    with pytest.raises(DeidError, match="gold|note n|label|empty") as caught:
        read_gold(path)

    assert message in str(caught.value)
    assert "Ilse" not in str(caught.value)


def test_bytes_that_are_not_utf8(tmp_path):
    path = tmp_path / "gold.jsonl"
    path.write_bytes(b'{"id": "n", "text": "\xff"}')

    with pytest.raises(SourceError, match="gold.jsonl:1: not a JSON object in UTF-8"):
        read_gold(path)


def test_repeated_ids_and_missing_files(tmp_path):
    twice = write_lines(tmp_path / "gold.jsonl", NOTE, NOTE)

    with pytest.raises(SourceError, match="note id n1 comes twice"):
        read_gold(twice)
    with pytest.raises(SourceError, match="note id n1 comes twice"):
        read_found(twice)
    with pytest.raises(SourceError, match="cannot be read"):
        read_gold(tmp_path / "none.jsonl")
    with pytest.raises(SourceError, match="cannot be read"):
        read_gold(tmp_path / "none.ann.xml")


def test_an_i2b2_tag_without_its_start_is_an_error(tmp_path):
    write_xml(tmp_path / "110-02.xml", """<NAME id="P0" begin="0" end="15" TYPE="PATIENT" />""")

    with pytest.raises(SourceError, match="a NAME tag lacks whole numbers 'start'"):
        read_gold(tmp_path)


def test_i2b2_types_map_to_our_labels(tmp_path):
    write_xml(
        tmp_path / "110-02.xml",
        """<NAME id="P0" start="0" end="15" text="Ilse Vandermeer" TYPE="PATIENT" comment="" />
        <PROFESSION id="P1" start="0" end="4" text="Ilse" TYPE="PROFESSION" comment="" />
        <LOCATION id="P2" start="30" end="36" text="rm 318" TYPE="ROOM" comment="" />
        <LOCATION id="P3" start="30" end="32" text="rm" TYPE="OTHER" comment="" />
        <OTHER id="P4" start="30" end="32" text="rm" TYPE="OTHER" comment="" />
        <DATE id="P5" start="33" end="36" text="318" comment="" />
        <ID id="P6" start="33" end="36" text="318" TYPE="medicalrecord" comment="" />
        <OBESE id="D1" start="0" end="4" text="Ilse" time="continuing" indicator="mention" />
        <SMOKER id="D2" status="never" />""",
    )

    [note] = read_gold(tmp_path)

    assert (note.id, note.patient, note.text) == ("110-02", "110", TEXT)
    assert [(span.start, span.end, span.label) for span in note.spans] == [
        (0, 15, "PATIENT"),
        (30, 32, "LOCATION-OTHER"),
        (30, 36, "LOCATION-OTHER"),
        (33, 36, "DATE"),
        (33, 36, "MEDICALRECORD"),
    ]
    assert read_found(tmp_path / "110-02.xml") == {"110-02": list(note.spans)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (XML.format(text="Ilse", tags='<NAME start="0" end="4" TYPE="KING" />'), "unknown type 'KING'"),
        (XML.format(text="Ilse", tags='<NAME start="Ilse" end="4" TYPE="PATIENT" />'), "lacks whole numbers"),
        (XML.format(text="Ilse", tags='<NAME start="0" TYPE="PATIENT" />'), "lacks whole numbers"),
        ("<deIdi2b2><TAGS/></deIdi2b2>", "no <TEXT>"),
        ("<deIdi2b2><TEXT>Ilse", "not well-formed XML"),
        ('<!DOCTYPE x [<!ENTITY e "Ilse">]><deIdi2b2><TEXT>&e;</TEXT></deIdi2b2>', "remove the document type"),
        ('<?xml version="1.0" encoding="klingon"?><deIdi2b2><TEXT>Ilse</TEXT></deIdi2b2>', "not well-formed XML"),
    ],
)
def test_bad_xml_is_named_without_its_text(tmp_path, content, message):
    (tmp_path / "1-01.xml").write_text(content, encoding="utf-8")

    with pytest.raises(SourceError, match="1-01.xml") as caught:
        read_gold(tmp_path)

    assert message in str(caught.value)
    assert "Ilse" not in str(caught.value)


def test_ids_of_files_are_paths_below_the_folder(tmp_path):
    for name in ("ward/110-02.xml", "ward/110-01.xml", "b.xml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_xml(tmp_path / name, "")

    assert [(note.id, note.patient) for note in read_gold(tmp_path)] == [
        ("b", ""),
        ("ward/110-01", "110"),
        ("ward/110-02", "110"),
    ]


def test_brat_keeps_line_ends_and_reads_pieces(tmp_path):
    (tmp_path / "n1.txt").write_bytes(b"Ilse\r\nVandermeer, rm 318 A")
    (tmp_path / "n1.ann").write_text(
        "T1\tPATIENT 0 4;6 16\tIlse Vandermeer\nR1\tOf Arg1:T1 Arg2:T2\n#1\tNote T1\tx\n"
        "T2\tLOCATION_OTHER 18 24;25 26\trm 318 A\n",
        encoding="utf-8",
    )

    [note] = read_gold(tmp_path)

    assert [(note.text[span.start : span.end], span.label) for span in note.spans] == [
        ("Ilse\r\nVandermeer", "PATIENT"),  # one value, which brat marks line by line
        ("rm 318", "LOCATION-OTHER"),
        ("A", "LOCATION-OTHER"),
    ]


@pytest.mark.parametrize("line", ["T1 PATIENT 0 4 Ilse", "T1\tPATIENT\tIlse", "T1\tPATIENT zero 4\tIlse"])
def test_bad_brat_lines(tmp_path, line):
    (tmp_path / "n1.txt").write_text("Ilse", encoding="utf-8")
    (tmp_path / "n1.ann").write_text(line, encoding="utf-8")

    with pytest.raises(SourceError, match="n1.ann:1: expected") as caught:
        read_gold(tmp_path)

    assert "Ilse" not in str(caught.value)


def test_brat_without_its_text(tmp_path):
    (tmp_path / "n1.ann").write_text("", encoding="utf-8")

    with pytest.raises(SourceError, match=r"n1\.txt is missing"):
        read_gold(tmp_path)


def test_brat_with_text_in_another_encoding(tmp_path):
    (tmp_path / "n1.txt").write_bytes(b"n\xe9e")
    (tmp_path / "n1.ann").write_text("", encoding="utf-8")

    with pytest.raises(SourceError, match="not UTF-8 \\(byte 1\\)"):
        read_gold(tmp_path)


def test_a_gold_span_behind_its_text(tmp_path):
    with pytest.raises(InputError, match="note 1-01: gold span"):
        read_gold(write_xml(tmp_path / "1-01.xml", '<NAME start="0" end="9" TYPE="PATIENT" />', text="Ilse"))


def test_empty_folder_and_unknown_suffix(tmp_path):
    with pytest.raises(SourceError, match="no annotated note"):
        read_gold(tmp_path)
    (tmp_path / "notes.docx").write_bytes(b"")
    with pytest.raises(SourceError, match="annotations are read from"):
        read_gold(tmp_path / "notes.docx")

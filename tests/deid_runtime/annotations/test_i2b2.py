"""Test annotated notes in i2b2 2014 XML: types to labels, and errors without text."""

import pytest

from deid_runtime.annotations.i2b2 import read_i2b2, render_i2b2
from deid_runtime.errors import InputError, SourceError
from deid_runtime.spans import Span

TEXT = "Ilse Vandermeer, née Ångström\nrm 318"


XML = """<?xml version="1.0" encoding="UTF-8" ?>
<deIdi2b2>
<TEXT><![CDATA[{text}]]></TEXT>
<TAGS>
{tags}
</TAGS>
</deIdi2b2>
"""


def write_xml(path, tags, text=TEXT):
    path.write_text(XML.format(text=text, tags=tags), encoding="utf-8")
    return path


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

    note = read_i2b2(tmp_path / "110-02.xml", "ward/110-02")

    assert (note.id, note.patient, note.text) == ("ward/110-02", "110", TEXT)
    assert [(span.start, span.end, span.label) for span in note.spans] == [
        (0, 15, "PATIENT"),
        (30, 32, "LOCATION-OTHER"),
        (30, 36, "LOCATION-OTHER"),
        (33, 36, "DATE"),
        (33, 36, "MEDICALRECORD"),
    ]


def test_an_i2b2_tag_without_its_start_is_an_error(tmp_path):
    write_xml(tmp_path / "110-02.xml", """<NAME id="P0" begin="0" end="15" TYPE="PATIENT" />""")

    with pytest.raises(SourceError, match=r"110-02\.xml: a NAME tag lacks whole numbers 'start'"):
        read_i2b2(tmp_path / "110-02.xml", "n")


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
        read_i2b2(tmp_path / "1-01.xml", "n")

    assert message in str(caught.value)
    assert "Ilse" not in str(caught.value)


def test_a_gold_span_behind_its_text(tmp_path):
    with pytest.raises(InputError, match=r"1-01\.xml: note n1: gold span"):
        read_i2b2(write_xml(tmp_path / "1-01.xml", '<NAME start="0" end="9" TYPE="PATIENT" />', text="Ilse"), "n1")


def test_what_is_rendered_reads_back(tmp_path):
    text, spans = 'Ilse "Å" & <Co>\r\nat\tElko', (Span(0, 8, "PATIENT"), Span(20, 24, "CITY"))
    (tmp_path / "a.xml").write_bytes(render_i2b2(text, spans))
    note = read_i2b2(tmp_path / "a.xml", "a")

    assert (note.id, note.patient, note.text, note.spans) == ("a", "", text, spans)


def test_a_character_that_xml_cannot_hold_is_an_error():
    with pytest.raises(InputError, match="control character at offset 1"):
        render_i2b2("a\x0cb", ())

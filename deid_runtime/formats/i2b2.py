"""i2b2/UTHealth 2014 XML: ``<deIdi2b2><TEXT>...</TEXT><TAGS>...</TAGS></deIdi2b2>``, one note per file.

The TAGS of the input annotate the original text, so they are never written. Files of that corpus have names such as
``110-01.xml``: the number before the dash is the patient, the number after it the record. Other names give no patient.
TEXT must contain only characters. Elements, comments or processing instructions in it, and text outside TEXT and TAGS,
would be lost, so such a note is unreadable. An XML parser turns CRLF into LF (XML 1.0, 2.11). Offsets count the text
after that, as in the corpus.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from xml.parsers import expat
from xml.sax.saxutils import escape

from deid_runtime.errors import InputError
from deid_runtime.formats.plain_text import FileWriter, file_note_id, read_bounded, suffix_like
from deid_runtime.formats.records import Item, Meter, ReadOptions, Source, Unreadable, check_text
from deid_runtime.spans import Note
from deid_runtime.system.digests import Create, new_file

SUFFIX = ".xml"
_ROOT = "deIdi2b2"
_NUMBERED = re.compile(r"(\d+)-\d+")


def read_i2b2(source: Source, options: ReadOptions, meter: Meter) -> Iterator[Item]:
    """Yield the only note of a file, or an Unreadable."""
    note_id = file_note_id(source, SUFFIX)
    try:
        text = parse_text(read_bounded(source, options.record_limit_bytes, meter))
        check_text(text, "TEXT")
        yield Note(note_id, text, patient_of_file(source.name), position=note_id)
    except InputError as error:
        yield Unreadable(note_id, str(error), position=note_id)


def parse_text(data: bytes) -> str:
    """Return the content of the TEXT element.

    Raises InputError for other XML, for malformed XML, for text that would be lost, and for a document type. A document
    type could define entities that expand without limit or name other files; no i2b2 file has one.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    path: list[str] = []
    parts: list[str] = []
    texts = 0

    def start(name: str, _: dict[str, str]) -> None:
        nonlocal texts
        check_outside_text()
        path.append(name)
        if len(path) == 1 and name != _ROOT:
            raise InputError(f"the XML is not i2b2 2014; expected the root element {_ROOT}")
        texts += path == [_ROOT, "TEXT"]

    def end(_: str) -> None:
        path.pop()

    def characters(data: str) -> None:
        if path == [_ROOT, "TEXT"]:
            parts.append(data)
        elif len(path) == 1 and not data.isspace():
            raise InputError("there is text outside the TEXT element, which would be lost; move it into TEXT")

    def check_outside_text(*_: object) -> None:
        if path == [_ROOT, "TEXT"]:
            raise InputError(
                "TEXT has elements, comments or instructions, whose content would be lost; expected only "
                "characters, with < written as &lt; or inside CDATA"
            )

    def doctype(*_: object) -> None:
        raise InputError("the XML has a document type; remove it, because i2b2 2014 files have none")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.CommentHandler = check_outside_text
    parser.ProcessingInstructionHandler = check_outside_text
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(f"not well-formed XML on line {error.lineno} ({expat.ErrorString(error.code)})") from None
    except InputError:
        raise
    except (LookupError, ValueError):  # an unknown encoding, or one with several bytes per character
        raise InputError("the XML is in an encoding that cannot be read; convert it to UTF-8") from None
    if texts != 1:
        raise InputError(f"the XML has {texts} TEXT elements; expected one")
    return "".join(parts)


def patient_of_file(name: str) -> str:
    """Return the patient id in a file name: ``110`` for ``110-01.xml``, empty for other names."""
    numbered = _NUMBERED.fullmatch(PurePosixPath(name).stem)
    return numbered[1] if numbered else ""


class I2b2Writer(FileWriter):
    """Writes only TEXT, because the tags of the input describe the original."""

    def render(self, text: str) -> bytes:
        """Return the XML of a note in UTF-8."""
        # In CDATA, an XML parser would turn a carriage return into a line feed. A character reference stays unchanged.
        body = escape(text, {"\r": "&#13;"}) if "\r" in text else _cdata(text)
        return f'<?xml version="1.0" encoding="UTF-8" ?>\n<{_ROOT}>\n<TEXT>{body}</TEXT>\n</{_ROOT}>\n'.encode()


def _cdata(text: str) -> str:
    return f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>"


def write_i2b2(source: Source, options: ReadOptions, path: Path, create: Create = new_file) -> I2b2Writer:
    """Open a writer to the folder or file ``path``."""
    return I2b2Writer(path, suffix_like(source.name, SUFFIX), create, is_folder=path.is_dir())

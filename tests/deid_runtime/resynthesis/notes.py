"""Small invented notes in tagged text."""

from collections.abc import Mapping
from pathlib import Path

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.tagged import parse_tagged

FIRST = """%% patient id=P1 given=Alma family=Halvorsen sex=F dob=1950-03-02 mrn=48213377 city=Elko zip=89801
%% note id=P1-1 type="Phone note"
<PATIENT>Alma Halvorsen</PATIENT>, MRN <MEDICALRECORD>48213377</MEDICALRECORD>, lives at <STREET>12 Elm St</STREET>,
<CITY>Elko</CITY>, <STATE>NV</STATE> <ZIP>89801</ZIP>.
Seen <DATE>3/14/2019</DATE> by Dr. <DOCTOR>Quist</DOCTOR>, rice diet.
%% note id=P1-2 type=Letter
Dear Ms. <PATIENT>Halvorsen</PATIENT>, see <HOSPITAL>Elko Falls Clinic</HOSPITAL> on <DATE>4/1/2019</DATE>.
"""
SECOND = """%% patient id=P2 given=Birk family=Rice
%% note id=P2-1 type=Letter
<PATIENT>Birk Rice</PATIENT>, age <AGE>44</AGE>, seen by Dr. <DOCTOR>Okafor</DOCTOR> for asthma.
"""


def gold(patient: str = "p", **marked: str) -> list[AnnotatedNote]:
    """Return the notes of one patient, made from tagged text by id."""
    return [
        AnnotatedNote(note_id, patient, "", *parse_tagged(text))
        for note_id, text in ((name.replace("_", "-"), text) for name, text in marked.items())
    ]


def write_notes(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """Write tagged files and return their folder."""
    folder.mkdir(exist_ok=True)
    for name, text in (files or {"P1.txt": FIRST, "P2.txt": SECOND}).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder

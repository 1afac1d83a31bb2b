"""What a fixed key gives: pseudonyms, date shifts, and surrogates of every label. Compared with the golden files.

    python -m tests.deid_runtime.surrogates.key_values

writes the golden file of each kind and version that has none yet. It never changes one that exists.
"""

import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from deid_runtime.spans import PatientRecord
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.key_versions import KEY_VERSIONS, Kind
from deid_runtime.surrogates.patient import shift_of
from tests.deid_runtime.surrogates.marked import KEY, read

GOLDEN = Path(__file__).parent / "golden"

PATIENTS = ("p1", "p2", "12345", "Zoë-7", "")
RECORD = {"name": "Ruth Hartman", "dob": "1931-05-17", "city": "Millbrook", "state": "Ohio"}
#: Invented notes with every label, with a blank line between two.
MARKED = """
Mrs. <PATIENT>Ruth Hartman</PATIENT>, <AGE>91</AGE>, was seen by Dr. <DOCTOR>Marcus Oyelaran</DOCTOR>
on <DATE>03/12/2019</DATE> and <DATE>April 3</DATE>. <PATIENT>Ms. Hartman</PATIENT> is well.

<PATIENT>HARTMAN, RUTH C</PATIENT> MRN <MEDICALRECORD>004-71-882</MEDICALRECORD> SSN <SSN>219-09-9999</SSN>
plan <HEALTHPLAN>XQH 44812</HEALTHPLAN> account <ACCOUNT>7719-0042</ACCOUNT> licence <LICENSE>OH-55721</LICENSE>

Call <PHONE>(614) 555-0133</PHONE>, fax <FAX>614-555-0199</FAX>, <EMAIL>ruth.hartman@example.org</EMAIL>,
<URL>https://www.millbrookclinic.example/notes</URL>, <IPADDR>192.0.2.17</IPADDR>,
user <USERNAME>rhartman3</USERNAME>

Lives at <STREET>14 Orchard Lane</STREET>, <CITY>Millbrook</CITY>, <STATE>Ohio</STATE> <ZIP>43054</ZIP>,
<COUNTRY>United States</COUNTRY>, near <LOCATION-OTHER>Ward 4B</LOCATION-OTHER>.

Transferred from <HOSPITAL>Millbrook General Hospital</HOSPITAL> (<HOSPITAL>MGH</HOSPITAL>);
retired from <ORGANIZATION>Harmon Steel</ORGANIZATION>.

Car <VEHICLE>HGT 4471</VEHICLE>, pump <DEVICE>SN 88A-2201</DEVICE>, print <BIOID>FP-009-31</BIOID>,
ticket <IDNUM>Q77-1120</IDNUM>, born <DATE>17 May 1931</DATE>, aged <AGE>62</AGE>, next <DATE>2019-11-05</DATE>.
""".strip().split("\n\n")

Row = tuple[str, ...]


def rows(kind: Kind) -> list[Row]:
    """Return what the key gives of one kind: what it is for, the original, the value."""
    return list({"pseudonyms": _pseudonyms, "date_shifts": _date_shifts, "surrogates": _surrogates}[kind]())


def golden_file(kind: Kind) -> Path:
    """Return the file with the values of the present version of a kind."""
    return GOLDEN / f"{kind}_{KEY_VERSIONS[kind]}.tsv"


def table(found: list[Row]) -> str:
    """Return rows as tab-separated lines."""
    text = io.StringIO()
    csv.writer(text, dialect="excel-tab", lineterminator="\n").writerows(found)
    return text.getvalue()


def _pseudonyms() -> Iterator[Row]:
    made = Surrogates(KEY)
    for kind in ("note", "patient"):
        for value in PATIENTS:
            yield kind, value, made.pseudonym(kind, value)


def _date_shifts() -> Iterator[Row]:
    for days, is_weeks in ((365, False), (365, True), (30, False), (7, True)):
        made = Surrogates(KEY, date_shift_days=days, date_shift_whole_weeks=is_weeks)
        for patient in PATIENTS:
            identity = ("patient", patient) if patient else ("note", "n1")
            shift = shift_of(made._shifts.derive(*identity), days, whole_weeks=is_weeks)
            yield f"{days} days{', whole weeks' if is_weeks else ''}", " ".join(identity), str(shift)


def _surrogates() -> Iterator[Row]:
    for patient, record in (("p1", None), ("p1", RECORD), ("p2", None)):
        for marked in MARKED:
            note, spans = read(marked, patient=patient)
            known = PatientRecord(patient, record) if record else None
            values = Surrogates(KEY).replacements(note, spans, known)
            for span, value in zip(spans, values, strict=True):
                original = note.text[span.start : span.end]
                yield f"{patient}{' with record' if record else ''}", span.label, original, value


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for each in KEY_VERSIONS:
        if not golden_file(each).exists():
            golden_file(each).write_text(table(rows(each)), encoding="utf-8")
            sys.stderr.write(f"written: {golden_file(each)}\n")

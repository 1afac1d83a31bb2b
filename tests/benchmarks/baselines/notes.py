"""Small invented notes in which the words around a span tell its label."""

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.tagged import parse_tagged

_LINES = (
    "Patient <PATIENT>{name}</PATIENT> seen on <DATE>{month}/14/2019</DATE> by Dr. <DOCTOR>{doctor}</DOCTOR>.",
    "Lives in <CITY>{city}</CITY>, age <AGE>{age}</AGE>.\nDenies pain, fever and cough.",
    "MRN: <MEDICALRECORD>00{age}178{month}</MEDICALRECORD>\nAbdomen soft, lungs clear.",
)
_NAMES = ("Alma Orr", "Birk Falk", "Cleo Quist", "Dara Holm", "Edda Lund", "Finn Sand")
_CITIES = ("Elko", "Dell Rapids", "Turku", "Osaka")


def gold_notes(count: int = 30) -> list[AnnotatedNote]:
    """Return notes of ``count`` patients, each with three or more sentences."""
    notes = []
    for number in range(count):
        marked = "\n".join(_LINES[number % 3 :] + _LINES[: number % 3]).format(
            name=_NAMES[number % 6],
            doctor=_NAMES[(number + 2) % 6].split()[1],
            month=1 + number % 12,
            age=30 + number,
            city=_CITIES[number % 4],
        )
        text, spans = parse_tagged(marked)
        notes.append(AnnotatedNote(f"n{number}", f"p{number}", "", text, spans))
    return notes

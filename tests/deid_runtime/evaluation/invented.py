"""Invented notes with gold and found spans, for the tests of reports."""

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.spans import Span

#: The names must not appear in any output without text.
TEXTS = {
    "a": "Ilse Vandermeer, 91, seen at Quarrybank by Dr. Oyelaran",
    "b": "Ilse called, fever",
    "c": "no identifiers here",
}
WORDS = ("Ilse", "Vandermeer", "Quarrybank", "Oyelaran", "fever")
GOLD = [
    AnnotatedNote(
        "a",
        "p1",
        "Clinic note",
        TEXTS["a"],
        (Span(0, 15, "PATIENT"), Span(17, 19, "AGE"), Span(29, 39, "HOSPITAL"), Span(47, 55, "DOCTOR")),
    ),
    AnnotatedNote("b", "p1", "Clinic note", TEXTS["b"], (Span(0, 4, "PATIENT"),)),
    AnnotatedNote("c", "p2", "Letter", TEXTS["c"], ()),
]
FOUND = {
    "a": [Span(0, 15, "DOCTOR", 0.9, ("model:name",)), Span(47, 55, "DOCTOR", 0.8, ("rule:people", "model:name"))],
    "b": [Span(0, 4, "PATIENT", 1.0, ("record",)), Span(13, 18, "CITY", 0.4, ("model:location",))],
    "c": [],
}

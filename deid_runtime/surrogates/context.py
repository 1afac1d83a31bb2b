"""What the surrogates of a note take from the text around a value: who and what else is named, and beside what.

It is read from the note alone, or from all notes of the patient by whoever holds them: then names, initials, towns and
abbreviations agree over all of them, without anything being kept from one note to the next.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.spans import Note, Span
from deid_runtime.surrogates.facilities import abbreviations, spelled_apart
from deid_runtime.surrogates.forms import normal_form

_NAME_LABELS: Final = frozenset({"PATIENT", "DOCTOR"})
_ADDRESS_GAP_CHARS: Final = 4

#: Labels whose values, kept or moved with the rest, may meet an original of the note: no bar to other stand-ins.
MOVING_LABELS: Final = frozenset({"DATE", "AGE"})


@dataclass(frozen=True, slots=True)
class Context:
    """The originals of one or several notes of one patient.

    ``names`` are the mentions of people, each once, in order; ``towns`` maps the normal form of a town to itself, the
    state and the country written beside one mention of it; ``zips`` a postal code to town and state; ``abbreviations``
    letters to the full name of a facility; ``apart`` the normal form of a facility to a spelling of it in several
    words; ``phones`` are telephone numbers; ``originals`` holds normal forms that no surrogate may have.
    """

    names: tuple[str, ...] = field(repr=False)
    towns: Mapping[str, tuple[str, str, str]] = field(repr=False)
    zips: Mapping[str, tuple[str, str]] = field(repr=False)
    abbreviations: Mapping[str, str] = field(repr=False)
    apart: Mapping[str, str] = field(repr=False)
    phones: tuple[str, ...] = field(repr=False)
    originals: frozenset[str] = field(repr=False)


def read_context(notes: Iterable[tuple[Note, Sequence[Span]]]) -> Context:
    """Return the context of notes, all of one patient, with their spans, sorted and disjoint."""
    names: dict[str, None] = {}
    towns: dict[str, tuple[str, str, str]] = {}
    zips: dict[str, tuple[str, str]] = {}
    facilities: dict[str, None] = {}
    phones: dict[str, None] = {}
    originals: set[str] = set()
    for note, spans in notes:
        values = [note.text[span.start : span.end] for span in spans]
        for index, (span, value) in enumerate(zip(spans, values, strict=True)):
            if span.label not in MOVING_LABELS:
                originals.add(normal_form(value))
            if span.label in _NAME_LABELS:
                names[value] = None
            elif span.label in ("HOSPITAL", "ORGANIZATION"):
                facilities[value] = None
            elif span.label in ("PHONE", "FAX"):
                phones[value] = None
            elif span.label == "CITY":
                around = _around_town(note.text, spans, values, index)
                known = towns.get(normal_form(value))
                if known is None or (around != ("", "") and known[1:] == ("", "")):
                    towns[normal_form(value)] = (value, *around)
            elif span.label == "ZIP":
                state = beside(note.text, spans, values, index, "STATE", -1)
                city = beside(note.text, spans, values, index - 1 if state else index, "CITY", -1)
                known_zip = zips.get(normal_form(value), ("", ""))
                zips[normal_form(value)] = max(known_zip, (city, state), key=lambda pair: sum(map(bool, pair)))
    return Context(
        names=tuple(names),
        towns=towns,
        zips=zips,
        abbreviations=abbreviations(facilities),
        apart=spelled_apart(facilities),
        phones=tuple(phones),
        originals=frozenset(originals - {""}),
    )


def beside(text: str, spans: Sequence[Span], values: Sequence[str], index: int, label: str, step: int) -> str:
    """Return the value of the next span in direction ``step`` if it has ``label`` and is close, else nothing."""
    other = index + step
    if not 0 <= other < len(spans) or spans[other].label != label:
        return ""
    first, second = sorted((spans[index], spans[other]))
    gap = text[first.end : second.start]
    return values[other] if len(gap) <= _ADDRESS_GAP_CHARS and not any(char.isalnum() for char in gap) else ""


def _around_town(text: str, spans: Sequence[Span], values: Sequence[str], index: int) -> tuple[str, str]:
    """Return the state and the country behind a town."""
    state = beside(text, spans, values, index, "STATE", 1)
    place = index + 1 if state else index
    country = beside(text, spans, values, place, "COUNTRY", 1)
    if not country and beside(text, spans, values, place, "ZIP", 1):
        country = beside(text, spans, values, place + 1, "COUNTRY", 1)
    return state, country

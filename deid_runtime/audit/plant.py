"""Make a release with known leaks: withhold some values of annotated notes from replacement and replace all others."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import SourceError
from deid_runtime.resynthesis.notes import replace_spans
from deid_runtime.resynthesis.originals import patient_key
from deid_runtime.spans import PatientRecord, Span
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.forms import normal_form


@dataclass(frozen=True, slots=True)
class Released:
    """A de-identified note with the spans of its surrogates and of its known leaks: originals left in the text.

    ``leak_values`` has one number for each leak. Leaks of the same value of the same patient have the same number.
    """

    id: str
    patient: str = field(repr=False)
    text: str = field(repr=False)
    surrogates: tuple[Span, ...]
    leaks: tuple[Span, ...] = ()
    leak_values: tuple[int, ...] = ()


def plant(
    notes: Sequence[AnnotatedNote],
    records: Mapping[str, PatientRecord],
    surrogates: Surrogates,
    *,
    share: float,
    seed: int,
    is_everywhere: bool = False,
) -> list[Released]:
    """Return the notes de-identified by their gold spans, except for a ``share`` of the spans in ``(0, 1)``.

    A value is withheld in all notes of its patient, as a detector that misses a name usually misses it everywhere; with
    ``is_everywhere`` in the notes of all patients, such as a physician or a clinic that many of them share.
    ``seed`` draws the values until their spans reach the share. The surrogates are those of a detector that never saw
    the withheld values.

    Raises SourceError when the notes have no span.
    """
    keys = [[_value(note, span, is_everywhere=is_everywhere) for span in note.spans] for note in notes]
    withheld = _draw(keys, share, seed)
    released = []
    for note, of_note in zip(notes, keys, strict=True):
        kept = [span for span, key in zip(note.spans, of_note, strict=True) if key not in withheld]
        moved = replace_spans(note, kept, surrogates, records.get(note.patient), ())
        pairs = list(zip(moved.spans, of_note, strict=True))
        leaks = [(span, withheld[key]) for span, key in pairs if key in withheld]
        released.append(
            Released(
                note.id,
                note.patient,
                moved.text,
                tuple(span for span, key in pairs if key not in withheld),
                tuple(span for span, _ in leaks),
                tuple(number for _, number in leaks),
            )
        )
    return released


_Value = tuple[str, str, str]


def _value(note: AnnotatedNote, span: Span, *, is_everywhere: bool) -> _Value:
    return "" if is_everywhere else patient_key(note), span.label, normal_form(note.text[span.start : span.end])


def _draw(keys: Sequence[Sequence[_Value]], share: float, seed: int) -> dict[_Value, int]:
    """Return the withheld values, numbered. The last value drawn may exceed the share."""
    sizes: defaultdict[_Value, int] = defaultdict(int)
    for key in (key for of_note in keys for key in of_note):
        sizes[key] += 1
    wanted = share * sum(sizes.values())
    if not wanted:
        raise SourceError("the notes have no span, so there is nothing to withhold; give annotated notes")
    values = sorted(sizes)
    random.Random(f"{seed}-leaks").shuffle(values)
    drawn: dict[_Value, int] = {}
    spans = 0
    for value in values:
        if spans >= wanted:
            break
        drawn[value] = len(drawn)
        spans += sizes[value]
    return drawn

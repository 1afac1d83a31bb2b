"""The originals of a corpus: the people and places that must not appear in the new corpus.

Source: Deleger et al., "Preparing an annotated gold standard corpus to share with extramural investigators for
de-identification research", 2014, section 2.2. It requires no original family name anywhere, no original pair of street
name and suffix, and no original combination of city, state and ZIP.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.lexicon.name_cues import PARTICLES
from deid_runtime.lexicon.vocabulary import address_words, street_kinds, unit_words
from deid_runtime.records.fields import fields_that_hold
from deid_runtime.spans import PatientRecord, Span
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.gazetteer import places
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.name_parts import FAMILY, parse, record_roles
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.patient import Patient, make_patient

_LETTER: Final = r"[^\W\d_]"
_WORD: Final = re.compile(rf"{_LETTER}(?:{_LETTER}|[\u0300-\u036f]|['’ʻʼ](?={_LETTER}))*|\d+(?:st|nd|rd|th)?")
_POSSESSIVE: Final = re.compile(r"['’][sS]$")
_GAP_CHARS: Final = 4  # at most, between two parts of one address
_LONGEST_NAME_CHARS: Final = 200  # longer spans are not names
_LEAST_LETTERS: Final = 2  # of a family name; a single letter is an initial

#: Values of these labels are shifted or kept, so an original value is allowed in the new corpus.
MOVING_LABELS: Final = frozenset({"DATE", "AGE"})
_NAME_LABELS: Final = frozenset({"PATIENT", "DOCTOR"})
#: Fields of a patient's record with names of people other than the patient.
_OTHER_PEOPLE: Final = fields_that_hold("person")
_FAMILY_FIELDS: Final = fields_that_hold("family", "former")

#: Written form of a street kind -> its one standard form.
_STREET_WORDS: Final[Mapping[str, str]] = {
    form: word for word, short in address_words("resynthesis").items() for form in short
}
#: Words that mark a name as the name of a street.
STREET_KINDS: Final = frozenset(_STREET_WORDS.values()).union(street_kinds("resynthesis"))
DIRECTIONS: Final = frozenset(form for word, short in address_words("direction").items() for form in (word, *short))
_UNITS: Final = frozenset(unit_words("resynthesis"))


@dataclass(frozen=True, slots=True)
class Word:
    """A word ``[start, end)`` of a text, without a possessive ``'s``, and its normal form."""

    start: int
    end: int
    form: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Town:
    """City, state and ZIP of one address, as normal forms: a known state by its code, a ZIP by five digits."""

    city: str = field(repr=False)
    state: str = field(repr=False)
    zip: str = field(repr=False)


@dataclass(frozen=True)
class Originals:
    """The originals that must not appear in a new corpus.

    ``bearers`` maps the normal form of each family name to the keys (:func:`patient_key`) of the patients in whose
    notes or record it is marked. ``values`` maps patients to the normal forms that no surrogate of theirs may equal.
    """

    bearers: Mapping[str, frozenset[str]] = field(repr=False)
    streets: frozenset[tuple[str, ...]] = field(repr=False)
    towns: frozenset[Town] = field(repr=False)
    values: Mapping[str, frozenset[str]] = field(repr=False)


def patient_key(note: AnnotatedNote) -> str:
    """Return the key that all notes of one person share. A note without a patient has a separate key."""
    return note.patient or f"\0{note.id}"


def words_of(text: str) -> Iterator[Word]:
    """Yield the words of a text: runs of letters, with apostrophes inside, and runs of digits."""
    for match in _WORD.finditer(text):
        word = _POSSESSIVE.sub("", match[0])
        yield Word(match.start(), match.start() + len(word), normal_form(word))


def collect_originals(notes: Iterable[AnnotatedNote], records: Mapping[str, PatientRecord]) -> Originals:
    """Return the originals of a corpus, from its spans and from its patients' records, which are by patient id."""
    by_patient: defaultdict[str, list[AnnotatedNote]] = defaultdict(list)
    for note in notes:
        by_patient[patient_key(note)].append(note)
    bearers: defaultdict[str, set[str]] = defaultdict(set)
    streets: set[tuple[str, ...]] = set()
    towns: set[Town] = set()
    values: dict[str, frozenset[str]] = {}
    for key, own in by_patient.items():
        record = records.get(own[0].patient)
        fields = record.fields if record else {}
        families, name_words = _names(own, fields)
        for form in families:
            bearers[form].add(key)
        marked = [(span.label, note.text[span.start : span.end]) for note in own for span in note.spans]
        streets.update(pair for label, value in marked if label == "STREET" for pair in street_pairs(value))
        streets.update(street_pairs(fields.get("street", "")))
        towns.update(town for note in own for town, _ in towns_of(note.text, note.spans))
        recorded = _town(fields.get("city", ""), fields.get("state", ""), fields.get("zip", ""))
        towns.update([recorded] if recorded else [])
        forms = {normal_form(value) for label, value in marked if label not in MOVING_LABELS}
        values[key] = frozenset((forms | name_words) - {""})
    return Originals(
        {form: frozenset(keys) for form, keys in bearers.items()}, frozenset(streets), frozenset(towns), values
    )


def _names(notes: Sequence[AnnotatedNote], fields: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Return the family names and all name words of one patient's notes and record, as normal forms."""
    # Parsing needs a patient; the roles do not depend on its key.
    patient = make_patient(Keyed(b""), fields, record_roles(fields), 1)
    families = {word.form for name in _FAMILY_FIELDS for word in words_of(fields.get(name, ""))}
    name_words = set(families)
    recorded = {fields[name]: "PATIENT" for name in _OTHER_PEOPLE if fields.get(name)}
    recorded |= {fields[name]: "DOCTOR" for name in fields_that_hold("provider") if fields.get(name)}
    for mentions in [recorded, *map(_mentions, notes)]:
        name_words.update(word.form for mention in mentions for word in words_of(mention))
        families.update(_family_names(patient, mentions))
    return set(filter(_is_name, families)), set(filter(_is_name, name_words))


def _is_name(form: str) -> bool:
    return len(form) >= _LEAST_LETTERS and form.isalpha() and form not in PARTICLES


def _mentions(note: AnnotatedNote) -> dict[str, str]:
    return {
        note.text[span.start : span.end]: span.label
        for span in note.spans
        if span.label in _NAME_LABELS and span.end - span.start <= _LONGEST_NAME_CHARS
    }


def _family_names(patient: Patient, label_of: Mapping[str, str]) -> Iterator[str]:
    """Yield the words of one note's mentions that are family names, or may be and are not known given names."""
    parsed = {mention: parse(patient, mention) for mention in label_of}
    # A word that stands alone has the role that it has beside other words in the same note.
    roles = {part.form: part.role for parts in parsed.values() if len(parts) > 1 for part in parts if part.role}
    for mention, parts in parsed.items():
        for part in parts:
            role = part.role or roles.get(part.form, "")
            if role == FAMILY or (not role and (label_of[mention] == "DOCTOR" or part.form not in names().given)):
                yield from (word.form for word in words_of(mention[part.start : part.end]))
                yield part.form


def street_pairs(value: str) -> Iterator[tuple[str, ...]]:
    """Yield the name of a street with its kind in full, as normal forms; nothing when one of them is missing.

    House numbers, compass points, flats and boxes are omitted.
    """
    forms: list[str] = []
    for index, word in enumerate(words_of(value)):
        if word.form in _UNITS and index:
            break
        is_house_number = index == 0 and word.form.isdecimal()
        if word.form not in DIRECTIONS and word.form not in _UNITS and not is_house_number:
            forms.append(street_word(word.form))
    if len(forms) > 1 and not STREET_KINDS.isdisjoint(forms):
        yield tuple(forms)


def street_word(form: str) -> str:
    """Return the standard form of a street kind (``street`` for ``st``); return any other word unchanged."""
    return _STREET_WORDS.get(form, form)


def towns_of(text: str, spans: Sequence[Span]) -> Iterator[tuple[Town, Span]]:
    """Yield each city, state and ZIP that are next to each other, with the span of the city. ``spans`` are sorted."""
    for first, (second, third) in zip(spans, pairwise(spans[1:]), strict=False):
        if (first.label, second.label, third.label) != ("CITY", "STATE", "ZIP"):
            continue
        gaps = text[first.end : second.start], text[second.end : third.start]
        if all(len(gap) <= _GAP_CHARS and not any(map(str.isalnum, gap)) for gap in gaps):
            town = _town(*(text[span.start : span.end] for span in (first, second, third)))
            if town:
                yield town, first


def _town(city: str, state: str, zip_code: str) -> Town | None:
    form = normal_form(state)
    known = places().state_forms.get(form)
    forms = normal_form(city), places().states[known[0]].code if known else form, normal_form(zip_code)[:5]
    return Town(*forms) if all(forms) else None

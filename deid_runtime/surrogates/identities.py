"""Number the persons of a note: the number of the person of each mention, for the operator ``tag``.

Mentions are one person when they share a family name and no given name or initial contradicts this. A nickname, an
abbreviation and an initial fit the given name that they are made from. A mention of a part of a name belongs to the
first person that it fits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.name_parts import FAMILY, GIVEN, INITIAL, LONGEST_NAME_CHARS, Part, parse
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.patient import Patient
from deid_runtime.surrogates.people import find_people

_NAME_LABELS: Final = frozenset({"PATIENT", "DOCTOR"})
_MOST_PERSONS: Final = 200  # limits the time for a long staff list


@dataclass(slots=True)
class _Known:
    """A person, or the information of one mention, as normal forms. ``loose`` are words of unknown role."""

    given: set[str] = field(default_factory=set)
    family: set[str] = field(default_factory=set)
    loose: set[str] = field(default_factory=set)
    initials: str = ""


def number_mentions(patient: Patient, mentions: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return (label, value) -> number, from 1 in the order of first mention, separately for each label.

    The values of PATIENT and DOCTOR are numbered by person, all others by their normal form.
    """
    parsed = find_people(patient, [value for label, value in mentions if label in _NAME_LABELS]).parsed
    numbers: dict[tuple[str, str], int] = {}
    for label in dict.fromkeys(label for label, _ in mentions):
        values = [value for other, value in mentions if other == label]
        persons = _persons(patient, values, parsed) if label in _NAME_LABELS else {}
        seen: dict[object, int] = {}
        for value in values:
            who = persons.get(value, normal_form(value))
            numbers[label, value] = seen.setdefault(who, len(seen) + 1)
    return numbers


def _persons(patient: Patient, values: Sequence[str], parsed: Mapping[str, Sequence[Part]]) -> dict[str, int]:
    """Return mention -> index of its person. The fullest mentions come first, so that others find their person."""
    own = {role: {form for form, told in patient.roles.items() if told == role} for role in (GIVEN, FAMILY)}
    known = [_Known(own[GIVEN], own[FAMILY])] if own[FAMILY] else []
    found: dict[str, int] = {}
    # Mentions with the same letters are one person, whatever their case (Bo, bo).
    first: dict[str, str] = {}
    for value in values:
        first.setdefault(normal_form(value), value)
    rows = [(value, parsed.get(value) or parse(patient, value[:LONGEST_NAME_CHARS])) for value in first.values()]
    for value, parts in sorted(rows, key=lambda row: -_fullness(row[1])):
        mention = _read_mention(parts)
        place = next((at for at, person in enumerate(known[:_MOST_PERSONS]) if _fits(mention, person)), None)
        if place is None:
            place = len(known)
            known.append(mention)
        elif mention.given and mention.family:
            known[place].given |= mention.given
            known[place].family |= mention.family
        found[value] = place
    return {value: found[first[normal_form(value)]] for value in values}


def _read_mention(parts: Sequence[Part]) -> _Known:
    mention = _Known()
    for part in parts:
        if part.role == GIVEN:
            mention.given.add(names().abbreviated.get(part.form, part.form))
        elif part.role == FAMILY:
            mention.family.add(part.form)
        elif part.role == INITIAL:
            mention.initials += part.form
        elif not part.role:
            mention.loose.add(part.form)
    return mention


def _fullness(parts: Sequence[Part]) -> int:
    roles = {part.role for part in parts}
    return 2 * (FAMILY in roles) + (GIVEN in roles) + (FAMILY in roles and INITIAL in roles)


def _fits(mention: _Known, person: _Known) -> bool:
    """Return whether a mention can be one of ``person``: its words are words of the person, or nicknames of them."""
    given = {*person.given, *person.loose}
    if mention.loose:
        return all(
            form in person.family or any(_is_same_given(form, other) for other in given) for form in mention.loose
        )
    if mention.family:
        if not mention.family & {*person.family, *person.loose}:
            return False
        if mention.given and person.given:
            return all(any(_is_same_given(one, other) for other in person.given) for one in mention.given)
        starts = {form[0] for form in person.given} or set(person.initials[:1])
        return not mention.initials or not starts or mention.initials[0] in starts
    if mention.given:
        return all(any(_is_same_given(one, other) for other in given) for one in mention.given)
    starts = {form[0] for form in person.given} or set(person.initials[:1])
    ends = {form[0] for form in person.family}
    if not mention.initials or not starts:
        return False
    return mention.initials[0] in starts and (len(mention.initials) == 1 or mention.initials[-1] in ends)


def _is_same_given(one: str, other: str) -> bool:
    """Return whether two given names may be of one person: equal, or nicknames of the same name."""
    if one == other:
        return True
    formals = names().formals_of
    mine, others = {one, *formals.get(one, ())}, {other, *formals.get(other, ())}
    return bool(mine & others)

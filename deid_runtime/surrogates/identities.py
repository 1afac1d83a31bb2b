"""Who is who: the number of the person that each mention names, for the operator ``tag``.

Mentions are one person when they share a family name and no given name or initial contradicts. A nickname, an
abbreviation and an initial fit the given name that they are made from. A mention of a part of a name belongs to the
first person that it fits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.name_parts import FAMILY, GIVEN, INITIAL, Part, parse
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.patient import Patient
from deid_runtime.surrogates.people import find_people

_NAME_LABELS: Final = frozenset({"PATIENT", "DOCTOR"})
_MOST_PERSONS: Final = 200  # limits the time for a long staff list


@dataclass(slots=True)
class _Known:
    """A person as the mentions so far tell it, as normal forms."""

    given: set[str] = field(default_factory=set)
    family: set[str] = field(default_factory=set)
    initials: set[str] = field(default_factory=set)


def number_mentions(patient: Patient, mentions: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return (label, value) -> number, from 1 in the order of first mention, for each label on its own.

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
    # Mentions with the same letters are one person, whatever their case makes of them (Bo, bo).
    first: dict[str, str] = {}
    for value in values:
        first.setdefault(normal_form(value), value)
    rows = [(value, parsed.get(value) or parse(patient, value[:200])) for value in first.values()]
    for value, parts in sorted(rows, key=lambda row: -_fullness(row[1])):
        mention = _Known()
        for part in parts:
            if part.role == GIVEN:
                mention.given.add(_formal(part.form))
            elif part.role in (FAMILY, ""):
                mention.family.add(part.form)
            elif part.role == INITIAL:
                mention.initials.add(part.form)
        place = next((at for at, person in enumerate(known[:_MOST_PERSONS]) if _fits(mention, person)), None)
        if place is None:
            place = len(known)
            known.append(_Known())
        person = known[place]
        if mention.family or not person.family:
            person.given |= mention.given
            person.family |= mention.family if mention.given or not person.family else set()
            person.initials |= mention.initials
        found[value] = place
    return {value: found[first[normal_form(value)]] for value in values}


def _fullness(parts: Sequence[Part]) -> int:
    roles = {part.role for part in parts}
    return 2 * (FAMILY in roles) + (GIVEN in roles) + (FAMILY in roles and INITIAL in roles)


def _formal(form: str) -> str:
    return names().abbreviated.get(form, form)


def _fits(mention: _Known, person: _Known) -> bool:
    """Return whether a mention can be one of ``person``: its words are words of the person, or nicknames of them."""
    if mention.family:
        if not mention.family & person.family and not (mention.family <= person.given and not mention.given):
            return False
        if mention.given and person.given:
            return all(any(_is_same_given(one, other) for other in person.given) for one in list(mention.given)[:1])
        letters = {form[0] for form in mention.initials}
        starts = {form[0] for form in (*person.given, *person.initials)}
        return not letters or not starts or bool(letters & starts)
    if mention.given:
        return all(any(_is_same_given(one, other) for other in person.given) for one in mention.given)
    joined = "".join(sorted(mention.initials, key=len)) if len(mention.initials) == 1 else ""
    whole = {given[0] + family[0] for given in (*person.given, *person.initials) for family in person.family}
    return bool(joined) and (joined[0] + joined[-1] in whole if len(joined) > 1 else joined in {w[0] for w in whole})


def _is_same_given(one: str, other: str) -> bool:
    """Return whether two given names may be of one person: equal, or one a nickname of the other or of its formal."""
    if one == other:
        return True
    formals = names().formals_of
    mine, others = {one, *formals.get(one, ())}, {other, *formals.get(other, ())}
    return bool(mine & others)

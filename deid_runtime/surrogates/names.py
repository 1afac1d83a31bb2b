"""Surrogates for names, word by word: every spelling of a person leads to the same other person.

Each given or family name has one surrogate per patient. It does not depend on the label, role, order, letter case or
note of a mention. A keyed permutation of the names with the same culture, sex and form chooses it, so two people of a
patient keep two names. Initials follow the surrogates of their person when the note or the record names this person.
Otherwise they are mapped letter by letter.

Sources: Deleger et al., "Preparing an annotated gold standard corpus to share", 2014, section 2.2; Murugadoss et al.
2021, Supplementary Table 2.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.surrogates.forms import changed, holds_text, normal_form, scramble
from deid_runtime.surrogates.name_parts import (
    FAMILY,
    GIVEN,
    INITIAL,
    KEPT,
    LONGEST_NAME_CHARS,
    WORD,
    Part,
    is_listed,
    parse,
)
from deid_runtime.surrogates.patient import Patient, first_free
from deid_runtime.surrogates.people import People
from deid_runtime.surrogates.spellings import cut_alike, has_own_particle
from deid_runtime.surrogates.stand_ins import choose, stand_in, stand_in_letter

_SPELLED: Final = re.compile(r"(?:[^\W\d_]([-. ])){3,}[^\W\d_]\.?")


def replace_name(patient: Patient, people: People, value: str, taken: frozenset[str]) -> str:
    """Return the surrogate of one mention; keep its separators, particles, suffixes and letter case."""
    if len(value) > LONGEST_NAME_CHARS or not WORD.search(value):
        return (
            first_free(lambda n: scramble(patient.keyed, f"name/{n}", value), value, taken)
            if holds_text(value)
            else value
        )
    if _SPELLED.fullmatch(value):
        return _respelled(patient, people, value, taken)
    parts = people.parsed.get(value) or parse(patient, value)
    usual = people.spellings.get(normal_form(value), value)
    if usual == value or has_own_particle(parts, people.parsed[usual]):
        words = _stand_ins(patient, people, parts, value, taken)
    else:
        usual_parts = people.parsed[usual]
        made_of_usual = _stand_ins(patient, people, usual_parts, usual, taken)
        words = cut_alike(usual, usual_parts, made_of_usual, parts, value)
    out: list[str] = []
    place = 0
    for part, word in zip(parts, words, strict=True):
        out += value[place : part.start], word
        place = part.end
    made = "".join((*out, value[place:]))
    return made if normal_form(made) != normal_form(value) else changed(value)


def _stand_ins(patient: Patient, people: People, parts: Sequence[Part], value: str, taken: frozenset[str]) -> list[str]:
    """Return the surrogate of each part of a mention, in the letter case of that part."""
    initials = _initials(patient, people, parts, value, taken)
    words = []
    for index, part in enumerate(parts):
        word = value[part.start : part.end]
        if part.role == KEPT:
            words.append(word)
        elif part.role == INITIAL and (len(part.form) == 1 or part.form not in people.words):
            words.append(case_like(initials[index], word))
        else:
            words.append(case_like(stand_in(patient, people, word, taken), word))
    return words


def _respelled(patient: Patient, people: People, value: str, taken: frozenset[str]) -> str:
    """Return the surrogate of a name spelled letter by letter (``S-O-U-Z-A``), spelled the same way."""
    word = "".join(char for char in value if char.isalpha())
    made = normal_form(stand_in(patient, people, word, taken)).upper()
    return case_like(value[1].join(made) + ("." if value.endswith(".") else ""), word)


def _initials(
    patient: Patient, people: People, parts: Sequence[Part], value: str, taken: frozenset[str]
) -> dict[int, str]:
    """Return the surrogate of each initial, by the index of its part."""
    places = [index for index, part in enumerate(parts) if part.role == INITIAL]
    if not places:
        return {}
    full = {role: [part.form for part in parts if part.role == role] for role in (GIVEN, FAMILY)}
    letters = [parts[index].form for index in places]
    if full[GIVEN] or full[FAMILY]:
        return {
            index: "".join(_one_initial(patient, people, full, char, taken) for char in parts[index].form)
            for index in places
        }
    joined = "".join(letters)

    def candidate(attempt: int) -> str:
        known = _known_initials(patient, people, joined, taken) if attempt == 0 else ""
        if not known and len(joined) == 2 and is_listed(joined):  # NG may be a name: replace it like a name
            known = choose(patient, people, joined, attempt)
        return known or "".join(stand_in_letter(patient, char, attempt) for char in joined)

    made = first_free(candidate, joined, taken)
    out: dict[int, str] = {}
    for index in places:
        size = len(parts[index].form)
        out[index], made = made[:size], made[size:]
    return out


def _first_letter(patient: Patient, people: People, form: str, taken: frozenset[str]) -> str:
    return (
        stand_in_letter(patient, form, 0) if len(form) == 1 else normal_form(stand_in(patient, people, form, taken))[:1]
    )


def _one_initial(
    patient: Patient, people: People, full: Mapping[str, Sequence[str]], char: str, taken: frozenset[str]
) -> str:
    """Return the surrogate of the initial ``char`` that stands beside the full words of the same mention."""
    for person in people.persons:
        if full[FAMILY] and set(full[FAMILY]) <= set(person.family):
            for form in person.given:
                if form.startswith(char) and form not in full[GIVEN]:
                    return _first_letter(patient, people, form, taken)
        if full[GIVEN] and not full[FAMILY] and set(full[GIVEN]) <= set(person.given):
            for form in person.family:
                if form.startswith(char):
                    return _first_letter(patient, people, form, taken)
    return stand_in_letter(patient, char, 0)


def _known_initials(patient: Patient, people: People, joined: str, taken: frozenset[str]) -> str:
    """Return the initials of the surrogate of the first person whose initials are ``joined``, or an empty string."""
    if len(joined) == 1:
        for person in people.persons[:1]:
            for forms in (person.given, person.family):
                for form in forms[:1]:
                    if form[0] == joined:
                        return _first_letter(patient, people, form, taken)
        return ""
    given_first = [(*person.given, *person.family) for person in people.persons]
    family_first = [(*person.family, *person.given) for person in people.persons if len(joined) > 2]  # NG SIEW LAN
    for forms in (*given_first, *family_first):
        if "".join(form[0] for form in forms) == joined:
            return "".join(_first_letter(patient, people, form, taken) for form in forms)
    for person in people.persons:
        if person.given[0][0] != joined[0] or person.family[-1][0] != joined[-1]:
            continue
        between = (*person.given[1:], *person.family[:-1])
        middle = ""
        for char in joined[1:-1]:
            form = next((form for form in between if form[0] == char), "")
            middle += _first_letter(patient, people, form, taken) if form else stand_in_letter(patient, char, 0)
        first = _first_letter(patient, people, person.given[0], taken)
        return first + middle + _first_letter(patient, people, person.family[-1], taken)
    return ""

"""Surrogates for names, word by word: every spelling of a person leads to the same other person.

Each given or family name has one surrogate per patient. It does not depend on the label, role, order, letter case or
note of a mention. A keyed permutation of the names with the same culture, sex and form chooses it, so two people of a
patient keep two names. :mod:`initials` makes the surrogates of initials.

Sources: Deleger et al., "Preparing an annotated gold standard corpus to share", 2014, section 2.2; Murugadoss et al.
2021, Supplementary Table 2.
"""

import re
from collections.abc import Sequence
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.surrogates.forms import changed, holds_text, normal_form, scramble
from deid_runtime.surrogates.initials import replace_initials
from deid_runtime.surrogates.name_parts import INITIAL, KEPT, LONGEST_NAME_CHARS, WORD, Part, parse
from deid_runtime.surrogates.name_words import word_surrogate
from deid_runtime.surrogates.patient import Patient, first_free
from deid_runtime.surrogates.people import People
from deid_runtime.surrogates.spellings import cut_alike, has_own_particle

_SPELLED: Final = re.compile(r"(?:[^\W\d_]([-. ])){3,}[^\W\d_]\.?")
_SPELLED_SHORT: Final = re.compile(r"[^\W\d_]([- ])[^\W\d_]\1[^\W\d_]")  # K E I, where the notes also have Kei
_DOTTED: Final = re.compile(r"(?:[^\W\d_]\. ?){2,3}")  # E.M. is a set of initials, also in a note that names an Em


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
    usual = value if _DOTTED.fullmatch(value) else people.spellings.get(normal_form(value), value)
    if _SPELLED_SHORT.fullmatch(value) and normal_form(value) in people.words:
        return _respelled(patient, people, value, taken)
    if usual == value or has_own_particle(parts, people.parsed[usual]):
        words = _word_surrogates(patient, people, parts, value, taken)
    else:
        usual_parts = people.parsed[usual]
        made_of_usual = _word_surrogates(patient, people, usual_parts, usual, taken)
        words = cut_alike(usual, usual_parts, made_of_usual, parts, value)
    out: list[str] = []
    place = 0
    for part, word in zip(parts, words, strict=True):
        out += value[place : part.start], word
        place = part.end
    made = "".join((*out, value[place:]))
    return made if normal_form(made) != normal_form(value) else changed(value)


def _word_surrogates(
    patient: Patient, people: People, parts: Sequence[Part], value: str, taken: frozenset[str]
) -> list[str]:
    """Return the surrogate of each part of a mention, in the letter case of that part."""
    initials = replace_initials(patient, people, parts, taken)
    words = []
    for index, part in enumerate(parts):
        word = value[part.start : part.end]
        if part.role == KEPT:
            words.append(word)
        elif word.isdecimal():  # Zulu 417
            words.append(scramble(patient.keyed, "number in a name", word))
        elif part.role == INITIAL and (len(part.form) == 1 or part.form not in people.words):
            words.append(case_like(initials[index], word))
        else:
            words.append(case_like(word_surrogate(patient, people, word, taken), word))
    return words


def _respelled(patient: Patient, people: People, value: str, taken: frozenset[str]) -> str:
    """Return the surrogate of a name spelled letter by letter (``S-O-U-Z-A``), spelled the same way."""
    word = "".join(char for char in value if char.isalpha())
    made = normal_form(word_surrogate(patient, people, word, taken)).upper()
    return case_like(value[1].join(made) + ("." if value.endswith(".") else ""), word)

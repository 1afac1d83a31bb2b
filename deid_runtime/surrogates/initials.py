"""Surrogates of initials: those of the surrogate of their person, or else letter by letter; never clinical letters."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from deid_runtime.lexicon.clinical_initials import clinical_initials
from deid_runtime.surrogates.forms import normal_form, without_accents
from deid_runtime.surrogates.name_parts import FAMILY, GIVEN, INITIAL, Part, is_listed
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.name_words import choose, surrogate_letter, word_surrogate
from deid_runtime.surrogates.patient import ATTEMPTS, Patient, first_free
from deid_runtime.surrogates.people import People

_LONGEST_CLINICAL: Final = 4  # letters
_FAMILY_TURNS: Final = 8  # how many choices of a family name are tried to find harmless initials


def replace_initials(patient: Patient, people: People, parts: Sequence[Part], taken: frozenset[str]) -> dict[int, str]:
    """Return the surrogate of each initial of a mention, by the index of its part."""
    places = [index for index, part in enumerate(parts) if part.role == INITIAL]
    if not places:
        return {}
    full = {role: [part.form for part in parts if part.role == role] for role in (GIVEN, FAMILY)}
    letters = [parts[index].form for index in places]
    if full[GIVEN] or full[FAMILY]:
        return {index: _beside_words(patient, people, full, parts[index].form, taken) for index in places}
    joined = "".join(letters)
    made = _lone(patient, people, joined, taken)
    out: dict[int, str] = {}
    for index in places:
        size = len(parts[index].form)
        out[index], made = made[:size], made[size:]
    return out


def _lone(patient: Patient, people: People, joined: str, taken: frozenset[str]) -> str:
    def candidate(attempt: int) -> str:
        known = known_initials(patient, people, joined, taken) if attempt == 0 else ""
        if known and not _is_clinical(known):
            return known
        if len(joined) == 2 and is_listed(joined):  # NG may be a name: replace it like a name
            return choose(patient, people, joined, attempt)[: len(joined)]  # the written letters must not be clinical
        return "".join(surrogate_letter(patient, char, attempt) for char in joined)

    # A second row of candidates moves the letters by different steps: one step for all gives only few pairs of letters.
    def apart(attempt: int) -> str:
        return "".join(surrogate_letter(patient, char, attempt + 5 * place) for place, char in enumerate(joined))

    clinical = frozenset(clinical_initials()) if 1 < len(joined) <= _LONGEST_CLINICAL else frozenset()
    made = first_free(candidate, joined, taken | clinical if clinical else taken)
    return first_free(apart, joined, taken | clinical) if _is_clinical(made) else made


def _is_clinical(letters: str) -> bool:
    return 1 < len(letters) <= _LONGEST_CLINICAL and normal_form(letters) in clinical_initials()


def _first_letter(patient: Patient, people: People, form: str, taken: frozenset[str]) -> str:
    if len(form) == 1:
        return surrogate_letter(patient, form, people.first_attempts.get(form, 0))
    return _initial_of(word_surrogate(patient, people, form, taken))


def _beside_words(
    patient: Patient, people: People, full: Mapping[str, Sequence[str]], letters: str, taken: frozenset[str]
) -> str:
    """Return the surrogate of initials beside the full words of the same mention."""
    made = "".join(_one_initial(patient, people, full, char, taken) for char in letters)
    if not _is_clinical(made):
        return made
    return next(
        (
            other
            for attempt in range(1, ATTEMPTS)
            if not _is_clinical(other := made[:-1] + surrogate_letter(patient, letters[-1], attempt))
        ),
        made,
    )


def _one_initial(
    patient: Patient, people: People, full: Mapping[str, Sequence[str]], char: str, taken: frozenset[str]
) -> str:
    """Return the surrogate of the initial ``char`` beside the full words of the same mention."""
    for person in people.persons:
        if full[FAMILY] and set(full[FAMILY]) <= set(person.family):
            for form in person.given:
                if form.startswith(char) and form not in full[GIVEN]:
                    return _first_letter(patient, people, form, taken)
        if full[GIVEN] and not full[FAMILY] and set(full[GIVEN]) <= set(person.given):
            for form in person.family:
                if form.startswith(char):
                    return _first_letter(patient, people, form, taken)
    return surrogate_letter(patient, char, 0)


def known_initials(patient: Patient, people: People, joined: str, taken: frozenset[str]) -> str:
    """Return the initials of the surrogate of the first person whose initials are ``joined``, or an empty string."""
    return "".join(_first_letter(patient, people, form, taken) for form in _owner(people, joined))


def _owner(people: People, joined: str) -> tuple[str, ...]:
    """Return the words of the first person whose initials are ``joined``, one per letter, or the letter if unknown.

    Return nothing when no known person has these initials.
    """
    if len(joined) == 1:
        for person in people.persons[:1]:
            for forms in (person.given, person.family):
                if forms[:1] and forms[0][0] == joined:
                    return forms[:1]
        return ()
    full = [(person, given) for person in people.persons for given in _written_apart(people, person.given)]
    given_first = [(*given, *person.family) for person, given in full]
    family_first = [(*person.family, *given) for person, given in full if len(joined) > 2]  # NG SIEW LAN
    for forms in (*given_first, *family_first):
        if "".join(form[0] for form in forms) == joined:
            return forms
    for person in people.persons:
        if person.given[0][0] == joined[0] and person.family[-1][0] == joined[-1]:
            between = (*person.given[1:], *person.family[:-1])
            middle = (next((form for form in between if form[0] == char), char) for char in joined[1:-1])
            return (person.given[0], *middle, person.family[-1])
    return ()


def _written_apart(people: People, given: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the given names of a person, and then with the two syllables of Hyun-woo apart: HWB for Hyun-woo Baek."""
    yield given
    apart = tuple(half for form in given for half in people.halves.get(form, (form,)))
    if apart != given:
        yield apart


def first_attempts(patient: Patient, people: People, taken: frozenset[str]) -> dict[str, int]:
    """Return name -> the first choice to try for it (0 when missing), so that two names have two surrogates.

    It also prevents that the initials of the patient of the record, or of people whose initials are in the notes,
    become clinical letters or the original ones: the given name takes its next choice, and if that does not help,
    the family name does, too.
    """
    owners: dict[str, list[tuple[str, ...]]] = {}
    for whole in dict.fromkeys((*_of_record(patient, people), *_written(people))):
        owners.setdefault(whole[0], []).append(whole[1:])
    found: dict[str, int] = {}
    used: set[str] = set()

    def take_next(form: str, first: int, others: Sequence[str], originals: Sequence[str]) -> bool:
        """Give ``form`` the first choice from ``first`` on that is free and makes no unwanted initials."""
        for attempt in range(first, first + ATTEMPTS):
            made = (
                surrogate_letter(patient, form, attempt) if len(form) == 1 else choose(patient, people, form, attempt)
            )
            letters = [_initial_of(made) + rest for rest in others]
            made = normal_form(made)
            if len(form) > 1 and (made in used or made in taken):
                continue
            pairs = zip(letters, originals, strict=True)
            if not any(each in taken or each == own or _is_clinical(each) for each, own in pairs):
                if attempt:
                    found[form] = attempt
                used.add(made)
                return True
        return False

    for form in _distinct_names(people):
        if form not in owners:
            take_next(form, 0, (), ())
    for form, rows in owners.items():
        originals = [form[0] + "".join(other[0] for other in rest) for rest in rows]
        for _ in range(_FAMILY_TURNS):
            others = ["".join(_letter(patient, people, found, other) for other in rest) for rest in rows]
            if take_next(form, 0, others, originals):
                break
            # Nearly every letter before some letters is clinical (CT, PT, ST): the family name takes its next choice.
            take_next(rows[0][-1], found.get(rows[0][-1], 0) + 1, (), ())
    return found


def _letter(patient: Patient, people: People, found: Mapping[str, int], form: str) -> str:
    attempt = found.get(form, 0)
    if len(form) == 1:
        return surrogate_letter(patient, form, attempt)
    return _initial_of(choose(patient, people, form, attempt))


def _initial_of(name: str) -> str:
    """Return the first letter of a name as notes write it: d for Đoàn."""
    return normal_form(without_accents(name))[:1]


def _distinct_names(people: People) -> Iterator[str]:
    """Yield the names of the context that have their own surrogate, each once: no nicknames or misspellings."""
    known = names()
    seen: set[str] = set()
    for parts in people.parsed.values():
        for part in parts:
            form = part.form
            if part.role in (GIVEN, FAMILY, "") and len(form) > 1 and form not in seen:
                seen.add(form)
                if form not in known.formals_of and form not in known.abbreviated and form not in people.misspelt:
                    yield form


def _of_record(patient: Patient, people: People) -> Iterator[tuple[str, ...]]:
    for person in people.persons:
        if person.given[0] in patient.roles and set(person.family) <= patient.roles.keys():
            yield person.given[0], person.family[-1]
            if len(person.given) + len(person.family) <= _LONGEST_CLINICAL:
                yield (*person.given, *person.family)


def _written(people: People) -> Iterator[tuple[str, ...]]:
    """Yield the words of the people whose initials occur alone somewhere in the notes."""
    for parts in people.parsed.values():
        if parts and all(part.role == INITIAL for part in parts):
            joined = "".join(part.form for part in parts)
            owner = _owner(people, joined) if 1 < len(joined) <= _LONGEST_CLINICAL else ()
            if owner:
                yield owner

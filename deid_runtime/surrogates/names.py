"""Stand-ins for names, part by part, so that every way of writing a person leads to the same other person.

Each given or family name has one stand-in per patient, whatever label, role, order, case or note it occurs in: a keyed
permutation of the names of its naming culture, sex and form, so that two people of a patient keep two names. Initials
follow the stand-ins of the person they belong to where the note or the record names one, and map letter by letter
otherwise.

After Deleger et al., "Preparing an annotated gold standard corpus to share", 2014, section 2.2, and Murugadoss et al.
2021, Supplementary Table 2.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.surrogates.forms import case_like, changed, holds_text, misspell, normal_form, scramble, vary
from deid_runtime.surrogates.lists import Listed, names
from deid_runtime.surrogates.name_parts import (
    APOSTROPHES,
    FAMILY,
    GIVEN,
    INITIAL,
    KEPT,
    LONGEST_NAME_CHARS,
    WORD,
    Part,
    is_listed,
    parse,
    syllabic_culture,
)
from deid_runtime.surrogates.patient import ATTEMPTS, Patient, first_free
from deid_runtime.surrogates.spellings import cut_alike, has_own_particle, joined_like, usual_spellings
from deid_runtime.surrogates.unlisted import likely_pool, nearest

_SPELLED: Final = re.compile(r"(?:[^\W\d_]([-. ])){3,}[^\W\d_]\.?")
_JOINT: Final = re.compile(rf"[-‐‑ {APOSTROPHES}]")
_DIGIT_LETTERS: Final = str.maketrans("01345", "oleas")
_SCRIPT_POOLS: Final = (
    (re.compile("[\u3040-\u30ff]"), "kana"),
    (re.compile("[\u3400-\u9fff]"), "han"),
    (re.compile("[\uac00-\ud7af]"), "hangul"),
    (re.compile("[\u0400-\u04ff]"), "cyrillic"),
    (re.compile("[\u0600-\u06ff]"), "arabic script"),
    (re.compile("[\u0590-\u05ff]"), "hebrew script"),
    (re.compile("[\u0370-\u03ff]"), "greek script"),
    (re.compile("[\u0900-\u097f]"), "devanagari"),
    (re.compile("[\u0e00-\u0e7f]"), "thai script"),
    (re.compile("[\u0530-\u058f]"), "armenian script"),
    (re.compile("[\u10a0-\u10ff]"), "georgian script"),
)
_COMMON_LETTERS: Final = "abcdefghijklmnoprstvw"
_RARE_LETTERS: Final = "quxyz"

_MOST_PERSONS: Final = 200  # full names that initials are looked up in: a bound on the time a list of staff can cost
_NEARBY_NAMES: Final = 60  # how many names of a note are tried as the source of a misspelling
_LEAST_WORD_CHARS: Final = 3  # shorter pieces of a name (O', Li) may be those of others


@dataclass(frozen=True, slots=True)
class Person:
    """A full name found in the record or the note, as normal forms."""

    given: tuple[str, ...] = field(repr=False)
    family: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class People:
    """Who is known: full names in order, the record first, and the role of each word in them."""

    persons: tuple[Person, ...] = field(default=(), repr=False)
    roles: Mapping[str, str] = field(default_factory=dict, repr=False)
    marks: Mapping[str, int] = field(default_factory=dict, repr=False)  # where a name has its apostrophe
    nearby: tuple[str, ...] = field(default=(), repr=False)
    words: frozenset[str] = field(default=frozenset(), repr=False)  # what occurs as a name, so is no set of initials
    parsed: Mapping[str, Sequence[Part]] = field(default_factory=dict, repr=False)  # each mention, parsed
    spellings: Mapping[str, str] = field(default_factory=dict, repr=False)  # normal form -> the mention to go by


def find_people(patient: Patient, mentions: Iterable[str]) -> People:
    """Return who can be told from the record and the name mentions of one note, in their order."""
    persons: list[Person] = []
    by_initial: list[Person] = []
    roles: dict[str, str] = {}
    nearby: dict[str, None] = {}
    words: set[str] = set(patient.roles)
    marks: dict[str, int] = {}
    own_given = tuple(form for form, role in patient.roles.items() if role == GIVEN)
    own_family = tuple(form for form, role in patient.roles.items() if role == FAMILY)
    if own_given and own_family:
        persons.append(Person(own_given, own_family))
    parsed = {value: parse(patient, value) for value in dict.fromkeys(mentions) if len(value) <= LONGEST_NAME_CHARS}
    for value, parts in parsed.items():
        marks.update((part.form, place) for part in parts if (place := _apostrophe(value[part.start : part.end])))
        words.update(*(_forms(value[part.start : part.end]) for part in parts if part.role in (GIVEN, FAMILY, "")))
        given = tuple(part.form for part in parts if part.role == GIVEN)
        family = tuple(part.form for part in parts if part.role == FAMILY)
        if len(parts) > 1:
            for part in parts:
                if part.role in (GIVEN, FAMILY):
                    roles.setdefault(part.form, part.role)
        nearby.update(
            dict.fromkeys(part.form for part in parts if part.role in (GIVEN, FAMILY) and is_listed(part.form))
        )
        if family and not given and parts[0].role == INITIAL:
            by_initial.append(Person(tuple(parts[0].form), family))
        if given and family:
            persons.append(Person(given, family))
    return People(
        persons=tuple(persons + by_initial)[:_MOST_PERSONS],
        roles=roles,
        marks=marks,
        nearby=tuple(nearby)[:_NEARBY_NAMES],
        words=frozenset(words),
        parsed=parsed,
        spellings=usual_spellings(parsed),
    )


def replace_name(patient: Patient, people: People, value: str, taken: frozenset[str]) -> str:
    """Return the stand-in of one mention, its separators, particles, suffixes and case kept."""
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
        words = cut_alike(usual_parts, _stand_ins(patient, people, usual_parts, usual, taken), parts, value)
    out: list[str] = []
    place = 0
    for part, word in zip(parts, words, strict=True):
        out += value[place : part.start], word
        place = part.end
    made = "".join((*out, value[place:]))
    return made if normal_form(made) != normal_form(value) else changed(value)


def _stand_ins(patient: Patient, people: People, parts: Sequence[Part], value: str, taken: frozenset[str]) -> list[str]:
    """Return what each part of a mention becomes, in its case."""
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
    """Return the stand-in of a name spelled letter by letter (``S-O-U-Z-A``), spelled the same way."""
    word = "".join(char for char in value if char.isalpha())
    made = normal_form(stand_in(patient, people, word, taken)).upper()
    return case_like(value[1].join(made) + ("." if value.endswith(".") else ""), word)


def stand_in(patient: Patient, people: People, word: str, taken: frozenset[str]) -> str:
    """Return the stand-in of one given or family name in the case of the lists, with the hyphens and apostrophes of
    ``word``.

    Neither it nor a part of it is a part of ``word`` or in ``taken``, as long as there is a choice.
    """
    own = _forms(word)
    different = ""
    for attempt in range(ATTEMPTS):
        made = _candidate(patient, people, word, attempt)
        found = _forms(made)
        if found and found.isdisjoint(own):
            if found.isdisjoint(taken):
                return made
            different = different or made
    return different or changed(word)


def _forms(word: str) -> set[str]:
    """Return the normal form of a name and of the parts it is joined of."""
    pieces = (normal_form(piece) for piece in _JOINT.split(word))
    return {piece for piece in pieces if len(piece) >= _LEAST_WORD_CHARS} | {normal_form(word)} - {""}


def _candidate(patient: Patient, people: People, word: str, attempt: int) -> str:
    form = normal_form(word)
    listed = names().listed(form)
    mark = _apostrophe(word)
    culture = syllabic_culture(word) if "-" in word or " " in word else ""
    if culture and (listed is None or "-" not in listed.pool[0]):
        sexes = listed.sex if listed is not None and listed.sex in ("F", "M") else "FM"
        pool = [name for sex in sexes for name in names().pools[culture, "-" + sex]]
        made = patient.keyed.pick(pool, f"syllables/{attempt}", form)
    else:
        made = _choose(patient, people, form, attempt)
    has_mark = any(char in APOSTROPHES for char in made)
    if mark and not has_mark:
        # N'Diaye: no name of that form is known to stand in, so what is behind the apostrophe is a name of its own.
        rest = word[mark + 1 :]
        return word[: mark + 1] + case_like(_choose(patient, people, normal_form(rest), attempt), rest)
    known_mark = people.marks.get(form, 0)
    if known_mark and not mark and not has_mark and len(word) > known_mark:  # the same name without its apostrophe
        rest = word[known_mark:]
        return word[:known_mark] + _choose(patient, people, normal_form(rest), attempt).lower()
    if has_mark and not mark:
        made = "".join(char for char in made if char not in APOSTROPHES)
    if has_mark and mark:
        made = "".join(word[mark] if char in APOSTROPHES else char for char in made)
    return joined_like(made, word)


def _apostrophe(word: str) -> int:
    return next((place for place, char in enumerate(word) if char in APOSTROPHES), 0)


def _choose(patient: Patient, people: People, form: str, attempt: int) -> str:
    known = names()
    role = patient.roles.get(form) or people.roles.get(form, "")
    key = ("name", role, form, str(attempt))
    kept = patient.cache.get(key)
    if kept is not None:
        return kept
    listed = known.listed(form, is_family=role == FAMILY if role else None)
    is_nickname = form in known.formal_of and form not in known.nicknames
    if role == FAMILY and form in known.family:
        is_nickname = False
    if is_nickname and not (listed and _is_of_other_sex(patient, form)):
        return patient.remember(key, lambda: _nickname(patient, form, attempt))
    if listed is not None:
        found = _of_recorded_sex(patient, form, listed)
        return patient.remember(key, lambda: _permuted(patient, found, attempt))
    return _unlisted(patient, people, form, attempt)


def _permuted(patient: Patient, listed: Listed, attempt: int) -> str:
    purpose = f"name/{listed.pool[0]}/{len(listed.pool)}/{attempt}"
    place = patient.keyed.permute(listed.index, len(listed.pool), purpose)
    return listed.pool[place]


def _of_recorded_sex(patient: Patient, form: str, listed: Listed) -> Listed:
    """Return ``listed``, or a place in the pool of the patient's sex when it is the patient's own name and of the
    other.
    """
    sex = patient.record.get("sex", "")[:1].upper()
    if sex not in ("F", "M") or listed.sex in ("", sex) or patient.roles.get(form) != GIVEN:
        return listed
    pool = names().pools.get((listed.culture, sex)) or names().pools["english", sex]
    return Listed(pool, listed.index % len(pool), listed.culture, sex)


def _is_of_other_sex(patient: Patient, form: str) -> bool:
    """Say whether a nickname is the patient's own, who is not of the sex it is listed for (Chris, Sam)."""
    formal = names().given[names().formal_of[form]]
    return patient.roles.get(form) == GIVEN and patient.record.get("sex", "")[:1].upper() not in ("", formal.sex)


def _nickname(patient: Patient, form: str, attempt: int) -> str:
    known = names()
    formal = normal_form(_permuted(patient, known.given[known.formal_of[form]], attempt))
    options = known.nicknames[formal]
    own = [normal_form(nickname) for nickname in known.nicknames[known.formal_of[form]]]
    return options[(own.index(form) if form in own else 0) % len(options)]


def _unlisted(patient: Patient, people: People, form: str, attempt: int) -> str:
    """Return an altered name for one that is in no list, so that an odd spelling does not tell a real name from a
    stand-in.

    A slip of the pen in a name of this patient, of the note or of the lists follows that name.
    """
    source = _source_of(patient, people, form)
    if source:
        base = _choose(patient, people, source, attempt)
        return _odd(lambda turn: misspell(base, patient.keyed.number(f"slip/{attempt}/{turn}", form)))
    # Under a key of its own: in another note, with the right spelling beside it, the same word may be a slip.
    return patient.remember(("made up", form, str(attempt)), lambda: _made_up(patient, form, attempt))


def _source_of(patient: Patient, people: People, form: str) -> str:
    """Return the name that ``form`` is a misspelling of, or an empty string."""
    plain = form.translate(_DIGIT_LETTERS)
    if plain != form and is_listed(plain):
        return plain
    if form in patient.roles:
        return nearest(form)
    return next((known for known in (*patient.roles, *people.nearby) if _one_slip(form, known)), "") or nearest(form)


def _odd(spelling: Callable[[int], str]) -> str:
    """Return the first of some spellings that is in no list."""
    return next((odd for odd in map(spelling, range(4)) if not is_listed(normal_form(odd))), spelling(0))


def _made_up(patient: Patient, form: str, attempt: int) -> str:
    """Return an altered name of the culture that the letters or the script of an unknown one suggest."""
    if len(form) <= 2:
        return "".join(_letter(patient, char, attempt) for char in form).capitalize()
    for script, culture in _SCRIPT_POOLS:
        if script.search(form):
            return _native(patient, culture, form, attempt)
    sex = patient.record.get("sex", "")[:1].upper() if patient.roles.get(form) == GIVEN else ""
    pool = likely_pool(form, sex if sex in ("F", "M") else "")
    base = patient.keyed.pick(pool, f"unlisted/{attempt}", form)
    number = patient.keyed.number(f"odd/{attempt}", form)
    return _odd(lambda turn: vary(base, number + turn))


def _native(patient: Patient, culture: str, form: str, attempt: int) -> str:
    pools = names().pools
    purpose = f"native/{attempt}"
    family = patient.keyed.pick(pools[culture, ""], purpose, form)
    if culture in ("han", "kana", "hangul") and len(form) > 1:  # family and given name in one word
        given = patient.keyed.pick(pools[culture, "F"] + pools[culture, "M"], purpose + "g", form)
        return (family + given)[: max(2, len(form))]
    if patient.roles.get(form) == GIVEN:
        return patient.keyed.pick(pools[culture, "F" if form[-1] in "аяاةהיηα" else "M"], purpose, form)
    return family


def _one_slip(left: str, right: str) -> bool:
    """Say whether one insertion, deletion, replacement or swap of neighbours makes ``left`` of ``right``; both 4 or
    longer.
    """
    if min(len(left), len(right)) < 4 or abs(len(left) - len(right)) > 1 or left == right:
        return False
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    if len(left) == len(right):
        rest_left, rest_right = left[start:], right[start:]
        swapped = rest_left[1:2] + rest_left[:1] + rest_left[2:]
        return rest_left[1:] == rest_right[1:] or swapped == rest_right
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    return longer[start + 1 :] == shorter[start:]


def _letter(patient: Patient, char: str, attempt: int) -> str:
    """Return the letter that stands for ``char`` where nothing better is known; never the letter itself."""

    def make() -> str:
        for letters in (_COMMON_LETTERS, _RARE_LETTERS):
            if char in letters:
                # The next one round a keyed circle: distinct letters stay distinct, none stays itself.
                circle = patient.keyed.order(len(letters), f"letters/{len(letters)}")
                step = 1 + attempt % (len(letters) - 1)
                return letters[circle[(circle.index(letters.index(char)) + step) % len(letters)]]
        return scramble(patient.keyed, f"letter/{attempt}", char)

    return patient.remember(("letter", char, str(attempt)), make)


def letter_for(patient: Patient, char: str) -> str:
    """Return the letter that stands for a lone initial, in lower case."""
    return _letter(patient, char.lower(), 0)


def _initials(
    patient: Patient, people: People, parts: Sequence[Part], value: str, taken: frozenset[str]
) -> dict[int, str]:
    """Return what stands for each initial, by index of its part."""
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
        if not known and len(joined) == 2 and is_listed(joined):  # NG may be a name: it is replaced as one is
            known = _choose(patient, people, joined, attempt)
        return known or "".join(_letter(patient, char, attempt) for char in joined)

    made = first_free(candidate, joined, taken)
    out: dict[int, str] = {}
    for index in places:
        size = len(parts[index].form)
        out[index], made = made[:size], made[size:]
    return out


def _first_letter(patient: Patient, people: People, form: str, taken: frozenset[str]) -> str:
    return _letter(patient, form, 0) if len(form) == 1 else normal_form(stand_in(patient, people, form, taken))[:1]


def _one_initial(
    patient: Patient, people: People, full: Mapping[str, Sequence[str]], char: str, taken: frozenset[str]
) -> str:
    """Return what stands for the initial ``char`` beside the full words of the same mention."""
    for person in people.persons:
        if full[FAMILY] and set(full[FAMILY]) <= set(person.family):
            for form in person.given:
                if form.startswith(char) and form not in full[GIVEN]:
                    return _first_letter(patient, people, form, taken)
        if full[GIVEN] and not full[FAMILY] and set(full[GIVEN]) <= set(person.given):
            for form in person.family:
                if form.startswith(char):
                    return _first_letter(patient, people, form, taken)
    return _letter(patient, char, 0)


def _known_initials(patient: Patient, people: People, joined: str, taken: frozenset[str]) -> str:
    """Return the initials of the stand-in of the first person whose initials are ``joined``, or an empty string."""
    if len(joined) == 1:
        for person in people.persons[:1]:
            for forms in (person.given, person.family):
                for form in forms[:1]:
                    if form[0] == joined:
                        return _first_letter(patient, people, form, taken)
        return ""
    for person in people.persons:
        if person.given[0][0] != joined[0] or person.family[-1][0] != joined[-1]:
            continue
        between = (*person.given[1:], *person.family[:-1])
        middle = ""
        for char in joined[1:-1]:
            form = next((form for form in between if form[0] == char), "")
            middle += _first_letter(patient, people, form, taken) if form else _letter(patient, char, 0)
        first = _first_letter(patient, people, person.given[0], taken)
        return first + middle + _first_letter(patient, people, person.family[-1], taken)
    return ""

"""Stand-ins for names, part by part, so that every way of writing a person leads to the same other person.

A mention is parsed into words with roles (given, family, initial, particle, suffix ...). Each given or family name has
one stand-in per patient whatever label, order, case or note it occurs in, chosen by a keyed permutation of the
list of its naming culture and sex, so that two people of a patient keep two names. Initials follow the stand-ins of
the person they belong to where the note or the record names one, and map letter by letter otherwise.

After Deleger et al., "Preparing an annotated gold standard corpus to share", 2014, section 2.2, and Murugadoss et al.
2021, Supplementary Table 2.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.surrogates.forms import case_like, changed, holds_text, misspell, normal_form, scramble, vary
from deid_runtime.surrogates.lists import Listed, names
from deid_runtime.surrogates.patient import Patient, first_free

_MARK = "\u0300-\u036f"
_APOSTROPHE = "'’ʻʼ`"
_WORD: Final = re.compile(rf"[^\W_](?:[^\W_]|[{_MARK}]|[{_APOSTROPHE}](?=[^\W_]))*")
_HYPHENATED: Final = re.compile(rf"{_WORD.pattern}(?:[-‐‑]{_WORD.pattern})+")
_SPELLED: Final = re.compile(r"(?:[^\W\d_]([-. ])){3,}[^\W\d_]\.?")
_POSSESSIVE: Final = re.compile(rf"(?<=[^\W_]{{2}})[{_APOSTROPHE}][sS]$")
_DIGIT_LETTERS: Final = str.maketrans("01345", "oleas")

_SUFFIXES: Final = frozenset("jr sr ii iii iv jnr snr esq junior senior".split())
_TITLES: Final = frozenset("dr mr mrs ms mx miss prof professor rev sgt capt lt col sra sr sir dame".split())
_CREDENTIALS: Final = frozenset(
    "md do rn np pa pac phd lpn rph pharmd dds dmd dpm dnp crna cnm facs facp msw lcsw mbbs bsn msn aprn fnp".split()
)
_PARTICLES: Final = frozenset(
    "de da do dos das del della di la las los le van von der den ten ter vd te ap nic y e bin bint ibn al el ben abu "
    "du des zu af av st saint ste mc mac ní ni ó o nic san".split()
)
#: Particles also where capitalised at the head of a name; the others are given names there (Al, Ben, Do, Le).
_FIRM_PARTICLES: Final = frozenset(
    "de del della di da dos las los van von der den du st saint ste bin ibn la te ap nic ní".split()
)
_CULTURE_BY_ENDING: Final = (
    (re.compile(r"(?:ski|sky|icz|czyk|wski|cki|ński)$"), "polish"),
    (re.compile(r"(?:ov|ova|ev|eva|enko|chuk|yuk|in[ae]?v)$"), "russian"),
    (re.compile(r"(?:ez|illo|illa|ero|ñ.*)$"), "spanish"),
    (re.compile(r"(?:[iy]an|yants)$"), "armenian"),
    (re.compile(r"(?:opoulos|akis|idis|oglou|os)$"), "greek"),
    (re.compile(r"(?:oğlu|oglu)$"), "turkish"),
    (re.compile(r"(?:s[so]on|sen|qvist|quist|ström|strom|berg|lund|gaard)$"), "nordic"),
    (re.compile(r"(?:inen|nen|la|kka)$"), "finnish"),
    (re.compile(r"(?:elli|ini|ucci|etti|otti|acci|one|ano|ello)$"), "italian"),
    (re.compile(r"(?:eau|eaux|oux|ault|ier|ette)$"), "french"),
    (re.compile(r"(?:mann|stein|meier|meyer|bach|bauer|feld|heim)$"), "german"),
    (re.compile(r"(?:stra|sma|veld|huis|dijk|hoek)$"), "dutch"),
    (re.compile(r"(?:wala|jee|kar|esh|nath|murthy|swamy|appan|raj)$"), "indian"),
    (re.compile(r"(?:oye|ola|ade|wale|yemi)"), "yoruba"),
    (re.compile(r"(?:chukwu|nna|eze|kwe)"), "igbo"),
)
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

GIVEN: Final = "given"
FAMILY: Final = "family"
INITIAL: Final = "initial"
KEPT: Final = "kept"

_LONGEST_NAME_CHARS: Final = 200  # a longer span is no name: it is scrambled, in linear time
_MOST_PERSONS: Final = 200  # full names that initials are looked up in: a bound on the time a list of staff can cost
_NEARBY_NAMES: Final = 60  # how many names of a note are tried as the source of a misspelling


@dataclass(frozen=True, slots=True)
class Part:
    """A word ``[start, end)`` of a mention. ``role`` is one of the constants above; ``place`` what its position
    suggests.
    """

    start: int
    end: int
    form: str = field(repr=False)
    role: str


@dataclass(frozen=True, slots=True)
class Person:
    """A full name found in the record or the note, as normal forms."""

    given: tuple[str, ...] = field(repr=False)
    family: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class People:
    """Who is known in one note: full names in order, the record first, and the role of each word in them."""

    persons: tuple[Person, ...] = field(default=(), repr=False)
    roles: Mapping[str, str] = field(default_factory=dict, repr=False)
    nearby: tuple[str, ...] = field(default=(), repr=False)
    parsed: Mapping[str, Sequence[Part]] = field(default_factory=dict, repr=False)  # each mention, parsed

    def name_words(self) -> set[str]:
        """Return the normal form of every given and family name mentioned."""
        return {part.form for parts in self.parsed.values() for part in parts if part.role in (GIVEN, FAMILY, "")}


def _listed(form: str) -> bool:
    known = names()
    return form in known.given or form in known.family or form in known.formal_of


def _words(value: str) -> Iterator[tuple[int, int]]:
    """Yield the words of a name; a hyphenated given name that is in the lists (Mei-Ling) is one word."""
    place = 0
    while found := _WORD.search(value, place):
        whole = _HYPHENATED.match(value, found.start())
        if whole and normal_form(whole[0]) in names().given:
            found = whole
        yield found.start(), found.end()
        place = found.end()


def _is_initials(word: str, *, alone: bool) -> bool:
    """Say whether a word of a name stands for several names by their letters (``JS``, ``tlh``)."""
    if len(word) == 1:
        return True
    if len(word) > 4 or not word.isalpha():
        return False
    if not (word.isupper() or word.islower()):
        return False
    if len(word) == 2:
        return alone or not _listed(normal_form(word))
    if len(word) == 4:
        return word.isupper() and not re.search("[AEIOUY]", word) and not _listed(normal_form(word))
    return not _listed(normal_form(word))


def _certain_role(patient: Patient, form: str) -> str:
    """Return the role that the record or the lists give a word wherever it stands, or an empty string."""
    role = patient.roles.get(form)
    if role:
        return role
    known = names()
    is_given = form in known.given or form in known.formal_of
    is_family = form in known.family
    if is_given != is_family:
        return GIVEN if is_given else FAMILY
    return ""


_GIVEN_FIELDS: Final = ("given", "first", "first_name", "middle", "nickname", "preferred", "given_name")
_FAMILY_FIELDS: Final = ("family", "last", "last_name", "surname", "maiden", "family_name")


def record_roles(record: Mapping[str, str]) -> dict[str, str]:
    """Return the role of each word of the names in a patient's record, by normal form."""
    roles: dict[str, str] = {}
    for role, fields in ((FAMILY, _FAMILY_FIELDS), (GIVEN, _GIVEN_FIELDS)):
        for name in fields:
            value = record.get(name, "")[:_LONGEST_NAME_CHARS]
            for start, end in _words(value):
                form = normal_form(value[start:end])
                if len(form) > 1 and form not in _PARTICLES:
                    roles[form] = role
    return roles


def parse(patient: Patient, value: str) -> list[Part]:
    """Return the words of a mention with their roles, in order.

    ``Family, Given M``, ``FAMILY Given``, ``Given M Family`` and ``Family G M`` are told apart by the comma, by case
    and by where the initials are; what the record and the lists know of a word goes before its position.
    """
    spans = list(_words(value))
    comma = value.find(",")
    words = [_POSSESSIVE.sub("", value[start:end]) for start, end in spans]
    forms = [normal_form(word) for word in words]
    roles = [""] * len(words)
    for index, form in enumerate(forms):
        if not form or _is_kept(value, spans, words, index):
            roles[index] = KEPT
    names_left = [index for index, role in enumerate(roles) if not role]
    alone = len(names_left) == 1
    for index in names_left:
        if _is_initials(words[index], alone=alone):
            roles[index] = INITIAL
    full = [index for index in names_left if roles[index] != INITIAL]
    if len(full) == 1 and len(names_left) == 1:
        roles[full[0]] = _certain_role(patient, forms[full[0]])
    else:
        for index in full:
            roles[index] = _certain_role(patient, forms[index]) or _place_role(
                value, spans, words, full, names_left, comma, index
            )
    return [
        Part(start, start + len(word), form, role)
        for (start, _), word, form, role in zip(spans, words, forms, roles, strict=True)
    ]


def _is_kept(value: str, spans: Sequence[tuple[int, int]], words: Sequence[str], index: int) -> bool:
    """Say whether a word is a suffix, title, degree or particle, which stay as they are."""
    word, form, last = words[index], normal_form(words[index]), len(words) - 1
    if form in _SUFFIXES and index and form != "junior":
        return True
    if form in _TITLES and index == 0 and last > 0 and not word.isupper():
        return True
    if form in _CREDENTIALS and index > 1 and index == last and word.isupper() and form != "do":
        return True
    return _is_particle(value, spans, words, index)


def _is_particle(value: str, spans: Sequence[tuple[int, int]], words: Sequence[str], index: int) -> bool:
    form = normal_form(words[index])
    if form not in _PARTICLES or index + 1 == len(words):
        return False
    if form not in _FIRM_PARTICLES and words[index].islower() and not value.islower():
        return True
    if value[spans[index][1] : spans[index + 1][0]] == "-" and form in ("al", "el", "ben", "bin", "ibn", "abu"):
        return True
    return form in _FIRM_PARTICLES


def _place_role(
    value: str,
    spans: Sequence[tuple[int, int]],
    words: Sequence[str],
    full: Sequence[int],
    every: Sequence[int],
    comma: int,
    index: int,
) -> str:
    """Return the role that the position of a full word suggests."""
    if comma >= 0:
        before = [i for i in every if spans[i][0] < comma]
        if before and len(before) < len(every):
            return FAMILY if spans[index][0] < comma else GIVEN
    shouted = [i for i in full if words[i].isupper() and len(words[i]) > 1]
    if shouted and len(shouted) < len(full):  # PEMBERTON-LIU Horace
        return FAMILY if words[index].isupper() else GIVEN
    if index != full[0] and value[spans[index - 1][1] : spans[index][0]] in ("-", "‐", "‑"):
        return FAMILY if full[0] != index - 1 or len(full) == 2 else GIVEN
    if len(full) == 1:
        # J. Smith, and Warsame H A; Sheri W is known by the lists.
        return FAMILY if every[0] != index or len(every) > 2 else GIVEN
    if '"' in value or "(" in value:
        opening = max(
            value.rfind('"', 0, spans[index][0]),
            value.rfind("(", 0, spans[index][0]),
            value.rfind("“", 0, spans[index][0]),
        )
        if opening >= 0 and not value[opening + 1 : spans[index][0]].strip('"“( '):
            return GIVEN
    if index == full[0]:
        return GIVEN
    hyphen_after = value[spans[index][1] : spans[index][1] + 1] in ("-", "‐", "‑")
    return FAMILY if index == full[-1] or hyphen_after else GIVEN


def find_people(patient: Patient, mentions: Iterable[str]) -> People:
    """Return who can be told from the record and the name mentions of one note, in their order."""
    persons: list[Person] = []
    roles: dict[str, str] = {}
    nearby: dict[str, None] = dict.fromkeys(patient.roles)
    own_given = tuple(form for form, role in patient.roles.items() if role == GIVEN)
    own_family = tuple(form for form, role in patient.roles.items() if role == FAMILY)
    if own_given and own_family:
        persons.append(Person(own_given, own_family))
    parsed = {value: parse(patient, value) for value in dict.fromkeys(mentions) if len(value) <= _LONGEST_NAME_CHARS}
    for parts in parsed.values():
        given = tuple(part.form for part in parts if part.role == GIVEN)
        family = tuple(part.form for part in parts if part.role == FAMILY)
        if len(parts) > 1:
            for part in parts:
                if part.role in (GIVEN, FAMILY):
                    roles.setdefault(part.form, part.role)
        nearby.update(dict.fromkeys(part.form for part in parts if part.role in (GIVEN, FAMILY) and _listed(part.form)))
        if given and family:
            persons.append(Person(given, family))
    return People(tuple(persons)[:_MOST_PERSONS], roles, tuple(nearby)[:_NEARBY_NAMES], parsed)


def replace_name(patient: Patient, people: People, value: str, taken: frozenset[str], *, family_first: bool) -> str:
    """Return the stand-in of one mention, its separators, particles, suffixes and case kept.

    A word that may be a given or a family name and stands alone is a family name when ``family_first``.
    """
    if len(value) > _LONGEST_NAME_CHARS or not _WORD.search(value):
        return (
            first_free(lambda n: scramble(patient.keyed, f"name/{n}", value), value, taken)
            if holds_text(value)
            else value
        )
    if _SPELLED.fullmatch(value):
        return _respelled(patient, people, value, taken, family_first=family_first)
    parts = people.parsed.get(value) or parse(patient, value)
    out: list[str] = []
    place = 0
    initials = _initials(patient, people, parts, value, taken)
    for index, part in enumerate(parts):
        out.append(value[place : part.start])
        word = value[part.start : part.end]
        place = part.end
        if part.role == KEPT:
            out.append(word)
        elif part.role == INITIAL:
            out.append(case_like(initials[index], word))
        else:
            role = part.role or people.roles.get(part.form) or (FAMILY if family_first else GIVEN)
            out.append(case_like(stand_in(patient, people, role, word, taken), word))
    out.append(value[place:])
    made = "".join(out)
    return made if normal_form(made) != normal_form(value) else changed(value)


def _respelled(patient: Patient, people: People, value: str, taken: frozenset[str], *, family_first: bool) -> str:
    """Return the stand-in of a name spelled letter by letter (``S-O-U-Z-A``), spelled the same way."""
    word = "".join(char for char in value if char.isalpha())
    form = normal_form(word)
    role = _certain_role(patient, form) or people.roles.get(form) or (FAMILY if family_first else GIVEN)
    made = normal_form(stand_in(patient, people, role, word, taken)).upper()
    return case_like(value[1].join(made) + ("." if value.endswith(".") else ""), word)


def stand_in(patient: Patient, people: People, role: str, word: str, taken: frozenset[str]) -> str:
    """Return the stand-in of one given or family name, in the case of the lists."""
    form = normal_form(word)
    return first_free(lambda attempt: _choose(patient, people, role, form, attempt), word, taken)


def _choose(patient: Patient, people: People, role: str, form: str, attempt: int) -> str:
    known = names()
    key = (role, form, str(attempt))
    kept = patient.cache.get(key)
    if kept is not None:
        return kept
    listed = (known.given if role == GIVEN else known.family).get(form)
    if (
        role == GIVEN
        and form in known.formal_of
        and form not in known.nicknames
        and not _is_of_other_sex(patient, form)
    ):
        return patient.remember(key, lambda: _nickname(patient, form, attempt))
    if listed is not None:
        found = _of_recorded_sex(patient, form, listed) if role == GIVEN else listed
        return patient.remember(key, lambda: _permuted(patient, found, attempt))
    if form in known.formal_of:
        return patient.remember(key, lambda: _nickname(patient, form, attempt))
    other = (known.family if role == GIVEN else known.given).get(form)
    if other is not None:  # a family name for a first name, or the reverse: so is its stand-in
        swapped = other
        return patient.remember(key, lambda: _permuted(patient, swapped, attempt))
    return _unlisted(patient, people, role, form, attempt)


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
    pool = names().pools["english", sex]
    return Listed(pool, listed.index % len(pool), sex)


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


def _unlisted(patient: Patient, people: People, role: str, form: str, attempt: int) -> str:
    """Return an altered name for one that is in no list, so that an odd spelling does not tell a real name from a
    stand-in.

    A slip of the pen in a name of this patient or note follows that name.
    """
    plain = form.translate(_DIGIT_LETTERS)
    for known_form in (plain, *people.nearby):
        if known_form != form and (known_form == plain or _one_slip(plain, known_form)) and _listed(known_form):
            base = _choose(patient, people, people.roles.get(known_form, role), known_form, attempt)
            return misspell(base, patient.keyed.number(f"slip/{role}/{attempt}", form))
    # Under a key of its own: in another note, with the right spelling beside it, the same word may be a slip.
    key = ("made up", role, form, str(attempt))
    return patient.remember(key, lambda: _made_up(patient, role, form, attempt))


def _made_up(patient: Patient, role: str, form: str, attempt: int) -> str:
    """Return an altered name of the culture that the ending or the script of an unknown one suggests."""
    number = patient.keyed.number(f"odd/{role}/{attempt}", form)
    if len(form) <= 2:
        letters = (_letter(patient, char, attempt) for char in form)
        return "".join(letters).capitalize()
    for script, culture in _SCRIPT_POOLS:
        if script.search(form):
            return _native(patient, culture, role, form, attempt)
    culture = next((culture for ending, culture in _CULTURE_BY_ENDING if ending.search(form)), "english")
    if role == GIVEN:
        sex = patient.record.get("sex", "")[:1].upper() if patient.roles.get(form) == GIVEN else ""
        if sex not in ("F", "M"):
            sex = "F" if form[-1] in "aeiy" else "M"
        pool = names().pools.get((culture, sex)) or names().pools["english", sex]
    else:
        pool = names().pools.get((culture, "")) or names().pools["english", ""]
    base = patient.keyed.pick(pool, f"unlisted/{role}/{attempt}", form)
    for turn in range(4):
        odd = vary(base, number + turn)
        if not _listed(normal_form(odd)):
            return odd
    return vary(base, number)


def _native(patient: Patient, culture: str, role: str, form: str, attempt: int) -> str:
    pools = names().pools
    purpose = f"native/{role}/{attempt}"
    family = patient.keyed.pick(pools[culture, ""], purpose, form)
    if culture in ("han", "kana", "hangul") and len(form) > 1:  # family and given name in one word
        given = patient.keyed.pick(pools[culture, "F"] + pools[culture, "M"], purpose + "g", form)
        return (family + given)[: max(2, len(form))]
    if role == FAMILY:
        return family
    return patient.keyed.pick(pools[culture, "F" if form[-1] in "аяاةהיηα" else "M"], purpose, form)


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
        return known or "".join(_letter(patient, char, attempt) for char in joined)

    made = first_free(candidate, joined, taken)
    out: dict[int, str] = {}
    for index in places:
        size = len(parts[index].form)
        out[index], made = made[:size], made[size:]
    return out


def _first_letter(patient: Patient, people: People, role: str, form: str, taken: frozenset[str]) -> str:
    return normal_form(stand_in(patient, people, role, form, taken))[:1]


def _one_initial(
    patient: Patient, people: People, full: Mapping[str, Sequence[str]], char: str, taken: frozenset[str]
) -> str:
    """Return what stands for the initial ``char`` beside the full words of the same mention."""
    for person in people.persons:
        if full[FAMILY] and set(full[FAMILY]) <= set(person.family):
            for form in person.given:
                if form.startswith(char) and form not in full[GIVEN]:
                    return _first_letter(patient, people, GIVEN, form, taken)
        if full[GIVEN] and not full[FAMILY] and set(full[GIVEN]) <= set(person.given):
            for form in person.family:
                if form.startswith(char):
                    return _first_letter(patient, people, FAMILY, form, taken)
    return _letter(patient, char, 0)


def _known_initials(patient: Patient, people: People, joined: str, taken: frozenset[str]) -> str:
    """Return the initials of the stand-in of the first person whose initials are ``joined``, or an empty string."""
    if len(joined) == 1:
        for person in people.persons[:1]:
            for role, forms in ((GIVEN, person.given), (FAMILY, person.family)):
                for form in forms[:1]:
                    if form[0] == joined:
                        return _first_letter(patient, people, role, form, taken)
        return ""
    for person in people.persons:
        if person.given[0][0] != joined[0] or person.family[-1][0] != joined[-1]:
            continue
        between = (*person.given[1:], *person.family[:-1])
        middle = ""
        for char in joined[1:-1]:
            form = next((form for form in between if form[0] == char), "")
            role = GIVEN if form in person.given else FAMILY
            middle += _first_letter(patient, people, role, form, taken) if form else _letter(patient, char, 0)
        first = _first_letter(patient, people, GIVEN, person.given[0], taken)
        return first + middle + _first_letter(patient, people, FAMILY, person.family[-1], taken)
    return ""

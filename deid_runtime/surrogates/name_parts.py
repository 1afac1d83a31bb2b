"""The words of a name and their roles: given, family, initials; particles, titles and suffixes are kept."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from deid_runtime.lexicon.vocabulary import credential_keys, kin, particles, titles
from deid_runtime.records.fields import Holds, fields_that_hold, record_values
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.patient import Patient

_MARK = "\u0300-\u036f"
APOSTROPHES: Final = "'’ʻʼ`"
WORD: Final = re.compile(rf"[^\W_](?:[^\W_]|[{_MARK}]|[{APOSTROPHES}](?=[^\W_]))*")
_HYPHENS: Final = ("-", "‐", "‑")
_HYPHENATED: Final = re.compile(rf"{WORD.pattern}(?:[-‐‑]{WORD.pattern})+")
#: An initial or a name and a name, without a space: JSmith, JohnSmith.
_GLUED: Final = re.compile(r"([A-Z]|[A-Z][a-z]+)([A-Z][a-z]+)")
_POSSESSIVE: Final = re.compile(rf"(?<=[^\W_]{{2}})[{APOSTROPHES}][sS]$")
_KINSHIP: Final = re.compile(r"(?<![^\W\d_])[sdwac]/[olp](?![^\W\d_])", re.I)  # s/o, d/o, w/o, a/l, a/p: son of
_SUFFIXES: Final = frozenset(particles("surrogate-suffix"))
_TITLES: Final = frozenset(titles("surrogate"))
_KIN: Final = frozenset(kin("address"))
_CREDENTIALS: Final = credential_keys("surrogate")
_PARTICLES: Final = frozenset(particles("surrogate"))
#: Particles also when capitalised at the start of a name. The others are given names there (Al, Ben, Do, Le).
_FIRM_PARTICLES: Final = frozenset(particles("firm"))
_ARTICLES: Final = frozenset({"al", "el"})  # of Arabic names
_IRISH: Final = frozenset({"ni", "nic", "ui"})  # before the changed beginning of an Irish family name: Ní Dhomhnaill
_LENITED: Final = re.compile("[bcdfgmpst]h")
_UNIDENTIFIED: Final = frozenset(particles("unidentified"))

_NEWBORN: Final = frozenset("baby boy girl bb bg twin infant newborn babyboy babygirl".split())
#: Particles that are also given names of English speakers.
_GIVEN_PARTICLES: Final = frozenset(particles("given"))

GIVEN: Final = "given"
FAMILY: Final = "family"
INITIAL: Final = "initial"
KEPT: Final = "kept"

_FAMILY_FIRST: Final = frozenset({"chinese", "korean", "vietnamese", "hmong", "khmer", "japanese", "hungarian"})
_SYLLABIC_WORDS: Final = 3  # a family name and the two syllables of a given name
LONGEST_NAME_CHARS: Final = 200  # a longer span is not a name: it is scrambled, in linear time


@dataclass(frozen=True, slots=True)
class Part:
    """A word ``[start, end)`` of a mention, its normal form, and its role: a constant above, or empty if unknown."""

    start: int
    end: int
    form: str = field(repr=False)
    role: str


def is_listed(form: str) -> bool:
    """Return whether a normal form is that of a listed given name, family name or nickname."""
    known = names()
    return form in known.given or form in known.family or form in known.formals_of or form in known.abbreviated


def _words(value: str) -> Iterator[tuple[int, int]]:
    """Yield the half-open offsets of the words of a name.

    A listed hyphenated given name (Mei-Ling) is one word. So are the two syllables of a given name beside a family name
    of the same culture (Park Soo Jin). Two words written as one are two: an initial or a listed name, and then a listed
    name (JSmith, JohnSmith).
    """
    words: list[tuple[int, int]] = []
    place = 0
    while found := WORD.search(value, place):
        whole = _HYPHENATED.match(value, found.start())
        if whole and _is_one_name(whole[0]):
            found = whole
        words.extend(_unglued(found))
        place = found.end()
    at = _syllables_at(value, words) if len(words) == _SYLLABIC_WORDS else None
    yield from words if at is None else [*words[:at], (words[at][0], words[at + 1][1]), *words[at + 2 :]]


def _unglued(found: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the offsets of one word, or of the two words that were written as one."""
    start, end = found.span()
    glued = _GLUED.fullmatch(_POSSESSIVE.sub("", found[0]))
    if glued and not is_listed(normal_form(glued[0])):
        first, second = glued.groups()
        if is_listed(normal_form(second)) and (len(first) == 1 or is_listed(normal_form(first))):
            yield start, start + len(first)
            start += len(first)
    yield start, end


def _syllables_at(value: str, words: Sequence[tuple[int, int]]) -> int | None:
    known = names()
    for first, other in ((0, 2), (1, 0)):
        together = value[words[first][0] : words[first + 1][1]]
        family = known.family.get(normal_form(value[slice(*words[other])]))
        if family and "-" not in together and syllabic_culture(together) == family.culture:
            return first
    return None


def _is_one_name(hyphenated: str) -> bool:
    """Return whether a hyphenated word is one given name that has surrogates of the same form."""
    listed = names().given.get(normal_form(hyphenated))
    if listed is not None and hyphenated.count("-") == listed.pool[0].count("-"):
        return True
    return bool(syllabic_culture(hyphenated))


def syllabic_culture(word: str) -> str:
    """Return the culture whose given names have two syllables like those of ``word`` (Min-ji), or an empty string."""
    parts = [normal_form(part) for part in re.split("[- ]", word)]
    if len(parts) != 2 or max(map(len, parts)) < 2:  # A-O are initials
        return ""
    return next((culture for culture, known in names().syllables.items() if known.keys() >= set(parts)), "")


def _is_initials(word: str, *, alone: bool, is_shouted: bool) -> bool:
    """Return whether a word of a name is a set of initials (``JS``, ``tlh``).

    When all words are in capitals (``is_shouted`` and not ``alone``), the letter case does not help. There, a word with
    a vowel is a name.
    """
    if len(word) == 1:
        return True
    if len(word) > 4 or not word.isalpha():
        return False
    if not (word.isupper() or word.islower()):
        return False
    if normal_form(word) in names().abbreviated:  # WM SMITH; WM alone is a set of initials
        return alone
    if len(word) == 2:
        is_nickname = word.islower() and word in names().formals_of  # ed is the nickname Ed
        return (alone and not is_nickname) or not is_listed(normal_form(word))
    if len(word) == 4 or (is_shouted and not alone):
        return word.isupper() and not re.search("[AEIOUY]", word) and not is_listed(normal_form(word))
    return not is_listed(normal_form(word))


def certain_role(patient: Patient, form: str) -> str:
    """Return the role that the record or the lists give a word in any position, or an empty string."""
    role = patient.roles.get(form)
    if role:
        return role
    known = names()
    is_given = form in known.given or form in known.formals_of or form in known.abbreviated
    is_family = form in known.family
    if is_given != is_family:
        return GIVEN if is_given else FAMILY
    return ""


_FAMILIES: Final[tuple[Holds, Holds]] = ("former", "family")
#: Former names come after the current family names.
_ROLE_OF_FIELDS: Final = (
    (FAMILY, (*fields_that_hold("family"), *fields_that_hold("former"))),
    (GIVEN, fields_that_hold("given")),
)


def record_roles(record: Mapping[str, str]) -> dict[str, str]:
    """Return the role of each word of the names in a patient's record, by normal form."""
    roles: dict[str, str] = {}
    for role, fields in _ROLE_OF_FIELDS:
        for value in (one for name in fields for one in record_values(record.get(name, "")[:LONGEST_NAME_CHARS])):
            for place, (start, end) in enumerate(_words(value)):
                form = normal_form(value[start:end])
                is_name = form == normal_form(value.strip()) or (  # Du, Van; Della Mae
                    role == GIVEN and place == 0 and form in _GIVEN_PARTICLES
                )
                if len(form) > 1 and (is_name or form not in _PARTICLES) and form not in _UNIDENTIFIED:
                    roles[form] = role
    return roles


def former_forms(record: Mapping[str, str]) -> frozenset[str]:
    """Return the normal forms of words of the patient's former names that are not also in the current family name."""
    former, today = (
        {
            normal_form(value[start:end])
            for name in fields_that_hold(holds)
            for value in record_values(record.get(name, "")[:LONGEST_NAME_CHARS])
            for start, end in _words(value)
        }
        for holds in _FAMILIES
    )
    return frozenset(former - today)


def parse(patient: Patient, value: str) -> list[Part]:
    """Return the words of a mention with their roles, in order.

    The comma, the letter case and the position of initials distinguish ``Family, Given M``, ``FAMILY Given``, ``Given M
    Family`` and ``Family G M``. The record and the lists have priority over the position of a word.
    """
    spans = list(_words(value))
    comma = value.find(",")
    words = [_POSSESSIVE.sub("", value[start:end]) for start, end in spans]
    forms = [normal_form(word) for word in words]
    roles = [""] * len(words)
    for index, form in enumerate(forms):
        if not form or (form not in patient.roles and _is_kept(value, spans, words, index)):
            roles[index] = KEPT
    for relation in _KINSHIP.finditer(value):
        for index, (start, end) in enumerate(spans):
            if relation.start() <= start and end <= relation.end():
                roles[index] = KEPT
    names_left = [index for index, role in enumerate(roles) if not role]
    alone = len(names_left) == 1
    for index in names_left:
        if _is_initials(words[index], alone=alone, is_shouted=value.isupper()):
            roles[index] = INITIAL
    full = [index for index in names_left if roles[index] != INITIAL]
    if len(full) == 1 and len(names_left) == 1:
        roles[full[0]] = certain_role(patient, forms[full[0]])
    else:
        for index in full:
            roles[index] = certain_role(patient, forms[index]) or _place_role(
                value, spans, words, full, names_left, comma, index
            )
        if comma < 0 and (told := _told_by_case(words, full)):
            roles = [
                told.get(index, role) if patient.roles.get(form) != role else role
                for index, (form, role) in enumerate(zip(forms, roles, strict=True))
            ]
        if len(full) > 1 and len({roles[index] for index in full}) == 1 and not _is_one_word(value, spans, full):
            # Two given names or two family names in a row: here, the position is more reliable than the lists.
            for index in (full[0], full[-1]):
                roles[index] = _place_role(value, spans, words, full, names_left, comma, index)
        if comma < 0 and len(full) > 1 and _is_family_first([forms[index] for index in full], words[full[-1]]):
            roles[full[0]] = FAMILY
            roles[full[-1]] = GIVEN
    return [
        Part(start, start + len(word), form, role)
        for (start, _), word, form, role in zip(spans, words, forms, roles, strict=True)
    ]


def _is_family_first(forms: Sequence[str], last: str) -> bool:
    """Return whether the words are a family name and then a given name of a culture with the family name first."""
    known = names()
    family, given = known.family.get(forms[0]), known.given.get(forms[-1])
    if family is None or family.culture not in _FAMILY_FIRST or forms[-1] in known.family:
        return False
    return bool(syllabic_culture(last)) or (given is not None and given.culture == family.culture)


def _is_kept(value: str, spans: Sequence[tuple[int, int]], words: Sequence[str], index: int) -> bool:
    """Return whether a word is a suffix, title, degree or particle, which are kept unchanged."""
    word, form, last = words[index], normal_form(words[index]), len(words) - 1
    if form in _SUFFIXES and index:
        return True
    if form in _IRISH and index < last and _LENITED.match(normal_form(words[index + 1])):
        return True
    if (form in _UNIDENTIFIED and last > 0) or (form in _KIN and index == 0 and last > 0):
        return True
    if form in _NEWBORN and index < min(last, 3) and normal_form(words[0]) in _NEWBORN:  # Baby Boy Quist
        return True
    if form in _TITLES and index == 0 and last > 0 and not word.isupper():
        return True
    if form in _CREDENTIALS and index > 1 and index == last and word.isupper() and form != "do":
        return True
    return _is_particle(value, spans, words, index)


def _is_particle(value: str, spans: Sequence[tuple[int, int]], words: Sequence[str], index: int) -> bool:
    form, spelt = normal_form(words[index]), words[index].lower()
    if spelt != form and spelt in _FIRM_PARTICLES and index + 1 < len(words):
        return True  # Ó, unlike O. before a name
    if form not in _PARTICLES or index + 1 == len(words):
        return False
    if form in _ARTICLES and _is_arabic(normal_form(words[index + 1])):
        return True
    # La, Minh: a particle stands directly before a name, without a comma
    if "," in value[spans[index][1] : spans[index + 1][0]]:
        return False
    if index == 0 and not words[0].islower():
        culture = _culture_of_family(words[1])
        if culture in _FAMILY_FIRST:  # Van Nguyen, Di Wu
            return False
        # Given names: Della Smith, Della Mae Smith, Van Johnson. Not Van Buren, a listed family name.
        second = normal_form(words[1])
        is_name = culture == "english" or second in names().given
        if form in _GIVEN_PARTICLES and is_name and form + second not in names().family:
            return False
    if form not in _FIRM_PARTICLES and words[index].islower() and not value.islower():
        return True
    if value[spans[index][1] : spans[index + 1][0]] == "-" and form in ("al", "el", "bin", "ibn", "abu"):
        return True
    return form in _FIRM_PARTICLES


def _is_arabic(form: str) -> bool:
    listed = names().family.get(form) or names().given.get(form)
    return listed is not None and listed.culture == "arabic"


def _culture_of_family(word: str) -> str:
    listed = names().family.get(normal_form(word))
    return listed.culture if listed else ""


def _told_by_case(words: Sequence[str], full: Sequence[int]) -> dict[int, str]:
    """Return the roles of full words if only the family name is in capitals (Bede Lorcan FITZALAN), else nothing."""
    shouted = [index for index in full if words[index].isupper() and len(words[index]) > 1]
    is_told = 0 < len(shouted) < len(full)
    return {index: FAMILY if index in shouted else GIVEN for index in full} if is_told else {}


def _is_one_word(value: str, spans: Sequence[tuple[int, int]], full: Sequence[int]) -> bool:
    """Return whether the full words are the parts of one hyphenated word."""
    return len(full) > 1 and all(
        right == left + 1 and value[spans[left][1] : spans[right][0]] in _HYPHENS for left, right in pairwise(full)
    )


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
    if told := _told_by_case(words, full):
        return told[index]
    if full[0] > every[0] and _is_one_word(value, spans, full):  # M. Duval-Okafor
        return FAMILY
    if index != full[0] and value[spans[index - 1][1] : spans[index][0]] in _HYPHENS:
        return FAMILY if full[0] != index - 1 or len(full) == 2 else GIVEN
    if len(full) == 1:
        # Family names: J. Smith, and Warsame H A. The lists already gave Sheri in "Sheri W" its role.
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
    hyphen_after = value[spans[index][1] : spans[index][1] + 1] in _HYPHENS
    return FAMILY if index == full[-1] or hyphen_after else GIVEN

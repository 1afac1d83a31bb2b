"""The people that the record and the notes name: their full names, the role of each word, and its spelling."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Final

from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.name_parts import (
    APOSTROPHES,
    FAMILY,
    GIVEN,
    INITIAL,
    LONGEST_NAME_CHARS,
    Part,
    former_forms,
    is_listed,
    parse,
    syllabic_culture,
)
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.patient import Patient
from deid_runtime.surrogates.spellings import usual_spellings
from deid_runtime.surrogates.unlisted import is_one_slip

_JOINT: Final = re.compile(rf"[-‐‑ {APOSTROPHES}]")
_HALVES: Final = re.compile(r"[- ]")  # of a given name of two syllables
_CALLED: Final = re.compile(r"[^\W\d_] ?[(\"“][^\W\d_]")  # Philomena "Pip"
_HANDLE_WORD: Final = re.compile(r"[^\W\d_]+")
_LEAST_HANDLE_WORD_CHARS: Final = 3
_MOST_PERSONS: Final = 200  # full names searched for initials: limits the time for a long staff list
_NEARBY_NAMES: Final = 60  # how many names of a note are tried as the source of a misspelling
_LEAST_SLIP_CHARS: Final = 5  # shorter names are one letter away from too many other names
_RARE_LEVEL: Final = 3  # a listed name up to this level may be a misspelling
_CLEARLY_MORE: Final = 4  # levels: 256 times as frequent
_LEAST_WORD_CHARS: Final = 3  # shorter parts of a name (O', Li) may belong to other people


@dataclass(frozen=True, slots=True)
class Person:
    """A full name found in the record or the note, as normal forms."""

    given: tuple[str, ...] = field(repr=False)
    family: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class People:
    """The known people: full names in order, those of the record first, and the role of each word in them."""

    persons: tuple[Person, ...] = field(default=(), repr=False)
    roles: Mapping[str, str] = field(default_factory=dict, repr=False)
    marks: Mapping[str, int] = field(default_factory=dict, repr=False)  # normal form -> index of the apostrophe
    words: frozenset[str] = field(default=frozenset(), repr=False)  # words used as names, so not initials
    syllables: Mapping[str, str] = field(default_factory=dict, repr=False)  # half of a given name -> its culture
    halves: Mapping[str, tuple[str, str]] = field(default_factory=dict, repr=False)  # given name -> its two halves
    sexes: Mapping[str, str] = field(default_factory=dict, repr=False)  # nickname -> the sex of the name beside it
    parsed: Mapping[str, Sequence[Part]] = field(default_factory=dict, repr=False)  # mention -> its parts
    # normal form -> the spelling that the others follow
    spellings: Mapping[str, str] = field(default_factory=dict, repr=False)
    # normal form of a misspelt name -> that of the right spelling, which the record or the notes also have
    misspelt: Mapping[str, str] = field(default_factory=dict, repr=False)
    # normal form of a name -> the first choice to try, where its first one would give clinical initials
    first_attempts: Mapping[str, int] = field(default_factory=dict, repr=False)
    # Caches, which never change a result: (word, attempt) -> its choice; (word, originals) -> its surrogate.
    chosen: dict[tuple[str, int], str] = field(default_factory=dict, init=False, repr=False, compare=False)
    made: dict[tuple[str, frozenset[str]], str] = field(default_factory=dict, init=False, repr=False, compare=False)


def find_people(patient: Patient, mentions: Iterable[str], handles: Iterable[str] = ()) -> People:
    """Return the people that the record and the name mentions of a note identify, in their order.

    ``handles`` are usernames and local parts of e-mail addresses: anna.kowalski also names a person.
    """
    own = _own_persons(patient)
    parsed = {value: parse(patient, value) for value in dict.fromkeys(mentions) if len(value) <= LONGEST_NAME_CHARS}
    parsed.update(_told_initials(own, parsed))
    read = _Mentions(persons=own, words=set(patient.roles))
    for value, parts in parsed.items():
        read.add(value, parts)
    # Lam Wai Lam: as a family name it has the surrogate that it has in the notes without such a given name.
    families = {form for form, role in (*read.roles.items(), *patient.roles.items()) if role == FAMILY}
    known = {word for person in read.persons for word in (*person.given, *person.family)}
    of_handles = list(_of_handles(handles, known))
    for person in of_handles:
        read.add_handle(person)
    return People(
        persons=tuple(read.persons + read.by_initial + of_handles)[:_MOST_PERSONS],
        roles=read.roles,
        marks=read.marks,
        words=frozenset(read.words),
        syllables={form: culture for form, culture in read.syllables.items() if form not in families},
        halves=read.halves,
        sexes=read.sexes,
        parsed=parsed,
        spellings=usual_spellings(parsed),
        misspelt=_misspelt(patient, tuple(read.nearby)[:_NEARBY_NAMES], read.words),
    )


def _own_persons(patient: Patient) -> list[Person]:
    """Return the patient once for each family name, so that initials of the current and the former name are found."""
    given = tuple(form for form, role in patient.roles.items() if role == GIVEN)
    family = tuple(form for form, role in patient.roles.items() if role == FAMILY)
    former = former_forms(patient.record)
    each = (tuple(form for form in family if form not in former), tuple(form for form in family if form in former))
    return [Person(given, forms) for forms in each if given and forms]


@dataclass(slots=True, repr=False)
class _Mentions:
    """The facts of the mentions read so far, with the names of :class:`People`.

    ``by_initial`` are people without a full given name. ``nearby`` has the listed names, each once, in order.
    """

    persons: list[Person]
    words: set[str]
    by_initial: list[Person] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    nearby: dict[str, None] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)
    sexes: dict[str, str] = field(default_factory=dict)
    syllables: dict[str, str] = field(default_factory=dict)
    halves: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, value: str, parts: Sequence[Part]) -> None:
        """Add the mention ``value``, which has ``parts``."""
        self._add_words(value, parts)
        given = tuple(names().abbreviated.get(part.form, part.form) for part in parts if part.role == GIVEN)
        if len(given) > 1 and _CALLED.search(value) and (sex := _sex_of(given[0])):
            self.sexes.update(dict.fromkeys(given[1:], sex))
        if len(parts) > 1:
            for part in parts:
                if part.role in (GIVEN, FAMILY):
                    self.roles.setdefault(names().abbreviated.get(part.form, part.form), part.role)
        self._add_person(given, parts)

    def add_handle(self, person: Person) -> None:
        """Add the words and roles of a person whose name is a username."""
        for role, forms in ((GIVEN, person.given), (FAMILY, person.family)):
            self.words.update(form for form in forms if len(form) > 1)
            for form in forms:
                self.roles.setdefault(form, role)

    def _add_words(self, value: str, parts: Sequence[Part]) -> None:
        """Add the apostrophes, normal forms, syllables and listed names of the words of a mention."""
        for part in parts:
            word = value[part.start : part.end]
            if place := apostrophe_of(word):
                self.marks[part.form] = place
            if part.role in (GIVEN, FAMILY, ""):
                self.words.update(forms_of(word))
            if culture := syllabic_culture(word):
                first, second = map(normal_form, _HALVES.split(word))
                self.halves[first + second] = (first, second)
                self.syllables.update({first: culture, second: culture})
            if part.role in (GIVEN, FAMILY) and is_listed(part.form):
                self.nearby[part.form] = None

    def _add_person(self, given: tuple[str, ...], parts: Sequence[Part]) -> None:
        """Add the person of a mention with at least two names, or with an initial and a family name."""
        family = tuple(part.form for part in parts if part.role == FAMILY)
        if family and not given and parts[0].role == INITIAL:
            self.by_initial.append(Person(tuple(parts[0].form), family))
        elif len(family) > 1 and not given:  # PL for Paget-Lewis
            self.by_initial.append(Person(family[:1], family[1:]))
        if given and family:
            self.persons.append(Person(given, family))


def _misspelt(patient: Patient, nearby: Iterable[str], words: Iterable[str]) -> dict[str, str]:
    """Return the words that are one slip away from a name of the record, or from a listed name of the notes.

    A listed word must be rare, and the right spelling clearly more frequent: Smyth beside Smith is another person.
    """
    sources = {
        form: _level(form) for form in dict.fromkeys((*patient.roles, *nearby)) if len(form) >= _LEAST_SLIP_CHARS
    }
    found = {}
    for form in words:
        if len(form) < _LEAST_SLIP_CHARS - 1 or form in patient.roles or not form.isalpha():
            continue
        level = _level(form)
        if level > _RARE_LEVEL:
            continue
        right = next(
            (
                source
                for source, of_source in sources.items()
                if (level < 0 or of_source >= level + _CLEARLY_MORE) and is_one_slip(form, source)
            ),
            "",
        )
        if right:
            found[form] = right
    return found


def _sex_of(form: str) -> str:
    """Return F or M for a given name of one sex, else an empty string."""
    listed = names().given.get(form)
    return listed.sex if listed is not None and listed.sex in ("F", "M") else ""


def _level(form: str) -> int:
    """Return the level of a listed name, 0 to 9, or -1 for a name in no list."""
    listed = names().listed(form)
    return -1 if listed is None else listed.level


def _of_handles(handles: Iterable[str], known: Set[str]) -> Iterator[Person]:
    """Yield the people of handles that are a given name and a family name, neither of them ``known`` already."""
    for handle in handles:
        words = [normal_form(word) for word in _HANDLE_WORD.findall(handle)]
        if len(words) != 2 or min(map(len, words)) < _LEAST_HANDLE_WORD_CHARS or not known.isdisjoint(words):
            continue
        lists = names()
        for given, family in (words, words[::-1]):
            is_given = given in lists.given or given in lists.formals_of
            if is_given and (family in lists.family or family not in lists.given):
                yield Person((given,), (family,))
                break


def _told_initials(own: Sequence[Person], parsed: Mapping[str, Sequence[Part]]) -> dict[str, list[Part]]:
    """Return the lone words in capitals that are listed names but are initials here, with the role of initials.

    They are the first letters of a full name: RAS for Renard Achebe-Stolz.
    """
    full = {_first_letters(person.given + person.family) for person in own}
    is_name: set[str] = set()  # words beside other words, or not in capitals
    for value, parts in parsed.items():
        given, family = ([part.form for part in parts if part.role == role] for role in (GIVEN, FAMILY))
        if given and family:
            full.add(_first_letters((*given, *family)))
        if len(parts) > 1 or not value.isupper():
            is_name.update(part.form for part in parts)
    return {
        value: [replace(parts[0], role=INITIAL)]
        for value, parts in parsed.items()
        if len(parts) == 1 and len(value) > 2 and value.isupper() and parts[0].form in full - is_name
    }


def _first_letters(forms: Iterable[str]) -> str:
    return "".join(form[0] for form in forms)


def forms_of(word: str) -> set[str]:
    """Return the normal form of a name and of its parts that have at least 3 characters."""
    pieces = (normal_form(piece) for piece in _JOINT.split(word))
    return {piece for piece in pieces if len(piece) >= _LEAST_WORD_CHARS} | {normal_form(word)} - {""}


def apostrophe_of(word: str) -> int:
    """Return the index of the first apostrophe of a word; 0 when there is none."""
    return next((place for place, char in enumerate(word) if char in APOSTROPHES), 0)

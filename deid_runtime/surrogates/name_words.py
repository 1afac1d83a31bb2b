"""The surrogate of one word of a name.

The surrogate of a listed name has the same culture, sex, form and frequency. An unlisted name gets a new name of its
likely culture (one in six gets a listed name), and a misspelt name the surrogate of the right spelling, misspelt in the
same way. Each pool of names has a keyed permutation, so two listed names of a patient get two surrogates.
"""

import re
from collections.abc import Callable
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.surrogates.alphabets import from_latin, in_latin
from deid_runtime.surrogates.coined import coin
from deid_runtime.surrogates.forms import normal_form, scramble, without_accents
from deid_runtime.surrogates.name_parts import (
    APOSTROPHES,
    FAMILY,
    GIVEN,
    is_listed,
    syllabic_culture,
)
from deid_runtime.surrogates.name_pools import Listed, names
from deid_runtime.surrogates.patient import ATTEMPTS, Patient
from deid_runtime.surrogates.people import People, apostrophe_of, forms_of
from deid_runtime.surrogates.spellings import joined_like
from deid_runtime.surrogates.unlisted import draw, likely_key, nearest, same_slip
from deid_runtime.surrogates.word_names import word_name

#: One unlisted name in six gets a listed surrogate, so that fewer than two words of a hundred are in no list.
_LISTED_OF: Final = 6
_LARGE: Final = ("english", "")  # the pool of names that is used when another is exhausted
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
_ALPHABETS: Final = frozenset({"cyrillic", "greek script"})
_VOWELS: Final = "aeiouy"
_COMMON_LETTERS: Final = "abcdefghijklmnoprstvw"
_RARE_LETTERS: Final = "quxyz"


def word_surrogate(patient: Patient, people: People, word: str, taken: frozenset[str]) -> str:
    """Return the surrogate of one given or family name, with the letter case of the lists and the hyphens and
    apostrophes of ``word``.

    Avoids ``taken`` and any part of ``word`` if possible; so do the parts of the surrogate.
    """
    key = (word, taken)
    made = people.made.get(key)
    if made is None:
        made = people.made[key] = _word_surrogate(patient, people, word, taken)
    return made


def _word_surrogate(patient: Patient, people: People, word: str, taken: frozenset[str]) -> str:
    own = forms_of(word)
    different = ""
    first = people.first_attempts.get(normal_form(word), 0)
    for attempt in range(first, first + ATTEMPTS):
        made = _candidate(patient, people, word, taken, attempt)
        if word.isascii() and not made.isascii():
            made = without_accents(made)
        found = forms_of(made)
        if found and found.isdisjoint(own):
            if found.isdisjoint(taken):
                return made
            different = different or made
    return _of_a_large_culture(patient, word, taken, own) or different or scramble(patient.keyed, "no name", word)


def _of_a_large_culture(patient: Patient, word: str, taken: frozenset[str], own: set[str]) -> str:
    """Return a name of a culture with many names, for a word whose own small culture is exhausted.

    Empty if none is free.
    A small pool is exhausted when the originals of a whole corpus are avoided.
    """
    if not word.isascii():
        return ""
    for attempt in range(ATTEMPTS):
        made = draw(patient.keyed, _LARGE, f"crowded/{attempt}", normal_form(word))
        found = forms_of(made)
        if made.isascii() and found.isdisjoint(taken) and found.isdisjoint(own):
            return made
    return ""


#: Particles or articles before an apostrophe (O'Hara, Fa'asavalu). They are too common to identify a person.
_ELISIONS: Final = frozenset({"o", "d", "l", "m", "n", "fa"})


def _candidate(patient: Patient, people: People, word: str, taken: frozenset[str], attempt: int) -> str:
    form = normal_form(word)
    listed = names().listed(form)
    mark = apostrophe_of(word)
    culture, syllables = _syllables_of(people, word, listed)
    if culture:
        made = "-".join(_syllable(patient, names().syllables[culture][each], taken, attempt) for each in syllables)
    else:
        made = choose(patient, people, form, attempt)
    has_mark = any(char in APOSTROPHES for char in made)
    if mark and form[:mark] in _ELISIONS and apostrophe_of(made) != mark:
        # N'Diaye: no surrogate with an apostrophe is known, so replace the part after the apostrophe as a separate
        # name.
        rest = word[mark + 1 :]
        return word[: mark + 1] + case_like(choose(patient, people, normal_form(rest), attempt), rest)
    if mark and not has_mark and mark < len(made) - 1:  # Isma'il
        return joined_like(f"{made[:mark]}{word[mark]}{made[mark:]}", word)
    known_mark = people.marks.get(form, 0)
    is_elision = form[:known_mark] in _ELISIONS and len(word) > known_mark
    if is_elision and not mark and not has_mark:  # the note writes the same name with an apostrophe elsewhere
        rest = word[known_mark:]
        return word[:known_mark] + choose(patient, people, normal_form(rest), attempt).lower()
    if has_mark and not mark:
        made = "".join(char for char in made if char not in APOSTROPHES)
    if has_mark and mark:
        made = "".join(word[mark] if char in APOSTROPHES else char for char in made)
    return joined_like(made, word)


def _syllables_of(people: People, word: str, listed: Listed | None) -> tuple[str, tuple[str, ...]]:
    """Return the culture and the syllables of a given name of two syllables (Mei-Ling, Soojin).

    A word that is half of such a name in the note also counts. Return an empty culture and no syllables for other
    names.
    """
    form = normal_form(word)
    if form in people.syllables:
        return people.syllables[form], (form,)
    if "-" in word or " " in word:
        culture = syllabic_culture(word)
        return culture, tuple(normal_form(part) for part in re.split("[- ]", word)) if culture else ()
    if listed is not None and "-" not in listed.pool[0]:
        return "", ()
    for culture, known in names().syllables.items():
        for place in range(2, len(form) - 1):
            if form[:place] in known and form[place:] in known:
                return culture, (form[:place], form[place:])
    return "", ()


def _syllable(patient: Patient, listed: Listed, taken: frozenset[str], attempt: int) -> str:
    """Return the surrogate of one syllable of a given name, the same one in all names of the patient."""
    own = listed.pool[listed.index]
    turns = (_permuted(patient, listed, attempt + turn) for turn in range(ATTEMPTS))
    found = [made for made in turns if made != own]
    return next((made for made in found if normal_form(made) not in taken), found[0])


def choose(patient: Patient, people: People, form: str, attempt: int) -> str:
    """Return the surrogate of a word of a name, given as its normal form. Does not check whether it is an original."""
    made = people.chosen.get((form, attempt))
    if made is None:
        made = people.chosen[form, attempt] = _choose(patient, people, form, attempt)
    return made


def _choose(patient: Patient, people: People, form: str, attempt: int) -> str:
    known = names()
    role = patient.roles.get(form) or people.roles.get(form, "")
    if not form.isascii() and (native := _of_other_alphabet(patient, people, form, attempt)):
        return native
    if form in people.misspelt:
        return _misspelt(patient, people, people.misspelt[form], form, attempt)
    if form in known.abbreviated:
        return _abbreviation(patient, people, known.abbreviated[form], attempt)
    formal = _formal_of(patient, people, form, role)
    key = ("name", role, form, formal, str(attempt))
    kept = patient.cache.get(key)
    if kept is not None:
        return kept
    if formal:
        return patient.remember(key, lambda: _nickname(patient, people, formal, form, attempt))
    listed = known.listed(form, is_family=role == FAMILY if role else None)
    if listed is not None:
        found = _of_known_sex(patient, people, form, listed)
        return patient.remember(key, lambda: _permuted(patient, found, attempt))
    return _unlisted(patient, people, form, attempt)


def _of_other_alphabet(patient: Patient, people: People, form: str, attempt: int) -> str:
    """Return the surrogate of a Cyrillic or Greek name whose Latin spelling is in the context, else ""."""
    for script, culture in _SCRIPT_POOLS:
        if culture in _ALPHABETS and script.search(form):
            latin = in_latin(form, culture)
            if latin and (latin in patient.roles or latin in people.words):
                made = choose(patient, people, latin, attempt + people.first_attempts.get(latin, 0))
                return from_latin(made, culture)
    return ""


def _formal_of(patient: Patient, people: People, form: str, role: str) -> str:
    """Return the formal name of a nickname (Bob: robert), or an empty string for other words.

    Of several (Ollie: Oliver, Olivia), the one of the patient or of another person of the context is used, else the
    first. A nickname that is a formal name itself (Lee) is one only where its formal name is known.
    """
    known = names()
    formals = known.formals_of.get(form, ())
    for found in formals:
        if patient.roles.get(found) == GIVEN:
            return found
    for found in formals:
        if found in people.words and people.roles.get(found, GIVEN) == GIVEN:
            return found
    if not formals or form in known.nicknames or (role == FAMILY and form in known.family):
        return ""
    recorded = patient.record.get("sex", "")[:1].upper() if patient.roles.get(form) == GIVEN else ""
    sex = recorded or people.sexes.get(form, "")
    of_sex = [found for found in formals if not sex or known.given[found].sex == sex]
    if not of_sex and known.listed(form):
        return ""  # the nickname of a name of the other sex is a separate name here (Chris, Sam)
    return of_sex[0] if of_sex else formals[0]


def _abbreviation(patient: Patient, people: People, formal: str, attempt: int) -> str:
    """Return the written abbreviation of the surrogate of ``formal``: Thos for Wm, or its first letters (Edm)."""
    made = choose(patient, people, formal, attempt + people.first_attempts.get(formal, 0))
    known = names().abbreviations.get(normal_form(made))
    if known:
        return known
    end = next((i for i in range(3, len(made)) if made[i - 1] not in _VOWELS and made[i] in _VOWELS), 4)
    return made[:end]


def _permuted(patient: Patient, listed: Listed, attempt: int) -> str:
    purpose = f"name/{listed.pool[0]}/{len(listed.pool)}/{attempt}"
    place = patient.keyed.permute(listed.index, len(listed.pool), purpose)
    return listed.pool[place]


def _of_known_sex(patient: Patient, people: People, form: str, listed: Listed) -> Listed:
    """Return ``listed``, unless it is listed for the other sex than its person has.

    The record tells the sex of the patient, and a given name that of the nickname beside it. In that case, return a
    place in the pool of this sex.
    """
    recorded = patient.record.get("sex", "")[:1].upper() if patient.roles.get(form) == GIVEN else ""
    sex = recorded or people.sexes.get(form, "")
    if sex not in ("F", "M") or listed.sex in ("", sex):
        return listed
    pool = names().pools.get((listed.culture, sex)) or names().pools["english", sex]
    return Listed(pool, listed.index % len(pool), listed.culture, sex)


def _nickname(patient: Patient, people: People, formal: str, form: str, attempt: int) -> str:
    known = names()
    made = normal_form(choose(patient, people, formal, attempt + people.first_attempts.get(formal, 0)))
    options = known.nicknames.get(made)
    if options is None:  # the record corrects the sex of the formal name
        made = normal_form(_permuted(patient, known.given[formal], attempt))
        options = known.nicknames[made]
    own = [normal_form(nickname) for nickname in known.nicknames[formal]]
    fitting = [name for name in options if normal_form(name) != made]
    return fitting[(own.index(form) if form in own else 0) % len(fitting)]


def _misspelt(patient: Patient, people: People, source: str, form: str, attempt: int) -> str:
    """Return the surrogate of ``source``, misspelt as ``form`` misspells it, and unlisted if possible."""
    base = choose(patient, people, source, attempt + people.first_attempts.get(source, 0))
    number = patient.keyed.number(f"slip/{attempt}", form) % 2
    return _odd(lambda turn: same_slip(source, form, base, turn if turn else number))


def _unlisted(patient: Patient, people: People, form: str, attempt: int) -> str:
    """Return the surrogate of an unlisted name.

    If ``form`` is made of words, so is the surrogate. If it misspells a name, it misspells the surrogate of that name;
    otherwise it is a name of the likely culture.
    """
    if form not in people.marks and (made := word_name(patient.keyed, form, attempt)):
        return made
    plain = form.translate(_DIGIT_LETTERS)
    source = plain if plain != form and is_listed(plain) else nearest(form)
    if source:
        return _misspelt(patient, people, source, form, attempt)
    may_be_listed = form not in people.marks and patient.keyed.number("unlisted becomes listed", form) % _LISTED_OF == 0
    return patient.remember(
        ("made up", form, str(attempt), str(may_be_listed)),
        lambda: _made_up(patient, form, attempt, is_of_list=may_be_listed),
    )


def _odd(spelling: Callable[[int], str]) -> str:
    """Return the first of the spellings 0 to 3 that is unlisted, else the spelling 0."""
    return next((odd for odd in map(spelling, range(4)) if not is_listed(normal_form(odd))), spelling(0))


def _made_up(patient: Patient, form: str, attempt: int, *, is_of_list: bool) -> str:
    """Return a new name of the culture that the letters or the script of an unlisted name suggest.

    With ``is_of_list``, or where no new name can be made, it is a listed name of that culture.
    """
    if len(form) <= 2:
        return "".join(surrogate_letter(patient, char, attempt) for char in form).capitalize()
    for script, culture in _SCRIPT_POOLS:
        if script.search(form):
            return _native(patient, culture, form, attempt)
    role = patient.roles.get(form)
    sex = patient.record.get("sex", "")[:1].upper() if role == GIVEN else ""
    key = likely_key(form, sex if sex in ("F", "M") else "")
    made = "" if is_of_list else coin(patient.keyed, key, form, attempt)
    return made or draw(patient.keyed, key, f"unlisted/{attempt}", form)


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


def surrogate_letter(patient: Patient, char: str, attempt: int) -> str:
    """Return a letter that replaces ``char`` when nothing better is known; never ``char`` itself."""

    def make() -> str:
        for letters in (_COMMON_LETTERS, _RARE_LETTERS):
            if char in letters:
                # Take the next letter on a keyed circle: distinct letters stay distinct, and no letter maps to itself.
                circle = patient.keyed.order(len(letters), f"letters/{len(letters)}")
                step = 1 + attempt % (len(letters) - 1)
                return letters[circle[(circle.index(letters.index(char)) + step) % len(letters)]]
        return scramble(patient.keyed, f"letter/{attempt}", char)

    return patient.remember(("letter", char, str(attempt)), make)


def letter_for(patient: Patient, char: str) -> str:
    """Return the letter that replaces a lone initial, in lower case."""
    return surrogate_letter(patient, char.lower(), 0)

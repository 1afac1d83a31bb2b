"""The words that take the place of the identifying words in names of facilities, organisations, streets and wards."""

from collections.abc import Callable, Sequence
from typing import Final

from deid_runtime.lexicon.word_codes import WORD, load_lexicon
from deid_runtime.surrogates.coined import coin
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.gazetteer import places
from deid_runtime.surrogates.known_words import is_known_word, is_ordinary_word, ordinary_words
from deid_runtime.surrogates.lists import phrases
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.patient import Patient
from deid_runtime.surrogates.words_by_locale import words_of

LEAST_POSSESSIVE: Final = 3  # characters
POSSESSIVE: Final = ("'s", "’s")
_CULTURES: Final = {"IN": "indian"}  # locale -> the culture that new words sound like, if not English
_LEAST_PLURAL: Final = 5  # characters: Cruikshanks is Cruikshank's, but Ross is not Ros's
_LETTER_TURNS: Final = 8  # number of draws to find a word with another first letter than the original


def new_words(
    patient: Patient, kind: str, words: Sequence[str], before: Sequence[str], form: str, attempt: int, locale: str
) -> list[str]:
    """Return about as many identifying words as ``words``, of the kind that the words before them suggest."""
    kind = "facility" if kind == "organization" else kind  # a clinic may be called both
    listed = words_of(locale)
    own = {normal_form(word) for word in words}

    def pick(options: Sequence[str], purpose: str, unwanted: Callable[[str], bool]) -> str:
        turns = (
            patient.keyed.pick(options, f"{kind} {purpose} {turn}/{attempt}", form) for turn in range(_LETTER_TURNS)
        )
        drawn = next(turns)
        while unwanted(drawn) and (another := next(turns, None)):
            drawn = another
        return drawn

    def pick_first(options: Sequence[str], purpose: str) -> str:
        # Avoid the first letter of the original: otherwise the surrogate might have the same abbreviation.
        return pick(options, purpose, lambda drawn: normal_form(drawn)[:1] == form[:1])

    last, ending = words[-1], _ending(words[-1])
    previous = next((token.lower() for token in reversed(before) if token[0].isalpha()), "")
    if previous in ("st", "saint", "ste", "san", "santa", "sainte", "st."):
        new = _new_word(patient, last.removesuffix(ending), attempt, locale)
        return [_ended(new or pick_first(phrases().saints, "saint"), ending)]
    if len(words) == 1 and (new := _new_word(patient, last.removesuffix(ending), attempt, locale)):
        if ending.lower() in POSSESSIVE and new.endswith("s"):  # nobody is called Eidennicks's
            new = new.rstrip("s")
        return [_ended(new, ending)]
    if kind == "street" and len(words) == 1:
        return [_ended(pick_first(listed.streets, "name"), ending)]
    if len(words) == 1:
        is_person = normal_form(last.removesuffix(ending)) in names().family or ending or previous == "and"
        is_person = is_person or "&" in before
        if kind == "place":
            options: Sequence[str] = listed.wards
        else:
            options = names().pools["english", ""] if is_person else listed.singles
        return [_ended(pick_first(options, "single"), ending)]
    if len(words) == 2 and kind == "facility" and (person := _person(patient, words, attempt)):
        return person
    first = _new_word(patient, words[0], attempt, locale) or pick_first(listed.firsts, "first")
    feature = _new_word(patient, last.removesuffix(ending), attempt, locale)
    feature = feature or pick(listed.features, "feature", lambda drawn: drawn == first or normal_form(drawn) in own)
    return [first, *_middle(patient, kind, words, form, attempt, locale), _ended(feature, ending)]


def _person(patient: Patient, words: Sequence[str], attempt: int) -> list[str]:
    """Return another given and family name for a facility called after a person; empty for other names."""
    lexicon, lists = load_lexicon(), names()
    forms = [normal_form(word) for word in words]
    if any(not form.isalpha() or lexicon.get(form, 0) & WORD for form in forms):
        return []
    given, family = lists.given.get(forms[0]), lists.family.get(forms[1])
    if given is None or family is None or forms[1] in places().areas_of_town:
        return []
    return [
        patient.keyed.pick(of.pool, f"person {place}/{attempt}", form)
        for place, (of, form) in enumerate(zip((given, family), forms, strict=True))
    ]


def _new_word(patient: Patient, word: str, attempt: int, locale: str) -> str:
    """Return a new name for a word in no list, as for people (:mod:`~deid_runtime.surrogates.coined`).

    Return another ordinary word for one that names of organisations have or that is in lower case (the quilting room),
    and an empty string for other words.
    """
    form = normal_form(word)
    if form in ordinary_words() or (word.islower() and is_ordinary_word(form)):
        return patient.keyed.pick(phrases().offered, f"ordinary word/{attempt}", form)
    return "" if is_known_word(form) else coin(patient.keyed, (_CULTURES.get(locale, "english"), ""), form, attempt)


def _ending(word: str) -> str:
    """Return the possessive ending of a word; it may lack its apostrophe after a family name (Cruikshanks)."""
    if word[-2:].lower() in POSSESSIVE:
        return word[-2:] if len(word) > LEAST_POSSESSIVE else ""
    family = names().family
    is_plural = len(word) >= _LEAST_PLURAL and word[-1] in "sS" and normal_form(word) not in family
    return word[-1] if is_plural and normal_form(word[:-1]) in family else ""


def _ended(word: str, ending: str) -> str:
    """Return ``word`` with an ending from :func:`_ending`; a plural keeps its one ``s`` (*Heights*)."""
    return word if len(ending) == 1 and word[-1:] in "sS" else word + ending


def _middle(patient: Patient, kind: str, words: Sequence[str], form: str, attempt: int, locale: str) -> list[str]:
    """Return the words between the first and the last word of a name of more than two: at most two family names."""
    pool = names().pools["english", ""]
    return [
        _new_word(patient, word, attempt, locale) or patient.keyed.pick(pool, f"{kind} middle {n}/{attempt}", form)
        for n, word in enumerate(words[1:-1][:2])
    ]

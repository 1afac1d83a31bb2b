"""Rules that decide whether a run of name-like words is a person: by a cue, by its words, or by the words after it.

The rules are tried from the surest to the least sure. The words of a person are not used again by later rules.
"""

from collections.abc import Sequence
from typing import Final

from deid_runtime.detectors.clinical.generic import is_sure_role
from deid_runtime.detectors.people import cues
from deid_runtime.detectors.people.cue_before import cue_before
from deid_runtime.detectors.people.cued import by_credential, by_cue
from deid_runtime.detectors.people.pairs import inverted, pair
from deid_runtime.detectors.people.run import FoundPerson, Run, is_new
from deid_runtime.detectors.people.words import Case, Facts, NameGrade, Word, read_words
from deid_runtime.lexicon.clinical_forms import has_clinical_form
from deid_runtime.lexicon.name_cues import is_function_word
from deid_runtime.lexicon.name_slots import does_what_only_people_do
from deid_runtime.lexicon.tables import listed_words
from deid_runtime.lexicon.word_codes import EPONYM, PLACE
from deid_runtime.spans import Span

#: Minimum score of a person that the rules are sure of. A weaker person ranks below the models and is not propagated.
_SURE: Final = 0.7

#: Words that are rarer as names than as words, but mean a person before what only people do: *Will says*.
_NAMES_THOUGH_WORDS: Final = frozenset(listed_words("person_cues", "name-though-word"))
#: Words that the lists of names have, and that mean any person, or no one, before what people do: *Baby slept*.
_NO_NAMES: Final = frozenset(listed_words("person_cues", "no-name"))
_SHORTEST_ALONE: Final = 4  # characters of a name that needs no evidence beside it: Ana is also a test, Lor a loss
#: Endings of drugs: such an unlisted word is not a name.
_DRUG_ENDS: Final = ("mab", "nib", "pril", "olol", "statin", "azole", "cillin", "mycin", "vir")
#: Words before a lower-case word in no list that allow it to begin a name.
_BEFORE_NEW: Final = cues.TITLES | cues.KIN | cues.PATIENT_LABELS | cues.STAFF_LABELS | cues.GREETINGS | {"is"}
#: Words before a family name (or a town of that name) that ends its phrase: *discussed with Rodriguez, who*.
_BEFORE_FAMILY: Final = frozenset({"at", "by", "from", "in", "near", "to", "with"})


def find_in(text: str) -> list[Span]:
    """Return the people of one text, sorted and disjoint."""
    words = read_words(text)
    found: list[Span] = []
    at = 0
    while at < len(words):
        if not _may_begin(words, at) or is_sure_role(text[words[at].start : words[at].end]):
            at += 1
            continue
        person = _person(Run(text, words, at))
        if person is None:
            at += 1
            continue
        label = "DOCTOR" if person.is_staff else "HOSPITAL" if _is_visited(text, words, person) else "PATIENT"
        last = _without_credentials(text, words, person)
        found.append(Span(words[person.first].start, words[last].end, label, person.score, (_source(person),)))
        at = person.last + 1
    return found


def _is_visited(text: str, words: Sequence[Word], person: FoundPerson) -> bool:
    """Return whether two or more names after *at* are the name of a facility: *seen at Kaiser San Rafael*."""
    if not 0 < person.first < person.last:
        return False
    before, first = words[person.first - 1], words[person.first]
    return before.facts.key == "at" and text[before.end : first.start] == " " and first.facts.case is Case.TITLE


def _is_place_first(facts: Facts) -> bool:
    """Return whether a place is meant more often than a person: *Paris*, but not *David*, a town in Panama."""
    return bool(facts.code & PLACE) and facts.given < 3


def _is_given_name(facts: Facts) -> bool:
    """Return whether a capitalised word is a person also where the models deny it: *Why is David so tired*."""
    return facts.given >= max(facts.family, 2) and not _is_place_first(facts)


def _source(person: FoundPerson) -> str:
    if person.is_by_name:
        return "rule:people:alone"
    return "rule:people" if person.score >= _SURE else "rule:people:weak"


def _without_credentials(text: str, words: Sequence[Word], person: FoundPerson) -> int:
    """Return the last word of a person without credentials after a comma, such as ``MD`` in ``Ann Holm, MD``."""
    last = person.last
    while (
        last > person.first
        and words[last].facts.key in cues.CREDENTIALS
        and words[last].facts.case is Case.CAPS
        and "," in text[words[last - 1].end : words[last].start]
    ):
        last -= 1
    return last


def _may_begin(words: Sequence[Word], at: int) -> bool:
    """Return whether a name may begin with this word. This quick check saves running the rules on most words."""
    facts = words[at].facts
    if facts.grade is NameGrade.NONE or facts.key in cues.TITLES:
        return False
    if facts.case is not Case.LOWER or facts.grade is NameGrade.STRONG:
        return True
    if at and (
        words[at - 1].facts.key in cues.TITLES
        or (facts.grade is NameGrade.UNKNOWN and words[at - 1].facts.key in _BEFORE_NEW)
    ):
        return True
    if at + 1 == len(words):
        return False
    grade = words[at + 1].facts.grade
    return grade is NameGrade.STRONG or (
        facts.grade is NameGrade.UNKNOWN and words[at + 1].facts.key in cues.CREDENTIALS
    )


def _person(run: Run) -> FoundPerson | None:
    """Return the person that begins with the first word of the run, or None."""
    if run.facts(run.first).grade is NameGrade.PARTICLE and run.case is not Case.LOWER and run.last == run.first:
        return None
    cue, is_staff = cue_before(run.text, run.words, run.first)
    return (
        inverted(run, cue, is_staff)
        or by_cue(run, cue, is_staff)
        or by_credential(run)
        or pair(run)
        or _alone(run)
        or _unlisted(run)
        or _acting_word(run)
        or _by_weak_cue(run)
        or _bare(run)
        or _only_name(run)
        or _in_list(run)
    )


def _alone(run: Run) -> FoundPerson | None:
    """Return a listed name that stands alone and acts or owns something, or None."""
    if run.last != run.first:
        return None
    facts = run.facts(run.first)
    if run.case is not Case.TITLE and (
        facts.given < 2 or facts.given < facts.family or facts.word or len(facts.key) < 4
    ):
        return None
    if facts.grade is not NameGrade.STRONG or _is_place_first(facts) or max(facts.given, facts.family) < 2:
        return None
    word = run.words[run.first]
    is_owner = word.is_possessive and facts.family <= 1  # "Thuy's drain" is a drain of the person Thuy
    if (not is_owner and run.is_thing(run.first, run.first)) or run.follows_place(run.first):
        return None
    if not run.acts(run.first) or not run.stands_free():
        return None
    if word.is_possessive or run.text[word.end : word.end + 1] == ",":
        return FoundPerson(run.first, run.first, 0.7, False) if facts.given >= 2 else None
    return FoundPerson(run.first, run.first, 0.8 if facts.given >= 2 else 0.7, False)


def _unlisted(run: Run) -> FoundPerson | None:
    """Return an unlisted word, or a rare name, that does, suffers or owns what only a person can, or None.

    Unlisted brands and eponyms are also started, given and named, but they never deny a symptom or get a phone call.
    """
    if run.last != run.first or run.case is not Case.TITLE:
        return None
    facts = run.facts(run.first)
    is_name = facts.grade is NameGrade.STRONG and not facts.word and not _is_place_first(facts)
    if not is_name and (facts.grade is not NameGrade.UNKNOWN or not is_new(facts)):
        return None
    if facts.key.endswith(_DRUG_ENDS) or has_clinical_form(facts.key):
        return None
    if run.is_thing(run.first, run.first) or run.follows_place(run.first) or not run.stands_free():
        return None
    is_person = cues.acts_as_person(run.text, run.words[run.first].end)
    return FoundPerson(run.first, run.first, _SURE, False) if is_person else None


def _acting_word(run: Run) -> FoundPerson | None:
    """Return a given name that is also a word, where it begins a sentence and does what only people do, or None.

    The capital says nothing there, but *Grace cooks* and *Will says* make no sense of a word.
    """
    if run.last != run.first or run.case is not Case.TITLE:
        return None
    facts = run.facts(run.first)
    if facts.grade is not NameGrade.WEAK or facts.code & EPONYM or _is_place_first(facts):
        return None
    if facts.given < 2 and facts.key not in _NAMES_THOUGH_WORDS:
        return None
    if facts.key in _NO_NAMES or (is_function_word(facts.key) and facts.key not in _NAMES_THOUGH_WORDS):
        return None
    word = run.words[run.first]
    if word.is_possessive or run.is_thing(run.first, run.first) or not run.stands_free():
        return None
    is_person = does_what_only_people_do(run.text, word.end)
    return FoundPerson(run.first, run.first, _SURE, is_staff=False) if is_person else None


def _by_weak_cue(run: Run) -> FoundPerson | None:
    """Return a given name after ``with``, ``per`` and similar words, or None."""
    if not run.first:
        return None
    before = run.words[run.first - 1]
    if before.facts.key not in cues.WEAK or run.text[before.end : run.words[run.first].start] != " ":
        return None
    facts = run.facts(run.first)
    if facts.grade is not NameGrade.STRONG or _is_place_first(facts) or max(facts.given, facts.family) < 2:
        return None
    if (
        run.is_thing(run.first, run.first)
        or run.case is not Case.TITLE
        or facts.given < max(facts.family, 2)
        or run.precedes_capital()
    ):
        return None
    return FoundPerson(run.first, run.first, 0.6, False)


def _bare(run: Run) -> FoundPerson | None:
    """Return a capitalised listed name within a sentence with no other capitalised word beside it, or None."""
    if run.case is not Case.TITLE or run.last != run.first or not run.first:
        return None
    facts = run.facts(run.first)
    if facts.grade is not NameGrade.STRONG or facts.word or max(facts.given, facts.family) < 2:
        return None
    word, before = run.words[run.first], run.words[run.first - 1]
    if run.text[before.end : word.start] != " " or before.facts.case is not Case.LOWER:
        return None
    if before.facts.key in cues.DETERMINERS or run.is_thing(run.first, run.first):
        return None
    if run.precedes_capital():
        return None
    if facts.given < max(facts.family, 2) and not (before.facts.key in _BEFORE_FAMILY and run.ends_phrase(run.first)):
        return None  # "a Glover was placed" is an instrument
    return FoundPerson(run.first, run.first, 0.6, is_staff=False, is_by_name=_is_given_name(facts))


def _only_name(run: Run) -> FoundPerson | None:
    """Return a word that is a usual name and nothing else, in any case, where nothing says that it is a thing, or None.

    In 1.05 million words of public clinical prose, three words in lower case are such names and no
    persons. The lists were adjusted on that prose, so other prose may have more.
    """
    facts = run.facts(run.first)
    if facts.grade is not NameGrade.STRONG or facts.word or len(facts.key) < _SHORTEST_ALONE:
        return None
    if max(facts.given, facts.family) < 2 or run.is_thing(run.first, run.first) or run.follows_place(run.first):
        return None
    if run.first and run.words[run.first - 1].facts.key in cues.DETERMINERS:
        return None
    if run.case is Case.CAPS and not run.is_among_capitals():
        return None  # an acronym
    if run.case is not Case.TITLE:
        return FoundPerson(run.first, run.first, _SURE, is_staff=False, is_by_name=True)
    if facts.given < 2 or run.first != run.last or not run.precedes_lower_case():
        return None
    return FoundPerson(run.first, run.first, 0.6, is_staff=False, is_by_name=_is_given_name(facts))


def _in_list(run: Run) -> FoundPerson | None:
    """Return a capitalised word that is not in the vocabulary and stands in a list with a given name, or None.

    *Viliam, Robert and Ann*. Lists of diseases and drugs do not hold words that are only given names.
    """
    facts = run.facts(run.first)
    if run.last != run.first or run.case is not Case.TITLE or facts.word or facts.code & (PLACE | EPONYM):
        return None
    if facts.grade is not NameGrade.STRONG and (facts.grade is not NameGrade.UNKNOWN or not is_new(facts)):
        return None
    if facts.key.endswith(_DRUG_ENDS) or has_clinical_form(facts.key) or run.is_thing(run.first, run.first):
        return None
    is_person = any(_is_person_in_list(run, at) for at in (*run.listed_before(), *run.listed_behind()))
    return FoundPerson(run.first, run.first, _SURE, False) if is_person else None


def _is_person_in_list(run: Run, at: int) -> bool:
    facts = run.facts(at)
    return (
        facts.grade is NameGrade.STRONG
        and facts.case is Case.TITLE
        and _is_given_name(facts)
        and not facts.word
        and not facts.code & EPONYM
        and not run.is_thing(at, at)
    )

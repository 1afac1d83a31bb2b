"""Rules for names of several words without a cue: ``Given Family`` and ``Family, Given``."""

from typing import Final

from deid_runtime.detectors.people import cues
from deid_runtime.detectors.people.cues import Cue
from deid_runtime.detectors.people.run import FoundPerson, Run, is_new
from deid_runtime.detectors.people.words import Case, Facts, NameGrade
from deid_runtime.lexicon.name_cues import is_function_word
from deid_runtime.lexicon.word_codes import EPONYM, PLACE

_NAMED: Final = (NameGrade.STRONG, NameGrade.WEAK)


def inverted(run: Run, cue: Cue | None, is_staff: bool) -> FoundPerson | None:
    """Return the person in ``Family, Given``, or None. Behind a title, a comma ends the name."""
    for comma in range(run.first, min(run.first + 2, run.last) + 1):
        if run.words[comma].is_possessive or comma + 1 >= len(run.words) or cue is Cue.TITLE:
            return None
        if run.text[run.words[comma].end : run.words[comma + 1].start] in (", ", ",", " , "):
            break
    else:
        return None
    score = _inverted_score(run, cue, run.facts(comma), run.facts(comma + 1))
    if not score:
        return None
    last = comma + 1
    rest = Run(run.text, run.words, last)
    while last < min(rest.last, comma + 3) and run.facts(last + 1).grade in (NameGrade.STRONG, NameGrade.INITIAL):
        last += 1
    return FoundPerson(run.first, last, score, is_staff or run.has_credential_behind(last))


def _inverted_score(run: Run, cue: Cue | None, family: Facts, given: Facts) -> float:
    """Return the score that the words around a comma are a family name and a given name; 0 if not."""
    is_lower = family.case is Case.LOWER
    if given.case in (Case.NONE, Case.INITIAL) or (given.case is Case.LOWER) is not is_lower:
        return 0.0
    if given.code & PLACE and cue is None:
        return 0.0
    is_row = cue is Cue.LABEL or run.opens_line()
    if family.grade is NameGrade.STRONG and given.grade is NameGrade.STRONG and family.family and given.given:
        if not is_lower:
            return 0.9 if is_row else 0.65 if family.given else 0.75
        is_usual = family.family >= 2 and given.given >= 2 and not (family.given and given.family)
        return 0.8 if is_row else 0.6 if is_usual else 0.0
    if is_lower:
        return 0.0
    if (
        given.grade is NameGrade.STRONG
        and given.given >= 2
        and (family.family >= 2 or family.grade is NameGrade.UNKNOWN)
    ):
        return 0.8 if cue is Cue.LABEL or run.opens_line(is_strict=True) else 0.0
    if cue is Cue.LABEL and family.grade is NameGrade.STRONG and (given.given or given.grade is NameGrade.UNKNOWN):
        return 0.8
    return 0.0


def pair(run: Run) -> FoundPerson | None:
    """Return a person of two names side by side, with or without initials or particles between, or None."""
    first = run.first
    if run.facts(first).grade in (NameGrade.INITIAL, NameGrade.PARTICLE):
        return None
    second = run.next_name(first)
    if not second:
        return None
    score = _pair_score(run, first, second) or _three_score(run, first, second)
    if run.broken_at >= 0 and first <= run.broken_at < second and score < 0.75:
        return None
    if not score:
        return None
    last = second
    while last < run.last:
        facts = run.facts(last + 1)
        if _extends(run, facts):
            last += 1
        elif (
            facts.grade is NameGrade.PARTICLE and last + 2 <= run.last and run.facts(last + 2).grade is NameGrade.STRONG
        ):
            last += 2
        else:
            break
    if run.is_thing(first, last) or run.follows_place(first):
        return None
    return FoundPerson(first, last, score, run.has_credential_behind(last))


def _extends(run: Run, facts: Facts) -> bool:
    """Return whether a word after a pair belongs to the name."""
    if facts.key in cues.SUFFIXES:
        return True
    if facts.grade is NameGrade.STRONG:
        return bool(facts.family) or facts.given >= 2 or run.case is Case.TITLE
    return (
        facts.grade is NameGrade.WEAK
        and facts.family >= 2
        and run.case is Case.TITLE
        and (facts.word < 3 or len(facts.key) < 4)
    )


def _three_score(run: Run, first: int, second: int) -> float:
    """Return the score that three words are one name, when the first two are not enough; 0 if not."""
    third = run.next_name(second)
    left, middle = run.facts(first), run.facts(second)
    if not third or left.grade not in _NAMED:
        return 0.0
    right = run.facts(third)
    opens = run.opens_sentence(first)
    if (
        left.grade is NameGrade.STRONG
        and left.family >= 2
        and middle.key in ("van", "thi")
        and right.grade is not NameGrade.NONE
    ):
        return 0.85
    if left.grade is NameGrade.WEAK and (
        (left.word == 3 and opens) or is_function_word(left.key) or run.case is Case.LOWER
    ):
        return 0.0
    if left.grade is NameGrade.STRONG and right.grade is NameGrade.STRONG and middle.grade is NameGrade.WEAK:
        if is_function_word(middle.key):
            return 0.0
        both = max(left.given, left.family) >= 2 and max(right.given, right.family) >= 2
        return 0.8 if run.case is not Case.LOWER else 0.7 if both else 0.0
    score = _pair_score(run, second, third)
    return score if score >= 0.75 else 0.0


def _pair_score(run: Run, first: int, second: int) -> float:
    left, right = run.facts(first), run.facts(second)
    if (left.key, right.key) in cues.NO_PEOPLE or (left.code & PLACE and right.code & PLACE):
        return 0.0
    if run.case is Case.LOWER:
        return _lower_pair_score(left, right)
    least = 3 if run.case is Case.CAPS else 2
    acts = run.acts(second)
    if left.grade is NameGrade.STRONG and right.grade is NameGrade.STRONG:
        if left.given and right.family:
            return 0.9
        if left.family >= 2 and right.given >= 2:
            return 0.85
        return 0.75 if max(left.given, left.family) + max(right.given, right.family) >= 3 else 0.6
    if left.grade is NameGrade.STRONG and right.grade is NameGrade.WEAK:
        if left.given >= 2 and right.family >= least and (right.word < 3 or right.family == 3):
            return 0.8
        return 0.0
    if left.grade is NameGrade.WEAK and right.grade is NameGrade.STRONG:
        if left.given >= least and right.family >= 2 and (left.word < 3 or not run.opens_sentence(first)):
            return 0.75
        return 0.0
    is_title = run.case is Case.TITLE
    opens = run.opens_sentence(first)
    if left.grade is NameGrade.STRONG and right.grade is NameGrade.UNKNOWN:
        if left.given >= 2:
            return 0.7 if is_title or is_new(right) else 0.0
        return 0.65 if is_title and left.family >= 2 and (acts or not opens) else 0.0
    if left.grade is NameGrade.UNKNOWN and right.grade is NameGrade.STRONG:
        if not (is_title or is_new(left)):
            return 0.0
        return 0.65 if (right.family >= least and not opens) or (right.family and acts) else 0.0
    if left.grade is NameGrade.WEAK and right.grade is NameGrade.WEAK and is_title:
        if left.given >= 2 and right.family >= 2 and not (left.code | right.code) & EPONYM:
            return 0.75 if acts else 0.65 if not opens else 0.0
        return 0.0
    if left.grade is NameGrade.UNKNOWN and right.grade is NameGrade.UNKNOWN and is_title:
        return 0.65 if acts else 0.0
    if left.grade is NameGrade.UNKNOWN and right.grade is NameGrade.WEAK and is_title:
        return 0.65 if acts and right.family >= 2 else 0.0
    return 0.0


def _lower_pair_score(left: Facts, right: Facts) -> float:
    if left.grade is NameGrade.STRONG and right.grade is NameGrade.STRONG:
        if left.given >= 2 and right.family >= 2:
            return 0.85
        if left.family >= 2 and right.given >= 2:
            return 0.7
        return 0.6 if left.given and right.family and max(left.given, right.family) >= 2 else 0.0
    if left.grade is NameGrade.STRONG and right.grade is NameGrade.WEAK:
        return 0.7 if left.given == 3 and right.family == 3 and right.word < 3 else 0.0
    if left.grade is NameGrade.STRONG and right.grade is NameGrade.UNKNOWN:
        return 0.65 if left.given >= 2 and is_new(right) else 0.0
    return 0.0

"""Rules for names with a cue before them or a credential after them."""

from typing import Final

from deid_runtime.detectors.people.cues import Cue
from deid_runtime.detectors.people.run import FoundPerson, Run, is_new
from deid_runtime.detectors.people.words import Case, NameGrade
from deid_runtime.lexicon.name_cues import is_function_word
from deid_runtime.lexicon.word_codes import EPONYM, PLACE

_STRONG_CUES: Final = (Cue.TITLE, Cue.LABEL, Cue.KIN, Cue.STAFF, Cue.ACT, Cue.GREETING)


def by_cue(run: Run, cue: Cue | None, is_staff: bool) -> FoundPerson | None:
    """Return the name that a cue announces, or None."""
    if cue is None:
        return None
    first = run.first
    score = _cued_score(run, cue, first)
    if not score:
        return None
    last = first
    for at in range(first + 1, min(run.last, first + 4) + 1):
        if _continues(run, first, at):
            last = at
    last = run.trimmed(first, last)
    if run.facts(first).grade in (NameGrade.INITIAL, NameGrade.PARTICLE) and last == first:
        return None
    if cue is not Cue.TITLE and run.is_thing(first, last):
        return None
    return FoundPerson(first, last, score, is_staff or run.has_credential_behind(last))


def _cued_score(run: Run, cue: Cue, at: int) -> float:
    """Return the score that the word begins a name announced by ``cue``; 0 if it does not."""
    facts = run.facts(at)
    best = max(facts.given, facts.family)
    following = run.facts(at + 1) if at < run.last else None
    if facts.grade in (NameGrade.INITIAL, NameGrade.PARTICLE):
        later = at + 1
        while later < run.last and run.facts(later).grade in (NameGrade.INITIAL, NameGrade.PARTICLE):
            later += 1
        following = run.facts(later) if at < run.last else None
        named = following is not None and following.grade in (NameGrade.STRONG, NameGrade.UNKNOWN, NameGrade.WEAK)
        return 0.85 if named and cue in _STRONG_CUES and run.case is not Case.LOWER else 0.0
    title = run.words[run.first - 1].facts
    if cue is Cue.TITLE and title.key in ("mr", "ms") and title.case is Case.CAPS and run.case is not Case.TITLE:
        # MR and MS are also mitral regurgitation, magnetic resonance and multiple sclerosis.
        return 0.8 if facts.family >= 2 and facts.word < 2 else 0.0
    if cue is Cue.ROLE:
        sure = facts.grade is NameGrade.STRONG and best >= 2 and not facts.code & PLACE
        if run.case is Case.LOWER:
            return 0.7 if sure and facts.given >= 2 else 0.0
        return 0.8 if sure else 0.0
    if run.case is Case.LOWER:
        return _cued_lower_score(run, cue, at)
    if facts.grade is NameGrade.STRONG:
        return 0.95 if cue is Cue.TITLE else 0.9
    if facts.grade is NameGrade.WEAK:
        if cue is Cue.TITLE:
            likely = best >= 2 or facts.word < 3
            return (
                0.9
                if likely and len(facts.key) > 2 + (run.case is Case.CAPS) and not is_function_word(facts.key)
                else 0.0
            )
        if following is not None and following.grade is NameGrade.STRONG and following.family:
            return 0.8 if best >= 2 else 0.0
        if cue is Cue.KIN:
            return 0.75 if facts.given >= 2 and run.case is Case.TITLE else 0.0
        if cue is Cue.LABEL:
            return (
                0.7 if facts.family == 3 and not facts.code & EPONYM and following is None and facts.word < 3 else 0.0
            )
        return 0.0
    if facts.grade is NameGrade.UNKNOWN:
        if run.case is Case.CAPS:
            return 0.75 if is_new(facts) and cue in (Cue.TITLE, Cue.LABEL, Cue.KIN) else 0.0
        if cue is Cue.TITLE or (cue is Cue.LABEL and is_new(facts)):
            return 0.9
        return 0.65 if cue in (Cue.ACT, Cue.LABEL) else 0.75
    return 0.0


def _cued_lower_score(run: Run, cue: Cue, at: int) -> float:
    facts = run.facts(at)
    best = max(facts.given, facts.family)
    if facts.grade is NameGrade.STRONG:
        if cue in (Cue.TITLE, Cue.KIN, Cue.LABEL):
            return 0.85
        return 0.75 if best >= 2 and not facts.code & PLACE else 0.0
    if facts.grade is NameGrade.WEAK:
        if cue is Cue.TITLE:
            likely = facts.family == 3 or (facts.family == 2 and facts.word < 3)
            return 0.8 if likely and not is_function_word(facts.key) else 0.0
        following = run.facts(at + 1) if at < run.last else None
        both = following is not None and following.grade is NameGrade.STRONG and following.family >= 2
        return 0.75 if both and facts.given >= 2 and facts.word < 3 else 0.0
    if facts.grade is NameGrade.UNKNOWN and cue in (Cue.TITLE, Cue.KIN, Cue.LABEL) and len(facts.key) > 3:
        return 0.7 if is_new(facts) else 0.0
    return 0.0


def _continues(run: Run, first: int, at: int) -> bool:
    """Return whether a word of the run belongs to the cued name that begins at ``first``."""
    facts = run.facts(at)
    if run.broken_at >= first and at == run.broken_at + 1 and facts.grade is not NameGrade.STRONG:
        return False
    if facts.grade in (NameGrade.STRONG, NameGrade.INITIAL, NameGrade.PARTICLE):
        return True
    if facts.grade is NameGrade.WEAK:
        return facts.family >= 2 and facts.word < 3 and not (run.case is Case.LOWER and facts.word >= 2)
    if facts.grade is not NameGrade.UNKNOWN:
        return False
    return run.case is Case.TITLE or (run.facts(first).given >= 2 and is_new(facts))


def by_credential(run: Run) -> FoundPerson | None:
    """Return the name before a credential (``X, RN``), or None."""
    for last in range(min(run.last, run.first + 3), run.first - 1, -1):
        if run.has_credential_behind(last):
            break
    else:
        return None
    first, facts = run.first, run.facts(last)
    if run.case is Case.LOWER and (
        run.facts(first).grade in (NameGrade.INITIAL, NameGrade.PARTICLE) or len(facts.key) < 3
    ):
        return None
    before = [run.facts(at) for at in range(first, last)]
    if any(each.grade is NameGrade.WEAK and each.word == 3 and not each.given for each in before):
        return None
    lower = run.case is Case.LOWER
    sure = facts.grade is NameGrade.STRONG or (
        facts.grade is NameGrade.WEAK
        and facts.family >= 2
        and (facts.word < 3 or bool(before))
        and (not lower or bool(before))
    )
    unknown = facts.grade is NameGrade.UNKNOWN and (run.case is Case.TITLE or is_new(facts))
    if lower and not before and facts.grade is not NameGrade.STRONG:
        return None
    return FoundPerson(first, last, 0.9 if sure else 0.8, True) if sure or unknown else None

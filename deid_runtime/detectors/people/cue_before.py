"""Find the cue before a name: a title, a label, a relative, a role, an act."""

from collections.abc import Sequence

from deid_runtime.detectors.people import cues
from deid_runtime.detectors.people.cues import Cue
from deid_runtime.detectors.people.words import Case, Word


def cue_before(text: str, words: Sequence[Word], first: int) -> tuple[Cue | None, bool]:
    """Return the cue before the word ``first``, and whether it announces staff."""
    if not first:
        return None, False
    cue = words[first - 1]
    key, gap = cue.facts.key, text[cue.end : words[first].start]
    if len(gap) > 12:
        return None, False
    if key == "ms" and text[max(cue.start - 2, 0) : cue.start].strip(" ").isdigit():
        return None, False  # ms here is milliseconds
    if key in cues.TITLES and (gap in (" ", "  ") or (gap in (". ", ".") and key in cues.SHORT_TITLES)):
        return Cue.TITLE, key in cues.STAFF_TITLES
    bare = gap.strip(" \t")
    if bare in (":", ":\n", "-", "=", "#:"):
        if key in cues.STAFF_LABELS and bare != "-":
            return Cue.LABEL, True
        if (key in cues.PATIENT_LABELS or key in cues.KIN) and bare != "-":
            return Cue.LABEL, False
        return None, False
    if key in cues.GREETINGS and (gap == " " or (bare.startswith((",", "\n")) and not bare.strip(",\n \t"))):
        return Cue.GREETING, key not in ("dear", "hi", "hello")
    if gap in (" ", ", ", " (", ","):
        if key in cues.KIN and not cue.is_possessive:
            return Cue.KIN, False
        if key in cues.STAFF and not cue.is_possessive and gap != ",":
            return Cue.STAFF, True
    if gap != " ":
        return None, False
    if key in cues.ACTS:
        return Cue.ACT, False
    if key in cues.ROLES:
        return Cue.ROLE, False
    if key in cues.CREDENTIALS and cue.facts.case is Case.CAPS:
        return Cue.ROLE, True
    if key == "is" and first > 1 and words[first - 2].facts.key == "name":
        return Cue.LABEL, False
    return _act_before(text, words, first - 1)


def _act_before(text: str, words: Sequence[Word], at: int) -> tuple[Cue | None, bool]:
    """Return the cue of ``signed by``, ``spoke with``, ``d/w`` whose last word is ``at``, and whether it is staff."""
    if not at:
        return None, False
    key, before = words[at].facts.key, words[at - 1]
    gap = text[before.end : words[at].start]
    if key == "w" and gap == "/" and before.facts.key in ("d", "s"):
        return Cue.ACT, True
    if gap != " ":
        return None, False
    verbs = {"by": cues.BY, "with": cues.WITH, "w": cues.WITH, "to": cues.TO, "from": cues.FROM}.get(key)
    if verbs is None or before.facts.key not in verbs:
        return None, False
    return Cue.ACT, key == "by"

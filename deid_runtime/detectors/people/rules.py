"""Rules that decide whether a run of name-like words is a person: by a cue, by its words, or by the words behind it.

A run is up to :data:`_LONGEST_RUN` adjacent words in the same case that may be parts of a name (:class:`Grade`). The
rules are tried from the surest to the least sure. The words of a person are not used again by later rules.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from deid_runtime.detectors.people import cues
from deid_runtime.detectors.people.cues import Cue
from deid_runtime.detectors.people.typos import is_like_a_word
from deid_runtime.detectors.people.words import Case, Facts, Grade, Word, read_words
from deid_runtime.lexicon.name_cues import is_eponym, is_function_word
from deid_runtime.lexicon.word_codes import EPONYM, PLACE
from deid_runtime.spans import Span

#: Minimum score of the source ``rule:people``. A weaker person ranks behind the models and is not propagated.
_SURE: Final = 0.7
_SOURCES: Final = {True: ("rule:people",), False: ("rule:people:weak",)}
_LONGEST_RUN: Final = 6
#: Minimum characters of a line before the break when a name continues on the next line.
_FULL_LINE: Final = 35

#: Words before a lower-case word in no list that allow it to begin a name.
_BEFORE_NEW: Final = cues.TITLES | cues.KIN | cues.PATIENT_LABELS | cues.STAFF_LABELS | cues.GREETINGS | {"is"}

_NAMED: Final = (Grade.STRONG, Grade.WEAK)
_STRONG_CUES: Final = (Cue.TITLE, Cue.LABEL, Cue.KIN, Cue.STAFF, Cue.ACT, Cue.GREETING)


class _Person(NamedTuple):
    """The words ``[first, last]`` (inclusive) of a person, and the score."""

    first: int
    last: int
    score: float
    is_staff: bool


def find_in(text: str) -> list[Span]:
    """Return the people of one text, sorted and disjoint."""
    words = read_words(text)
    found: list[Span] = []
    at = 0
    while at < len(words):
        if not _may_begin(words, at):
            at += 1
            continue
        person = _Run(text, words, at).person()
        if person is None:
            at += 1
            continue
        label = "DOCTOR" if person.is_staff else "PATIENT"
        last = _without_credentials(text, words, person)
        found.append(
            Span(words[person.first].start, words[last].end, label, person.score, _SOURCES[person.score >= _SURE])
        )
        at = person.last + 1
    return found


def _without_credentials(text: str, words: Sequence[Word], person: _Person) -> int:
    """Return the last word of a person without credentials behind a comma, such as ``MD`` in ``Ann Holm, MD``."""
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
    if facts.grade is Grade.NONE or facts.key in cues.TITLES:
        return False
    if facts.case is not Case.LOWER or facts.grade is Grade.STRONG:
        return True
    if at and (
        words[at - 1].facts.key in cues.TITLES
        or (facts.grade is Grade.UNKNOWN and words[at - 1].facts.key in _BEFORE_NEW)
    ):
        return True
    if at + 1 == len(words):
        return False
    grade = words[at + 1].facts.grade
    return grade is Grade.STRONG or (facts.grade is Grade.UNKNOWN and words[at + 1].facts.key in cues.CREDENTIALS)


class _Run:
    """The words from ``first`` on that may be one name, and the words around them."""

    def __init__(self, text: str, words: Sequence[Word], first: int) -> None:
        self._text = text
        self._words = words
        self._first = first
        self._case = _case_from(words, first)
        self._broken_at = -1  # the word before a line break within the run
        self._last = self._end_of_run()

    def person(self) -> _Person | None:
        """Return the person that begins with the first word of the run, or None."""
        if (
            self._facts(self._first).grade is Grade.PARTICLE
            and self._case is not Case.LOWER
            and self._last == self._first
        ):
            return None
        cue, is_staff = _cue_before(self._text, self._words, self._first)
        return (
            self._inverted(cue, is_staff)
            or self._by_cue(cue, is_staff)
            or self._by_credential()
            or self._pair()
            or self._alone()
            or self._by_weak_cue()
            or self._bare()
        )

    def _end_of_run(self) -> int:
        last = self._first
        if self._words[last].is_possessive:
            return last
        limit = min(self._first + _LONGEST_RUN, len(self._words))
        for at in range(self._first + 1, limit):
            word = self._words[at]
            if not self._is_alike(word) or not self._adjoins(at):
                break
            last = at
            if word.is_possessive:
                break
        return last

    def _is_alike(self, word: Word) -> bool:
        grade, case = word.facts.grade, word.facts.case
        if grade is Grade.WEAK and self._case is not Case.TITLE and is_function_word(word.facts.key):
            return False
        if grade is Grade.NONE or (word.facts.key in cues.NOT_BEHIND and word.facts.family < 2):
            return False
        if grade is Grade.PARTICLE or case is Case.INITIAL:
            return True
        if case is Case.LOWER and len(word.facts.key) == 1:
            return self._case is Case.LOWER
        return case is self._case

    def _adjoins(self, at: int) -> bool:
        """Return whether only white space, or a full stop behind an initial, separates a word from the one before."""
        left = self._words[at - 1]
        gap = self._text[left.end : self._words[at].start]
        if gap == " " or gap == "  ":
            return True
        if gap in (". ", ".", ".  "):
            return left.end - left.start == 1 or left.facts.key in ("st", "wm", "jos", "chas", "geo")
        if "\n" in gap and not gap.strip() and gap.count("\n") == 1 and len(gap) < 8 and self._broken_at < 0:
            line = self._text.rfind("\n", 0, left.end) + 1
            if left.end - line >= _FULL_LINE:
                self._broken_at = at - 1
                return True
        return False

    def _facts(self, at: int) -> Facts:
        return self._words[at].facts

    def _by_cue(self, cue: Cue | None, is_staff: bool) -> _Person | None:
        """Return the name that a cue announces, or None."""
        if cue is None:
            return None
        first = self._first
        score = self._cued_score(cue, first)
        if not score:
            return None
        last = first
        for at in range(first + 1, min(self._last, first + 4) + 1):
            if self._continues(first, at):
                last = at
        last = self._trimmed(first, last)
        if self._facts(first).grade in (Grade.INITIAL, Grade.PARTICLE) and last == first:
            return None
        if cue is not Cue.TITLE and self._is_thing(first, last):
            return None
        return _Person(first, last, score, is_staff or self._credential_behind(last))

    def _cued_score(self, cue: Cue, at: int) -> float:
        """Return the score that the word begins a name announced by ``cue``; 0 if it does not."""
        facts = self._facts(at)
        best = max(facts.given, facts.family)
        following = self._facts(at + 1) if at < self._last else None
        if facts.grade in (Grade.INITIAL, Grade.PARTICLE):
            later = at + 1
            while later < self._last and self._facts(later).grade in (Grade.INITIAL, Grade.PARTICLE):
                later += 1
            following = self._facts(later) if at < self._last else None
            named = following is not None and following.grade in (Grade.STRONG, Grade.UNKNOWN, Grade.WEAK)
            return 0.85 if named and cue in _STRONG_CUES and self._case is not Case.LOWER else 0.0
        title = self._words[self._first - 1].facts
        if cue is Cue.TITLE and title.key in ("mr", "ms") and title.case is Case.CAPS and self._case is not Case.TITLE:
            # MR and MS are also mitral regurgitation, magnetic resonance and multiple sclerosis.
            return 0.8 if facts.family >= 2 and facts.word < 2 else 0.0
        if cue is Cue.ROLE:
            sure = facts.grade is Grade.STRONG and best >= 2 and not facts.code & PLACE
            if self._case is Case.LOWER:
                return 0.7 if sure and facts.given >= 2 else 0.0
            return 0.8 if sure else 0.0
        if self._case is Case.LOWER:
            return self._cued_lower_score(cue, at)
        if facts.grade is Grade.STRONG:
            return 0.95 if cue is Cue.TITLE else 0.9
        if facts.grade is Grade.WEAK:
            if cue is Cue.TITLE:
                likely = best >= 2 or facts.word < 3
                return (
                    0.9
                    if likely and len(facts.key) > 2 + (self._case is Case.CAPS) and not is_function_word(facts.key)
                    else 0.0
                )
            if following is not None and following.grade is Grade.STRONG and following.family:
                return 0.8 if best >= 2 else 0.0
            if cue is Cue.KIN:
                return 0.75 if facts.given >= 2 and self._case is Case.TITLE else 0.0
            if cue is Cue.LABEL:
                return (
                    0.7
                    if facts.family == 3 and not facts.code & EPONYM and following is None and facts.word < 3
                    else 0.0
                )
            return 0.0
        if facts.grade is Grade.UNKNOWN:
            if self._case is Case.CAPS:
                return 0.75 if _is_new(facts) and cue in (Cue.TITLE, Cue.LABEL, Cue.KIN) else 0.0
            if cue is Cue.TITLE or (cue is Cue.LABEL and _is_new(facts)):
                return 0.9
            return 0.65 if cue in (Cue.ACT, Cue.LABEL) else 0.75
        return 0.0

    def _cued_lower_score(self, cue: Cue, at: int) -> float:
        facts = self._facts(at)
        best = max(facts.given, facts.family)
        if facts.grade is Grade.STRONG:
            if cue in (Cue.TITLE, Cue.KIN, Cue.LABEL):
                return 0.85
            return 0.75 if best >= 2 and not facts.code & PLACE else 0.0
        if facts.grade is Grade.WEAK:
            if cue is Cue.TITLE:
                likely = facts.family == 3 or (facts.family == 2 and facts.word < 3)
                return 0.8 if likely and not is_function_word(facts.key) else 0.0
            following = self._facts(at + 1) if at < self._last else None
            both = following is not None and following.grade is Grade.STRONG and following.family >= 2
            return 0.75 if both and facts.given >= 2 and facts.word < 3 else 0.0
        if facts.grade is Grade.UNKNOWN and cue in (Cue.TITLE, Cue.KIN, Cue.LABEL) and len(facts.key) > 3:
            return 0.7 if _is_new(facts) else 0.0
        return 0.0

    def _continues(self, first: int, at: int) -> bool:
        """Return whether a word of the run belongs to the cued name that begins at ``first``."""
        facts = self._facts(at)
        if self._broken_at >= first and at == self._broken_at + 1 and facts.grade is not Grade.STRONG:
            return False
        if facts.grade in (Grade.STRONG, Grade.INITIAL, Grade.PARTICLE):
            return True
        if facts.grade is Grade.WEAK:
            return facts.family >= 2 and facts.word < 3 and not (self._case is Case.LOWER and facts.word >= 2)
        if facts.grade is not Grade.UNKNOWN:
            return False
        return self._case is Case.TITLE or (self._facts(first).given >= 2 and _is_new(facts))

    def _trimmed(self, first: int, last: int) -> int:
        """Return the last word without the particles and initials at the end of the run; suffixes (Jr) stay."""
        while last > first and self._facts(last).grade in (Grade.PARTICLE, Grade.INITIAL):
            last -= 1
        return last

    def _inverted(self, cue: Cue | None, is_staff: bool) -> _Person | None:
        """Return the person in ``Family, Given``, or None. Behind a title, a comma ends the name."""
        for comma in range(self._first, min(self._first + 2, self._last) + 1):
            if self._words[comma].is_possessive or comma + 1 >= len(self._words) or cue is Cue.TITLE:
                return None
            if self._text[self._words[comma].end : self._words[comma + 1].start] in (", ", ",", " , "):
                break
        else:
            return None
        score = self._inverted_score(cue, self._facts(comma), self._facts(comma + 1))
        if not score:
            return None
        last = comma + 1
        rest = _Run(self._text, self._words, last)
        while last < min(rest._last, comma + 3) and self._facts(last + 1).grade in (Grade.STRONG, Grade.INITIAL):
            last += 1
        return _Person(self._first, last, score, is_staff or self._credential_behind(last))

    def _inverted_score(self, cue: Cue | None, family: Facts, given: Facts) -> float:
        """Return the score that the words around a comma are a family name and a given name; 0 if not."""
        is_lower = family.case is Case.LOWER
        if given.case in (Case.NONE, Case.INITIAL) or (given.case is Case.LOWER) is not is_lower:
            return 0.0
        if given.code & PLACE and cue is None:
            return 0.0
        is_row = cue is Cue.LABEL or self._opens_line()
        if family.grade is Grade.STRONG and given.grade is Grade.STRONG and family.family and given.given:
            if not is_lower:
                return 0.9 if is_row else 0.65 if family.given else 0.75
            is_usual = family.family >= 2 and given.given >= 2 and not (family.given and given.family)
            return 0.8 if is_row else 0.6 if is_usual else 0.0
        if is_lower:
            return 0.0
        if given.grade is Grade.STRONG and given.given >= 2 and (family.family >= 2 or family.grade is Grade.UNKNOWN):
            return 0.8 if cue is Cue.LABEL or self._opens_line(is_strict=True) else 0.0
        if cue is Cue.LABEL and family.grade is Grade.STRONG and (given.given or given.grade is Grade.UNKNOWN):
            return 0.8
        return 0.0

    def _by_credential(self) -> _Person | None:
        """Return the name before a credential (``X, RN``), or None."""
        for last in range(min(self._last, self._first + 3), self._first - 1, -1):
            if self._credential_behind(last):
                break
        else:
            return None
        first, facts = self._first, self._facts(last)
        if self._case is Case.LOWER and (
            self._facts(first).grade in (Grade.INITIAL, Grade.PARTICLE) or len(facts.key) < 3
        ):
            return None
        before = [self._facts(at) for at in range(first, last)]
        if any(each.grade is Grade.WEAK and each.word == 3 and not each.given for each in before):
            return None
        lower = self._case is Case.LOWER
        sure = facts.grade is Grade.STRONG or (
            facts.grade is Grade.WEAK
            and facts.family >= 2
            and (facts.word < 3 or bool(before))
            and (not lower or bool(before))
        )
        unknown = facts.grade is Grade.UNKNOWN and (self._case is Case.TITLE or _is_new(facts))
        if lower and not before and facts.grade is not Grade.STRONG:
            return None
        return _Person(first, last, 0.9 if sure else 0.8, True) if sure or unknown else None

    def _credential_behind(self, last: int) -> bool:
        behind = self._words[last + 1] if last + 1 < len(self._words) else None
        if behind is None or self._words[last].is_possessive:
            return False
        key = behind.facts.key
        gap = self._text[self._words[last].end : behind.start]
        if gap not in (", ", " ", ",") or len(key) > 6:
            return False
        written = self._text[behind.start : behind.end]
        if key in cues.CREDENTIALS:
            if key in cues.DOUBTFUL_CREDENTIALS:
                return written.isupper() and "," in gap
            return not written.islower() or "," in gap or key in cues.SURE_CREDENTIALS
        return self._text[behind.start : behind.start + 4] in cues.DOTTED_CREDENTIALS

    def _pair(self) -> _Person | None:
        """Return a person of two names side by side, with or without initials or particles between, or None."""
        first = self._first
        if self._facts(first).grade in (Grade.INITIAL, Grade.PARTICLE):
            return None
        second = self._next_name(first)
        if not second:
            return None
        score = self._pair_score(first, second) or self._three_score(first, second)
        if self._broken_at >= 0 and first <= self._broken_at < second and score < 0.75:
            return None
        if not score:
            return None
        last = second
        while last < self._last:
            facts = self._facts(last + 1)
            if self._extends(facts):
                last += 1
            elif (
                facts.grade is Grade.PARTICLE and last + 2 <= self._last and self._facts(last + 2).grade is Grade.STRONG
            ):
                last += 2
            else:
                break
        if self._is_thing(first, last) or self._follows_place(first):
            return None
        return _Person(first, last, score, self._credential_behind(last))

    def _next_name(self, at: int) -> int:
        """Return the next word of the run that is neither initial nor particle; 0 if none is near."""
        after = at + 1
        while after <= self._last and self._facts(after).grade in (Grade.INITIAL, Grade.PARTICLE):
            after += 1
        return after if after <= self._last and after - at <= 4 else 0

    def _extends(self, facts: Facts) -> bool:
        """Return whether a word behind a pair belongs to the name."""
        if facts.key in cues.SUFFIXES:
            return True
        if facts.grade is Grade.STRONG:
            return bool(facts.family) or facts.given >= 2 or self._case is Case.TITLE
        return (
            facts.grade is Grade.WEAK
            and facts.family >= 2
            and self._case is Case.TITLE
            and (facts.word < 3 or len(facts.key) < 4)
        )

    def _three_score(self, first: int, second: int) -> float:
        """Return the score that three words are one name, when the first two are not enough; 0 if not."""
        third = self._next_name(second)
        left, middle = self._facts(first), self._facts(second)
        if not third or left.grade not in _NAMED:
            return 0.0
        right = self._facts(third)
        opens = self._opens_sentence(first)
        if (
            left.grade is Grade.STRONG
            and left.family >= 2
            and middle.key in ("van", "thi")
            and right.grade is not Grade.NONE
        ):
            return 0.85
        if left.grade is Grade.WEAK and (
            (left.word == 3 and opens) or is_function_word(left.key) or self._case is Case.LOWER
        ):
            return 0.0
        if left.grade is Grade.STRONG and right.grade is Grade.STRONG and middle.grade is Grade.WEAK:
            if is_function_word(middle.key):
                return 0.0
            both = max(left.given, left.family) >= 2 and max(right.given, right.family) >= 2
            return 0.8 if self._case is not Case.LOWER else 0.7 if both else 0.0
        score = self._pair_score(second, third)
        return score if score >= 0.75 else 0.0

    def _pair_score(self, first: int, second: int) -> float:
        left, right = self._facts(first), self._facts(second)
        if (left.key, right.key) in cues.NO_PEOPLE or (left.code & PLACE and right.code & PLACE):
            return 0.0
        if self._case is Case.LOWER:
            return _lower_pair_score(left, right)
        least = 3 if self._case is Case.CAPS else 2
        acts = self._acts(second)
        if left.grade is Grade.STRONG and right.grade is Grade.STRONG:
            if left.given and right.family:
                return 0.9
            if left.family >= 2 and right.given >= 2:
                return 0.85
            return 0.75 if max(left.given, left.family) + max(right.given, right.family) >= 3 else 0.6
        if left.grade is Grade.STRONG and right.grade is Grade.WEAK:
            if left.given >= 2 and right.family >= least and (right.word < 3 or right.family == 3):
                return 0.8
            return 0.0
        if left.grade is Grade.WEAK and right.grade is Grade.STRONG:
            if left.given >= least and right.family >= 2 and (left.word < 3 or not self._opens_sentence(first)):
                return 0.75
            return 0.0
        is_title = self._case is Case.TITLE
        opens = self._opens_sentence(first)
        if left.grade is Grade.STRONG and right.grade is Grade.UNKNOWN:
            if left.given >= 2:
                return 0.7 if is_title or _is_new(right) else 0.0
            return 0.65 if is_title and left.family >= 2 and (acts or not opens) else 0.0
        if left.grade is Grade.UNKNOWN and right.grade is Grade.STRONG:
            if not (is_title or _is_new(left)):
                return 0.0
            return 0.65 if (right.family >= least and not opens) or (right.family and acts) else 0.0
        if left.grade is Grade.WEAK and right.grade is Grade.WEAK and is_title:
            if left.given >= 2 and right.family >= 2 and not (left.code | right.code) & EPONYM:
                return 0.75 if acts else 0.65 if not opens else 0.0
            return 0.0
        if left.grade is Grade.UNKNOWN and right.grade is Grade.UNKNOWN and is_title:
            return 0.65 if acts else 0.0
        if left.grade is Grade.UNKNOWN and right.grade is Grade.WEAK and is_title:
            return 0.65 if acts and right.family >= 2 else 0.0
        return 0.0

    def _acts(self, last: int) -> bool:
        """Return whether words behind the name show a person: a verb, a possession, an age or a relative clause."""
        word = self._words[last]
        if last + 1 >= len(self._words):
            return False
        behind = self._words[last + 1]
        if (
            behind.facts.case is not (Case.CAPS if self._case is Case.CAPS else Case.LOWER)
            and len(behind.facts.key) > 1
        ):
            return False
        gap = self._text[word.end : behind.start]
        if word.is_possessive:
            return gap in ("'s ", "’s ", "'S ", "’S ")
        if gap == " ":
            return behind.facts.key in cues.HUMAN_VERBS
        return gap == ", " and behind.facts.key in ("a", "an", "who", "whose", "aged", "age", "our", "his", "her")

    def _alone(self) -> _Person | None:
        """Return a listed name that stands alone and acts or owns something, or None."""
        if self._last != self._first:
            return None
        facts = self._facts(self._first)
        if self._case is not Case.TITLE and (
            facts.given < 2 or facts.given < facts.family or facts.word or len(facts.key) < 4
        ):
            return None
        if facts.grade is not Grade.STRONG or facts.code & PLACE or max(facts.given, facts.family) < 2:
            return None
        word = self._words[self._first]
        is_owner = word.is_possessive and facts.family <= 1  # "Thuy's drain" is a drain of the person Thuy
        if (not is_owner and self._is_thing(self._first, self._first)) or self._follows_place(self._first):
            return None
        if not self._acts(self._first) or not self._stands_free():
            return None
        if word.is_possessive or self._text[word.end : word.end + 1] == ",":
            return _Person(self._first, self._first, 0.7, False) if facts.given >= 2 else None
        return _Person(self._first, self._first, 0.8 if facts.given >= 2 else 0.7, False)

    def _stands_free(self) -> bool:
        """Return whether the name begins a line, sentence or clause, with no article, adjective or name before it."""
        if self._opens_sentence(self._first):
            return True
        before = self._words[self._first - 1]
        gap = self._text[before.end : self._words[self._first].start]
        if gap.strip():
            return gap.strip() in (",", ";", "(", '"', "...")
        return (
            before.facts.key in cues.JOINING
            or before.facts.key in cues.OPENERS
            or (before.facts.case is Case.LOWER and before.facts.key in cues.WEAK)
        )

    def _by_weak_cue(self) -> _Person | None:
        """Return a given name behind ``with``, ``per`` and similar words, or None."""
        if not self._first:
            return None
        before = self._words[self._first - 1]
        if before.facts.key not in cues.WEAK or self._text[before.end : self._words[self._first].start] != " ":
            return None
        facts = self._facts(self._first)
        if facts.grade is not Grade.STRONG or facts.code & PLACE or max(facts.given, facts.family) < 2:
            return None
        if (
            self._is_thing(self._first, self._first)
            or self._case is not Case.TITLE
            or facts.given < max(facts.family, 2)
            or self._precedes_capital()
        ):
            return None
        return _Person(self._first, self._first, 0.6, False)

    def _bare(self) -> _Person | None:
        """Return a capitalised listed name within a sentence with no other capitalised word beside it, or None."""
        if self._case is not Case.TITLE or self._last != self._first or not self._first:
            return None
        facts = self._facts(self._first)
        if facts.grade is not Grade.STRONG or facts.code & PLACE or facts.word or facts.given < 2 or facts.family > 1:
            return None
        word, before = self._words[self._first], self._words[self._first - 1]
        if self._text[before.end : word.start] != " " or before.facts.case is not Case.LOWER:
            return None
        if before.facts.key in cues.DETERMINERS or self._is_thing(self._first, self._first):
            return None
        if self._precedes_capital():
            return None
        return _Person(self._first, self._first, 0.6, False)

    def _precedes_capital(self) -> bool:
        """Return whether a word that is not in lower case, or a hyphen, follows the first word directly."""
        if self._first + 1 >= len(self._words):
            return False
        behind = self._words[self._first + 1]
        gap = self._text[self._words[self._first].end : behind.start]
        return gap == "-" or (gap == " " and behind.facts.case is not Case.LOWER)

    def _is_thing(self, first: int, last: int) -> bool:
        """Return whether the name is part of a disease, device, scale, place or firm."""
        end = self._words[last].end
        if is_eponym(self._text, self._words[first].start, end):
            return True
        if last + 1 >= len(self._words):
            return False
        behind = self._words[last + 1]
        gap = self._text[end : behind.start]
        if gap not in (" ", "'s ", "’s ", "-", "/", " & "):
            return False
        return (
            gap in ("-", "/", " & ") and behind.facts.case in (Case.TITLE, Case.CAPS)
        ) or behind.facts.key in cues.NOT_BEHIND

    def _follows_place(self, first: int) -> bool:
        """Return whether a word before the name makes it a place, or is attached to it by a hyphen, slash or ``&``."""
        start = self._words[first].start
        if self._text[start - 1 : start] in ("-", "/", "&"):
            return True
        if not first:
            return False
        before = self._words[first - 1]
        return (
            before.facts.key in cues.NOT_BEFORE
            and (before.facts.case is not Case.LOWER or before.facts.key in ("st", "saint", "mt"))
            and self._text[before.end : start] in (" ", ". ")
        )

    def _opens_line(self, *, is_strict: bool = False) -> bool:
        start = self._words[self._first].start
        line = self._text.rfind("\n", max(start - 8, 0), start) + 1
        head = self._text[line:start] if line or start <= 8 else "x"
        if not head.strip(" \t-*•#>0123456789.)("):
            return True
        return not is_strict and self._text[max(start - 3, 0) : start].rstrip().endswith((":", "("))

    def _opens_sentence(self, at: int) -> bool:
        before = self._text[max(self._words[at].start - 4, 0) : self._words[at].start]
        stripped = before.rstrip(" \t\"'(-*•")
        return not stripped or stripped[-1] in ".!?:;\n"


def _lower_pair_score(left: Facts, right: Facts) -> float:
    if left.grade is Grade.STRONG and right.grade is Grade.STRONG:
        if left.given >= 2 and right.family >= 2:
            return 0.85
        if left.family >= 2 and right.given >= 2:
            return 0.7
        return 0.6 if left.given and right.family and max(left.given, right.family) >= 2 else 0.0
    if left.grade is Grade.STRONG and right.grade is Grade.WEAK:
        return 0.7 if left.given == 3 and right.family == 3 and right.word < 3 else 0.0
    if left.grade is Grade.STRONG and right.grade is Grade.UNKNOWN:
        return 0.65 if left.given >= 2 and _is_new(right) else 0.0
    return 0.0


def _is_new(facts: Facts) -> bool:
    """Return whether a word in no list is also no inflected form, compound or misspelling of a listed word."""
    return len(facts.key) > 3 and not is_like_a_word(facts.key)


def _case_from(words: Sequence[Word], first: int) -> Case:
    """Return the case of the first word that is neither an initial nor a particle; those match any case."""
    for at in range(first, min(first + 4, len(words))):
        facts = words[at].facts
        if facts.grade is not Grade.PARTICLE and facts.case is not Case.INITIAL:
            return facts.case
    return words[first].facts.case


def _cue_before(text: str, words: Sequence[Word], first: int) -> tuple[Cue | None, bool]:
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

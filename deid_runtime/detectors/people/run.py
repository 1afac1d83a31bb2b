"""The words that may be one name, and their surroundings."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from deid_runtime.detectors.clinical.eponyms import is_eponym_pair, is_eponym_phrase
from deid_runtime.detectors.clinical.named import names_drug
from deid_runtime.detectors.people import cues
from deid_runtime.detectors.people.typos import is_like_a_word
from deid_runtime.detectors.people.words import Case, Facts, NameGrade, Word
from deid_runtime.lexicon.name_cues import is_eponym, is_function_word

_LONGEST_RUN: Final = 6
#: Minimum characters of a line before the break when a name continues on the next line.
_FULL_LINE: Final = 35


#: Words between the last two words of a list.
_BETWEEN: Final = frozenset({"and", "or"})


class FoundPerson(NamedTuple):
    """The words ``[first, last]`` (inclusive) of a person, and the score.

    ``is_by_name`` is True when the only evidence is that the word is a name. Then it is not known whether the person
    is a patient or a member of staff.
    """

    first: int
    last: int
    score: float
    is_staff: bool
    is_by_name: bool = False


class Run:
    """Up to six adjacent words in the same case that may be parts of one name (:class:`NameGrade`).

    ``first`` and ``last`` (inclusive) are indices of ``words``. ``broken_at`` is the word before a line break within
    the run, or -1.
    """

    def __init__(self, text: str, words: Sequence[Word], first: int) -> None:
        self.text = text
        self.words = words
        self.first = first
        self.case = _case_from(words, first)
        self.broken_at = -1
        self.last = self._end_of_run()

    def facts(self, at: int) -> Facts:
        """Return the facts of the word with index ``at`` of ``words``."""
        return self.words[at].facts

    def _end_of_run(self) -> int:
        last = self.first
        if self.words[last].is_possessive:
            return last
        limit = min(self.first + _LONGEST_RUN, len(self.words))
        for at in range(self.first + 1, limit):
            word = self.words[at]
            if not self._is_alike(word) or not self._adjoins(at):
                break
            last = at
            if word.is_possessive:
                break
        return last

    def _is_alike(self, word: Word) -> bool:
        grade, case = word.facts.grade, word.facts.case
        if grade is NameGrade.WEAK and self.case is not Case.TITLE and is_function_word(word.facts.key):
            return False
        if grade is NameGrade.NONE or (word.facts.key in cues.NOT_BEHIND and word.facts.family < 2):
            return False
        if grade is NameGrade.PARTICLE or case is Case.INITIAL:
            return True
        if case is Case.LOWER and len(word.facts.key) == 1:
            return self.case is Case.LOWER
        return case is self.case

    def _adjoins(self, at: int) -> bool:
        """Return whether only white space, or a full stop after an initial, separates a word from the one before."""
        left = self.words[at - 1]
        gap = self.text[left.end : self.words[at].start]
        if gap == " " or gap == "  ":
            return True
        if gap in (". ", ".", ".  "):
            return left.end - left.start == 1 or left.facts.key in ("st", "wm", "jos", "chas", "geo")
        if "\n" in gap and not gap.strip() and gap.count("\n") == 1 and len(gap) < 8 and self.broken_at < 0:
            line = self.text.rfind("\n", 0, left.end) + 1
            if left.end - line >= _FULL_LINE:
                self.broken_at = at - 1
                return True
        return False

    def trimmed(self, first: int, last: int) -> int:
        """Return the last word without the particles and initials at the end of the run; suffixes (Jr) stay."""
        while last > first and self.facts(last).grade in (NameGrade.PARTICLE, NameGrade.INITIAL):
            last -= 1
        return last

    def has_credential_behind(self, last: int) -> bool:
        """Return whether a credential (*MD*) directly follows the word with index ``last``."""
        behind = self.words[last + 1] if last + 1 < len(self.words) else None
        if behind is None or self.words[last].is_possessive:
            return False
        key = behind.facts.key
        gap = self.text[self.words[last].end : behind.start]
        if gap not in (", ", " ", ",") or len(key) > 6:
            return False
        written = self.text[behind.start : behind.end]
        if key in cues.CREDENTIALS:
            if key in cues.DOUBTFUL_CREDENTIALS:
                return written.isupper() and "," in gap
            return not written.islower() or "," in gap or key in cues.SURE_CREDENTIALS
        return self.text[behind.start : behind.start + 4] in cues.DOTTED_CREDENTIALS

    def next_name(self, at: int) -> int:
        """Return the next word of the run that is neither initial nor particle; 0 if none is near."""
        after = at + 1
        while after <= self.last and self.facts(after).grade in (NameGrade.INITIAL, NameGrade.PARTICLE):
            after += 1
        return after if after <= self.last and after - at <= 4 else 0

    def acts(self, last: int) -> bool:
        """Return whether words after the name show a person: a verb, a possession, an age or a relative clause."""
        word = self.words[last]
        if last + 1 >= len(self.words):
            return False
        behind = self.words[last + 1]
        if behind.facts.case is not (Case.CAPS if self.case is Case.CAPS else Case.LOWER) and len(behind.facts.key) > 1:
            return False
        gap = self.text[word.end : behind.start]
        if word.is_possessive:
            return gap in ("'s ", "’s ", "'S ", "’S ")
        if gap == " ":
            return behind.facts.key in cues.HUMAN_VERBS
        return gap == ", " and behind.facts.key in ("a", "an", "who", "whose", "aged", "age", "our", "his", "her")

    def ends_phrase(self, last: int) -> bool:
        """Return whether a phrase ends with the word: punctuation or a function word follows, or nothing."""
        if last + 1 == len(self.words):
            return True
        end, behind = self.words[last].end, self.words[last + 1]
        if self.text[end : behind.start].strip():
            return self.text[end] in ".,;:)"
        return behind.facts.case is Case.LOWER and is_function_word(behind.facts.key)

    def stands_free(self) -> bool:
        """Return whether the name begins a line, sentence or clause, with no article, adjective or name before it."""
        if self.opens_sentence(self.first):
            return True
        before = self.words[self.first - 1]
        gap = self.text[before.end : self.words[self.first].start]
        if gap.strip():
            return gap.strip() in (",", ";", "(", '"', "...")
        return (
            before.facts.key in cues.JOINING
            or before.facts.key in cues.OPENERS
            or (before.facts.case is Case.LOWER and before.facts.key in cues.WEAK)
        )

    def precedes_capital(self) -> bool:
        """Return whether a word that is not in lower case, or a hyphen, follows the first word directly."""
        if self.first + 1 >= len(self.words):
            return False
        behind = self.words[self.first + 1]
        gap = self.text[self.words[self.first].end : behind.start]
        return gap == "-" or (gap == " " and behind.facts.case is not Case.LOWER)

    def precedes_lower_case(self) -> bool:
        """Return whether a word in lower case follows the first word directly."""
        if self.first + 1 >= len(self.words):
            return False
        behind = self.words[self.first + 1]
        return self.text[self.words[self.first].end : behind.start] == " " and behind.facts.case is Case.LOWER

    def listed_before(self) -> Iterator[int]:
        """Yield the index of the word before the first one in a list: ``Ann, Bo``, ``Ann and Bo``, ``Ann, and Bo``."""
        at = self.first - 1
        if at >= 0 and self.words[at].facts.key in _BETWEEN and self._is_gap(at, " "):
            at -= 1
            if at >= 0 and self._is_gap(at, " ", ", "):
                yield at
        elif at >= 0 and self._is_gap(at, ", "):
            yield at

    def listed_behind(self) -> Iterator[int]:
        """Yield the index of the word behind the first one in a list."""
        at = self.first + 1
        if at >= len(self.words):
            return
        if self._is_gap(self.first, ", ", " ") and self.words[at].facts.key in _BETWEEN:
            if at + 1 < len(self.words) and self._is_gap(at, " "):
                yield at + 1
        elif self._is_gap(self.first, ", "):
            yield at

    def _is_gap(self, at: int, *gaps: str) -> bool:
        """Return whether one of ``gaps`` stands between the word ``at`` and the next one."""
        return self.text[self.words[at].end : self.words[at + 1].start] in gaps

    def is_among_capitals(self) -> bool:
        """Return whether the words beside the first one are in capitals too; single letters do not count."""
        beside = (self.words[at] for at in (self.first - 1, self.first + 1) if 0 <= at < len(self.words))
        written = [self.text[word.start : word.end] for word in beside if word.end - word.start > 1]
        return bool(written) and all(map(str.isupper, written))

    def is_thing(self, first: int, last: int) -> bool:
        """Return whether the name is part of a disease, device, scale, place or firm, or a brand of a drug."""
        end = self.words[last].end
        start = self.words[first].start
        if (
            is_eponym(self.text, start, end)
            or is_eponym_pair(self.text, start, end)
            or is_eponym_phrase(self.text, start, end)
            or (first == last and names_drug(self.text, start, end))
        ):
            return True
        if last + 1 >= len(self.words):
            return False
        behind = self.words[last + 1]
        gap = self.text[end : behind.start]
        if gap not in (" ", "'s ", "’s ", "-", "/", " & "):
            return False
        return (
            gap in ("-", "/", " & ") and behind.facts.case in (Case.TITLE, Case.CAPS)
        ) or behind.facts.key in cues.NOT_BEHIND

    def follows_place(self, first: int) -> bool:
        """Return whether a word before the name makes it a place, or is attached to it by a hyphen, slash or ``&``."""
        start = self.words[first].start
        if self.text[start - 1 : start] in ("-", "/", "&"):
            return True
        if not first:
            return False
        before = self.words[first - 1]
        return (
            before.facts.key in cues.NOT_BEFORE
            and (before.facts.case is not Case.LOWER or before.facts.key in ("st", "saint", "mt"))
            and self.text[before.end : start] in (" ", ". ")
        )

    def opens_line(self, *, is_strict: bool = False) -> bool:
        """Return whether the run begins a line, except for list marks; unless strict, also after a colon or bracket."""
        start = self.words[self.first].start
        line = self.text.rfind("\n", max(start - 8, 0), start) + 1
        head = self.text[line:start] if line or start <= 8 else "x"
        if not head.strip(" \t-*•#>0123456789.)("):
            return True
        return not is_strict and self.text[max(start - 3, 0) : start].rstrip().endswith((":", "("))

    def opens_sentence(self, at: int) -> bool:
        """Return whether the word with index ``at`` begins a sentence, a line or the text."""
        before = self.text[max(self.words[at].start - 4, 0) : self.words[at].start]
        stripped = before.rstrip(" \t\"'(-*•")
        return not stripped or stripped[-1] in ".!?:;\n"


def is_new(facts: Facts) -> bool:
    """Return whether an unlisted word is not an inflected form, compound or misspelling of a listed word either."""
    return len(facts.key) > 3 and not is_like_a_word(facts.key)


def _case_from(words: Sequence[Word], first: int) -> Case:
    """Return the case of the first word that is neither an initial nor a particle; those match any case."""
    for at in range(first, min(first + 4, len(words))):
        facts = words[at].facts
        if facts.grade is not NameGrade.PARTICLE and facts.case is not Case.INITIAL:
            return facts.case
    return words[first].facts.case

"""Find the initials of the names in a note: ``Fiona Grant (FG) ... FG says``, ``Jo Walsh-Brand ... JWB to review``.

Two to four capitals are initials of a name of the note in one of these cases:

- They stand in brackets directly behind the name, or behind its first word alone: *Tendai (TM)*. The same letters
  further on are then initials too. Letters that read as a clinical abbreviation (*SL*) are so only where a person is
  meant without doubt: *SL disagreed*, *d/w SL*.
- They are three letters or more. If they read as a word or an abbreviation, a person is meant without doubt.
- They are two letters, and what stands beside them shows a person: *FG felt*, *sent by FG*, *FG:* at a line's start.

A list of those who were there introduces initials without their names: *Present: AK, J.C., MWN*. Behind it, these
letters are initials at the beginning of a line, an item or a sentence, too.

Letters in brackets that are a credential or a role are left alone: *Paula Thompson (PT)* is a physiotherapist. Other
letters in brackets have a source of their own, because they are surer than a model that takes them for a hospital.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final

from deid_runtime.lexicon.clinical_initials import clinical_initials
from deid_runtime.lexicon.name_cues import PARTICLES, fold, is_listed_name, is_ordinary
from deid_runtime.lexicon.tables import words_for
from deid_runtime.lexicon.vocabulary import alternation, credential_keys, human_verbs
from deid_runtime.spans import Span

#: Source of initials in brackets directly behind their name, or in a list of those present.
INTRODUCED: Final = "propagation:initials"
_FEWEST, _MOST = 2, 4  # letters
_MOST_WORDS: Final = 5  # of a name; longer names are lists of names
_SURE: Final = 3  # this many letters need no cue of a person beside them
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*(?:[-\u2010\u2011][^\W\d_]+(?:['\u2019][^\W\d_]+)*)*")
_PART: Final = re.compile(r"(?:^|[-\u2010\u2011])([^\W\d_])")
#: Between a name and its initials; what follows them there.
_BRACKET: Final = re.compile(r"[ ]?[(\[][ ]?[\"'\u201c\u2018]?$")
_BRACKET_END: Final = re.compile(r"[\"'\u201d\u2019]?[ ]?[)\],;/]")
_BRACKET_CHARS: Final = 4
#: What makes the letters part of something longer: a word with a hyphen, a figure, a fraction, an address.
_LONGER_BEFORE: Final = re.compile(r"[\w@.\-\u2010/&+#]$")
_LONGER_BEHIND: Final = re.compile(r"[\w@\-\u2010/&+]|\.\w|[ ]?(?!\d{1,2}[/:.]\d{1,2})[\d=<>%]")
_ACTS: Final = re.compile(
    rf"[ ](?:(?:will|would|did|does|has|had|is|was)[ ](?:not[ ])?)?(?:{alternation(human_verbs('only'))}|"
    rf"{alternation(human_verbs('known'))})\b"
)
_WILL: Final = re.compile(
    r"[ ](?:to|will|would|can|aware|happy[ ]to)[ ](?:review|see|speak|talk|call|ring|phone|chase|discuss|inform|update|"
    r"contact|attend|write|email|meet|explain|ask|tell|let|of)\b"
)
_BY: Final = re.compile(
    r"(?i)(?<![^\W_])(?:(?:seen|reviewed|signed|written|dictated|agreed|discussed|authored|countersigned)[ ]by|d/w|"
    r"told|asked|informed|called|paged|phoned|spoke[ ](?:to|with)|discussed[ ]with)[ ]$"
)
_PERSON_BEHIND: Final = re.compile(r"[ ](?:to|will|would|who|aware|informed|also)[ ][a-z]|['\u2019]s[ ][a-z]")
_PERSON_BEFORE: Final = re.compile(r"(?i)(?<![^\W_])(?:by|cc:?|thanks?,?|signed:?|reviewer:?|author:?)[ ]$")
_BEFORE_CHARS: Final = 20
_LISTED_SCORE: Final = 0.7
#: What a list of those present or absent begins with, and where it ends.
_PRESENT: Final = re.compile(
    r"(?i)(?P<before>\b[a-z]{3,14}[ ])?\b(?:present|in[ ]attendance|attend(?:ees|ed|ing)|participants|members|"
    r"apol(?:s|ogies)?|absent)(?:[ ]?\(?\d{1,2}\)?)?[ ]?:[ ]{0,3}"
    r"(?P<list>[^\r\n:]{4,300}?)(?=[\r\n:]|[.;][ ](?:apol|absent|present|attend|in[ ]attendance)|\Z)"
)
#: Words before *present:* that tell of findings, not of people: *Reflexes present: BJ, TJ*.
_FINDINGS: Final = frozenset(
    "reflexes signs symptoms pulses antibodies antigens sounds movements organisms risks".split()
)
_ITEM: Final = re.compile(
    r"(?:^|[,;&/] ?|\band )(?P<value>[A-Z]{2,3}|[A-Z]\.[ ]?[A-Z]\.?)"
    r"(?=[ ]?(?:[,;&/.(]|and\b|$)|(?P<more>[ ][a-z]))"
)
_LETTERS: Final = re.compile(r"(?<![^\W_])(?:[A-Z]{2,3}|[A-Z]\.[ ]?[A-Z]\.?)(?![\w/])")
_FEWEST_LISTED: Final = 2
_BEGINS: Final = re.compile(r"(?:^|[.!?;])[ \t]*(?:[-*\u2022>]|\d{1,2}[.)])?[ \t]*$")
_SPEAKER: Final = re.compile(r":[ ][^\W\d_]")
_LINE_BEGINS: Final = re.compile(r"(?:^|\n)[ \t]*$")


@dataclass(frozen=True, slots=True)
class _Owner:
    """The name that some initials stand for: its label and score."""

    label: str
    score: float


def find_listed(text: str) -> Iterator[Span]:
    """Yield the initials in lists of those present, and where they begin a line or sentence behind such a list."""
    first_offset_of: dict[str, int] = {}  # letters -> where they may count as known
    for found in _PRESENT.finditer(text):
        if (found["before"] or "").strip().lower() in _FINDINGS:
            continue
        start = found.start("list")
        items = [item for item in _ITEM.finditer(found["list"]) if _bare(item["value"]) not in _roles()]
        sure = [item for item in items if not _reads_otherwise(_bare(item["value"]))]
        if len(sure) < _FEWEST_LISTED:
            continue
        for item in items:
            if item["more"] and item not in sure:
                continue  # "BP stable"
            first_offset_of.setdefault(item["value"], found.end())
            yield Span(start + item.start("value"), start + item.end("value"), "PATIENT", _LISTED_SCORE, (INTRODUCED,))
    for found in _LETTERS.finditer(text) if first_offset_of else ():
        start = found.start()
        if start < first_offset_of.get(found[0], len(text)):
            continue
        if _BEGINS.search(text[max(0, start - _BEFORE_CHARS) : start].rpartition("\n")[2]):
            yield Span(start, found.end(), "PATIENT", _LISTED_SCORE, ("propagation",))


class InitialsFinder:
    """Finds the initials of the persons whom ``spans`` of ``text`` name."""

    def __init__(self, text: str, spans: Iterable[Span]) -> None:
        self._text = text
        self._owners: dict[str, _Owner] = {}
        self._by_end: dict[int, frozenset[str]] = {}  # end of a name -> its initials
        #: End of a name of one word -> its first letter, and the owner of initials that begin with it.
        self._alone_by_end: dict[int, tuple[str, _Owner | None]] = {}
        forms_of: dict[str, frozenset[str]] = {}
        for span in sorted(spans):
            value = text[span.start : span.end]
            if value not in forms_of:
                forms_of[value] = frozenset(_forms(value))
            self._by_end[span.end] = self._by_end.get(span.end, frozenset()) | forms_of[value]
            if value.isalpha():
                self._alone_by_end[span.end] = (fold(value)[:1].upper(), _Owner(span.label, span.score))
            for form in forms_of[value]:
                known = self._owners.get(form)
                if known is None or span.score > known.score:
                    self._owners[form] = _Owner(span.label, span.score)

    def find(self, words: Sequence[tuple[int, int]]) -> Iterator[Span]:
        """Yield a span for each of ``words`` (half-open offsets of letters and digits) that is a person's initials."""
        text = self._text
        places = [
            (start, end)
            for start, end in (words if self._by_end else ())
            if _FEWEST <= end - start <= _MOST and text[start:end].isupper() and not self._is_part(start, end)
        ]
        introduced = {
            text[start:end]: owner for start, end in places if (owner := self._introduced(start, end)) is not None
        }
        for start, end in places:
            letters = text[start:end]
            owner = introduced.get(letters) or self._owners.get(letters)
            if owner is None:
                continue
            if self._introduced(start, end) is not None:
                source = INTRODUCED
            elif self._is_meant(letters, start, end, is_introduced=letters in introduced):
                source = "propagation"
            else:
                continue
            yield Span(start, end, owner.label, owner.score, (source,))

    def _is_part(self, start: int, end: int) -> bool:
        text = self._text
        return (
            _LONGER_BEFORE.search(text, max(0, start - 1), start) is not None
            or _LONGER_BEHIND.match(text, end) is not None
        )

    def _introduced(self, start: int, end: int) -> _Owner | None:
        """Return the owner of letters in brackets directly behind the name whose initials they are, else None."""
        text, letters = self._text, self._text[start:end]
        bracket = _BRACKET.search(text, max(0, start - _BRACKET_CHARS), start)
        if bracket is None or _BRACKET_END.match(text, end) is None or _is_credential(letters):
            return None
        if letters in self._by_end.get(bracket.start(), ()):
            return self._owners[letters]
        first, owner = self._alone_by_end.get(bracket.start(), ("", None))
        is_closed = text[end : end + 1] in (")", "]") and len(letters) < _MOST
        return owner if first == letters[0] and is_closed else None  # Tendai (TM): the family name is not in the note

    def _is_meant(self, letters: str, start: int, end: int, *, is_introduced: bool) -> bool:
        text = self._text
        if _is_credential(letters):
            return False
        before = text[max(0, start - _BEFORE_CHARS) : start]
        is_person = any(cue.match(text, end) for cue in (_ACTS, _WILL)) or _BY.search(before) is not None
        if _reads_otherwise(letters):
            return is_person and (is_introduced or len(letters) >= _SURE)
        return (
            is_introduced
            or is_person
            or len(letters) >= _SURE
            or _PERSON_BEHIND.match(text, end) is not None
            or _PERSON_BEFORE.search(before) is not None
            or (_SPEAKER.match(text, end) is not None and _LINE_BEGINS.search(before) is not None)
        )


def _forms(name: str) -> Iterator[str]:
    """Yield the initials of ``name`` in capitals, given name first, with and without particles and second halves."""
    family, comma, given = name.partition(",")
    words = _WORD.findall(f"{given} {family}" if comma else name)
    if not 0 < len(words) <= _MOST_WORDS:
        return
    choices = []
    for word in words:
        letters = "".join(fold(letter)[:1] for letter in _PART.findall(word)).upper()
        choices.append({letters, letters[:1]} | ({""} if fold(word) in PARTICLES else set()))
    for each in product(*choices):
        whole = "".join(each)
        for form in (whole, whole[:1] + whole[-1:]):  # a middle name is often left out
            if _FEWEST <= len(form) <= _MOST:
                yield form


@cache
def _roles() -> frozenset[str]:
    """Return the short forms of roles and credentials, in lower case: *CPN* is a role, not a person."""
    uses = ("role-code", "short-role", "sure-role")
    return frozenset(word.lower() for use in uses for word in words_for("generic_words", use)) | credential_keys("cue")


def _bare(letters: str) -> str:
    return letters.replace(".", "").replace(" ", "").lower()


def _is_credential(letters: str) -> bool:
    folded = fold(letters)
    return folded in _roles() or folded in credential_keys("text")


def _reads_otherwise(letters: str) -> bool:
    folded = fold(letters)
    return folded in clinical_initials() or is_ordinary(folded) or is_listed_name(folded)

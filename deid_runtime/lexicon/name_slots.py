"""Decide whether a word that is part of a known name is used as that name at one place of a text.

*Her*, *Will* and *Cane* are names and words. The kind of word, its letter case and its context decide:

- a function word (*her*, *will*) is a name after a title, next to another part of the name, and where a name is
  introduced (*surname: Her*, *her son Will*, *Will denies*); a capital letter is not evidence;
- another ordinary word (*cane*) is a name in the same places, and with a capital inside a sentence;
- any other word is always a name.

All offsets are half-open code points of the text.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

from deid_runtime.lexicon.name_cues import (
    fold,
    follows_title,
    is_eponym,
    is_function_word,
    is_listed_name,
    is_name_first,
    is_often_capitalised,
    is_ordinary,
    precedes_no_verb,
)
from deid_runtime.lexicon.vocabulary import alternation, human_verbs, kin, titles


class NameWord(Protocol):
    """A word of a text that is part of a known name: its half-open offsets and its folded form.

    A word counts as a particle (*de la*) only when it ends none of the known names: *Do* in *Mai Do* is not a particle.
    """

    @property
    def start(self) -> int:
        """The offset of the first code point."""

    @property
    def end(self) -> int:
        """The offset after the last code point."""

    @property
    def folded(self) -> str:
        """The word in lower case, without accents."""

    @property
    def is_particle(self) -> bool:
        """Whether the word is a particle of a name."""


Word = TypeVar("Word", bound=NameWord)

_WORD: Final = re.compile(r"[^\W\d_]+")
_BEFORE_CHARS: Final = 40  # how far before a word its cue may begin
_COURTESY: Final = re.compile(rf"(?i:\b(?:{alternation(titles('courtesy'))})\b\.?|\bms\.)[ \t]{{0,2}}$")
_SHORT_TITLE: Final = re.compile(rf"(?i:\b(?:{alternation(titles('brief'))})\b\.?)[ \t]{{0,2}}$")
_LOUD_TITLE: Final = re.compile(
    rf"\b(?:{alternation((*map(str.upper, titles('capitals')), *map(str.title, titles('capital'))))})\b\.?[ \t]{{0,2}}$"
)
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?:;\n\r•*#>|/\-\u2013\u2014(\[\"\u201c])[\s\d.)]*$")
_POSSESSIVE: Final = re.compile(r"['\u2019]s?\b|['\u2019](?= )")

#: The label of a form field. The name and the end of the field (:data:`_FIELD_END`) follow it.
_LABEL: Final = re.compile(
    r"(?:\b(?:(?:sur|nick|fore|user)?names?|surname|patient|pt|client|aka|a\.k\.a\.|alias|"
    rf"{alternation(kin('label'))}|contact|kin|nok|poa|hcp|proxy|signed|interpreter|re)"
    r"(?:[ \t]?\([^()\n]{0,12}\))?[ \t]{0,3}[:=][ \t]{0,6}[\"(]?)$",
    re.IGNORECASE,
)
_FIELD_END: Final = re.compile(r"[\")]?[ \t]{0,2}(?:$|[\r\n,;|/(\t]|[ ]{2}|\d)")
#: Phrases before a name, in any letter case.
_NAMED: Final = re.compile(
    r"\b(?:(?:(?:first|last|given|family|middle|maiden|full|preferred|legal|birth)[ \t]name|surname|name|nickname)"
    r"[ \t](?:is|was|of)|named|nicknamed|n[ée]e|known[ \t]as|goes[ \t]by|answers[ \t]to|aka|a\.k\.a\.|alias)"
    r"[ \t]{1,2}[\"]?$",
    re.IGNORECASE,
)
#: Phrases before a name with a capital. They are in lower case, some with a first capital at the start of a sentence,
#: because headings capitalise every word.
_MET: Final = re.compile(
    r"\b(?:(?:[Ss]poke|[Tt]alked|[Mm]et|[Dd]iscussed|[Cc]onferred|[Ss]peaking)[ \t](?:with|to|w/)|[Dd]/w|"
    r"(?:accompanied|brought[ \t]in|escorted|interpreted|seen|signed|driven|raised)[ \t]by)[ \t]{1,2}$"
)
_KIN: Final = re.compile(rf"\b(?:{alternation(kin('introduces'))}|patient|pt|nurse|interpreter)[ \t]{{1,2}}$")
#: The same, but only before words that are not function words: *w/ Her* can mean anything.
_WITH: Final = re.compile(
    r"(?:\b[Pp]er[ \t]{1,2}|(?<![^\W_])w/[ \t]{0,2}|"
    rf"(?:^|[.!?\n])[ \t]*(?:Patient|Pt|{alternation(map(str.title, kin('heads')))})[ \t])$"
)
#: Verbs after the name of a person. None of them follows an article, preposition or modal verb.
_DOES: Final = re.compile(rf"[ \t]{{1,2}}(?:{alternation(human_verbs('known'))})\b")
_ONLY_PEOPLE: Final = re.compile(
    rf"[ ](?:{alternation(human_verbs('only'))}|"
    rf"(?:{alternation(human_verbs('object'))})[ ](?:him|her|his|their|them|me|us|my|our)|"
    r"(?:lives|lived|works|worked)[ ](?:in|at|as|for|near|with|next|alone|nights|here|there|abroad)|"
    r"(?:visits|visited|helps|helped)[ ](?:once|twice|daily|weekly|every|most|when|with|out)|"
    r"(?:sat|sits|stayed|stays|came|comes|went|goes|moved|moves)[ ]"
    r"(?:with|in[ ]with|home|to[ ](?:work|school|bed|church)))\b"
)
_AGED: Final = re.compile(r"[ ,]{1,3}(?:\(?)\d{1,3}[ -]?(?:y\b|yo\b|y/o|yr|year|[MF]\b)")
#: Greetings before a name, and closings of a letter above a name that is alone on its line.
_GREETING: Final = re.compile(r"(?:^|[\n.!?:>\"])[ \t]*(?:[Dd]ear|[Hh]i|[Hh]ello|[Hh]ey|[Gg]ood [a-z]{3,9})[ \t]$")
_GREETED: Final = re.compile(r"[ \t]?[,.!:\n-]")
_CLOSING: Final = re.compile(
    r"(?i:\b(?:regards|sincerely|thanks|thank you|respectfully|bless|love|best|wishes|yours|cheers|truly|faithfully))"
    r"[^\n,]{0,12}[,.!]?[ \t]*\r?\n\s{0,8}$"
)
_LINE_BEHIND: Final = re.compile(r"[ \t]*(?:\r?\n|$)")
_HANGS_ON: Final = re.compile(r"(?:\w|\w['\u2019]|[/&+])$")
_ELIDED: Final = re.compile(r"(?<![^\W_])[odOD]['\u2019]$")
_GOES_ON: Final = re.compile(r"\.[^\W\d_]")
_NUMBER_BEHIND: Final = re.compile(r"[ \t]?[#]?\d")
_NUMBER_BEFORE: Final = re.compile(r"\d[ \t]{0,2}$")
_CONTRACTED: Final = re.compile(r"n?['\u2019]t\b")
_OWN_ALONE: Final = re.compile(r"['\u2019]s(?![ ](?!(?:and|or|by|with|per|for|on|in|was|is|not|none|no)\b)[^\W\d_])")
_NAME_BEFORE: Final = re.compile(r"(?<![^\W_])([A-Z][a-z]{2,}) $")
_CAPITAL_BEHIND: Final = re.compile(r" [^\W\d_]")
_TITLE_BEHIND: Final = re.compile(r"(?:[ -]|[ ]?&[ ]?)[A-Z][a-z]")
_FULL_LINE: Final = 40  # characters from which on a line may be wrapped because of its length
_ALIKE: Final = 3  # up to this many letters, capitals in a lower-case line are more often an abbreviation
_LINE_CHARS: Final = 80  # characters of a line that are read


def is_title_before(text: str, word: NameWord) -> bool:
    """Return whether a title before ``word`` shows that it is a name. The titles depend on the word's kind and case.

    A title in full, or a staff title, is often an ordinary noun: *The nurse will see her*, *a miss may*.
    """
    if text[word.start : word.end].istitle() or not is_ordinary(word.folded):
        return follows_title(text, word.start)
    if is_function_word(word.folded):
        title = _COURTESY
    else:
        title = _LOUD_TITLE if text[word.start : word.end].isupper() else _SHORT_TITLE
    return title.search(text, max(word.start - _BEFORE_CHARS, 0), word.start) is not None


def does_what_only_people_do(text: str, at: int) -> bool:
    """Return whether the words from ``at`` on, directly after a word that may be a name, tell that it is one."""
    return _ONLY_PEOPLE.match(text, at) is not None


def is_introduced(text: str, word: NameWord) -> bool:
    """Return whether the text before or after ``word`` introduces a name, as a field label or *named* does."""
    before = text[max(word.start - _BEFORE_CHARS, 0) : word.start]
    if _LABEL.search(before) is not None and _FIELD_END.match(text, word.end) is not None:
        return True
    if _AGED.match(text, word.end) is not None and text[word.start].isupper():
        return True
    if not text[word.start : word.end].istitle():
        return False
    if _GREETING.search(before) is not None and _GREETED.match(text, word.end) is not None:
        return True
    if _CLOSING.search(before) is not None and _LINE_BEHIND.match(text, word.end) is not None:
        return True
    if _NAMED.search(before) is not None:
        return True
    if _KIN.search(before) is not None:
        return True
    if _CAPITAL_BEHIND.match(text, word.end) is not None and text[word.end + 1].isupper():
        return False
    if _MET.search(before) is not None or _follows_given_name(before):
        return True
    if not is_function_word(word.folded) and _WITH.search(before) is not None:
        return not is_often_capitalised(word.folded)
    return (not is_function_word(word.folded) or precedes_no_verb(word.folded)) and (
        _DOES.match(text, word.end) is not None or does_what_only_people_do(text, word.end)
    )


def _follows_given_name(before: str) -> bool:
    """Return whether ``before`` ends with a listed name with a capital, as in *her husband Lonnie An*."""
    found = _NAME_BEFORE.search(before)
    if found is None:
        return False
    name = fold(found[1])
    return is_listed_name(name) and (not is_ordinary(name) or is_name_first(name))


def begins_sentence(text: str, start: int) -> bool:
    """Return whether a sentence, line, item or quotation begins at ``start``, where any word has a capital."""
    return _SENTENCE_START.search(text, max(start - 8, 0), start) is not None


def is_set_off(text: str, word: NameWord) -> bool:
    """Return whether ``word`` has a capital that neither a sentence start nor capitalised neighbours explain."""
    # Hodgkin's and Graves' are more often the disease.
    if not text[word.start : word.end].istitle() or is_often_capitalised(word.folded):
        return False
    if begins_sentence(text, word.start) or _POSSESSIVE.match(text, word.end):
        return False
    # Not a name next to a number: Day 3, Page 2, 3 Mo.
    if _NUMBER_BEHIND.match(text, word.end) or _NUMBER_BEFORE.search(text, max(word.start - 4, 0), word.start):
        return False
    following = _WORD.search(text, word.end, word.end + 20)
    previous = text[max(word.start - 20, 0) : word.start].split()
    # In headings and names of things, the neighbours are capitalised too.
    return not (
        (following is not None and following[0][0].isupper() and text[word.end : following.start()] in (" ", "-"))
        or (bool(previous) and previous[-1][:1].isupper())
    )


def is_meant(text: str, word: NameWord) -> bool:
    """Return whether ``word`` alone, without other parts of its name next to it, is used as that name."""
    if is_title_before(text, word):
        return True
    if word.is_particle or is_eponym(text, word.start, word.end) or _CONTRACTED.match(text, word.end) is not None:
        return False
    if is_function_word(word.folded):
        return is_introduced(text, word)
    if is_strong(text, word):
        return True
    return is_introduced(text, word) or (len(word.folded) > 1 and is_set_off(text, word))


def is_strong(text: str, word: NameWord) -> bool:
    """Return whether ``word`` is a name without other evidence: not ordinary, or mostly a name, and long enough."""
    if len(word.folded) <= 2 or not word.folded.isalpha():
        return False
    if is_ordinary(word.folded):
        return (
            is_name_first(word.folded)
            and not _is_beside_capital(text, word)
            and _OWN_ALONE.match(text, word.end) is None  # Wilson's, Turner's: the disease, when no noun follows
        )
    return len(word.folded) > _ALIKE or not text[word.start : word.end].isupper() or _is_in_capitals(text, word)


def _is_in_capitals(text: str, word: NameWord) -> bool:
    """Return whether the line around ``word`` is in capitals, so that the capitals of ``word`` are not evidence."""
    start = text.rfind("\n", max(word.start - _LINE_CHARS, 0), word.start) + 1 or max(word.start - _LINE_CHARS, 0)
    end = text.find("\n", word.end, word.end + _LINE_CHARS)
    line = text[start : word.start] + text[word.end : end if end >= 0 else word.end + _LINE_CHARS]
    return not any(map(str.islower, line))


def _is_beside_capital(text: str, word: NameWord) -> bool:
    """Return whether a capitalised word follows, as in names that are not of a person: *Wilson Street*."""
    return text[word.start : word.end].istitle() and _TITLE_BEHIND.match(text, word.end) is not None


def meant_words(text: str, run: Sequence[Word], order: Callable[[Sequence[Word]], bool | None]) -> Sequence[Word]:
    """Return the words of ``run`` that are used as a name, or an empty sequence.

    ``run`` has parts of names that are next to each other. ``order`` takes several parts. It returns True when they are
    in the order of the name (given name first) and False when they are in another order. It returns None when they are
    not parts of one name.
    """
    run = _trimmed(text, run)
    if not run or is_title_before(text, run[0]):
        return run if any(len(word.folded) > 1 for word in run) else ()
    parts = [w for w in run if len(w.folded) > 1 and (not w.is_particle or text[w.start].isupper())]
    if len({part.folded for part in parts}) > 1:
        in_order = order(parts)
        if in_order is not None and _make_a_name(text, parts, in_order=in_order):
            return () if is_eponym(text, run[0].start, run[-1].end) and not _are_strong(text, parts) else run
    meant = [at for at, word in enumerate(run) if is_meant(text, word) or _has_initial(text, run, at)]
    if not meant:
        return ()
    first, last = meant[0], meant[-1]
    # Initials and particles belong to the part next to them.
    while first > 0 and (len(run[first - 1].folded) == 1 or run[first - 1].is_particle):
        first -= 1
    while last + 1 < len(run) and len(run[last + 1].folded) == 1:
        last += 1
    return run[first : last + 1]


def may_be_initial(text: str, start: int) -> bool:
    """Return whether the capital letter at ``start`` can be an initial. Those of *190S*, *b/C* and *Still's* cannot."""
    return _HANGS_ON.search(text, max(start - 2, 0), start) is None


def is_abbreviated(text: str, end: int) -> bool:
    """Return whether the letter that ends at ``end`` starts an abbreviation such as *M.D.* or *D.O.B.*"""
    return _GOES_ON.match(text, end) is not None


def start_of_name(text: str, start: int) -> int:
    """Return the start of a name whose word begins at ``start``: for *malley* in *o'malley*, the offset of *o*."""
    return start - 2 if _ELIDED.search(text, max(start - 3, 0), start) is not None else start


def joins_across_lines(text: str, left: NameWord, right: NameWord) -> bool:
    """Return whether a name can continue across the line end between two of its parts, which are in order.

    A function word is never joined: it starts the next line far more often than it continues a name. Another ordinary
    word is joined only with a capital and after a full line.
    """
    if is_function_word(right.folded) or is_function_word(left.folded):
        return False
    is_full = left.end - (text.rfind("\n", max(left.end - _LINE_CHARS, 0), left.end) + 1) >= _FULL_LINE
    return all(
        not is_ordinary(word.folded) or is_name_first(word.folded) or (is_full and text[word.start].isupper())
        for word in (left, right)
    )


def _trimmed(text: str, run: Sequence[Word]) -> Sequence[Word]:
    """Return ``run`` without lower-case particles, or lower-case ordinary words next to capitals, at its ends."""
    first, last = 0, len(run)
    has_capitals = any(text[word.start].isupper() for word in run if len(word.folded) > 1)
    while first < last and _is_small(text, run[first], has_capitals=has_capitals):
        first += 1
    while (
        first < last
        and _is_small(text, run[last - 1], has_capitals=has_capitals)
        and text[run[last - 1].start - 1] != "-"  # Min-jun
    ):
        last -= 1
    return run[first:last]


def _is_small(text: str, word: NameWord, *, has_capitals: bool) -> bool:
    if text[word.start].isupper():
        return False
    return word.is_particle or (has_capitals and is_ordinary(word.folded) and not is_name_first(word.folded))


def _make_a_name(text: str, parts: Sequence[NameWord], *, in_order: bool) -> bool:
    """Return whether neighbouring ``parts`` of one name are that name, and not ordinary words next to each other."""
    functional = [is_function_word(part.folded) for part in parts]
    if not any(functional):
        return True
    has_comma = "," in text[parts[0].end : parts[-1].start]
    if has_comma and not in_order and begins_sentence(text, parts[0].start):
        return _FIELD_END.match(text, parts[-1].end) is not None or not all(functional)
    if not all(text[part.start].isupper() for part in parts):
        return in_order and not all(is_ordinary(part.folded) and not is_name_first(part.folded) for part in parts)
    if not all(functional):
        return True
    # With a patient He Was, HE WAS SEEN is not the name. With a patient An Do, AN DO alone in a field is the name.
    return in_order and (
        not text[parts[-1].start : parts[-1].end].isupper()
        or not _is_in_capitals(text, parts[0])
        or (begins_sentence(text, parts[0].start) and _FIELD_END.match(text, parts[-1].end) is not None)
    )


def _are_strong(text: str, parts: Sequence[NameWord]) -> bool:
    return any(is_strong(text, part) for part in parts)


def _has_initial(text: str, run: Sequence[NameWord], at: int) -> bool:
    """Return whether an initial with a full stop is directly before or after a capitalised word.

    Before a function word, the initial must begin a sentence or follow a title: *vitamin B. Her* has no initial. After
    a function word, a comma must come before the initial.
    """
    word = run[at]
    if len(word.folded) == 1 or word.is_particle or not text[word.start].isupper():
        return False
    if at > 0 and len(run[at - 1].folded) == 1 and text[run[at - 1].end] == ".":
        first = run[at - 1]
        return not is_function_word(word.folded) or begins_sentence(text, first.start) or is_title_before(text, first)
    return (
        at + 1 < len(run)
        and len(run[at + 1].folded) == 1
        and (text[word.end] == "," or not is_function_word(word.folded))
        and text[run[at + 1].end : run[at + 1].end + 1] == "."
    )

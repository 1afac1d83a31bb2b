"""Where in a text a word that is known to be a part of somebody's name is meant as that name.

*Her*, *Will* and *Cane* are names and words. What the word is, how it is written and what stands beside it decide:

- a function word (*her*, *will*) counts after a title, beside another part of the name, and where a name is introduced
  (*surname: Her*, *her son Will*, *Will denies*); a capital letter is no evidence;
- another ordinary word (*cane*) counts there, and with a capital where no sentence begins;
- any other word counts in every case.

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
from deid_runtime.lexicon.vocabulary import alternation, kin


class NameWord(Protocol):
    """A word of a text that is known to be a part of a name: where it stands, and its folded form.

    A particle (*de la*) is one that ends none of the names known: *Do* in *Mai Do* is none.
    """

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def folded(self) -> str: ...
    @property
    def is_particle(self) -> bool: ...


Word = TypeVar("Word", bound=NameWord)

_WORD: Final = re.compile(r"[^\W\d_]+")
_BEFORE_CHARS: Final = 40  # how far before a word its cue may begin
_COURTESY: Final = re.compile(r"(?i:\b(?:mr|mrs|mx|sr|sra)\b\.?|\bms\.)[ \t]{0,2}$")
_SHORT_TITLE: Final = re.compile(r"(?i:\b(?:mr|mrs|ms|mx|sr|sra|dr|drs|prof)\b\.?)[ \t]{0,2}$")
_LOUD_TITLE: Final = re.compile(
    r"\b(?:MR|MRS|MS|MX|MISS|SR|SRA|DR|DRS|PROF|DOCTOR|NURSE|PASTOR|OFFICER|[MD]rs?|M[sx]|Miss|Prof)\b\.?[ \t]{0,2}$"
)
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?:;\n\r•*#>|/\-\u2013\u2014(\[\"\u201c])[\s\d.)]*$")
_POSSESSIVE: Final = re.compile(r"['\u2019]s?\b|['\u2019](?= )")

#: A label, then the name and the end of its field.
_LABEL: Final = re.compile(
    r"(?:\b(?:(?:sur|nick|fore|user)?names?|surname|patient|pt|client|aka|a\.k\.a\.|alias|"
    rf"{alternation(kin('label'))}|contact|kin|nok|poa|hcp|proxy|signed|interpreter|re)"
    r"(?:[ \t]?\([^()\n]{0,12}\))?[ \t]{0,3}[:=][ \t]{0,6}[\"(]?)$",
    re.IGNORECASE,
)
_FIELD_END: Final = re.compile(r"[\")]?[ \t]{0,2}(?:$|[\r\n,;|/(\t]|[ ]{2}|\d)")
#: What a name follows, in whatever case it is.
_NAMED: Final = re.compile(
    r"\b(?:(?:(?:first|last|given|family|middle|maiden|full|preferred|legal|birth)[ \t]name|surname|name|nickname)"
    r"[ \t](?:is|was|of)|named|nicknamed|n[ée]e|known[ \t]as|goes[ \t]by|answers[ \t]to|aka|a\.k\.a\.|alias)"
    r"[ \t]{1,2}[\"]?$",
    re.IGNORECASE,
)
#: What a name with a capital follows; only in lower case or at the start of a sentence, as headings capitalise all.
_MET: Final = re.compile(
    r"\b(?:(?:[Ss]poke|[Tt]alked|[Mm]et|[Dd]iscussed|[Cc]onferred|[Ss]peaking)[ \t](?:with|to|w/)|[Dd]/w|"
    r"(?:accompanied|brought[ \t]in|escorted|interpreted|seen|signed|driven|raised)[ \t]by)[ \t]{1,2}$"
)
_KIN: Final = re.compile(rf"\b(?:{alternation(kin('introduces'))}|patient|pt|nurse|interpreter)[ \t]{{1,2}}$")
#: The same before words that are no function words: *w/ Her* may be anything.
_WITH: Final = re.compile(
    r"(?:\b[Pp]er[ \t]{1,2}|(?<![^\W_])w/[ \t]{0,2}|"
    rf"(?:^|[.!?\n])[ \t]*(?:Patient|Pt|{alternation(map(str.title, kin('heads')))})[ \t])$"
)
#: What people do who are named: none of these follows an article, preposition or modal.
_DOES: Final = re.compile(
    r"[ \t]{1,2}(?:denies|says|complains|endorses|wants|feels|tells|asks|asked|told|came|went|wanted|felt|thinks|knows|"
    r"agrees|agreed|understands|verbali[sz]es|lives|arrived|admits|tolerates|prefers)\b"
)
_AGED: Final = re.compile(r"[ ,]{1,3}(?:\(?)\d{1,3}[ -]?(?:y\b|yo\b|y/o|yr|year|[MF]\b)")
#: The name alone in its line below a closing, or behind a greeting.
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
_FULL_LINE: Final = 40  # characters of a line that was broken for its length
_ALIKE: Final = 3  # letters up to which capitals amid small letters are more often an abbreviation
_LINE_CHARS: Final = 80  # how much of a line is looked at


def is_title_before(text: str, word: NameWord) -> bool:
    """Say whether a title stands before ``word``, one that a word of its kind and case can follow as a name.

    *The nurse will see her*, *a miss may*: a title written out, or one of staff, is often the subject of a sentence.
    """
    if text[word.start : word.end].istitle() or not is_ordinary(word.folded):
        return follows_title(text, word.start)
    if is_function_word(word.folded):
        title = _COURTESY
    else:
        title = _LOUD_TITLE if text[word.start : word.end].isupper() else _SHORT_TITLE
    return title.search(text, max(word.start - _BEFORE_CHARS, 0), word.start) is not None


def is_introduced(text: str, word: NameWord) -> bool:
    """Say whether what stands before or behind ``word`` leaves room for a name alone."""
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
    return (not is_function_word(word.folded) or precedes_no_verb(word.folded)) and _DOES.match(
        text, word.end
    ) is not None


def _follows_given_name(before: str) -> bool:
    """Say whether ``before`` ends in a listed name with a capital, as in *her husband Lonnie An*."""
    found = _NAME_BEFORE.search(before)
    if found is None:
        return False
    name = fold(found[1])
    return is_listed_name(name) and (not is_ordinary(name) or is_name_first(name))


def begins_sentence(text: str, start: int) -> bool:
    """Say whether a sentence, line, item or quotation begins at ``start``, where any word has a capital."""
    return _SENTENCE_START.search(text, max(start - 8, 0), start) is not None


def is_set_off(text: str, word: NameWord) -> bool:
    """Say whether ``word`` has a capital that neither a sentence nor capitalised neighbours explain."""
    # Hodgkin's, Graves': more often the disease.
    if not text[word.start : word.end].istitle() or is_often_capitalised(word.folded):
        return False
    if begins_sentence(text, word.start) or _POSSESSIVE.match(text, word.end):
        return False
    # Day 3, Page 2; 3 Mo
    if _NUMBER_BEHIND.match(text, word.end) or _NUMBER_BEFORE.search(text, max(word.start - 4, 0), word.start):
        return False
    following = _WORD.search(text, word.end, word.end + 20)
    previous = text[max(word.start - 20, 0) : word.start].split()
    # In headings and names of things the words beside are capitalised as well.
    return not (
        (following is not None and following[0][0].isupper() and text[word.end : following.start()] in (" ", "-"))
        or (bool(previous) and previous[-1][:1].isupper())
    )


def is_meant(text: str, word: NameWord) -> bool:
    """Say whether ``word``, apart from other parts of its name, is meant as that name."""
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
    """Say whether ``word`` is no ordinary one and long enough to be nothing else."""
    if len(word.folded) <= 2 or not word.folded.isalpha():
        return False
    if is_ordinary(word.folded):
        return (
            is_name_first(word.folded)
            and not _is_beside_capital(text, word)
            and _OWN_ALONE.match(text, word.end) is None  # Wilson's, Turner's: the disease, where nothing is owned
        )
    return len(word.folded) > _ALIKE or not text[word.start : word.end].isupper() or _is_in_capitals(text, word)


def _is_in_capitals(text: str, word: NameWord) -> bool:
    """Say whether the line around ``word`` is in capitals, so that its own tell nothing."""
    start = text.rfind("\n", max(word.start - _LINE_CHARS, 0), word.start) + 1 or max(word.start - _LINE_CHARS, 0)
    end = text.find("\n", word.end, word.end + _LINE_CHARS)
    line = text[start : word.start] + text[word.end : end if end >= 0 else word.end + _LINE_CHARS]
    return not any(map(str.islower, line))


def _is_beside_capital(text: str, word: NameWord) -> bool:
    """Say whether a capitalised word follows that makes another name of it: *Wilson Street*, *Scott & White*."""
    return text[word.start : word.end].istitle() and _TITLE_BEHIND.match(text, word.end) is not None


def meant_words(text: str, run: Sequence[Word], order: Callable[[Sequence[Word]], bool | None]) -> Sequence[Word]:
    """Return the words of ``run``, parts of names that stand together, that are meant as a name; empty for none.

    ``order`` says of several parts whether they stand as in the name (given name first), False where they stand in
    another order, None where they are parts of no one name.
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
    # Initials and particles go with the part that they stand beside.
    while first > 0 and (len(run[first - 1].folded) == 1 or run[first - 1].is_particle):
        first -= 1
    while last + 1 < len(run) and len(run[last + 1].folded) == 1:
        last += 1
    return run[first : last + 1]


def may_be_initial(text: str, start: int) -> bool:
    """Say whether the capital letter at ``start`` may be an initial: those of *190S*, *b/C* and *Still's* are none."""
    return _HANGS_ON.search(text, max(start - 2, 0), start) is None


def is_abbreviated(text: str, end: int) -> bool:
    """Say whether the letter that ends at ``end`` goes on as an abbreviation: *M.D.*, *D.O.B.*"""
    return _GOES_ON.match(text, end) is not None


def start_of_name(text: str, start: int) -> int:
    """Return where the name that ``start`` is in begins: before the *o'* of *o'malley*."""
    return start - 2 if _ELIDED.search(text, max(start - 3, 0), start) is not None else start


def joins_across_lines(text: str, left: NameWord, right: NameWord) -> bool:
    """Say whether a name may be broken by the line end between two of its parts, which stand in its order.

    A function word begins the next line far more often than it ends a name; another ordinary word does where the line
    before was full.
    """
    if is_function_word(right.folded) or is_function_word(left.folded):
        return False
    is_full = left.end - (text.rfind("\n", max(left.end - _LINE_CHARS, 0), left.end) + 1) >= _FULL_LINE
    return all(
        not is_ordinary(word.folded) or is_name_first(word.folded) or (is_full and text[word.start].isupper())
        for word in (left, right)
    )


def _trimmed(text: str, run: Sequence[Word]) -> Sequence[Word]:
    """Return ``run`` without particles at its ends, and without small function words beside capitals."""
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
    """Say whether ``parts`` of one name, side by side, are it, and no words that happen to stand so."""
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
    # HE WAS SEEN of a patient He Was, as against AN DO in a field of its own
    return in_order and (
        not text[parts[-1].start : parts[-1].end].isupper()
        or not _is_in_capitals(text, parts[0])
        or (begins_sentence(text, parts[0].start) and _FIELD_END.match(text, parts[-1].end) is not None)
    )


def _are_strong(text: str, parts: Sequence[NameWord]) -> bool:
    return any(is_strong(text, part) for part in parts)


def _has_initial(text: str, run: Sequence[NameWord], at: int) -> bool:
    """Say whether an initial with a full stop stands before a capitalised word, or behind it and a comma.

    The letter of *vitamin B. Her* is none: before a function word it has to begin a sentence.
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

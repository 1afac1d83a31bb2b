"""Distinguish names from other words: lists of words that are also names, titles before a name, eponyms after it.

*Will*, *Brown* and *May* are more often words than names. *Parkinson* and *Foley* are mostly diseases and devices.
Alone, such a word is not evidence of a name. After a title, or next to another part of a name, it is.
"""

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Final

from deid_runtime.lexicon.vocabulary import alternation, credentials, dotted_credentials, particles, titles, with_stops
from deid_runtime.system.word_caches import cached_by_word

_TITLE: Final = re.compile(rf"(?:\b(?:{alternation(titles('text'))})\b\.?[ \t]{{0,2}})$", re.IGNORECASE)
_STAFF_TITLE: Final = re.compile(rf"\b(?:{alternation(titles('text-staff'))})\b\.?[ \t]{{0,2}}$", re.IGNORECASE)
#: The pattern excludes the last full stop, because it may end the sentence.
_CREDENTIAL: Final = re.compile(
    rf",?[ \t]?(?:{with_stops((*credentials('text'), *(word[:-1] for word in dotted_credentials('text-dotted'))))})"
    r"(?![^\W_])"
)
#: Head words that make an eponym of any name before them. Those of _OWNED_HEADS also do so after a possessive
#: (*Hodgkin's disease*).
_HEADS: Final = (
    r"tests?|scores?|scale|procedure|catheters?|tube|drain|cyst|lymphoma|fracture|hernia|splint|clamp|forceps|retractor|"
    r"stent|valve|position|solution|bandage|dressing|collar|brace|murmur|tumou?r|ulcer|node|nodules?|lesion|sarcoma|"
    r"carcinoma|reflex|dementia|index|stage|class|stain|virus|stand|wrap|lines?|notch|clefts?|bod(?:y|ies)|cells?|rings?|"
    r"spots?|type|inventory"
)
_OWNED_HEADS: Final = (
    r"disease|syndrome|sign|palsy|criteria|contracture|o?esophagus|encephalopathy|thyroiditis|phenomenon|"
    r"man(?:euv|oeuv)er|manoeuvre|chorea|classification"
)
#: Head words that make an eponym only of a listed name, as in *Harris hip score*.
_LISTED_HEADS: Final = (
    r"grade|hip|rods?|hooks?|kni(?:fe|ves)|pouch|flap|incision|osteotomy|technique|method|formula|equation|triad|tetrad|"
    r"pentad|deformity|malformation|anomaly|paralysis|ataxia|ana?emia|nephropathy|ligament|canal|triangle|angle|rule|laws?|"
    r"airway|speculum|elevator|scissors|medium|agar|stockings?|variant|antigen|component|clamps|straps?|angina|effect|"
    r"mosaicism|delusion|genes?|ratio|needles?|blades?|block|foramen|sutures?|protocol|approach|implants?|pillow|"
    r"cerclage|ligaments"
)
_EPONYM: Final = re.compile(
    rf"(?:[ \t-](?:{_OWNED_HEADS}|{_HEADS})|['\u2019]?s[ \t-](?:{_OWNED_HEADS}))\b", re.IGNORECASE
)
_LISTED_EPONYM: Final = re.compile(
    rf"(?:['\u2019]?s)?[ \t-](?:{_OWNED_HEADS}|{_HEADS}|{_LISTED_HEADS})\b", re.IGNORECASE
)
#: Eponyms that are mostly used as names. After a possessive, few head words count: *Smith's fracture* is an eponym,
#: *Smith's catheter* is not.
_NAME_EPONYM: Final = re.compile(
    rf"(?:[ \t-](?:{_OWNED_HEADS}|{_HEADS}|{_LISTED_HEADS})|"
    rf"['\u2019]?s[ \t-](?:{_OWNED_HEADS}|fracture|tests?|neuroma|tumou?r))\b",
    re.IGNORECASE,
)
_LAST_WORD: Final = re.compile(r"[^\W\d_]+$")
_GERM: Final = re.compile(r"\b(?:salmonella|serovar|serotype|ser\.)[ \t]{1,2}$", re.IGNORECASE)
_TITLE_CHARS: Final = 12  # the longest title with its full stop and spaces

#: Parts of names that are not evidence of a name on their own.
PARTICLES: Final = frozenset(particles("name"))


def fold(word: str) -> str:
    """Return a word without case and accents, for comparison. Its length can change."""
    # Do not cache long words: they rarely occur again, and the cache would hold much note text in memory.
    return _fold_once(word) if len(word) <= _LONGEST_KEPT else _folded(word)


_LONGEST_KEPT: Final = 64


@cached_by_word(100_000)
def _fold_once(word: str) -> str:
    return _folded(word)


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word)
    return "".join(character for character in plain if not unicodedata.combining(character)).casefold()


def is_ordinary(word: str) -> bool:
    """Return whether a folded word is listed as a word, calendar name, eponym or drug that is also a name."""
    return word in _ordinary_words()


def is_name_first(word: str) -> bool:
    """Return whether a folded word is listed as ordinary but is mostly a person's name: ``wilson``, ``bao``."""
    return word in _names_first()


def is_often_capitalised(word: str) -> bool:
    """Return whether people also capitalise a folded word inside a sentence: an eponym, month or brand."""
    return word in _capitalised()


def is_function_word(word: str) -> bool:
    """Return whether a folded word is a function word: a pronoun, a preposition or a word such as *mother*.

    Such a word is a name only next to a title or another part of the name, or where a name is introduced. A capital
    letter, or a name found elsewhere in the note, is not evidence.
    """
    return word in _function_words()


def precedes_no_verb(word: str) -> bool:
    """Return whether a verb after a folded function word shows that it is a name: *An denies*, *Her says*."""
    return word in _introduced_words()


def is_family_name(word: str) -> bool:
    """Return whether a folded word is in the list of family names from which surrogates are drawn."""
    return word in _names("family")


def is_listed_name(word: str) -> bool:
    """Return whether a folded word is in the lists of given or family names from which surrogates are drawn."""
    return word in _names("family") or word in _names("given")


def follows_title(text: str, start: int) -> bool:
    """Return whether a title of courtesy, rank or staff (``Mrs.``, ``Sgt``, ``Dr``) ends directly before ``start``."""
    before = text[max(start - _TITLE_CHARS, 0) : start]
    return _TITLE.search(before) is not None or _STAFF_TITLE.search(before) is not None


def is_staff(text: str, start: int, end: int) -> bool:
    """Return whether a staff title ends directly before ``start`` or a credential (``, MD``) begins at ``end``."""
    before = text[max(start - _TITLE_CHARS, 0) : start]
    return _STAFF_TITLE.search(before) is not None or _CREDENTIAL.match(text, end) is not None


def is_eponym(text: str, start: int, end: int) -> bool:
    """Return whether ``[start, end)`` is the name of a disease, sign, device or germ.

    The text after it (``'s disease``, `` catheter``) or the text before it (``Salmonella ``) decides.
    """
    last = _LAST_WORD.search(text[max(start, end - _LONGEST_KEPT) : end])
    word = fold(last[0]) if last is not None else ""
    pattern = _NAME_EPONYM if is_name_first(word) else _LISTED_EPONYM if is_ordinary(word) else _EPONYM
    return pattern.match(text, end) is not None or _GERM.search(text, max(start - _TITLE_CHARS, 0), start) is not None


@lru_cache(maxsize=1)
def _ordinary_words() -> frozenset[str]:
    return _words_of("ordinary_words.txt") | _function_words()


@lru_cache(maxsize=1)
def _names_first() -> frozenset[str]:
    return _words_of("lexicon", "name_first.txt")


@lru_cache(maxsize=1)
def _capitalised() -> frozenset[str]:
    return _words_of("ordinary_words.txt", section="capitalised") - _names_first()


@lru_cache(maxsize=1)
def _function_words() -> frozenset[str]:
    return _words_of("lexicon", "function_words.txt")


@lru_cache(maxsize=1)
def _introduced_words() -> frozenset[str]:
    """Return the function words before which a verb such as *denies* is evidence that the word is a name."""
    return frozenset().union(
        *(
            _words_of("lexicon", "function_words.txt", section=section)
            for section in ("determiners", "auxiliaries", "prepositions")
        )
    )


def _words_of(*path: str, section: str = "") -> frozenset[str]:
    """Return the words of a list in the data folder: all words, or those under the headings ``# [section]``."""
    words: set[str] = set()
    is_wanted = not section
    for line in files("deid_runtime").joinpath("data", *path).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            words.update(line.split() if is_wanted else ())
        elif section:
            is_wanted = line.startswith(f"# [{section}]")
    return frozenset(words)


@lru_cache(maxsize=2)
def _names(kind: str) -> frozenset[str]:
    """Return the folded names of one kind, ``given`` or ``family``."""
    folder = files("deid_runtime") / "data" / "surrogates"
    listed = (folder / f"{kind}_names.tsv").read_text(encoding="utf-8").splitlines()
    own = (folder / "own_names.tsv").read_text(encoding="utf-8").splitlines()
    names = [line.partition("\t")[0] for line in listed]
    names += [line.split("\t")[1] for line in own if line.startswith(f"{kind}\t")]
    return frozenset(map(fold, names))

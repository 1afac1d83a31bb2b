"""What tells a name from a word: a list of words that are also names, titles before, eponyms behind.

*Will*, *Brown* and *May* are words more often than names, *Parkinson* and *Foley* are mostly diseases and devices.
Found alone, such a word proves nothing; after a title or beside another part of a name it does.
"""

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Final

_TITLE: Final = re.compile(
    r"(?:\b(?:mr|mrs|ms|miss|mx|master|mister|madam|sir|sr|sra|srta|señora?|mme|rev|pastor|father|sgt|sergeant|officer)"
    r"\b\.?[ \t]{0,2})$",
    re.IGNORECASE,
)
_STAFF_TITLE: Final = re.compile(r"\b(?:drs?|doctor|prof|professor|nurse)\b\.?[ \t]{0,2}$", re.IGNORECASE)
_CREDENTIAL: Final = re.compile(
    r",?[ \t]?(?:M\.?D|D\.?O|R\.?N|N\.?P|PA(?:-C)?|MBBS|Ph\.?D|FNP|APRN|ARNP|CRNA|LPN|CNA|RRT|DPT|"
    r"LCSW|LICSW|PharmD|RPh)"
    r"(?![^\W_])"
)
_EPONYM: Final = re.compile(
    r"(?:['\u2019]?s)?[ \t-](?:disease|syndrome|sign|palsy|tests?|scores?|scale|criteria|procedure|catheters?|tube|"
    r"drain|cyst|lymphoma|fracture|contracture|hernia|o?esophagus|encephalopathy|thyroiditis|phenomenon|man(?:euv|oeuv)er|"
    r"manoeuvre|splint|clamp|forceps|retractor|stent|valve|position|solution|bandage|dressing|collar|brace|murmur|"
    r"tumou?r|chorea|ulcer|node|nodule|lesion|sarcoma|carcinoma|reflex|dementia|index|stage|class|"
    r"classification|stain|virus|stand|wrap|lines?|notch|clefts?|bod(?:y|ies)|cells?|rings?|spots?|nodules|type|"
    r"inventory)\b",
    re.IGNORECASE,
)
_GERM: Final = re.compile(r"\b(?:salmonella|serovar|serotype|ser\.)[ \t]{1,2}$", re.IGNORECASE)
_TITLE_CHARS: Final = 12  # the longest title with its full stop and spaces

#: First and later parts of names that carry nothing alone.
PARTICLES: Final = frozenset(
    {
        "de", "la", "las", "los", "del", "da", "das", "do", "dos", "du", "di", "le", "van", "von", "der", "den", "ter",
        "ten", "bin", "ibn", "al", "el", "ap", "y", "e", "st", "mac", "mc", "o", "jr", "sr", "ii", "iii", "iv",
    }
)  # fmt: skip


def fold(word: str) -> str:
    """Return a word without case and accents, for comparison; its length may differ."""
    # Long words are none that come again; kept, they would hold much of many notes in memory.
    return _fold_once(word) if len(word) <= _LONGEST_KEPT else _folded(word)


_LONGEST_KEPT: Final = 64


@lru_cache(maxsize=100_000)
def _fold_once(word: str) -> str:
    return _folded(word)


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word)
    return "".join(character for character in plain if not unicodedata.combining(character)).casefold()


def is_ordinary(word: str) -> bool:
    """Say whether a folded word is listed as a word, calendar name, eponym or drug that is also a name."""
    return word in _ordinary_words()


def is_family_name(word: str) -> bool:
    """Say whether a folded word is in the list of family names that surrogates are drawn from."""
    return word in _names("family")


def is_listed_name(word: str) -> bool:
    """Say whether a folded word is in the lists of given or family names that surrogates are drawn from."""
    return word in _names("family") or word in _names("given")


def follows_title(text: str, start: int) -> bool:
    """Say whether a title of courtesy, rank or staff (``Mrs.``, ``Sgt``, ``Dr``) ends right before ``start``."""
    before = text[max(start - _TITLE_CHARS, 0) : start]
    return _TITLE.search(before) is not None or _STAFF_TITLE.search(before) is not None


def is_staff(text: str, start: int, end: int) -> bool:
    """Say whether a title of staff ends right before ``start`` or a credential (``, MD``) begins at ``end``."""
    before = text[max(start - _TITLE_CHARS, 0) : start]
    return _STAFF_TITLE.search(before) is not None or _CREDENTIAL.match(text, end) is not None


def is_eponym(text: str, start: int, end: int) -> bool:
    """Say whether ``[start, end)`` names a disease, sign, device (``'s disease``, `` catheter``) or germ."""
    return _EPONYM.match(text, end) is not None or _GERM.search(text, max(start - _TITLE_CHARS, 0), start) is not None


@lru_cache(maxsize=1)
def _ordinary_words() -> frozenset[str]:
    text = (files("deid_runtime") / "data" / "ordinary_words.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


@lru_cache(maxsize=2)
def _names(kind: str) -> frozenset[str]:
    """Return the folded names of a kind, ``given`` or ``family``."""
    folder = files("deid_runtime") / "data" / "surrogates"
    listed = (folder / f"{kind}_names.tsv").read_text(encoding="utf-8").splitlines()
    own = (folder / "own_names.tsv").read_text(encoding="utf-8").splitlines()
    names = [line.partition("\t")[0] for line in listed]
    names += [line.split("\t")[1] for line in own if line.startswith(f"{kind}\t")]
    return frozenset(map(fold, names))

"""Names in Cyrillic and Greek letters and their spelling in Latin letters, so that a person is the same in both."""

import unicodedata
from functools import cache
from typing import Final

from deid_runtime.surrogates.lists import read_rows

_SILENT: Final = frozenset("ъьʹ'’")
_LONGEST_LATIN: Final = 4  # letters that stand for one letter (shch)


@cache
def _letters(script: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return letter -> Latin and Latin -> letter of ``script``; the first row of a letter counts in each direction."""
    to_latin: dict[str, str] = {}
    from_latin: dict[str, str] = {}
    for of_script, latin, letter in read_rows("name_letters.tsv"):
        if of_script == script:
            to_latin.setdefault(letter, latin)
            from_latin.setdefault(latin, letter)
    return to_latin, from_latin


def in_latin(form: str, script: str) -> str:
    """Return a normal form of ``script`` in Latin letters, or an empty string when it has a letter in no table."""
    to_latin, _ = _letters(script)
    out = []
    for char in form.replace("ς", "σ"):
        bare = char if char in to_latin else unicodedata.normalize("NFD", char)[0]
        if bare not in to_latin and char not in _SILENT:
            return ""
        out.append(to_latin.get(bare, ""))
    return "".join(out)


def from_latin(name: str, script: str) -> str:
    """Return a Latin name in the letters of ``script``, capitalised; marks between its letters stay."""
    _, letters = _letters(script)
    text = "".join(c for c in unicodedata.normalize("NFD", name.lower()) if not unicodedata.combining(c))
    out, place = [], 0
    while place < len(text):
        for size in range(_LONGEST_LATIN, 0, -1):
            found = letters.get(text[place : place + size])
            if found and len(text[place : place + size]) == size:
                out.append(found)
                place += size
                break
        else:
            out.append("" if text[place].isalpha() else text[place])
            place += 1
    made = "".join(out).title()
    return made[:-1] + "ς" if script == "greek script" and made.endswith("σ") else made

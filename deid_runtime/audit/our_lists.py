"""The lists that surrogates are drawn from, read from the data files as an attacker would."""

import lzma
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from string import ascii_lowercase
from typing import Final

from deid_runtime.surrogates.forms import normal_form, without_accents

_FOLDER: Final = "data/surrogates"
_ENTRY: Final = re.compile(r"[\t\n,;|]")
_WORD: Final = re.compile(r"[\s\-‐‑]+")
_LONGEST_NEAR: Final = 20  # letters; longer words are not compared


@lru_cache(maxsize=1)
def listed_forms() -> Mapping[str, frozenset[str]]:
    """Return, for each file of lists, the normal forms of its entries and of their words.

    Other columns, such as cultures, count as words, too, so an attacker marks a few words fewer.
    """
    found: dict[str, frozenset[str]] = {}
    for path in (resources.files("deid_runtime") / _FOLDER).iterdir():
        stem, _, ending = path.name.partition(".")
        if ending.startswith(("tsv", "txt")):
            data = path.read_bytes()
            text = (lzma.decompress(data) if ending.endswith(".xz") else data).decode("utf-8")
            entries = _ENTRY.split(text)
            parts = {part for entry in entries for part in (entry, *_WORD.split(entry))}
            found[stem] = frozenset(normal_form(written) for part in parts for written in (part, without_accents(part)))
    return {stem: found[stem] - {""} for stem in sorted(found)}


def lists_with(form: str) -> list[str]:
    """Return the names of the files that contain a normal form, as an entry or as a word of one."""
    return [stem for stem, forms in listed_forms().items() if form in forms]


@lru_cache(maxsize=100_000)
def is_near(form: str) -> bool:
    """Return whether a listed name becomes ``form`` when one letter is added, removed or replaced, or two swapped."""
    if len(form) > _LONGEST_NEAR:
        return False
    cuts = [(form[:place], form[place:]) for place in range(len(form) + 1)]
    near = {left + right[1:] for left, right in cuts if right}
    near |= {left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1}
    near |= {
        left + letter + right[skipped:] for left, right in cuts for letter in ascii_lowercase for skipped in (0, 1)
    }
    return any(not near.isdisjoint(forms) for stem, forms in listed_forms().items() if "name" in stem)

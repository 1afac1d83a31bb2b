"""Spellings of a name with the same letters but different word boundaries (``Win ter``, ``Soo-jin`` and ``SOOJIN``)."""

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.name_parts import APOSTROPHES, KEPT, Part, is_listed

_HYPHEN: Final = re.compile("([-‐‑ ])")
_JOINT: Final = re.compile(rf"[-‐‑ {APOSTROPHES}]")


def joined_like(made: str, word: str) -> str:
    """Return ``made`` with its parts joined as the parts of ``word`` are, each part in the same letter case."""
    old, new = _HYPHEN.split(word), re.split("[- ]", made)
    if len(old[::2]) == len(new) > 1:
        return old[1].join(case_like(piece.capitalize(), model) for piece, model in zip(new, old[::2], strict=True))
    if len(new) > len(old) == 1:
        return "".join(new).capitalize()
    return made


def cut_alike(
    usual: str, usual_parts: Sequence[Part], made: Sequence[str], parts: Sequence[Part], value: str
) -> list[str]:
    """Return the surrogates ``made`` for the ``usual`` spelling of a mention, divided into words as ``value`` is.

    Example: Win ter for Winter. Both spellings have the same letters and digits. The surrogate of a divided word is
    divided at its hyphen or apostrophe if it has one (Soo Jin for Soo-jin), else in proportion to the lengths.
    """
    pieces = [
        piece
        for part, new in zip(usual_parts, made, strict=True)
        for piece in _pieces(usual[part.start : part.end], new)
    ]
    whole_ends = list(accumulate(len(part.form) for part in usual_parts))
    whole = {(part.form, end): new for part, end, new in zip(usual_parts, whole_ends, made, strict=True)}
    ends = list(accumulate(len(form) for form, _ in pieces))
    words, at = [], 0
    for part in parts:
        word: list[str] = []
        for (known, chars), end in zip(pieces, ends, strict=True):
            start, size = end - len(known), max(1, len(known))
            first, last = max(at, start) - start, min(at + len(part.form), end) - start
            if first < last:
                word += chars[-(-first * len(chars) // size) : -(-last * len(chars) // size)]
        text = value[part.start : part.end]
        at += len(part.form)
        if as_it_is := whole.get((part.form, at)):
            listed = as_it_is.capitalize() if as_it_is.islower() or as_it_is.isupper() else as_it_is
            words.append(case_like(joined_like(listed, text), text))
        else:
            words.append(case_like("".join(word).capitalize(), text) or text)
    return words


def _pieces(word: str, made: str) -> list[tuple[str, list[str]]]:
    """Return each part of a word joined by hyphen, space or apostrophe: normal form and letters of its surrogate."""
    old, new = _JOINT.split(word), _JOINT.split(made)
    if len(old) != len(new):
        old, new = [word], [made]
    return [
        (normal_form(part), [char for char in other if char.isalnum()]) for part, other in zip(old, new, strict=True)
    ]


def usual_spellings(parsed: Mapping[str, Sequence[Part]]) -> dict[str, str]:
    """Return normal form to usual spelling, for names with several spellings that differ in their word boundaries.

    The surrogates of the other spellings follow that of the usual one.
    """
    spellings: dict[str, list[str]] = {}
    for value, parts in parsed.items():
        form = "".join(part.form for part in parts)
        if form == normal_form(value):
            spellings.setdefault(form, []).append(value)
    return {
        form: min(values, key=lambda value: _unusualness(value, parsed[value]))
        for form, values in spellings.items()
        if len(values) > 1 and len({_cuts(value, parsed[value]) for value in values}) > 1
    }


def _cuts(value: str, parts: Sequence[Part]) -> tuple[tuple[str, bool, bool], ...]:
    return tuple((part.form, part.role == KEPT, "-" in value[part.start : part.end]) for part in parts)


def _unusualness(value: str, parts: Sequence[Part]) -> tuple[int, int, int, int, str]:
    """Return a sort key, lowest for the usual spelling: most particles, hyphens, listed words, then fewest words."""
    kept = sum(part.role == KEPT for part in parts)
    hyphens = sum("-" in value[part.start : part.end] for part in parts)
    return -kept, -hyphens, -sum(is_listed(part.form) for part in parts), len(parts), value


def has_own_particle(parts: Sequence[Part], usual: Sequence[Part]) -> bool:
    """Return whether a kept word in ``parts`` is part of a longer word in the usual spelling."""
    ends = list(accumulate(len(part.form) for part in parts))
    words = {(end, part.form) for end, part in zip(accumulate(len(part.form) for part in usual), usual, strict=True)}
    return any(part.role == KEPT and (end, part.form) not in words for end, part in zip(ends, parts, strict=True))

"""Compute the two masks of a sentence (Murugadoss et al. 2021): the form of its tokens, and which of them identify.

``Signed by: Ann Quist, RN 4/7/31`` has the syntax mask ``W W : W W , W N / N / N`` and the entity mask ``O O O B-DOCTOR
I-DOCTOR O O B-DATE I-DATE I-DATE I-DATE I-DATE``.

The syntax mask of a short sentence is too general: ``W : W`` is both a signature and a finding. So the fixed words are
compared as well: see :attr:`Masks.fixed`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from deid_runtime.detectors.templates import FREE_SLOTS
from deid_runtime.spans import Span

TOKEN: Final = re.compile(r"[^\W_]+|[^\w\s]|_")

_CREDENTIAL: Final = re.compile(FREE_SLOTS["credential"])
_SEX: Final = re.compile(FREE_SLOTS["sex"])


def syntax_of(token: str) -> str:
    """Return ``W`` for letters, ``N`` for digits, ``A`` for a mix of both, and punctuation unchanged."""
    if token.isalpha():
        return "W"
    if token.isdigit():
        return "N"
    return "A" if token[0].isalnum() else token


def syntax_mask(sentence: str) -> tuple[str, ...]:
    """Return :func:`syntax_of` of every token of ``sentence``."""
    return tuple(syntax_of(token) for token in TOKEN.findall(sentence))


def entity_mask(sentence: str, spans: Sequence[Span]) -> tuple[str, ...]:
    """Return the IOB2 tag of every token; ``spans`` are sorted, disjoint, in offsets of ``sentence``.

    A token that a span covers only partly, such as ``39yo``, is tagged.
    """
    tags: list[str] = []
    at = 0
    begun = -1
    for token in TOKEN.finditer(sentence):
        while at < len(spans) and spans[at].end <= token.start():
            at += 1
        if at < len(spans) and spans[at].start < token.end():
            tags.append(("I-" if at == begun else "B-") + spans[at].label)
            begun = at
        else:
            tags.append("O")
    return tuple(tags)


def fixed_words(sentence: str, entity: Sequence[str]) -> tuple[str, ...]:
    """Return the case-folded words outside the entities of ``entity``, without credentials and sexes, which vary."""
    return tuple(
        token.casefold()
        for token, tag in zip(TOKEN.findall(sentence), entity, strict=True)
        if tag == "O"
        and syntax_of(token) in ("W", "A")
        and not _CREDENTIAL.fullmatch(token)
        and not _SEX.fullmatch(token)
    )


@dataclass(frozen=True, slots=True)
class Masks:
    """The masks of one sentence. ``fixed`` are the words outside its entities, which the template keeps unchanged."""

    syntax: tuple[str, ...]
    entity: tuple[str, ...]
    fixed: tuple[str, ...]

    @classmethod
    def of(cls, sentence: str, spans: Sequence[Span]) -> "Masks":
        """Return the masks of ``sentence``; ``spans`` as in :func:`entity_mask`."""
        entity = entity_mask(sentence, spans)
        return cls(syntax_mask(sentence), entity, fixed_words(sentence, entity))

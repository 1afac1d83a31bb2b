"""The features of the CRF: the four families of Dernoncourt et al. 2016 (JAMIA 24:596), for a word and its neighbours.

======================= ================================================================================================
n-gram                  the word with digits as 0; all runs of two and three consecutive words in the window
morphological           the first two to four letters and the last two to four letters; a final ``s``
orthographic            letter case and length; the letters, digits and marks of the run between spaces that contains
                        it; what precedes it: nothing, a space, a gap or a line break
gazetteer               the lists that contain it, alone or as part of a longer entry
======================= ================================================================================================

The window is four words on either side, across line ends. A neighbour adds its word, last three letters, case and
length, and lists. Stems and parts of speech, which the paper also used, would need a tagger for clinical English.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final

from deid_runtime.audit.gazetteer import Gazetteer
from deid_runtime.audit.word_tags import SentenceWords
from deid_runtime.lexicon.name_cues import fold
from deid_runtime.text.words import SHAPES, shape_of

WINDOW: Final = 4
_DIGIT: Final = re.compile(r"\d")
_RUN: Final = re.compile(r"\S+")
_LONGEST_RUN: Final = 40  # characters of a run between spaces that its feature describes
_OUTSIDE: Final = "|"  # replaces a neighbour before the first or after the last word


def note_features(text: str, sentences: Sequence[SentenceWords], gazetteer: Gazetteer) -> list[list[list[str]]]:
    """Return the features of each word as a list, in one row for each of the ``sentences`` of one note."""
    starts = [start for words in sentences for start in words.starts]
    ends = [end for words in sentences for end in words.ends]
    spelt = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    listed = gazetteer.look_up([fold(word) for word in spelt])
    runs = _runs(text, starts)
    own: list[list[str]] = []
    near: list[list[str]] = []  # features that a word adds to its neighbours
    for number, (word, start) in enumerate(zip(spelt, starts, strict=True)):
        look, tail, more = _of_word(word)
        kinds = sorted(listed[number])
        spacing = _spacing(text, start)
        case = SHAPES[shape_of(word)]
        near.append([f"w={_norm(word)}", tail, look, *(f"g={kind}" for kind in kinds)])
        own.append(
            [*more, f"before={spacing}", f"run={runs[number]}", f"g+case={'+'.join(kinds)}/{case}"]
            + ([] if number + 1 == len(starts) else [f"after={_spacing(text, starts[number + 1])}"])
        )
    normed = [_OUTSIDE] * WINDOW + [_norm(word) for word in spelt] + [_OUTSIDE] * WINDOW
    rows = []
    for number in range(len(spelt)):
        row = own[number]
        for offset in range(max(-WINDOW, -number), min(WINDOW, len(spelt) - 1 - number) + 1):
            row += [f"{offset}{part}" for part in near[number + offset]]
        around = normed[number : number + 2 * WINDOW + 1]
        row += [f"{at}2={a} {b}" for at, (a, b) in enumerate(pairwise(around))]
        row += [f"{at}3={a} {b} {c}" for at, (a, b, c) in enumerate(zip(around, around[1:], around[2:], strict=False))]
        rows.append(row)
    remaining = iter(rows)
    return [[next(remaining) for _ in words.starts] for words in sentences]


@lru_cache(maxsize=100_000)
def _norm(word: str) -> str:
    return _DIGIT.sub("0", fold(word))


@lru_cache(maxsize=100_000)
def _of_word(word: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the case and length of a word, its last three letters, and features that neighbours do not get."""
    norm = _norm(word)
    more = [f"p{size}={norm[:size]}" for size in (2, 3, 4)] + [f"s{size}={norm[-size:]}" for size in (2, 4)]
    if norm.endswith("s"):
        more.append("plural")
    return f"o={SHAPES[shape_of(word)]}{min(len(word), 10)}", f"s3={norm[-3:]}", tuple(more)


def _spacing(text: str, start: int) -> str:
    if start == 0:
        return "start"
    before = text[max(0, start - 3) : start]
    if "\n" in before or "\r" in before:
        return "line"
    if not before[-1].isspace():
        return "none"
    return "space" if before[-1] == " " and not before[:-1].endswith((" ", "\t")) else "gap"


def _runs(text: str, starts: Sequence[int]) -> list[str]:
    """Return, for each word, the shape of the run between spaces that contains it: ``0-0-0``, ``Aa,``.

    A run of capitals is A, of other letters a, and of digits 0.
    """
    made: list[str] = []
    runs = _RUN.finditer(text)
    run = next(runs, None)
    shape = ""
    shaped: re.Match[str] | None = None
    for start in starts:
        while run is not None and run.end() <= start:
            run = next(runs, None)
        if run is not shaped and run is not None:
            shape, shaped = _make_up(run[0][:_LONGEST_RUN]), run
        made.append(shape)
    return made


@lru_cache(maxsize=100_000)
def _make_up(run: str) -> str:
    kinds = ("0" if c.isdigit() else "A" if c.isupper() else "a" if c.isalpha() else c for c in run)
    return "".join(kind for kind, _ in groupby(kinds))

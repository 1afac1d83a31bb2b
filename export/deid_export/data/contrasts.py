"""Make short notes in which identifiers are beside clinical facts of the same form.

A line such as ``3/14 nodes pos, path of 3/14 reviewed`` has both a count and a date. Models that see such lines only
without identifiers learn to miss the identifiers. Therefore ``carriers/contrasts.txt`` has lines with tags. They are
mixed with the clean lines of ``carriers/facts.txt``.
"""

import random
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from deid_export.data.negatives import carriers
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.tagged import parse_tagged
from deid_runtime.spans import Span

_MOST_LINES = 10
_CONTRAST_SHARE = 0.55  # of the lines of a note; the others are clean facts


@cache
def contrast_lines() -> tuple[tuple[str, tuple[Span, ...]], ...]:
    """Return the tagged lines as (text, spans); spans are half-open code points of the line."""
    text = (files("deid_export") / "data" / "carriers" / "contrasts.txt").read_text(encoding="utf-8")
    return tuple(parse_tagged(line) for line in text.splitlines())


def contrast_note(rng: random.Random) -> AnnotatedNote:
    """Return a note of one to ten lines, about half of them with identifiers."""
    lines: list[tuple[str, tuple[Span, ...]]] = [rng.choice(contrast_lines())]
    facts = carriers()["facts"]
    for _ in range(rng.randrange(_MOST_LINES)):
        lines.append(rng.choice(contrast_lines()) if rng.random() < _CONTRAST_SHARE else (rng.choice(facts), ()))
    rng.shuffle(lines)
    return _joined(lines, rng)


def _joined(lines: Sequence[tuple[str, tuple[Span, ...]]], rng: random.Random) -> AnnotatedNote:
    text = ""
    spans: list[Span] = []
    for line, marked in lines:
        if text:
            text += "\n" if rng.random() < 0.7 else " " if text[-1] in ".?!" else ". "
        spans += [span.shift(len(text)) for span in marked]
        text += line
    return AnnotatedNote("contrast", "contrast", "", text, tuple(spans))

"""The grammar with the rows of all families."""

from typing import Final

from deid_runtime.detectors.clinical import (
    anatomy,
    codes,
    devices,
    doses,
    editions,
    labs,
    people,
    scores,
    times,
    vitals,
)
from deid_runtime.detectors.clinical.rows import Grammar, Stretch

GRAMMAR: Final = Grammar(
    (
        *labs.ROWS,
        *vitals.ROWS,
        *scores.ROWS,
        *doses.ROWS,
        *times.ROWS,
        *devices.ROWS,
        *anatomy.ROWS,
        *codes.ROWS,
        *editions.ROWS,
        *people.ROWS,
    )
)


def find_clinical(text: str) -> list[Stretch]:
    """Return the clinical values of a text, sorted; they may overlap. Time is linear in the length of the text."""
    return GRAMMAR.find(text)

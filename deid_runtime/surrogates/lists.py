"""The word lists in ``data/surrogates``, read once, on first use. ``SOURCES.md`` there lists their sources."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

_FOLDER: Final = "data/surrogates"


def read_rows(name: str) -> Iterator[list[str]]:
    """Yield the tab-separated fields of each line of a list in the package."""
    text = resources.files("deid_runtime").joinpath(f"{_FOLDER}/{name}").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line:
            yield line.split("\t")


@dataclass(frozen=True, slots=True)
class Phrases:
    """Words for the names of facilities, organisations, streets and places.

    ``kept`` maps ``"facility"``, ``"street"`` and ``"place"`` to the words for the kind of thing, which are kept.
    ``ordinary`` are ordinary words that occur in names of organisations: they replace each other.
    """

    kept: Mapping[str, frozenset[str]]
    firsts: tuple[str, ...]
    features: tuple[str, ...]
    singles: tuple[str, ...]
    streets: tuple[str, ...]
    saints: tuple[str, ...]
    ordinary: tuple[str, ...]


def _column(name: str) -> tuple[str, ...]:
    return tuple(row[0] for row in read_rows(name))


@cache
def phrases() -> Phrases:
    """Return the words that form names of places and facilities."""
    kept = {kind: frozenset(_column(f"kept_{kind}.txt")) for kind in ("facility", "street", "place")}
    return Phrases(
        kept, _column("place_firsts.txt"), _column("place_features.txt"), _column("place_singles.txt"),
        _column("streets.txt"), _column("saints.txt"), _column("organization_words.txt"),
    )  # fmt: skip

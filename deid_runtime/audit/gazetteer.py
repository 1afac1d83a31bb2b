"""Lists of names and words as a feature: which kinds of list contain each word of a text.

The lists are those of the runtime; others can be added. A trained model keeps a copy, because it is valid only with the
lists that it was trained with.
"""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from deid_runtime.errors import SourceError
from deid_runtime.lexicon.calendar_words import MONTH_NAMES, SHORT_MONTHS, WEEKDAY_NAMES, weekday_words
from deid_runtime.lexicon.name_cues import fold, is_ordinary
from deid_runtime.lexicon.vocabulary import credential_keys, titles
from deid_runtime.surrogates.gazetteer import places
from deid_runtime.surrogates.lists import phrases, read_rows
from deid_runtime.text.words import split_words

_MOST_WORDS: Final = 6  # longer entries rarely occur in full
_CALENDAR: Final = [
    *MONTH_NAMES, *SHORT_MONTHS, "sept", *WEEKDAY_NAMES, *weekday_words("short"), "thur",
    "christmas", "thanksgiving", "easter",
]  # fmt: skip
_TITLES: Final = [*titles("gazetteer"), *credential_keys("gazetteer")]


@dataclass(frozen=True)
class Gazetteer:
    """``kinds`` maps the folded words of an entry to its lists. ``longest`` is the longest entry in words."""

    kinds: Mapping[tuple[str, ...], tuple[str, ...]] = field(repr=False)
    longest: int

    def look_up(self, words: Sequence[str]) -> list[set[str]]:
        """Return, for each folded word of a text, the names of the lists with an entry that covers the word there."""
        found: list[set[str]] = [set() for _ in words]
        for first in range(len(words)):
            for last in range(first + 1, min(first + self.longest, len(words)) + 1):
                for kind in self.kinds.get(tuple(words[first:last]), ()):
                    for word in range(first, last):
                        found[word].add(kind)
        return found


def make_gazetteer(further: Mapping[str, Iterable[str]] | None = None) -> Gazetteer:
    """Return the lists of the runtime and the ``further`` ones, which map the name of a list to its entries."""
    return _index({**_packaged(), **further}) if further else _packaged_gazetteer()


def save_gazetteer(gazetteer: Gazetteer, path: Path) -> None:
    """Write gzipped JSON for :func:`load_gazetteer`. The same lists give the same bytes."""
    rows = sorted([" ".join(words), *kinds] for words, kinds in gazetteer.kinds.items())
    path.write_bytes(gzip.compress(json.dumps(rows, ensure_ascii=False).encode("utf-8"), mtime=0))


def load_gazetteer(path: Path) -> Gazetteer:
    """Read what :func:`save_gazetteer` wrote. Raises SourceError when it cannot be read."""
    try:
        rows = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} is not a saved gazetteer ({type(error).__name__}); train the CRF again") from error
    kinds = {tuple(words.split(" ")): tuple(rest) for words, *rest in rows}
    return Gazetteer(kinds, max(map(len, kinds), default=0))


@lru_cache(maxsize=1)
def _packaged_gazetteer() -> Gazetteer:
    return _index(_packaged())


@lru_cache(maxsize=1)
def _packaged() -> dict[str, list[str]]:
    given = [row[0] for row in read_rows("given_names.tsv")]
    given += [name for row in read_rows("nicknames.tsv") for name in (row[0], *row[2].split(","))]
    own = list(read_rows("own_names.tsv"))
    geography, words = places(), phrases()
    return {
        "given": given + [row[1] for row in own if row[0] == "given"],
        "family": [row[0] for row in read_rows("family_names.tsv")] + [row[1] for row in own if row[0] == "family"],
        "city": [city for state in geography.states for city, _ in state.cities]
        + [city for province in geography.provinces for city in province.cities]
        + [city for country in geography.countries for city in country.cities],
        "state": [name for state in geography.states for name in (state.name, state.short)]
        + [province.name for province in geography.provinces],
        "state-code": [state.code for state in geography.states],
        "country": [country.name for country in geography.countries],
        "demonym": [country.demonym for country in geography.countries],
        "brand": [row[1] for row in read_rows("chains.tsv")],
        "facility-word": sorted(words.kept["facility"]),
        "street-word": sorted(words.kept["street"]),
        "street": list(words.streets),
        "place-word": [*sorted(words.kept["place"]), *words.firsts, *words.features, *words.singles],
        "saint": list(words.saints),
        "calendar": _CALENDAR,
        "title": _TITLES,
    }


def _index(lists: Mapping[str, Iterable[str]]) -> Gazetteer:
    kinds: dict[tuple[str, ...], set[str]] = {}
    for kind, entries in lists.items():
        for entry in set(entries):
            words = tuple(fold(entry[start:end]) for start, end in split_words(entry))
            if 0 < len(words) <= _MOST_WORDS and any(word.isalnum() for word in words):
                kinds.setdefault(words, set()).add(kind)
    for words, found in kinds.items():
        if len(words) == 1 and is_ordinary(words[0]):
            found.add("ordinary-word")
    return Gazetteer({words: tuple(sorted(found)) for words, found in kinds.items()}, max(map(len, kinds), default=0))

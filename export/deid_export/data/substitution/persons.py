"""Draw people to insert into prose: names of many cultures; common, rare and short names, and names that are words.

The lists are those of surrogates (``deid_runtime/data/surrogates``), by culture and sex, the hand-written names of
``deid_runtime/data/lexicon``, and the public lists of :mod:`deid_export.data.gazetteers`. One given name in seven is
held out, and one family name in seven of the longer lists, chosen by hash. Training never draws held-out names, and the
outside check (``benchmarks/outside``) draws only them. In cultures with few family names, such as the Vietnamese, all
people share these; there training and check use the same family names.
"""

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final

from deid_export.data.gazetteers import Gazetteers
from deid_runtime.lexicon.name_cues import fold

#: A name is held out when the first byte of its digest is below this value, out of 256.
_HELD_OUT_BELOW: Final = 37

_LATIN_NAME: Final = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff][A-Za-z\u00c0-\u024f\u1e00-\u1eff'\u2019 -]{1,19}")
_LEAST_NAMES: Final = 8  # least number of names of a kind for a culture to be drawn from
_LONG_LIST: Final = 150  # least length of a list of family names of which some are held out

#: Maps a culture of the check to the cultures of the lists that it joins.
CULTURES: Final[Mapping[str, tuple[str, ...]]] = {
    "english": ("english", "english rare", "scottish", "welsh"),
    "irish": ("irish", "oirish"),
    "african american": ("african american",),
    "hispanic": ("spanish", "portuguese", "hispanic"),
    "west african": ("yoruba", "igbo", "hausa", "ghanaian", "west african", "haitian"),
    "east african": ("east african", "somali", "ethiopian", "zulu"),
    "arab and persian": ("arabic", "persian"),
    "south asian": ("indian", "punjabi", "bengali", "nepali", "pakistani", "south asian"),
    "chinese": ("chinese",),
    "vietnamese": ("vietnamese",),
    "korean": ("korean",),
    "hmong and khmer": ("hmong", "khmer", "burmese", "thai", "khmer lao thai burmese"),
    "filipino and pacific": ("filipino", "pacific", "indonesian", "polynesian"),
    "slavic and baltic": ("polish", "russian", "czech", "croatian", "baltic", "slavic"),
    "german and nordic": ("german", "dutch", "nordic", "finnish", "icelandic", "west european"),
    "mediterranean": ("italian", "greek", "turkish", "hebrew", "armenian", "french", "hebrew yiddish"),
}

#: Maps a list without family names to the list whose family names it uses.
_FAMILIES_OF: Final[Mapping[str, str]] = {"african american": "english"}

Draw = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Person:
    """An invented person. ``middle`` is a given name; ``family_first`` is true where the culture writes it first."""

    given: str = field(repr=False)
    middle: str = field(repr=False)
    family: str = field(repr=False)
    sex: str
    culture: str
    family_first: bool = False


def is_held_out(name: str) -> bool:
    """Return whether a name is held out of training; the digest of its folded form decides."""
    return hashlib.sha256(fold(name).encode()).digest()[0] < _HELD_OUT_BELOW


@cache
def listed_names() -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return the Latin names of the package by (kind, culture); kinds are ``given M``, ``given F``, ``family``."""
    lists: dict[tuple[str, str], list[str]] = {}
    for kind, name, culture, sex in _rows():
        if _LATIN_NAME.fullmatch(name):
            for each in ("M", "F") if kind == "given" and sex not in ("M", "F") else (sex,):
                lists.setdefault((f"given {each}" if kind == "given" else "family", culture), []).append(name)
    return {key: tuple(dict.fromkeys(names)) for key, names in lists.items()}


def _rows() -> Iterator[tuple[str, str, str, str]]:
    folder = resources.files("deid_runtime").joinpath("data/surrogates")

    def lines(file: str) -> Iterator[list[str]]:
        for line in folder.joinpath(file).read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                yield [*line.split("\t"), "", ""]

    for name, culture, sex, *_ in lines("given_names.tsv"):
        yield "given", name, culture, sex
    for name, culture, *_ in lines("family_names.tsv"):
        yield "family", name, culture, ""
    for kind, name, culture, sex, *_ in lines("own_names.tsv"):
        if kind in ("given", "family"):
            yield kind, name, culture, sex
    for name, kind, culture, *_ in lines("../lexicon/hand_names.tsv"):
        yield kind, name, culture, ""


class PersonDrawer:
    """Draw people; every draw comes from ``rng``. Training never gets a held-out name; the check gets only those."""

    def __init__(self, lists: Gazetteers | None, rng: random.Random, *, held_out: bool = False) -> None:
        """Prepare the name pools. ``lists`` are public lists with rare names, for training; None for the check."""
        self._rng = rng
        self._held_out = held_out
        self._lists = lists
        self._names = _pools(held_out)
        self._cultures = sorted({culture for kind, culture in self._names if kind == "given F"})

    def of_culture(self, culture: str, sex: str) -> Person:
        """Return a person of one of the cultures in :data:`CULTURES`."""
        parts = [part for part in CULTURES[culture] if (f"given {sex}", part) in self._names]
        weights = [len(self._names[f"given {sex}", part]) ** 0.5 for part in parts]
        [part] = self._rng.choices(parts, weights)
        return self._of_list(part, sex, culture)

    def any(self) -> Person:
        """Return a person for training: half by culture, half from the common and rare names of public lists."""
        rng = self._rng
        sex = rng.choice("FM")
        roll = rng.random()
        if self._lists is None or roll < 0.3:
            return self.of_culture(rng.choice(list(CULTURES)), sex)
        if roll < 0.5:
            return self._of_list(rng.choice(self._cultures), sex, "")
        lists = self._lists
        if roll < 0.68:
            return self._made(lambda: lists.given.draw(rng), lambda: lists.family.draw(rng), sex)
        if roll < 0.82:  # all names of the lists equally often, so mostly rare ones
            return self._made(lambda: rng.choice(lists.given.values), lambda: rng.choice(lists.family.values), sex)
        if roll < 0.92:
            return self._made(lambda: rng.choice(lists.given_world), lambda: rng.choice(lists.family_world), sex)
        # Names that are also words, next to another such name or a usual one.
        return self._made(
            lambda: rng.choice(lists.ambiguous) if rng.random() < 0.5 else lists.given.draw(rng),
            lambda: rng.choice(lists.ambiguous) if rng.random() < 0.7 else lists.family.draw(rng),
            sex,
        )

    def _of_list(self, part: str, sex: str, culture: str) -> Person:
        rng = self._rng
        given = self._names[f"given {sex}", part]
        family = self._families(part, culture)
        first = part in ("chinese", "vietnamese", "korean", "hmong", "khmer") and rng.random() < 0.25
        return Person(rng.choice(given), rng.choice(given), rng.choice(family), sex, culture or part, first)

    def _families(self, part: str, culture: str) -> Sequence[str]:
        found = self._names.get(("family", _FAMILIES_OF.get(part, part)))
        if found is not None and len(found) >= 3:
            return found
        alike = [name for other in CULTURES.get(culture, ()) for name in self._names.get(("family", other), ())]
        return alike or [name for (kind, _), names in self._names.items() if kind == "family" for name in names]

    def _made(self, given: Draw, family: Draw, sex: str) -> Person:
        return Person(self._allowed(given), self._allowed(given), self._allowed(family), sex, "public lists")

    def _allowed(self, draw: Draw) -> str:
        for _ in range(200):
            name = draw()
            if _LATIN_NAME.fullmatch(name) and is_held_out(name) == self._held_out:
                return name
        raise AssertionError("none of the listed names may be drawn")


@cache
def _pools(held_out: bool) -> Mapping[tuple[str, str], tuple[str, ...]]:
    pools: dict[tuple[str, str], tuple[str, ...]] = {}
    for key, names in listed_names().items():
        is_shared = key[0] == "family" and len(names) < _LONG_LIST
        kept = names if is_shared else tuple(name for name in names if is_held_out(name) == held_out)
        if len(kept) >= (2 if held_out else _LEAST_NAMES):
            pools[key] = kept
    for culture in {culture for _, culture in pools}:
        for sex, other in ("FM", "MF"):
            if (f"given {sex}", culture) not in pools and (f"given {other}", culture) in pools:
                pools[f"given {sex}", culture] = pools[f"given {other}", culture]
    return pools

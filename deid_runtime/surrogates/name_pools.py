"""The names from which surrogates are drawn, in pools of names that replace each other. Read once, on first use.

``data/surrogates/name_pools.txt.xz`` has them; ``python -m deid_export.data.surrogate_pools`` writes it.
"""

import lzma
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import count
from operator import itemgetter
from typing import Any, Final, cast

from deid_runtime.surrogates.forms import normal_form, without_accents
from deid_runtime.surrogates.lists import read_rows

_NAMES_FILE: Final = "data/surrogates/name_pools.txt.xz"
_PLACE_BITS: Final = 17  # a pool has fewer than 131,072 names
#: Level of names that one person in 2,500 has, or more.
FREQUENT_LEVEL: Final = 6
_MOST_KEPT: Final = 16_384  # names of which what is read of the list is kept: a note asks for each several times
_OWN_KINDS: Final = frozenset({"either", "nicknamed", "two letters", "any culture"})  # pools of given and family names
_SYLLABIC: Final = ("korean", "chinese")  # cultures with given names of two syllables, often joined by a hyphen
_NAME_FORM: Final = re.compile(r"[A-Z][a-z]?['’](?=[A-Z])|Ma?c(?=[A-Z])|St\.? (?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Listed:
    """A listed name: the pool of similar names that it belongs to, and its index there.

    ``level`` is how frequent the name is: the logarithm to base 4 of its bearers per ten million people, 0 to 9.
    """

    pool: tuple[str, ...] = field(repr=False)
    index: int
    culture: str
    sex: str = ""
    level: int = 0


@dataclass(frozen=True, slots=True)
class Band:
    """Names of one culture and sex that are about equally frequent. ``level`` is that of the most frequent one."""

    names: tuple[str, ...] = field(repr=False)
    level: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the list: names that have one pool and one set of claims.

    ``given_pool`` and ``family_pool`` are empty when the names are of the other kind only.
    """

    culture: str
    sex: str
    family_culture: str
    level: int
    given_pool: tuple[str, ...] = field(repr=False)
    family_pool: tuple[str, ...] = field(repr=False)
    own_pool: tuple[str, ...] = field(repr=False)  # empty when the names are never offered
    is_rather_family: bool


class _OfKind(Mapping[str, Listed]):
    """The given names or the family names, by normal form. Each :class:`Listed` is made when it is requested."""

    def __init__(self, places: Mapping[str, int], rows: Sequence[_Row], *, is_family: bool) -> None:
        self._places, self._rows, self._is_family = places, rows, is_family
        self._kept: dict[str, Listed | None] = {}

    def get(self, form: str, default: Any = None) -> Any:
        try:
            found = self._kept[form]
        except KeyError:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[form] = self._read(form)
        return default if found is None else found

    def _read(self, form: str) -> Listed | None:
        place = self._places.get(form)
        if place is None:
            return None
        row = self._rows[place >> _PLACE_BITS]
        pool = row.family_pool if self._is_family else row.given_pool
        if not pool:
            return None
        index = place & ((1 << _PLACE_BITS) - 1)
        if pool is not row.own_pool:
            # For a name that is never offered, or is used as its less likely kind, a hash chooses the place.
            index = zlib.crc32(form.encode()) % len(pool)
        return Listed(pool, index, row.family_culture if self._is_family else row.culture, row.sex, row.level)

    def __getitem__(self, form: str) -> Listed:
        found = self.get(form)
        if found is None:
            raise KeyError(form)
        return cast(Listed, found)

    def __contains__(self, form: object) -> bool:
        place = self._places.get(form) if isinstance(form, str) else None
        if place is None:
            return False
        row = self._rows[place >> _PLACE_BITS]
        return bool(row.family_culture if self._is_family else row.culture)

    def __iter__(self) -> Iterator[str]:
        return (form for form in self._places if form in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class Names:
    """Given and family names by naming culture.

    ``given`` and ``family`` map a normal form to its place in a pool. A name of both kinds has the same pool in both,
    if enough other names are of both kinds for the same cultures. So it has one surrogate in either role. Pools are
    disjoint. The names of a pool share culture, sex and form (``O'``, ``Mc``, hyphen, two letters) if there are
    enough such names, and are about equally frequent.
    ``pools`` is for unlisted names: (culture, sex) -> given names, (culture, "") -> family names, (culture, "-F") and
    (culture, "-M") -> given names of two syllables. ``bands`` has the same names, the most frequent band first.
    """

    given: Mapping[str, Listed]
    family: Mapping[str, Listed]
    pools: Mapping[tuple[str, str], tuple[str, ...]]
    bands: Mapping[tuple[str, str], tuple[Band, ...]]
    syllables: Mapping[str, Mapping[str, Listed]]  # culture -> the parts of its hyphenated given names
    formals_of: Mapping[str, tuple[str, ...]]  # normal form of a nickname -> those of the formal names
    nicknames: Mapping[str, tuple[str, ...]]  # normal form of a formal name -> its nicknames
    abbreviations: Mapping[str, str]  # normal form of a formal name -> its written abbreviation (William: Wm)
    abbreviated: Mapping[str, str]  # normal form of such an abbreviation -> that of the formal name
    is_rather_family: Callable[[str], bool] = field(repr=False)  # whether a name of both kinds is rather a family name
    levels: Callable[[Set[str]], dict[str, int]] = field(repr=False)  # those of normal forms that are listed -> level
    frequent: Mapping[str, int] = field(repr=False)  # normal form of a name of FREQUENT_LEVEL or more -> its level

    def listed(self, form: str, *, is_family: bool | None = None) -> Listed | None:
        """Return the place of a name. The kind ``is_family`` (None: the more likely kind) is searched first."""
        if is_family is None:
            is_family = self.is_rather_family(form)
        first, second = (self.family, self.given) if is_family else (self.given, self.family)
        return first.get(form) or second.get(form)


def form_of_name(name: str) -> str:
    """Return the form that ``name`` and its surrogate share: prefix, hyphen, apostrophe, two letters, or empty."""
    found = _NAME_FORM.match(name)
    if found:
        return found[0].replace("’", "'").lower().replace("mac", "mc")
    return (
        "-" if "-" in name else "'" if "'" in name or "’" in name else "2" if len(name) == 2 and name.isascii() else ""
    )


@dataclass(frozen=True, slots=True)
class _Line:
    key: tuple[str, ...]  # of the pool: kind, cultures, sex and form, and the band last; empty without a pool
    is_offered: bool
    level: int
    culture: str
    sex: str
    family_culture: str
    names: tuple[str, ...] = field(repr=False)
    forms: Sequence[str] = field(repr=False)  # the normal form of each name


def _forms(listed: str) -> list[str]:
    """Return the normal forms of names joined by commas. Nearly all names are plain ASCII, which is cheap."""
    lower = listed.lower().split(",")
    if listed.isascii() and listed.replace(",", "").isalpha():
        return lower
    return [form if form.isascii() and form.isalpha() else normal_form(form) for form in lower]


def _lines() -> list[_Line]:
    packed = resources.files("deid_runtime").joinpath(_NAMES_FILE).read_bytes()
    lines = []
    for text in lzma.decompress(packed).decode("utf-8").splitlines():
        key, level, culture, sex, family_culture, listed = text.split("\t")
        parts = tuple(key.removeprefix("-").split("/")) if key else ()
        lines.append(
            _Line(
                parts,
                bool(key) and not key.startswith("-"),
                int(level),
                culture,
                sex,
                family_culture,
                tuple(listed.split(",")),
                _forms(listed),
            )
        )
    return lines


@cache
def names() -> Names:
    """Return the name lists.

    Each line of the file has, between tabs: the pool of its names (kind, cultures, sex, form and band, joined by ``/``,
    with ``-`` first if the names are never offered; empty when too few names are like them), their level, their culture
    and sex as given names, their culture as family names, and the names, joined by commas.
    """
    lines = _lines()
    members: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        if line.is_offered:
            members.setdefault(line.key, []).extend(line.names)
    every_pool = {key: tuple(together) for key, together in members.items()}
    bands = _bands_by_culture(lines, every_pool)
    rows: list[_Row] = []
    places: dict[str, int] = {}
    starts: Counter[tuple[str, ...]] = Counter()
    plain: dict[str, int] = {}  # without letters of other alphabets: gudmundur for guðmundur
    for line in lines:
        first = (len(rows) << _PLACE_BITS) + (starts[line.key] if line.is_offered else 0)
        starts[line.key] += len(line.names) if line.is_offered else 0
        rows.append(_row(line, every_pool, bands))
        places.update(zip(line.forms, count(first)))
        plain.update(
            (without_accents(form), place) for form, place in zip(line.forms, count(first)) if not form.isascii()
        )
    places |= {form: place for form, place in plain.items() if form not in places}
    pools = {key: tuple(name for band in of_key for name in band.names) for key, of_key in bands.items()}
    formals, nicknames = _read_nicknames()
    return Names(
        _OfKind(places, rows, is_family=False),
        _OfKind(places, rows, is_family=True),
        pools,
        bands,
        {culture: _syllables(culture, pools) for culture in _SYLLABIC},
        formals,
        nicknames,
        {normal_form(name): short for name, short in read_rows("name_abbreviations.tsv")},
        {normal_form(short): normal_form(name) for name, short in read_rows("name_abbreviations.tsv")},
        lambda form: form in places and rows[places[form] >> _PLACE_BITS].is_rather_family,
        lambda forms: _levels(places, rows, forms),
        {form: line.level for line in _frequent(lines) for form in line.forms},
    )


def _frequent(lines: Iterable[_Line]) -> Iterator[_Line]:
    return (line for line in lines if line.level >= FREQUENT_LEVEL and (line.culture or line.family_culture))


def _levels(places: Mapping[str, int], rows: Sequence[_Row], forms: Set[str]) -> dict[str, int]:
    found = ((form, rows[places[form] >> _PLACE_BITS]) for form in places.keys() & forms)
    return {form: row.level for form, row in found if row.given_pool or row.family_pool}


def _bands_by_culture(
    lines: Iterable[_Line], every_pool: Mapping[tuple[str, ...], tuple[str, ...]]
) -> dict[tuple[str, str], tuple[Band, ...]]:
    levels: dict[tuple[str, ...], int] = {}
    for line in (line for line in lines if line.is_offered):
        levels[line.key] = max(levels.get(line.key, 0), line.level)
    found: dict[tuple[str, str], list[tuple[int, Band]]] = {}
    for key, pool in every_pool.items():
        if key[0] not in ("given", "family"):
            continue
        kind, culture, sex, form, band = key if key[0] == "given" else (key[0], key[1], "", key[2], key[3])
        if form == "":
            found.setdefault((culture, sex), []).append((int(band), Band(pool, levels[key])))
        elif kind == "given" and culture in _SYLLABIC and form == "-":
            found.setdefault((culture, "-" + sex), []).append((int(band), Band(pool, levels[key])))
    return {key: tuple(band for _, band in sorted(of_key, key=itemgetter(0))) for key, of_key in found.items()}


def _row(
    line: _Line,
    every_pool: Mapping[tuple[str, ...], tuple[str, ...]],
    bands: Mapping[tuple[str, str], tuple[Band, ...]],
) -> _Row:
    own = every_pool[line.key] if line.key else ()
    kind = line.key[0] if line.key else ""

    def pool(of_kind: str, culture: str, sex: str) -> tuple[str, ...]:
        if not culture:
            return ()
        if kind in _OWN_KINDS or kind == of_kind:
            return own
        told = "F" if sex == "U" else sex  # a female name when there are too few names for both sexes
        plain = bands.get((culture, sex)) or bands.get((culture, told)) or bands["english", told]
        return next((band.names for band in plain if band.level <= line.level), plain[-1].names)

    return _Row(
        line.culture, line.sex, line.family_culture, line.level, pool("given", line.culture, line.sex),
        pool("family", line.family_culture, ""), own if line.is_offered else (),
        kind == "family" and bool(line.culture),
    )  # fmt: skip


def _read_nicknames() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    formals: dict[str, list[str]] = {}
    nicknames: dict[str, tuple[str, ...]] = {}
    for name, _, short in read_rows("nicknames.tsv"):
        nicknames[normal_form(name)] = tuple(short.split(","))
        for nickname in short.split(","):
            formals.setdefault(normal_form(nickname), []).append(normal_form(name))
    return {form: tuple(of) for form, of in formals.items()}, nicknames


def _syllables(culture: str, pools: Mapping[tuple[str, str], tuple[str, ...]]) -> dict[str, Listed]:
    """Return normal form -> place of the syllables of given names, in three pools: female, male and both.

    So Ying-Hsuan and her brother Ying-Kai still share a syllable, and each surrogate sounds like a name of that sex.
    """
    sexes: dict[str, set[str]] = {}
    for sex in ("F", "M"):
        for name in pools[culture, "-" + sex]:
            for part in name.split("-"):
                sexes.setdefault(part.capitalize(), set()).add(sex)
    found = {}
    for together in ({"F"}, {"M"}, {"F", "M"}):
        pool = tuple(sorted(part for part, told in sexes.items() if told == together))
        sex = "".join(together) if len(together) == 1 else "U"
        found.update({normal_form(part): Listed(pool, place, culture, sex) for place, part in enumerate(pool)})
    return found

"""The word lists under ``data/surrogates``, read once, on first use. ``data/surrogates/SOURCES.md`` says where each
is from.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final

from deid_runtime.surrogates.forms import normal_form

_FOLDER: Final = "data/surrogates"
_LEAST_BUCKET: Final = 8  # shorter lists are joined to their culture's plain one: too few stand-ins to hide among


def read_rows(name: str) -> Iterator[list[str]]:
    """Yield the tab-separated fields of each line of a list that travels with the package."""
    text = resources.files("deid_runtime").joinpath(f"{_FOLDER}/{name}").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line:
            yield line.split("\t")


@dataclass(frozen=True, slots=True)
class Listed:
    """A name found in a list: the pool it shares with its like, and its place there."""

    pool: tuple[str, ...] = field(repr=False)
    index: int
    sex: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """Given and family names by naming culture.

    ``given`` and ``family`` map a normal form to its pool; ``pools`` maps (culture, sex) to given names and
    (culture, "") to family names, for names that are in no list.
    """

    given: Mapping[str, Listed]
    family: Mapping[str, Listed]
    pools: Mapping[tuple[str, str], tuple[str, ...]]
    formal_of: Mapping[str, str]  # normal form of a nickname -> that of the formal name
    nicknames: Mapping[str, tuple[str, ...]]  # normal form of a formal name -> its nicknames


def _name_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield (kind, name, culture, sex); our own lists come first, because the first culture to claim a name has it."""
    for kind, name, culture, sex in (row for row in read_rows("own_names.tsv")):
        yield kind, name, culture, sex
    for name, culture, sex in read_rows("given_names.tsv"):
        yield "given", name, culture, sex
    for name, culture in read_rows("family_names.tsv"):
        yield "family", name, culture, ""


@cache
def names() -> Names:
    """Return the name lists."""
    formal_of: dict[str, str] = {}
    nicknames: dict[str, tuple[str, ...]] = {}
    # Names with nicknames stand in for each other, so that the nickname has something to follow.
    culture_of: dict[tuple[str, str], tuple[str, str, str]] = {}
    for name, sex, short in read_rows("nicknames.tsv"):
        nicknames[normal_form(name)] = tuple(short.split(","))
        culture_of["given", normal_form(name)] = (name, "nicknamed", sex)
        for nickname in short.split(","):
            formal_of.setdefault(normal_form(nickname), normal_form(name))
    for kind, name, culture, sex in _name_rows():
        culture_of.setdefault((kind, normal_form(name)), (name, culture, sex))

    not_offered = frozenset(_column("not_offered.txt"))
    buckets: dict[tuple[str, str, str, bool], list[str]] = {}
    for (kind, form), (name, culture, sex) in culture_of.items():
        if form not in not_offered:
            buckets.setdefault((kind, culture, sex, "-" in name), []).append(name)
    for (kind, culture, sex, hyphen), members in list(buckets.items()):
        if hyphen and len(members) < _LEAST_BUCKET:
            buckets.setdefault((kind, culture, sex, False), []).extend(members)
            del buckets[kind, culture, sex, hyphen]
    for (kind, culture, sex, hyphen), members in list(buckets.items()):
        if sex == "U" and len(members) < _LEAST_BUCKET:
            buckets.setdefault((kind, culture, "F", hyphen), []).extend(members)
            del buckets[kind, culture, sex, hyphen]

    index: dict[str, dict[str, Listed]] = {"given": {}, "family": {}}
    pools: dict[tuple[str, str], tuple[str, ...]] = {}
    for (kind, culture, sex, hyphen), members in buckets.items():
        pool = tuple(sorted(members))
        for place, name in enumerate(pool):
            index[kind][normal_form(name)] = Listed(pool, place, sex)
        if not hyphen:
            pools[culture, sex if kind == "given" else ""] = pool
    for (kind, form), (_, culture, sex) in culture_of.items():
        if form in not_offered:
            pool = pools.get((culture, sex)) or pools["english", "F" if kind == "given" else ""]
            index[kind][form] = Listed(pool, zlib.crc32(form.encode()) % len(pool), sex)
    return Names(index["given"], index["family"], pools, formal_of, nicknames)


@dataclass(frozen=True, slots=True)
class State:
    """A US state, with what must agree in an address there."""

    code: str
    name: str
    short: str
    zip3: tuple[str, ...]
    area_codes: tuple[str, ...]
    cities: tuple[tuple[str, str], ...]  # (city, first three digits of its ZIP)


@dataclass(frozen=True, slots=True)
class Province:
    """A province, county or state of another country with its towns; ``short`` may be empty."""

    country: str
    name: str
    short: str
    cities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Country:
    """A country, its demonym, and towns."""

    name: str
    demonym: str
    cities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """States, provinces and countries, and where each known spelling leads."""

    states: tuple[State, ...]
    provinces: tuple[Province, ...]
    countries: tuple[Country, ...]
    state_forms: Mapping[str, tuple[int, str]]  # normal form -> (state, "code", "name" or "short")
    province_forms: Mapping[str, tuple[int, str]]
    country_forms: Mapping[str, tuple[int, str]]  # -> (country, "name" or "demonym")
    us_cities: Mapping[str, int]  # normal form -> state; the first state listed has a name that several share
    other_cities: Mapping[str, tuple[str, int]]  # -> ("province" or "country", index)
    state_of_zip3: Mapping[str, int]
    state_of_area_code: Mapping[str, int]


def _states() -> tuple[State, ...]:
    cities: dict[str, tuple[tuple[str, str], ...]] = {}
    for code, listed in read_rows("us_cities.tsv"):
        pairs = [entry.rsplit(" ", 1) for entry in listed.split(",")]
        cities[code] = tuple((city, zip3) for city, zip3 in pairs)
    states = []
    for code, name, short, zips, area_codes in read_rows("us_states.tsv"):
        first, last = (int(end) for end in zips.split("-"))
        zip3 = tuple(f"{number:03}" for number in range(first, last + 1))
        states.append(State(code, name, short, zip3, tuple(area_codes.split(",")), cities[code]))
    return tuple(states)


@cache
def places() -> Places:
    """Return the gazetteer."""
    states = _states()
    provinces = tuple(Province(c, n, s, tuple(t.split(","))) for c, n, s, t in read_rows("provinces.tsv"))
    countries = tuple(Country(n, d, tuple(t.split(","))) for n, d, t in read_rows("countries.tsv"))
    state_forms: dict[str, tuple[int, str]] = {}
    for form in ("code", "name", "short"):
        for index, state in enumerate(states):
            state_forms.setdefault(normal_form(getattr(state, form)), (index, form))
    province_forms: dict[str, tuple[int, str]] = {}
    for form in ("name", "short"):
        for index, province in enumerate(provinces):
            key = normal_form(getattr(province, form))
            if key and key not in state_forms:
                province_forms.setdefault(key, (index, form))
    country_forms: dict[str, tuple[int, str]] = {}
    for form in ("name", "demonym"):
        for index, country in enumerate(countries):
            country_forms.setdefault(normal_form(getattr(country, form)), (index, form))
    us_cities: dict[str, int] = {}
    state_of_zip3: dict[str, int] = {}
    state_of_area_code: dict[str, int] = {}
    for index, state in enumerate(states):
        for city, _ in state.cities:
            us_cities.setdefault(normal_form(city), index)
        for zip3 in state.zip3:
            state_of_zip3.setdefault(zip3, index)
        for area_code in state.area_codes:
            state_of_area_code.setdefault(area_code, index)
    other_cities: dict[str, tuple[str, int]] = {}
    for index, province in enumerate(provinces):
        for city in province.cities:
            other_cities.setdefault(normal_form(city), ("province", index))
    for index, country in enumerate(countries):
        for city in country.cities:
            other_cities.setdefault(normal_form(city), ("country", index))
    return Places(
        states, provinces, countries, state_forms, province_forms, country_forms, us_cities, other_cities,
        state_of_zip3, state_of_area_code,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Phrases:
    """Words for the names of facilities, organisations, streets and places.

    ``kept`` maps ``"facility"``, ``"street"`` and ``"place"`` to the words that say what kind of thing it is and stay.
    """

    kept: Mapping[str, frozenset[str]]
    firsts: tuple[str, ...]
    features: tuple[str, ...]
    singles: tuple[str, ...]
    streets: tuple[str, ...]
    saints: tuple[str, ...]
    chains: Mapping[str, tuple[str, ...]]  # normal form of a chain or brand -> all of its kind


def _column(name: str) -> tuple[str, ...]:
    return tuple(row[0] for row in read_rows(name))


@cache
def phrases() -> Phrases:
    """Return the words that names of places and facilities are made of."""
    kinds: dict[str, list[str]] = {}
    for kind, name in read_rows("chains.tsv"):
        kinds.setdefault(kind, []).append(name)
    chains = {normal_form(name): tuple(members) for members in kinds.values() for name in members}
    kept = {kind: frozenset(_column(f"kept_{kind}.txt")) for kind in ("facility", "street", "place")}
    return Phrases(
        kept, _column("place_firsts.txt"), _column("place_features.txt"), _column("place_singles.txt"),
        _column("streets.txt"), _column("saints.txt"), chains,
    )  # fmt: skip

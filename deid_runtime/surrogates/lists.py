"""The word lists in ``data/surrogates``, read once, on first use. ``SOURCES.md`` there states their sources."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from deid_runtime.lexicon.states import us_states
from deid_runtime.surrogates.forms import normal_form

_FOLDER: Final = "data/surrogates"


def read_rows(name: str) -> Iterator[list[str]]:
    """Yield the tab-separated fields of each line of a list in the package."""
    text = resources.files("deid_runtime").joinpath(f"{_FOLDER}/{name}").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line:
            yield line.split("\t")


@dataclass(frozen=True, slots=True)
class State:
    """A US state, with the parts of an address that must agree with it."""

    code: str
    name: str
    short: str
    zip3: tuple[str, ...]
    area_codes: tuple[str, ...]
    cities: tuple[tuple[str, str], ...]  # (city, first three digits of its ZIP)


@dataclass(frozen=True, slots=True)
class Province:
    """A province, county or state of another country, with its towns. ``short`` may be empty."""

    country: str
    name: str
    short: str
    cities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Country:
    """A country, its demonym and its towns."""

    name: str
    demonym: str
    cities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """States, provinces and countries, and what each known spelling refers to."""

    states: tuple[State, ...]
    provinces: tuple[Province, ...]
    countries: tuple[Country, ...]
    state_forms: Mapping[str, tuple[int, str]]  # normal form -> (state, "code", "name" or "short")
    province_forms: Mapping[str, tuple[int, str]]
    country_forms: Mapping[str, tuple[int, str]]  # -> (country, "name" or "demonym")
    us_cities: Mapping[str, int]  # normal form -> state; the first listed state wins for a shared name
    other_cities: Mapping[str, tuple[str, int]]  # -> ("province" or "country", index)
    state_of_zip3: Mapping[str, int]
    state_of_area_code: Mapping[str, int]


def _states() -> tuple[State, ...]:
    cities: dict[str, tuple[tuple[str, str], ...]] = {}
    for code, listed in read_rows("us_cities.tsv"):
        pairs = [entry.rsplit(" ", 1) for entry in listed.split(",")]
        cities[code] = tuple((city, zip3) for city, zip3 in pairs)
    states = []
    for code, zips, area_codes in read_rows("us_states.tsv"):
        first, last = (int(end) for end in zips.split("-"))
        zip3 = tuple(f"{number:03}" for number in range(first, last + 1))
        states.append(
            State(
                code, us_states()[code].name, us_states()[code].short, zip3, tuple(area_codes.split(",")), cities[code]
            )
        )
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

    ``kept`` maps ``"facility"``, ``"street"`` and ``"place"`` to the words for the kind of thing, which are kept.
    """

    kept: Mapping[str, frozenset[str]]
    firsts: tuple[str, ...]
    features: tuple[str, ...]
    singles: tuple[str, ...]
    streets: tuple[str, ...]
    saints: tuple[str, ...]
    chains: Mapping[str, tuple[str, ...]]  # normal form of a chain or brand -> all of the same kind


def _column(name: str) -> tuple[str, ...]:
    return tuple(row[0] for row in read_rows(name))


@cache
def phrases() -> Phrases:
    """Return the words that form names of places and facilities."""
    kinds: dict[str, list[str]] = {}
    for kind, name in read_rows("chains.tsv"):
        kinds.setdefault(kind, []).append(name)
    chains = {normal_form(name): tuple(members) for members in kinds.values() for name in members}
    kept = {kind: frozenset(_column(f"kept_{kind}.txt")) for kind in ("facility", "street", "place")}
    return Phrases(
        kept, _column("place_firsts.txt"), _column("place_features.txt"), _column("place_singles.txt"),
        _column("streets.txt"), _column("saints.txt"), chains,
    )  # fmt: skip

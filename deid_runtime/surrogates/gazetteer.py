"""The gazetteer: US states, provinces and counties of other countries, countries, and the towns of all.

It is read once, on first use, from ``data/surrogates``; ``SOURCES.md`` there states the sources. The towns of the world
are read only when a note names a town that no other list knows.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from deid_runtime.lexicon.states import other_states, us_states
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.lists import read_rows

#: Locale -> the name of its country in ``provinces.tsv`` and ``countries.tsv``.
COUNTRY_OF: Final[Mapping[str, str]] = {
    "US": "United States", "GB": "United Kingdom", "IE": "Ireland", "CA": "Canada", "AU": "Australia",
    "NZ": "New Zealand", "IN": "India",
}  # fmt: skip
_LOCALE_OF: Final = {name: locale for locale, name in COUNTRY_OF.items()}
_LEAST_OFFERED: Final = 3  # an area with fewer towns that may be offered offers all its towns
_LARGE_TOWNS: Final = (
    60  # of a state: towns that are meant in a note of the state's country, whatever is named like them
)
_NEVER: Final = "-"  # before a town that is recognised and never stands in


class Town(NamedTuple):
    """A town, the first characters of its postal code, and its dialling code with a leading 0; both may be empty."""

    name: str
    post: str = ""
    dial: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """A US state, with the parts of an address that must agree with it."""

    code: str
    name: str
    short: str
    zip3: tuple[str, ...]
    area_codes: tuple[str, ...]
    towns: tuple[Town, ...] = field(repr=False)
    offered: tuple[Town, ...] = field(repr=False)  # the towns that may be surrogates

    @property
    def cities(self) -> tuple[tuple[str, str], ...]:
        """Return (town, first three digits of its ZIP)."""
        return tuple((town.name, town.post) for town in self.towns)


@dataclass(frozen=True, slots=True)
class Province:
    """A province, county or state of another country, with its towns.

    ``shorts`` are other written forms. ``dials`` are dialling codes with a leading 0 (area codes in Canada), ``posts``
    the first characters of postal codes.
    """

    country: str
    name: str
    shorts: tuple[str, ...]
    dials: tuple[str, ...]
    posts: tuple[str, ...]
    towns: tuple[Town, ...] = field(repr=False)
    offered: tuple[Town, ...] = field(repr=False)

    @property
    def short(self) -> str:
        """Return the first short form, or an empty string."""
        return self.shorts[0] if self.shorts else ""

    @property
    def cities(self) -> tuple[str, ...]:
        """Return the names of the towns."""
        return tuple(town.name for town in self.towns)

    @property
    def locale(self) -> str:
        """Return the locale of the country, or ``"other"``."""
        return _LOCALE_OF.get(self.country, "other")


@dataclass(frozen=True, slots=True)
class Country:
    """A country, its demonym, its larger towns, and its part of the world."""

    name: str
    demonym: str
    cities: tuple[str, ...]
    region: str


@dataclass(frozen=True, slots=True)
class Area:
    """A US state or a province: the index in :attr:`Places.states` or :attr:`Places.provinces`."""

    locale: str
    index: int


@dataclass(frozen=True, slots=True)
class Places:
    """States, provinces and countries, and what each known spelling refers to."""

    states: tuple[State, ...]
    provinces: tuple[Province, ...]
    countries: tuple[Country, ...]
    state_forms: Mapping[str, tuple[int, str]]  # normal form -> (state, "code", "name" or "short")
    province_forms: Mapping[str, tuple[tuple[int, str], ...]]  # -> (province, "name" or the short form), each country
    country_forms: Mapping[str, tuple[int, str]]  # -> (country, "name" or "demonym")
    areas_of_town: Mapping[str, tuple[Area, ...]]  # normal form -> the areas with such a town, states first
    large_towns: frozenset[str]  # normal forms of the towns that the name of a facility may contain
    large_us_towns: frozenset[str]  # normal forms of the largest towns of the states
    country_of_town: Mapping[str, int]  # larger towns of other countries
    state_of_zip3: Mapping[str, int]
    state_of_area_code: Mapping[str, int]
    provinces_of: Mapping[str, tuple[int, ...]]  # country -> its provinces
    province_of_area_code: Mapping[str, int]  # Canada


def is_offered(name: str) -> bool:
    """Return whether a town may be a surrogate: its name is not a given name, drug, eponym or clinical word."""
    return normal_form(name) not in _not_offered()


@cache
def _not_offered() -> frozenset[str]:
    return frozenset(row[0] for row in read_rows("towns_not_offered.txt"))


def _offered(towns: tuple[Town, ...], never: Set[str] = frozenset()) -> tuple[Town, ...]:
    unwanted = _not_offered()
    found = tuple(town for town in towns if town.name not in never and _form(town.name) not in unwanted)
    return found if len(found) >= _LEAST_OFFERED else towns


def _form(name: str) -> str:
    """Return the normal form of a town. Nearly all are plain: this is most of the time to load."""
    return name.lower() if name.isascii() and name.isalpha() else normal_form(name)


def _entries(listed: str) -> Iterator[tuple[str, str]]:
    """Yield each town with the first three digits of its ZIP."""
    for entry in listed.split(","):
        name, _, zip3 = entry.rpartition(" ")
        yield name, zip3


def _states() -> tuple[State, ...]:
    towns: dict[str, dict[str, Town]] = {}
    never: dict[str, set[str]] = {}
    for code, listed in read_rows("us_towns.tsv"):
        towns[code], never[code] = {}, set()
        for entry, post in _entries(listed):
            name = entry.removeprefix(_NEVER)
            if name != entry:
                never[code].add(name)
            towns[code].setdefault(name, Town(name, post))
    for code, by_hand in read_rows("us_cities.tsv"):
        for name, post in _entries(by_hand):
            towns.setdefault(code, {}).setdefault(name, Town(name, post))
            never.setdefault(code, set()).discard(name)
    states = []
    for code, zips, area_codes in read_rows("us_states.tsv"):
        first, last = (int(end) for end in zips.split("-"))
        zip3 = tuple(f"{number:03}" for number in range(first, last + 1))
        known = tuple(town for town in towns[code].values() if town.post in zip3)
        named = us_states()[code]
        offered = _offered(known, never[code])
        states.append(State(code, named.name, named.short, zip3, tuple(area_codes.split(",")), known, offered))
    return tuple(states)


def _provinces() -> tuple[Province, ...]:
    found = []
    for country, name, shorts, dials, posts, listed in read_rows("provinces.tsv"):
        towns = []
        for entry in listed.split(","):
            town, post, dial, *_ = [*entry.split(" "), "", ""]
            towns.append(Town(town.replace("_", " "), post, dial))
        split = [tuple(filter(None, value.split(","))) for value in (shorts, dials, posts)]
        state = other_states().get(name)
        if state is not None:
            name, split[0] = state.name, (*filter(None, (state.code, state.short)), *split[0])
        found.append(Province(country, name, split[0], split[1], split[2], tuple(towns), _offered(tuple(towns))))
    return tuple(found)


@cache
def places() -> Places:
    """Return the gazetteer."""
    states, provinces = _states(), _provinces()
    countries = tuple(Country(n, d, tuple(t.split(",")), region) for n, d, t, region in read_rows("countries.tsv"))
    country_of_town: dict[str, int] = {}
    for index, country in enumerate(countries):
        if country.name not in _LOCALE_OF:
            for city in country.cities:
                country_of_town.setdefault(normal_form(city), index)
    provinces_of: dict[str, list[int]] = {}
    for index, province in enumerate(provinces):
        provinces_of.setdefault(province.country, []).append(index)
    by_hand = {normal_form(name) for _, listed in read_rows("us_cities.tsv") for name, _ in _entries(listed)}
    large = set(by_hand)
    large.update(normal_form(town.name) for province in provinces for town in province.towns)
    return Places(
        states=states,
        provinces=provinces,
        countries=countries,
        state_forms=_state_forms(states),
        province_forms=_province_forms(provinces),
        country_forms=_country_forms(countries),
        areas_of_town=_areas_of_town(states, provinces),
        large_towns=frozenset(large),
        large_us_towns=frozenset(by_hand | {_form(t.name) for s in states for t in s.towns[:_LARGE_TOWNS]}),
        country_of_town=country_of_town,
        state_of_zip3={zip3: index for index, state in reversed([*enumerate(states)]) for zip3 in state.zip3},
        state_of_area_code={
            code: index for index, state in reversed([*enumerate(states)]) for code in state.area_codes
        },
        provinces_of={country: tuple(indices) for country, indices in provinces_of.items()},
        province_of_area_code={
            code: index
            for index, province in reversed([*enumerate(provinces)])
            if province.country == COUNTRY_OF["CA"]
            for code in province.dials
        },
    )


def _state_forms(states: Iterable[State]) -> dict[str, tuple[int, str]]:
    listed = tuple(states)
    forms: dict[str, tuple[int, str]] = {}
    for kind in ("code", "name", "short"):
        for index, state in enumerate(listed):
            forms.setdefault(normal_form(getattr(state, kind)), (index, kind))
    return forms


def _province_forms(provinces: Iterable[Province]) -> dict[str, tuple[tuple[int, str], ...]]:
    forms: dict[str, dict[str, tuple[int, str]]] = {}
    listed = tuple(provinces)
    for index, province in enumerate(listed):
        forms.setdefault(normal_form(province.name), {}).setdefault(province.country, (index, "name"))
    for index, province in enumerate(listed):
        for short in province.shorts:
            forms.setdefault(normal_form(short), {}).setdefault(province.country, (index, short))
    return {form: tuple(of.values()) for form, of in forms.items()}


def _country_forms(countries: Iterable[Country]) -> dict[str, tuple[int, str]]:
    listed = tuple(countries)
    forms: dict[str, tuple[int, str]] = {}
    for kind in ("name", "demonym"):
        for index, country in enumerate(listed):
            forms.setdefault(normal_form(getattr(country, kind)), (index, kind))
    return forms


def _areas_of_town(states: Iterable[State], provinces: Iterable[Province]) -> dict[str, tuple[Area, ...]]:
    found: dict[str, tuple[Area, ...]] = {}
    large = {(code, name) for code, listed in read_rows("us_cities.tsv") for name, _ in _entries(listed)}
    # The state wins in which a town is listed by hand, else the one in which it has the highest rank.
    ordered = [
        ((state.code, town.name) not in large, rank, index, _form(town.name))
        for index, state in enumerate(states)
        for rank, town in enumerate(state.towns)
    ]
    ordered.sort()
    alone: dict[int, tuple[Area, ...]] = {}
    for _, _, index, form in ordered:
        found.setdefault(form, alone.get(index) or alone.setdefault(index, (Area("US", index),)))
    for index, province in enumerate(provinces):
        area = Area(province.locale, index)
        for town in province.towns:
            form = normal_form(town.name)
            others = found.get(form, ())
            if all(other.locale != area.locale for other in others):
                found[form] = (*others, area)
    return found


@cache
def world_towns() -> tuple[Mapping[str, int], Mapping[int, tuple[str, ...]]]:
    """Return the towns of the countries without provinces here.

    Maps a normal form to the country, and a country to its towns that may be surrogates.
    """
    names = {country.name: index for index, country in enumerate(places().countries)}
    country_of: dict[str, int] = {}
    towns_of: dict[int, tuple[str, ...]] = {}
    for name, listed in read_rows("world_towns.tsv"):
        towns = listed.split(",")
        towns_of[names[name]] = tuple(town for town in towns if not town.startswith(_NEVER))
        for town in towns:
            country_of.setdefault(normal_form(town), names[name])
    return country_of, towns_of

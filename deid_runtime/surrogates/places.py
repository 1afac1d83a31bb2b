"""Surrogates of towns that agree with the surrogates of their state, province or country.

A state has one surrogate per patient, in the same country. The surrogate of a town lies in the surrogate of its state.
The state of a town is the one beside it in the note, else the one in the gazetteer, else the one in the patient's
record. A town in no list lies in the country of the note's locale; where people speak English it gets a new name.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.surrogates.areas import any_area, area_for, known_area, known_areas, replace_state, towns_of
from deid_runtime.surrogates.coined import Chain, chain_of, coin, coin_like
from deid_runtime.surrogates.countries import country_for, known_country, own_locale
from deid_runtime.surrogates.forms import changed, normal_form, without_accents
from deid_runtime.surrogates.gazetteer import COUNTRY_OF, Area, Town, is_offered, places, world_towns
from deid_runtime.surrogates.known_words import is_known_word
from deid_runtime.surrogates.patient import Patient, first_free

_COUNTY: Final = re.compile(
    r"^(county of |co\.? |county )?(.*?)( county| co\.?| parish| borough| township| twp\.?)?$", re.I
)
_ENGLISH: Final = frozenset({"US", "GB", "IE", "CA", "AU", "NZ"})  # locales whose towns have English names
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_JOINED: Final = re.compile(r"( ?[-–/>] ?)")  # the stops of a journey
_LONGEST_NAME_CHARS: Final = 160
_LONGEST_SHAPED_CHARS: Final = 80
_IN_AREA_ATTEMPTS: Final = 16  # number of candidates from the surrogate area; later ones are from the whole country
_FIRST_BAND: Final = 8  # the largest towns of an area, which change places
_BAND_GROWTH: Final = 4  # how many times as many towns the next band ends at
_CITIES: Final = 5  # the largest towns of a state, which a town abroad does not outweigh
_SAMPLE: Final = 3_000  # towns that the letters of new towns come from
_LEAST_OPTIONS: Final = 4  # with fewer towns in the same written form, other towns are candidates too


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a town lies by the text around it, and the locale of its note.

    ``state`` and ``country`` follow the town, or are empty. With ``stays``, they are not replaced, so the surrogate
    lies in the same state or country. ``abroad`` are the countries that the notes name anywhere, as indices.
    ``is_far_away`` says that someone travelled there or was born there.
    """

    locale: str = "US"
    state: str = field(default="", repr=False)
    country: str = field(default="", repr=False)
    stays: bool = False
    abroad: frozenset[int] = field(default=frozenset(), repr=False)
    is_far_away: bool = False


def replace_city(
    patient: Patient, value: str, taken: frozenset[str], setting: Setting, used: Collection[str] = ()
) -> str:
    """Return the surrogate of a town or county. It is none of ``used``, normal forms of surrogates of other towns."""
    shape = _COUNTY.match(value) if len(value) < _LONGEST_SHAPED_CHARS else None
    if shape is not None and (shape[1] or shape[3]) and known_areas(value):
        return replace_state(patient, value, taken, setting.locale)
    name = shape[2] if shape else value
    form = normal_form(name)
    if not form:
        return changed(value)
    stops = _JOINED.split(name)
    if len(stops) > 2 and not _is_listed_town(form) and all(_is_listed_town(normal_form(stop)) for stop in stops[::2]):
        made = [replace_city(patient, stop, taken, setting) for stop in stops[::2]]  # Lagos-Accra-Dublin
        return "".join(town + joint for town, joint in zip(made, [*stops[1::2], ""], strict=True))
    home = _home(patient, form, setting, is_marked=not name.isascii())
    target = home if setting.stays else _moved(patient, home, taken)
    words, is_plain = len(name.split()), _is_plain(name)
    wider = target if target.locale == "other" else _Home(locale=target.locale)

    def candidate(attempt: int) -> str:
        listed = _options(target if attempt < _IN_AREA_ATTEMPTS else wider, words, is_plain)
        place = _place_in(home, words, is_plain, form) if attempt == 0 and target is not wider else None
        if place is None:
            picked = patient.keyed.pick(listed, f"town/{attempt}", form)
            if not _is_listed_town(form):
                picked = _with_new_words(patient, name, picked, wider, attempt)
        else:
            # Towns of one area change places, so that two of them differ, whichever notes of the patient name them.
            # Those of two areas do so independently: an area may give way to an original and share its surrogate.
            purpose = f"{target.purpose} for {home.purpose}"
            first, last = _band(place % len(listed), len(listed)) if target.area is not None else (0, len(listed))
            place = place % len(listed) - first
            picked = listed[first + patient.keyed.permute(place, last - first, f"{purpose}/{first}")]
        town = case_like(without_accents(picked) if name.isascii() else picked, name)
        return f"{shape[1] or ''}{town}{shape[3] or ''}" if shape else town

    return first_free(candidate, value, taken.union(used) if used else taken)


def _is_listed_town(form: str) -> bool:
    known = places()
    return any(form in listed for listed in (known.areas_of_town, known.country_of_town, world_towns()[0]))


def _with_new_words(patient: Patient, name: str, picked: str, home: "_Home", attempt: int) -> str:
    """Return the town ``picked`` for ``name``, with a new word for each word of ``name`` that no list has.

    As for people in no list: listed words for all others would tell the real ones that were missed.
    """
    old, new = [normal_form(word) for word in name.split()], picked.split()
    if len(old) != len(new):
        return picked
    for place, form in enumerate(old):
        if form.isascii() and form.isalpha() and not is_known_word(form):
            new[place] = _new_word(patient, form, home, attempt) or new[place]
    return " ".join(new)


def _new_word(patient: Patient, form: str, home: "_Home", attempt: int) -> str:
    made = coin_like(patient.keyed, _letters_of(home), form, attempt, is_known_word)
    if not made and home.locale in _ENGLISH:
        made = coin(patient.keyed, ("english", ""), form, attempt)
    return made


@dataclass(frozen=True, slots=True)
class _Home:  # hashable: the towns of each are kept
    """The area of a town, or its country in :attr:`Places.countries`, or only its locale."""

    area: Area | None = None
    country: int | None = None
    locale: str = "US"

    @property
    def purpose(self) -> str:
        """Return the purpose of keyed choices among the towns here."""
        return f"towns/{self.locale}/{self.area.index if self.area is not None else self.country}"


def home_area(patient: Patient, city: str, state: str, locale: str) -> Area | None:
    """Return the area of a town, its state being known or empty; None for a town abroad or in no list."""
    return _home(patient, normal_form(city), Setting(locale, state)).area if city or state else None


def _home(patient: Patient, form: str, setting: Setting, *, is_marked: bool = False) -> _Home:
    """Return where the town ``form``, a normal form, lies; ``is_marked`` says that it has an accent."""
    known = places()
    own = own_locale(setting.country) if setting.country else None
    own = own if own in COUNTRY_OF else None
    wanted = own or setting.locale
    found = known_area(setting.state, wanted)
    if found is not None:
        return _Home(area=found[0], locale=found[0].locale)
    if setting.country and own is None:
        index = known_country(setting.country)
        if index is not None:
            return _Home(country=index, locale="other")
    if (is_marked and wanted in _ENGLISH) or setting.abroad or setting.is_far_away:
        elsewhere = _country_of(form)
        # Lima, in a note that names Peru or of one who was born there; but Athens is the city in Georgia.
        is_there = is_marked or elsewhere in setting.abroad or (setting.is_far_away and not _is_city(form, wanted))
        if elsewhere is not None and is_there:
            return _Home(country=elsewhere, locale="other")
    areas = known.areas_of_town.get(form, ())
    # A small town of a list is not meant in a note of another country. A large one is, also in an American note where
    # the town of that name at home is small.
    likely = [area for area in areas if area.locale == wanted or form in known.large_towns]
    if wanted == "US" and own is None and form not in known.large_us_towns:
        abroad = [area for area in likely if area.locale != "US"]
        likely = abroad or ([] if form in known.country_of_town else likely)
    at_home = next((area for area in likely if area.locale == wanted), likely[0] if likely and own is None else None)
    if at_home is not None:
        return _Home(area=at_home, locale=at_home.locale)
    if own is not None:
        return _Home(area=any_area(patient, own, form), locale=own)
    elsewhere = _country_of(form)
    if elsewhere is not None:
        return _Home(country=elsewhere, locale="other")
    return _unlisted(patient, form, setting)


def _is_city(form: str, locale: str) -> bool:
    """Return whether a town is one of the largest of a state at home, or a large one of another listed country."""
    areas = places().areas_of_town.get(form, ())
    if any(area.locale not in (locale, "US") for area in areas) or locale != "US":
        return any(area.locale != "US" for area in areas)  # Perth
    return any(form == normal_form(town.name) for state in places().states for town in state.towns[:_CITIES])


def _country_of(form: str) -> int | None:
    """Return the index of the country of a town abroad, or None."""
    return places().country_of_town.get(form, world_towns()[0].get(form))


def _unlisted(patient: Patient, form: str, setting: Setting) -> _Home:
    """Return where a town in no list lies: in the state or country of the record, else anywhere in the locale."""
    locale = setting.locale
    if locale == "other":
        abroad = known_country(patient.record.get("country", ""))
        if abroad is None:
            abroad = places().country_of_town.get(normal_form(patient.record.get("city", "")))
        if abroad is None:
            abroad = patient.keyed.number("country of the patient", "") % len(places().countries)
        return _Home(country=abroad, locale="other")
    found = known_area(patient.record.get("state", ""), locale)
    if found is not None and found[0].locale == locale and not setting.state:
        return _Home(area=found[0], locale=locale)
    return _Home(area=any_area(patient, locale, form), locale=locale)


def _moved(patient: Patient, home: _Home, taken: frozenset[str]) -> _Home:
    if home.area is not None:
        return _Home(area=area_for(patient, home.area, taken), locale=home.locale)
    if home.country is not None:
        return _Home(country=country_for(patient, home.country, taken), locale="other")
    return home


@lru_cache(maxsize=4096)
def _options(home: _Home, words: int, is_plain: bool) -> tuple[str, ...]:
    """Return the towns of ``home`` with so many words, and with marks or inner capitals only if not ``is_plain``.

    If there are too few, return all with as many words; else all.
    """
    towns = _towns(home)
    as_long = tuple(town for town in towns if len(town.split()) == words)
    alike = tuple(town for town in as_long if _is_plain(town) == is_plain)
    return next((options for options in (alike, as_long) if len(options) >= _LEAST_OPTIONS), towns)


def _place_in(home: _Home, words: int, is_plain: bool, form: str) -> int | None:
    """Return the place of a town among the towns of its home that are written like it; None if it is not there."""
    return _places(home, words, is_plain).get(form)


def _band(place: int, size: int) -> tuple[int, int]:
    """Return the half-open range of places that change with ``place``: 8 places, then 24, 96 and so on.

    Towns are listed by their number of people, so a large town becomes a large one. The places left at the end of the
    list belong to the range before them when they are fewer than 8.
    """
    first, last = 0, _FIRST_BAND
    while last <= place and size - last >= _FIRST_BAND:
        first, last = last, last * _BAND_GROWTH
    return first, size if size - last < _FIRST_BAND else last


@lru_cache(maxsize=1024)
def _places(home: _Home, words: int, is_plain: bool) -> Mapping[str, int]:
    return {normal_form(town): place for place, town in enumerate(_options(home, words, is_plain))}


def _towns(home: _Home) -> tuple[str, ...]:
    if home.area is not None:
        return tuple(dict.fromkeys(town.name for town in towns_of(home.area)))
    if home.country is not None:
        country = places().countries[home.country]
        more = world_towns()[1].get(home.country, ())
        if not more:
            more = tuple(town for area in _areas(country.name) for town in _towns(_Home(area=area)))
        return tuple(filter(is_offered, dict.fromkeys((*country.cities, *more)))) or country.cities
    name = COUNTRY_OF.get(home.locale, "")
    areas = _areas(name) if name != COUNTRY_OF["US"] else [Area("US", i) for i in range(len(places().states))]
    return tuple(dict.fromkeys(town for area in areas for town in _towns(_Home(area=area))))


@lru_cache(maxsize=64)
def _letters_of(home: _Home) -> Chain:
    towns = [town for town in _towns(home) if town.isalpha()]
    return chain_of(towns[:: max(1, len(towns) // _SAMPLE)])


def _areas(country: str) -> list[Area]:
    known = places()
    return [Area(known.provinces[index].locale, index) for index in known.provinces_of.get(country, ())]


def _is_plain(name: str) -> bool:
    return all(word.isalpha() and (word.istitle() or word.isupper() or word.islower()) for word in name.split())


def town_named(area: Area, name: str) -> Town | None:
    """Return the town ``name`` of ``area``, or None."""
    form = normal_form(name)
    return next((town for town in towns_of(area) if normal_form(town.name) == form), None)


def town_runs(name: str, locale: str) -> Iterator[str]:
    """Yield the towns of the country of ``locale`` that the name of a facility holds, of one or two words."""
    known = places()
    words = _WORD.findall(name[:_LONGEST_NAME_CHARS])
    for size in (2, 1):
        for place in range(len(words) - size + 1):
            run = " ".join(words[place : place + size])
            form = normal_form(run)
            if form in known.large_towns and any(area.locale == locale for area in known.areas_of_town[form]):
                yield run

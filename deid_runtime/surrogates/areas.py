"""Surrogates of states, provinces and counties: another area of the same country."""

import struct
from functools import lru_cache
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.gazetteer import COUNTRY_OF, Area, Province, State, Town, places
from deid_runtime.surrogates.patient import Patient, first_free

_SHORT_DIAL: Final = 4  # characters of the dialling code of a British city, such as 0113; other codes are longer
_LEAST_PEERS: Final = 8  # areas that exchange names; Safe Harbor would allow a state to stay
_NORTHERN_DIAL: Final = ("867",)  # the territories of Canada, which have few people


def known_areas(value: str) -> tuple[tuple[Area, str], ...]:
    """Return the areas that ``value`` names, each with the kind of form: ``code``, ``name``, ``short`` or the form."""
    known = places()
    form = normal_form(value)
    found: list[tuple[Area, str]] = []
    if form in known.state_forms:
        index, kind = known.state_forms[form]
        found.append((Area("US", index), kind))
    for index, kind in known.province_forms.get(form, ()):
        found.append((Area(known.provinces[index].locale, index), kind))
    return tuple(found)


def known_area(value: str, locale: str) -> tuple[Area, str] | None:
    """Return the area that ``value`` names and the kind of form; the country of ``locale`` is searched first.

    ``WA`` is Western Australia in an Australian note, and Washington in all others.
    """
    found = known_areas(value) if value else ()
    return next((row for row in found if row[0].locale == locale), found[0] if found else None)


def area_of(area: Area) -> State | Province:
    """Return the state or province of ``area``."""
    return places().states[area.index] if area.locale == "US" else places().provinces[area.index]


def towns_of(area: Area) -> tuple[Town, ...]:
    """Return the towns of ``area`` that may be surrogates."""
    return area_of(area).offered


@lru_cache(maxsize=256)
def _peers(area: Area) -> tuple[int, ...]:
    """Return the areas among which ``area`` exchanges its name.

    In the United Kingdom, areas with a dialling code of a city stay among each other, so that telephone numbers keep
    their format. The territories of Canada stay among each other, too. Of many areas, those with about as many
    towns do so, because in an area with fewer towns, two towns could not get two surrogates.
    """
    known = places()
    same: tuple[int, ...] = tuple(range(len(known.states)))
    if area.locale != "US":
        own = known.provinces[area.index]
        same = known.provinces_of[own.country]
        if area.locale == "GB":
            same = tuple(i for i in same if _has_short_dial(known.provinces[i]) == _has_short_dial(own))
        if area.locale == "CA":
            is_northern = own.dials == _NORTHERN_DIAL
            same = tuple(i for i in same if (known.provinces[i].dials == _NORTHERN_DIAL) == is_northern)
    # Not in the United Kingdom: towns with postcodes of one letter are few, and replace each other.
    groups = max(1, len(same) // _LEAST_PEERS) if area.locale != "GB" else 1
    by_size = sorted(same, key=lambda index: (len(towns_of(Area(area.locale, index))), index))
    group = by_size.index(area.index) * groups // len(same)
    return tuple(sorted(index for place, index in enumerate(by_size) if place * groups // len(same) == group))


def _has_short_dial(province: Province) -> bool:
    return len(province.dials[0]) <= _SHORT_DIAL


def area_for(patient: Patient, area: Area, taken: frozenset[str]) -> Area:
    """Return the surrogate of ``area``: the next one, in a keyed order, that has no form in ``taken`` if possible.

    Different areas have different surrogates, unless one must avoid an original. Return ``area`` itself for patients
    whose states are kept.
    """
    if patient.keeps_states:
        return area
    peers = _peers(area)
    purpose = f"areas/{area.locale}/{peers[0]}"

    def others_in_order() -> str:
        draws = struct.unpack(f">{len(peers)}I", patient.keyed.stream(4 * len(peers), purpose, ""))
        order = sorted(range(len(peers)), key=draws.__getitem__)
        start = order.index(peers.index(area.index))
        return " ".join(str(peers[place]) for place in (*order[start + 1 :], *order[:start]))

    others = map(int, patient.remember((purpose, str(area.index)), others_in_order).split(" "))
    free = (Area(area.locale, other) for other in others if taken.isdisjoint(_forms(Area(area.locale, other))))
    return next(free, Area(area.locale, peers[(peers.index(area.index) + 1) % len(peers)]))


@lru_cache(maxsize=256)
def _forms(area: Area) -> frozenset[str]:
    found = area_of(area)
    shorts = (found.code, found.short) if isinstance(found, State) else found.shorts
    return frozenset(filter(None, map(normal_form, (found.name, *shorts))))


def replace_state(patient: Patient, value: str, taken: frozenset[str], locale: str = "US") -> str:
    """Return the surrogate of a state or province in the written form of ``value``: code, name or old abbreviation."""
    form = normal_form(value)
    found = known_area(value, locale)
    if found is not None:
        area, kind = found
        made = area_of(area_for(patient, area, taken))
        if isinstance(made, State):
            return _state_like(made, kind, value)
        return _province_like(made, kind, value)
    if locale == "other":
        return _abroad(patient, value, taken)
    options = [area_of(Area(locale, index)) for index in _all_areas(locale)]
    if 2 <= len(form) <= 3 and value.isupper():
        return first_free(lambda n: _code(patient.keyed.pick(options, f"state code/{n}", form)), value, taken)
    return first_free(lambda n: case_like(patient.keyed.pick(options, f"state/{n}", form).name, value), value, taken)


def _all_areas(locale: str) -> tuple[int, ...]:
    known = places()
    return tuple(range(len(known.states))) if locale == "US" else known.provinces_of[COUNTRY_OF[locale]]


def any_area(patient: Patient, locale: str, form: str) -> Area:
    """Return an area of the country of ``locale`` for a place in no list, by the key and its normal form."""
    indices = _all_areas(locale)
    return Area(locale, patient.keyed.pick(indices, "any area", form))


def _abroad(patient: Patient, value: str, taken: frozenset[str]) -> str:
    """Return a name for a province of a country whose provinces are not listed."""
    form = normal_form(value)
    named = [province for province in places().provinces if province.locale == "other"]
    if len(form) <= 3 and value.isupper():
        return first_free(lambda n: _code(patient.keyed.pick(named, f"state code/{n}", form)), value, taken)
    return first_free(lambda n: case_like(patient.keyed.pick(named, f"state/{n}", form).name, value), value, taken)


def _code(area: State | Province) -> str:
    return area.code if isinstance(area, State) else (area.short or area.name).upper()


def _state_like(state: State, kind: str, value: str) -> str:
    if kind == "short" or "." in value or (value[1:2].islower() and value[0].isupper() and kind == "code"):
        # N.C. and Vt are old abbreviations, even if they have the letters of the postal code.
        text = state.short if "." in value else state.short.replace(".", "")
        return case_like(text, value) if len(value) > 4 or "." not in value else text
    if kind == "code":
        return case_like(state.code, value)
    return case_like(state.name, value)


def _province_like(province: Province, kind: str, value: str) -> str:
    if kind == "name" or not province.shorts:
        return case_like(province.name, value)
    if value.isupper() and "." not in value:
        return province.short if province.short.isupper() else province.short.upper()
    if kind.startswith("County ") and not province.short.startswith("County"):
        return case_like(_plain(province.name), value)
    if kind.lower().startswith("co"):
        return case_like(_abbreviated(province.name, kind), value)
    if kind.isupper():
        return case_like(province.short, value) if not value.islower() else province.short.lower()
    if kind == _plain(kind):
        return case_like(_plain(province.name), value)
    return case_like(province.short, value)


def _plain(name: str) -> str:
    for beginning in ("Co. ", "Co ", "County "):
        name = name.removeprefix(beginning)
    return name


def _abbreviated(name: str, like: str) -> str:
    beginning = like.split(" ")[0]
    return f"{beginning} {_plain(name)}" if beginning in ("Co.", "Co", "County") else name

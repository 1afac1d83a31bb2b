"""Dialling codes that follow the surrogate of their state, province or county."""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Final

from deid_runtime.surrogates.areas import area_for, area_of
from deid_runtime.surrogates.gazetteer import Area, State, places
from deid_runtime.surrogates.patient import Patient
from deid_runtime.surrogates.phones import Codes, replace_area_code

#: Country codes of the countries whose dialling codes the gazetteer lists -> their locale.
_LISTED: Final = {"44": "GB", "61": "AU", "64": "NZ", "91": "IN"}
_LONGEST_CODE: Final = 5  # digits, without the trunk prefix


@cache
def _areas_of_code(locale: str) -> Mapping[str, tuple[Area, ...]]:
    """Return dialling code without its 0 -> the areas that have it."""
    found: dict[str, dict[Area, None]] = {}
    for index, province in enumerate(places().provinces):
        if province.locale == locale:
            for dial in (*province.dials, *(town.dial for town in province.towns)):
                if dial:
                    found.setdefault(dial.removeprefix("0"), {})[Area(locale, index)] = None
    return {dial: tuple(areas) for dial, areas in found.items()}


def _areas_near(code: str, national: str) -> tuple[int, tuple[Area, ...]]:
    """Return the length of the dialling code of a number, and the areas that have it; 0 and none if unknown."""
    known = _areas_of_code(_LISTED[code]) if code in _LISTED else {}
    sizes = range(_LONGEST_CODE, 0, -1)
    return next(((size, known[national[:size]]) for size in sizes if national[:size] in known), (0, ()))


def codes_of(patient: Patient, taken: frozenset[str], near: Callable[[], Collection[Area]], locale: str) -> Codes:
    """Return how codes are replaced. Of several areas with one code, one of ``near()`` is meant if there is one."""

    def moved(area: Area) -> Area:
        return area_for(patient, area, taken)

    def area_code(code: str, local: str, attempt: int) -> str:
        return replace_area_code(patient, code, local, attempt, moved)

    def dial(code: str, national: str) -> str:
        size, areas = _areas_near(code, national)
        if not areas:
            return ""
        around = near() if len(areas) > 1 else ()
        made = area_of(moved(next((area for area in areas if area in around), areas[0])))
        if isinstance(made, State) or not made.dials:
            return ""
        # A code as long as the original's keeps the format: one of the surrogate area, otherwise one of the country.
        dials = [dial.removeprefix("0") for dial in (*made.dials, *(town.dial for town in made.towns)) if dial]
        alike = next((dial for dial in dials if len(dial) == size), None)
        listed = [
            dial for dial in sorted(_areas_of_code(_LISTED[code])) if len(dial) == size and dial != national[:size]
        ]
        return alike or (patient.keyed.pick(listed, "dialling code", national[:size]) if listed else dials[0])

    return Codes(area_code, _remembered(dial), locale)


def _remembered(dial: Callable[[str, str], str]) -> Callable[[str, str], str]:
    known: dict[tuple[str, str], str] = {}

    def remembered(code: str, national: str) -> str:
        key = (code, national)
        if key not in known:
            known[key] = dial(code, national)
        return known[key]

    return remembered

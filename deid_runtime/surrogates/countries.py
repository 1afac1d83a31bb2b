"""Surrogates of countries and demonyms, and the names of the countries whose addresses the gazetteer knows.

A country becomes one of its part of the world, because where a patient comes from or has been matters for a diagnosis:
malaria after a journey to Kenya, Chagas disease in a patient from Bolivia.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.gazetteer import places, world_towns
from deid_runtime.surrogates.lists import read_rows
from deid_runtime.surrogates.patient import Patient, first_free

_COUNTRY_ATTEMPTS: Final = 12
_LEAST_TOWNS: Final = 25  # a country with fewer listed towns would not hide the original
_LONGEST_SHORT: Final = 3  # letters of an abbreviated country name
#: Locales whose country always becomes another name of the same country. This reveals no more than ``Ohio`` or ``Kent``
#: does, because surrogates of states and counties stay in their country.
_ALWAYS_OWN: Final = frozenset({"US", "GB"})
#: Names that need an article. They are not offered as surrogates, because the text may have no article there.
_WITH_ARTICLE: Final = frozenset({"Bahamas", "Dominican Republic", "Gambia", "Netherlands", "Philippines"})
_ARTICLE: Final = re.compile(r"the\s{1,3}(?=\w)", re.IGNORECASE)
#: Normal forms of other names of listed countries.
_ALSO: Final = {
    "bosniaandherzegovina": "bosnia", "caboverde": "capeverde", "cotedivoire": "ivorycoast", "czechrepublic":
    "czechia", "drc": "congo", "holland": "netherlands", "myanmar": "burma", "northkorea": "korea",
    "northmacedonia": "macedonia", "southkorea": "korea", "sovietunion": "russia", "trinidadandtobago": "trinidad",
    "ussr": "russia",
}  # fmt: skip
_OFFICIAL: Final = re.compile(
    r"(?:[\w'’-]{1,20}\s{1,3}){0,3}(?:republic|kingdom|state|sultanate|commonwealth)\s{1,3}of\s{1,3}"
    r"(?:the\s{1,3})?(?=\w)",
    re.IGNORECASE,
)
_COUNTRY_SHORT: Final = {
    "american": ("Canadian", "Australian", "Irish", "Scottish"), "british": ("Irish", "Canadian", "Dutch", "Danish"),
    "pr": ("DR", "USVI", "BVI"), "puertorico": ("Dominican Republic", "Jamaica", "Barbados", "Cuba"),
    "puertorican": ("Dominican", "Jamaican", "Barbadian", "Cuban"),
    "uae": ("KSA", "Oman", "Qatar", "Kuwait", "Bahrain"),
}  # fmt: skip


@cache
def _own_names() -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Return normal form -> (locale, other names of the same country in order)."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for locale, names in read_rows("own_country_names.tsv"):
        first, *others = names.split(",")
        found.setdefault(normal_form(first), (locale, tuple(others)))
    return found


def own_locale(value: str) -> str | None:
    """Return the locale of the country that ``value`` names, or None. An article before the name is allowed."""
    found = _own_names().get(normal_form(_without(_ARTICLE, value)))
    return found[0] if found else None


def _without(beginning: re.Pattern[str], value: str) -> str:
    found = beginning.match(value)
    return value[found.end() :] if found else value


def country_form(value: str) -> str:
    """Return the normal form of the short name under which the list may have a country."""
    bare = _without(_OFFICIAL, _without(_ARTICLE, value))
    return _ALSO.get(normal_form(bare), normal_form(bare))


def known_country(value: str) -> int | None:
    """Return the index of the country that ``value`` names, None for a demonym and for an unknown name."""
    found = places().country_forms.get(country_form(value))
    return found[0] if found and found[1] == "name" else None


def country_for(patient: Patient, country: int, taken: frozenset[str]) -> int:
    """Return the index of the surrogate of ``country``: another country of its part of the world.

    Its name and demonym are not in ``taken`` if possible. Return ``country`` itself for patients whose states are kept.
    """
    if patient.keeps_states:
        return country
    countries = places().countries
    nearby = _nearby(countries[country].region)

    def moved(attempt: int) -> int:
        purpose = f"country/{nearby[0]}/{attempt}"
        make = patient.keyed.permute
        place = nearby.index(country)
        return nearby[int(patient.remember((purpose, str(place)), lambda: str(make(place, len(nearby), purpose))))]

    for attempt in range(_COUNTRY_ATTEMPTS):
        index = moved(attempt)
        other = countries[index]
        forms = (normal_form(other.name), normal_form(f"the {other.name}"), normal_form(other.demonym))
        if index != country and index in _offered() and taken.isdisjoint(forms):
            return index
    return next(index for index in (*filter(_offered().__contains__, nearby), *sorted(_offered())) if index != country)


@cache
def _nearby(region: str) -> tuple[int, ...]:
    """Return the countries of a part of the world."""
    return tuple(index for index, country in enumerate(places().countries) if country.region == region)


@cache
def _offered() -> frozenset[int]:
    """Return the countries that may be surrogates: without an article in their name, and with enough towns."""
    known = places()
    return frozenset(
        index
        for index, country in enumerate(known.countries)
        if country.name not in _WITH_ARTICLE
        and (len(world_towns()[1].get(index, ())) >= _LEAST_TOWNS or country.name in known.provinces_of)
    )


def replace_country(
    patient: Patient, value: str, taken: frozenset[str], locale: str = "US", at_home: frozenset[str] = frozenset()
) -> str:
    """Return the surrogate of a country or demonym: another one of the same kind.

    A name of the United States, the United Kingdom or the country of ``locale`` becomes another name of the same
    country. So does a name of a country in ``at_home``, normal forms: an address with a state or province names it. The
    article stays before these names and before a demonym; other surrogates have no article.
    """
    known = places()
    article = _ARTICLE.match(value)
    written = article.group() if article else ""
    bare = value[len(written) :]
    form = normal_form(bare)
    own = _own_names().get(form)
    if own is not None and (own[0] in _ALWAYS_OWN or own[0] == locale or form in at_home):
        names = own[1]
        return written + first_free(lambda n: _dotted_like(names[n % len(names)], bare), bare, taken)
    if form in _COUNTRY_SHORT:
        options = _COUNTRY_SHORT[form]
        kept = written if form in {"american", "british"} else ""
        return kept + first_free(
            lambda n: _dotted_like(patient.keyed.pick(options, f"country/{n}", form), bare), bare, taken
        )
    form = country_form(value)
    singular = form[:-1] if form not in known.country_forms and form[:-1] in known.country_forms else form
    if singular in known.country_forms:
        index, kind = known.country_forms[singular]
        # A kept country is for Safe Harbor, where the caller keeps the name too.
        moved = country_for(patient, index, taken)
        other = known.countries[moved if moved != index else (index + 1) % len(known.countries)]
        if kind == "name":
            return case_like(other.name, value)
        plural = "s" if singular != form and not other.demonym.endswith(("sh", "ese", "ch", "s")) else ""
        return written + case_like(other.demonym + plural, bare)
    is_demonym = form.endswith(("ian", "ese", "ish", "ani", "ean", "can"))
    offered = [country for country in known.countries if country.name not in _WITH_ARTICLE]

    def candidate(attempt: int) -> str:
        other = patient.keyed.pick(offered, f"country/{attempt}", form)
        return written + case_like(other.demonym, bare) if is_demonym else case_like(other.name, value)

    return first_free(candidate, value, taken)


def _dotted_like(name: str, original: str) -> str:
    """Return the name or abbreviation of a country, with dots if ``original`` has them (``U.S.``)."""
    if name.isupper() and "." in original:
        return ".".join(name) + "."
    if len(normal_form(original)) <= _LONGEST_SHORT and not original.islower():
        return name  # the case of an abbreviation does not show the case of a full name
    return case_like(name, original) if not name.isupper() or original.islower() else name

"""Surrogates of towns, states, postal codes and countries that agree with each other.

A state has one surrogate per patient. The surrogate of a town lies in the surrogate of its state. A ZIP follows its
town, and an area code follows its state. The state of a town is the one beside it in the note, else the one in the
gazetteer, else the one in the patient's record.
"""

import re
from typing import Final

from deid_runtime.lexicon.letter_case import case_like
from deid_runtime.surrogates.forms import changed, normal_form, scramble
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.lists import Province, State, phrases, places
from deid_runtime.surrogates.patient import Patient, first_free

_COUNTY: Final = re.compile(
    r"^(county of |co\.? |county )?(.*?)( county| co\.?| parish| borough| township| twp\.?)?$", re.I
)
_US_ZIP: Final = re.compile(r"(\d{5})(\D?\d{4})?")
_LISTED_TOWNS: Final = 4  # number of candidates taken from the list of towns; later ones are invented
_STATE_ATTEMPTS: Final = 12
#: Names of two countries of most addresses. Surrogates of states and counties stay in their country. Therefore, a name
#: of one of these countries becomes another name of the same country: this reveals no more than ``Ohio`` or ``Kent``
#: does.
#: Rows of names used with an article come first, each with other such names. A name in several rows uses the row that
#: it begins.
_OWN_NAMES: Final = (
    ("US", "USA", "United States", "United States of America"),
    ("America", "USA", "US", "United States"),
    ("UK", "United Kingdom", "GB", "Great Britain"),
    ("Britain", "Great Britain", "GB"),
)
_OWN_NAME: Final = {normal_form(name): names for names in reversed(_OWN_NAMES) for name in names}
_LONGEST_SHORT: Final = 3  # letters of an abbreviated country name
#: Names that need an article. They are not offered as surrogates, because the text may have no article there.
_WITH_ARTICLE: Final = frozenset({"Bahamas", "Gambia", "Netherlands", "Philippines"})
_ARTICLE: Final = re.compile(r"the\s{1,3}(?=\w)", re.IGNORECASE)
#: Normal forms of other names of listed countries.
_ALSO: Final = {
    "bosniaandherzegovina": "bosnia", "czechrepublic": "czechia", "drc": "congo", "holland": "netherlands",
    "myanmar": "burma", "northkorea": "korea", "southkorea": "korea", "sovietunion": "russia",
    "trinidadandtobago": "trinidad", "ussr": "russia",
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


def state_for(patient: Patient, state: int, taken: frozenset[str]) -> int:
    """Return the index of the surrogate of ``state``: another state with no form in ``taken``, if possible.

    Return ``state`` itself for patients whose states are kept.
    """
    if patient.keeps_states:
        return state
    states = places().states

    def moved(attempt: int) -> int:
        purpose = f"state/{attempt}"
        make = patient.keyed.permute
        return int(patient.remember((purpose, str(state)), lambda: str(make(state, len(states), purpose))))

    for attempt in range(_STATE_ATTEMPTS):
        index = moved(attempt)
        if index != state and taken.isdisjoint(_forms_of_state(index)):
            return index
    return (state + 1) % len(states)


def _forms_of_state(index: int) -> tuple[str, str, str]:
    state = places().states[index]
    return normal_form(state.code), normal_form(state.name), normal_form(state.short)


def known_state(value: str) -> int | None:
    """Return the index of the state that ``value`` names in any form, or None."""
    found = places().state_forms.get(normal_form(value))
    return found[0] if found else None


def replace_state(patient: Patient, value: str, taken: frozenset[str]) -> str:
    """Return the surrogate of a state or province in the written form of ``value``: code, name or old abbreviation."""
    known = places()
    form = normal_form(value)
    if form in known.state_forms:
        index, kind = known.state_forms[form]
        state = known.states[state_for(patient, index, taken)]
        return _state_like(state, kind, value)
    if form in known.province_forms:
        index, kind = known.province_forms[form]
        province = known.provinces[_province_for(patient, index, taken)]
        text = province.short if kind == "short" and province.short else province.name
        return case_like(text, value)
    if 2 <= len(form) <= 3 and value.isupper():
        return first_free(lambda n: patient.keyed.pick(known.states, f"state code/{n}", form).code, value, taken)
    return first_free(
        lambda n: case_like(patient.keyed.pick(known.states, f"state/{n}", form).name, value), value, taken
    )


def _state_like(state: State, kind: str, value: str) -> str:
    if kind == "short" or "." in value or (value[1:2].islower() and value[0].isupper() and kind == "code"):
        # N.C. and Vt are old abbreviations, even if they have the letters of the postal code.
        text = state.short if "." in value else state.short.replace(".", "")
        return case_like(text, value) if len(value) > 4 or "." not in value else text
    if kind == "code":
        return case_like(state.code, value)
    return case_like(state.name, value)


def _province_for(patient: Patient, index: int, taken: frozenset[str]) -> int:
    """Return the index of another province of the same country, with no form in ``taken`` if possible."""
    provinces = places().provinces
    country = provinces[index].country
    same = [i for i, province in enumerate(provinces) if province.country == country]
    start = patient.keyed.permute(same.index(index), len(same), f"province/{country}")
    others = [other for other in (*same[start:], *same[:start]) if other != index]
    free = [
        other
        for other in others
        if taken.isdisjoint((normal_form(provinces[other].name), normal_form(provinces[other].short) or "-"))
    ]
    return (free or others)[0]


def replace_city(patient: Patient, value: str, taken: frozenset[str], *, state: str = "", country: str = "") -> str:
    """Return the surrogate of a town or county. ``state`` and ``country`` are those after it in the note, or empty."""
    shape = _COUNTY.match(value) if len(value) < 80 else None
    name = shape[2] if shape else value
    form = normal_form(name)
    if not form:
        return changed(value)
    options = _written_alike(_towns(patient, form, state, country, taken), name)

    def candidate(attempt: int) -> str:
        town = case_like(_pick_town(patient, options, name, attempt), name)
        return f"{shape[1] or ''}{town}{shape[3] or ''}" if shape else town

    return first_free(candidate, value, taken)


def _written_alike(options: tuple[tuple[str, str], ...], name: str) -> tuple[tuple[str, str], ...]:
    """Return the options with as many words as ``name``, and with marks or inner capitals only if it has them.

    If there are none, return all with as many words; else all.
    """
    words = len(name.split())
    as_long = tuple(option for option in options if len(option[0].split()) == words)
    plain = _is_plain(name)
    return tuple(option for option in as_long if _is_plain(option[0]) == plain) or as_long or options


def _is_plain(name: str) -> bool:
    return all(word.isalpha() and (word.istitle() or word.isupper() or word.islower()) for word in name.split())


def _pick_town(patient: Patient, options: tuple[tuple[str, str], ...], name: str, attempt: int) -> str:
    form = normal_form(name)
    if attempt < _LISTED_TOWNS:
        return patient.keyed.pick(options, f"town/{attempt}", form)[0]
    # When the few listed towns are used up, invent towns: a state has more towns than the list.
    listed = phrases()
    if len(name.split()) == 1:
        return patient.keyed.pick(listed.singles, f"town/{attempt}", form)
    first = patient.keyed.pick(listed.firsts, f"town first/{attempt}", form)
    return f"{first} {patient.keyed.pick(listed.features, f'town/{attempt}', form)}"


def _towns(patient: Patient, form: str, state: str, country: str, taken: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return the (town, ZIP3) candidates for a town, from the surrogate of its state, province or country.

    The state or country after the town in the note has priority over the gazetteer, and the gazetteer over the record.
    """
    known = places()
    index = known_state(state)
    if index is not None:
        return known.states[state_for(patient, index, taken)].cities
    province = known.province_forms.get(normal_form(state))
    if province:
        return _province_towns(known.provinces[_province_for(patient, province[0], taken)])
    abroad = known.country_forms.get(_country_form(country))
    if abroad and abroad[1] == "name":
        return _towns_abroad(patient, abroad[0], taken)
    if normal_form(country) == "" and form in known.us_cities:
        return known.states[state_for(patient, known.us_cities[form], taken)].cities
    if form in known.other_cities:
        kind, place = known.other_cities[form]
        if kind == "country":
            return _towns_abroad(patient, place, taken)
        return _province_towns(known.provinces[_province_for(patient, place, taken)])
    index = known_state(patient.record.get("state", ""))
    if index is None or state:
        return _any_town(patient, form)
    return known.states[state_for(patient, index, taken)].cities


def _towns_abroad(patient: Patient, country: int, taken: frozenset[str]) -> tuple[tuple[str, str], ...]:
    return tuple((town, "") for town in places().countries[country_for(patient, country, taken)].cities)


def country_for(patient: Patient, country: int, taken: frozenset[str]) -> int:
    """Return the index of the surrogate of ``country``: another country.

    Its name and demonym are not in ``taken`` if possible.
    """
    countries = places().countries

    def moved(attempt: int) -> int:
        purpose = f"country/{attempt}"
        make = patient.keyed.permute
        return int(patient.remember((purpose, str(country)), lambda: str(make(country, len(countries), purpose))))

    for attempt in range(_STATE_ATTEMPTS):
        index = moved(attempt)
        other = countries[index]
        forms = (normal_form(other.name), normal_form(f"the {other.name}"), normal_form(other.demonym))
        if index != country and other.name not in _WITH_ARTICLE and taken.isdisjoint(forms):
            return index
    return (country + 1) % len(countries)


def _province_towns(province: Province) -> tuple[tuple[str, str], ...]:
    return tuple((town, "") for town in province.cities)


def _any_town(patient: Patient, form: str) -> tuple[tuple[str, str], ...]:
    return patient.keyed.pick(places().states, "any state", form).cities


def replace_zip(patient: Patient, value: str, taken: frozenset[str], city: str, state: str) -> str:
    """Return the surrogate of a postal code. ``city`` and ``state`` are those beside it in the note, or empty."""
    found = _US_ZIP.fullmatch(value.strip())
    if not found:
        return first_free(lambda n: _postcode(patient.keyed, value, n), value, taken)
    known = places()
    if not city and normal_form(patient.record.get("zip", ""))[:5] == found[1]:
        city, state = patient.record.get("city", ""), patient.record.get("state", "")
    index = known_state(state)
    if index is None:
        index = known.state_of_zip3.get(found[1][:3])
    target = (
        known.states[state_for(patient, index, taken)]
        if index is not None
        else patient.keyed.pick(known.states, "zip", found[1])
    )
    prefix = ""
    if city and index is not None:
        town = _pick_town(patient, _written_alike(target.cities, city), city, 0)
        prefix = dict(target.cities).get(town, "")
    prefix = prefix or patient.keyed.pick(target.cities, "zip3", found[1][:3])[1]

    def candidate(attempt: int) -> str:
        number = patient.keyed.number(f"zip/{attempt}", found[1] + prefix)
        plus = found[2] or ""
        extra = scramble(patient.keyed, f"zip4/{attempt}", plus, identity=normal_form(value)) if plus else ""
        return value.replace(found[0], f"{prefix}{1 + number % 99:02}{extra}")

    return first_free(candidate, value, taken)


def _postcode(keyed: Keyed, value: str, attempt: int) -> str:
    return scramble(keyed, f"postcode/{attempt}", value)


def _without(beginning: re.Pattern[str], value: str) -> str:
    found = beginning.match(value)
    return value[found.end() :] if found else value


def _country_form(value: str) -> str:
    """Return the normal form of the short name under which the list may have a country."""
    bare = _without(_OFFICIAL, _without(_ARTICLE, value))
    return _ALSO.get(normal_form(bare), normal_form(bare))


def replace_country(patient: Patient, value: str, taken: frozenset[str]) -> str:
    """Return the surrogate of a country or demonym: another one of the same kind.

    A name of the United States or the United Kingdom becomes another name of the same country. The article stays before
    these names and before a demonym; other surrogates have no article.
    """
    known = places()
    article = _ARTICLE.match(value)
    written = article.group() if article else ""
    bare = value[len(written) :]
    form = normal_form(bare)
    if form in _OWN_NAME:
        names = _OWN_NAME[form]
        start = names.index(next(name for name in names if normal_form(name) == form))
        return written + first_free(lambda n: _dotted_like(names[(start + 1 + n) % len(names)], bare), bare, taken)
    if form in _COUNTRY_SHORT:
        options = _COUNTRY_SHORT[form]
        kept = written if form in {"american", "british"} else ""
        return kept + first_free(
            lambda n: _dotted_like(patient.keyed.pick(options, f"country/{n}", form), bare), bare, taken
        )
    form = _country_form(value)
    singular = form[:-1] if form not in known.country_forms and form[:-1] in known.country_forms else form
    if singular in known.country_forms:
        index, kind = known.country_forms[singular]
        other = known.countries[country_for(patient, index, taken)]
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

"""Towns, states, postal codes and countries that agree with each other.

A state has one stand-in per patient; a town goes to a town of the stand-in of its state, its ZIP to that town, an
area code
to that state. The state of a town is the one beside it in the note, else the one the gazetteer knows, else
that of the patient's record.
"""

import re
from typing import Final

from deid_runtime.surrogates.forms import case_like, changed, normal_form, scramble
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.lists import Province, State, phrases, places
from deid_runtime.surrogates.patient import Patient, first_free

_COUNTY: Final = re.compile(
    r"^(county of |co\.? |county )?(.*?)( county| co\.?| parish| borough| township| twp\.?)?$", re.I
)
_US_ZIP: Final = re.compile(r"(\d{5})(\D?\d{4})?")
_STATE_ATTEMPTS: Final = 12
_COUNTRY_SHORT: Final = {
    "us": "UK", "usa": "UK", "unitedstates": "Canada", "unitedstatesofamerica": "Canada", "america": "Canada",
    "american": "Canadian", "uk": "US", "unitedkingdom": "Ireland", "british": "Irish", "britain": "Ireland",
    "pr": "DR", "puertorico": "Dominican Republic", "puertorican": "Dominican", "uae": "KSA",
}  # fmt: skip


def state_for(patient: Patient, state: int, taken: frozenset[str]) -> int:
    """Return the index of the state that stands for ``state``: never itself, nor one that ``taken`` has an original
    of.
    """
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
    """Return the state that ``value`` names in any form, or None."""
    found = places().state_forms.get(normal_form(value))
    return found[0] if found else None


def replace_state(patient: Patient, value: str, taken: frozenset[str]) -> str:
    """Return the stand-in of a state or province in the form it is written: code, name or old abbreviation."""
    known = places()
    form = normal_form(value)
    if form in known.state_forms:
        index, kind = known.state_forms[form]
        state = known.states[state_for(patient, index, taken)]
        return _state_like(state, kind, value)
    if form in known.province_forms:
        index, kind = known.province_forms[form]
        province = known.provinces[_province_for(patient, index)]
        text = province.short if kind == "short" and province.short else province.name
        return case_like(text, value)
    if 2 <= len(form) <= 3 and value.isupper():
        return first_free(lambda n: patient.keyed.pick(known.states, f"state code/{n}", form).code, value, taken)
    return first_free(
        lambda n: case_like(patient.keyed.pick(known.states, f"state/{n}", form).name, value), value, taken
    )


def _state_like(state: State, kind: str, value: str) -> str:
    if kind == "short" or "." in value or (value[1:2].islower() and value[0].isupper() and kind == "code"):
        # N.C. and Vt are the old abbreviations, whatever the postal code looks like.
        text = state.short if "." in value else state.short.replace(".", "")
        return case_like(text, value) if len(value) > 4 or "." not in value else text
    if kind == "code":
        return case_like(state.code, value)
    return case_like(state.name, value)


def _province_for(patient: Patient, index: int) -> int:
    """Return another province of the same country."""
    provinces = places().provinces
    same = [i for i, province in enumerate(provinces) if province.country == provinces[index].country]
    place = patient.keyed.permute(same.index(index), len(same), f"province/{provinces[index].country}")
    return same[place] if same[place] != index else same[(place + 1) % len(same)]


def replace_city(patient: Patient, value: str, taken: frozenset[str], beside: str) -> str:
    """Return the stand-in of a town or county; ``beside`` is the state that follows it in the note, or empty."""
    shape = _COUNTY.match(value) if len(value) < 80 else None
    name = shape[2] if shape else value
    form = normal_form(name)
    if not form:
        return changed(value)
    options = _towns(patient, form, known_state(beside), beside, taken)

    def candidate(attempt: int) -> str:
        town = case_like(_pick_town(patient, options, form, attempt), name)
        return f"{shape[1] or ''}{town}{shape[3] or ''}" if shape else town

    return first_free(candidate, value, taken)


def _pick_town(patient: Patient, options: tuple[tuple[str, str], ...], form: str, attempt: int) -> str:
    # Past the few towns of the list, made-up ones: a state has more towns than we name.
    if attempt < 4:
        return patient.keyed.pick(options, f"town/{attempt}", form)[0]
    return patient.keyed.pick(phrases().singles, f"town/{attempt}", form)


def _towns(
    patient: Patient, form: str, state: int | None, beside: str, taken: frozenset[str]
) -> tuple[tuple[str, str], ...]:
    """Return the (town, ZIP3) pairs that a town may become."""
    known = places()
    if state is None and not beside:
        if form in known.us_cities:
            state = known.us_cities[form]
        elif form in known.other_cities:
            kind, index = known.other_cities[form]
            if kind == "province":
                return _province_towns(known.provinces[_province_for(patient, index)])
            towns = tuple(town for town in known.countries[index].cities if normal_form(town) != form)
            return tuple((town, "") for town in towns) or _any_town(patient, form)
    if state is None and beside:
        province = known.province_forms.get(normal_form(beside))
        if province:
            return _province_towns(known.provinces[_province_for(patient, province[0])])
    if state is None:
        state = known_state(patient.record.get("state", ""))
    if state is None:
        return _any_town(patient, form)
    return known.states[state_for(patient, state, taken)].cities


def _province_towns(province: Province) -> tuple[tuple[str, str], ...]:
    return tuple((town, "") for town in province.cities)


def _any_town(patient: Patient, form: str) -> tuple[tuple[str, str], ...]:
    return patient.keyed.pick(places().states, "any state", form).cities


def replace_zip(patient: Patient, value: str, taken: frozenset[str], city: str, state: str) -> str:
    """Return the stand-in of a postal code. ``city`` and ``state`` are those beside it in the note, or empty."""
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
        form = normal_form(city)
        town = _pick_town(patient, target.cities, form, 0)
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


def replace_country(patient: Patient, value: str, taken: frozenset[str]) -> str:
    """Return another country or, for a demonym, another demonym."""
    known = places()
    form = normal_form(value)
    if form in _COUNTRY_SHORT:
        short = _COUNTRY_SHORT[form]
        if "." in value and len(short) <= 3:
            short = ".".join(short) + "."
        return case_like(short, value) if len(form) > 3 or value.islower() else short
    is_demonym = False
    singular = form
    if form in known.country_forms:
        is_demonym = known.country_forms[form][1] == "demonym"
    elif form.endswith("s") and form[:-1] in known.country_forms:
        singular = form[:-1]
        is_demonym = known.country_forms[singular][1] == "demonym"
    else:
        is_demonym = form.endswith(("ian", "ese", "ish", "ani", "ean", "can"))

    def candidate(attempt: int) -> str:
        if singular in known.country_forms:
            index = known.country_forms[singular][0]
            other = known.countries[patient.keyed.permute(index, len(known.countries), f"country/{attempt}")]
        else:
            other = patient.keyed.pick(known.countries, f"country/{attempt}", form)
        plural = "s" if singular != form and not other.demonym.endswith(("sh", "ese", "ch")) else ""
        return case_like(other.demonym + plural if is_demonym else other.name, value)

    return first_free(candidate, value, taken)

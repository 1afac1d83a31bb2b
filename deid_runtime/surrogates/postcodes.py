"""Surrogates of postal codes: those of the surrogate town, or of the surrogate of their state.

Formats: ZIP codes (United States), postcodes (United Kingdom, Australia, New Zealand), Eircodes (Ireland), postal codes
(Canada) and PIN codes (India). Codes of other countries keep their shape.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from deid_runtime.surrogates.areas import area_for, area_of, towns_of
from deid_runtime.surrogates.forms import normal_form, scramble
from deid_runtime.surrogates.gazetteer import Area, State, Town, places
from deid_runtime.surrogates.lists import read_rows
from deid_runtime.surrogates.patient import Patient, first_free
from deid_runtime.surrogates.places import home_area, town_named

#: Locale -> (full form of a code, share of the weight of evidence). Groups: ``area``, and the rest ``unit``.
_FORMS: Final[tuple[tuple[str, re.Pattern[str], float], ...]] = (
    ("GB", re.compile(r"(?P<area>[A-Z]{1,2})(?P<district>\d{1,2}[A-Z]?)(?P<gap>\s{0,2})(?P<unit>\d[A-Z]{2})?"), 1.5),
    ("CA", re.compile(r"(?P<area>[A-Z]\d[A-Z])(?P<gap>[ -]?)(?P<unit>\d[A-Z]\d)"), 1.5),
    ("IE", re.compile(r"(?P<area>(?:[AC-FHKNPRTV-Y]\d{2}|D6W))(?P<gap> ?)(?P<unit>[0-9A-Z]{4})"), 1.5),
    ("US", re.compile(r"(?P<area>\d{3})(?P<unit>\d{2})(?P<plus>\D?\d{4})?"), 0.7),
    ("IN", re.compile(r"(?P<area>[1-8]\d{2})(?P<gap> ?)(?P<unit>\d{3})"), 0.7),
    ("AU", re.compile(r"(?P<area>\d{4})"), 0.4),
    ("NZ", re.compile(r"(?P<area>\d{4})"), 0.4),
)
_UNIT_LETTERS: Final = "ABDEFGHJLNPQRSTUWXYZ"  # the second half of a British postcode has no C, I, K, M, O and V
_FSA_LETTERS: Final = "ABCEGHJKLMNPRSTVWXYZ"  # Canada
_EIRCODE_CHARS: Final = "0123456789ACDEFHKNPRTVWXY"
_LONGEST_CODE_CHARS: Final = 12


def locales_of_postcode(value: str) -> tuple[tuple[str, float], ...]:
    """Return the (locale, weight) that the form of a postal code supports, 1 for usual evidence."""
    if len(value) > _LONGEST_CODE_CHARS:
        return ()
    found = tuple((locale, weight) for locale, form, weight in _FORMS if _match(locale, form, value))
    # Many other countries have codes of four digits, or of another form.
    return (*found, ("other", 0.3)) if not found or found[0][0] == "AU" else found


def _match(locale: str, form: re.Pattern[str], value: str) -> re.Match[str] | None:
    found = form.fullmatch(value.strip().upper())
    if found is None or (locale == "GB" and found["area"] not in _districts()):
        return None
    return found


def _kind(value: str, locale: str) -> tuple[str, re.Match[str]] | None:
    """Return the locale of a postal code and its parts: that of the note first, then the first whose form it has."""
    if len(value) > _LONGEST_CODE_CHARS:
        return None
    rows = sorted(_FORMS, key=lambda row: row[0] != locale)
    for kind, form, weight in rows:
        found = _match(kind, form, value)
        # Five digits are a ZIP, even in other notes; four or six digits only in a note of such a country.
        if found is not None and (kind == locale or weight > 1 or (kind == "US" and locale != "other")):
            return kind, found
    return None


@cache
def _districts() -> Mapping[str, int]:
    """Return British postcode area -> its last district."""
    return {area: int(last) for area, last in read_rows("uk_postcodes.tsv")}


@cache
def _areas_of_post(locale: str) -> Mapping[str, Area]:
    """Return the first characters of a postal code -> its area, for towns and for areas."""
    found: dict[str, Area] = {}
    for index, province in enumerate(places().provinces):
        if province.locale == locale:
            for post in (*province.posts, *(town.post for town in province.towns)):
                if post:
                    found.setdefault(post, Area(locale, index))
    return found


def _area_by_code(kind: str, area: str) -> Area | None:
    if kind == "US":
        index = places().state_of_zip3.get(area)
        return None if index is None else Area("US", index)
    known = _areas_of_post(kind)
    return next((known[area[:size]] for size in range(len(area), 0, -1) if area[:size] in known), None)


def replace_zip(
    patient: Patient, value: str, taken: frozenset[str], city: str, state: str, *, town: str = "", locale: str = "US"
) -> str:
    """Return the surrogate of a postal code.

    ``city`` and ``state`` are those beside it in the note, or empty. ``town`` is the surrogate of ``city``, or empty.
    """
    found = _kind(value, locale)
    if found is None:
        return first_free(lambda n: scramble(patient.keyed, f"postcode/{n}", value), value, taken)
    kind, parts = found
    if not city and normal_form(patient.record.get("zip", ""))[:5] == normal_form(value)[:5]:
        city, state = patient.record.get("city", ""), patient.record.get("state", "")
    home = home_area(patient, city, state, kind)
    if home is None or home.locale != kind:
        home = _area_by_code(kind, parts["area"])
    form = normal_form(value)
    if home is None:
        home = (
            Area(kind, patient.keyed.pick(sorted(a.index for a in set(_areas_of_post(kind).values())), "zip", form))
            if kind != "US"
            else Area("US", patient.keyed.number("zip", form) % len(places().states))
        )
        target = home
    else:
        target = area_for(patient, home, taken)
    lying = town_named(target, town) if town else None
    options = [each for each in towns_of(target) if each.post] or [Town("", post) for post in _posts(target)]
    if lying is None or not lying.post:
        lying = patient.keyed.pick(options, "zip3", form[:3])

    def candidate(attempt: int) -> str:
        made = _written(patient, kind, lying.post if lying else "", parts, form, attempt)
        return (
            value.replace(value.strip(), made if value.strip().isupper() or made.isdigit() else made.lower())
            if any(map(str.isalpha, value))
            else value.replace(value.strip(), made)
        )

    return first_free(candidate, value, taken)


def _posts(area: Area) -> tuple[str, ...]:
    found = area_of(area)
    return found.zip3 if isinstance(found, State) else found.posts


def _written(patient: Patient, kind: str, post: str, parts: re.Match[str], form: str, attempt: int) -> str:
    """Return a code that begins with ``post``, in the format of the original ``parts``."""
    number = patient.keyed.number(f"zip/{attempt}", form + post)
    if kind == "US":
        plus = parts["plus"] or ""
        extra = scramble(patient.keyed, f"zip4/{attempt}", plus, identity=form) if plus else ""
        return f"{post}{1 + number % 99:02}{extra}"
    if kind == "GB":
        return _british(post, parts, number)
    if kind == "CA":
        letters, rest = _letters(number, _FSA_LETTERS, 2)
        middle = post[1:] or str(1 + rest % 9)
        return f"{post[0]}{middle}{letters[0]}{parts['gap']}{rest % 10}{letters[1]}{1 + rest // 10 % 9}"
    if kind == "IE":
        letters, _ = _letters(number, _EIRCODE_CHARS, 4)
        unit = letters if not letters.isdigit() else f"X{letters[1:]}"
        return f"{post}{parts['gap']}{unit}"
    if kind == "IN":
        return f"{post}{parts['gap']}{1 + number % 99:03}"
    # The whole code of a town of Australia or New Zealand; another town of the area when it is an original.
    return post if attempt == 0 and len(post) == 4 else f"{post[:2]}{number % 100:02}"


def _british(post: str, parts: re.Match[str], number: int) -> str:
    """Return a postcode of the area ``post``; with two digits in its district if the original has them and it can."""
    last = _districts()[post]
    tail = parts["district"][-1] if parts["district"][-1].isalpha() and post in ("EC", "WC") else ""
    district = 1 + number % last
    if len(re.sub(r"\D", "", parts["district"])) == 1:
        district = 1 + number % min(9, last)
    elif last > 9:
        district = 10 + number % (last - 9)
    if parts["unit"] is None:
        return f"{post}{district}{tail}"
    letters, rest = _letters(number // 100, _UNIT_LETTERS, 2)
    return f"{post}{district}{tail}{parts['gap']}{1 + rest % 9}{letters}"


def _letters(number: int, alphabet: str, count: int) -> tuple[str, int]:
    made = ""
    for _ in range(count):
        number, place = divmod(number, len(alphabet))
        made += alphabet[place]
    return made, number

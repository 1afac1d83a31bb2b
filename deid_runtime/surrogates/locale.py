"""The locale of a note: the country whose conventions its places, postal codes, telephone numbers and holidays follow.

Every piece of evidence adds a weight to one or more locales: postal codes, states, towns, telephone numbers, words such
as ``NHS``, and British or American spelling. The patient's record counts most, so that all notes of a patient have one
locale.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from deid_runtime.surrogates.countries import known_country, own_locale
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.gazetteer import COUNTRY_OF, places
from deid_runtime.surrogates.lists import read_rows
from deid_runtime.surrogates.phone_plans import locale_of_phone
from deid_runtime.surrogates.postcodes import locales_of_postcode
from deid_runtime.system.word_caches import cached_by_word

#: All locales, in the order in which they win when their weights are equal.
LOCALES: Final = ("US", "GB", "IE", "CA", "AU", "NZ", "IN", "other")
_AFTER_WORD: Final = ("", ".", ",", ";", ":", ")", "),", ").", "?", "'s")
_LEAST_WEIGHT: Final = 1.5  # less evidence than this is ignored: the locale is US
_RECORD_WEIGHT: Final = 4  # a value of the record counts as much as this many mentions
_MOST_TEXT_CHARS: Final = 200_000  # limits the time for a very long note
#: Labels whose values are evidence, each with the weight of certain evidence.
_WEIGHTS: Final[Mapping[str, float]] = {"ZIP": 4, "STATE": 3, "CITY": 2, "PHONE": 2, "FAX": 2, "COUNTRY": 1}
_FIELDS: Final = {"zip": "ZIP", "state": "STATE", "city": "CITY", "phone": "PHONE", "country": "COUNTRY"}
_SAID_TWICE: Final = 2  # a value counts at most this often: an address in every page footer is one piece of evidence


@cache
def _cues() -> Mapping[str, tuple[tuple[str, float], ...]]:
    cues: dict[str, list[tuple[str, float]]] = {}
    for weight, locales, words in read_rows("locale_cues.tsv"):
        for word in words.split(" "):
            # Several countries use British spelling: it counts a little more for the first.
            found = [(locale, int(weight) - 0.1 * place) for place, locale in enumerate(locales.split(","))]
            cues.setdefault(word, []).extend(found)
    return {word: tuple(found) for word, found in cues.items()}


@cache
def _written_cues() -> Mapping[str, str]:
    """Return a mapping of each cue, as written between white space with punctuation, to the cue."""
    return {before + cue + after: cue for cue in _cues() for before in ("", "(") for after in _AFTER_WORD}


@cached_by_word(16_384)
def _signs(label: str, value: str) -> tuple[tuple[str, float], ...]:
    """Return the (locale, share of the full weight) that a value supports."""
    known = places()
    form = normal_form(value)
    if label == "ZIP":
        return locales_of_postcode(value)
    if label == "COUNTRY":
        own = own_locale(value)
        return ((own, 1.0),) if own is not None and own in COUNTRY_OF else ()
    if label == "STATE":
        found = {known.provinces[index].locale for index, _ in known.province_forms.get(form, ())}
        if form in known.state_forms:
            found.add("US")
        return tuple((locale, 1.0 / len(found)) for locale in sorted(found)) or (("other", 1.0),)
    if label == "CITY":
        areas = known.areas_of_town.get(form, ())
        if len(areas) > 1 and form not in known.large_us_towns:  # a small American town is rarely meant
            areas = tuple(area for area in areas if area.locale != "US")
        if areas:
            return tuple((area.locale, 1.0 / len(areas)) for area in areas)
        return (("other", 0.5),) if form in known.country_of_town else ()
    return locale_of_phone(value)


def read_evidence(text: str, values: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Return the weight of each locale in a note with this text and these (label, value) of its spans."""
    weights: dict[str, float] = dict.fromkeys(LOCALES, 0.0)
    seen: Counter[tuple[str, str]] = Counter()
    for label, value in values:
        weight = _WEIGHTS.get(label)
        if weight is None or len(value) > 60:
            continue
        seen[label, value] += 1
        if seen[label, value] <= _SAID_TWICE:
            for locale, share in _signs(label, value):
                weights[locale] += weight * share
    written = _written_cues()
    # Sorted, because a sum of floats depends on their order.
    for cue in sorted({written[word] for word in written.keys() & set(text[:_MOST_TEXT_CHARS].split())}):
        for locale, weight in _cues()[cue]:
            weights[locale] += weight
    return weights


def locale_of(evidence: Mapping[str, float], record: Mapping[str, str]) -> str:
    """Return the locale, one of :data:`LOCALES`, from the evidence of notes and the record of their patient.

    It is ``US`` without evidence, and ``other`` when the evidence is for a country that is not listed.
    """
    weights = {locale: evidence.get(locale, 0.0) for locale in LOCALES}
    told = [(label, record[name]) for name, label in _FIELDS.items() if record.get(name)]
    for locale, weight in read_evidence("", told).items() if told else ():
        weights[locale] += _RECORD_WEIGHT * weight
    if known_country(record.get("country", "")) is not None and own_locale(record["country"]) not in LOCALES:
        weights["other"] += _RECORD_WEIGHT * _WEIGHTS["STATE"]
    best = max(LOCALES, key=lambda locale: (weights[locale], -LOCALES.index(locale)))
    return best if weights[best] >= _LEAST_WEIGHT else "US"

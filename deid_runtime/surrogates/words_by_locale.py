"""Chains and words for names of places and facilities by locale: a British surgery does not get an American brand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from deid_runtime.surrogates.areas import towns_of
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.gazetteer import COUNTRY_OF, Area, places
from deid_runtime.surrogates.lists import phrases, read_rows


@dataclass(frozen=True, slots=True)
class LocalWords:
    """Words from which names are made.

    ``firsts`` and ``features`` make names of two words. ``singles`` are names of one word for facilities, ``wards`` for
    parts of a building, ``streets`` for streets.
    """

    firsts: Sequence[str] = field(repr=False)
    features: Sequence[str] = field(repr=False)
    singles: Sequence[str] = field(repr=False)
    wards: Sequence[str] = field(repr=False)
    streets: Sequence[str] = field(repr=False)


@cache
def _rows() -> Mapping[tuple[str, str], tuple[str, ...]]:
    found = {}
    for locales, kind, words in read_rows("local_words.tsv"):
        for locale in locales.split(","):
            found[locale, kind] = tuple(dict.fromkeys(words.split(" ")))
    return found


@cache
def words_of(locale: str) -> LocalWords:
    """Return the words of ``locale``; those of the United States if it has none."""
    listed, rows = phrases(), _rows()
    singles = listed.singles
    if locale in COUNTRY_OF and locale not in ("US", "CA"):
        # In these countries, facilities have the names of places. Each of their lists has hundreds.
        areas = [Area(locale, index) for index in places().provinces_of[COUNTRY_OF[locale]]]
        names = dict.fromkeys(town.name for area in areas for town in towns_of(area))
        singles = tuple(sorted(name for name in names if name.isalpha() and name.istitle()))
    return LocalWords(
        firsts=rows.get((locale, "first"), listed.firsts),
        features=rows.get((locale, "feature"), listed.features),
        singles=singles,
        wards=rows.get((locale, "ward"), singles if locale in ("US", "CA", "other") else listed.singles),
        streets=rows.get((locale, "street"), listed.streets),
    )


@cache
def _chains() -> tuple[Mapping[str, tuple[str, str, str]], Mapping[tuple[str, str], tuple[str, ...]]]:
    """Return normal form -> (name, kind, locales), and (kind, locale) -> names."""
    of_name: dict[str, tuple[str, str, str]] = {}
    of_kind: dict[tuple[str, str], list[str]] = {}
    for kind, name, locales in read_rows("chains.tsv"):
        of_name[normal_form(name)] = (name, kind, locales)
        for locale in locales.split(","):
            of_kind.setdefault((kind, locale), []).append(name)
    return of_name, {key: tuple(names) for key, names in of_kind.items()}


def chain_of(form: str, locale: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the listed name of a chain and all chains of its kind in its country, for a normal form; None if unlisted.

    The country is that of ``locale`` if the chain is there too, else the first of the chain's own: so a chain that is
    in one country only has one surrogate in all notes.
    """
    of_name, of_kind = _chains()
    if form not in of_name:
        return None
    name, kind, locales = of_name[form]
    return name, of_kind[kind, locale if locale in locales.split(",") else locales.split(",")[0]]

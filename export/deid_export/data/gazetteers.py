"""Read the lists from which resampling draws: names, places, facilities, words. The lists are not in the package.

The folder holds gzipped CSV files with a header row (``gazetteers/``) and word lists (``medical/``). The data card of
the models names their sources. Weights are the square roots of frequencies, so that training also sees rare names.
"""

import csv
import gzip
import itertools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deid_runtime.errors import SourceError


@dataclass(frozen=True)
class Weighted:
    """Values with cumulative weights; a draw takes logarithmic time."""

    values: Sequence[str] = field(repr=False)
    cumulative: Sequence[float] = field(repr=False)

    def draw(self, rng: random.Random) -> str:
        """Return a value, drawn by weight."""
        return rng.choices(self.values, cum_weights=self.cumulative)[0]


@dataclass(frozen=True)
class Gazetteers:
    """All lists from which resampling draws, in their usual case."""

    given: Weighted
    family: Weighted
    given_world: Sequence[str] = field(repr=False)
    family_world: Sequence[str] = field(repr=False)
    ambiguous: Sequence[str] = field(repr=False)  # words that are also names
    cities: Sequence[str] = field(repr=False)
    cities_world: Sequence[str] = field(repr=False)
    streets: Sequence[str] = field(repr=False)
    countries: Sequence[str] = field(repr=False)
    demonyms: Sequence[str] = field(repr=False)
    hospitals: Sequence[str] = field(repr=False)
    clinics: Sequence[str] = field(repr=False)  # pharmacies, clinics, care homes
    companies: Sequence[str] = field(repr=False)
    organizations: Sequence[str] = field(repr=False)  # schools, banks, shops, insurers, universities ...
    common_words: frozenset[str] = field(repr=False)  # lower-case general and medical English
    drugs: Sequence[str] = field(repr=False)
    devices: Sequence[str] = field(repr=False)
    eponyms: Sequence[str] = field(repr=False)
    labs: Sequence[str] = field(repr=False)
    phrases: Sequence[str] = field(repr=False)  # clinical phrases


_PLACE_LISTS = ("english_towns_cities", "canadian_municipalities", "nyc_neighborhood_zips", "sf_neighborhoods")
_OTHER_KINDS = (
    "school_operator", "restaurant", "bank", "retail", "supermarket", "hotel", "insurer", "gym", "laboratory",
)  # fmt: skip
_CLINICAL_KINDS = ("pharmacy", "clinic", "care_home", "dentist", "optician", "hospital_group")


def load_gazetteers(folder: Path) -> Gazetteers:
    """Read the lists below ``folder``. Raises SourceError that names the first missing file."""

    def rows(name: str) -> list[dict[str, str]]:
        path = folder / "gazetteers" / f"{name}.csv.gz"
        if not path.is_file():
            raise SourceError(f"{path} is missing; expected a folder with gazetteers/*.csv.gz and medical/*.txt.gz")
        with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))

    def words(name: str) -> list[str]:
        path = folder / "medical" / f"{name}.txt.gz"
        if not path.is_file():
            raise SourceError(f"{path} is missing; expected a folder with gazetteers/*.csv.gz and medical/*.txt.gz")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [line.strip() for line in lines if line.strip()]

    given = {row["name"]: float(row["count"]) for row in rows("first_names_us")}
    family = {row["name"]: float(row["count_2010"] or 0) or 20 * 1e5 * float(row["pct_1990"] or 0.0001)
              for row in rows("surnames_us")}  # fmt: skip
    places = rows("us_places_zip")
    extra = rows("places_extra")
    organisations = rows("organisations")
    clinical = [row["name"] for row in organisations if row["kind"] in _CLINICAL_KINDS]
    nationalities = rows("countries_nationalities")
    country_key, demonym_key = list(nationalities[0])[:2]
    universities = [row["name"] for row in rows("universities") if len(row["name"]) < 45]
    return Gazetteers(
        given=_weighted(given),
        family=_weighted(family),
        given_world=[r["name"] for r in rows("first_names_by_country")]
        + [r["name"] for r in rows("names_extra") if r["kind"] == "given"],
        family_world=[r["name"] for r in rows("surnames_by_country")],
        ambiguous=[word.title() for word in words("words_that_are_also_names")],
        cities=sorted({r["city"] for r in places} | {r["name"] for r in extra if r["list"] in _PLACE_LISTS}),
        cities_world=sorted({r["name"] for r in rows("world_cities")}),
        streets=[s for s in (r["street"] for r in rows("streets_us")) if len(s) < 40],
        countries=sorted({r[country_key] for r in nationalities if r[country_key]}),
        demonyms=sorted({r[demonym_key] for r in nationalities if r[demonym_key]}),
        hospitals=[r["name"] for r in rows("hospitals")],
        clinics=clinical,
        companies=[r["name"] for r in organisations if r["kind"] == "company" and len(r["name"]) < 45],
        organizations=[r["name"] for r in organisations if r["kind"] in _OTHER_KINDS] + universities[::4],
        common_words=frozenset(words("philter_whitelist_words")),
        drugs=words("drug_brand_names_fda") + words("drug_ingredients_fda") + words("drugs_nlm_portal"),
        devices=words("hand_devices"),
        eponyms=words("hand_eponyms") + words("eponymous_terms"),
        labs=words("hand_lab_tests") + words("hand_abbreviations"),
        phrases=words("mtsamples_keywords") + words("diseases_symptoms"),
    )


def _weighted(counts: dict[str, float]) -> Weighted:
    values = [name for name in counts if re.fullmatch(r"[^\W\d_][\w'’ -]*", name)]
    return Weighted(values, list(itertools.accumulate(counts[name] ** 0.5 for name in values)))

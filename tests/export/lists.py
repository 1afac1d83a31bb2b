"""Small invented gazetteers in the folder layout of ``deid-export train --lists``."""

import csv
import gzip
from pathlib import Path

TABLES: dict[str, tuple[str, list[str]]] = {
    "first_names_us": ("name,count", ["Alma,900", "Birk,400", "Cleo,100"]),
    "surnames_us": ("name,count_2010,pct_1990", ["Falk,800,0.1", "Orr,,0.05", "Quist,50,"]),
    "first_names_by_country": ("name", ["Anik", "Zofia"]),
    "surnames_by_country": ("name", ["Mbeki", "Novak"]),
    "names_extra": ("name,kind", ["Ilse,given", "Roe,family"]),
    "us_places_zip": ("city", ["Dell Rapids", "Elko"]),
    "places_extra": ("name,list", ["Sark,english_towns_cities", "Bureau,us_federal_agencies"]),
    "world_cities": ("name", ["Turku", "Osaka"]),
    "streets_us": ("street", ["Quarry Hill Ct", "Main St"]),
    "countries_nationalities": ("country,nationality", ["Finland,Finnish", "Japan,Japanese"]),
    "hospitals": ("name", ["Elko General Hospital"]),
    "organisations": ("name,kind", ["Falk Foods,company", "Orr Bank,bank", "Elko Pharmacy,pharmacy"]),
    "universities": ("name", ["University of Elko"]),
}
WORDS = {
    "words_that_are_also_names": ["hope", "mark"],
    "philter_whitelist_words": (
        "patient denies pain no the of and fever history stable general hospital was seen today with is"
    ).split(),
    "drug_brand_names_fda": ["zantrol"],
    "drug_ingredients_fda": ["lisinopril"],
    "drugs_nlm_portal": ["aspirin"],
    "hand_devices": ["Foley catheter"],
    "hand_eponyms": ["Babinski sign"],
    "eponymous_terms": ["parkinson disease"],
    "hand_lab_tests": ["CBC"],
    "hand_abbreviations": ["HTN"],
    "mtsamples_keywords": ["chest pain"],
    "diseases_symptoms": ["asthma"],
}


def write_lists(folder: Path) -> Path:
    """Write all lists below ``folder`` and return it."""
    (folder / "gazetteers").mkdir(parents=True)
    (folder / "medical").mkdir()
    for name, (header, rows) in TABLES.items():
        with gzip.open(folder / "gazetteers" / f"{name}.csv.gz", "wt", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(row.split(",") for row in (header, *rows))
    for name, words in WORDS.items():
        with gzip.open(folder / "medical" / f"{name}.txt.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(words) + "\n")
    return folder

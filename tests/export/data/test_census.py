"""Test what is read from the tables of the census."""

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from deid_export.data.census import read_census


def row(name: str, prop100k: float, **shares: float) -> dict[str, Any]:
    columns = ("pctwhite", "pctblack", "pctapi", "pctaian", "pct2prace", "pcthispanic")
    return {"name": name, "prop100k": prop100k, **dict.fromkeys(columns), **shares}


def write_census(folder: Path, **tables: list[dict[str, Any]]) -> Path:
    for name in ("census_2000", "census_2010", "census_2020", "census_2020_first_names"):
        rows = tables.get(name) or [row("Nobody", 0.0, **({"pctfemale": 0.0} if "first" in name else {}))]
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / f"{name}.parquet")
    return folder


def test_the_newest_census_that_has_a_family_name_counts(tmp_path: Path) -> None:
    census = read_census(
        write_census(
            tmp_path,
            census_2000=[row("OLDER", 3.0, pctwhite=90.0), row("BOTH", 1.0)],
            census_2020=[row("BOTH", 2.0, pcthispanic=75.0)],
        )
    )

    assert census.family_share("older") == 300  # bearers per ten million people
    assert census.family_share("both") == 200
    assert census.races("both")["hispanic"] == 0.75
    assert census.family_share("unknown") == 0
    assert census.races("unknown") == {}


def test_a_given_name_of_many_women_and_men_is_of_both_sexes(tmp_path: Path) -> None:
    names = [
        row("Ana", 5.0, pctfemale=99.0),
        row("Ben", 5.0, pctfemale=1.0),
        row("Sam", 5.0, pctfemale=40.0),
    ]
    census = read_census(write_census(tmp_path, census_2020_first_names=names))

    assert {form: census.given[form][0] for form in ("ana", "ben", "sam")} == {"ana": "F", "ben": "M", "sam": "U"}
    assert census.given_share("ana") == 500

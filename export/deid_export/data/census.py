"""Read the names of the censuses of the United States, with bearers, races and sex."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet

from deid_runtime.surrogates.forms import normal_form

PER = 10_000_000  # shares are bearers per ten million people
SHARED_SEX = 0.25  # a name with this share of bearers of the rarer sex is of both sexes


@dataclass(frozen=True, slots=True)
class Census:
    """The names of the censuses of the United States of 2000, 2010 and 2020 by normal form, with at least 100 bearers.

    The newest census that has a name counts.
    """

    family: Mapping[str, tuple[float, Mapping[str, float]]]  # bearers per ten million people, share of each race
    given: Mapping[str, tuple[str, float, Mapping[str, float]]]  # the same with the sex before them: F, M or U

    def races(self, form: str) -> Mapping[str, float]:
        """Return race -> share of the bearers of a family name; empty when it is in no census."""
        return self.family[form][1] if form in self.family else {}

    def family_share(self, form: str) -> float:
        """Return the bearers of a family name per ten million people; 0 when it is in no census."""
        return self.family[form][0] if form in self.family else 0.0

    def given_share(self, form: str) -> float:
        """Return the bearers of a given name per ten million people; 0 when it is in no census."""
        return self.given[form][1] if form in self.given else 0.0


def read_census(folder: Path) -> Census:
    """Read ``census_2000.parquet`` and its like in ``folder``: name, prop100k, pctwhite, ..., and pctfemale."""
    races = {"white": "white", "black": "black", "api": "api", "native": "aian", "hispanic": "hispanic"}
    family: dict[str, tuple[float, Mapping[str, float]]] = {}
    given: dict[str, tuple[str, float, Mapping[str, float]]] = {}
    for file in ("census_2000", "census_2010", "census_2020", "census_2020_first_names"):
        for row in pyarrow.parquet.read_table(folder / f"{file}.parquet").to_pylist():
            form, share = normal_form(row["name"] or ""), float(row["prop100k"] or 0) * PER / 100_000
            of_races = {race: float(row[f"pct{column}"] or 0) / 100 for race, column in races.items()}
            if "pctfemale" in row:
                girls = float(row["pctfemale"] or 0) / 100
                sex = "F" if girls > 1 - SHARED_SEX else "M" if girls < SHARED_SEX else "U"
                given[form] = sex, share, of_races
            else:
                family[form] = share, of_races
    return Census(family, given)

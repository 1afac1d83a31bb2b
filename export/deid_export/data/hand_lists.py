"""Read the lists of names by hand: those for detection, those that no other list has, and corrected cultures."""

from collections.abc import Iterator
from importlib.resources import files


def hand_rows() -> Iterator[tuple[str, str, str]]:
    """Yield (kind, name, culture) of the names by hand for detection."""
    text = files("deid_runtime").joinpath("data/lexicon/hand_names.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, kind, culture = line.split("\t")
            yield kind, name, culture


def further_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield (kind, name, culture, sex) of the names by hand that no other list has."""
    text = files("deid_export.data").joinpath("further_names.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            kind, culture, sex, listed = line.split("\t")
            for name in listed.split():
                yield kind, name, culture, sex


def corrected_rows() -> Iterator[tuple[str, str, str]]:
    """Yield (kind, name, culture) of the names whose culture other lists give wrong."""
    text = files("deid_export.data").joinpath("corrected_cultures.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            kind, culture, listed = line.split("\t")
            for name in listed.split():
                yield kind, name, culture

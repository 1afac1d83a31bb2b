"""Read our lists of names: by hand for detection, of the world, for surrogates, corrected cultures and sexes."""

from collections.abc import Iterator
from importlib.resources import files


def hand_rows() -> Iterator[tuple[str, str, str]]:
    """Yield (kind, name, culture) of the names by hand for detection."""
    text = files("deid_runtime").joinpath("data/lexicon/hand_names.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, kind, culture = line.split("\t")
            yield kind, name, culture


def world_rows() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield (kind, name, possible cultures) of names of the world that public lists hardly have."""
    for line in _lines("world_names.tsv"):
        kind, cultures, listed = line.split("\t")
        for name in listed.split():
            yield kind, name, tuple(cultures.split(","))


def foreign_words() -> Iterator[str]:
    """Yield the common words of other languages that notes in English quote."""
    for line in _lines("foreign_words.tsv"):
        yield from line.split("\t")[1].split()


def further_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield (kind, name, culture, sex) of the names by hand that no other list has."""
    for line in _lines("further_names.tsv"):
        kind, culture, sex, listed = line.split("\t")
        for name in listed.split():
            yield kind, name, culture, sex


def corrected_rows() -> Iterator[tuple[str, str, str]]:
    """Yield (kind, name, culture) of the names whose culture other lists give wrong."""
    for line in _lines("corrected_cultures.tsv"):
        kind, culture, listed = line.split("\t")
        for name in listed.split():
            yield kind, name, culture


def sex_rows() -> Iterator[tuple[str, str]]:
    """Yield (given name, sex) of the names whose sex no other list tells, or tells wrong."""
    for line in _lines("told_sexes.tsv"):
        _, sex, listed = line.split("\t")
        for name in listed.split():
            yield name, sex


def _lines(name: str) -> Iterator[str]:
    """Yield the lines of a list beside this module, without its comments."""
    text = files("deid_export.data").joinpath(name).read_text(encoding="utf-8")
    return (line for line in text.splitlines() if not line.startswith("#"))

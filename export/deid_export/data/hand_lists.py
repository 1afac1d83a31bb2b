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
    text = files("deid_export.data").joinpath("world_names.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            kind, cultures, listed = line.split("\t")
            for name in listed.split():
                yield kind, name, tuple(cultures.split(","))


def foreign_words() -> Iterator[str]:
    """Yield the common words of other languages that notes in English quote."""
    text = files("deid_export.data").joinpath("foreign_words.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            yield from line.split("\t")[1].split()


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


def sex_rows() -> Iterator[tuple[str, str]]:
    """Yield (given name, sex) of the names whose sex no other list tells, or tells wrong."""
    text = files("deid_export.data").joinpath("told_sexes.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            _, sex, listed = line.split("\t")
            for name in listed.split():
                yield name, sex

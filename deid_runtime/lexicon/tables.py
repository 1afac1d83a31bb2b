"""Read the word tables and word lists in ``data/lexicon``. Lines that start with ``#`` are comments.

A table (``.tsv``) is tab-separated and has a header. A list (``.txt``) has sections. The comment ``# [name] ...``
begins a section; words separated by white space follow. Each file is read once, at its first use.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from deid_runtime.errors import SettingsError

_FOLDER: Final = ("data", "lexicon")


@cache
def table(name: str, *columns: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of ``data/lexicon/<name>.tsv`` in order, with one string per column.

    Raises SettingsError, which names the file and the line, when the header or the number of fields is wrong.
    """
    text = files("deid_runtime").joinpath(*_FOLDER, f"{name}.tsv").read_text(encoding="utf-8")
    return parse_table(f"{name}.tsv", text, columns)


def parse_table(shown: str, text: str, columns: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table. ``shown`` is the file name in errors.

    Raises SettingsError like :func:`table`.
    """
    rows: list[tuple[str, ...]] = []
    expected = f"expected {', '.join(columns)} separated by tabs"
    header: tuple[str, ...] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = tuple(field.strip() for field in line.split("\t"))
        if header is None:
            header = fields
            if header != columns:
                raise SettingsError(f"{shown}:{number}: the header is {', '.join(header)}; {expected}")
        elif len(fields) != len(columns):
            raise SettingsError(f"{shown}:{number}: {len(fields)} fields; {expected}")
        elif not fields[0]:
            raise SettingsError(f"{shown}:{number}: no {columns[0]}; give one, or delete the line")
        else:
            rows.append(fields)
    if not rows:
        raise SettingsError(
            f"{shown}: no words in the file; expected a header ({', '.join(columns)}) and one word per line"
        )
    return tuple(rows)


def words_for(name: str, use: str, *columns: str) -> tuple[str, ...]:
    """Return the first column of the rows that have ``use`` in their last column, in order.

    Raises SettingsError when no row has this use: with a misspelt use, words would not be found.
    """
    found = _by_use(name, columns or ("word", "uses")).get(use)
    if found is None:
        raise SettingsError(f"{name}.tsv: no word has the use {use!r}; give at least one word this use")
    return found


@cache
def _by_use(name: str, columns: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Return use -> the words that have it, in order."""
    found: dict[str, list[str]] = {}
    for row in table(name, *columns):
        for use in dict.fromkeys(row[-1].split()):
            found.setdefault(use, []).append(row[0])
    return {use: tuple(words) for use, words in found.items()}


def listed_words(name: str, section: str) -> tuple[str, ...]:
    """Return the words of a section of ``data/lexicon/<name>.txt``, in order.

    Raises SettingsError when the file has no such section or the section has no words.
    """
    return tuple(word for line in listed_lines(name, section) for word in line.split())


def listed_lines(name: str, section: str) -> tuple[str, ...]:
    """Return the lines of a section, where a line is one phrase. Raises SettingsError like :func:`listed_words`."""
    lines = _sections(name).get(section)
    if not lines:
        raise SettingsError(f"{name}.txt: no words under # [{section}]; add the section, with at least one word")
    return lines


@cache
def _sections(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return section -> its lines. Raises SettingsError for words above the first section, and for two of one name."""
    text = files("deid_runtime").joinpath(*_FOLDER, f"{name}.txt").read_text(encoding="utf-8")
    return parse_sections(f"{name}.txt", text)


def parse_sections(shown: str, text: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lines of each section of a list. ``shown`` is the file name in errors.

    Raises SettingsError, which names the file and the line, for words outside of sections and for a repeated section.
    """
    found: dict[str, list[str]] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# ["):
            section = line[3:].partition("]")[0]
            if section in found:
                raise SettingsError(f"{shown}:{number}: a second section [{section}]; join it with the first one")
            found[section] = []
        elif line.strip() and not line.startswith("#"):
            if not section:
                raise SettingsError(f"{shown}:{number}: words above the first section; begin one with # [name]")
            found[section].append(line.strip())
    return {name: tuple(lines) for name, lines in found.items()}

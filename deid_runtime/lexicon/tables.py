"""Read the word tables in ``data/lexicon``: tab-separated, with a header. Lines that start with ``#`` are comments.

Each table is read once, at its first use.
"""

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


@cache
def words_for(name: str, use: str, *columns: str) -> tuple[str, ...]:
    """Return the first column of the rows that have ``use`` in their last column, in order.

    Raises SettingsError when no row has this use: with a misspelt use, words would not be found.
    """
    found = tuple(row[0] for row in table(name, *(columns or ("word", "uses"))) if use in row[-1].split())
    if not found:
        raise SettingsError(f"{name}.tsv: no word has the use {use!r}; give at least one word this use")
    return found

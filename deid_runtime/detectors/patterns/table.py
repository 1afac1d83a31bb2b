"""Load the table of patterns from ``deid_runtime/data/patterns/``.

Columns: ``name``; ``label``; ``kind``, sure or weak; ``by``, label or form (rows with a printed label win over rows
that match by form); ``at``; ``pattern``, with named parts in braces; ``check``, a function in the module of that
family, which may have a number after it; ``notes``.

``at`` says where a row is tried. When empty: at the words one of which every match contains. Otherwise a list of items
separated by ``; ``:

==============  ======================================================================
``digits 1-4``  at runs of so many digits (30 stands for all longer ones)
``first [..]``  if the first digit is one of these
``next ...``    if the two characters after the run begin with this pattern
``code``        at one to eight capitals before a digit; a space or hyphen is allowed
``char [..]``   at each of these characters
``before [..]`` if one of these, or nothing, precedes that place
``where ...``   if this pattern matches at that place
``back 20``     matches may begin so many characters before that place
``rest {part}`` a long hit is extended over the match of this part after it
==============  ======================================================================
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from deid_runtime.detectors.patterns import ages, contacts, dates_named, dates_numeric, numbers, places, usernames
from deid_runtime.detectors.patterns.anchors import characters
from deid_runtime.detectors.patterns.derived import check_bounds
from deid_runtime.detectors.patterns.parts import expand, load_parts, table_rows
from deid_runtime.detectors.patterns.rows import Check, Row, Table
from deid_runtime.errors import SettingsError
from deid_runtime.labels import LABELS

COLUMNS: Final = ("name", "label", "kind", "by", "at", "pattern", "check", "notes")
#: A function that makes a check from the number after its name in the table.
CheckWithNumber = Callable[[int], Check]
Checks = Mapping[str, Check]

#: The tables with the checks that they may name. Of two rows with equally sure and long hits, the earlier wins: a
#: telephone number is also a long number.
FAMILIES: Final[Mapping[str, Checks]] = {
    "contacts": contacts.CHECKS,
    "dates_numeric": dates_numeric.CHECKS,
    "dates_named": dates_named.CHECKS,
    "places": places.CHECKS,
    "countries": {},
    "ages": ages.CHECKS,
    "usernames": usernames.CHECKS,
    "numbers": numbers.CHECKS,
}
_CHECKS_WITH_NUMBER: Final[Mapping[str, CheckWithNumber]] = {"at_least": numbers.at_least}


@lru_cache(maxsize=1)
def load_table() -> Table:
    """Return the table that ships with the package, read once. Raises SettingsError for a wrong row."""
    folder = files("deid_runtime") / "data" / "patterns"
    parts = load_parts()
    rows: list[Row] = []
    for family, checks in FAMILIES.items():
        name = f"{family}.tsv"
        rows.extend(read_rows(name, (folder / name).read_text(encoding="utf-8-sig"), checks, parts))
    try:
        return Table(rows)
    except ValueError as error:
        raise SettingsError(f"patterns: {error}; rename one of them") from None


def read_rows(name: str, text: str, checks: Checks, parts: Mapping[str, str]) -> Iterator[Row]:
    """Yield the rows of one table. Raises SettingsError that names the file, the line and the row."""
    for where, cells in table_rows(name, text, COLUMNS):
        for column, allowed in (("label", LABELS), ("kind", ("sure", "weak")), ("by", ("label", "form"))):
            if cells[column] not in allowed:
                raise SettingsError(
                    f"{where}: unknown {column} {cells[column]!r}; expected one of {', '.join(allowed)}"
                )
        pattern = expand(cells["pattern"], parts, where)
        try:
            check_bounds(pattern)
            yield Row(
                name=cells["name"],
                label=cells["label"],
                pattern=pattern,
                weak=cells["kind"] == "weak",
                labelled=cells["by"] == "label",
                check=_check(cells["check"], checks, where),
                **_place(cells["at"], parts, where),
            )
        except re.error as error:
            raise _no_pattern(cells["pattern"], where, error) from None
        except ValueError as error:
            raise SettingsError(f"{where}: {error}") from None


def _compiled(pattern: str, parts: Mapping[str, str], where: str) -> re.Pattern[str]:
    try:
        return re.compile(expand(pattern, parts, where))
    except re.error as error:
        raise _no_pattern(pattern, where, error) from None


def _no_pattern(pattern: str, where: str, error: re.error) -> SettingsError:
    return SettingsError(f"{where}: {pattern!r} is not a pattern ({error}); correct it there or in its parts")


def _check(cell: str, checks: Checks, where: str) -> Check | None:
    if not cell:
        return None
    name, _, number = cell.partition(" ")
    if name in _CHECKS_WITH_NUMBER and number.isdecimal():
        return _CHECKS_WITH_NUMBER[name](int(number))
    if cell in checks:
        return checks[cell]
    known = [*checks, *(f"{each} 4" for each in _CHECKS_WITH_NUMBER)]
    raise SettingsError(f"{where}: there is no check {cell!r}; expected one of {', '.join(known)}, or nothing")


def _place(cell: str, parts: Mapping[str, str], where: str) -> dict[str, Any]:
    """Return the fields of a row that define where it is tried."""
    fields: dict[str, Any] = {}
    for item in filter(None, cell.split("; ")):
        key, _, value = item.partition(" ")
        try:
            if key == "digits":
                fields["digits"] = _lengths(value)
            elif key in ("first", "char", "before"):
                fields["chars" if key == "char" else key] = characters(value)
            elif key in ("next", "where", "rest"):
                fields["probe" if key == "where" else key] = _compiled(value, parts, where)
            elif key == "back":
                fields["lookback"] = int(value)
            elif item == "code":
                fields["codes"] = True
            else:
                raise ValueError(f"unknown item {item!r}")
        except ValueError as error:
            if isinstance(error, SettingsError):
                raise
            raise SettingsError(f"{where}: column at: {error}; its items are explained in README.md") from None
    return fields


def _lengths(value: str) -> frozenset[int]:
    """Return the set of numbers in ``1-4,11``."""
    lengths: set[int] = set()
    for item in value.split(","):
        first, _, last = item.partition("-")
        lengths.update(range(int(first), int(last or first) + 1))
    return frozenset(lengths)

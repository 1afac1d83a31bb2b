"""Tables and queries of PostgreSQL and SQLite, read in ranges of their key. SQLAlchemy is imported when one is read.

Each range is read in one transaction of its own, so none stays open while notes are processed. The rows of a range are
compared with its digest in the plan before any of them is passed on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deid_runtime.errors import SettingsError, SourceError
from deid_runtime.formats.database_connection import connected, is_key_value, size_in_bytes
from deid_runtime.formats.database_file import Database, read_database_file
from deid_runtime.formats.delimited import DelimitedWriter, check_columns, passed_on
from deid_runtime.formats.jsonl import JsonlWriter
from deid_runtime.formats.key_ranges import (
    Key,
    KeyRange,
    KindsSeen,
    TablePlan,
    cut_ranges,
    digest_rows,
    of_kind,
    plain_value,
)
from deid_runtime.formats.parquet import ParquetWriter
from deid_runtime.formats.records import Item, Meter, Place, ReadOptions, Source, Unreadable, Writer, note_from_fields
from deid_runtime.system.digests import Create, new_file

if TYPE_CHECKING:
    import pyarrow

#: Rows of keys and sizes that are fetched at a time to make a plan.
_KEYS_AT_A_TIME: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Statements:
    """The statements that read one table; ``columns`` are those to read, in the order of the table."""

    database: Database
    columns: tuple[str, ...]
    key: tuple[str, ...]
    limit_bytes: int

    def count_without_key(self) -> Any:
        from sqlalchemy import func, or_, select

        return self._where(select(func.count())).where(or_(*(each.is_(None) for each in self._key)))

    def keys(self) -> Any:
        """Select the key and the size in bytes of every row, in order. A value over the limit counts as none."""
        from sqlalchemy import select

        sizes = [self._limited_size(name) for name in self.columns]
        return self._where(select(*self._key, sum(sizes[1:], sizes[0]))).order_by(*self._key)

    def rows(self, part: KeyRange) -> Any:
        """Select the size of the values over the limit, and the columns, of the rows of a range."""
        from sqlalchemy import case, column, select

        values = [
            case((size_in_bytes(self.database, column(name)) <= self.limit_bytes, column(name))).label(f"v{number}")
            for number, name in enumerate(self.columns)
        ]
        over = [self._size_over(name) for name in self.columns]
        found = self._where(select(sum(over[1:], over[0]), *values)).where(self._compared <= _literal(part.last))
        found = found if part.after is None else found.where(self._compared > _literal(part.after))
        return found.order_by(*self._key)

    @property
    def _key(self) -> list[Any]:
        from sqlalchemy import column

        return [column(name) for name in self.key]

    @property
    def _compared(self) -> Any:
        from sqlalchemy import tuple_

        return tuple_(*self._key) if len(self.key) > 1 else self._key[0]

    def _limited_size(self, name: str) -> Any:
        from sqlalchemy import case, column

        size = size_in_bytes(self.database, column(name))
        return case((size <= self.limit_bytes, size), else_=0)

    def _size_over(self, name: str) -> Any:
        from sqlalchemy import case, column

        size = size_in_bytes(self.database, column(name))
        return case((size > self.limit_bytes, size), else_=0)

    def _where(self, statement: Any) -> Any:
        from sqlalchemy import text

        found = statement.select_from(_relation(self.database))
        return found.where(text(f"({_as_it_is(self.database.where)}\n)")) if self.database.where else found


def _literal(key: Key) -> Any:
    from sqlalchemy import literal, tuple_

    return tuple_(*map(literal, key)) if len(key) > 1 else key[0]


def _relation(database: Database) -> Any:
    """Return the table or query to select from."""
    from sqlalchemy import table, text

    if database.query:
        return text(f"(\n{_as_it_is(database.query)}\n) AS deid_input")
    return table(database.table, schema=database.schema or None)


def _as_it_is(sql: str) -> str:
    """Return SQL of the user in a form of which SQLAlchemy takes no colon for a parameter."""
    return sql.replace("\\", "\\\\").replace(":", "\\:")


def make_plan(source: Source, options: ReadOptions) -> TablePlan:
    """Read the table of ``source`` once, in one snapshot, and return how to read it in ranges.

    Raises SourceError for a database or table that cannot be read, missing columns, and keys that are null, repeated,
    or neither integers nor text; SettingsError for a wrong description.
    """
    database = read_database_file(source.path, source.name)
    with connected(database) as connection:
        statements = _statements(connection, database, options)
        if connection.execute(statements.count_without_key()).scalar_one():
            raise SourceError(f"{source.name}: the key is null in some rows, which cannot be ordered; leave them out")
        with connection.execute(statements.keys(), execution_options={"yield_per": _KEYS_AT_A_TIME}) as keys:
            ranges = list(cut_ranges(((_checked_key(source.name, key), size) for *key, size in keys), source.name))
        kinds, finished, size_bytes = KindsSeen(statements.columns), [], 0
        for part in ranges:
            rows, read_bytes = _fetch(connection, statements, part)
            if len(rows) != part.rows:
                raise SourceError(
                    f"{source.name}: the database compares the values of the key in another way than it orders them; "
                    "name columns of integers, or of text with a deterministic collation, as key"
                )
            kinds.add(row[1:] for row in rows)
            finished.append(replace(part, sha256=digest_rows(rows)))
            size_bytes += read_bytes
    return TablePlan(kinds.kinds(), tuple(finished), size_bytes)


def read_database(source: Source, options: ReadOptions, meter: Meter) -> Iterator[Item]:
    """Yield the notes of a table, in the order of its key. Positions count rows from 1.

    Raises SourceError as :func:`make_plan`, and when the rows of a range are not those of the plan.
    """
    plan = source.plan or make_plan(source, options)
    database = read_database_file(source.path, source.name)
    for part in plan.ranges_from(source.start.number):
        with connected(database) as connection:
            statements = _statements(connection, database, options)
            rows, read_bytes = _fetch(connection, statements, part)
        if tuple(plan.kinds) != statements.columns or digest_rows(rows) != part.sha256:
            raise SourceError(
                f"{source.name}: rows {part.before + 1:,} to {part.before + part.rows:,} of the table have changed "
                "since the run began; read a table that does not change, or rows that do not (where), and start over "
                "with --restart"
            )
        for number, (over, *values) in enumerate(rows, part.before + 1):
            if number <= source.start.number:
                continue
            meter.place = Place(number=number)
            position = f"{source.name}:{number}"
            yield _item(over, dict(zip(plan.kinds, values, strict=True)), plan, options, position)
        meter.read_bytes += read_bytes


def write_database(source: Source, options: ReadOptions, path: Path, create: Create = new_file) -> Writer:
    """Open a writer for the notes of ``source`` in its :attr:`~Source.output_format`, with the columns to keep."""
    if source.output_format == "jsonl":
        return JsonlWriter(options, path, create, compress=False)
    plan = source.plan or make_plan(source, options)
    kept = {column: kind for column, kind in plan.kinds.items() if column in passed_on(options)}
    if source.output_format == "csv":
        return DelimitedWriter(list(kept), options, path, create, has_header=not source.start.number)
    return ParquetWriter(_schema(kept, options), options, path, create)


def _schema(kinds: dict[str, str], options: ReadOptions) -> "pyarrow.Schema":
    import pyarrow

    types = {"integer": pyarrow.int64(), "real": pyarrow.float64(), "boolean": pyarrow.bool_()}
    return pyarrow.schema(
        [
            (
                column,
                types.get(kind, pyarrow.large_string()) if column in options.kept_columns else pyarrow.large_string(),
            )
            for column, kind in kinds.items()
        ]
    )


def _statements(connection: Any, database: Database, options: ReadOptions) -> _Statements:
    """Return the statements for a table that has all needed columns. Raises SourceError, SettingsError."""
    found, primary = _columns(connection, database)
    check_columns(database.name, found, options)
    key = database.key or tuple(primary)
    if not key:
        raise SettingsError(f"{database.name}: the table has no primary key; name columns of unique values as key")
    unknown = [column for column in key if column not in found]
    if unknown:
        raise SettingsError(f"{database.name}: there is no column {unknown[0]!r}, which is part of the key")
    read = {*passed_on(options), options.type_column}
    columns = tuple(column for column in found if column in read)
    return _Statements(database, columns, key, options.record_limit_bytes)


def _columns(connection: Any, database: Database) -> tuple[Sequence[str], Sequence[str]]:
    """Return the columns of a table or query, and those of the primary key of a table."""
    from sqlalchemy import inspect, literal_column, select
    from sqlalchemy.exc import NoSuchTableError

    if database.query:
        nothing = select(literal_column("*")).select_from(_relation(database)).limit(0)
        return list(connection.execute(nothing).keys()), ()
    inspector, schema = inspect(connection), database.schema or None
    try:
        found = [column["name"] for column in inspector.get_columns(database.table, schema)]
        return found, inspector.get_pk_constraint(database.table, schema)["constrained_columns"]
    except NoSuchTableError:
        raise SourceError(f"{database.name}: the database has no such table, or the role may not see it") from None


def _fetch(connection: Any, statements: _Statements, part: KeyRange) -> tuple[list[list[Any]], int]:
    """Return the rows of a range as plain values, each behind its bytes over the limit, and the bytes of all values."""
    rows = [[int(over), *map(plain_value, values)] for over, *values in connection.execute(statements.rows(part))]
    return rows, sum(len(value) if isinstance(value, str | bytes) else 8 for row in rows for value in row[1:])


def _checked_key(name: str, key: Sequence[Any]) -> Key:
    for value in key:
        if not is_key_value(value):
            raise SourceError(f"{name}: the key has values of type {type(value).__name__}; expected integers or text")
    return tuple(key)


def _item(over: int, values: dict[str, Any], plan: TablePlan, options: ReadOptions, position: str) -> Item:
    """Return the note of a row. ``over`` is the size in bytes of values that were left in the database."""
    if over:
        reason = f"the row has a value of {over} bytes; the limit is {options.record_limit_bytes}; split the note"
        return Unreadable(position, reason, position=position)
    for column in options.kept_columns:
        if isinstance(values.get(column), bytes):
            return Unreadable(position, f"{column} holds bytes; expected text or numbers", position=position)
    kept = {column: of_kind(value, plan.kinds[column]) for column, value in values.items()}
    # The id of an unreadable record is that of the row, where it has one.
    return note_from_fields(values | {column: kept[column] for column in options.kept_columns}, options, position)

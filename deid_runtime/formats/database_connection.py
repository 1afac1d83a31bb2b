"""Connections to databases: read only, one snapshot for each, and errors without the values that drivers quote."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote

from deid_runtime.errors import SettingsError, SourceError
from deid_runtime.formats.database_file import POSTGRESQL, Database
from deid_runtime.formats.key_ranges import KeyValue
from deid_runtime.system.extras import install_extra

_CONNECT_TIMEOUT_S: Final = 30
#: What to do about an error of PostgreSQL, by the beginning of its SQLSTATE.
_REMEDIES: Final = (
    ("28", "check the role and its password"),
    ("3D", "check the name of the database in url"),
    ("42501", "the role may not read it; grant SELECT"),
    ("42P01", "there is no such table; check table, schema and query"),
    ("42703", "there is no such column; check where, key and query"),
    ("42", "check where, key and query"),
    ("22", "a value did not fit; check where and query"),
    ("25006", "it may change nothing; a query must only read"),
    ("40001", "a standby server stopped it; read from the primary server, or let the standby wait longer"),
    ("57014", "it took too long for the server; raise statement_timeout for the role"),
)
_REMEDY: Final = "see the log of the server, then run again with --resume"


@contextmanager
def connected(database: Database) -> Iterator[Any]:
    """Yield a SQLAlchemy connection whose statements all see the database as it is now, and cannot change it.

    Raises SourceError for an error of the database, SettingsError for a missing library or a wrong password file.
    """
    try:
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError as error:
        raise SettingsError(f"{database.name}: needs the library {error.name}; {install_extra('sql')}") from error
    engine = _engine(database)
    try:
        with _open(database, engine) as connection:
            if database.kind == POSTGRESQL:
                connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            else:
                # The driver begins no transaction for a SELECT, so that each would see a state of its own.
                connection.exec_driver_sql("BEGIN")
            yield connection
    except SQLAlchemyError as error:
        raise SourceError(f"{database.name}: {_reason(error)}") from None
    except (sqlite3.Error, UnicodeError) as error:  # raised while rows are fetched
        raise SourceError(f"{database.name}: the database stopped with {type(error).__name__}; {_REMEDY}") from None
    finally:
        engine.dispose()


def is_key_value(value: object) -> bool:
    """Return whether rows can be ordered by a value of this type: integer or text."""
    if isinstance(value, Decimal):
        return value.is_finite() and value == value.to_integral_value()
    return isinstance(value, KeyValue) and not isinstance(value, bool)


def size_in_bytes(database: Database, column: Any) -> Any:
    """Return the expression for the size of a value in bytes, without reading a long value where that can be avoided.

    It is 0 for null.
    """
    from sqlalchemy import LargeBinary, Text, cast, func

    if database.kind == POSTGRESQL:
        size = func.octet_length(cast(column, Text))
    else:
        size = func.length(cast(column, LargeBinary))
    return func.coalesce(size, 0)


def _engine(database: Database) -> Any:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    # Parameters are keys, so errors and logs must not have them.
    shared: dict[str, Any] = {"poolclass": NullPool, "hide_parameters": True}
    if database.kind != POSTGRESQL:
        return create_engine("sqlite://", creator=lambda: _open_sqlite(database), **shared)
    arguments: dict[str, object] = {"connect_timeout": _CONNECT_TIMEOUT_S, "application_name": "deid"}
    password = database.password()
    if password is not None:
        arguments["password"] = password
    try:
        return create_engine(database.url.set(drivername="postgresql+psycopg"), connect_args=arguments, **shared)
    except ImportError as error:
        raise SettingsError(
            f"{database.name}: needs the library {error.name or 'psycopg'}; {install_extra('sql')}"
        ) from error


def _open_sqlite(database: Database) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(str(database.path))}?mode=ro", uri=True, isolation_level=None)
    # As in CSV, bytes that are not UTF-8 become lone surrogates: only their own row is unreadable then.
    connection.text_factory = lambda value: value.decode("utf-8", "surrogateescape")
    return connection


def _open(database: Database, engine: Any) -> Any:
    """Return a new connection. Raises SourceError with the words of the driver, which has seen no row yet."""
    from sqlalchemy.exc import DBAPIError

    try:
        return engine.connect()
    except DBAPIError as error:
        words = str(error.orig).strip().splitlines()
        password = database.password()
        said = words[-1].strip() if words else type(error.orig).__name__
        if password and password in said:
            said = type(error.orig).__name__
        raise SourceError(f"{database.name}: no connection to the database: {said}") from None


def _reason(error: Exception) -> str:
    """Return what is known of an error of the database, without its message."""
    cause = getattr(error, "orig", None) or error
    code = getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorname", None) or ""
    remedy = next((remedy for start, remedy in _REMEDIES if code.startswith(start)), _REMEDY)
    return f"the database refused with {type(cause).__name__}{f' ({code})' if code else ''}; {remedy}"

"""The file that describes a table of a database, in TOML: where it is, which rows to read, and in which order.

    url = "postgresql://deid@db.example/warehouse"
    table = "cdm.note"
    where = "note_date < '2026-01-01'"
    key = "note_id"
    password_file = "db.password"

``query`` with a SELECT takes the place of ``table`` and ``where``. ``key`` names one or more columns, with commas
between them, whose values together are unique; by default, it is the primary key. The file holds no password.
"""

import os
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deid_runtime.errors import SettingsError, SourceError
from deid_runtime.system.extras import install_extra
from deid_runtime.system.secret_files import check_secret_file

_LIMIT_BYTES: Final = 2**16
_NAMES: Final = frozenset({"url", "table", "schema", "where", "query", "key", "password_file"})
#: Databases that are read, by the name at the beginning of their URL.
POSTGRESQL: Final = "postgresql"
SQLITE: Final = "sqlite"
_NO_PASSWORD: Final = (
    "a password must not be in this file; put it into a file of its own (password_file), or where the PostgreSQL "
    "programs look for it (PGPASSFILE, ~/.pgpass, PGPASSWORD)"
)


@dataclass(frozen=True, slots=True)
class Database:
    """A table of a database, as its file describes it. ``query`` and ``where`` may name patients: no ``repr``.

    ``kind`` is ``postgresql`` or ``sqlite``. ``url`` is an SQLAlchemy URL without password. ``path`` is the file of an
    SQLite database.
    """

    name: str
    kind: str
    url: Any
    path: Path
    table: str
    schema: str
    where: str = field(repr=False)
    query: str = field(repr=False)
    key: tuple[str, ...]
    password_file: Path | None

    def password(self) -> str | None:
        """Return the password from its file; None when there is no such file. Raises SettingsError, SourceError."""
        if self.password_file is None:
            return None
        try:
            with self.password_file.open("rb") as file:
                check_secret_file(self.password_file, os.fstat(file.fileno()))
                content = file.read(_LIMIT_BYTES)
        except OSError as error:
            raise SourceError(f"{self.name}: the password file cannot be read: {error.strerror}") from None
        try:
            password = content.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            password = ""
        if not password or "\0" in password:
            raise SettingsError(f"{self.name}: the password file is empty or not text; expected one line")
        return password


def read_database_file(path: Path, name: str) -> Database:
    """Return the table that a file describes. ``name`` is the name of the file in messages.

    Raises SourceError for a file that cannot be read, SettingsError for one that describes no table.
    """
    fields = _read_fields(path, name)
    unknown = sorted(fields.keys() - _NAMES)
    if unknown or not all(isinstance(value, str) and value.strip() for value in fields.values()):
        raise SettingsError(
            f'{name}: every line must be NAME = "TEXT", with a name of {", ".join(sorted(_NAMES))}'
            + (f"; found {len(unknown)} other names" if unknown else "")
        )
    if "url" not in fields or ("table" in fields) == ("query" in fields):
        raise SettingsError(f"{name}: expected url, and either table or query")
    if "query" in fields and not fields.keys().isdisjoint({"where", "schema"}):
        raise SettingsError(f"{name}: where and schema go with table; write them into the query")
    if "query" in fields and "key" not in fields:
        raise SettingsError(f"{name}: a query needs key, columns whose values together are unique")
    url = _url(fields["url"], name)
    kind = url.get_backend_name()
    if kind == SQLITE and "password_file" in fields:
        raise SettingsError(f"{name}: SQLite has no password; remove password_file")
    schema, _, table = fields.get("table", "").rpartition(".") if "schema" not in fields else ("", "", fields["table"])
    return Database(
        name=name,
        kind=kind,
        url=url,
        path=path.parent / (url.database or ""),
        table=table,
        schema=fields.get("schema", schema),
        where=fields.get("where", ""),
        query=fields.get("query", "").strip().rstrip(";"),
        key=tuple(column.strip() for column in fields["key"].split(",")) if "key" in fields else (),
        password_file=path.parent / fields["password_file"] if "password_file" in fields else None,
    )


def _read_fields(path: Path, name: str) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(_LIMIT_BYTES + 1)
        if len(content) > _LIMIT_BYTES:
            raise SettingsError(f"{name}: larger than {_LIMIT_BYTES:,} bytes; expected a description of a table")
        return tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise SourceError(f"{name}: cannot be read: {error.strerror or type(error).__name__}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        line = re.search(r"at line (\d+)", str(error))
        raise SettingsError(f"{name}: not TOML" + (f" at line {line[1]}" if line else "")) from None


def _url(text: str, name: str) -> Any:
    """Return the URL of a database that can be read. Raises SettingsError, which never quotes the URL."""
    try:
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError
    except ImportError as error:
        raise SettingsError(f"{name}: needs the library {error.name}; {install_extra('sql')}") from error
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise SettingsError(
            f"{name}: url is none; expected postgresql://USER@HOST:PORT/DATABASE or sqlite:///FILE"
        ) from None
    if url.password is not None or any("password" in option.lower() for option in url.query):
        raise SettingsError(f"{name}: {_NO_PASSWORD}")
    if url.drivername not in (POSTGRESQL, SQLITE):
        raise SettingsError(f"{name}: url must begin with postgresql:// or sqlite:///; other databases are not read")
    if url.drivername == SQLITE and (not url.database or url.database == ":memory:" or url.query or url.host):
        raise SettingsError(f"{name}: expected sqlite:///FILE, relative to the folder of this file, or sqlite:////PATH")
    return url

"""Real databases for tests: SQLite files, and a PostgreSQL server of its own with a password."""

import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

PASSWORD = "pw-Quail7-'x"


class DatabaseOfTest(Protocol):
    """A database to prepare in a test. ``execute`` changes it, ``url`` and ``fields`` are for its description."""

    kind: str
    url: str
    fields: dict[str, str]

    def execute(self, *statements: str, rows: list[tuple[object, ...]] = ...) -> None: ...


@dataclass
class Sqlite:
    path: Path
    kind: str = "sqlite"

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    @property
    def fields(self) -> dict[str, str]:
        return {}

    def execute(self, *statements: str, rows: list[tuple[object, ...]] = []) -> None:  # noqa: B006 - not changed
        with closing(sqlite3.connect(self.path)) as connection, connection:
            for statement in statements:
                if rows:
                    connection.executemany(statement.replace("%s", "?"), rows)
                else:
                    connection.execute(statement)


@dataclass
class Postgresql:
    port: int
    password_file: Path
    kind: str = "postgresql"

    @property
    def url(self) -> str:
        return f"postgresql://deid@127.0.0.1:{self.port}/postgres"

    @property
    def fields(self) -> dict[str, str]:
        return {"password_file": str(self.password_file)}

    def execute(self, *statements: str, rows: list[tuple[object, ...]] = []) -> None:  # noqa: B006 - not changed
        import psycopg

        with psycopg.connect(self.url, password=PASSWORD) as connection:
            for statement in statements:
                if rows:
                    connection.cursor().executemany(statement.encode(), rows)
                else:
                    connection.execute(statement.encode())


def describe(path: Path, database: Any, **fields: str) -> Path:
    """Write the description of a table; ``url=""`` and the like leave a field out."""
    found = {"url": database.url, **database.fields, **fields}
    path.write_text("".join(f"{name} = '''{value}'''\n" for name, value in found.items() if value))
    return path


def find_program(name: str) -> str | None:
    """Return the path of a program of PostgreSQL, which Debian keeps outside of the path."""
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(beside[-1]) if beside else None)


@contextmanager
def run_postgresql() -> Iterator[Postgresql]:
    """Start a server in a new folder, and stop it and remove the folder at the end."""
    initdb, postgres = find_program("initdb"), find_program("pg_ctl")
    assert initdb
    assert postgres
    with tempfile.TemporaryDirectory(prefix="deid-pg-", dir="/tmp") as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        password = Path(folder, "password")
        password.write_text(PASSWORD + "\n")
        password.chmod(0o600)
        # The server refuses to run as root.
        user: dict[str, Any] = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam("postgres")
            user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
            for path in (folder, password):
                os.chown(path, entry.pw_uid, entry.pw_gid)
        data = f"{folder}/data"

        def call(*command: str) -> None:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, timeout=60, **user)

        call(initdb, "-D", data, "-U", "deid", "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "--no-sync",
             "--locale=C.UTF-8")  # fmt: skip
        options = f"-p {port} -h 127.0.0.1 -k {folder} -c fsync=off"
        call(postgres, "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start")
        if os.geteuid() == 0:
            os.chown(password, 0, 0)
        try:
            yield Postgresql(port, password)
        finally:
            call(postgres, "-D", data, "-m", "immediate", "-w", "stop")

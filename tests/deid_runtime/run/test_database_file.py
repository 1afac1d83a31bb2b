"""Test descriptions of tables: what is refused, where the password comes from, and that it is never shown."""

from pathlib import Path

import pytest

from deid_runtime.errors import DeidError, SettingsError, SourceError
from tests.deid_runtime.formats.databases import PASSWORD, Postgresql, Sqlite, describe
from tests.deid_runtime.run.tables import fill, run, stopped

pytest.importorskip("sqlalchemy", reason="the extra [sql] is not installed")


def test_the_password_is_never_shown(
    server: Postgresql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    server.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    fill(server)
    source, out = describe(tmp_path / "n.database.toml", server, table="note"), tmp_path / "out.jsonl"
    stopped(monkeypatch, 3, source, out)
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    run(source, out, resume=True)
    kept += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]

    assert not any(PASSWORD.encode() in content for content in kept)
    assert PASSWORD not in "".join(capfd.readouterr())

    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    without = describe(tmp_path / "m.database.toml", server, table="note", password_file="")
    with pytest.raises(SourceError, match="no connection to the database: .*no password supplied"):
        run(without, tmp_path / "m.jsonl")
    (tmp_path / "pgpass").write_text(f"*:*:*:*:{PASSWORD}\n")
    (tmp_path / "pgpass").chmod(0o600)
    run(without, tmp_path / "m.jsonl")

    for name, content, mode, message in [
        ("wrong", "another", 0o600, 'password authentication failed for user "deid"'),
        ("open", PASSWORD, 0o644, "contains a secret and is open to other users"),
        ("empty", "", 0o600, "the password file is empty"),
    ]:
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(mode)
        with pytest.raises(DeidError, match=message) as caught:
            run(describe(source, server, table="note", password_file=name), tmp_path / "x.jsonl")
        assert PASSWORD not in str(caught.value)
        assert "another" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"url": f"postgresql://deid:{PASSWORD}@db/x"}, "a password must not be in this file"),
        ({"url": f"postgresql://deid@db/x?password={PASSWORD}"}, "a password must not be in this file"),
        ({"url": "mysql://db/x"}, "url must begin with postgresql:// or sqlite://"),
        ({"url": "warehouse"}, "url is none; expected"),
        ({"url": "sqlite://"}, "expected sqlite:///FILE"),
        ({"url": "sqlite:///x.db?mode=rw"}, "expected sqlite:///FILE"),
        ({"query": "SELECT 1"}, "expected url, and either table or query"),
        ({"table": "", "query": "SELECT 1"}, "a query needs key"),
        ({"table": "", "query": "SELECT 1", "key": "a", "where": "b"}, "where and schema go with table"),
        ({"pass": PASSWORD}, "every line must be NAME ="),
        ({"password_file": "p"}, "SQLite has no password"),
    ],
)
def test_wrong_descriptions(tmp_path: Path, fields: dict[str, str], message: str) -> None:
    source = describe(tmp_path / "n.database.toml", Sqlite(tmp_path / "x.db"), **{"table": "note", **fields})

    with pytest.raises(SettingsError, match=message) as caught:
        run(source, tmp_path / "out.jsonl")

    assert PASSWORD not in str(caught.value)


def test_files_that_describe_nothing(tmp_path: Path) -> None:
    source = tmp_path / "n.database.toml"
    for content, message in [
        (b"url = Hartman", "not TOML at line 1"),
        (b"\xff", "not TOML"),
        (b"#" * 70_000, "larger"),
    ]:
        source.write_bytes(content)
        with pytest.raises(SettingsError, match=message):
            run(source, tmp_path / "out.jsonl")
    describe(source, Sqlite(tmp_path / "gone.db"), table="note")
    with pytest.raises(SourceError, match="no connection to the database: unable to open database file"):
        run(source, tmp_path / "out.jsonl")
    assert not (tmp_path / "gone.db").exists()

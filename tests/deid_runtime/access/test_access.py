"""Test projects, tokens and the access file."""

import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from deid_runtime.access.access_file import AccessFile
from deid_runtime.access.projects import Limits, Project, parse_access, read_access
from deid_runtime.access.tokens import digest_of, has_digest, id_of, new_token, token_of_header
from deid_runtime.errors import SettingsError

TOKEN = new_token()


def content(**project: Any) -> dict[str, Any]:
    return {"projects": {"heart": {"tokens": [{"id": TOKEN.id, "sha256": TOKEN.sha256}], **project}}}


def write(path: Path, keys: str, token_text: str = "") -> Path:
    path.touch(mode=0o600)
    path.write_text(f"[projects.heart]\nkeys = [{keys}]\n{token_text}")
    return path


def test_a_token_is_shown_once_and_found_by_its_digest_alone() -> None:
    assert TOKEN.text not in repr(TOKEN)
    assert id_of(TOKEN.text) == TOKEN.id
    assert digest_of(TOKEN.text) == TOKEN.sha256
    assert has_digest(TOKEN.text, TOKEN.sha256)
    assert not has_digest(TOKEN.text[:-1] + ("a" if TOKEN.text[-1] != "a" else "b"), TOKEN.sha256)
    assert new_token().text != TOKEN.text
    assert len(TOKEN.text.rpartition("_")[2]) * 5 >= 256  # base32


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc", "abc"),
        ("bearer  abc", "abc"),
        ("Basic abc", None),
        ("abc", None),
        ("Bearer a b", None),
        ("", None),
    ],
)
def test_only_a_bearer_header_has_a_token(header: str, token: str | None) -> None:
    assert token_of_header(header) == token


def test_a_project_is_found_by_its_valid_token() -> None:
    access = parse_access(content())
    known = access.project_of_token(TOKEN.text)

    assert known is not None
    assert (known[0].name, known[1].id) == ("heart", TOKEN.id)
    other = new_token().text
    assert access.project_of_token(other) is None
    assert access.project_of_token(f"deid_{TOKEN.id}_{other.rpartition('_')[2]}") is None
    assert access.project_of_token("") is None
    assert access.project_of_token("\ud800") is None


def test_a_token_ends_with_the_day_before_its_last() -> None:
    entry = {"id": TOKEN.id, "sha256": TOKEN.sha256, "expires": date(2027, 11, 1)}
    access = parse_access(content(tokens=[entry]))

    assert access.project_of_token(TOKEN.text, datetime(2027, 10, 31, 23, 59, tzinfo=UTC)) is not None
    assert access.project_of_token(TOKEN.text, datetime(2027, 11, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize("name", ["b", "A", "a\0", "../a", "", "a" * 9_000, "\ud800"])
def test_a_project_uses_the_keys_of_its_list_alone(name: str) -> None:
    project = Project("heart", keys=("a", "study-1"))

    assert project.may_use("a")
    assert project.may_use("study-1")
    assert not project.may_use(name)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, "no project"),
        ({"project": {}}, "expected only projects"),
        ({"projects": {"a b": {}}}, "expected a name"),
        (content(key=["a"]), "expected only"),
        (content(keys="a"), "must be a list"),
        (content(keys=["../a"]), "invalid key name"),
        (content(keys=["a", "a"]), "twice"),
        (content(tokens=[{"id": "1", "sha256": TOKEN.sha256}]), "deid gateway token new"),
        (content(tokens=[{"id": TOKEN.id, "sha256": TOKEN.text}]), "never write the token itself"),
        (content(tokens=[{"id": TOKEN.id, "sha256": TOKEN.sha256, "expires": "2027-11-01"}]), "without quotes"),
        (content(tokens=[{"id": TOKEN.id, "sha256": TOKEN.sha256}] * 2), "twice"),
        (content(notes_per_minute=0), "notes_per_minute is 0"),
        (content(notes_per_minute=True), "notes_per_minute is True"),
        (content(notes_per_minute=10), "could never be served"),
        (content(detect="no"), "must be true or false"),
        (content(certificates=[""]), "that are not empty"),
    ],
)
def test_a_wrong_file_is_refused_without_its_secrets(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says) as error:
        parse_access(wrong)

    assert TOKEN.text not in str(error.value)


def test_one_token_or_certificate_leads_to_one_project() -> None:
    both = {"projects": {"a": {"certificates": ["CN=x"]}, "b": {"certificates": ["CN=x"]}}}

    with pytest.raises(SettingsError, match="twice"):
        parse_access(both)
    assert parse_access({"projects": {"a": {"certificates": ["CN=x"]}}}).project_of_certificate("CN=y") is None


def test_limits_have_defaults_that_fit_each_other() -> None:
    assert Limits().note_bytes <= Limits().request_bytes <= Limits().bytes_per_minute


@pytest.mark.skipif(os.name != "posix", reason="no modes here")
def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "access.toml", "'a'")
    path.chmod(0o640)

    with pytest.raises(SettingsError, match="chmod 600"):
        read_access(path)


@pytest.mark.parametrize("wrong", [b"\xff", b"[projects", b"a = " + b"[" * 5_000])
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, wrong: bytes) -> None:
    path = tmp_path / "access.toml"
    path.touch(mode=0o600)
    path.write_bytes(wrong)

    with pytest.raises(SettingsError, match="not TOML"):
        read_access(path)


def test_a_changed_file_holds_at_once_and_a_wrong_one_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deid_runtime.access.access_file._LOOK_S", 0.0)
    path = write(tmp_path / "access.toml", "'a'")
    file = AccessFile(path)
    assert file.now().projects["heart"].keys == ("a",)

    write(path, "'a', 'b'")
    assert file.now().projects["heart"].keys == ("a", "b")

    write(path, "'../c'")
    assert file.now().projects["heart"].keys == ("a", "b")
    assert file.faults == 1

    path.unlink()
    assert file.now().projects["heart"].keys == ("a", "b")
    assert file.faults == 2

"""Test keys by name: read only from the folder, and read again when they change."""

import os
from pathlib import Path

import pytest

from deid_runtime.errors import InputError, SettingsError
from deid_runtime.serving.keys import KeyFolder, check_keys
from deid_runtime.surrogates import Surrogates, write_key


def make(key: bytes) -> Surrogates:
    return Surrogates(key, operator="surrogate", date_shift_days=365)


def test_a_key_is_read_once_and_again_when_its_file_changes(tmp_path: Path) -> None:
    write_key(tmp_path / "a.key")
    keys = KeyFolder(tmp_path, make)
    first = keys.surrogates("a")

    assert keys.surrogates("a") is first

    (tmp_path / "a.key").unlink()
    write_key(tmp_path / "a.key")
    assert keys.surrogates("a").pseudonym("note", "1") != first.pseudonym("note", "1")


@pytest.mark.parametrize("name", ["../a", "a/b", "a.key", ".", "", "a\n", "ä", "a" * 65, "b"])
def test_another_name_is_refused_and_not_repeated(tmp_path: Path, name: str) -> None:
    (tmp_path / "inner").mkdir()
    write_key(tmp_path / "a.key")
    write_key(tmp_path / "inner" / "a.key")

    with pytest.raises(InputError) as error:
        KeyFolder(tmp_path / "inner", make).surrogates(name)

    assert len(name) < 2 or name not in str(error.value)


def test_without_a_folder_every_name_is_refused() -> None:
    with pytest.raises(InputError, match="start it with a folder"):
        KeyFolder(None, make).surrogates("a")


def test_a_file_that_is_no_key_is_refused_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.key").write_text("swordfish")

    with pytest.raises(InputError, match="SettingsError") as error:
        KeyFolder(tmp_path, make).surrogates("a")

    assert "swordfish" not in str(error.value)


@pytest.mark.skipif(os.name != "posix", reason="no modes here")
def test_a_key_is_refused_once_others_can_read_it(tmp_path: Path) -> None:
    write_key(tmp_path / "a.key")
    keys = KeyFolder(tmp_path, make)
    keys.surrogates("a")

    (tmp_path / "a.key").chmod(0o640)

    with pytest.raises(InputError, match="SettingsError"):
        keys.surrogates("a")
    assert KeyFolder(tmp_path, make, allow_shared=True).surrogates("a")


def test_a_key_of_zeros_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.key").touch(mode=0o600)
    (tmp_path / "a.key").write_text("00" * 32)

    with pytest.raises(InputError, match="SettingsError"):
        KeyFolder(tmp_path, make).surrogates("a")


@pytest.mark.skipif(os.name != "posix", reason="no modes here")
def test_every_key_of_the_folder_is_checked_at_the_start(tmp_path: Path) -> None:
    write_key(tmp_path / "a.key")
    write_key(tmp_path / "b.key")
    (tmp_path / "b.key").chmod(0o604)

    with pytest.raises(SettingsError, match=r"b\.key.*chmod 600"):
        check_keys(tmp_path)
    check_keys(tmp_path, allow_shared=True)

"""Test that a key is given by its place alone, and that messages quote no key."""

import pickle
from pathlib import Path

import pytest

from deid_runtime.errors import SettingsError
from deid_runtime.spark.secrets import KeyPlace
from deid_runtime.surrogates import load_key, new_key, write_key


@pytest.mark.parametrize(
    "given",
    [new_key().hex(), f"env:{new_key().hex()}", "site.key", "env:", "vault:site", "env:A B"],
    ids=["key", "key of the environment", "file", "no name", "other store", "two names"],
)
def test_what_is_no_place_is_refused_and_not_quoted(given: str) -> None:
    with pytest.raises(SettingsError) as caught:
        KeyPlace.parse(given)

    assert given.removeprefix("env:") not in str(caught.value) or given == "env:"


def test_a_key_comes_from_a_file(tmp_path: Path) -> None:
    write_key(tmp_path / "site.key")
    places = [KeyPlace.parse(tmp_path / "site.key"), KeyPlace.parse(f"file:{tmp_path / 'site.key'}")]

    assert [place.load() for place in places] == [load_key(tmp_path / "site.key")] * 2


def test_a_key_comes_from_the_environment_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    key = new_key()
    place = KeyPlace.parse("env:DEID_SECRET_KEY")
    monkeypatch.delenv("DEID_SECRET_KEY", raising=False)
    with pytest.raises(SettingsError, match="DEID_SECRET_KEY is not set in the worker processes"):
        place.load()
    monkeypatch.setenv("DEID_SECRET_KEY", key.hex() + "\n")

    assert place.load() == key
    assert key not in pickle.dumps(place)


def test_a_wrong_key_in_the_environment_is_refused_and_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEID_SECRET_KEY", "s3cret" * 5)

    with pytest.raises(SettingsError, match="DEID_SECRET_KEY has 30 characters") as caught:
        KeyPlace.parse("env:DEID_SECRET_KEY").load()

    assert "s3cret" not in str(caught.value)

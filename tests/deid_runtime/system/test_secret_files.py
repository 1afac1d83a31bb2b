"""Test that a secret that others can read or guess is refused, with the remedy."""

import os
import secrets
from fractions import Fraction
from math import comb
from pathlib import Path

import pytest

from deid_runtime.errors import SettingsError
from deid_runtime.system.secret_files import check_secret_file, is_guessable

NEEDS_MODES = pytest.mark.skipif(os.name != "posix", reason="no modes here")
NEEDS_ROOT = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(bytes(32), id="zeros"),
        pytest.param(b"\xff" * 32, id="all-equal"),
        pytest.param(b"\xde\xad\xbe\xef" * 8, id="pattern-of-4"),
        pytest.param(bytes(range(0, 250, 25)) * 3 + b"\x00\x19", id="pattern-of-10"),
        pytest.param(bytes(range(200, 216)) * 2, id="pattern-of-16"),
        pytest.param(bytes(range(32)), id="counting-up"),
        pytest.param(bytes(range(255, 223, -1)), id="counting-down"),
        pytest.param(bytes(7 * number % 256 for number in range(32)), id="in-sevens"),
        pytest.param(secrets.token_bytes(16) + bytes(16), id="padded-with-zeros"),
        pytest.param(bytes(16) + secrets.token_bytes(16), id="padded-before"),
        pytest.param(b"correct horse battery staple 123", id="passphrase"),
        pytest.param(b"c0ffee5eed0123456789abcdef9e8d7b", id="hexadecimal-digits-as-bytes"),
    ],
)
def test_a_key_that_is_obviously_not_random_is_guessable(key: bytes) -> None:
    assert len(key) == 32
    assert is_guessable(key)


def test_random_keys_are_not_guessable() -> None:
    assert not any(is_guessable(secrets.token_bytes(32)) for _ in range(20_000))


def test_a_random_key_is_refused_less_often_than_once_in_2_to_the_60() -> None:
    def few_distinct(drawn: int, fewer_than: int) -> Fraction:
        """Return the probability of fewer than ``fewer_than`` different values among ``drawn`` random bytes."""
        ways = {0: Fraction(1)}  # number of different values so far -> probability
        for _ in range(drawn):
            after: dict[int, Fraction] = {}
            for seen, probability in ways.items():
                after[seen] = after.get(seen, Fraction(0)) + probability * Fraction(seen, 256)
                after[seen + 1] = after.get(seen + 1, Fraction(0)) + probability * Fraction(256 - seen, 256)
            ways = after
        return sum((probability for seen, probability in ways.items() if seen < fewer_than), Fraction(0))

    refused = (
        few_distinct(32, 12)
        + few_distinct(31, 12)  # the differences of random bytes are random bytes
        + 256 * comb(32, 13) * Fraction(1, 256) ** 13
        + sum(Fraction(1, 256) ** (32 - length) for length in range(1, 17))
        + Fraction(63, 256) ** 32
    )

    assert refused < Fraction(1, 2**60)


@NEEDS_MODES
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o644, 0o777])
def test_a_secret_that_others_can_open_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "my key"
    path.touch()
    path.chmod(mode)

    with pytest.raises(SettingsError, match=rf"mode {mode:04o}.*`chmod 600 '.*my key'`.*--allow-shared-key"):
        check_secret_file(path, path.stat())
    check_secret_file(path, path.stat(), allow_shared=True)


@NEEDS_MODES
@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_secret_for_its_owner_alone_is_taken(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    path.touch()
    path.chmod(mode)

    check_secret_file(path, path.stat())


@NEEDS_ROOT
def test_a_secret_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.touch(mode=0o600)
    os.chown(path, 65534, -1)

    with pytest.raises(SettingsError, match="belongs to user 65534.*deid runs as user 0"):
        check_secret_file(path, path.stat())
    check_secret_file(path, path.stat(), allow_shared=True)

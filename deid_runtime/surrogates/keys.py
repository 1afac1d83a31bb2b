"""The secret key that all surrogates depend on: created once, kept in a file, never printed.

A key file has 32 random bytes as 64 hexadecimal digits and a line end. Only its owner may read it. Anyone with the
key can try candidates to find the original of a surrogate, so protect the key like the notes themselves.
"""

import os
import secrets
from pathlib import Path
from typing import Final

from deid_runtime.errors import SettingsError
from deid_runtime.system.secret_files import check_secret_file, is_guessable, write_key_file

KEY_BYTES: Final = 32


def new_key() -> bytes:
    """Return a new random key of :data:`KEY_BYTES` bytes."""
    return secrets.token_bytes(KEY_BYTES)


def write_key(path: Path | str) -> None:
    """Write a new key to ``path``, readable and writable by the owner only.

    Raises SettingsError when the file exists: without the old key, notes can no longer get consistent surrogates.
    Raises OutputError when the file cannot be written.
    """
    write_key_file(path, f"{new_key().hex()}\n".encode("ascii"))


def load_key(path: Path | str, *, allow_shared: bool = False) -> bytes:
    """Return the key in the file ``path``.

    ``allow_shared`` also accepts a file that other users can open or that another user owns.

    Raises SettingsError when the file is missing, unreadable, open to others, or not exactly 64 hexadecimal digits, or
    when its key is obviously not random.
    """
    try:
        with open(path, "rb") as file:
            check_secret_file(path, os.fstat(file.fileno()), allow_shared=allow_shared)
            # Read one byte more than the longest valid file: do not read all of a large file after a wrong path.
            content = file.read(2 * KEY_BYTES + 3)
    except FileNotFoundError:
        raise SettingsError(f"there is no key file {path}; make one with `deid key new {path}`") from None
    except OSError as error:
        raise SettingsError(f"cannot read key file {path}: {error.strerror}") from error
    return parse_key(content, f"key file {path}")


def parse_key(content: bytes, place: str) -> bytes:
    """Return the key in ``content``, as `deid key new` writes it. Messages name its ``place`` and never quote it.

    Raises SettingsError for anything but 64 hexadecimal digits, and for a key that is obviously not random.
    """
    digits = content.strip()
    if len(digits) != 2 * KEY_BYTES:
        more = "at least " if len(content) > 2 * KEY_BYTES + 2 else ""
        raise SettingsError(
            f"{place} has {more}{len(digits)} characters; "
            f"expected {2 * KEY_BYTES} hexadecimal digits as written by `deid key new`"
        )
    try:
        key = bytes.fromhex(digits.decode("ascii"))
    except ValueError:  # includes UnicodeDecodeError
        raise SettingsError(
            f"{place} has characters other than hexadecimal digits; make a key with `deid key new`"
        ) from None
    if is_guessable(key):
        raise SettingsError(f"the key in {place} is not random, so others can guess it; make one with `deid key new`")
    return key

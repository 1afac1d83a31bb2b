"""Files of keys: written new, and checked: no other user can read the file, and the key cannot be guessed."""

import os
import shlex
import stat
from collections import Counter
from itertools import pairwise
from pathlib import Path
from string import ascii_letters, digits
from typing import Final

from deid_runtime.errors import OutputError, SettingsError

#: A random key breaks one of these rules with a probability below 1 in 2**60; a test computes it.
_LEAST_DISTINCT: Final = 12
_MOST_ALIKE: Final = 12
_LONGEST_PATTERN_BYTES: Final = 16
_PASSPHRASE: Final = frozenset((ascii_letters + digits + " ").encode("ascii"))

_SHARED_OPTION: Final = "give --allow-shared-key (allow_shared=True) where the file system has no modes or owners"


def write_key_file(path: Path | str, data: bytes, mode: int = 0o600) -> None:
    """Write a new file of a key, by default for its owner only, and wait until it is on the disk.

    Raises SettingsError when the file exists: what was made with its key would be of no use without it. Raises
    OutputError when the file cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise SettingsError(f"{path} already exists and is never overwritten; choose another name") from None
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_key_pair_files(path: Path, private: bytes, public: bytes) -> Path:
    """Write a private key to ``path``, for its owner only, and the public key beside it, whose path is returned.

    Raises SettingsError when one of the files exists, OutputError when one cannot be written.
    """
    beside = path.with_name(f"{path.name}.pub")
    if os.path.lexists(beside):
        raise SettingsError(f"{beside} already exists and is never overwritten; choose another name")
    write_key_file(path, private)
    write_key_file(beside, public, 0o644)
    return beside


def check_secret_file(path: Path | str, status: os.stat_result, *, allow_shared: bool = False) -> None:
    """Check that only the user of this process can read the secret file with this ``status``.

    ``status`` must come from the open file (``os.fstat``), so that the checked file is the file that is read, even
    behind a symbolic link. Files of root are also accepted. With ``allow_shared``, and on systems that are not POSIX,
    every file is accepted.

    Raises SettingsError, which names the remedy.
    """
    if allow_shared or os.name != "posix":
        return
    others = status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    if others:
        raise SettingsError(
            f"{path} contains a secret and is open to other users (mode {stat.S_IMODE(status.st_mode):04o}); run "
            f"`chmod 600 {shlex.quote(str(path))}`, or {_SHARED_OPTION}"
        )
    if status.st_uid not in (os.geteuid(), 0):
        raise SettingsError(
            f"{path} contains a secret and belongs to user {status.st_uid}, who can read it; deid runs as user "
            f"{os.geteuid()}: copy it to a file of that user, or {_SHARED_OPTION}"
        )


def is_guessable(key: bytes) -> bool:
    """Return whether a key of 32 bytes is obviously not random.

    This is so when one of these holds:

    - it has few different bytes, or few different steps from byte to byte;
    - one byte occurs too often;
    - it repeats its first half or a shorter prefix;
    - it consists of ASCII letters, digits and spaces only.
    """
    steps = bytes((after - before) % 256 for before, after in pairwise(key))
    return (
        min(len(set(key)), len(set(steps))) < _LEAST_DISTINCT
        or max(Counter(key).values()) > _MOST_ALIKE
        or any(key[length:] == key[:-length] for length in range(1, _LONGEST_PATTERN_BYTES + 1))
        or _PASSPHRASE.issuperset(key)
    )

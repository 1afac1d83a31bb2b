"""Private folders for writing: no other user can enter them or swap them for another folder."""

import logging
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deid_runtime.errors import OutputError
from deid_runtime.system.placing import REPLACED

_logger = logging.getLogger(__name__)


@contextmanager
def pinned(folder: Path) -> Iterator[Path]:
    """Yield a path to ``folder`` that leads to the same folder even when folders are renamed in the meantime.

    The path goes through the open folder in ``/proc``. Without ``/proc`` it is ``folder`` itself. Raises OSError when
    the last part of the path is a link or a file.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        path = Path(f"/proc/self/fd/{descriptor}")
        yield path if path.is_dir() else folder
    finally:
        os.close(descriptor)


@contextmanager
def private_folder(parent: Path, name: str, shown: Path) -> Iterator[Path]:
    """Create a folder that only its owner can enter, yield a pinned path to it, and remove it at the end.

    Messages name it as ``shown``. Log a warning when it cannot be removed. Raises OutputError when another user changed
    it.
    """
    path = parent / name
    path.mkdir(0o700)
    try:
        with pinned(path) as inside:
            if not is_private(inside):
                raise OutputError(f"{shown}: changed by another user; write to a folder that only you can change")
            try:
                yield inside
            finally:
                empty(inside)
    finally:
        remove_empty(path, shown)


def is_private(folder: Path) -> bool:
    """Return whether ``folder`` belongs to this user and no other user can enter it."""
    state = os.stat(folder)
    return state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def empty(folder: Path) -> None:
    """Remove the content of a private folder as far as possible, but keep replaced files of the earlier output."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        if not name.endswith(REPLACED):
            remove(folder / name)


def remove_empty(folder: Path, shown: Path) -> bool:
    """Remove an empty folder. Return whether it is gone; log a warning when it is not."""
    with suppress(OSError):
        folder.rmdir()
    if os.path.lexists(folder):
        _logger.warning(
            "%s cannot be removed. It may contain note text, or the earlier output (names in %s); check it, then "
            "remove it",
            shown,
            REPLACED,
        )
        return False
    return True


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with its content, as far as possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)

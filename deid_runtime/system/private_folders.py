"""Folders to write in that nobody else can enter, and that nobody can put another folder in the place of."""

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
    """Yield a path to ``folder`` that leads to the same folder whatever is renamed meanwhile.

    It goes through the open folder in ``/proc``; where there is none, it is the path that was given. Raises OSError
    when the last part of the path is no folder but a link or a file.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        path = Path(f"/proc/self/fd/{descriptor}")
        yield path if path.is_dir() else folder
    finally:
        os.close(descriptor)


@contextmanager
def private_folder(parent: Path, name: str, shown: Path) -> Iterator[Path]:
    """Make a folder that its owner alone can enter, yield a pinned path to it, and remove it at the end.

    ``shown`` is what messages call it. What cannot be removed is told as a warning.
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
    """Say whether ``folder`` belongs to this user and nobody else can enter it."""
    state = os.stat(folder)
    return state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def empty(folder: Path) -> None:
    """Remove what a private folder holds, as far as that is possible, but nothing that was there before the run."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        if not name.endswith(REPLACED):
            remove(folder / name)


def remove_empty(folder: Path, shown: Path) -> bool:
    """Remove an empty folder and say whether it is gone; one that is left is told as a warning."""
    with suppress(OSError):
        folder.rmdir()
    if os.path.lexists(folder):
        _logger.warning(
            "%s cannot be removed. It may hold note text, or the earlier output (names in %s); look, then remove it",
            shown,
            REPLACED,
        )
        return False
    return True


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all it holds, as far as that is possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)

"""Move the parts of an output to their final paths: all or none, even when the process is killed in between.

The parts are written in a private folder. The old files that they replace are moved into that folder first. A journal
in the folder lists the planned moves, so that the next run to the same output can undo an interrupted move.
"""

import errno
import json
import os
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deid_runtime.errors import OutputError

JOURNAL: Final = "journal"
#: The part that is moved last: when it is in place, the whole output is in place.
LAST: Final = "manifest"
#: The part that can go to a different folder, and so has its own private folder.
CROSSWALK: Final = "crosswalk"
#: Name suffix of old files in the private folder that the new output replaces.
REPLACED: Final = ".replaced"
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


@dataclass(frozen=True, slots=True)
class OutputPart:
    """One file or folder of an output. It is written as ``name`` in the private ``folder`` and then moved.

    ``parent`` is the path by which the target folder is opened. ``place`` is the full target path as the user gave it.
    """

    name: str
    folder: Path
    parent: Path
    place: Path
    is_folder: bool = False

    @property
    def target(self) -> Path:
        """Return the final path of the part, as it is opened."""
        return self.parent / self.place.name

    @property
    def new(self) -> Path:
        """Return the path in the private folder where the part is written."""
        return self.folder / self.name

    @property
    def replaced(self) -> Path:
        """Return the path in the private folder where the replaced old file stays until all parts are in place."""
        return self.folder / f"{self.name}{REPLACED}"

    def is_placed(self) -> bool:
        """Return whether the part has left the private folder, or is also linked at its final path."""
        if not os.path.lexists(self.new):
            return True
        return os.path.lexists(self.target) and os.path.samestat(os.lstat(self.new), os.lstat(self.target))


def place(parts: Sequence[OutputPart], journal: Path, *, overwrite: bool) -> None:
    """Move every written part to its final path, in this order. First move the old files away.

    On failure, undo all moves. Raises OSError for a move that fails, and OutputError when a file appeared at a final
    path after the paths were checked.
    """
    old = [part for part in parts if os.path.lexists(part.target)]
    new = [part for part in parts if os.path.lexists(part.new)]
    _write_journal(journal, new)
    try:
        # Move the old manifest away first: without it the old output no longer counts as complete.
        for part in reversed(old):
            os.rename(part.target, part.replaced)
            if not overwrite or not _is_kind(part.replaced, is_folder=part.is_folder):
                raise OutputError(f"{part.place}: another file appeared there during the run; run it again")
        for part in new:
            _move_in(part)
    except (OSError, OutputError):
        undo(parts, [part.name for part in new])
        raise


def undo(parts: Sequence[OutputPart], written: Collection[str]) -> None:
    """Move placed parts back to the private folder, and restore the old files that they replaced.

    ``written`` has the names of the parts that were written. An interrupted undo can be repeated.
    """
    for part in parts:
        if part.name in written and part.is_placed() and os.path.lexists(part.target):
            _move_back(part)
        # If a foreign file is at the final path, the old file stays in the private folder.
        if os.path.lexists(part.replaced) and not os.path.lexists(part.target):
            os.rename(part.replaced, part.target)


def _move_back(part: OutputPart) -> None:
    if os.path.lexists(part.new):  # interrupted between link and unlink; a rename would do nothing
        os.unlink(part.target)
    else:
        os.rename(part.target, part.new)


def read_journal(path: Path) -> dict[str, str] | None:
    """Return the part names and final paths of the planned moves, or None when moving had not begun."""
    try:
        places = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return places if isinstance(places, dict) else None


def _write_journal(path: Path, parts: Sequence[OutputPart]) -> None:
    with path.open("x", encoding="utf-8") as file:
        json.dump({part.name: os.fspath(part.place) for part in parts}, file)
        file.flush()
        os.fsync(file.fileno())


def _is_kind(path: Path, *, is_folder: bool) -> bool:
    mode = os.lstat(path).st_mode
    return stat.S_ISDIR(mode) if is_folder else stat.S_ISREG(mode)


def _move_in(part: OutputPart) -> None:
    """Move a part to its final path.

    A file is linked where possible, because a rename would overwrite a file that was created there just before.
    """
    if not part.is_folder:
        try:
            os.link(part.new, part.target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            os.unlink(part.new)
            return
    if os.path.lexists(part.target) and not part.is_folder:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(part.new, part.target)

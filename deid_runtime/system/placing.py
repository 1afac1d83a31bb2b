"""Give the parts of an output their names, all or none, also when the process is killed half way.

The parts lie in a private folder until then. What they replace is moved into that folder first. A journal in the folder
says what there was to move, so that the next run to the same output can undo a move that was cut short.
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
#: The part whose name is given last: when it is there, the whole output is there.
LAST: Final = "manifest"
#: The part that goes to a folder of its own choice, so that its private folder is another one too.
CROSSWALK: Final = "crosswalk"
#: How the names of what is replaced end, in the private folder.
REPLACED: Final = ".replaced"
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


@dataclass(frozen=True, slots=True)
class Part:
    """One file or folder of an output: the private ``folder`` where it is written as ``name``, and where it goes.

    ``parent`` is the folder it goes to, as it is to be opened; ``place`` is the whole path, as people call it.
    """

    name: str
    folder: Path
    parent: Path
    place: Path
    is_folder: bool = False

    @property
    def target(self) -> Path:
        """Where the part goes, as it is to be opened."""
        return self.parent / self.place.name

    @property
    def new(self) -> Path:
        """Where the part is written."""
        return self.folder / self.name

    @property
    def replaced(self) -> Path:
        """Where what it replaces is kept until all parts have their names."""
        return self.folder / f"{self.name}{REPLACED}"

    def is_placed(self) -> bool:
        """Say whether the part is no longer, or not only, where it was written."""
        if not os.path.lexists(self.new):
            return True
        return os.path.lexists(self.target) and os.path.samestat(os.lstat(self.new), os.lstat(self.target))


def place(parts: Sequence[Part], journal: Path, *, overwrite: bool) -> None:
    """Give every part that was written its name, in this order, after moving away what is there.

    Where that fails, everything is again as it was before. Raises OSError for a move that fails, and OutputError when
    something came into the way since the places were looked at.
    """
    old = [part for part in parts if os.path.lexists(part.target)]
    new = [part for part in parts if os.path.lexists(part.new)]
    _write_journal(journal, new)
    try:
        # The manifest goes first: without it the old output is no longer whole.
        for part in reversed(old):
            os.rename(part.target, part.replaced)
            if not overwrite or not _is_kind(part.replaced, is_folder=part.is_folder):
                raise OutputError(f"{part.place}: something else came into its place during the run; run it again")
        for part in new:
            _move_in(part)
    except (OSError, OutputError):
        undo(parts, [part.name for part in new])
        raise


def undo(parts: Sequence[Part], written: Collection[str]) -> None:
    """Take the parts back that are in their places, and put back what they replaced; ``written`` names the parts.

    It can be cut short and done again.
    """
    for part in parts:
        if part.name in written and part.is_placed() and os.path.lexists(part.target):
            _move_back(part)
        # Where somebody else's file has come into the place, what was replaced stays in the private folder.
        if os.path.lexists(part.replaced) and not os.path.lexists(part.target):
            os.rename(part.replaced, part.target)


def _move_back(part: Part) -> None:
    if os.path.lexists(part.new):  # cut short between the two steps of moving in; a rename would do nothing
        os.unlink(part.target)
    else:
        os.rename(part.target, part.new)


def read_journal(path: Path) -> dict[str, str] | None:
    """Return the names of the parts that were to be placed and where, None when placing had not begun."""
    try:
        places = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return places if isinstance(places, dict) else None


def _write_journal(path: Path, parts: Sequence[Part]) -> None:
    with path.open("x", encoding="utf-8") as file:
        json.dump({part.name: os.fspath(part.place) for part in parts}, file)
        file.flush()
        os.fsync(file.fileno())


def _is_kind(path: Path, *, is_folder: bool) -> bool:
    mode = os.lstat(path).st_mode
    return stat.S_ISDIR(mode) if is_folder else stat.S_ISREG(mode)


def _move_in(part: Part) -> None:
    """Give a part its name. A file never replaces one that came there a moment ago, as a rename would."""
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

"""What killed runs left beside an output: undone where it was half placed, and removed.

Only for whoever holds the lock on the output: then no run that lives can own a folder of this name.
"""

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from deid_runtime.errors import OutputError
from deid_runtime.system.output_lock import output_lock
from deid_runtime.system.placing import CROSSWALK, JOURNAL, LAST, REPLACED, Part, read_journal, undo
from deid_runtime.system.private_folders import empty, is_private, pinned, remove, remove_empty

_logger = logging.getLogger(__name__)


def partial_name(name: str, token: str) -> str:
    """Return what the private folder of a run to ``name`` is called; ``token`` are eight hexadecimal digits."""
    return f".{name}.partial-{token}"


def remove_leftovers(
    parent: Path, out: Path, parts_of: Callable[[Path, str, Mapping[str, str]], Sequence[Part]]
) -> None:
    """Undo and remove what killed runs to ``out`` left in its folder ``parent``, and say so as a warning.

    ``parts_of`` returns the parts that a run had to place, from its private folder, its token and its journal. Nothing
    is touched that does not belong to this user.
    """
    for folder, name in _private(parent, out):
        journal = read_journal(folder / JOURNAL)
        if journal is not None:
            _undo(parts_of(folder, name.rpartition("-")[2], journal), journal)
        _remove(folder, parent / name, out.with_name(name))


def remove_crosswalk_leftovers(parent: Path, crosswalk: Path) -> None:
    """Remove the private folders that killed runs left for the crosswalk, in its folder ``parent``.

    Raises OutputError where one holds an earlier crosswalk: only a run to its output can say which is the right one.
    """
    for folder, name in _private(parent, crosswalk):
        shown = crosswalk.with_name(name)
        if any(entry.endswith(REPLACED) for entry in os.listdir(folder)):
            raise OutputError(
                f"{shown}: a killed run left an earlier crosswalk there; run it again to the same output, which puts "
                "it back, or remove it"
            )
        _remove(folder, parent / name, shown)


def _private(parent: Path, out: Path) -> Iterator[tuple[Path, str]]:
    """Yield the private folders beside ``out`` that belong to this user, as pinned paths, and their names."""
    for name in _found(parent, out.name):
        with pinned(parent / name) as folder:
            if is_private(folder):
                yield folder, name
            else:
                _logger.warning("%s is not private to this user, so it is left; remove it", out.with_name(name))


def _remove(folder: Path, path: Path, shown: Path) -> None:
    empty(folder)
    if remove_empty(path, shown):
        _logger.warning("%s was left by a killed run and is removed now", shown)


def _found(parent: Path, name: str) -> Iterator[str]:
    pattern = re.compile(re.escape(partial_name(name, "")) + "[0-9a-f]{8}")
    with os.scandir(parent) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    return (name for name in names if pattern.fullmatch(name))


def _undo(parts: Sequence[Part], journal: Mapping[str, str]) -> None:
    """Bring the parts to where they were before the run, or leave them where the run had placed all."""
    with ExitStack() as stack:
        crosswalks = [part for part in parts if part.name == CROSSWALK]
        for part in crosswalks:
            stack.enter_context(output_lock(part.parent, part.place))
        if LAST in journal and all(part.is_placed() for part in parts if part.name == LAST):
            for part in parts:  # the output is whole; what it replaced is no longer wanted
                remove(part.replaced)
        else:
            undo(parts, journal)
        for part in crosswalks:
            empty(part.folder)
            remove_empty(part.folder, part.folder)

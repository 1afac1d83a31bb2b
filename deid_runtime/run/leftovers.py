"""Clean up after killed runs: restore a partly placed output, and remove private folders beside the output.

The caller must hold the lock on the output. Then no live run can own a folder with such a name.
"""

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from deid_runtime.errors import OutputError
from deid_runtime.system.output_lock import output_lock
from deid_runtime.system.placing import CROSSWALK, JOURNAL, LAST, REPLACED, OutputPart, read_journal, undo
from deid_runtime.system.private_folders import empty, is_private, pinned, remove, remove_empty

_logger = logging.getLogger(__name__)


def partial_name(name: str, token: str) -> str:
    """Return the name of the private folder of a run to ``name``. ``token`` is eight hexadecimal digits."""
    return f".{name}.partial-{token}"


def remove_leftovers(
    parent: Path, out: Path, parts_of: Callable[[Path, str, Mapping[str, str]], Sequence[OutputPart]]
) -> None:
    """Undo and remove what killed runs to ``out`` left behind in its folder ``parent``, and log a warning.

    ``parts_of`` takes the private folder of a run, its token and its journal, and returns the parts that the run had to
    place. Files and folders of other users are not touched.
    """
    for folder, name in _private(parent, out):
        journal = read_journal(folder / JOURNAL)
        if journal is not None:
            _undo(parts_of(folder, name.rpartition("-")[2], journal), journal)
        _remove(folder, parent / name, out.with_name(name))


def remove_crosswalk_leftovers(parent: Path, crosswalk: Path) -> None:
    """Remove the private folders that killed runs left for the crosswalk, in its folder ``parent``.

    Raises OutputError when one of them holds an earlier crosswalk. Only a new run to the same output can restore it.
    """
    for folder, name in _private(parent, crosswalk):
        shown = crosswalk.with_name(name)
        if any(entry.endswith(REPLACED) for entry in os.listdir(folder)):
            raise OutputError(
                f"{shown}: a killed run left an earlier crosswalk there; run it again to the same output, which "
                "restores it, or remove it"
            )
        _remove(folder, parent / name, shown)


def _private(parent: Path, out: Path) -> Iterator[tuple[Path, str]]:
    """Yield the private folders beside ``out`` that belong to this user: pinned path and name."""
    for name in _found(parent, out.name):
        with pinned(parent / name) as folder:
            if is_private(folder):
                yield folder, name
            else:
                _logger.warning("%s is not private to this user, so it was not removed; remove it", out.with_name(name))


def _remove(folder: Path, path: Path, shown: Path) -> None:
    empty(folder)
    if remove_empty(path, shown):
        _logger.warning("%s was left by a killed run and is removed now", shown)


def _found(parent: Path, name: str) -> Iterator[str]:
    pattern = re.compile(re.escape(partial_name(name, "")) + "[0-9a-f]{8}")
    with os.scandir(parent) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    return (name for name in names if pattern.fullmatch(name))


def _undo(parts: Sequence[OutputPart], journal: Mapping[str, str]) -> None:
    """Restore the state before the run, or keep the new files when the run had placed all of them."""
    with ExitStack() as stack:
        crosswalks = [part for part in parts if part.name == CROSSWALK]
        for part in crosswalks:
            stack.enter_context(output_lock(part.parent, part.place))
        if LAST in journal and all(part.is_placed() for part in parts if part.name == LAST):
            for part in parts:  # the output is complete, so remove the files it replaced
                remove(part.replaced)
        else:
            undo(parts, journal)
        for part in crosswalks:
            empty(part.folder)
            remove_empty(part.folder, part.folder)

"""Read a file in a test as the program does."""

from pathlib import Path

from deid_runtime.formats import read_notes
from deid_runtime.formats.records import Item, ReadOptions, Unreadable
from deid_runtime.formats.sources import find_inputs
from deid_runtime.spans import Note


def read_all(path: Path, options: ReadOptions | None = None, format_name: str | None = None) -> list[Item]:
    """Return every record of a file or folder."""
    inputs, _ = find_inputs([path], format_name)
    return [item for source in inputs for item in read_notes(source, options or ReadOptions())]


def notes_of(items: list[Item]) -> list[tuple[str, str]]:
    """Return id and text of the readable records."""
    return [(item.id, item.text) for item in items if isinstance(item, Note)]


def faults_of(items: list[Item]) -> list[tuple[str, str]]:
    """Return id and reason of the unreadable records."""
    return [(item.id, item.reason) for item in items if isinstance(item, Unreadable)]

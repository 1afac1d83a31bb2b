"""Find the input files below the paths of the command line, in a fixed order."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from deid_runtime.errors import SourceError
from deid_runtime.formats import FORMATS, format_of
from deid_runtime.formats.database import make_plan
from deid_runtime.formats.delta import delta_files, is_delta
from deid_runtime.formats.key_ranges import TablePlan
from deid_runtime.formats.records import DATABASE_SUFFIX, ReadOptions, Source

_NAMED = 3  # how many file names an error lists


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files below ``paths``. Each iteration lists the folders again, so millions of files take no memory.

    ``special_files`` is the number of pipes, sockets and devices in folders. They are never opened, because that could
    block. ``plans`` says how tables of databases are read, by the path of their file; their notes are written as
    ``written_as``. ``delta`` has the data files of each folder with a Delta table, by its prefix in names: they are
    looked up once, so that every iteration reads the same version.
    """

    paths: tuple[Path, ...]
    format: str | None
    special_files: int = 0
    written_as: str = "parquet"
    plans: Mapping[Path, TablePlan] = field(default_factory=dict, repr=False)
    delta: dict[str, tuple[Path, ...]] = field(default_factory=dict, repr=False)

    @property
    def is_single_file(self) -> bool:
        """Return whether there is exactly one input and it is a file."""
        return len(self.paths) == 1 and not self.paths[0].is_dir()

    @property
    def pipes(self) -> list[Path]:
        """Return the inputs that are pipes, which can be read only once."""
        return [path for path in self.paths if path.is_fifo()]

    def __iter__(self) -> Iterator[Source]:
        """Yield every file: the paths in the given order, the entries of a folder sorted by name."""
        return (source for source in self.with_special_files() if source is not None)

    def with_special_files(self) -> Iterator[Source | None]:
        """Yield every file in the same order as iteration, and None for each pipe, socket or device in a folder."""
        for path in self.paths:
            if path.is_dir():
                yield from self._below(path)
            else:
                yield self._source(path, path.name)

    def _below(self, top: Path) -> Iterator[Source | None]:
        if self._is_delta(top):
            yield from self._delta_files(top, "")
            return
        # Use a stack instead of recursion: folders can be nested deeper than Python calls.
        above = [(_identity(top), top, "", _entries(top))]
        while above:
            _, folder, prefix, entries = above[-1]
            entry = next(entries, None)
            if entry is None:
                above.pop()
            elif entry.is_folder:
                within = folder / entry.name
                identity = _identity(within)
                if any(identity == known for known, *_ in above):
                    raise SourceError(f"{within}: a link to a folder that contains it; remove the link")
                if self._is_delta(within):
                    yield from self._delta_files(within, f"{prefix}{entry.name}/")
                    continue
                above.append((identity, within, f"{prefix}{entry.name}/", _entries(within)))
            elif entry.is_special:
                yield None
            elif not self._is_ignored(folder, entry.name):
                yield self._source(folder / entry.name, prefix + entry.name)

    def _is_delta(self, folder: Path) -> bool:
        return self.format in (None, "parquet") and is_delta(folder)

    def _delta_files(self, folder: Path, prefix: str) -> Iterator[Source]:
        """Yield the files of a Delta table under new names: theirs are random, and can have values of columns."""
        if prefix not in self.delta:
            self.delta[prefix] = delta_files(folder)
        for number, path in enumerate(self.delta[prefix]):
            yield self._source(path, f"{prefix}part-{number:05}.parquet")

    def _is_ignored(self, folder: Path, name: str) -> bool:
        """Return whether a file belongs to a brat folder but is not a text."""
        if not name.lower().endswith(FORMATS["brat"].ignored_suffixes):
            return False
        return self.format == "brat" or (self.format is None and (folder / name).with_suffix(".txt").exists())

    def _source(self, path: Path, name: str) -> Source:
        try:
            size = path.stat().st_size
        except OSError:
            size = 0  # for example a dangling link; the reader reports the error
        # JSON cannot represent a file name that is not UTF-8, so escape such bytes.
        printable = name.encode("utf-8", "backslashreplace").decode("utf-8")
        format_name = self.format or format_of(name) or ""
        if format_name != "database":
            return Source(path, printable, format_name, size)
        plan = self.plans.get(path)
        return Source(
            path, printable, format_name, plan.size_bytes if plan else size, written_as=self.written_as, plan=plan
        )


class _Entry(NamedTuple):
    name: str
    is_folder: bool
    is_special: bool


def _entries(folder: Path) -> Iterator[_Entry]:
    """Return the entries of a folder that are not hidden, sorted by name. Raises SourceError."""
    try:
        with os.scandir(folder) as found:
            return iter(
                sorted(
                    _Entry(entry.name, entry.is_dir(), not entry.is_file() and _is_special(Path(entry.path)))
                    for entry in found
                    if not entry.name.startswith(".")
                )
            )
    except OSError as error:
        raise SourceError(f"{folder}: the folder cannot be read: {error.strerror}") from error


def _is_special(path: Path) -> bool:
    """Return whether a path leads to a pipe, socket or device. A dangling link does not."""
    return path.is_fifo() or path.is_socket() or path.is_char_device() or path.is_block_device()


def _identity(folder: Path) -> tuple[int, int]:
    try:
        found = folder.stat()
    except OSError as error:
        raise SourceError(f"{folder}: the folder cannot be read: {error.strerror}") from error
    return found.st_dev, found.st_ino


@dataclass(frozen=True, slots=True)
class FileCount:
    """The number of files of one format, and their total size on disk in bytes."""

    files: int = 0
    size_bytes: int = 0


def find_inputs(paths: Sequence[Path], format_name: str | None = None) -> tuple[Inputs, dict[str, FileCount]]:
    """Return the files to read, and their number and size by format.

    Raises SourceError for a path that does not exist, a file of unknown format, two tables with the same name, and when
    there are no files. Only hidden files are skipped without an error.
    """
    for path in paths:
        if not path.exists():
            raise SourceError(f"{path}: no such file or folder")
        if path.is_fifo():
            if (format_name or format_of(path.name)) != "jsonl":
                raise SourceError(f"{path}: a pipe can only be read as JSON Lines; give --format jsonl or a file")
        elif _is_special(path):
            raise SourceError(f"{path}: a device or socket cannot be read; give a file, a folder or a pipe")
    inputs = Inputs(tuple(paths), format_name)
    counts: dict[str, FileCount] = {}
    unknown: list[str] = []
    tables: set[str] = set()
    special_files = 0
    for source in inputs.with_special_files():
        if source is None:
            special_files += 1
            continue
        if not source.format:
            unknown.append(source.name)
            continue
        if FORMATS[source.format].is_table:
            if source.output_name in tables:
                raise SourceError(
                    f"two inputs have the name {source.output_name}; rename one or give their parent folder"
                )
            tables.add(source.output_name)
        if source.format == "database" and not source.name.endswith(DATABASE_SUFFIX):
            raise SourceError(f"{source.name}: a file that describes a table of a database ends in {DATABASE_SUFFIX}")
        count = counts.get(source.format, FileCount())
        counts[source.format] = FileCount(count.files + 1, count.size_bytes + source.size_bytes)
    if unknown:
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        raise SourceError(
            f"unknown format: {', '.join(unknown[:_NAMED])}{more}; move them elsewhere or name their format with "
            f"--format ({', '.join(FORMATS)})"
        )
    if not counts:
        raise SourceError(f"{', '.join(map(str, paths))}: no notes found; expected files ending in {_known_suffixes()}")
    return replace(inputs, special_files=special_files), counts


def plan_tables(
    inputs: Inputs, counts: dict[str, FileCount], options: ReadOptions, written_as: str | None = None
) -> tuple[Inputs, dict[str, FileCount]]:
    """Return what :func:`find_inputs` returned, with the plans of all tables of databases and the sizes of these.

    ``written_as`` is the format of the output; None for Parquet. Each table is read once. Raises SourceError and
    SettingsError as :func:`~deid_runtime.formats.database.make_plan`.
    """
    if "database" not in counts:
        return inputs, counts
    plans = {source.path: make_plan(source, options) for source in inputs if source.format == "database"}
    planned = FileCount(len(plans), sum(plan.size_bytes for plan in plans.values()))
    return replace(inputs, plans=plans, written_as=written_as or inputs.written_as), {**counts, "database": planned}


def _known_suffixes() -> str:
    return ", ".join(suffix for format_ in FORMATS.values() for suffix in format_.suffixes)

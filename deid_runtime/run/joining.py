"""Join the committed shards of a run to its output. It has the same bytes as the output of a run in one shard.

Nothing is changed in the shards, so a run that is killed here joins them again later.
"""

import errno
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from deid_runtime.errors import OutputError
from deid_runtime.formats.delta import write_log
from deid_runtime.formats.joining import join_table
from deid_runtime.formats.records import ReadOptions
from deid_runtime.run.crosswalk import CrosswalkWriter, read_encrypted
from deid_runtime.run.shards import CROSSWALK, QUARANTINE, Shard, read_sum
from deid_runtime.run.sinks import NOTES, Piece
from deid_runtime.system.digests import BodyDigests, FileDigest, create_file, digested, files_below

_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)

#: The shards of a run in the order of their records, with their folders.
Shards = Sequence[tuple[Shard, Path]]


@dataclass(frozen=True, slots=True)
class Body:
    """Where the output goes. ``compress`` is for an output that is one file; for a table in a folder, its name decides.

    ``is_private`` files can be read by their owner only.
    """

    path: Path
    is_folder: bool
    compress: bool
    is_private: bool
    read: ReadOptions


def join_body(shards: Shards, body: Body) -> BodyDigests:
    """Write the output from the shards and return its digests.

    Raises OutputError when a shard was changed on the disk, OSError for other failures.
    """
    digests = BodyDigests(body.path)
    tables: dict[str, list[tuple[Path, Piece]]] = {}
    for shard, folder in shards:
        for name, piece in shard.pieces.items():
            tables.setdefault(name, []).append((folder / name, piece))
        if shard.notes["files"]:
            _link_notes(folder / NOTES, body.path)
            digests.add_notes(read_sum(shard, folder))
    for pieces in tables.values():
        _join_table(pieces, body, digests)
    return digests


def write_delta_logs(prefixes: Iterable[str], body: Body, digests: BodyDigests) -> None:
    """Make Delta tables of the folders of the output that were made from Delta tables; they begin with ``prefixes``."""
    for prefix in prefixes:
        folder = body.path / prefix
        names = sorted(path.name for path in folder.glob("part-*.parquet"))
        write_log(folder, names, lambda path: digests.create(path, "delta", is_table=True))


def _join_table(pieces: Sequence[tuple[Path, Piece]], body: Body, digests: BodyDigests) -> None:
    first = pieces[0][1]
    target = body.path / first.name if body.is_folder else body.path
    compress = first.name.lower().endswith(".gz") if body.is_folder else body.compress
    compress &= first.format == "jsonl"
    is_table = not first.is_note
    if len(pieces) == 1 and not compress:
        target.parent.mkdir(parents=True, exist_ok=True)
        _link(pieces[0][0], target)
        digests.add(target, first.digest, first.format, is_table=is_table)
        return

    def create(path: Path) -> BinaryIO:
        return digests.create(path, first.format, is_table=is_table, mode=0o600 if body.is_private else 0o666)

    target.parent.mkdir(parents=True, exist_ok=True)
    files = [(path, piece.digest) for path, piece in pieces]
    join_table(first.format, files, target, body.read, create, compress=compress)


def join_quarantine(shards: Shards, target: Path) -> FileDigest:
    """Write the quarantine from the shards and return its digest.

    Raises OutputError and OSError like :func:`join_body`.
    """
    found: list[FileDigest] = []
    with create_file(target, found.append) as file:
        for shard, folder in shards:
            if digested(folder / QUARANTINE, file.write) != shard.files[QUARANTINE]:
                raise OutputError(
                    f"the quarantine of shard {shard.number} was changed on disk; run again with --resume, which "
                    "repeats that shard"
                )
    return found[0]


def join_crosswalk(
    shards: Shards, target: Path | None, recipients: Sequence[str], private_key: str
) -> FileDigest | None:
    """Encrypt the crosswalks of all shards to ``recipients`` in one file and return its digest; None without one.

    ``private_key`` opens those of the shards. Raises OutputError.
    """
    if target is None:
        return None
    with CrosswalkWriter(target, recipients) as crosswalk:
        for _, folder in shards:
            read_encrypted(folder / CROSSWALK, private_key, crosswalk.add)
    return crosswalk.digest


def _link_notes(notes: Path, body: Path) -> None:
    made: set[Path] = set()
    for path in files_below(notes):
        target = body / path.relative_to(notes)
        if target.parent not in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            made.add(target.parent)
        _link(path, target)


def _link(path: Path, target: Path) -> None:
    """Give a file a second name, or copy it if links are not possible. Raises OSError when ``target`` exists."""
    try:
        os.link(path, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with create_file(target, mode=path.stat().st_mode & 0o777) as file:
            digested(path, file.write)

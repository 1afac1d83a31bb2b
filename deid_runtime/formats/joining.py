"""Join the pieces of an output table. The result has the same bytes as a table that was written at once."""

import gzip
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, cast

from deid_runtime.errors import OutputError
from deid_runtime.formats.jsonl import GZIP_LEVEL
from deid_runtime.formats.parquet import join_parquet
from deid_runtime.formats.records import ReadOptions
from deid_runtime.system.digests import Create, FileDigest, digest_file, digested


def join_table(
    format_name: str,
    pieces: Sequence[tuple[Path, FileDigest]],
    target: Path,
    options: ReadOptions,
    create: Create,
    *,
    compress: bool,
) -> None:
    """Write the new file ``target`` from ``pieces``, each with the digest that it must have.

    ``compress`` writes JSON Lines as gzip. Raises OutputError when a piece was changed, OSError for other failures.
    """
    if format_name == "parquet":
        for path, digest in pieces:
            _check(path, digest, digest_file(path))
        join_parquet([path for path, _ in pieces], target, options, create)
        return
    with ExitStack() as stack:
        stored = stack.enter_context(create(target))
        file = cast("IO[bytes]", stored)
        if compress:
            # The gzip header gets no name and no time, so that the same notes give the same bytes.
            file = cast("IO[bytes]", stack.enter_context(gzip.GzipFile("", "wb", GZIP_LEVEL, stored, mtime=0)))
        for path, digest in pieces:
            _check(path, digest, digested(path, file.write))


def _check(path: Path, expected: FileDigest, found: FileDigest) -> None:
    if found != expected:
        raise OutputError(
            f"a finished shard of the output was changed on the disk ({path.parent.parent.name}); run again with "
            "--resume, which repeats that shard"
        )

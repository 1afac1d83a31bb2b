"""Delta Lake tables in folders: the Parquet files of their current version, and the log of a table that was written.

A folder of such a table also has the files of earlier versions, with rows that were deleted or changed since. Only the
log, which the library deltalake reads, tells which files count. It is imported when a table is read or written.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote
from uuid import UUID

from deid_runtime.errors import SettingsError, SourceError
from deid_runtime.system.digests import Create
from deid_runtime.system.extras import install_extra

_LOG: Final = "_delta_log"
#: The name of the first commit in the log.
_FIRST: Final = f"{0:020}.json"
#: Time zones are optional in version 1 of the protocol, so times without one need this feature.
_NO_ZONE: Final = "timestampNtz"


def is_delta(folder: Path) -> bool:
    """Return whether ``folder`` has a Delta table."""
    return (folder / _LOG).is_dir()


def delta_files(folder: Path) -> tuple[Path, ...]:
    """Return the data files of the current version of the table in ``folder``, in the order of their names.

    Raises SettingsError when deltalake is not installed. Raises SourceError for a table that cannot be read, whose
    columns have other names in its files, or with rows that are only marked as deleted.
    """
    table = _open(folder)
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        raise SourceError(
            f"{folder}: the columns of this Delta table have other names in its files (column mapping); "
            "copy it to a table without column mapping"
        )
    if any(batch.num_rows for batch in table.deletion_vectors()):
        raise SourceError(
            f"{folder}: this Delta table has rows that are only marked as deleted (deletion vectors), and would come "
            "back; remove them with REORG TABLE ... APPLY (PURGE) in Spark, or copy the table"
        )
    top = folder.resolve()
    files = tuple(sorted(_local_path(folder, uri) for uri in table.file_uris()))
    for path in files:
        if top not in path.resolve().parents or not path.is_file():
            raise SourceError(f"{folder}: a file of this Delta table is missing, or lies elsewhere; copy the table")
    return files


def write_log(folder: Path, names: Sequence[str], create: Create) -> None:
    """Make a Delta table of the Parquet files ``names`` in ``folder`` by the first commit of its log.

    All files must have the same columns. The same files give the same bytes. Raises OSError.
    """
    from deltalake import Schema
    from pyarrow import parquet

    schema = Schema.from_arrow(parquet.read_schema(folder / names[0])).to_json()
    protocol: dict[str, object] = {"minReaderVersion": 1, "minWriterVersion": 2}
    if "timestamp_ntz" in schema:
        features = {"readerFeatures": [_NO_ZONE], "writerFeatures": [_NO_ZONE]}
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
    actions: list[dict[str, object]] = [
        {
            "add": {
                "path": name,
                "partitionValues": {},
                "size": (folder / name).stat().st_size,
                "modificationTime": 0,
                "dataChange": True,
            }
        }
        for name in names
    ]
    metadata = {
        "id": str(UUID(bytes=sha256(json.dumps([schema, actions]).encode()).digest()[:16], version=4)),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": [],
        "configuration": {},
    }
    (folder / _LOG).mkdir()
    with create(folder / _LOG / _FIRST) as file:
        for action in ({"protocol": protocol}, {"metaData": metadata}, *actions):
            file.write((json.dumps(action) + "\n").encode())


def _open(folder: Path) -> Any:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError as error:
        raise SettingsError(
            f"{folder}: a Delta table needs the library {error.name}; {install_extra('delta')}"
        ) from error
    try:
        return DeltaTable(str(folder))
    except (DeltaError, OSError, ValueError) as error:
        raise SourceError(f"{folder}: this Delta table cannot be read ({type(error).__name__})") from None


def _local_path(folder: Path, uri: str) -> Path:
    """Return the path of a data file. deltalake gives a path or a URL, in which special characters are escaped."""
    path = Path(uri.removeprefix("file://"))
    path = path if path.is_absolute() else folder / path
    return path if path.exists() else Path(unquote(str(path)))

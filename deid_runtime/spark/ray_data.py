"""De-identify a Ray Dataset with the function that Spark uses: ``deidentify_dataset(dataset, key="env:...")``."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deid_runtime.errors import SettingsError
from deid_runtime.settings import Settings
from deid_runtime.spark.rows import Columns, Deidentify, output_schema
from deid_runtime.spark.secrets import KeyPlace
from deid_runtime.spark.workers import WorkerTask

if TYPE_CHECKING:
    import pyarrow

#: Notes that a task of Ray gets at a time. It limits memory.
BATCH_ROWS: Final = 256


def deidentify_dataset(
    dataset: Any,
    *,
    key: str | Path | KeyPlace,
    text: str = "text",
    id: str = "id",  # noqa: A002 - as in deidentify
    patient: str = "patient",
    keep: tuple[str, ...] = (),
    keep_ids: bool = False,
    patients: str = "",
    settings: Settings | None = None,
    batch_size: int = 32,
    allow_shared_key: bool = False,
    workers: int | None = None,
) -> Any:
    """Return the notes of a ``ray.data.Dataset`` with every identifier replaced, by ``map_batches``.

    Arguments, columns and bytes are those of :func:`deid_runtime.spark.dataframe.deidentify`. A place ``sparkfile:`` is
    for Spark alone. ``workers`` is the most tasks at a time; None: as many as there are processors. The rows of a batch
    stay in their order.

    Raises SettingsError for a wrong place of the key or a wrong setting.
    """
    if batch_size < 1:
        raise SettingsError(f"batch_size is {batch_size}; expected 1 or more")
    place = KeyPlace.parse(key, allow_shared=allow_shared_key)
    if place.kind == "sparkfile" or patients.startswith("sparkfile:"):
        raise SettingsError("sparkfile: is only for Spark; on Ray give file: or env:")
    columns = Columns(text=text, id=id, patient=patient, kept=tuple(keep), keep_ids=keep_ids)
    function = _Table(
        Deidentify(columns, WorkerTask(settings=settings or Settings(), key=place, patients=patients), batch_size)
    )
    return dataset.map_batches(
        _plain(function), batch_format="pyarrow", batch_size=BATCH_ROWS, zero_copy_batch=True, concurrency=workers
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """The function of Spark for Arrow tables."""

    function: Deidentify

    def __call__(self, table: "pyarrow.Table") -> "pyarrow.Table":
        import pyarrow as pa

        columns = self.function.columns
        schema = output_schema(columns, {name: table.schema.field(name).type for name in columns.kept})
        return pa.Table.from_batches(self.function(table.to_batches()), schema=schema)


def _plain(function: _Table) -> Callable[["pyarrow.Table"], "pyarrow.Table"]:
    """Return a plain function: Ray makes an actor of an object that can be called."""

    def deidentify_notes(table: "pyarrow.Table") -> "pyarrow.Table":
        return function(table)

    return deidentify_notes

"""Write de-identified tables, whole or as a stream, each batch exactly once."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from deid_runtime.errors import SettingsError
from deid_runtime.spark.dataframe import deidentify
from deid_runtime.spark.rows import QUARANTINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The column, and so the folder, that separates held-back notes from all others.
HELD_BACK: Final = "held_back"
_DONE: Final = "_SUCCESS"


def write(result: "DataFrame", out: str, *, mode: str = "errorifexists", format: str = "parquet") -> None:  # noqa: A002
    """Write the result of :func:`~deid_runtime.spark.dataframe.deidentify` in one pass.

    The notes are in ``out/held_back=false``. Rows of notes that were held back, with their original ids, are in
    ``out/held_back=true``: keep that folder with the original notes. ``mode`` and ``format`` are Spark's; ``delta``
    needs a cluster with Delta Lake, and its table has both kinds of rows, with the column ``held_back``. Of other
    formats, the file ``out/_SUCCESS`` is written last.
    """
    parted = result.withColumn(HELD_BACK, result[QUARANTINE].isNotNull())
    parted.write.format(format).mode(mode).partitionBy(HELD_BACK).save(out)


def to_batches(out: str, **options: Any) -> Callable[["DataFrame", int], None]:
    """Return a function for ``writeStream.foreachBatch`` that de-identifies and writes each batch exactly once.

    ``options`` are those of :func:`~deid_runtime.spark.dataframe.deidentify`. Batch 7 is written to ``out/batch=7``, as
    :func:`write` does. After a crash Spark repeats the last batch with the same id and rows. When that batch is
    complete, nothing is written; otherwise its folder is replaced. ``writeStream`` needs a ``checkpointLocation``, and
    each stream its own ``out``.

    Raises SettingsError for options that :func:`~deid_runtime.spark.dataframe.deidentify` does not have.
    """
    wrong = options.keys() - (deidentify.__kwdefaults__ or {}).keys() - {"key"}
    if wrong or "key" not in options:
        raise SettingsError("to_batches takes only a key and the options of deidentify")

    def write_batch(df: "DataFrame", batch: int) -> None:
        place = f"{out}/batch={batch}"
        if not is_there(df.sparkSession, f"{place}/{_DONE}"):  # else it was written to its end
            write(deidentify(df, **options), place, mode="overwrite")

    return write_batch


def is_there(spark: "SparkSession", place: str) -> bool:
    """Return whether there is a file or folder ``place`` on any file system that Spark knows."""
    context = spark.sparkContext
    jvm: Any = context._jvm
    path = jvm.org.apache.hadoop.fs.Path(place)
    return bool(path.getFileSystem(context._jsc.hadoopConfiguration()).exists(path))

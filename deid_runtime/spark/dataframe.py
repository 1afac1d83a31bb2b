"""De-identify a Spark DataFrame: ``deidentify(df, text="note_text", id="note_id", key="env:DEID_SECRET_KEY")``.

The work is done by ``mapInArrow``: the rows of a partition reach a Python worker process in Arrow batches, and its
pipeline stays loaded for all batches and tasks. A row depends on no other row, so partitions, retries and the number of
workers change no byte, and the bytes are those of ``deid run`` with the same key and settings.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deid_runtime.errors import SettingsError
from deid_runtime.settings import Settings
from deid_runtime.spark.fhir import VALUE, DeidentifyResources, resource_schema
from deid_runtime.spark.rows import ArrowFunction, Columns, Deidentify, output_schema
from deid_runtime.spark.secrets import KeyPlace
from deid_runtime.spark.workers import WorkerTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Most rows in an Arrow batch that Spark sends to a worker. Spark's default of 10,000 notes would fill the memory.
ARROW_ROWS: Final = 256
_ARROW_SETTING: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_REDACTION_SETTING: Final = "spark.redaction.regex"
_REDACTED: Final = "(?i)secret|password|token|access[.]?key"  # Spark's default


def deidentify(
    df: "DataFrame",
    *,
    key: str | Path | KeyPlace,
    text: str = "text",
    id: str = "id",  # noqa: A002 - the name of the column in every other interface
    patient: str = "patient",
    keep: tuple[str, ...] = (),
    keep_ids: bool = False,
    patients: str = "",
    settings: Settings | None = None,
    server: str | None = None,
    batch_size: int = 32,
    allow_shared_key: bool = False,
) -> "DataFrame":
    """Return the notes of ``df`` with every identifier replaced. Nothing is computed before the result is used.

    ``text``, ``id`` and ``patient`` are columns of strings; ids may be integers, too. An empty ``patient`` means
    that notes have none. ``keep`` are columns to keep unchecked. All other columns are dropped. ``key`` is the
    place of the key (:mod:`deid_runtime.spark.secrets`), ``patients`` the place of a table of patient records,
    ``server``, such as ``host:8001,...``, runs the models elsewhere. Files that ``settings`` names must be on every
    machine.

    The result has id and patient as pseudonyms, the new text, ``spans`` (an array of structs with start, end, label,
    score, sources; half-open code points of the original text), the columns to keep, and ``quarantine`` (a struct with
    the original id, stage and reason). ``quarantine`` is null except for notes that were held back, whose other columns
    are null. Spark computes a result again for each use, so write it once.

    Ids must be unique; a row cannot detect that another row has the same id. See :func:`repeated_ids`.

    Raises SettingsError for a missing column, a wrong place of the key, or a wrong setting. A key or model that a
    worker cannot load fails the Spark job, with the reason in its error.
    """
    columns = Columns(text=text, id=id, patient=patient, kept=tuple(keep), keep_ids=keep_ids)
    missing = [name for name in columns.read if name not in df.columns]
    if missing:
        raise SettingsError(f"the table has no column {missing[0]!r}; name its columns with text, id, patient and keep")
    task = _task(df, key, allow_shared_key, patients, settings, server, batch_size)
    function = Deidentify(columns, task, batch_size)
    return df.select(*columns.read).mapInArrow(_plain(function), _schema(df, columns))


def deidentify_resources(
    df: "DataFrame",
    *,
    key: str | Path | KeyPlace,
    patients: str = "",
    settings: Settings | None = None,
    server: str | None = None,
    batch_size: int = 32,
    allow_shared_key: bool = False,
) -> "DataFrame":
    """Return the FHIR resources of ``df``, a line of JSON in each ``value``, as new resources in ``value``.

    See :mod:`deid_runtime.spark.fhir` for what is read and written. ``quarantine`` and all options are those of
    :func:`deidentify`. Raises SettingsError like :func:`deidentify`.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    if VALUE not in df.columns:
        raise SettingsError(f"the table has no column {VALUE!r}; read lines of JSON with spark.read.text")
    function = DeidentifyResources(_task(df, key, allow_shared_key, patients, settings, server, batch_size), batch_size)
    return df.select(VALUE).mapInArrow(_plain(function), from_arrow_schema(resource_schema()))


def _task(
    df: "DataFrame",
    key: str | Path | KeyPlace,
    allow_shared_key: bool,
    patients: str,
    settings: Settings | None,
    server: str | None,
    batch_size: int,
) -> WorkerTask:
    """Return what workers need. Raises SettingsError for a wrong place of the key or a wrong setting."""
    chosen = settings or Settings()
    if server is not None:
        chosen = replace(chosen, server=_server(server))
    if batch_size < 1:
        raise SettingsError(f"batch_size is {batch_size}; expected 1 or more")
    place = KeyPlace.parse(key, allow_shared=allow_shared_key)
    _check_variable(df.sparkSession, place)
    return WorkerTask(settings=chosen, key=place, patients=patients)


def repeated_ids(df: "DataFrame", id: str = "id") -> int:  # noqa: A002
    """Return how many ids occur in more than one row of ``df``. Reads only the column of ids."""
    return int(df.groupBy(id).count().where("count > 1").count())


def few_notes_at_a_time(spark: "SparkSession") -> None:
    """Make Spark send at most :data:`ARROW_ROWS` rows to a worker at a time, unless the user has set a number."""
    if spark.conf.get(_ARROW_SETTING) == "10000":
        spark.conf.set(_ARROW_SETTING, str(ARROW_ROWS))


def _plain(function: ArrowFunction) -> Any:
    """Return a plain function: Spark reads the name of the function, and an object has none."""

    def deidentify_notes(batches: Any) -> Any:
        return function(batches)

    return deidentify_notes


def _schema(df: "DataFrame", columns: Columns) -> Any:
    """Return the Spark schema of the result: the types of kept columns are those of ``df``."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructField, StructType

    own = from_arrow_schema(output_schema(columns, dict.fromkeys(columns.kept, pa.null())))
    given = {field.name: field.dataType for field in df.schema.fields if field.name in columns.kept}
    return StructType([StructField(each.name, given.get(each.name, each.dataType)) for each in own])


def _check_variable(spark: "SparkSession", place: KeyPlace) -> None:
    """Raise SettingsError when a setting of Spark exposes the key in logs and on the web page."""
    if place.kind != "env":
        return
    settings = spark.sparkContext.getConf()
    hidden = re.compile(settings.get(_REDACTION_SETTING, _REDACTED) or "(?!)")
    for prefix in ("spark.executorEnv.", "spark.yarn.appMasterEnv."):
        name = prefix + place.name
        if settings.contains(name) and not hidden.search(name):
            raise SettingsError(
                f"the setting {name} shows the key in the event log and on the web page of Spark; rename the variable "
                "so that spark.redaction.regex matches it, for instance DEID_SECRET_KEY, make a new key, and remove "
                "the old logs"
            )


def _server(endpoints: str) -> Any:
    from deid_client.server import TritonServer

    return TritonServer(endpoints=tuple(endpoints.split(",")))

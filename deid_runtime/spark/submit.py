"""``deid-spark``: de-identify a table on a cluster, as a command or as the script of ``spark-submit``.

spark-submit --files site.key deid_runtime/spark/submit.py omop-note in/note out/note --key sparkfile:site.key
"""

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from deid_runtime.cli.exits import ExitCode, reported
from deid_runtime.errors import DeidError, SettingsError
from deid_runtime.settings import Settings
from deid_runtime.spark.dataframe import deidentify, deidentify_resources, few_notes_at_a_time, repeated_ids
from deid_runtime.spark.writing import HELD_BACK, is_there, write
from deid_runtime.system.extras import install_extra

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Columns of the OMOP table NOTE that are numbers of its vocabularies. All others except ids and text are dropped.
OMOP_CONCEPTS: Final = (
    "note_type_concept_id", "note_class_concept_id", "encoding_concept_id", "language_concept_id",
    "note_event_field_concept_id",
)  # fmt: skip
#: The part of an error of Spark that is searched for its name; Java's stack trace follows.
_MESSAGE_CHARS: Final = 1_000


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.argument("kind", type=click.Choice(("table", "omop-note", "fhir-ndjson")))
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT")
@click.option(
    "--key", required=True, help="Place of the key: file:PATH on every machine, sparkfile:NAME, env:VARIABLE."
)
@click.option(
    "--format",
    type=click.Choice(("parquet", "delta")),
    default="parquet",
    show_default=True,
    help="Format of IN and OUT for tables and omop-note. delta needs a cluster with Delta Lake.",
)
@click.option("--id-column", default="id", show_default=True, help="For tables: column with the note id.")
@click.option("--text-column", default="text", show_default=True, help="For tables: column with the text.")
@click.option(
    "--patient-column", default="patient", show_default=True, help="For tables: column with the patient; '' for none."
)
@click.option(
    "--keep-column-unchecked",
    multiple=True,
    metavar="NAME",
    help="For tables: keep this column unchecked.",
)
@click.option("--keep-ids", is_flag=True, help="For tables: keep note and patient ids. They identify people.")
@click.option(
    "--patients", default="", help="Place of a table of patient records: a path on every machine, sparkfile:NAME."
)
@click.option("--profile", type=click.Choice(("fast", "full")), default="fast", show_default=True)
@click.option("--recall", type=click.Choice(("balanced", "high")), default="balanced", show_default=True)
@click.option("--window-borders", type=click.Choice(("packed", "blocks")), default="packed", show_default=True)
@click.option("--safe-harbor", is_flag=True, help="Follow the Safe Harbor rules, like `deid run --safe-harbor`.")
@click.option("--no-models", is_flag=True, help="Work without models. NOT SAFE: most names are missed.")
@click.option("--server", help="HOST:PORT[,...] of servers that run the models.")
@click.option("--partitions", type=click.IntRange(min=1), help="Divide the input into this many partitions.")
@click.option("--batch-size", type=click.IntRange(min=1), default=32, show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace OUT.")
@click.option("--allow-repeated-ids", is_flag=True, help="Do not check for note ids that occur in several rows.")
@click.option("--allow-shared-key", is_flag=True, help="Also accept a key file that others can open.")
@reported
def main(kind: str, source: str, out: str, **options: Any) -> None:
    """De-identify the notes of IN, and write them to OUT in the format of IN.

    table: a table with the columns named by the options. omop-note: a table with the columns of the OMOP table NOTE;
    OUT has note_id, person_id and note_text, and the columns of concepts. fhir-ndjson: lines of FHIR resources
    DocumentReference and Observation.

    The notes are in OUT/held_back=false. Notes that were held back are in OUT/held_back=true, with original ids;
    then the exit code is 1. Exit codes are those of `deid run`.
    """
    spark = open_spark()
    few_notes_at_a_time(spark)
    mode = "overwrite" if options["overwrite"] else "errorifexists"
    try:
        result = _result(spark, kind, source, options)
        if kind == "fhir-ndjson":
            _write_lines(result, out, mode)
        else:
            write(result, out, mode=mode, format=options["format"])
        counted = _counts(spark, "text" if kind == "fhir-ndjson" else options["format"], out)
    except DeidError:
        raise
    except Exception as error:  # noqa: BLE001 - Spark's errors share no base class, and may quote values
        raise _settings_error(error) from None
    held_back = counted.get(True, 0)
    click.echo(f"{counted.get(False, 0):,} notes written, {held_back:,} held back; see {out}", err=True)
    if held_back:
        sys.exit(ExitCode.HELD_BACK)


def open_spark() -> "SparkSession":
    """Return the session of this process. Raises SettingsError when PySpark is not installed."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SettingsError(f"deid-spark needs the library {error.name}; {install_extra('spark')}") from error
    return SparkSession.builder.appName("deid-spark").getOrCreate()


def _result(spark: "SparkSession", kind: str, source: str, options: dict[str, Any]) -> "DataFrame":
    settings = Settings(
        profile=options["profile"],
        recall=options["recall"],
        window_borders=options["window_borders"],
        safe_harbor=options["safe_harbor"],
        use_models=not options["no_models"],
    )
    common = {
        "key": options["key"],
        "patients": options["patients"],
        "settings": settings,
        "server": options["server"],
        "batch_size": options["batch_size"],
        "allow_shared_key": options["allow_shared_key"],
    }
    is_fhir = kind == "fhir-ndjson"
    if not is_fhir and options["format"] == "parquet" and is_there(spark, f"{source}/_delta_log"):
        raise SettingsError(
            "IN is a Delta table: its Parquet files also have rows that were deleted or changed since; give --format "
            "delta"
        )
    df = spark.read.text(source) if is_fhir else spark.read.format(options["format"]).load(source)
    if options["partitions"]:
        df = df.repartition(options["partitions"])
    if is_fhir:
        return deidentify_resources(df, **common)
    if kind == "omop-note":
        kept = tuple(name for name in OMOP_CONCEPTS if name in df.columns)
        columns: dict[str, Any] = {"id": "note_id", "patient": "person_id", "text": "note_text", "keep": kept}
    else:
        columns = {
            "id": options["id_column"],
            "patient": options["patient_column"],
            "text": options["text_column"],
            "keep": options["keep_column_unchecked"],
        }
    result = deidentify(df, **columns, keep_ids=options["keep_ids"], **common)
    if not options["allow_repeated_ids"] and (repeated := repeated_ids(df, columns["id"])):
        raise SettingsError(
            f"{repeated:,} note ids occur in several rows; make them unique, or give --allow-repeated-ids: such notes "
            "get the same pseudonym"
        )
    return result


def _write_lines(result: "DataFrame", out: str, mode: str) -> None:
    """Write resources as text, and held-back notes as JSON in text."""
    from pyspark.sql import functions as f

    quarantine = result["quarantine"]
    line = f.coalesce(result["value"], f.to_json(quarantine))
    lines = result.select(line.alias("value"), quarantine.isNotNull().alias(HELD_BACK))
    lines.write.mode(mode).partitionBy(HELD_BACK).text(out)


def _counts(spark: "SparkSession", format_name: str, out: str) -> dict[bool, int]:
    written = spark.read.format(format_name).load(out)
    if HELD_BACK not in written.columns:
        return {}
    return {str(row[HELD_BACK]).lower() == "true": row["count"] for row in written.groupBy(HELD_BACK).count().collect()}


def _settings_error(error: Exception) -> SettingsError:
    """Return an error with the reason of a failed job, without its traceback, which may quote text."""
    reason = ""
    for line in str(error).splitlines():
        name, _, message = line.strip().partition("Error: ")
        if message and name.startswith("deid_runtime.errors."):
            reason = message
    name = getattr(error, "getCondition", lambda: "")() or type(error).__name__
    if "DATA_SOURCE_NOT_FOUND" in str(error)[:_MESSAGE_CHARS]:
        reason = "this Spark has no Delta Lake; run on a cluster with it, or start Spark with --packages io.delta:..."
    return SettingsError(reason or f"the Spark job failed with {name}; see the log of the executors")


if __name__ == "__main__":
    main()

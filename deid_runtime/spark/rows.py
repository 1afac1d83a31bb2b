"""Turn Arrow batches of notes into Arrow batches of de-identified notes. Spark and Ray Data share it.

The output has the columns of :func:`output_fields`. A note that was held back is a row with ``quarantine`` and without
anything else: no text, no pseudonym, no kept column.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deid_runtime.errors import SettingsError
from deid_runtime.formats.records import Item, ReadOptions, Source, Unreadable, note_from_fields
from deid_runtime.pipeline.outcomes import Deidentified, Outcome, Quarantined
from deid_runtime.run.batches import BATCH_CHARS, Batch
from deid_runtime.run.outcomes import span_rows
from deid_runtime.spans import Note
from deid_runtime.spark.workers import WorkerTask, outcomes_of
from deid_runtime.system.shown_ids import shown_id

if TYPE_CHECKING:
    import pyarrow

SPANS: Final = "spans"
QUARANTINE: Final = "quarantine"
#: The source of notes that are not from a file.
NOWHERE: Final = Source(Path(), "", "jsonl", 0)

#: One output row, by column.
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a table of notes. ``patient`` is empty when notes have no patient.

    ``kept`` columns are kept unchanged, whatever they contain. All other columns are dropped. With ``keep_ids``, ids
    of notes and patients are kept instead of pseudonyms.

    Raises SettingsError when two columns have the same name.
    """

    text: str = "text"
    id: str = "id"
    patient: str = "patient"
    kept: tuple[str, ...] = ()
    keep_ids: bool = False

    def __post_init__(self) -> None:
        names = [*self.read, SPANS, QUARANTINE]
        if len({name.lower() for name in names}) < len(names):
            raise SettingsError(
                f"the columns id, text, patient, those to keep, {SPANS} and {QUARANTINE} must have different names, "
                "even when letter case is ignored"
            )

    @property
    def read(self) -> tuple[str, ...]:
        """Return the columns that are read."""
        return (self.id, *filter(None, [self.patient]), self.text, *self.kept)

    def item(self, fields: Mapping[str, object]) -> Item:
        """Return a row as a note, or why it is not one; the rules are those for tables in ``deid run``."""
        options = ReadOptions(
            id_column=self.id, text_column=self.text, patient_column=self.patient, type_column="", unchecked_columns=()
        )
        return note_from_fields(fields, options, "")

    def row(self, fields: Mapping[str, object], outcome: Deidentified) -> Row:
        """Return the output row of a note. ``fields`` is its input row."""
        ids: Row = {self.id: outcome.note_id if self.keep_ids else outcome.note_pseudonym}
        if self.patient:
            given = fields.get(self.patient)
            original = None if given is None else str(given)
            ids[self.patient] = original if self.keep_ids else outcome.patient_pseudonym or None
        kept = {name: fields[name] for name in self.kept}
        return {**ids, self.text: outcome.text, SPANS: span_rows(outcome.spans), **kept, QUARANTINE: None}


def span_type() -> "pyarrow.DataType":
    """Return the Arrow type of one span. Offsets are half-open code points of the original text."""
    import pyarrow as pa

    return pa.struct(
        [
            ("start", pa.int32()),
            ("end", pa.int32()),
            ("label", pa.string()),
            ("score", pa.float64()),
            ("sources", pa.list_(pa.string())),
        ]
    )


def quarantine_type() -> "pyarrow.DataType":
    """Return the Arrow type of a quarantine entry; ``id`` is the original id of the note, or its digest."""
    import pyarrow as pa

    return pa.struct([("id", pa.string()), ("stage", pa.string()), ("reason", pa.string())])


def output_schema(columns: Columns, kept: Mapping[str, "pyarrow.DataType"]) -> "pyarrow.Schema":
    """Return the schema of the output; ``kept`` are the types of the columns that are kept."""
    import pyarrow as pa

    return pa.schema(
        [
            (columns.id, pa.string()),
            *([(columns.patient, pa.string())] if columns.patient else []),
            (columns.text, pa.string()),
            (SPANS, pa.list_(span_type())),
            *kept.items(),
            (QUARANTINE, quarantine_type()),
        ]
    )


def deidentify_batches(
    batches: Iterable["pyarrow.RecordBatch"], columns: Columns, task: WorkerTask, batch_size: int
) -> Iterator["pyarrow.RecordBatch"]:
    """Yield the output of Arrow batches, in order, one output batch for every ``batch_size`` notes or fewer.

    Raises SettingsError or ModelError when the pipeline cannot be loaded here.
    """
    import pyarrow as pa

    schema: pa.Schema | None = None
    held: list[Mapping[str, object]] = []  # the input rows of the batches in progress, in order

    def read() -> Iterator[Batch]:
        nonlocal schema
        for table in batches:
            if schema is None:
                schema = output_schema(columns, {name: table.schema.field(name).type for name in columns.kept})
            for part in _parts(table.select(list(columns.read)).to_pylist(), columns, batch_size):
                held.extend(fields for fields, _ in part)
                yield Batch([(NOWHERE, item) for _, item in part], sum(map(_chars, part)))

    for batch, outcomes in outcomes_of(task, read()):
        fields, held[: len(batch.entries)] = held[: len(batch.entries)], []
        rows = _rows(batch, outcomes, fields, columns)
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _parts(
    rows: Sequence[Mapping[str, object]], columns: Columns, batch_size: int
) -> Iterator[list[tuple[Mapping[str, object], Item]]]:
    """Yield the rows with their items in lists of at most ``batch_size`` rows, or of few long ones."""
    part: list[tuple[Mapping[str, object], Item]] = []
    chars = 0
    for fields in rows:
        part.append((fields, columns.item(fields)))
        chars += _chars(part[-1])
        if len(part) >= batch_size or chars >= BATCH_CHARS:
            yield part
            part, chars = [], 0
    if part:
        yield part


def _chars(entry: tuple[Mapping[str, object], Item]) -> int:
    return len(entry[1].text) if isinstance(entry[1], Note) else 0


def _rows(
    batch: Batch, outcomes: Sequence[Outcome], fields: Sequence[Mapping[str, object]], columns: Columns
) -> list[Row]:
    remaining = iter(outcomes)
    rows = []
    for (_, item), given in zip(batch.entries, fields, strict=True):
        outcome = item if isinstance(item, Unreadable) else next(remaining)
        assert isinstance(outcome, Deidentified | Quarantined | Unreadable)  # the task is to de-identify
        if isinstance(outcome, Deidentified):
            rows.append(columns.row(given, outcome))
        else:
            rows.append(held_back(outcome))
    return rows


def held_back(outcome: Quarantined | Unreadable) -> Row:
    """Return the row of a note that was held back: its id as in the quarantine of ``deid run``, and the reason."""
    shown = shown_id(outcome.id if isinstance(outcome, Unreadable) else outcome.note_id)
    return {QUARANTINE: {"id": shown or None, "stage": outcome.stage, "reason": outcome.reason}}


#: A function from Arrow batches to Arrow batches, as ``mapInArrow`` takes it.
ArrowFunction = Callable[[Iterable["pyarrow.RecordBatch"]], Iterator["pyarrow.RecordBatch"]]


@dataclass(frozen=True, slots=True)
class Deidentify:
    """The function that a cluster sends to its workers. Its content travels in plans, so it never has a key."""

    columns: Columns
    task: WorkerTask
    batch_size: int = field(default=32)

    def __call__(self, batches: Iterable["pyarrow.RecordBatch"]) -> Iterator["pyarrow.RecordBatch"]:
        """Yield the output of the batches of one task."""
        return deidentify_batches(batches, self.columns, self.task, self.batch_size)

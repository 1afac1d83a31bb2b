"""The records of all inputs in order, cut into batches that are bounded in number and size."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from deid_runtime.formats import FORMATS, read_notes
from deid_runtime.formats.records import Item, Meter, ReadOptions, Source, Unreadable
from deid_runtime.seen_ids import SeenIds
from deid_runtime.spans import Note

#: A batch is closed when it holds this many characters, whatever the number of its notes.
BATCH_CHARS = 2**20


@dataclass(slots=True)
class Batch:
    """Consecutive records with the files they came from. An entry without record announces a table that begins."""

    entries: list[tuple[Source, Item | None]] = field(default_factory=list)
    chars: int = 0

    @property
    def notes(self) -> list[Note]:
        """The records that can be processed, in order."""
        return [item for _, item in self.entries if isinstance(item, Note)]


def make_batches(inputs: Iterable[Source], options: ReadOptions, meter: Meter, batch_size: int) -> Iterator[Batch]:
    """Yield every record exactly once, in order, at most ``batch_size`` a batch.

    A note whose id has occurred before comes out as unreadable. Raises SourceError for an input that cannot be read.
    """
    seen = SeenIds()
    batch = Batch()
    for source, item in _entries(inputs, options, meter):
        if isinstance(item, Note):
            if seen.add(item.id):
                batch.chars += len(item.text)
            else:
                item = Unreadable(item.id, "the id has occurred before in this run; make note ids unique")
        batch.entries.append((source, item))
        if len(batch.entries) >= batch_size or batch.chars >= BATCH_CHARS:
            yield batch
            batch = Batch()
    if batch.entries:
        yield batch


def _entries(inputs: Iterable[Source], options: ReadOptions, meter: Meter) -> Iterator[tuple[Source, Item | None]]:
    for source in inputs:
        if FORMATS[source.format].is_table:
            yield source, None
        for item in read_notes(source, options, meter):
            yield source, item

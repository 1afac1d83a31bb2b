"""Process the records between two borders of the inputs, in shards that are committed one by one."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from deid_runtime.errors import DefectError
from deid_runtime.formats.records import Meter, ReadOptions
from deid_runtime.formats.sources import Inputs
from deid_runtime.run.batches import Batch, Border, InputPart, make_batches
from deid_runtime.run.crosswalk import public_of
from deid_runtime.run.job_folder import END, JobFolder
from deid_runtime.run.kept_columns import KeptColumns
from deid_runtime.run.outcomes import Work
from deid_runtime.run.report import Counts
from deid_runtime.run.shards import ShardWriter
from deid_runtime.run.sinks import Rewriter, Sink, SpanWriter
from deid_runtime.run.workers import InProcess, WorkerPool


class ShardRun:
    """Reads, processes and commits. ``on_batch`` is called after each batch that was written.

    It gets the counts and the number of input bytes of this process so far.
    """

    def __init__(
        self,
        inputs: Inputs,
        work: Work,
        read: ReadOptions,
        job: JobFolder,
        workers: InProcess | WorkerPool,
        *,
        kept: KeptColumns | None,
        batch_size: int,
        shard_chars: int,
        keep_ids: bool,
        is_folder: bool,
        crosswalk_private_key: str = "",
        on_batch: Callable[[Counts, int], object] = lambda counts, read_bytes: None,
    ) -> None:
        self._inputs = inputs
        self._work = work
        self._read = read
        self._job = job
        self._workers = workers
        self._kept = kept
        self._batch_size = batch_size
        self._shard_chars = shard_chars if job.state.can_resume else None
        self._keep_ids = keep_ids
        self._is_folder = is_folder
        self._crosswalk_key = public_of(crosswalk_private_key) if crosswalk_private_key else None
        self._on_batch = on_batch
        self._meter = Meter()
        self._read_bytes = 0  # up to the last batch that was written; the reader is ahead of it
        self._records_read = 0
        self._seconds = dict.fromkeys(("input", "output"), 0.0)
        self._done = Counts()  # of the shards that this process has committed

    def do(self, part: InputPart) -> None:
        """Process the records of ``part``. Raises SourceError, ModelError, DefectError, OSError."""
        at, end = part.start, part.end or END
        batches = make_batches(
            self._inputs,
            self._read,
            self._meter,
            self._batch_size,
            whole_patients=self._work.whole_patients,
            part=part,
        )
        if self._kept is not None:
            batches = self._kept.hold_back(batches)
        outcomes = self._workers.map(self._timed(batches))
        is_exhausted = False
        while not is_exhausted:
            with ExitStack() as stack:
                writer: ShardWriter | None = None
                is_exhausted = True
                for batch, row in outcomes:
                    begun = time.perf_counter()
                    if writer is None:
                        writer = stack.enter_context(self._begin(at))
                    writer.add(batch, row)
                    self._read_bytes = batch.read_bytes
                    self._seconds["output"] += time.perf_counter() - begun
                    self._show(writer)
                    if self._is_full(writer) and batch.can_end and batch.border != end:
                        self._commit(writer, batch.border)
                        at, is_exhausted = batch.border, False
                        break
                else:
                    self._read_bytes = self._meter.read_bytes
                    self._commit(writer or stack.enter_context(self._begin(at)), end)
        if self._records_read != self._done.read:
            raise DefectError(
                f"{self._records_read} records were read, but {self._done.read} written or quarantined; no output "
                "was written. This is a defect, please report it"
            )

    def _timed(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches; count the records and the seconds spent reading."""
        while True:
            begun = time.perf_counter()
            batch = next(batches, None)
            self._seconds["input"] += time.perf_counter() - begun
            if batch is None:
                return
            self._records_read += sum(item is not None for _, item in batch.entries)
            yield batch

    def _begin(self, at: Border) -> ShardWriter:
        return ShardWriter(self._job.open_path(), at, self._open_sink, self._work.records, self._crosswalk_key)

    def _open_sink(self, folder: Path) -> Sink:
        if self._work.task == "detect":
            return SpanWriter(folder)
        return Rewriter(folder, self._read, keep_ids=self._keep_ids, is_folder=self._is_folder)

    def _is_full(self, writer: ShardWriter) -> bool:
        return self._shard_chars is not None and writer.chars >= self._shard_chars

    def _commit(self, writer: ShardWriter, end: Border) -> None:
        begun = time.perf_counter()
        self._job.note_pipeline(self._workers.describe())
        self._seconds["output"] += time.perf_counter() - begun
        self._job.commit(writer, end, read_bytes=self._read_bytes, seconds=self._all_seconds())
        self._done.add(writer.counts)

    def _all_seconds(self) -> Mapping[str, float]:
        return {
            "input": self._seconds["input"],
            **self._workers.stage_seconds(),
            "output": self._seconds["output"],
        }

    def _show(self, writer: ShardWriter) -> None:
        counts = Counts()
        counts.add(self._done)
        counts.add(writer.counts)
        self._on_batch(counts, self._read_bytes)

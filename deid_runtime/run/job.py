"""Process files: read notes, process them in workers, and write them in input order, all or nothing.

Every record that is read is written to the output or to the quarantine, exactly once. The counts are checked before the
output is moved to its final path.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from deid_runtime.errors import InputError, SettingsError
from deid_runtime.formats import FORMATS, format_of
from deid_runtime.formats.records import Meter, ReadOptions, Source, Unreadable, Writer
from deid_runtime.formats.sources import FileCount, Inputs, find_inputs
from deid_runtime.pipeline import Deidentified, Detected, Outcome, Quarantined
from deid_runtime.run.batches import Batch, make_batches
from deid_runtime.run.crosswalk import CrosswalkWriter, crosswalk_line
from deid_runtime.run.kept_columns import KeptColumns, as_batch, check_kept_columns
from deid_runtime.run.outcomes import Task, Work, span_rows
from deid_runtime.run.progress import progress
from deid_runtime.run.quarantine import Quarantine
from deid_runtime.run.report import Counts, describe_outputs, make_manifest
from deid_runtime.run.staging import Staging, manifest_path, quarantine_path, writing
from deid_runtime.run.workers import open_workers
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, PatientRecord
from deid_runtime.system.digests import BodyDigests


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of reading, processing and writing. None of them changes which spans are found in a note.

    With ``whole_patients`` the surrogates of a note agree with all notes of its patient; see
    :meth:`~deid_runtime.pipeline.Pipeline.deidentify`. :mod:`deid_runtime.run.batches` says which notes are held back
    then. The option applies to de-identification only: detection does not depend on other notes.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    format: str | None = None  # None: by the suffix of each file
    workers: int = 1  # worker processes need a script guarded by if __name__ == "__main__"
    in_process: bool = True  # a single worker runs in this process; False: in a process that can be replaced
    batch_size: int = 32  # notes sent to a worker at a time
    whole_patients: bool = False  # surrogates agree over all notes of a patient; these must be consecutive
    keep_ids: bool = False
    overwrite: bool = False
    quiet: bool = False
    crosswalk: Path | None = None  # where to write the encrypted crosswalk
    crosswalk_keys: tuple[str, ...] = ()  # public keys to encrypt the crosswalk to


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a run and the paths of its files."""

    out: Path
    counts: Counts
    special_files: int = 0  # pipes, sockets and devices in the input folders; they are not opened

    @property
    def manifest(self) -> Path:
        """The path of the run report, beside the output."""
        return manifest_path(self.out)

    @property
    def quarantine(self) -> Path:
        """The path of the quarantine, beside the output."""
        return quarantine_path(self.out)


def deidentify_files(
    paths: Sequence[Path],
    out: Path,
    settings: Settings,
    options: RunOptions,
    *,
    key: bytes,
    records: Mapping[str, PatientRecord] | None = None,
) -> Summary:
    """Replace every identifier in the notes of ``paths`` and write the notes to ``out`` in their input format.

    ``out`` is a file when the only input is a file. Otherwise ``out`` is a folder: each table keeps its path relative
    to its input, and each note that was a file becomes a file.

    Raises SourceError, SettingsError, ModelError or OutputError; ``out`` is then unchanged.
    """
    inputs, files = find_inputs(paths, options.format)
    _check_options(inputs, files, options)
    if inputs.is_single_file:
        _check_out_suffix(next(iter(inputs)), out)
    work = Work(
        task="deidentify",
        settings=settings,
        key=key,
        records=records or {},
        whole_patients=options.whole_patients,
    )
    return _run(inputs, files, out, work, options, is_folder=not inputs.is_single_file)


def detect_files(
    paths: Sequence[Path],
    out: Path,
    settings: Settings,
    options: RunOptions,
    *,
    records: Mapping[str, PatientRecord] | None = None,
) -> Summary:
    """Write the spans found in the notes of ``paths`` to the JSON Lines file ``out``, one object per note.

    The objects hold the original note ids.

    Raises SourceError, SettingsError, ModelError or OutputError; ``out`` is then unchanged.
    """
    inputs, files = find_inputs(paths, options.format)
    _check_options(inputs, files, options)
    work = Work(task="detect", settings=settings, records=records or {})
    return _run(inputs, files, out, work, options, is_folder=False)


def _run(
    inputs: Inputs, files: Mapping[str, FileCount], out: Path, work: Work, options: RunOptions, *, is_folder: bool
) -> Summary:
    started = datetime.now(UTC)
    meter, counts, seconds = Meter(), Counts(), dict.fromkeys(("input", "output"), 0.0)
    total_bytes = max(sum(count.size_bytes for count in files.values()), 1)
    with Staging(
        out, inputs.paths, is_folder=is_folder, overwrite=options.overwrite, crosswalk=options.crosswalk
    ) as staging:
        with ExitStack() as stack:
            report = stack.enter_context(progress(quiet=options.quiet))
            kept = _check_columns(inputs, work, options)
            workers = open_workers(work, options.workers, in_process=options.in_process)
            stack.enter_context(workers)
            digests = BodyDigests(staging.body)
            with (
                writing(out),
                Quarantine(staging.quarantine) as quarantine,
                _open_crosswalk(staging.crosswalk, options) as crosswalk,
                closing(_open_sink(work.task, inputs, out, staging.body, digests, options)) as sink,
            ):
                counts.quarantined = quarantine.by_stage
                batches = make_batches(
                    inputs, options.read, meter, options.batch_size, whole_patients=work.whole_patients
                )
                if kept is not None:
                    batches = kept.hold_back(batches)
                for batch, outcomes in workers.map(_counted(batches, work.records, counts, seconds)):
                    begun = time.perf_counter()
                    _write(batch, outcomes, sink, crosswalk, quarantine, counts)
                    seconds["output"] += time.perf_counter() - begun
                    report(counts.written + counts.quarantined.total(), min(meter.read_bytes / total_bytes, 1.0))
            counts.check()
            manifest = make_manifest(
                work.task,
                inputs=_describe_inputs(inputs, files),
                outputs=describe_outputs(
                    digests.to_json(is_folder=is_folder), quarantine.digest, crosswalk.digest if crosswalk else None
                ),
                options=_describe_options(options),
                pipeline=workers.describe(),
                counts=counts,
                started=started,
                windows=workers.window_counts(),
                seconds={"input": seconds["input"], **workers.stage_seconds(), "output": seconds["output"]},
            )
        # The commit is the last step: a run that fails earlier leaves no output, and no step after it can fail.
        staging.commit(manifest)
    return Summary(out, counts, inputs.special_files)


def _check_columns(inputs: Inputs, work: Work, options: RunOptions) -> KeptColumns | None:
    """Check the columns to keep with the detectors of the run; return None when there are none."""
    if not options.read.keep_columns:
        return None
    plain = Work(task="detect", settings=work.settings)
    with open_workers(plain, options.workers, in_process=options.in_process) as workers:

        def search(texts: Sequence[str]) -> list[str]:
            [(_, outcomes)] = workers.map(iter([as_batch(texts)]))
            return [_found_in_value(outcome) for outcome in outcomes]

        return check_kept_columns(inputs, options.read, search)


def _found_in_value(outcome: Outcome) -> str:
    if isinstance(outcome, Quarantined):
        return f"a value that could not be searched (stage {outcome.stage})"
    labels = sorted({span.label for span in outcome.spans})
    return f"a value that looks like {', '.join(labels)}" if labels else ""


def _counted(
    batches: Iterator[Batch], records: Mapping[str, PatientRecord], counts: Counts, seconds: dict[str, float]
) -> Iterator[Batch]:
    """Yield the batches; count the records and the seconds spent reading."""
    while True:
        begun = time.perf_counter()
        batch = next(batches, None)
        seconds["input"] += time.perf_counter() - begun
        if batch is None:
            return
        for _, item in batch.entries:
            counts.read += item is not None
            if isinstance(item, Note):
                counts.empty += not item.text
                counts.with_record += item.patient in records
                counts.with_patient += bool(item.patient)
        yield batch


def _open_crosswalk(path: Path | None, options: RunOptions) -> "CrosswalkWriter | nullcontext[None]":
    return CrosswalkWriter(path, options.crosswalk_keys) if path else nullcontext()


def _open_sink(
    task: Task, inputs: Inputs, out: Path, body: Path, digests: BodyDigests, options: RunOptions
) -> "_Rewriter | _SpanFile":
    if task == "detect":
        return _SpanFile(body, digests)
    # The requested output name decides whether JSON Lines are compressed.
    return _Rewriter(body, digests, options, out.name if inputs.is_single_file and format_of(out.name) else None)


class _Rewriter:
    """Writes notes in the format of their source, with one writer for each table."""

    def __init__(self, body: Path, digests: BodyDigests, options: RunOptions, name: str | None) -> None:
        self._body = body
        self._digests = digests
        self._options = options
        self._name = name  # of the output when it is a single file, else None
        self._source: Source | None = None
        self._writer: Writer | None = None

    def begin(self, source: Source) -> None:
        self.close()
        self._source = source
        path = self._body
        is_table = FORMATS[source.format].is_table
        if path.is_dir() and is_table:
            path = path / source.name
            path.parent.mkdir(parents=True, exist_ok=True)
        named = replace(source, name=self._name) if self._name else source
        create = partial(self._digests.create, format_name=source.format, is_table=is_table)
        self._writer = FORMATS[source.format].write(named, self._options.read, path, create)

    def write(self, source: Source, note: Note, outcome: Outcome) -> None:
        assert isinstance(outcome, Deidentified)  # the task decides the class of the outcomes
        if source is not self._source:
            self.begin(source)
        assert self._writer
        rewritten = replace(note, text=outcome.text)
        if not self._options.keep_ids:
            rewritten = replace(rewritten, id=outcome.note_pseudonym, patient=outcome.patient_pseudonym)
        self._writer.write(rewritten)

    def close(self) -> None:
        if self._writer:
            self._writer.close()
            self._writer = None


class _SpanFile:
    """Writes found spans as JSON Lines, one line per note, for every input format.

    Only the owner may read the file: it holds note ids and the offsets of identifiers.
    """

    def __init__(self, body: Path, digests: BodyDigests) -> None:
        self._file = digests.create(body, "jsonl", is_table=True, mode=0o600)

    def begin(self, source: Source) -> None:
        pass

    def write(self, source: Source, note: Note, outcome: Outcome) -> None:
        assert isinstance(outcome, Detected)
        row = {"id": outcome.note_id, "spans": span_rows(outcome.spans)}
        self._file.write((json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8"))

    def close(self) -> None:
        self._file.close()


def _write(
    batch: Batch,
    outcomes: Sequence[Outcome],
    sink: _Rewriter | _SpanFile,
    crosswalk: CrosswalkWriter | None,
    quarantine: Quarantine,
    counts: Counts,
) -> None:
    remaining = iter(outcomes)
    for source, item in batch.entries:
        if item is None:
            sink.begin(source)
        elif isinstance(item, Unreadable):
            quarantine.add(item.id, item.stage, item.reason, item.position)
        else:
            outcome = next(remaining)
            if isinstance(outcome, Quarantined):
                quarantine.add(item.id, outcome.stage, outcome.reason, item.position)
            else:
                try:
                    sink.write(source, item, outcome)
                except InputError as error:
                    quarantine.add(item.id, error.stage, str(error), item.position)
                    continue
                if crosswalk and isinstance(outcome, Deidentified):
                    crosswalk.add(crosswalk_line(item, outcome))
                counts.written += 1
                counts.labels.update(span.label for span in outcome.spans)


def _check_options(inputs: Inputs, files: Mapping[str, FileCount], options: RunOptions) -> None:
    if options.workers < 1 or options.batch_size < 1:
        raise SettingsError("workers and batch size must be at least 1")
    if options.read.kept_columns and not all(FORMATS[name].is_table for name in files):
        raise SettingsError("--keep-column and --type-column are for tables; files of one note have no columns")
    if (options.crosswalk is None) != (not options.crosswalk_keys):
        raise SettingsError("a crosswalk needs a file to write and a public key: --crosswalk and --crosswalk-key")


def _check_out_suffix(source: Source, out: Path) -> None:
    """Raise SettingsError when the suffix of the output belongs to another format than the input's."""
    promised = format_of(out.name)
    if promised not in (None, source.format) and source.format != "brat":
        raise SettingsError(
            f"{out.name} looks like {promised}, but {source.name} is {source.format} and is written as it came; "
            "give the output the suffix of the input"
        )


def _describe_inputs(inputs: Inputs, files: Mapping[str, FileCount]) -> dict[str, object]:
    """Describe the inputs for the run report. Names of single-note files are left out: they are note ids."""
    return {
        "names": [path.name for path in inputs.paths if path.is_dir() or _is_table(path, inputs.format)],
        "formats": {name: {"files": count.files, "bytes": count.size_bytes} for name, count in files.items()},
        "special_files_skipped": inputs.special_files,
    }


def _is_table(path: Path, format_name: str | None) -> bool:
    name = format_name or format_of(path.name)
    return bool(name) and FORMATS[str(name)].is_table


def _describe_options(options: RunOptions) -> dict[str, object]:
    return {
        "format": options.format,
        "whole_patients": options.whole_patients,
        "keep_ids": options.keep_ids,
        "keep_columns": list(options.read.keep_columns),
        "unchecked_columns": list(options.read.unchecked_columns),
        "workers": options.workers,
        "batch_size": options.batch_size,
        "crosswalk_keys": list(options.crosswalk_keys),
    }

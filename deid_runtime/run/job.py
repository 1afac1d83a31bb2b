"""Process files: read notes, process them in workers, and write them in input order, all or nothing.

Every record that is read is written to the output or to the quarantine, exactly once. The counts are checked before the
output is moved to its final path.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from deid_runtime.errors import SettingsError, SourceError
from deid_runtime.formats import FORMATS, format_of
from deid_runtime.formats.records import ReadOptions, Source
from deid_runtime.formats.sources import FileCount, Inputs, find_inputs, plan_tables
from deid_runtime.pipeline.outcomes import Outcome, Quarantined
from deid_runtime.run.batches import DEFAULT_SHARD_CHARS
from deid_runtime.run.crosswalk import derived_private_key
from deid_runtime.run.identity import describe_inputs, describe_read_options, digest_identity, make_identity
from deid_runtime.run.job_folder import JobFolder, discard_finished, finished_counts, open_job
from deid_runtime.run.joining import Body, join_body, join_crosswalk, join_quarantine, write_delta_logs
from deid_runtime.run.kept_columns import KeptColumns, as_batch, check_kept_columns
from deid_runtime.run.outcomes import Gate, Work
from deid_runtime.run.progress import Mode, Progress, Report, progress
from deid_runtime.run.report import Counts, describe_outputs, make_manifest
from deid_runtime.run.shard_run import ShardRun
from deid_runtime.run.staging import Staging, manifest_path, quarantine_path, writing
from deid_runtime.run.workers import open_workers, total
from deid_runtime.settings import Settings
from deid_runtime.spans import PatientRecord


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of reading, processing and writing. None of them changes which spans are found in a note.

    With ``whole_patients`` the surrogates of a note agree with all notes of its patient; see
    :meth:`~deid_runtime.pipeline.processing.Pipeline.deidentify`. :mod:`deid_runtime.run.batches` explains which notes
    are then held back. The option applies to de-identification only: detection does not depend on other notes.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    format: str | None = None  # None: by the suffix of each file
    workers: int = 1  # worker processes need a script guarded by if __name__ == "__main__"
    in_process: bool = True  # a single worker runs in this process; False: in a process that can be replaced
    batch_size: int = 32  # notes sent to a worker at a time
    memory_mb: int | None = None  # most memory of this process and its workers together, in MiB; None: no limit
    whole_patients: bool = False  # surrogates agree over all notes of a patient; these must be consecutive
    keep_ids: bool = False
    gate: Gate = "none"  # which de-identified notes a second look holds back
    overwrite: bool = False
    quiet: bool = False  # show no progress
    progress: Mode = "auto"  # how to show progress on stderr
    resume: bool = False  # continue an unfinished run to the same output
    restart: bool = False  # remove an unfinished run to the same output and start again
    can_resume: bool = True  # False: the key is used only for this run, so no later run can continue it
    shard_chars: int = DEFAULT_SHARD_CHARS  # a shard ends when it has this many characters
    crosswalk: Path | None = None  # where to write the encrypted crosswalk
    crosswalk_keys: tuple[str, ...] = ()  # public keys to encrypt the crosswalk to
    on_counts: Callable[[Counts], object] | None = None  # called with the counts of the whole run after each batch


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a run and the paths of its files."""

    out: Path
    counts: Counts
    special_files: int = 0  # pipes, sockets and devices in the input folders; they are not opened
    is_done_before: bool = False  # an earlier run had finished the output, so nothing was done

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
    _check_options(files, options)
    inputs, files = plan_tables(inputs, files, options.read, format_of(out.name) if inputs.is_single_file else None)
    if inputs.is_single_file:
        _check_out_suffix(next(iter(inputs)), out)
    work = Work(
        task="deidentify",
        settings=settings,
        key=key,
        records=records or {},
        gate=options.gate,
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

    The objects have the original note ids.

    Raises SourceError, SettingsError, ModelError or OutputError; ``out`` is then unchanged.
    """
    inputs, files = find_inputs(paths, options.format)
    _check_options(files, options)
    inputs, files = plan_tables(inputs, files, options.read)
    work = Work(task="detect", settings=settings, records=records or {})
    return _run(inputs, files, out, work, options, is_folder=False)


def _run(
    inputs: Inputs, files: Mapping[str, FileCount], out: Path, work: Work, options: RunOptions, *, is_folder: bool
) -> Summary:
    """Process all records in shards, then join these. Shards that were committed earlier are not repeated."""
    identity = _identity(inputs, work, options, out, is_folder=is_folder)
    started = datetime.now(UTC)
    staging = Staging(out, inputs.paths, is_folder=is_folder, overwrite=options.overwrite, crosswalk=options.crosswalk)
    if options.resume and (finished := finished_counts(out, identity)) is not None:
        staging.clean_up(lambda parent: discard_finished(parent, out))
        return Summary(out, finished, inputs.special_files, is_done_before=True)
    with staging, writing(out), _open_job(staging, out, identity, inputs, options) as job:
        cached = _process(inputs, files, work, options, job, is_folder=is_folder)
        if job.state.resumed and describe_inputs(inputs) != identity["inputs"]:
            raise SourceError("the inputs were changed during the run; start again with --restart")
        outputs = _join(job, staging, work, options, out, inputs, is_folder=is_folder)
        counts = job.state.counts
        manifest = make_manifest(
            work.task,
            inputs=_describe_inputs(inputs, files),
            outputs=outputs,
            options=_describe_options(options),
            pipeline=job.state.pipeline or {},
            counts=counts,
            started=started,
            cached=cached,
            seconds=total([shard.seconds for shard in job.state.in_order()]),
            run={
                "id": job.state.job,
                "identity": digest_identity(identity),
                "shards": len(job.state.shards),
                "resumed": job.state.resumed,
            },
        )
        # The last step: a run that fails earlier leaves no output, and no step after it can fail.
        staging.commit(manifest)
    return Summary(out, counts, inputs.special_files)


def _identity(inputs: Inputs, work: Work, options: RunOptions, out: Path, *, is_folder: bool) -> dict[str, Any]:
    changing = {
        "read": describe_read_options(options.read),
        "format": options.format,
        "whole_patients": work.whole_patients,
        "keep_ids": options.keep_ids,
        "gate": work.gate,
        "crosswalk": options.crosswalk is not None,
        "crosswalk_keys": list(options.crosswalk_keys),
        "is_folder": is_folder,
        "compress": _compresses(inputs, out),
    }
    return make_identity(describe_inputs(inputs), work, changing)


def _open_job(
    staging: Staging, out: Path, identity: Mapping[str, Any], inputs: Inputs, options: RunOptions
) -> JobFolder:
    can_resume = options.can_resume and not inputs.pipes
    if options.resume and not can_resume:
        raise SettingsError(
            "--resume needs --key and inputs that are not pipes; only then can a run continue where it stopped"
        )
    return open_job(
        staging.parent,
        out,
        identity,
        can_resume=can_resume,
        resume=options.resume,
        restart=options.restart,
        is_done=lambda: staging.is_committed,
    )


def _process(
    inputs: Inputs,
    files: Mapping[str, FileCount],
    work: Work,
    options: RunOptions,
    job: JobFolder,
    *,
    is_folder: bool,
) -> Mapping[str, int]:
    """Process the records that no committed shard has; return what came from caches. Raises errors of the run."""
    parts = job.parts()
    first = next(parts, None)
    if first is None:
        return {}
    with ExitStack() as stack:
        report = stack.enter_context(progress("none" if options.quiet else options.progress))
        kept = _check_columns(inputs, work, options)
        memory_bytes = options.memory_mb * 2**20 if options.memory_mb else None
        workers = open_workers(work, options.workers, in_process=options.in_process, memory_bytes=memory_bytes)
        stack.enter_context(workers)
        if job.state.pipeline is not None:
            job.note_pipeline(workers.describe())
        run = ShardRun(
            inputs,
            work,
            options.read,
            job,
            workers,
            kept=kept,
            batch_size=options.batch_size,
            shard_chars=options.shard_chars,
            keep_ids=options.keep_ids,
            is_folder=is_folder,
            crosswalk_private_key=_shard_key(work, job) if options.crosswalk else "",
            on_batch=_shown(report, options.on_counts, job, sum(count.size_bytes for count in files.values())),
        )
        for part in chain([first], parts):
            run.do(part)
        return workers.cache_counts()


def _shown(
    report: Report, on_counts: Callable[[Counts], object] | None, job: JobFolder, total_bytes: int
) -> Callable[[Counts, int], None]:
    """Return a function that reports the counts and read bytes of this process as the progress of the run."""
    before = sum(shard.read_bytes for shard in job.state.shards.values())
    finished = job.state.counts

    def show(counts: Counts, read_bytes: int) -> None:
        if on_counts is not None:
            so_far = Counts()
            so_far.add(finished)
            so_far.add(counts)
            on_counts(so_far)
        done = before + read_bytes
        report(
            Progress(
                notes=finished.read + counts.read,
                quarantined=finished.quarantined.total() + counts.quarantined.total(),
                share=min(done / max(total_bytes, 1), 1.0),
                notes_now=counts.read,
                bytes_now=read_bytes,
                bytes_left=max(total_bytes - done, 0),
                shards=len(job.state.shards),
            )
        )

    return show


def _shard_key(work: Work, job: JobFolder) -> str:
    """Return the private key for the crosswalks of the shards of this run."""
    assert work.key is not None  # only de-identification writes a crosswalk, and it has a key
    return derived_private_key(work.key, f"crosswalk of run {job.state.job}")


def _join(
    job: JobFolder,
    staging: Staging,
    work: Work,
    options: RunOptions,
    out: Path,
    inputs: Inputs,
    *,
    is_folder: bool,
) -> dict[str, object]:
    shards = [(shard, job.shard_path(shard)) for shard in job.check_complete()]
    is_private = work.task == "detect"
    body = Body(staging.body, is_folder, _compresses(inputs, out) and not is_private, is_private, options.read)
    digests = join_body(shards, body)
    if is_folder:
        write_delta_logs(inputs.delta, body, digests)
    quarantine = join_quarantine(shards, staging.quarantine)
    private_key = _shard_key(work, job) if staging.crosswalk else ""
    crosswalk = join_crosswalk(shards, staging.crosswalk, options.crosswalk_keys, private_key)
    return describe_outputs(digests.to_json(is_folder=is_folder), quarantine, crosswalk)


def _compresses(inputs: Inputs, out: Path) -> bool:
    """Return whether an output that is one file is gzip. The suffix of the requested name decides, if it is known."""
    name = out.name if format_of(out.name) else next(iter(inputs)).output_name
    return inputs.is_single_file and name.lower().endswith(".gz")


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


def _check_options(files: Mapping[str, FileCount], options: RunOptions) -> None:
    if options.workers < 1 or options.batch_size < 1 or options.shard_chars < 1:
        raise SettingsError("workers, batch size and shard size must be at least 1")
    if options.resume and options.restart:
        raise SettingsError("--resume continues an unfinished run, --restart removes it; give only one of them")
    if options.read.kept_columns and not all(FORMATS[name].is_table for name in files):
        raise SettingsError("--keep-column and --type-column are for tables; files of one note have no columns")
    if (options.crosswalk is None) != (not options.crosswalk_keys):
        raise SettingsError("a crosswalk needs a file to write and a public key; give --crosswalk and --crosswalk-key")


def _check_out_suffix(source: Source, out: Path) -> None:
    """Raise SettingsError when the suffix of the output belongs to another format than the input's."""
    promised = format_of(out.name)
    if source.format == "database" and promised not in (None, "jsonl", "csv", "parquet"):
        raise SettingsError(f"{out.name}: a table is written as .jsonl, .jsonl.gz, .csv or .parquet")
    if promised not in (None, source.output_format) and source.format != "brat":
        raise SettingsError(
            f"{out.name} looks like {promised}, but {source.name} is {source.format} and keeps its format; "
            "give the output the suffix of the input"
        )


def _describe_inputs(inputs: Inputs, files: Mapping[str, FileCount]) -> dict[str, object]:
    """Describe the inputs for the run report. Names of single-note files are omitted, because they are note ids."""
    return {
        "names": [path.name for path in inputs.paths if path.is_dir() or _is_table(path, inputs.format)],
        "formats": {name: {"files": count.files, "bytes": count.size_bytes} for name, count in files.items()},
        "special_files_skipped": inputs.special_files,
        "database_tables": [
            {"name": path.name, "rows": plan.rows, "sha256": plan.digest} for path, plan in inputs.plans.items()
        ],
    }


def _is_table(path: Path, format_name: str | None) -> bool:
    name = format_name or format_of(path.name)
    return bool(name) and FORMATS[str(name)].is_table


def _describe_options(options: RunOptions) -> dict[str, object]:
    return {
        "format": options.format,
        "whole_patients": options.whole_patients,
        "keep_ids": options.keep_ids,
        "gate": options.gate,
        "keep_columns": list(options.read.keep_columns),
        "unchecked_columns": list(options.read.unchecked_columns),
        "workers": options.workers,
        "batch_size": options.batch_size,
        "crosswalk_keys": list(options.crosswalk_keys),
    }

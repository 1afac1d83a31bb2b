"""The private folder of an unfinished run: its ledger and its committed shards.

``.OUT.job`` is in the same folder as the output. Only its owner can enter it, whatever the umask. It has the ledger,
the folder ``open`` while a shard is being written, and one folder for each committed shard. The ledger has a row for
the run, one for its pipeline, and one for each shard. Whatever is not in the ledger does not count.

A row that was lost, or a shard that was changed on the disk, leaves a gap between the borders of the other shards. The
run then processes the records of the gap again, and no others.

The caller must hold the lock on the output.
"""

import json
import logging
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

from deid_runtime.errors import ModelError, OutputError, SettingsError
from deid_runtime.run.batches import Border, InputPart
from deid_runtime.run.identity import changes, digest_identity
from deid_runtime.run.leftovers import partial_name
from deid_runtime.run.report import Counts
from deid_runtime.run.seen_ids import SeenIds
from deid_runtime.run.shards import IDS, PATIENTS, Shard, ShardWriter, flush, is_intact, read_digests
from deid_runtime.run.staging import manifest_path
from deid_runtime.system.digests import open_regular
from deid_runtime.system.ledger import Ledger, read_ledger
from deid_runtime.system.private_folders import is_private, pinned, remove
from deid_runtime.system.stop_signals import signals_held

_logger = logging.getLogger(__name__)

LEDGER: Final = "ledger"
_OPEN: Final = "open"
#: The border after all inputs.
END: Final = Border(2**62)
_MANIFEST_LIMIT_BYTES: Final = 2**28


def job_path(out: Path) -> Path:
    """Return the path of the private folder of an unfinished run to ``out``."""
    return out.with_name(f".{out.name}.job")


@dataclass(slots=True)
class JobState:
    """The content of a ledger: the run, its pipeline and its committed shards by number.

    ``job`` is a random id of the run. ``damaged`` is the number of lines that could not be read.
    """

    job: str = ""
    identity: dict[str, Any] = field(default_factory=dict)
    started: str = ""
    can_resume: bool = False
    pipeline: dict[str, Any] | None = None
    shards: dict[int, Shard] = field(default_factory=dict)
    resumed: int = 0
    damaged: int = 0

    @property
    def counts(self) -> Counts:
        """The counts of all committed shards."""
        total = Counts()
        for shard in self.shards.values():
            total.add(shard.counts)
        return total

    def in_order(self) -> list[Shard]:
        """Return the shards in the order of their records."""
        return sorted(self.shards.values(), key=lambda shard: (shard.start, shard.end))


def read_state(path: Path) -> JobState:
    """Return the content of the ledger at ``path``. Raises OSError."""
    state = JobState()
    rows, state.damaged = read_ledger(path)
    for row in rows:
        try:
            _take_row(state, row)
        except (KeyError, TypeError, ValueError):
            state.damaged += 1
    return state


def _take_row(state: JobState, row: Mapping[str, Any]) -> None:
    kind = row["kind"]
    if kind == "job" and not state.job:
        state.identity, state.started = dict(row["identity"]), str(row["started"])
        state.can_resume, state.job = bool(row["can_resume"]), str(row["job"])
    elif row["job"] != state.job:
        raise ValueError("a row of another run")
    elif kind == "pipeline":
        state.pipeline = dict(row["pipeline"])
    elif kind == "shard":
        shard = Shard.from_json(row)
        if state.shards.setdefault(shard.number, shard).to_json() != shard.to_json():
            raise ValueError("two shards with one number")
    elif kind == "dropped":
        state.shards.pop(int(row["number"]), None)
    elif kind == "resumed":
        state.resumed += 1


class JobFolder:
    """The folder of this run. A context manager: leaving it closes the ledger, and removes the folder if it is useless.

    Make one with :func:`open_job`. ``is_done`` returns whether the output is in place.
    """

    def __init__(
        self,
        path: Path,
        out: Path,
        folder: Path,
        ledger: Ledger,
        state: JobState,
        stack: ExitStack,
        is_done: Callable[[], bool],
    ) -> None:
        self._path = path
        self._out = out
        self._is_done = is_done
        self._folder = folder
        self._ledger = ledger
        self._stack = stack
        self._next = max(state.shards, default=-1) + 1
        self._mark_s = monotonic()
        self._mark_bytes = 0
        self._mark_seconds: dict[str, float] = {}
        self.state = state

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with signals_held():
            is_kept = not self._is_done() and self.state.can_resume and bool(self.state.shards)
            if is_kept:
                remove(self._folder / _OPEN)
            self._stack.close()
            if not is_kept:
                _discard(self._path, self._out)
        if is_kept and kind is not None:
            _logger.warning(
                "%s notes in %s shards are finished and kept in %s; continue with --resume or start again with "
                "--restart",
                f"{self.state.counts.read:,}",
                f"{len(self.state.shards):,}",
                job_path(self._out),
            )

    def shard_path(self, shard: Shard) -> Path:
        """Return the folder of a committed shard."""
        return self._folder / str(shard.number)

    def open_path(self) -> Path:
        """Return the path of the folder for the next shard, which does not exist."""
        path = self._folder / _OPEN
        remove(path)
        return path

    def note_pipeline(self, description: Mapping[str, Any]) -> None:
        """Record the pipeline of the run. Raises ModelError when it differs from that of the run so far."""
        description = json.loads(json.dumps(description))  # as the ledger returns it
        if self.state.pipeline is None:
            self.state.pipeline = dict(description)
            self._append({"kind": "pipeline", "pipeline": description})
        elif self.state.pipeline != description:
            names = sorted(
                name
                for name in self.state.pipeline.keys() | description.keys()
                if self.state.pipeline.get(name) != description.get(name)
            )
            raise ModelError(
                f"the unfinished run cannot continue: {', '.join(names)} changed since it began; put the old models "
                "and lists back, or start again with --restart"
            )

    def commit(self, writer: ShardWriter, end: Border, *, read_bytes: int, seconds: Mapping[str, float]) -> None:
        """Commit the shard that was written up to ``end``.

        ``read_bytes`` and ``seconds`` are those of this process so far. Raises OSError, DefectError.
        """
        shard = writer.finish(self._next, end)
        now_s = monotonic()
        shard.elapsed_s, self._mark_s = now_s - self._mark_s, now_s
        shard.read_bytes, self._mark_bytes = read_bytes - self._mark_bytes, read_bytes
        shard.seconds = {stage: spent - self._mark_seconds.get(stage, 0.0) for stage, spent in seconds.items()}
        self._mark_seconds = dict(seconds)
        os.rename(writer.folder, self.shard_path(shard))
        flush(self._folder)
        self._append({"kind": "shard", **shard.to_json()})
        self.state.shards[shard.number] = shard
        self._next += 1

    def parts(self) -> Iterator[InputPart]:
        """Yield the parts of the inputs that no committed shard has, in order, with the ids that came before each.

        Raises OSError when the ids cannot be read.
        """
        ids, patients = SeenIds(), SeenIds()
        at = Border()
        for shard in self.state.in_order():
            if shard.start > at:
                yield InputPart(at, shard.start, ids.copy(), patients.copy())
                # The ids of the gap, which has been filled by now.
                for filled in self.state.in_order():
                    if at <= filled.start < shard.start:
                        self._add_ids(filled, ids, patients)
            self._add_ids(shard, ids, patients)
            at = shard.end
        if at < END:
            yield InputPart(at, None, ids, patients)

    def check_complete(self) -> list[Shard]:
        """Return all shards in the order of their records. Raises OutputError when they leave a gap or overlap."""
        shards, at = self.state.in_order(), Border()
        for shard in shards:
            if shard.start != at:
                raise OutputError("the finished shards do not fit together; start again with --restart")
            at = shard.end
        if at != END:
            raise OutputError("the finished shards do not reach the end of the inputs; start again with --restart")
        return shards

    def _add_ids(self, shard: Shard, ids: SeenIds, patients: SeenIds) -> None:
        for name, seen in ((IDS, ids), (PATIENTS, patients)):
            for digest in read_digests(self.shard_path(shard), name):
                seen.add_digest(digest)

    def drop_damaged(self) -> None:
        """Drop shards that overlap others or were changed on disk, and remove folders that no row names."""
        at = Border()
        for shard in self.state.in_order():
            if at <= shard.start < shard.end and is_intact(shard, self.shard_path(shard)):
                at = shard.end
                continue
            _logger.warning("shard %s was changed on disk and is repeated", shard.number)
            self._append({"kind": "dropped", "number": shard.number})
            del self.state.shards[shard.number]
        for name in os.listdir(self._folder):
            if name != LEDGER and not (name.isdecimal() and int(name) in self.state.shards):
                remove(self._folder / name)

    def note_resumed(self) -> None:
        """Record that the run continues after a stop."""
        self._append({"kind": "resumed"})
        self.state.resumed += 1

    def _append(self, row: Mapping[str, object]) -> None:
        self._ledger.append({**row, "job": self.state.job, "time": _now()})


def open_job(
    parent: Path,
    out: Path,
    identity: Mapping[str, Any],
    *,
    can_resume: bool,
    resume: bool,
    restart: bool,
    is_done: Callable[[], bool] = lambda: False,
) -> JobFolder:
    """Return the folder of an unfinished run to ``out``, to continue it, or a new one. ``parent`` is that of ``out``.

    ``can_resume``: whether a later run can continue this one. ``is_done`` returns whether the output is in place.

    Without ``resume`` and ``restart``, raises OutputError when there is an unfinished run with committed shards. With
    ``resume``, raises SettingsError when inputs, key, settings or program differ from those of the unfinished run.
    """
    path, shown = parent / job_path(out).name, job_path(out)
    is_new = not os.path.lexists(path) or not _goes_on(path, out, identity, resume=resume, restart=restart)
    if is_new:
        if os.path.lexists(path):
            _discard(path, out)
        path.mkdir(0o700)
    with ExitStack() as stack:
        folder = stack.enter_context(pinned(path))
        if not is_private(folder):
            raise OutputError(f"{shown}: changed by another user; write to a folder that only you can change")
        state = JobState() if is_new else read_state(folder / LEDGER)
        ledger = stack.enter_context(Ledger(folder / LEDGER))
        job = JobFolder(path, out, folder, ledger, state, stack.pop_all(), is_done)
    try:
        if is_new:
            state.job, state.identity, state.can_resume = secrets.token_hex(8), dict(identity), can_resume
            state.started = _now()
            row = {"kind": "job", "identity": state.identity, "started": state.started, "can_resume": can_resume}
            ledger.append({**row, "job": state.job})
            flush(folder)
            flush(parent)
        else:
            if state.damaged:
                _logger.warning("%s lines of the ledger in %s are damaged and are ignored", state.damaged, shown)
            job.note_resumed()
            job.drop_damaged()
    except BaseException:
        job.__exit__(None, None, None)
        raise
    return job


def finished_counts(out: Path, identity: Mapping[str, Any]) -> Counts | None:
    """Return the counts of the run report of ``out`` when a run with this identity has finished it; otherwise None."""
    try:
        with open_regular(manifest_path(out)) as file:
            manifest = json.loads(file.read(_MANIFEST_LIMIT_BYTES))
        if manifest["run"]["identity"] != digest_identity(identity):
            return None
        notes = manifest["notes"]
        counts = Counts(read=int(notes["read"]), written=int(notes["written"]))
        counts.with_record = int(notes["with_patient_record"])
        counts.quarantined.update(notes["quarantined_by_stage"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return counts


def _is_finished(out: Path, job: str) -> bool:
    """Return whether the run ``job`` put its output in place before it was killed."""
    try:
        with open_regular(manifest_path(out)) as file:
            return bool(json.loads(file.read(_MANIFEST_LIMIT_BYTES))["run"]["id"] == job)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _goes_on(path: Path, out: Path, identity: Mapping[str, Any], *, resume: bool, restart: bool) -> bool:
    """Return whether the run in the folder ``path`` shall continue; False when the folder shall be removed."""
    shown = job_path(out)
    if path.is_symlink() or not path.is_dir() or not is_private(path):
        raise OutputError(f"{shown}: is not private to this user; check what it is, then remove it")
    if restart:
        return False
    try:
        state = read_state(path / LEDGER)
    except OSError:
        state = JobState()
    if not state.can_resume and not _has_shards(path):
        _logger.warning("%s was left by a killed run and is removed now", shown)
        return False
    if not state.job:
        raise OutputError(f"{shown}: the beginning of its ledger is damaged; start again with --restart")
    if not state.can_resume or not state.shards:
        _logger.warning("%s was left by a killed run and is removed now", shown)
        return False
    if _is_finished(out, state.job):
        return False
    if not resume:
        raise OutputError(
            f"an unfinished run has finished {state.counts.read:,} notes in {len(state.shards):,} shards ({shown}); "
            "continue with --resume, or start again with --restart"
        )
    if changed := changes(state.identity, identity):
        raise SettingsError(
            f"the unfinished run cannot continue, because this changed: {', '.join(changed)}; run it as before, or "
            "start again with --restart"
        )
    return True


def _has_shards(path: Path) -> bool:
    return any(name.isdecimal() for name in os.listdir(path))


def discard_finished(parent: Path, out: Path) -> None:
    """Remove the folder of a run that was killed when its output was in place. The caller holds the lock on ``out``."""
    path = parent / job_path(out).name
    try:
        job = read_state(path / LEDGER).job
    except OSError:
        return
    if is_private(path) and _is_finished(out, job):
        _discard(path, out)


def _discard(path: Path, out: Path) -> None:
    """Remove the folder of a run. When this is interrupted, the next run to ``out`` removes the rest."""
    condemned = path.with_name(partial_name(out.name, secrets.token_hex(4)))
    with suppress(OSError):
        os.rename(path, condemned)
        remove(condemned)
    for left in (path, condemned):
        if os.path.lexists(left):
            _logger.warning("%s cannot be removed. It may contain note text; remove it", out.with_name(left.name))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

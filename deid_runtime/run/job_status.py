"""Show how far a run is, from the ledger in its private folder.

Nothing is locked or changed, so the run may continue.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deid_runtime.errors import SettingsError
from deid_runtime.run.estimate import Estimate, Left
from deid_runtime.run.job_folder import END, LEDGER, job_path, read_state
from deid_runtime.run.staging import manifest_path
from deid_runtime.system.output_lock import lock_holder

State = Literal["running", "stopped", "finished"]


@dataclass(frozen=True, slots=True)
class JobStatus:
    """The state of a run; the counts are those of its committed shards.

    ``holder`` names the process that writes, "" for none. ``share`` is the share of the input bytes that the shards
    have, 0 to 1. ``notes_per_s`` is the rate of the last shards. ``left`` is the estimated time to the end; None when
    too little is known.
    """

    state: State
    holder: str = ""
    started: str = ""
    resumed: int = 0
    shards: int = 0
    notes: int = 0
    quarantined: int = 0
    share: float = 0.0
    notes_per_s: float = 0.0
    left: Left | None = None

    def to_json(self) -> dict[str, object]:
        """Return the status as JSON values; times in seconds."""
        return {
            "state": self.state,
            "process": self.holder,
            "started": self.started,
            "resumed": self.resumed,
            "shards": self.shards,
            "notes": self.notes,
            "quarantined": self.quarantined,
            "share": round(self.share, 4),
            "notes_per_s": round(self.notes_per_s, 2),
            "left_s": round(self.left.likely_s) if self.left else None,
            "left_least_s": round(self.left.least_s) if self.left else None,
            "left_most_s": round(self.left.most_s) if self.left else None,
        }


def job_status(out: Path) -> JobStatus:
    """Return how far the run to ``out`` is. Raises SettingsError when there is none, and no finished output."""
    holder = lock_holder(out)
    try:
        state = read_state(job_path(out) / LEDGER)
    except OSError as error:
        if manifest_path(out).is_file():
            return JobStatus("finished", share=1.0)
        if holder:
            return JobStatus("running", holder)
        raise SettingsError(
            f"{out}: there is no run to it ({job_path(out).name}: {error.strerror}); give the --out of `deid run`"
        ) from None
    shards = sorted(state.shards.values(), key=lambda shard: shard.number)
    estimate = Estimate()
    for shard in shards:
        estimate.add(shard.elapsed_s, shard.read_bytes, shard.counts.read)
    total_bytes = int(state.identity.get("inputs", {}).get("bytes", 0))
    read_bytes = sum(shard.read_bytes for shard in shards)
    is_read = any(shard.end == END for shard in shards)
    counts = state.counts
    return JobStatus(
        "running" if holder else "stopped",
        holder,
        state.started,
        state.resumed,
        len(shards),
        counts.read,
        counts.quarantined.total(),
        1.0 if is_read and read_bytes >= total_bytes else min(read_bytes / max(total_bytes, 1), 1.0),
        estimate.notes_per_s,
        estimate.left(max(total_bytes - read_bytes, 0)),
    )

"""How much faster is de-identification with the cache of blocks, where notes repeat each other?

    python benchmarks/repetition/repetition.py --notes export/corpus/notes/train

Method: for each share of repeated sentences, notes are made as :mod:`repeated_notes` says. Three pipelines of one
thread are loaded in one process: with packed windows and without a cache, by blocks without a cache, and by blocks with
one. They get the same batches of notes in turn, in an order that changes from batch to batch, so a busy machine slows
all of them alike. The time of each is the processor time of its batches. Loading is not in it. What each pipeline finds
and writes is digested: both pipelines by blocks must have equal digests, or the benchmark fails.
"""

import argparse
import hashlib
import random
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from measuring import RESULTS, describe_machine, keep_to_cores, write_results
from repeated_notes import blocks_of, repeated_notes, share_of

from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.settings import Profile, Settings, WindowBorders
from deid_runtime.spans import Note
from deid_runtime.surrogates import new_key

#: Name of each pipeline: where its windows end, and whether it has a cache.
_ARMS: dict[str, tuple[WindowBorders, bool]] = {
    "packed, no cache": ("packed", False),
    "blocks, no cache": ("blocks", False),
    "blocks, cache": ("blocks", True),
}
_BATCH_NOTES = 32


class Arm:
    """One pipeline, with its time and the digest of what it wrote."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._digest = hashlib.sha256()
        self.seconds = 0.0

    def run(self, notes: Sequence[Note]) -> None:
        """De-identify one batch."""
        begun = time.process_time()
        outcomes = self._pipeline.deidentify(notes)
        self.seconds += time.process_time() - begun
        for outcome in outcomes:
            if not isinstance(outcome, Deidentified):
                raise SystemExit(f"{outcome.note_id} was quarantined; a benchmark needs a clean run")
            self._digest.update(repr((outcome.text, outcome.spans)).encode())

    @property
    def digest(self) -> str:
        """Return the digest of all texts and spans so far."""
        return self._digest.hexdigest()

    def describe(self, notes: int) -> dict[str, Any]:
        """Return the figures of the arm."""
        spent = {stage: round(seconds, 2) for stage, seconds in self._pipeline.stage_seconds.items()}
        return {
            "notes_per_second": round(notes / self.seconds, 2),
            "processor_seconds": round(self.seconds, 2),
            "seconds_by_stage": spent,
            "counts": dict(self._pipeline.cache_counts),
            "cache_bytes_used": self._pipeline.cache_bytes_used,
        }


def main() -> None:
    """Measure, print a table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, required=True, help="annotated notes to take new text from")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.5, 0.75, 0.9])
    parser.add_argument("--count", type=int, default=800, help="notes for each share")
    parser.add_argument("--profile", choices=("fast", "full"), default="fast")
    parser.add_argument("--cache-mib", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, help="default: repetition_<profile>.json")
    options = parser.parse_args()
    keep_to_cores(1)
    machine = describe_machine()
    blocks = blocks_of(options.notes)
    key = new_key()
    rows = []
    for share in options.shares:
        notes = list(repeated_notes(blocks, options.count, share, options.seed))
        rows.append({"share_asked_for": share, **measure(notes, options.profile, options.cache_mib * 2**20, key)})
        print_row(rows[-1])
    write_results(
        options.results or RESULTS / f"repetition_{options.profile}.json",
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "arguments": {"count": options.count, "cache_mib": options.cache_mib, "seed": options.seed},
            "profile": options.profile,
            "shares": rows,
        },
    )


def measure(rows: Sequence[dict[str, str]], profile: Profile, cache_bytes: int, key: bytes) -> dict[str, Any]:
    """Return the figures of all arms for the same notes, and the ratios of their rates."""
    notes = [Note(row["id"], row["text"], row["patient"]) for row in rows]
    with ExitStack() as stack:
        arms = {
            name: Arm(
                stack.enter_context(
                    load_pipeline(
                        Settings(
                            profile=profile,
                            window_borders=borders,
                            window_cache_bytes=cache_bytes if has_cache else 0,
                        ),
                        key=key,
                        records={},
                    )
                )
            )
            for name, (borders, has_cache) in _ARMS.items()
        }
        order = list(arms.values())
        generator = random.Random(0)
        for first in range(0, len(notes), _BATCH_NOTES):
            generator.shuffle(order)
            for arm in order:
                arm.run(notes[first : first + _BATCH_NOTES])
        if arms["blocks, no cache"].digest != arms["blocks, cache"].digest:
            raise SystemExit("the cache changed what was found or written")
        return {
            "notes": len(notes),
            "characters": sum(len(note.text) for note in notes),
            "share_of_repeated_sentences": round(share_of([note.text for note in notes]), 4),
            "is_identical": True,
            "arms": {
                name: {
                    **arm.describe(len(notes)),
                    "times_packed_without_cache": round(arms["packed, no cache"].seconds / arm.seconds, 3),
                    "times_blocks_without_cache": round(arms["blocks, no cache"].seconds / arm.seconds, 3),
                }
                for name, arm in arms.items()
            },
        }


def print_row(row: dict[str, Any]) -> None:
    """Print the figures of one share."""
    print(f"{row['share_of_repeated_sentences']:.1%} of sentences repeated, {row['notes']} notes")
    for name, arm in row["arms"].items():
        counts = arm["counts"]
        hits = counts["blocks_from_cache"] / counts["blocks_read"] if counts["blocks_read"] else 0.0
        print(
            f"  {name:<18}{arm['notes_per_second']:>7.2f} notes/s  x{arm['times_packed_without_cache']:.2f} of packed, "
            f"x{arm['times_blocks_without_cache']:.2f} of blocks without a cache; {hits:.1%} of blocks from the cache"
        )


if __name__ == "__main__":
    main()

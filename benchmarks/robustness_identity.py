"""Output of the embedded engine and of a server, byte for byte: part of ``serving_robustness.py``."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from deid_runs import Outcome, compare, new_key, read_outcome, timed_run
from measuring import describe_file
from served_models import Served
from throughput import write_notes

_PROFILES: Final = ("fast", "full")


def compare_identity(
    made: Iterator[dict[str, str]], repository: Path, folder: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """Run each file, and the notes made, both ways with each profile."""
    generated = folder / "generated.jsonl"
    write_notes(generated, list(made))
    key = new_key(folder)
    rows = []
    with Served(repository) as served:
        for path in (*options.identity, generated):
            for profile in _PROFILES:
                common = [str(path), "--key", str(key), "--workers", str(options.workers), "--profile", profile]
                ways = {"embedded": common, "served": [*common, "--server", served.address, *options.extra]}
                rows.append({"notes": describe_file(path), "profile": profile, **_compare(ways, folder)})
                print(f"identity: {path.name}, {profile}: {'equal' if rows[-1]['equal'] else 'DIFFERENT'}")
    return {"passed": all(row["equal"] for row in rows), "runs": rows}


def _compare(ways: dict[str, list[str]], folder: Path) -> dict[str, Any]:
    outcomes: dict[str, Outcome] = {}
    for name, arguments in ways.items():
        timed_run([*arguments, "--overwrite"], folder / f"{name}.jsonl")
        outcomes[name] = read_outcome(folder / f"{name}.jsonl")
    embedded, served = outcomes["embedded"], outcomes["served"]
    comparison = compare(embedded.lines.keys() | embedded.held_back, embedded, served)
    return {
        "equal": embedded.sha256 == served.sha256 and comparison.passed,
        "sha256": embedded.sha256,
        "comparison": comparison.to_json(),
        "counts": {"embedded": embedded.counts, "served": served.counts},
    }

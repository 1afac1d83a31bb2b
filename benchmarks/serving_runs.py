"""How much of the embedded rate does ``deid run --server`` keep? The first part of ``serving.py``."""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from measuring import Measured, describe_run, run_deid
from served_models import Served, Variant, write_variant
from throughput import write_notes

from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.text.sentences import split_sentences

_WANTED_RATIO: Final = 0.7
_WANTED_A_MINUTE: Final = 30_000


def compare_runs(notes: Sequence[dict[str, str]], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run ``deid run`` embedded and against a server, in turn, on the same notes."""
    path, key = folder / "notes.jsonl", folder / "benchmark.key"
    write_notes(path, notes)
    write_notes(folder / "one.jsonl", notes[:1])
    subprocess.run([sys.executable, "-m", "deid_runtime", "key", "new", str(key)], check=True)
    manifest = read_manifest(find_models(None))
    [graph] = manifest.profiles["fast"].graphs
    variant = Variant("deid run", instances=options.instances)
    write_variant(variant, manifest, graph.name, folder / "run")
    common = ["--key", str(key), "--quiet", "--overwrite"]
    embedded = [*common, "--workers", str(options.cores)]
    pairs: list[tuple[Measured, Measured]] = []
    with Served(folder / "run") as served:
        remote = [*common, "--workers", str(options.server_workers), "--server", served.address, *options.extra]
        ways = (("embedded", embedded), ("served", remote))
        starts = {name: run_deid(["run", str(folder / "one.jsonl"), *way], folder / name) for name, way in ways}
        for _ in range(options.repeats):
            first, second = (run_deid(["run", str(path), *way], folder / f"{name}.jsonl") for name, way in ways)
            if (folder / "embedded.jsonl").read_bytes() != (folder / "served.jsonl").read_bytes():
                sys.exit("the outputs of the embedded engine and of the server differ; no figure is worth that")
            pairs.append((first, second))
            print(f"deid run: embedded {first.seconds:.1f} s, served {second.seconds:.1f} s")
    sentences = count_distinct(notes)
    ratio = statistics.median(first.seconds / second.seconds for first, second in pairs)
    a_minute = statistics.median(60 * sentences / second.seconds for _, second in pairs)
    print(f"deid run --server: {ratio:.0%} of the embedded rate, {a_minute:,.0f} distinct sentences a minute")
    return {
        "notes": len(notes),
        "distinct_sentences": sentences,
        "embedded_seconds": [round(first.seconds, 2) for first, _ in pairs],
        "served_seconds": [round(second.seconds, 2) for _, second in pairs],
        "seconds_for_one_note": {name: round(start.seconds, 2) for name, start in starts.items()},
        "embedded_distinct_sentences_per_minute": round(
            statistics.median(60 * sentences / first.seconds for first, _ in pairs)
        ),
        "served_distinct_sentences_per_minute": round(a_minute),
        "served_to_embedded": round(ratio, 3),
        "wanted": {"served_to_embedded": _WANTED_RATIO, "distinct_sentences_per_minute": _WANTED_A_MINUTE},
        "reached": ratio >= _WANTED_RATIO and a_minute >= _WANTED_A_MINUTE,
        "outputs_equal": True,
        "peak_memory_bytes": {"embedded": pairs[-1][0].peak_bytes, "served_client": pairs[-1][1].peak_bytes},
        "seconds_by_stage": {
            "embedded": pairs[-1][0].manifest["seconds_by_stage"],
            "served": pairs[-1][1].manifest["seconds_by_stage"],
        },
        "run": describe_run(pairs[-1][0].manifest),
        "extra": options.extra,
    }


def count_distinct(notes: Sequence[dict[str, str]]) -> int:
    """Count the distinct sentences of ``notes``, white space around them and blank ones left out."""
    texts = (note["text"] for note in notes)
    found = {text[each.start : each.end].strip() for text in texts for each in split_sentences(text)}
    return len(found - {""})

"""A server that is killed again and again under ``deid run --server``: part of ``serving_robustness.py``."""

import argparse
import json
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import grpc
from deid_runs import compare, finish_run, new_key, read_outcome, start_run, timed_run
from served_models import Supervised, supervised
from throughput import write_notes
from tritonclient.grpc import service_pb2, service_pb2_grpc

from deid_runtime.serving.supervisor import RestartPolicy

_GRAPH: Final = "v0"  # the only one of the profile `fast`
_POLL_S: Final = 0.1
_LONGEST_DELAY_S: Final = 2.0  # between restarts; `deid serve` waits longer the more often a server dies


def run_with_kills(
    made: Iterator[dict[str, str]], repository: Path, folder: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """Run the notes embedded and, with kills, served; compare."""
    notes = list(made)
    path = folder / "notes.jsonl"
    write_notes(path, notes)
    write_notes(folder / "one.jsonl", notes[:1])
    common = ["--key", str(new_key(folder)), "--workers", str(options.workers)]
    start_seconds = timed_run([str(folder / "one.jsonl"), *common], folder / "one-out.jsonl")
    common.insert(0, str(path))
    seconds = timed_run(common, folder / "embedded.jsonl")
    gaps = list(kill_gaps(options.kills, max(seconds - start_seconds, 1.0), options.seed))
    with supervised(repository, RestartPolicy(longest_delay_s=_LONGEST_DELAY_S)) as server:
        begun = time.perf_counter()
        process = start_run([*common, "--server", server.address, *options.extra], folder / "served.jsonl")
        try:
            kills = kill_again_and_again(server, process, gaps)
            finish_run(process)
        finally:
            process.kill()
        served_seconds = time.perf_counter() - begun
    embedded, served = read_outcome(folder / "embedded.jsonl"), read_outcome(folder / "served.jsonl")
    comparison = compare((note["id"] for note in notes), embedded, served)
    passed = comparison.passed and len(kills) == options.kills
    unchanged = {
        name: unchanged_notes(notes, each.lines) for name, each in (("embedded", embedded), ("served", served))
    }
    print(f"kills: {len(kills)} kills, {comparison.to_json()}, {'passed' if passed else 'FAILED'}")
    return {
        "passed": passed,
        "kills": kills,
        "wanted_kills": options.kills,
        "seconds": {"embedded": round(seconds, 1), "served_with_kills": round(served_seconds, 1)},
        "notes": comparison.to_json(),
        "whole_output_equal": embedded.sha256 == served.sha256,
        "notes_without_any_change": unchanged,
        "counts": {"embedded": embedded.counts, "served": served.counts},
    }


def kill_gaps(kills: int, run_seconds: float, seed: int) -> Iterator[float]:
    """Yield the seconds from the first answer of a server to its death: all together less than the run takes."""
    generator = random.Random(seed)
    for _ in range(kills):
        yield generator.uniform(0.3, 1.3) * run_seconds / (kills + 2)


def kill_again_and_again(
    server: Supervised, process: "subprocess.Popen[bytes]", gaps: list[float]
) -> list[dict[str, float]]:
    """Kill the server once for each gap, as long as the run goes on; return when, and what it had done till then."""
    begun = time.monotonic()
    kills: list[dict[str, float]] = []
    for number, gap in enumerate(gaps, 1):
        server.wait_started(number)
        if not _wait_for_answers(server.address, process):
            break
        until = time.monotonic() + gap
        while time.monotonic() < until and process.poll() is None:
            time.sleep(_POLL_S)
        if process.poll() is not None:
            break
        executions = _executions(server.address)
        server.kill()
        kills.append({"after_s": round(time.monotonic() - begun, 1), "gap_s": round(gap, 1),
                      "executions_of_this_server": executions})  # fmt: skip
        print(f"kill {number} after {kills[-1]['after_s']} s")
    return kills


def unchanged_notes(notes: list[dict[str, str]], lines: dict[str, bytes]) -> int:
    """Count the notes whose text came out as it went in: nothing was found in them, or they were not processed."""
    return sum(note["id"] in lines and json.loads(lines[note["id"]])["text"] == note["text"] for note in notes)


def _wait_for_answers(address: str, process: "subprocess.Popen[bytes]") -> bool:
    """Wait until the server has run something besides its warm-up; return False when the run ends before."""
    first = None
    while process.poll() is None:
        executions = _executions(address)
        first = executions if first is None else first
        if executions > first:
            return True
        time.sleep(_POLL_S)
    return False


def _executions(address: str) -> int:
    """Return the executions that the server counts since it started, 0 while it does not answer."""
    with grpc.insecure_channel(address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        try:
            answer = stub.ModelStatistics(service_pb2.ModelStatisticsRequest(name=_GRAPH), timeout=5)
        except grpc.RpcError:
            return 0
        return int(answer.model_stats[0].execution_count)

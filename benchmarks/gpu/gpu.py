"""Do the graphs run on a GPU in float16 as they do on a processor, and how fast?

    python benchmarks/gpu/gpu.py --out gpu-results

One script for a machine with a GPU that is lent for a short time. It runs these steps in their order and stops at
``--minutes`` (40). Each step writes OUT/STEP.json as soon as it ends, long steps after every part. Run the same command
again to go on: steps that were done are skipped, a step that failed or was cut off is done again.

- machine: GPU, driver, processor, versions, execution providers.
- graphs: float32 and float16 copies of all graphs, from the int8 graphs that ship (needs the extra export and, for this
  step alone, a minute of the processor), or from ``--float32 FOLDER`` of ``deid-export models onnx --float32``.
- cuda, tensorrt: load every graph, and its encoder and heads, with ONNX Runtime's provider of that name; the time to
  load or to build the plan, and that the provider is in use. Plans are kept in OUT/plans.
- parity: the spans of the notes (``--notes``, the dev part of the corpus) with each provider, against float32 on the
  processor. Passed when at most ``--most-differences`` spans differ.
- rows: a row alone against the same row in batches, and one batch twice: which tags and scores change.
- sweep: windows and tokens a second, latency, for each batch size and number of threads that ask.
- clients: sentences a second of ``deid run --server`` from 1, 2, 4 ... client processes. The server is ``deid serve``
  with the float16 graphs, or the one given with ``--server``.

``--device cpu`` runs all of it on the processor, to see that it works: its figures say nothing about a GPU, and the
step tensorrt is left out. Needs ``onnxruntime-gpu`` in place of ``onnxruntime``; see docs/how-to/gpu.md.
Exit codes: 0; 1 when a step failed or a gate was not passed; 2 without a GPU, or for wrong use.
"""

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from gpu_graphs import describe_gpu, load_all, make_graphs, provider_of  # noqa: E402
from gpu_rates import measure_clients, measure_sweep  # noqa: E402
from gpu_spans import compare_rows, compare_spans  # noqa: E402
from gpu_state import State  # noqa: E402
from measuring import describe_machine  # noqa: E402


def describe(state: State) -> None:
    """Say what the figures are measured on."""
    state.add(machine=describe_machine(), gpu=describe_gpu(state.device))
    state.end("done")


STEPS: Final[Mapping[str, Callable[[State], None]]] = {
    "machine": describe,
    "graphs": make_graphs,
    "cuda": lambda state: load_all(state, "cuda"),
    "tensorrt": lambda state: load_all(state, "tensorrt"),
    "parity": compare_spans,
    "rows": compare_rows,
    "sweep": measure_sweep,
    "clients": measure_clients,
}


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for results, graphs and plans")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--minutes", type=float, default=40.0, help="no step begins or goes on after this time")
    parser.add_argument("--steps", nargs="+", choices=list(STEPS), default=list(STEPS), metavar="STEP")
    parser.add_argument("--again", action="store_true", help="do the steps again that were done")
    parser.add_argument("--float32", type=Path, help="folder of `deid-export models onnx --float32`")
    parser.add_argument("--profile", default="full", help="profile of parity; `full` has all graphs")
    parser.add_argument("--notes", type=Path, default=ROOT / "export" / "corpus" / "notes" / "dev")
    parser.add_argument("--most-differences", type=int, default=10, help="spans that may differ in parity")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32, 64, 128, 256])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--cell-seconds", type=float, default=5.0, help="measured seconds of a cell of the sweep")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 2, 4, 8, 16], help="client processes")
    parser.add_argument("--client-notes", type=int, default=2_000, help="notes of each client process")
    parser.add_argument("--server", help="HOST:PORT of a server with these graphs, in place of `deid serve`")
    parser.add_argument("--most-notes", type=int, help="take only so many notes for parity; to see that it works")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the steps; return the exit code."""
    options = parse_arguments(arguments)
    problem = provider_of("cuda", options.device)[1]
    if problem:
        print(f"gpu.py: {problem}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * options.minutes
    results: dict[str, str] = {}
    for name in STEPS:
        if name not in options.steps:
            continue
        results[name] = run_step(name, options, until)
        print(f"{name}: {results[name]}", flush=True)
    return 0 if all(result in ("done", "done before", "left out") for result in results.values()) else 1


def run_step(name: str, options: argparse.Namespace, until: float) -> str:
    """Run one step, unless it was done or the time is over; return in a word or two what came of it."""
    path = options.out / f"{name}.json"
    before = _read(path)
    if before.get("state") in ("done", "left out") and not options.again and before.get("device") == options.device:
        return f"{before['state']} before" if before["state"] == "done" else "left out"
    if time.monotonic() >= until:
        return "no time left"
    state = State(path, options, until)
    try:
        STEPS[name](state)
    except Exception as error:  # noqa: BLE001 - the other steps must still run on a machine that is lent once
        place = traceback.extract_tb(error.__traceback__)[-1]
        state.add(error=f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {str(error)[:300]}")
        state.end("failed")
    return state.result


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


if __name__ == "__main__":
    sys.exit(main())

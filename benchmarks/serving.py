"""How fast do served models answer, at what latency, and how much of the embedded rate does ``deid run --server`` keep?

    python benchmarks/serving.py --notes notes.jsonl [--float32 FOLDER] [--perf-analyzer PATH] [--quick]

Two parts, both with the server, its clients and nothing else on the same two cores.

``deid run``: the same notes (made as in ``throughput.py``) through the embedded engine and through a server, in turn,
several times, each a process of its own with start-up in the time. The ratio is that of each pair, and the median of
the pairs counts. Both outputs must be equal byte for byte.

Cells: a closed loop of requests (``closed_loop.py``), built before from the sentences or windows of those notes, at
each concurrency and number of rows; a cell differs from the reference in one thing. The rate counts distinct sentences.
The average batch is what Triton's own statistics count in the measured seconds. Beside each cell stands the rate of the
embedded engine in one process with one thread for rows of the same kind, taken just before and after the cells of a
server. Before each cell the answers to some requests are compared with the engine's: they must be equal bit for bit,
those of ensembles within a tenth.
"""

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from measuring import RESULTS, describe_file, describe_machine, keep_to_cores, write_results
from serving_cells import Pools, measure_cells
from serving_plot import draw
from serving_runs import compare_runs
from throughput import vary


def main() -> None:
    """Measure both parts, print tables, write JSON and plot."""
    options = parse_arguments()
    cores = keep_to_cores(options.cores)
    machine = describe_machine()
    records = [json.loads(line) for line in options.notes.open(encoding="utf-8")]
    notes = list(vary(records, max(options.run_notes, options.cell_notes), random.Random(options.seed)))
    results: dict[str, Any] = {
        "question": __doc__.splitlines()[0],
        "machine": machine,
        "arguments": {"seed": options.seed, "cores": cores, "quick": options.quick, "instances": options.instances,
                      "cell_seconds": options.cell_seconds, "server_workers": options.server_workers},
        "texts": describe_file(options.notes),
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="deid-bench-") as folder:
        if not options.no_runs:
            results["deid_run"] = compare_runs(notes[: options.run_notes], Path(folder), options)
            write_results(options.results, results)  # should a cell fail, this is not lost
        if not options.no_cells:
            pools = Pools([note["text"] for note in notes[: options.cell_notes]], options.seed)
            results |= measure_cells(pools, Path(folder), options)
    write_results(options.results, results)
    if "cells" in results:
        draw(results["cells"], options.results.with_suffix(".svg"))


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, required=True, help="JSON Lines with id, text and optional patient, type")
    parser.add_argument("--float32", type=Path, help="models to compare int8 with: folder of `deid-export models onnx "
                        "--float32`, or a model file to export now (slow; needs the extra export)")  # fmt: skip
    parser.add_argument("--perf-analyzer", type=Path, help="binary of NVIDIA's load generator; see perf_analyzer.py")
    parser.add_argument("--cores", type=int, default=2, help="cores that all processes are bound to")
    parser.add_argument("--instances", type=int, default=2, help="copies of the model behind `deid run --server`")
    parser.add_argument("--server-workers", type=int, default=2, help="--workers of `deid run --server`")
    parser.add_argument("--run-notes", type=int, default=1_000, help="notes of one `deid run`")
    parser.add_argument("--repeats", type=int, default=3, help="pairs of `deid run`")
    parser.add_argument("--cell-notes", type=int, default=600, help="notes the requests of the cells are made of")
    parser.add_argument("--cell-seconds", type=float, default=3.0, help="measured seconds of a cell")
    parser.add_argument("--warm-seconds", type=float, default=0.7, help="seconds of a cell before they count")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-runs", action="store_true", help="leave out `deid run`")
    parser.add_argument("--no-cells", action="store_true", help="leave out the cells")
    parser.add_argument("--quick", action="store_true", help="few, short cells and runs: to see that it works")
    parser.add_argument("--results", type=Path, default=RESULTS / "serving.json")
    parser.add_argument("extra", nargs="*", help="further options of deid run --server, after --")
    options = parser.parse_args()
    if options.quick:
        options.run_notes, options.repeats, options.cell_notes = 60, 1, 60
        options.cell_seconds, options.warm_seconds = 0.7, 0.2
    return options


if __name__ == "__main__":
    main()

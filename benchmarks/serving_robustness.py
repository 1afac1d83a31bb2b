"""Does ``deid run --server`` lose, double or leak anything when the server dies, does its memory grow, is it identical?

    python benchmarks/serving_robustness.py --notes train.jsonl [--identity dev.jsonl] [--quick] [--parts kills ...]

*kills*: notes are made of the given ones (as in ``throughput.py``) and run through the embedded engine, then through a
server that is supervised as ``deid serve`` does it and is killed with SIGKILL again and again while the run goes on. A
kill comes a random (seeded) time after the server, once started anew, has answered something: so each hits work under
way. Every note must come out once, equal to the embedded engine's output byte for byte, or stand in quarantine.

*memory*: very many short sentences through the detector of ``--server`` in this process, which has nothing else to do,
with a bounded number of requests in flight. Its resident set is sampled while it goes on; flat means that the highest
sample of the second half is at most 5 % or 16 MiB over that of the first. The number of distinct words is bounded by
the texts, numbers are new each time: the tokenizer's memory of words fills up to its bound on the way.

*identity*: files of notes, and 2,000 made ones, both ways with each profile: outputs must be equal byte for byte.

No text is printed; ids are compared and counted.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from measuring import RESULTS, describe_file, describe_machine, keep_to_cores, write_results
from robustness_identity import compare_identity
from robustness_kills import run_with_kills
from robustness_memory import draw_memory, run_memory
from served_models import write_package_models
from throughput import vary

PARTS: Final[dict[str, Callable[..., dict[str, Any]]]] = {
    "kills": run_with_kills,
    "memory": run_memory,
    "identity": compare_identity,
}


def main() -> None:
    """Run the parts asked for, write JSON and the curve of the memory; exit with 1 when one fails."""
    options = parse_arguments()
    cores = keep_to_cores(options.cores)
    results: dict[str, Any] = {
        "question": __doc__.splitlines()[0],
        "machine": describe_machine(),
        "arguments": {"seed": options.seed, "cores": cores, "workers": options.workers, "extra": options.extra},
        "texts": describe_file(options.notes),
    }
    records = [json.loads(line) for line in options.notes.open(encoding="utf-8")]
    with tempfile.TemporaryDirectory(prefix="deid-bench-") as name:
        folder = Path(name)
        write_package_models(folder / "repository", options.instances)
        for part in options.parts:
            notes = vary(records, options.kill_notes if part == "kills" else options.identity_notes,
                         random.Random(f"{options.seed} {part}"))  # fmt: skip
            (folder / part).mkdir()
            results[part] = PARTS[part](notes, folder / "repository", folder / part, options)
            write_results(options.results, results)  # a part takes long: keep it when a later one is interrupted
    if "memory" in results:
        draw_memory(results["memory"], options.results.with_name("serving_memory.svg"))
    failed = [part for part in options.parts if not results[part]["passed"]]
    if failed:
        sys.exit(f"FAILED: {', '.join(failed)}")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, required=True, help="JSON Lines with id, text and optional patient, type")
    parser.add_argument("--parts", nargs="+", choices=tuple(PARTS), default=tuple(PARTS))
    parser.add_argument("--cores", type=int, default=2, help="cores that all processes are bound to")
    parser.add_argument("--instances", type=int, default=2, help="copies of each model in the server")
    parser.add_argument("--workers", type=int, default=2, help="--workers of every `deid run`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kill-notes", type=int, default=5_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--sentences", type=int, default=1_000_000, help="of the memory run")
    parser.add_argument("--in-flight", type=int, default=4, help="requests in flight of the memory run")
    parser.add_argument("--identity", type=Path, nargs="*", default=[], help="files of notes for `deid run`")
    parser.add_argument("--identity-notes", type=int, default=2_000, help="notes made for the same comparison")
    parser.add_argument("--quick", action="store_true", help="small numbers: to see that it works")
    parser.add_argument("--results", type=Path, default=RESULTS / "serving_robustness.json")
    parser.add_argument("extra", nargs="*", help="further options of deid run --server, after --")
    options = parser.parse_args()
    if options.quick:
        options.kill_notes, options.kills, options.sentences, options.identity_notes = 250, 2, 4_000, 20
    return options


if __name__ == "__main__":
    main()

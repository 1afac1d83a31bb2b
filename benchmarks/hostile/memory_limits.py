"""Does ``deid run`` leak or lose notes when memory is short?

    python benchmarks/hostile/memory_limits.py

Method: the same notes are de-identified once in peace and then under limits of the address space (RLIMIT_AS, as batch
schedulers and strict overcommit set them), in steps from too little to start to enough, by each engine, with one and
with two workers. A note that comes out must be the same as in peace; any other must be held back, or the run refused.
"""

import argparse
import json
import resource
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from attacked_runs import (
    RESULTS,
    compared,
    describe_machine,
    new_key,
    read_outcome,
    run_command,
    total,
    write_notes,
)


def main() -> None:
    """Attack, print a table, write the results; exit with 1 when a note leaked or was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=300)
    parser.add_argument("--mebibytes", type=int, nargs=3, default=(320, 1400, 60), metavar=("FIRST", "LAST", "STEP"))
    parser.add_argument("--engines", nargs="+", default=["openvino", "onnxruntime"])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--results", type=Path, default=RESULTS / "hostile_memory_limits.json")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "notes.jsonl"
        names = write_notes(source, options.notes)
        key = new_key(folder)
        for engine in options.engines:
            peace = folder / f"{engine}.jsonl"
            done = subprocess.run(run_command(source, peace, key, "--engine", engine), stderr=subprocess.DEVNULL)
            expected = read_outcome(peace, done.returncode)
            for workers in options.workers:
                for mebibytes in range(options.mebibytes[0], options.mebibytes[1] + 1, options.mebibytes[2]):
                    limit_bytes = mebibytes * 2**20
                    out = folder / f"{engine}-{workers}-{mebibytes}.jsonl"
                    done = subprocess.run(
                        run_command(source, out, key, "--engine", engine, "--workers", str(workers)),
                        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, (limit_bytes, limit_bytes)),
                        stderr=subprocess.DEVNULL,
                        timeout=900,
                    )
                    counts = compared(read_outcome(out, done.returncode), expected, names)
                    rows.append({"engine": engine, "workers": workers, "mebibytes": mebibytes, **counts})
                    print(json.dumps(rows[-1]), flush=True)
    failed = total(rows, "other_text") + total(rows, "leaking") + total(rows, "lost")
    result = {
        "question": __doc__.splitlines()[0],
        "machine": describe_machine(),
        "notes": options.notes,
        "runs": len(rows),
        "other_text": total(rows, "other_text"),
        "leaking": total(rows, "leaking"),
        "lost": total(rows, "lost"),
        "rows": rows,
    }
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()

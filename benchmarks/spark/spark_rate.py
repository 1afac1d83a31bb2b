"""How fast is Spark on one machine beside ``deid run``, and are the bytes the same?

    python benchmarks/spark/spark_rate.py --notes export/corpus/notes/train --count 2000 --workers 2

Method: the same notes go through ``deid run --workers N`` and through ``deid-spark`` on ``local[N]``, each as a process
of its own from start to exit, in turn, ``--rounds`` times. Start-up is that of both on one note, and is also given
apart. The ratio is that of the best times; it says little on a busy machine. The texts and pseudonyms of both must be
the same.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from measuring import RESULTS, describe_machine, keep_to_cores, write_results

from deid_runtime.annotations.read import read_annotated


def main() -> None:
    """Measure, print a table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, required=True, help="annotated notes")
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=2, help="workers, and cores they are bound to")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS / "spark_rate.json")
    options = parser.parse_args()
    keep_to_cores(options.workers)
    machine = describe_machine()
    notes = [{"id": note.id, "patient": note.patient, "text": note.text} for note in read_annotated([options.notes])]
    notes = notes[: options.count]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "deid_runtime", "key", "new", str(folder / "site.key")], check=True)
        write_parquet(folder / "one.parquet", notes[:1])
        write_parquet(folder / "all.parquet", notes)
        seconds: dict[str, list[float]] = {}
        for size in ("one", *["all"] * options.rounds):
            for how in (by_deid, by_spark):
                spent = how(folder, folder / f"{size}.parquet", options.workers)
                seconds.setdefault(f"{how.__name__[3:]}_{size}", []).append(round(spent, 2))
                print(f"{how.__name__[3:]:<6}{size:<4}{spent:>8.1f} s", flush=True)
        is_same = texts(folder / "deid.parquet") == texts(folder / "spark.parquet")
    if not is_same:
        raise SystemExit("Spark and deid run wrote different notes")
    best = {name: min(each) for name, each in seconds.items()}
    results: dict[str, Any] = {
        "question": __doc__.splitlines()[0],
        "machine": machine,
        "workers": options.workers,
        "notes": len(notes),
        "characters": sum(len(note["text"]) for note in notes),
        "seconds": seconds,
        "notes_per_second": {how: round(len(notes) / best[f"{how}_all"], 2) for how in ("deid", "spark")},
        "spark_over_deid": round(best["deid_all"] / best["spark_all"], 3),
        "spark_over_deid_without_start": round(
            (best["deid_all"] - best["deid_one"]) / (best["spark_all"] - best["spark_one"]), 3
        ),
        "is_identical": is_same,
    }
    print(json.dumps({name: value for name, value in results.items() if "over" in name}))
    write_results(options.results, results)


def write_parquet(path: Path, notes: list[dict[str, str]]) -> None:
    """Write notes as a table."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(notes), path)


def by_deid(folder: Path, notes: Path, workers: int) -> float:
    """Return the seconds of ``deid run``."""
    return timed(
        [sys.executable, "-m", "deid_runtime", "run", str(notes), "--key", str(folder / "site.key"), "--workers",
         str(workers), "--quiet", "--overwrite", "--out", str(folder / "deid.parquet")]
    )  # fmt: skip


def by_spark(folder: Path, notes: Path, workers: int) -> float:
    """Return the seconds of ``deid-spark`` with as many partitions as keep all workers busy to the end."""
    return timed(
        [sys.executable, "-m", "deid_runtime.spark.submit", "table", str(notes), str(folder / "spark.parquet"), "--key",
         f"file:{folder / 'site.key'}", "--partitions", str(workers * 8), "--overwrite"],
        PYSPARK_PYTHON=sys.executable,
        PYSPARK_SUBMIT_ARGS=f"--master local[{workers}] --conf spark.ui.enabled=false --driver-memory 1g pyspark-shell",
    )  # fmt: skip


def timed(command: list[str], **environment: str) -> float:
    """Run a command and return its seconds."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, env=os.environ | environment, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun


def texts(path: Path) -> list[str]:
    """Return what was written for each note, as sorted JSON."""
    from pyarrow import parquet

    rows = parquet.read_table(path, columns=["id", "patient", "text"]).to_pylist()
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


if __name__ == "__main__":
    main()

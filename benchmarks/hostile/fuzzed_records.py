"""Do damaged records end a run badly, get lost without a word, or show their text in messages?

    python benchmarks/hostile/fuzzed_records.py

Method: files of every format with damaged records (damaged_files.py) go through ``deid run --no-models`` with options
drawn at random, each file in a process with limits of time and memory. Text of the records must not stand on stderr,
in the quarantine or in the manifest, and the records that were read must be those written and those held back.
``--case N`` repeats one file of a run, ``--keep FOLDER`` keeps the files with which a promise was broken.
"""

import argparse
import json
import random
import resource
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, Final

from attacked_runs import RESULTS, describe_machine, new_key, run_command
from damaged_files import FORMATS, DamagedInput, count_records, make_input

from deid_runtime.run.staging import manifest_path, quarantine_path

_TIME_LIMIT_S: Final = 300.0
_PROMISES: Final = (
    "hung", "bad_exit_code", "traceback", "miscounted", "lost", "marker_shown", "left_after_error",
)  # fmt: skip


def main() -> None:
    """Attack, print a line for every broken promise, write the results; exit with 1 when there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000, help="damaged records in all")
    parser.add_argument("--records-per-file", type=int, default=200)
    parser.add_argument("--memory-mebibytes", type=int, default=3072)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="run this case alone")
    parser.add_argument("--keep", type=Path, help="folder for inputs with which a promise was broken")
    parser.add_argument("--results", type=Path, default=RESULTS / "hostile_fuzzed_records.json")
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = {name: Counter() for name in FORMATS}
    broken: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        key = new_key(Path(name))
        number = options.case or 0
        while sum(each["damaged"] for each in counts.values()) < options.records:
            format_name = list(FORMATS)[number % len(FORMATS)]
            row = run_case(number, format_name, Path(name), key, options)
            seen = counts[format_name]
            seen.update({"files": 1, f"exit_code_{row['exit_code']}": 1})
            seen.update({each: row[each] for each in ("records", "damaged", "read", "written", "held_back")})
            seen.update(row["broken"])
            if row["broken"]:
                broken.append({"case": number, "format": format_name, **row})
                print(json.dumps(broken[-1]), flush=True)
            if options.case is not None:
                break
            number += 1
    failed = {promise: sum(each[promise] for each in counts.values()) for promise in _PROMISES}
    result = {
        "question": __doc__.splitlines()[0],
        "machine": describe_machine(),
        "arguments": {each: str(value) for each, value in vars(options).items() if each != "results"},
        "records": sum(each["records"] for each in counts.values()),
        "damaged": sum(each["damaged"] for each in counts.values()),
        **failed,
        "formats": counts,
        "broken": broken,
    }
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({each: result[each] for each in ("records", "damaged", *_PROMISES)}))
    raise SystemExit(1 if any(failed.values()) else 0)


def run_case(number: int, format_name: str, parent: Path, key: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Make one input, run it, and return the counts and the names of the promises that were broken."""
    choose = random.Random(f"{options.seed}-{number}")
    folder = parent / f"case-{number}"
    folder.mkdir()
    made = make_input(format_name, options.records_per_file, folder, choose)
    out = folder / ("out" if made.is_folder else f"out{made.path.name[2:]}")
    command = run_command(made.path, out, key, "--no-models", "--workers", "1", *drawn_options(made, choose))
    if choose.random() < 0.5:
        command.remove("--keep-ids")
    limit_bytes = options.memory_mebibytes * 2**20
    begun = time.monotonic()
    try:
        done = subprocess.run(
            command,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, (limit_bytes, limit_bytes)),
            capture_output=True,
            timeout=_TIME_LIMIT_S,
            check=False,
        )
        code, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as error:
        code, said = None, (error.stdout or b"") + (error.stderr or b"")
    row = {
        "exit_code": code,
        "seconds": round(time.monotonic() - begun, 1),
        "records": made.records,
        "damaged": made.damaged,
        **judged(made, out, code, said.decode("utf-8", "replace")),
    }
    if row["broken"] and options.keep:
        shutil.copytree(folder, options.keep / folder.name, dirs_exist_ok=True)
    shutil.rmtree(folder)
    return row


def drawn_options(made: DamagedInput, choose: random.Random) -> list[str]:
    """Draw options of ``deid run``."""
    drawn = ["--batch-size", str(choose.choice([1, 3, 32]))]
    if choose.random() < 0.3:
        drawn.append("--whole-patients")
    if not made.is_folder and choose.random() < 0.3:
        drawn += [choose.choice(["--keep-column", "--keep-column-unchecked"]), "type"]
    return drawn


def judged(made: DamagedInput, out: Path, code: int | None, said: str) -> dict[str, Any]:
    """Return what the run says that it did, and the promises that it broke."""
    manifest, quarantine = manifest_path(out), quarantine_path(out)
    written = [path.read_text(encoding="utf-8") if path.exists() else "" for path in (manifest, quarantine)]
    notes = json.loads(written[0])["notes"] if written[0] else {"read": 0, "written": 0, "quarantined": 0}
    is_written = code in (0, 1)
    held_back = written[1].count("\n")
    broken = {
        "hung": code is None,
        "bad_exit_code": code not in (0, 1, 2, None),
        "traceback": "Traceback" in said,
        "miscounted": is_written
        and (
            notes["read"] != notes["written"] + notes["quarantined"]
            or notes["quarantined"] != held_back
            or notes["written"] != count_records(out)
            or (code == 1) != (held_back > 0)
        ),
        "lost": is_written and made.expected_read is not None and notes["read"] != made.expected_read,
        "marker_shown": any(marker in place for place in (said, *written) for marker in made.markers),
        "left_after_error": not is_written and any(path.exists() for path in (out, manifest, quarantine)),
    }
    return {
        "read": notes["read"],
        "written": notes["written"],
        "held_back": held_back,
        "expected_read": made.expected_read,
        "broken": [name for name, is_broken in broken.items() if is_broken],
    }


if __name__ == "__main__":
    main()

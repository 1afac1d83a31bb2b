"""How long do requests wait under a load of users over HTTP and gRPC?

    pip install '.[bench]'
    python benchmarks/gateway/load.py --notes notes.jsonl --users 8 --seconds 60 \
        --out benchmarks/results/gateway_load.json

Starts a server and a gateway, and locust with ``load_users.py``: half of the users send to the gateway, half to the
server itself, all at once. Writes requests, failures, and the times in which 50, 95 and 99 of 100 were answered.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import describe_machine

from tests.deid_runtime.gateway.running_gateway import gateway
from tests.running_server import KEY_NAME, started, write_served_folder

_MORE = "notes_per_minute = 100_000_000\nbytes_per_minute = 1_000_000_000_000\nrequests_at_once = 512"


def main() -> None:
    """Measure, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--users", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "served").mkdir()
        with (
            started(write_served_folder(folder / "served").options()) as server,
            gateway(folder, server.options.grpc, more=_MORE) as front,
        ):
            subprocess.run(
                [
                    sys.executable, "-m", "locust", "--headless", "-u", str(options.users), "-r", str(options.users),
                    "-t", f"{options.seconds}s", "--csv", str(folder / "load"), "--only-summary",
                    "-f", str(Path(__file__).with_name("load_users.py")), "--host", f"http://127.0.0.1:{front.port}",
                    "--grpc", server.options.grpc, "--notes", str(options.notes), "--key-name", KEY_NAME,
                ],
                env={**os.environ, "DEID_LOAD_TOKEN": front.token},
                check=False,  # it ends with 1 when a request failed; the failures are in the result
            )  # fmt: skip
        rows = _rows(folder / "load_stats.csv")
        with (folder / "load_failures.csv").open(encoding="utf-8", newline="") as file:
            failures = {f"{row['Name']}: {row['Error']}": int(row["Occurrences"]) for row in csv.DictReader(file)}
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "users": options.users,
        "seconds": options.seconds,
        "requests": rows,
        "failures": failures,
    }
    text = json.dumps(result, indent=2)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


def _rows(path: Path) -> dict[str, dict[str, Any]]:
    """Return the figures of each kind of request, milliseconds."""
    with path.open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if row["Name"] != "Aggregated"]
    return {
        row["Name"]: {
            "count": int(row["Request Count"]),
            "failures": int(row["Failure Count"]),
            "per_second": round(float(row["Requests/s"]), 2),
            **{f"p{part}_ms": round(float(row[f"{part}%"])) for part in (50, 95, 99)},
        }
        for row in found
    }


if __name__ == "__main__":
    main()

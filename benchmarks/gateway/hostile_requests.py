"""Do 10,000 hostile requests make the gateway fail, quote a note, or stop working?

    python benchmarks/gateway/hostile_requests.py --count 10000 --seed 1 --out benchmarks/results/gateway_hostile.json

Starts a real server and a gateway, and sends requests of twelve kinds from a seed: sizes, types, encodings, key names
with path tricks, smuggled headers, broken JSON, deep nesting, huge numbers, broken streams, wrong tokens, odd
addresses, bytes that are no HTTP. Every request holds a marker. Afterwards no status is 500 or more; log, audit log and
metrics do not hold the marker; a right note is de-identified. The growth of the gateway's memory is written down.
"""

import argparse
import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import psutil
from attack import attack
from hostile_cases import KEY, MARKER, TEXT, draw_cases

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import describe_machine

from deid_runtime.serving.server_options import ServerOptions
from tests.deid_runtime.gateway.running_gateway import RunningGateway, gateway
from tests.running_server import started, write_served_folder

_THREADS = 8


def main() -> None:
    """Attack, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        more = "notes_per_minute = 10_000_000\nbytes_per_minute = 1_000_000_000_000\nrequests_at_once = 64"
        with (
            started(_served(folder / "served")) as server,
            gateway(folder, server.options.grpc, "--body-time", 0.5, "--header-time", 0.5, more=more) as front,
        ):
            result = _attacked(front, options.count, options.seed)
    text = json.dumps(result, indent=2)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    if result["failures"] or result["logs_with_marker"] or not result["works_afterwards"]:
        sys.exit("the gateway failed")


def _served(folder: Path) -> ServerOptions:
    folder.mkdir()
    return write_served_folder(folder).options()


def _attacked(front: RunningGateway, count: int, seed: int) -> dict[str, object]:
    process = psutil.Process(front.process.pid)
    front.ask(body={"id": "1", "text": TEXT, "key": KEY})
    before = process.memory_info().rss
    report = attack(front.port, draw_cases(seed, count, front.token), _THREADS)
    after = process.memory_info().rss
    answer = front.ask(body={"id": "1", "text": TEXT, "key": KEY})
    logs = {
        "log": "".join(front.log),
        "audit": front.audit.read_text(encoding="ascii"),
        "metrics": front.get("/metrics", token=front.token).content.decode(),
    }
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "requests": count,
        "seed": seed,
        "statuses": {kind: dict(sorted(found.items())) for kind, found in sorted(report.statuses.items())},
        "failures": report.failures,
        "slowest_seconds": round(report.slowest_s, 2),
        "logs_with_marker": [name for name, text in logs.items() if MARKER in text],
        "works_afterwards": answer.status == 200 and "Jane Doe" not in answer.json["text"],
        "memory_growth_bytes": after - before,
    }


if __name__ == "__main__":
    main()

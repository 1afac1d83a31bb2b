"""What share of the rate of gRPC do batches through the gateway reach?

    python benchmarks/gateway/rate.py --notes notes.jsonl --out benchmarks/results/gateway_rate.json

One server, one gateway with the options that it has by default. Two clients of this process send the same notes in
turn, in many short rounds of one run, which begin with gRPC and with the gateway in turn. All rounds have the same
notes, so the server runs without its cache of windows, as if all were new to it; ``--repeated`` leaves the cache on:
then no model runs, and the part of the gateway is as large as it can be. gRPC: unary calls of ``deidentify``, 16 at the
same time, as many as the gateway sends at the same time. Gateway: JSON batches over two connections, each with 8 notes
in progress. The texts of both answers must be equal. The rate of a round is notes per
second of wall-clock time, without the warm-up; the share is the median of the shares of all rounds. The result also has
the processor time per note of server, gateway and client together, which other work on the machine changes less, and
the part of the processors that other work used (``others``). If that is above a few hundredths, the rates describe the
other work more than the gateway. ``at_server`` is the mean number of notes in the model ``deidentify``, waiting or
computed: near 0 the server has too little to do, well above 1 the server limits the rate.
"""

import argparse
import asyncio
import http.client
import json
import re
import statistics
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import tritonclient.grpc.aio as triton_aio

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measuring import describe_machine

from deid_runtime.serving.note_metrics import SEND_SECONDS
from deid_runtime.serving.note_models import NoteOptions
from deid_runtime.serving.server_options import ServerOptions
from deid_runtime.settings import Settings
from tests.deid_runtime.gateway.running_gateway import RunningGateway, gateway
from tests.deid_runtime.serving.requests import note_inputs
from tests.running_server import KEY_NAME, processes, started, write_served_folder

_MORE = "notes_per_minute = 100_000_000\nbytes_per_minute = 1_000_000_000_000\nrequests_at_once = 64"
_IN_FLIGHT = 16  # the default of `deid gateway serve --in-flight`
_CONNECTIONS = 2  # of the gateway's client: one batch is parsed while another is under way

Row = dict[str, str]


def main() -> None:
    """Measure, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--count", type=int, default=200, help="notes of a round")
    parser.add_argument("--repeated", action="store_true", help="keep the cache of windows")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batch", type=int, default=50, help="notes of a request to the gateway")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = options.notes.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines[: options.count]]
    notes = [{name: str(row[name]) for name in ("id", "text", "patient") if row.get(name)} for row in rows]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "served").mkdir()
        settings = Settings() if options.repeated else Settings(window_cache_bytes=0)
        served = write_served_folder(folder / "served", NoteOptions(settings=settings))
        with (
            started(served.options()) as server,
            gateway(folder, server.options.grpc, more=_MORE) as front,
        ):
            watched = [*processes(server), psutil.Process(front.process.pid), psutil.Process()]
            result = _measured(server.options, front, notes, watched, options)
    text = json.dumps(result, indent=2)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


def _measured(
    server: ServerOptions, front: RunningGateway, notes: list[Row], watched: list[psutil.Process], options: Any
) -> dict[str, Any]:
    def over_grpc() -> list[str]:
        return asyncio.run(_over_grpc(server.grpc, notes, _IN_FLIGHT))

    def over_gateway() -> list[str]:
        return _over_gateway(front, notes, options.batch)

    if over_grpc() != over_gateway():  # the warm-up too
        sys.exit("the gateway gives other texts than gRPC")
    rounds = []
    computed = {"grpc": 0.0, "gateway": 0.0}
    at_server: dict[str, list[float]] = {"grpc": [], "gateway": []}
    begun_s, busy_s = time.perf_counter(), _busy_s()
    for number in range(options.rounds):
        ways = [("grpc", over_grpc), ("gateway", over_gateway)]
        seconds = {}
        for name, way in ways if number % 2 == 0 else reversed(ways):
            before, begun_at_server = _computed_s(watched), _at_server_s(server)
            begun = time.perf_counter()
            way()
            seconds[name] = time.perf_counter() - begun
            at_server[name].append((_at_server_s(server) - begun_at_server) / seconds[name])
            computed[name] += _computed_s(watched) - before
        rates = {name: round(len(notes) / each, 2) for name, each in seconds.items()}
        rounds.append({**rates, "share": round(seconds["grpc"] / seconds["gateway"], 4)})
    wall_s, busy_s = time.perf_counter() - begun_s, _busy_s() - busy_s
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "notes": len(notes),
        "characters": sum(len(note["text"]) for note in notes),
        "repeated": options.repeated,
        "batch": options.batch,
        "at_once": _IN_FLIGHT,
        "others": round(max(0.0, busy_s - sum(computed.values())) / wall_s / (psutil.cpu_count() or 1), 3),
        "notes_per_second": {name: statistics.median(row[name] for row in rounds) for name in ("grpc", "gateway")},
        "processor_ms_per_note": {
            name: round(1000 * each / len(notes) / options.rounds, 2) for name, each in computed.items()
        },
        "at_server": {name: round(statistics.median(each), 1) for name, each in at_server.items()},
        "share": statistics.median(row["share"] for row in rounds),
        "rounds": rounds,
    }


def _at_server_s(server: ServerOptions) -> float:
    """Return the seconds that all notes so far have spent at the server, waiting and computed."""
    time.sleep(2 * SEND_SECONDS)  # the model sends its figures with a delay
    with urllib.request.urlopen(f"http://{server.metrics}/metrics", timeout=10) as page:
        text = page.read().decode()
    queued_us = re.findall(r'^nv_inference_queue_duration_us\{model="deidentify",[^}]*\} (\S+)$', text, re.MULTILINE)
    seconds = re.findall(r"^deid_server_(?:waiting|stage)_seconds_total(?:\{[^}]*\})? (\S+)$", text, re.MULTILINE)
    return sum(map(float, queued_us)) / 1e6 + sum(map(float, seconds))


def _busy_s() -> float:
    """Return the seconds that all processors of the machine have worked."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait)


def _computed_s(watched: list[psutil.Process]) -> float:
    """Return the processor seconds that the processes have used."""
    return sum(sum(process.cpu_times()[:2]) for process in watched)


async def _over_grpc(address: str, notes: list[Row], at_once: int) -> list[str]:
    texts = [""] * len(notes)
    places = iter(range(len(notes)))
    async with triton_aio.InferenceServerClient(address) as client:

        async def work() -> None:
            for place in places:
                note = notes[place]
                inputs = note_inputs(
                    text=[note["text"]], note_id=[note["id"]], patient=[note.get("patient", "")], key=[KEY_NAME]
                )
                result = await client.infer("deidentify", inputs)
                texts[place] = result.as_numpy("text").item().decode()

        await asyncio.gather(*(work() for _ in range(at_once)))
    return texts


def _over_gateway(front: RunningGateway, notes: list[Row], batch: int) -> list[str]:
    batches = [notes[start : start + batch] for start in range(0, len(notes), batch)]

    def send(part: list[list[Row]]) -> list[list[str]]:
        connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=600)
        found = []
        for each in part:
            connection.request(
                "POST", "/v1/deidentify", json.dumps({"key": KEY_NAME, "notes": each}),
                {"content-type": "application/json", "authorization": f"Bearer {front.token}"},
            )  # fmt: skip
            response = connection.getresponse()
            answer = json.loads(response.read())
            if response.status != 200 or answer["held_back"]:
                sys.exit(f"the gateway answered {response.status}")
            found.append([row["text"] for row in answer["notes"]])
        connection.close()
        return found

    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        parts = [*pool.map(send, [batches[first::_CONNECTIONS] for first in range(_CONNECTIONS)])]
    return [text for place in range(len(batches)) for text in parts[place % _CONNECTIONS][place // _CONNECTIONS]]


if __name__ == "__main__":
    main()

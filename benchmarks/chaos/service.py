"""Are notes lost, doubled or changed when the service is disturbed, and does it recover by itself?

    python benchmarks/chaos/service.py --results benchmarks/results/chaos_service.json

Method: one real ``deid serve`` with both kinds of work on it, all the time: threads that send whole notes to the model
``deidentify``, and ``deid run --server``. Each round disturbs the server once while both go on: SIGKILL and SIGSTOP of
tritonserver and of the processes of its models, queues that are full, connections that send almost nothing, 200
connections at once, and a server whose certificate has expired. The expected texts are those of ``deid run`` without a
server, so every answer must equal them, of either kind. The judge of readiness is the one that a cluster asks:
``/ready`` of ``deid serve``, every quarter of a second. After a dead or stopped process ``deid probe`` must say so,
too. A round ends when ``/ready`` is 200 again by itself, the job has ended, the threads have had all notes answered
once more, and ``deid probe`` finds the server well.
"""

import argparse
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

sys.path.append(str(Path(__file__).resolve().parents[1] / "hostile"))

import tritonclient.grpc as triton
from attacked_runs import RESULTS, describe_machine, run_command, write_notes
from live_service import (
    KEY_NAME,
    Answer,
    NoteClients,
    Readiness,
    ServeProcess,
    ask_note,
    compare_job,
    connect,
    probe,
    start_job,
    wait_connected,
)
from looking import read_rows
from served_models import free_ports
from throw_away_ca import write_certificates

from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.serving.graph_models import ServingOptions
from deid_runtime.serving.note_models import NOTE_INPUTS, NoteOptions
from deid_runtime.serving.repository import write_repository
from deid_runtime.surrogates import write_key

_JOB_LIMIT_S: Final = 400.0
_BACK_S: Final = 180.0
_READY_LIMIT_S: Final = 5.0  # a dead model must show within this time
_PROBE_LIMIT_S: Final = 20  # for a server that is well and busy; as the liveness probe in docker/kubernetes
_HELD_S: Final = 10.0  # how long slow and many connections are held
_QUEUE: Final = 8
_PROMISES: Final = (
    "lost",
    "doubled",
    "other_text",
    "failed",
    "not_back",
    "shown_late",
    "missed_by_probe",
    "text_in_log",
    "refused_wrongly",
)


@dataclass
class Setting:
    """What all rounds share. ``expected`` is the text of each note by id, from a run without a server."""

    folder: Path
    notes: list[dict[str, str]]
    expected: Mapping[str, str]
    service: ServeProcess
    choose: random.Random

    @property
    def key(self) -> Path:
        """The key of the runs and of the server."""
        return self.folder / "keys" / f"{KEY_NAME}.key"


def send(part: str, number: signal.Signals) -> Callable[[Setting], dict[str, Any]]:
    """Return an attack that sends a signal to a process of the server: tritonserver, or that of a /MODEL/."""

    def attack(setting: Setting) -> dict[str, Any]:
        found = setting.service.processes(part)
        setting.choose.choice(found).send_signal(number)
        return {"hit": f"{number.name} {part}"}

    return attack


def fill_queues(setting: Setting) -> dict[str, Any]:
    """Send far more notes at once than the queue of ``deidentify`` holds; those beyond it must be refused at once."""
    counts = {"answered": 0, "refused": 0, "other": 0}
    lock = threading.Lock()

    def flood() -> None:
        with connect(setting.service.address) as client:
            for _ in range(2):
                try:
                    ask_note(client, _values(setting.choose.choice(setting.notes)), 60.0)
                    kind = "answered"
                except triton.InferenceServerException as error:
                    kind = "refused" if "maximum queue size" in str(error) else "other"
                with lock:
                    counts[kind] += 1

    _at_once([flood] * (8 * _QUEUE))
    return {"flood": counts}


def slow_clients(setting: Setting) -> dict[str, Any]:
    """Hold 40 connections to gRPC and HTTP that send one byte a second of a request."""
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    post = b"POST /v2/models/deidentify/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{"

    def drip(port: int, data: bytes) -> None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as connection:
            for byte in data[: int(_HELD_S)]:
                connection.sendall(bytes([byte]))
                time.sleep(1)

    grpc, http, _ = setting.service.ports
    _at_once([lambda: drip(grpc, preface)] * 20 + [lambda: drip(http, post)] * 20)
    return {"connections": 40}


def many_connections(setting: Setting) -> dict[str, Any]:
    """Open 200 connections with a note on each, repeat a note until it is answered, and hold the connection."""
    wrong = [0]

    def ask(note: dict[str, str]) -> None:
        until = time.monotonic() + 120
        with connect(setting.service.address) as client:
            while True:
                try:
                    wrong[0] += ask_note(client, _values(note), 60.0).text != setting.expected[note["id"]]
                    break
                except triton.InferenceServerException:
                    if time.monotonic() > until:
                        wrong[0] += 1
                        break
                    time.sleep(0.5)
            time.sleep(_HELD_S / 5)

    _at_once([partial(ask, setting.notes[number % len(setting.notes)]) for number in range(200)])
    return {"connections": 200, "other_text": wrong[0]}


def expired_certificate(setting: Setting) -> dict[str, Any]:
    """Ask a server with an expired certificate alone, and then beside one with a valid certificate."""
    files = write_certificates(setting.folder / "certificates")
    source = setting.folder / "notes.jsonl"
    result: dict[str, Any] = {}
    with ExitStack() as running:
        places = {}
        for name in ("expired", "valid"):
            service = running.enter_context(
                ServeProcess(
                    setting.service.repository, setting.folder / "keys", setting.folder / f"{name}.log", _ports(),
                    "--tls-cert", str(files[name][0]), "--tls-key", str(files[name][1]),
                )
            )  # fmt: skip
            service.start().wait_ready()
            places[name] = f"localhost:{service.ports[0]}"
        ca = ("--tls-ca", str(files["authority"][0]))
        alone = setting.folder / "expired-alone.jsonl"
        began = time.monotonic()
        process = start_job(source, alone, setting.key, [places["expired"]], *ca)
        _, said = process.communicate(timeout=_JOB_LIMIT_S)
        result["alone"] = {
            "exit_code": process.returncode,
            "seconds": round(time.monotonic() - began, 1),
            "said": said.decode("utf-8", "replace").strip().rpartition("\n")[2][:300],
        }
        result["refused_wrongly"] = int(process.returncode != 2 or alone.exists())
        both = setting.folder / "expired-both.jsonl"
        process = start_job(source, both, setting.key, [places["expired"], places["valid"]], *ca)
        compared = compare_job(process, both, setting.expected, _JOB_LIMIT_S)
        result["beside_a_valid_one"] = compared
        result["other_text"] = compared["other_text"] + compared["held_back"]
    return result


ATTACKS: Final[Mapping[str, Callable[[Setting], dict[str, Any]]]] = {
    "kill server": send("tritonserver", signal.SIGKILL),
    "kill model of tokens": send("/v0/", signal.SIGKILL),
    "stop model of tokens": send("/v0/", signal.SIGSTOP),
    "kill model of notes": send("/deidentify/", signal.SIGKILL),
    "stop model of notes": send("/deidentify/", signal.SIGSTOP),
    "stop server": send("tritonserver", signal.SIGSTOP),
    "full queue": fill_queues,
    "slow clients": slow_clients,
    "200 connections": many_connections,
    "expired certificate": expired_certificate,
}
#: After these, readiness must be false within 5 s.
_DEAD: Final = frozenset(name for name in ATTACKS if name.split()[0] in ("kill", "stop"))


def main() -> None:
    """Run all rounds, print a line for each, write the results; exit with 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attacks", nargs="+", choices=list(ATTACKS), default=list(ATTACKS))
    parser.add_argument("--notes", type=int, default=40)
    parser.add_argument("--threads", type=int, default=3, help="threads that send whole notes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "chaos_service.json")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        setting = prepare(Path(name), options)
        with setting.service:
            setting.service.start()
            print(f"ready after {setting.service.wait_ready():.0f} s", flush=True)
            for number, attack in enumerate(options.attacks):
                rows.append(disturb(setting, number, attack, options.threads))
                write_result(rows, options)
    raise SystemExit(1 if any(row.get(promise) for row in rows for promise in _PROMISES) else 0)


def prepare(folder: Path, options: argparse.Namespace) -> Setting:
    """Write notes, key and repository, and de-identify the notes once without a server."""
    source, out, keys = folder / "notes.jsonl", folder / "peace.jsonl", folder / "keys"
    write_notes(source, options.notes)
    keys.mkdir()
    write_key(keys / f"{KEY_NAME}.key")
    done = subprocess.run(run_command(source, out, keys / f"{KEY_NAME}.key", "--workers", "1"), check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the run in peace ended with {done.returncode}; nothing can be compared with it")
    expected = {row["id"]: row["text"] for row in read_rows(out.read_bytes())}
    notes = [row for row in read_rows(source.read_bytes()) if row["id"] in expected]
    source.write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    write_repository(
        read_manifest(find_models(None)).only("fast"),
        folder / "repository",
        ServingOptions(),
        NoteOptions(max_queue_size=_QUEUE),
    )
    service = ServeProcess(folder / "repository", keys, folder / "serve.log", _ports())
    return Setting(folder, notes, expected, service, random.Random(options.seed))


def disturb(setting: Setting, number: int, name: str, threads: int) -> dict[str, Any]:
    """Do one round and return what came of it."""
    row: dict[str, Any] = {"attack": name, **dict.fromkeys(_PROMISES, 0)}
    out = setting.folder / f"job-{number}.jsonl"
    began = time.monotonic()

    def is_right(note: str, answer: Answer) -> bool:
        return answer.text == setting.expected[note]

    with Readiness(setting.service) as readiness:
        with NoteClients([setting.service.address], setting.notes, is_right, threads) as clients:
            job = start_job(setting.folder / "notes.jsonl", out, setting.key, [setting.service.address])
            wait_connected(job, setting.service.ports[0])
            time.sleep(setting.choose.uniform(0.2, 1.0))
            moment = time.monotonic()
            found = ATTACKS[name](setting)
            if name in _DEAD:
                probed = probe(setting.service.address)
                row["missed_by_probe"] = int(probed.exit_code != 1)
                found["probe"] = asdict(probed)
            compared = compare_job(job, out, setting.expected, _JOB_LIMIT_S)
            try:
                setting.service.wait_ready(_BACK_S)
            except TimeoutError:
                row["not_back"] = 1
            target = clients.answered + len(setting.notes)
            until = time.monotonic() + _BACK_S
            while clients.answered < target and time.monotonic() < until:
                time.sleep(0.2)
            row["not_back"] |= int(clients.answered < target)
            row["not_back"] |= int(probe(setting.service.address, _PROBE_LIMIT_S).exit_code != 0)
        row["answered_by_notes_model"] = clients.answered
        row["calls_repeated"] = clients.counts["calls_repeated"]
        row["longest_note_s"] = round(clients.longest_s, 1)
    not_ready, back = readiness.after(moment)
    row |= {"not_ready_after_s": not_ready, "ready_again_after_s": back, "held_back": compared["held_back"]}
    row["shown_late"] = int(name in _DEAD and (not_ready is None or not_ready > _READY_LIMIT_S))
    for part in ("lost", "doubled", "job_exit_code"):
        row[part] = compared[part]
    row["failed"] = clients.counts["failed"] + compared["held_back"]
    row["other_text"] = compared["other_text"] + clients.counts["other_text"] + found.pop("other_text", 0)
    row["refused_wrongly"] = found.pop("refused_wrongly", 0)
    row["text_in_log"] = int(_log_has_text(setting))
    row |= {"details": found, "seconds": round(time.monotonic() - began, 1)}
    print(json.dumps(row), flush=True)
    return row


def write_result(rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Write what came of all rounds so far."""
    result = {
        "question": str(__doc__).splitlines()[0],
        "machine": describe_machine(),
        "machine_was_shared": "other work ran on the same cores; times are upper bounds",
        "arguments": {each: value for each, value in vars(options).items() if each != "results"},
        "rounds": len(rows),
        **{promise: sum(row[promise] for row in rows) for promise in _PROMISES},
        "rows": rows,
    }
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _values(note: Mapping[str, str]) -> dict[str, str]:
    return dict(zip(NOTE_INPUTS, (note["text"], note["id"], note["patient"], KEY_NAME), strict=True))


def _at_once(tasks: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def _ports() -> tuple[int, int, int]:
    grpc, http, metrics = free_ports(3)
    return grpc, http, metrics


def _log_has_text(setting: Setting) -> bool:
    """Return whether a line of a note, of 20 characters or more, stands in the log of the server."""
    said = setting.service.log.read_text(encoding="utf-8", errors="replace")
    lines = {line.strip() for note in setting.notes for line in note["text"].split("\n")}
    return any(line in said for line in lines if len(line) >= 20)


if __name__ == "__main__":
    main()

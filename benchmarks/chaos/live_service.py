"""A real ``deid serve`` and its clients, for scripts that disturb or update it.

``ServeProcess`` is the command in a process of its own. ``NoteClients`` send whole notes to the model ``deidentify`` of
one or several servers, in threads, and repeat each note until it is answered. ``start_job`` is ``deid run --server``.
Whether a server is ready is asked as a platform asks: ``/ready`` of ``deid serve``, and the command ``deid probe``.
"""

import http.client
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
import tritonclient.grpc as triton

from deid_runtime.serving.note_models import NOTE_INPUTS, NOTES

KEY_NAME: Final = "chaos"
_CALL_S: Final = 30.0
_READY_S: Final = 2.0  # as timeoutSeconds of the readiness probe in docker/kubernetes
_PROBE_S: Final = 3  # --timeout of `deid probe` there
_PAUSE_S: Final = 0.2
_NOTE_S: Final = 180.0  # a note that has no answer by then is lost
_STOP_S: Final = 60.0
_CHANNEL: Final = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0), *[
    (f"grpc.{name}_reconnect_backoff_ms", 200) for name in ("initial", "min", "max")
]]  # fmt: skip
#: The server refused a note for good; every other failure is worth another try.
_FINAL: Final = ("StatusCode.INVALID_ARGUMENT",)


class ServeProcess:
    """``deid serve`` on free or given ports, with its log in a file."""

    def __init__(self, repository: Path, keys: Path, log: Path, ports: tuple[int, int, int], *extra: str) -> None:
        self.repository, self.log, self.ports = repository, log, ports
        self._options = [
            "--keys", str(keys), "--grpc-port", str(ports[0]), "--http-port", str(ports[1]), "--metrics-port",
            str(ports[2]), *extra,
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Host and port of gRPC."""
        return f"127.0.0.1:{self.ports[0]}"

    def is_ready(self) -> bool:
        """Return whether ``/ready`` answers 200 within 2 s, as the readiness probe of a cluster asks."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[2], timeout=_READY_S)
        try:
            connection.request("GET", "/ready")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def serve(self, repository: Path) -> None:
        """Serve another repository from the next start on."""
        self.repository = repository

    def start(self) -> "ServeProcess":
        """Start the command; return at once."""
        command = [sys.executable, "-m", "deid_runtime", "serve", "--repository", str(self.repository), *self._options]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, stdout=log)
        return self

    def wait_ready(self, timeout_s: float = 180.0) -> float:
        """Wait until the server says that it de-identifies; return the seconds that it took."""
        began = time.monotonic()
        while not self.is_ready():
            if time.monotonic() - began > timeout_s or self._process is None or self._process.poll() is not None:
                raise TimeoutError(f"deid serve was not ready in {timeout_s:.0f} s: {self._said()}")
            time.sleep(_PAUSE_S)
        return time.monotonic() - began

    def _said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-1000:]

    def processes(self, part: str) -> list[psutil.Process]:
        """Return the processes below the command whose command line holds ``part``: tritonserver, or /MODEL/."""
        assert self._process is not None
        found = []
        for each in psutil.Process(self._process.pid).children(recursive=True):
            with suppress(psutil.Error):
                words = each.cmdline()
                is_model = "python_backend_stub" in " ".join(words)
                if part in " ".join(words) and is_model == part.startswith("/"):
                    found.append(each)
        return found

    def stop(self) -> int:
        """Stop as a platform does, with SIGTERM; return the exit code."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._process = None

    def __enter__(self) -> "ServeProcess":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def connect(address: str) -> triton.InferenceServerClient:
    """Return a client with a connection of its own."""
    return triton.InferenceServerClient(address, channel_args=_CHANNEL)


@dataclass(frozen=True, slots=True)
class Probed:
    """What ``deid probe`` found. Exit code 0: the server de-identifies; 1: it does not."""

    exit_code: int
    seconds: float
    said: str


def probe(address: str, timeout_s: int = _PROBE_S) -> Probed:
    """Run ``deid probe`` on a server."""
    command = [sys.executable, "-m", "deid_runtime", "probe", "--server", address, "--timeout", str(timeout_s)]
    began = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip()[:300]
    return Probed(done.returncode, round(time.monotonic() - began, 1), said)


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of a de-identified note, and the version of the model that made it."""

    text: str = field(repr=False)
    version: str


def ask_note(client: triton.InferenceServerClient, values: Mapping[str, str], timeout_s: float, **more: Any) -> Answer:
    """Send one note to ``deidentify``. Raises InferenceServerException."""
    inputs = []
    for name in NOTE_INPUTS:
        tensor = triton.InferInput(name, [1], "BYTES")
        tensor.set_data_from_numpy(np.array([values[name].encode()], np.object_))
        inputs.append(tensor)
    result = client.infer(NOTES, inputs, client_timeout=timeout_s, **more)
    return Answer(result.as_numpy("text")[0].decode(), result.get_response().model_version)


class NoteClients:
    """Threads that go round the notes again and again; each note is repeated, on the next server, until answered."""

    def __init__(
        self,
        addresses: Sequence[str],
        notes: Sequence[Mapping[str, str]],
        check: Callable[[str, Answer], bool],
        threads: int,
    ) -> None:
        """``check`` says whether an answer is right, given the id of its note."""
        self._addresses = addresses
        self._check = check
        self._work = itertools.cycle(notes)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.counts: Counter[str] = Counter()
        self.versions: Counter[str] = Counter()
        self.longest_s = 0.0
        self._threads = [threading.Thread(target=self._go, args=(number,)) for number in range(threads)]

    def __enter__(self) -> "NoteClients":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def answered(self) -> int:
        """The number of notes that were answered so far."""
        return self.counts["answered"]

    def _go(self, number: int) -> None:
        clients = [connect(address) for address in self._addresses]
        turn = number
        while not self._stop.is_set():
            with self._lock:
                note = next(self._work)
            values = {"text": note["text"], "note_id": note["id"], "patient": note["patient"], "key": KEY_NAME}
            began = time.monotonic()
            while True:
                try:
                    answer = ask_note(clients[turn % len(clients)], values, _CALL_S)
                except triton.InferenceServerException as error:
                    self.counts["calls_repeated"] += 1
                    if error.status() in _FINAL or time.monotonic() - began > _NOTE_S:
                        self.counts["failed"] += 1
                        break
                    turn += 1
                    time.sleep(_PAUSE_S)
                    continue
                self.counts["answered"] += 1
                self.counts["other_text"] += not self._check(note["id"], answer)
                self.versions[answer.version] += 1
                break
            self.longest_s = max(self.longest_s, time.monotonic() - began)
        for client in clients:
            client.close()


@dataclass
class Readiness:
    """A thread that asks every quarter of a second whether a server is ready, and notes each change with its time."""

    service: ServeProcess
    changes: list[tuple[float, bool]] = field(default_factory=list)

    def __enter__(self) -> "Readiness":
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.25):
            now = self.service.is_ready()
            if not self.changes or self.changes[-1][1] != now:
                self.changes.append((time.monotonic(), now))

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def after(self, moment: float) -> tuple[float | None, float | None]:
        """Return the seconds from ``moment`` until it was not ready, and until it was ready again; None for never."""
        lost = next((at for at, ready in self.changes if at > moment and not ready), None)
        back = None if lost is None else next((at for at, ready in self.changes if at > lost and ready), None)
        return (lost and round(lost - moment, 1)), (back and round(back - moment, 1))


def start_job(source: Path, out: Path, key: Path, servers: Sequence[str], *extra: str) -> "subprocess.Popen[bytes]":
    """Start ``deid run --server``."""
    command = [
        sys.executable, "-m", "deid_runtime", "run", str(source), "--out", str(out), "--key", str(key), "--keep-ids",
        "--workers", "1", "--quiet", "--server", ",".join(servers), *extra,
    ]  # fmt: skip
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


def wait_connected(process: "subprocess.Popen[bytes]", port: int, timeout_s: float = 60.0) -> None:
    """Wait until a job, or a worker of it, has a connection to the port. A job that finds no server does not begin."""
    until = time.monotonic() + timeout_s
    while process.poll() is None and time.monotonic() < until:
        with suppress(psutil.Error):
            root = psutil.Process(process.pid)
            for each in (root, *root.children(recursive=True)):
                if any(place.raddr and place.raddr.port == port for place in each.net_connections("tcp")):
                    return
        time.sleep(0.05)


def compare_job(
    process: "subprocess.Popen[bytes]", out: Path, expected: Mapping[str, str], limit_s: float
) -> dict[str, Any]:
    """Wait for a job; count its notes that are lost, doubled, held back or of another text than ``expected``."""
    try:
        _, said = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return {"job_exit_code": None, "lost": len(expected), "doubled": 0, "held_back": 0, "other_text": 0}
    rows = [json.loads(line) for line in out.open(encoding="utf-8")] if out.exists() else []
    quarantine = out.with_name(f"{out.name}.quarantine.jsonl")
    held_back = [json.loads(line) for line in quarantine.open(encoding="utf-8")] if quarantine.exists() else []
    seen = Counter(row["id"] for row in (*rows, *held_back))
    return {
        "job_exit_code": process.returncode,
        "lost": sum(each not in seen for each in expected),
        "doubled": sum(count > 1 for count in seen.values()),
        "held_back": len(held_back),
        "other_text": sum(expected[row["id"]] != row["text"] for row in rows),
        "job_said": said.decode("utf-8", "replace")[-200:] if process.returncode else "",
    }

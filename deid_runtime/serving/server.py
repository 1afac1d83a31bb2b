"""One ``tritonserver`` process on this machine: start it, wait until it is ready, stop it and clean up."""

import http.client
import json
import logging
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from deid_runtime.errors import ModelError
from deid_runtime.serving.confined import confined_command
from deid_runtime.serving.grpc_probe import answers_grpc
from deid_runtime.serving.http_port import HttpPort
from deid_runtime.serving.http_relay import SocketFileConnection, relay_to
from deid_runtime.serving.installation import Installation, lay_out_backends, server_environment
from deid_runtime.serving.note_queue import ANSWERS_VARIABLE
from deid_runtime.serving.processes import children, command, computed_s, is_stopped, limit_data, parent
from deid_runtime.serving.server_options import (
    LOOPBACK,
    METRICS_SOCKET,
    OWN_SOCKET,
    ServerOptions,
    arguments,
    check_options,
)

_SHARED_MEMORY: Final = Path("/dev/shm")
_POLL_S: Final = 0.1
_STOP_S: Final = 15.0  # for requests in flight, and again for the models' processes; then the server is killed
#: How long a server may take to stop, at most.
LONGEST_STOP_S: Final = 2 * _STOP_S + 5.0
_ASK_S: Final = 5.0
_LOG_LINES: Final = 20
_ANSWERS: Final = "answers"  # a folder with a file of each process of `deidentify`, written at each answer
_LOG_END_S: Final = 10.0  # for the rest of the log of a server that has ended; more than a busy machine needs
_REASON_S: Final = 2.0  # for the reason of a server that goes on, but does not become ready
_REASON: Final = "failed to load"
#: Log lines without meaning here: the server writes them without a GPU, or for a socket file.
_NOISE: Final = (
    "CudaDriverHelper has not been initialized",
    "pinned system memory",
    "unable to create stream for",
    "NODELAY NOT SUPPORTED",
    "before absl::InitializeLog() is called",
)
#: A log line of a library, as gRPC or protobuf: nine digits of a second, or seconds since 1970, where Triton writes the
#: time of day with six. Another thread or process writes it, so it may stand in the middle of a line of Triton.
_LIBRARY_LINE: Final = re.compile(
    r"[DIWEF](?:\d{4} \d\d:\d\d:\d\d\.\d{9}|0000 00:00:\d{10}\.\d{6})\s+\d+ \S+:\d+\].*", re.DOTALL
)

_logger = logging.getLogger(__name__)


class Server:
    """A running server. Leaving the ``with`` block stops it.

    It also ends with the thread that started it, so start it from the thread that lives longest.
    """

    def __init__(self, installation: Installation, options: ServerOptions) -> None:
        check_options(options)
        self.options = options
        self._folder = tempfile.TemporaryDirectory(prefix="deid-serve-")
        #: The prefix of the shared memory files of the server and the models' processes.
        self._shared_prefix = f"deid_{os.getpid()}_{os.urandom(4).hex()}_"
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._reason = ""  # the first line that says why a model is not loaded
        self._has_reason = threading.Event()
        self._models: tuple[int, ...] = ()
        if not os.access(installation.server, os.X_OK):
            self._folder.cleanup()
            raise ModelError(f"the inference server cannot be started: {installation.server} is not a program")
        try:
            Path(self._folder.name, _ANSWERS).mkdir()
            backends = lay_out_backends(installation, Path(self._folder.name))
            self._process = subprocess.Popen(
                confined_command(
                    str(installation.server),
                    *arguments(options, backends, self._shared_prefix),
                    f"--exit-timeout-secs={int(_STOP_S)}",
                ),
                env={
                    **server_environment(installation),
                    **options.environment,
                    ANSWERS_VARIABLE: str(Path(self._folder.name, _ANSWERS)),
                },
                cwd=self._folder.name,  # a private folder: the models' processes import from it first
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,  # Ctrl-C reaches only this process, which then stops the server cleanly
            )
        except OSError as error:
            self._folder.cleanup()
            raise ModelError(f"the inference server cannot be started ({error.strerror})") from error
        except BaseException:
            self._folder.cleanup()
            raise
        self._reader = threading.Thread(target=self._read_log, name="tritonserver-log", daemon=True)
        self._reader.start()
        self._relays: list[HttpPort] = []
        for port, file in ((options.http_port, OWN_SOCKET), (options.metrics_port, METRICS_SOCKET)):
            try:
                if port is not None:
                    self._relays.append(HttpPort((LOOPBACK, port), relay_to(self._socket(file))))
            except OSError as error:  # another process took the port after the options were checked
                self.clean_up()
                raise ModelError(f"cannot listen on {LOOPBACK}:{port} for {file} ({error.strerror})") from error

    @property
    def pid(self) -> int:
        """Process id of ``tritonserver``."""
        return self._process.pid

    @property
    def metrics_socket(self) -> str:
        """The path of the socket file that serves the server's own metrics."""
        return self._socket(METRICS_SOCKET)

    def _socket(self, name: str) -> str:
        # Through /proc: a socket path may have at most 107 bytes, and paths of temporary folders may be longer.
        return f"/proc/{self.pid}/cwd/{name}"

    def exit_code(self) -> int | None:
        """Return the exit code, negative for a signal, or None while the server runs."""
        return self._process.poll()

    def ask(self, method: str, path: str, body: object = None, *, timeout_s: float = _ASK_S) -> tuple[int, Any]:
        """Send an HTTP request to the server's own socket, with ``body`` as JSON; return status and parsed content.

        The content is None when the response has none. ``timeout_s`` limits each wait for a part of the response.
        Raises OSError, or HTTPException of ``http.client``, when no complete response comes.
        """
        connection = SocketFileConnection(self._socket(OWN_SOCKET), timeout_s)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            content = response.read()
            return response.status, json.loads(content) if content else None
        except ValueError as error:
            raise http.client.HTTPException("the answer is not JSON") from error
        finally:
            connection.close()

    def is_ready(self) -> bool:
        """Return whether the server reports that it and all its models are ready."""
        try:
            status, _ = self.ask("GET", "/v2/health/ready")
            return status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False

    def wait_ready(self, stop: threading.Event | None = None) -> bool:
        """Wait until all models are loaded and warmed up. Return False when ``stop`` is set before that.

        Raises ModelError when the server ends before that, or is not ready after ``ready_s`` of the options.
        """
        stop = stop or threading.Event()
        deadline = time.monotonic() + self.options.ready_s
        while not (self.is_ready() and answers_grpc(self.options, _ASK_S)):
            code = self.exit_code()
            if code is not None:
                self._kill_rest()  # processes of models hold the log open, and its end would never come
                self._reader.join(_LOG_END_S)
                raise ModelError(f"the inference server ended with {code} while starting: {self._complaint()}")
            if time.monotonic() > deadline:
                self._has_reason.wait(_REASON_S)
                raise ModelError(
                    f"the inference server was not ready after {self.options.ready_s:.0f} s: {self._complaint()}"
                )
            if stop.wait(_POLL_S):
                return False
        self._models = children(self.pid)
        with suppress(OSError):  # the server has just ended; the next check detects that
            limit_data(self.pid, self.options.request_memory_bytes)
        return True

    def has_all_models(self) -> bool:
        """Return whether the process of every model still runs.

        Without such a process the server still reports ready, but answers every request to that model with an error.
        """
        return all(parent(pid) == self.pid for pid in self._models)

    def computed_s(self, model: str) -> float:
        """Return the processor seconds that the processes of a model have used."""
        return sum(computed_s(pid) for pid in self._models if f"/{model}/" in command(pid))

    def last_answer_ns(self) -> int | None:
        """Return when ``deidentify`` last answered a request, in nanoseconds of file times; None if it never did."""
        marks = Path(self._folder.name, _ANSWERS).glob("*")
        return max((mark.stat().st_mtime_ns for mark in marks), default=None)

    def has_stopped_process(self) -> bool:
        """Return whether the server or a model's process is stopped, for instance by SIGSTOP."""
        return any(is_stopped(pid) for pid in (self.pid, *self._models))

    def stop(self) -> None:
        """Wait for requests in flight, then stop the server and all its processes and remove their shared memory."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=2 * _STOP_S)
            except subprocess.TimeoutExpired:
                _logger.warning("the inference server did not stop in %.0f s and is killed", 2 * _STOP_S)
        self.clean_up()

    def clean_up(self) -> None:
        """Kill all remaining processes of the server, and remove its shared memory and its temporary folder.

        After a crash of the server, the models' processes may still run.
        """
        for relay in self._relays:
            relay.close()
        self._kill_rest()
        self._process.wait()
        self._reader.join(timeout=5)
        if self._process.stdout and not self._reader.is_alive():
            self._process.stdout.close()
        for path in _SHARED_MEMORY.glob(f"{self._shared_prefix}*"):
            path.unlink(missing_ok=True)
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _kill_rest(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _read_log(self) -> None:
        assert self._process.stdout is not None
        for line in whole_lines(self._process.stdout):
            if line.strip() and not any(noise in line for noise in _NOISE):
                self._log.append(line)
                if _REASON in line and not self._reason:
                    self._reason = line
                    self._has_reason.set()
                level = logging.WARNING if line.startswith("E") else logging.INFO
                _logger.log(level, "tritonserver: %s", line)

    def _complaint(self) -> str:
        """Return the first line of the log that says why a model is not loaded, else the last; without traceback."""
        last = self._log[-1] if self._log else "it wrote nothing"
        return (self._reason or last).partition("\\n\\nAt:")[0]


def whole_lines(log: Iterable[str]) -> Iterator[str]:
    """Yield the lines of Triton's log without their ends.

    Lines of libraries are left out. Where one cuts a line of Triton in two, the parts are joined again.
    """
    begun = ""
    for line in log:
        own = _LIBRARY_LINE.sub("", line)
        if own == line:
            yield (begun + line).rstrip()
            begun = ""
        else:
            begun += own
    if begun.strip():
        yield begun.rstrip()

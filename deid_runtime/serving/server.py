"""One ``tritonserver`` process on this machine: start, wait until ready, stop, leave nothing behind."""

import ctypes
import http.client
import logging
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.serving.installation import Installation, lay_out_backends, server_environment

LOOPBACK: Final = "127.0.0.1"

_SHARED_MEMORY: Final = Path("/dev/shm")
_POLL_S: Final = 0.1
_STOP_S: Final = 15.0  # for requests in flight, then for the models' processes; after it the server is killed
_LOG_LINES: Final = 20
#: What the server says wherever there is no GPU.
_NOISE: Final = ("CudaDriverHelper has not been initialized", "pinned system memory", "unable to create stream for")
_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of prctl(2)
#: What a client could have the server log tensors by, read memory of its models by, or change what is served.
_HEADER: Final = "deid-administration"
_RESTRICTED: Final = "shared-memory,model-repository,trace,logging"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tls:
    """Files (PEM) for TLS on gRPC; with ``client_authority`` clients must show a certificate it has signed."""

    certificate: Path
    key: Path
    client_authority: Path | None = None


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """What is served, and where it can be reached. With TLS only gRPC listens on ``host``, the rest on the loopback."""

    repository: Path
    host: str = LOOPBACK
    http_port: int = 8000
    grpc_port: int = 8001
    metrics_port: int = 8002
    tls: Tls | None = None
    environment: Mapping[str, str] = field(default_factory=dict)  # for the models, beside that of this process
    ready_s: float = 180.0  # how long loading the models may take

    @property
    def grpc(self) -> str:
        """Host and port of the gRPC endpoint."""
        return f"{self.host}:{self.grpc_port}"

    @property
    def http(self) -> str:
        """Host and port of the HTTP endpoint."""
        return f"{self.plain_host}:{self.http_port}"

    @property
    def metrics(self) -> str:
        """Host and port of the Prometheus endpoint, path ``/metrics``."""
        return f"{self.plain_host}:{self.metrics_port}"

    @property
    def plain_host(self) -> str:
        """Where HTTP and metrics listen: the server has no TLS for them."""
        return LOOPBACK if self.tls else self.host


class Server:
    """A running server; leaving the ``with`` block stops it. Start it from the thread that lives longest."""

    def __init__(self, installation: Installation, options: ServerOptions) -> None:
        _check_ports(options)
        self.options = options
        self._folder = tempfile.TemporaryDirectory(prefix="deid-serve-")
        #: The models' processes share memory with the server in files whose names begin so.
        self._shared_prefix = f"deid_{os.getpid()}_{os.urandom(4).hex()}_"
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._models: tuple[int, ...] = ()
        libc = ctypes.CDLL(None)  # not in the new process, which a lock of another thread could hold up for ever
        try:
            backends = lay_out_backends(installation, Path(self._folder.name))
            self._process = subprocess.Popen(
                self._command(installation, backends),
                env={**server_environment(installation), **options.environment},
                cwd=self._folder.name,  # the models' processes import from it first
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,  # Ctrl-C in a terminal is for us, who then stop the server in order
                # When this process is killed it can't stop the server itself (Linux).
                preexec_fn=partial(libc.prctl, _DEATH_SIGNAL, signal.SIGTERM),
            )
        except OSError as error:
            self._folder.cleanup()
            raise ModelError(f"the inference server cannot be started ({error.strerror})") from error
        except BaseException:
            self._folder.cleanup()
            raise
        self._reader = threading.Thread(target=self._read_log, name="tritonserver-log", daemon=True)
        self._reader.start()

    def _command(self, installation: Installation, backends: Path) -> list[str]:
        options = self.options
        # No client is told; other users of this machine may read it among the arguments of the process, unless /proc is
        # mounted with hidepid. Triton takes it from nowhere else.
        secret = os.urandom(16).hex()
        return [
            str(installation.server),
            f"--model-repository={options.repository.resolve()}",
            f"--backend-directory={backends}",
            f"--backend-config=python,shm-region-prefix-name={self._shared_prefix}",
            f"--grpc-address={options.host}",
            f"--http-address={options.plain_host}",
            f"--metrics-address={options.plain_host}",
            f"--http-port={options.http_port}",
            f"--grpc-port={options.grpc_port}",
            f"--metrics-port={options.metrics_port}",
            "--allow-gpu-metrics=false",
            "--pinned-memory-pool-byte-size=0",
            "--disable-auto-complete-config",
            "--log-info=false",
            f"--http-restricted-api={_RESTRICTED}:{_HEADER}={secret}",
            f"--grpc-restricted-protocol={_RESTRICTED}:{_HEADER}={secret}",
            f"--exit-timeout-secs={int(_STOP_S)}",
            *(_tls_arguments(options.tls) if options.tls else ()),
        ]

    @property
    def pid(self) -> int:
        """Process id of ``tritonserver``."""
        return self._process.pid

    @property
    def log_tail(self) -> list[str]:
        """The last lines the server wrote: warnings and errors, none of which holds what a request brought."""
        return list(self._log)

    def exit_code(self) -> int | None:
        """Return the exit code, negative for a signal; None while the server runs."""
        return self._process.poll()

    def is_ready(self) -> bool:
        """Ask the server whether it and all its models can take requests."""
        # An address for all interfaces can be listened on, not always called.
        host = LOOPBACK if self.options.plain_host == "0.0.0.0" else self.options.plain_host
        connection = http.client.HTTPConnection(host, self.options.http_port, timeout=5)
        try:
            connection.request("GET", "/v2/health/ready")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def wait_ready(self, stop: threading.Event | None = None) -> bool:
        """Wait until all models are loaded and warm; return False when ``stop`` is set before.

        Raises ModelError when the server ends before, or takes too long.
        """
        stop = stop or threading.Event()
        deadline = time.monotonic() + self.options.ready_s
        while not self.is_ready():
            code = self.exit_code()
            if code is not None:
                self._reader.join(timeout=1)
                raise ModelError(f"the inference server ended with {code} while starting: {self._complaint()}")
            if time.monotonic() > deadline:
                raise ModelError(
                    f"the inference server was not ready after {self.options.ready_s:.0f} s: {self._complaint()}"
                )
            if stop.wait(_POLL_S):
                return False
        self._models = _children(self.pid)
        return True

    def has_all_models(self) -> bool:
        """Say whether the process of every model still runs.

        The server calls itself ready without them, and answers every request to such a model with an error.
        """
        return all(_parent(pid) == self.pid for pid in self._models)

    def stop(self) -> None:
        """Let requests in flight end, then stop the server and all its processes, and free their shared memory."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=2 * _STOP_S)
            except subprocess.TimeoutExpired:
                _logger.warning("the inference server did not stop in %.0f s and is killed", 2 * _STOP_S)
        self.clean_up()

    def clean_up(self) -> None:
        """Kill whatever is left of the server, as its models' processes after a crash, and free what it held."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
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

    def _read_log(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip() and not any(noise in line for noise in _NOISE):
                self._log.append(line.rstrip())
                level = logging.WARNING if line.startswith("E") else logging.INFO
                _logger.log(level, "tritonserver: %s", line.rstrip())

    def _complaint(self) -> str:
        """Return the first error the server wrote, without the calls that led to it."""
        first = next((line for line in self._log if "failed to load" in line), None)
        last = self._log[-1] if self._log else "it wrote nothing"
        return (first or last).partition("\\n\\nAt:")[0]


def _tls_arguments(tls: Tls) -> list[str]:
    arguments = [
        "--grpc-use-ssl=true",
        f"--grpc-server-cert={tls.certificate.resolve()}",
        f"--grpc-server-key={tls.key.resolve()}",
    ]
    if tls.client_authority:
        arguments += ["--grpc-use-ssl-mutual=true", f"--grpc-root-cert={tls.client_authority.resolve()}"]
    return arguments


def _check_ports(options: ServerOptions) -> None:
    """Raise SettingsError when an address cannot be bound: the server's own words for it are hard to read."""
    ports = {"HTTP": options.http_port, "gRPC": options.grpc_port, "metrics": options.metrics_port}
    if len(set(ports.values())) < len(ports):
        raise SettingsError(f"HTTP, gRPC and metrics need a port each; got {', '.join(map(str, ports.values()))}")
    for name, port in ports.items():
        host = options.host if name == "gRPC" else options.plain_host
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                raise SettingsError(
                    f"cannot listen on {host}:{port} for {name} ({error.strerror}); stop what does, or name "
                    f"another with --{name.lower()}-port"
                ) from None


def _children(pid: int) -> tuple[int, ...]:
    return tuple(int(path.name) for path in Path("/proc").glob("[0-9]*") if _parent(int(path.name)) == pid)


def _parent(pid: int) -> int | None:
    """Return the parent of a process, None where it has ended."""
    try:
        # The name, in brackets, may hold anything; after it come the state and the parent.
        state, parent = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
    except OSError:
        return None
    return None if state == "Z" else int(parent)

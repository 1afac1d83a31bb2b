"""Start a real gateway as a process, and talk to it over real sockets."""

import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid_runtime.access.tokens import NewToken, new_token

ROOT = Path(__file__).resolve().parents[3]
_ADDRESS = re.compile(r"the gateway listens: (https?)://([\d.]+):(\d+)(?:, monitor http://[\d.]+:(\d+))?")


@dataclass
class Answer:
    """One answer."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """The content as JSON."""
        return json.loads(self.content)

    @property
    def problem(self) -> str:
        """The kind of a problem."""
        assert self.headers["content-type"] == "application/problem+json"
        return str(self.json["type"]).rpartition(":")[2]


@dataclass
class RunningGateway:
    """A gateway, the token of its project, and all that it has logged."""

    process: subprocess.Popen[str]
    port: int
    monitor_port: int
    token: str
    audit: Path
    log: list[str] = field(default_factory=list)
    tls: ssl.SSLContext | None = None

    def connection(self, timeout: float = 60) -> http.client.HTTPConnection:
        """Return a new connection."""
        if self.tls is not None:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(
        self,
        path: str = "/v1/deidentify",
        body: object = None,
        *,
        method: str = "POST",
        token: str | None = "",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request and return the answer. ``body`` is sent as it is when it is bytes, else as JSON."""
        sent = {"content-type": "application/json", **(headers or {})}
        if token is not None:
            sent["authorization"] = f"Bearer {token or self.token}"
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = self.connection()
        try:
            connection.request(method, path, content if method == "POST" else None, sent)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read())
        finally:
            connection.close()

    def get(self, path: str, token: str | None = None) -> Answer:
        """Send a GET request."""
        return self.ask(path, method="GET", token=token)

    def raw(self, content: bytes, *, timeout: float = 10, end: bool = False) -> bytes:
        """Send bytes over a new connection and return all that comes until it is closed or nothing comes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as opened:
            opened.sendall(content)
            if end:
                opened.shutdown(socket.SHUT_WR)
            parts = bytearray()
            try:
                while part := opened.recv(65_536):
                    parts += part
            except (TimeoutError, ConnectionResetError):
                pass
        return bytes(parts)

    def wait_ready(self, timeout_s: float = 60) -> None:
        """Wait until a server has de-identified a known note."""
        until = time.monotonic() + timeout_s
        while not self._is_ready():
            assert time.monotonic() < until, "".join(self.log)
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.monitor_port, timeout=30)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        finally:
            connection.close()

    def audited(self) -> list[dict[str, Any]]:
        """Return the lines of the audit log."""
        return [json.loads(line) for line in self.audit.read_text(encoding="ascii").splitlines()]


def write_access(path: Path, keys: str, token: NewToken, more: str = "") -> Path:
    """Write an access file with the project ``heart`` and its token; ``more`` are further lines of the project."""
    path.touch(mode=0o600)
    rate = "" if "notes_per_minute" in more else "notes_per_minute = 100_000\n"
    path.write_text(
        f"[projects.heart]\nkeys = [{keys}]\nmetrics = true\n{rate}{more}\n"
        f'[[projects.heart.tokens]]\nid = "{token.id}"\nsha256 = "{token.sha256}"\n'
    )
    return path


@contextmanager
def gateway(
    folder: Path, server: str, *arguments: object, keys: str = '"study"', more: str = "", waits: bool = True
) -> Iterator[RunningGateway]:
    """Start a gateway, wait until a server answers it unless told not to, and stop it at the end, cleanly."""
    token = new_token()
    access = write_access(folder / "access.toml", keys, token, more)
    audit = folder / "audit.jsonl"
    command = [
        sys.executable, "-m", "deid_runtime", "gateway", "serve", "--access", access, "--audit-log", audit,
        "--server", server, "--port", 0, "--monitor-port", 0, *arguments,
    ]  # fmt: skip
    path = os.pathsep.join(str(each) for each in (ROOT, ROOT / "client"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (path, os.environ.get("PYTHONPATH"))))}
    process = subprocess.Popen(
        [str(each) for each in command],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=environment,
        cwd=ROOT,
    )
    assert process.stderr is not None
    log: list[str] = []
    try:
        found = None
        for line in process.stderr:
            log.append(line)
            found = _ADDRESS.search(line)
            if found:
                break
        assert found, "".join(log)
        reader = threading.Thread(target=lambda: log.extend(process.stderr or ()), daemon=True)
        reader.start()
        running = RunningGateway(process, int(found[3]), int(found[4]), token.text, audit, log)
        if waits:
            running.wait_ready()
        yield running
        process.terminate()
        assert process.wait(timeout=40) == 0, "".join(log)
        reader.join(timeout=5)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()

"""Start the real inference server for tests, from the wheel, on free ports of the loopback."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.serving.graph_models import GraphModels, ServingOptions
from deid_runtime.serving.installation import Installation, find_installation
from deid_runtime.serving.note_models import NoteOptions
from deid_runtime.serving.repository import repository_folder, write_graph_model, write_repository
from deid_runtime.serving.server import Server
from deid_runtime.serving.server_options import ServerOptions
from deid_runtime.serving.supervisor import RestartPolicy, supervise
from deid_runtime.surrogates import write_key

KEY_NAME = "study"


@dataclass(frozen=True)
class ServedFolder:
    """A repository to serve, with a folder that holds the key :data:`KEY_NAME`."""

    repository: Path
    keys: Path

    def options(self, *, has_http: bool = False) -> ServerOptions:
        """Return server options with free ports."""
        http, grpc, metrics = free_ports(3)
        return ServerOptions(
            repository=self.repository,
            http_port=http if has_http else None,
            grpc_port=grpc,
            metrics_port=metrics,
            environment={"DEID_SERVE_KEYS": str(self.keys)},
        )


def installation() -> Installation:
    """Return the installed server; skip the test when the extra ``serve`` is not installed."""
    pytest.importorskip("pytriton")
    return find_installation()


def write_served_folder(folder: Path, notes: NoteOptions | None = None) -> ServedFolder:
    """Write the packaged models and a key into ``folder``."""
    served = ServedFolder(folder / "repository", folder / "keys")
    write_repository(read_manifest(find_models(None)), served.repository, ServingOptions(), notes or NoteOptions())
    served.keys.mkdir()
    write_key(served.keys / f"{KEY_NAME}.key")
    return served


def write_fast_folder(folder: Path) -> ServedFolder:
    """Write the graph of the profile ``fast``, the models for notes, and a key into ``folder``; they start fast."""
    served = ServedFolder(folder / "repository", folder / "keys")
    manifest = read_manifest(find_models(None)).only("fast")
    write_repository(manifest, served.repository, ServingOptions(call_rows=1), NoteOptions())
    served.keys.mkdir()
    write_key(served.keys / f"{KEY_NAME}.key")
    return served


def write_small_folder(folder: Path) -> ServedFolder:
    """Write a repository of one model that starts fast into ``folder``, without keys."""
    served = ServedFolder(folder / "repository", folder)
    (folder / "models").mkdir()
    manifest = read_manifest(changed_models(folder / "models", fast_alone))
    with repository_folder(manifest, served.repository):
        graph = manifest.graphs["v0"]
        config = GraphModels(manifest, ServingOptions(call_rows=1)).whole(graph)
        write_graph_model(served.repository, config, graph.file)
    return served


def processes(server: Server) -> list[psutil.Process]:
    """Return the process of the server and the processes of its models."""
    parent = psutil.Process(server.pid)
    return [parent, *parent.children(recursive=True)]


def shared_memory(pid: int) -> set[str]:
    """Return the shared memory files of the servers that a process started and their model processes."""
    return {path.name for path in Path("/dev/shm").glob(f"deid_{pid}_*")}


def changed_models(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Write the packaged models with a changed manifest to ``folder`` and return it."""
    for path in find_models(None).iterdir():
        if path.name != "manifest.json":
            (folder / path.name).symlink_to(path)
    content = json.loads((find_models(None) / "manifest.json").read_text(encoding="utf-8"))
    change(content)
    (folder / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def fast_alone(content: dict[str, Any]) -> None:
    """Reduce a manifest to the profile ``fast`` and its graph."""
    del content["graphs"]["v1"], content["profiles"]["full"]


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback that are free now."""
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@contextmanager
def started(options: ServerOptions) -> Iterator[Server]:
    """Start one server, wait until it is ready, and stop it at the end."""
    with Server(installation(), options) as server:
        server.wait_ready()
        yield server


class Supervised:
    """The servers of one supervisor, in the order in which they became ready; the last one runs now."""

    def __init__(self) -> None:
        self.servers: list[Server] = []
        self._changed = threading.Condition()

    @property
    def server(self) -> Server:
        """Return the server that runs now or ran last."""
        return self.servers[-1]

    def add(self, server: Server) -> None:
        """Record that a server has become ready."""
        with self._changed:
            self.servers.append(server)
            self._changed.notify_all()

    def wait_started(self, times: int, timeout_s: float = 120) -> Server:
        """Wait until ``times`` servers in total have become ready; return the last one."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while len(self.servers) < times:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"{len(self.servers)} of {times} starts after {timeout_s} s")
            return self.server


@contextmanager
def supervised(options: ServerOptions, policy: RestartPolicy) -> Iterator[Supervised]:
    """Run a server that is started again when it is killed; wait for the first start, and stop it at the end."""
    stop = threading.Event()
    state = Supervised()
    found = installation()
    thread = threading.Thread(target=supervise, args=(found, options, stop, state.add, policy))
    thread.start()
    try:
        state.wait_started(1)
        yield state
    finally:
        stop.set()
        thread.join()

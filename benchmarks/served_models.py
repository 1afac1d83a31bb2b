"""The real server for the benchmarks: repositories that differ in one thing each, served on free loopback ports."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from deid_runtime.models.manifest import Manifest, find_models, read_manifest
from deid_runtime.serving.graph_models import GraphModels, ServingOptions
from deid_runtime.serving.installation import Installation, find_installation
from deid_runtime.serving.repository import repository_folder, write_config, write_graph_model
from deid_runtime.serving.server import Server
from deid_runtime.serving.server_options import ServerOptions
from deid_runtime.serving.supervisor import RestartPolicy, supervise

Precision = Literal["int8", "float32"]


@dataclass(frozen=True, slots=True)
class Variant:
    """How the models are served. ``has_parts``: encoder, heads and their ensemble too, not the whole graph alone."""

    name: str
    is_batching: bool = True
    is_ragged: bool = True
    instances: int = 1
    precision: Precision = "int8"
    has_parts: bool = False


def write_variant(variant: Variant, manifest: Manifest, graph_name: str, out: Path) -> None:
    """Write a repository with the models of one graph of ``manifest``; parts need the extra ``export``."""
    graph = manifest.graphs[graph_name]
    # Ragged inputs are for dynamic batches alone.
    options = ServingOptions(instances=variant.instances, is_ragged=variant.is_ragged and variant.is_batching)
    with repository_folder(manifest, out):
        models = GraphModels(manifest, options)
        whole = models.whole(graph)
        write_graph_model(out, whole if variant.is_batching else replace(whole, batching=None), graph.file)
        if not variant.has_parts:
            return
        from deid_export.data.split import split

        scratch = out.parent / f"{out.name}-parts"
        scratch.mkdir()
        parts = split(graph, scratch)
        models = replace(models, hidden_size=parts.hidden_size)
        write_graph_model(out, models.encoder(graph), parts.encoder)
        for head, file in parts.heads.items():
            write_graph_model(out, models.head(graph, head), file)
        write_config(out, models.ensemble(graph))


def write_package_models(out: Path, instances: int) -> None:
    """Write a repository with all graphs of the package, whole."""
    manifest = read_manifest(find_models(None))
    models = GraphModels(manifest, ServingOptions(instances=instances))
    with repository_folder(manifest, out):
        for graph in manifest.graphs.values():
            write_graph_model(out, models.whole(graph), graph.file)


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback that nobody listens on now."""
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def server_options(repository: Path) -> ServerOptions:
    """Return options with two free ports."""
    grpc, metrics = free_ports(2)
    return ServerOptions(repository=repository, grpc_port=grpc, metrics_port=metrics)


class Served:
    """A running server that can be started anew when it crashed; a context manager."""

    def __init__(self, repository: Path) -> None:
        self._installation: Installation = find_installation()
        self._options = server_options(repository)
        self._server = self._start()

    @property
    def address(self) -> str:
        """Host and port of gRPC; stays the same over restarts."""
        return self._options.grpc

    def restart_if_dead(self) -> str | None:
        """Start the server anew if it has ended; return how it ended, None if it runs."""
        code = self._server.exit_code()
        if code is None:
            return None
        self._server.clean_up()
        self._server = self._start()
        return f"the server was ended by {signal.Signals(-code).name}" if code < 0 else f"the server ended with {code}"

    def _start(self) -> Server:
        server = Server(self._installation, self._options)
        try:
            server.wait_ready()
        except BaseException:
            server.stop()
            raise
        return server

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *error: object) -> None:
        self._server.stop()


class Supervised:
    """A server as ``deid serve`` runs it: started again whenever it ends. Made by :func:`supervised`."""

    def __init__(self, options: ServerOptions) -> None:
        self.address = options.grpc
        self.starts = 0
        self._server: Server | None = None
        self._changed = threading.Condition()

    def add(self, server: Server) -> None:
        """Take note of a server that has become ready."""
        with self._changed:
            self._server = server
            self.starts += 1
            self._changed.notify_all()

    def wait_started(self, starts: int, timeout_s: float = 180.0) -> None:
        """Wait until servers have become ready so many times in all."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.starts >= starts, timeout_s):
                raise TimeoutError(f"the server was started {self.starts} times, not {starts}, in {timeout_s:.0f} s")

    @property
    def pid(self) -> int:
        """Process id of the server that became ready last."""
        assert self._server is not None
        return self._server.pid

    def kill(self) -> None:
        """End the server at once, as a crash or the system would."""
        os.kill(self.pid, signal.SIGKILL)


@contextmanager
def supervised(
    repository: Path, policy: RestartPolicy, environment: Mapping[str, str] | None = None
) -> Iterator[Supervised]:
    """Run a supervised server; wait for its first start, stop it at the end."""
    options = replace(server_options(repository), environment=environment or {})
    state = Supervised(options)
    stop = threading.Event()
    thread = threading.Thread(target=supervise, args=(find_installation(), options, stop, state.add, policy))
    thread.start()
    try:
        begun = time.monotonic()
        while not state.starts:
            if not thread.is_alive():
                raise RuntimeError("the server could not be started; its reason stands above")
            if time.monotonic() - begun > options.ready_s:
                raise TimeoutError("the server was not ready in time")
            time.sleep(0.1)
        yield state
    finally:
        stop.set()
        thread.join()

"""One gateway in front of the real server for all tests of this folder, and one without a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deid_runtime.serving.server import Server
from tests.deid_runtime.gateway.running_gateway import RunningGateway, gateway
from tests.running_server import free_ports

pytest.importorskip("tritonclient.grpc")


@pytest.fixture(scope="session")
def front(triton: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """Start a gateway whose project may use the key ``study``, and the key ``gone`` that no server has."""
    folder = tmp_path_factory.mktemp("gateway")
    with gateway(folder, triton.options.grpc, keys='"study", "gone"') as running:
        yield running


@pytest.fixture(scope="session")
def lone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """Start a gateway without a server, with short times and small limits."""
    folder: Path = tmp_path_factory.mktemp("lone")
    [port] = free_ports(1)
    more = "request_bytes = 65_536\nnote_bytes = 4_096\nnotes_per_request = 8\nrequests_at_once = 2\n"
    times = ("--header-time", 1, "--body-time", 1, "--answer-time", 2, "--deadline", 5, "--connections", 24)
    with gateway(folder, f"127.0.0.1:{port}", *times, more=more, waits=False) as running:
        yield running

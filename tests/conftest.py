"""Settings of the whole suite: properties are judged by their answers, not by a busy machine's clock. One server."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from deid_runtime.serving.server import Server
from tests.running_server import ServedFolder, installation, started, write_served_folder

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.fixture(scope="session")
def served_folder(tmp_path_factory: pytest.TempPathFactory) -> ServedFolder:
    """The packaged models as the repository of a server, and a folder with a key."""
    installation()
    return write_served_folder(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def triton(served_folder: ServedFolder) -> Iterator[Server]:
    """The real server with the packaged models, one for all tests: ``triton.options.grpc`` and ``.http`` say where."""
    with started(served_folder.options(has_http=True)) as server:
        yield server

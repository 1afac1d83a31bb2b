"""Settings of the whole suite: property tests have no deadline, because the machine may be busy; one shared server."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from deid_runtime.serving.server import Server
from tests.running_server import ServedFolder, installation, started, write_served_folder

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.fixture(scope="session")
def served_folder(tmp_path_factory: pytest.TempPathFactory) -> ServedFolder:
    """Write the packaged models as a server repository, and a folder with a key; return both."""
    installation()
    return write_served_folder(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def triton(served_folder: ServedFolder) -> Iterator[Server]:
    """Start one real server with the packaged models for all tests; see ``triton.options.grpc`` and ``.http``."""
    with started(served_folder.options(has_http=True)) as server:
        yield server

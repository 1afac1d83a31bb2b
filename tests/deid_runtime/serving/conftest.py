"""A small repository for servers that a test starts itself."""

import pytest

from tests.running_server import ServedFolder, installation, write_fast_folder, write_small_folder


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> ServedFolder:
    """Write a repository of one model that starts fast."""
    installation()
    return write_small_folder(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def fast_folder(tmp_path_factory: pytest.TempPathFactory) -> ServedFolder:
    """Write a repository of one graph and the models for notes that starts fast, and a key."""
    installation()
    return write_fast_folder(tmp_path_factory.mktemp("fast"))

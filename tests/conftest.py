"""Settings of the whole suite: property tests have no deadline, because the machine may be busy; one shared server."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from deid_runtime.serving.server import Server
from tests.running_server import ServedFolder, installation, started, write_served_folder

ROOT = Path(__file__).resolve().parents[1]

#: Files whose tests take minutes. They come first, so that no process has to wait for one of them at the end.
LONGEST = (
    "test_docs.py",
    "client/test_triton.py",
    "deid_runtime/review/test_loop.py",
    "deid_runtime/run/test_workers.py",
    "deid_runtime/serving/test_hangs.py",
    "deid_runtime/spark/test_dataframe.py",
    "deid_runtime/serving/test_attacks.py",
    "test_platform_page.py",
    "deid_runtime/spark/test_cluster.py",
    "deid_runtime/release/test_release_commands.py",
    "deid_runtime/serving/test_monitor.py",
    "deid_runtime/review/test_pages.py",
    "test_readme.py",
    "test_spark_page.py",
)

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the files of ``LONGEST`` to the front, in that order."""
    first = {ROOT / "tests" / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: first.get(item.path, len(first)))


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


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment whose ``deid``, ``deid-export`` and ``python`` belong to this checkout."""
    folder = tmp_path_factory.mktemp("bin")
    for name, module in (
        ("deid", "deid_runtime"),
        ("deid-export", "deid_export.cli.main"),
        ("python", ""),
        ("python3", ""),
    ):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {f"-m {module}" if module else ""} "$@"\n')
        script.chmod(0o755)
    path = os.pathsep.join(str(each) for each in (ROOT, ROOT / "export", ROOT / "client"))
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": path}

"""Test that without the extra [client] a server setting gives one line with the command that installs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
METRICS = ("--server", "127.0.0.1:1", "--metrics-port", "9001")
INSTALL = "pip install '.[client]'"


@pytest.fixture
def without_client(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which the libraries of the client cannot be imported."""
    for name in ("grpc", "tritonclient", "prometheus_client"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('No module named {name}', name='{name}')\n")
    paths = (tmp_path, ROOT, ROOT / "client", ROOT / "export")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param(["examples/stream_notes.py"], 1, id="example"),
        pytest.param(
            ["-m", "deid_runtime", "run", "examples/notes.jsonl", "-o", "{out}", "--server", "127.0.0.1:1"],
            2,
            id="run",
        ),
        pytest.param(
            ["-m", "deid_runtime", "detect", "examples/notes.jsonl", "-o", "{out}", *METRICS],
            2,
            id="metrics",
        ),
    ],
)
def test_it_is_told_in_one_line(command: list[str], code: int, without_client: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, *(each.format(out=tmp_path / "out.jsonl") for each in command)],
        env=without_client, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == code, done.stderr
    [line] = [line for line in done.stderr.splitlines() if "no --key" not in line]
    assert INSTALL in line


def test_the_example_tells_in_one_line_that_no_server_answers() -> None:
    done = subprocess.run(
        [sys.executable, "examples/stream_notes.py", "no.such.host.invalid:1"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "client")))},
    )  # fmt: skip

    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1

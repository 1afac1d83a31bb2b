"""Test that no process with notes or keys leaves a core dump: real crashes of real processes.

The tests raise the limit of a process again before it crashes. Then only one protection is left: the kernel may not
dump the process at all.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.running_server import ServedFolder, started

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="core dumps are turned off and looked at on Linux")

MARKER = "Quillfeather"


def core_pattern() -> str:
    return Path("/proc/sys/kernel/core_pattern").read_text().strip()


NEEDS_CORE_FILES = pytest.mark.skipif(
    sys.platform != "linux" or "/" in core_pattern() or core_pattern().startswith("|") or os.geteuid() != 0,
    reason="needs root, and core dumps that go to the working directory",
)


def core_limit(pid: int) -> int:
    soft, _ = psutil.Process(pid).rlimit(psutil.RLIMIT_CORE)
    return int(soft)


def allow_cores(pid: int) -> None:
    """Raise the core dump limit of a process to its maximum."""
    process = psutil.Process(pid)
    _, hard = process.rlimit(psutil.RLIMIT_CORE)
    process.rlimit(psutil.RLIMIT_CORE, (hard, hard))


def crash(pid: int) -> list[Path]:
    """Raise the limit of a process, let it crash, and return the dumps in its working directory."""
    process = psutil.Process(pid)
    folder = Path(process.cwd())
    before = set(folder.glob("core*"))
    allow_cores(pid)
    process.send_signal(signal.SIGABRT)
    deadline = time.monotonic() + 60
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
        time.sleep(0.02)
    return sorted(set(folder.glob("core*")) - before)


@contextmanager
def holding_the_marker(folder: Path, first: str) -> Iterator[int]:
    """Run a process that holds the marker, after the statement ``first``; yield its id."""
    code = f"{first}; import time; held = {MARKER[::-1]!r}[::-1]; print(flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


PRIVATE = "from deid_runtime.system.process_privacy import keep_private; keep_private()"


@NEEDS_CORE_FILES
def test_a_crash_leaves_no_core(tmp_path: Path) -> None:
    with holding_the_marker(tmp_path, PRIVATE) as pid:
        assert core_limit(pid) == 1
        assert crash(pid) == []

    with holding_the_marker(tmp_path, "pass") as pid:  # otherwise it leaves a dump
        [core] = crash(pid)
    assert MARKER.encode() in core.read_bytes()


@NEEDS_CORE_FILES
def test_a_program_that_a_private_process_starts_leaves_no_core(tmp_path: Path) -> None:
    """Test that the inherited limit prevents the dump, although the kernel may dump a newly started program."""
    code = f"{PRIVATE}; import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'import os; os.abort()'])"

    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)

    assert done.returncode == -signal.SIGABRT
    assert list(tmp_path.iterdir()) == []


def test_the_kernel_is_told_not_to_dump() -> None:
    code = f"{PRIVATE}; import ctypes, resource; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout == "0\n"


def slow_notes(folder: Path) -> Path:
    path = folder / "notes.jsonl"
    row = {"text": f"Seen by Dr. {MARKER} on 03/04/2051, call 212-664-9182. " * 20}
    path.write_text("".join(json.dumps({"id": str(number), **row}) + "\n" for number in range(4000)))
    return path


def has_begun(worker: psutil.Process) -> bool:
    """Return whether a worker is ready for notes; by then it has closed the outputs of the command."""
    return os.readlink(f"/proc/{worker.pid}/fd/1") == os.devnull


def workers_of(deid: psutil.Process) -> list[psutil.Process]:
    """Return the workers among the children; one more child cleans up after them and sees no note."""
    return [each for each in deid.children() if any("spawn_main" in argument for argument in arguments_of(each))]


def arguments_of(child: psutil.Process) -> list[str]:
    """Return the command line of a child, empty if it has ended since it was listed."""
    try:
        return child.cmdline()
    except psutil.NoSuchProcess:  # a zombie, too
        return []


@contextmanager
def running(command: list[str], folder: Path, workers: int) -> Iterator[psutil.Process]:
    """Run ``deid`` until it has ``workers`` workers; stop it at the end."""
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            # The shell raises the limit: code of Python between fork and exec can crash beside threads of other tests.
            [
                "bash",
                "-c",
                'ulimit -Sc "$(ulimit -Hc)"; exec "$@"',
                "bash",
                sys.executable,
                "-m",
                "deid_runtime",
                *command,
            ],
            cwd=folder,
            stdout=log,
            stderr=log,
        ) as process,
    ):
        deid = psutil.Process(process.pid)
        deadline = time.monotonic() + 120
        while len(workers_of(deid)) < workers and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.05)
        try:
            yield deid
        finally:
            process.terminate()


def wait_until(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_so()


@NEEDS_CORE_FILES
@pytest.mark.parametrize("command", ["run", "detect"])
def test_neither_a_run_nor_its_workers_leave_a_core(tmp_path: Path, command: str) -> None:
    notes = slow_notes(tmp_path)
    out = str(tmp_path / "out.jsonl")
    with running(
        [command, str(notes), "-o", out, "--no-models", "--workers", "2", "--batch-size", "2"], tmp_path, 2
    ) as deid:
        workers = workers_of(deid)

        assert [core_limit(each.pid) for each in (deid, *workers)] == [1] * 3
        assert wait_until(lambda: all(map(has_begun, workers)))
        assert [core for worker in workers for core in crash(worker.pid)] == []
        assert crash(deid.pid) == []


@NEEDS_CORE_FILES
def test_the_models_of_the_server_leave_no_core(served_folder: ServedFolder) -> None:
    with started(served_folder.options()) as server:
        models = [each for each in psutil.Process(server.pid).children() if "triton_python_backend" in each.name()]

        assert len(models) >= 4
        assert [core for model in models for core in crash(model.pid)] == []

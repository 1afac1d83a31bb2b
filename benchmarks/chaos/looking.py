"""What the attacks look at: JSON Lines, the processes of a run, and whether a small disk can be made."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from typing import Any, Final

import psutil

POLL_S: Final = 0.02


def read_rows(data: bytes) -> list[dict[str, Any]]:
    """Return the objects of JSON Lines."""
    return [json.loads(line) for line in data.decode("utf-8").split("\n") if line]


def runs_for(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Wait; return False as soon as the process has ended."""
    until = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() >= until:
            return True
        time.sleep(POLL_S)
    return False


def is_worker(process: psutil.Process) -> bool:
    """Return whether a child of a run is a worker that lives and is not stopped."""
    try:
        return "spawn_main" in " ".join(process.cmdline()) and process.status() not in (
            psutil.STATUS_STOPPED,
            psutil.STATUS_ZOMBIE,
        )
    except psutil.Error:
        return False


def can_mount() -> bool:
    """Return whether a small tmpfs can be made here."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=False, capture_output=True
        )
        if made.returncode == 0:
            subprocess.run(["umount", folder], check=True)
        return made.returncode == 0

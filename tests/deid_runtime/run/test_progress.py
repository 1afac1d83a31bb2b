import io
import os
import pty
from contextlib import suppress

import pytest

from deid_runtime.run import progress as module
from deid_runtime.run.progress import progress


def test_plain_lines_come_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    with progress(quiet=False, stream=stream) as report:
        report(10, 0.1)
        monkeypatch.setattr(module, "_LINE_SECONDS", 0.0)
        report(1_200, 0.5)

    [line] = stream.getvalue().splitlines()
    assert line.startswith("1,200 notes, ")
    assert line.endswith(" notes/s, 50% read")


def test_quiet_says_nothing() -> None:
    stream = io.StringIO()
    with progress(quiet=True, stream=stream) as report:
        report(10, 1.0)

    assert stream.getvalue() == ""


def read_to_end(terminal: int) -> str:
    parts = []
    with os.fdopen(terminal, "rb", buffering=0) as file, suppress(OSError):  # its end is an error on Linux
        while part := file.read(1_000):
            parts.append(part)
    return b"".join(parts).decode()


def test_a_terminal_gets_a_bar() -> None:
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as stream, progress(quiet=False, stream=stream) as report:
        report(1_234, 0.5)
    shown = read_to_end(leader)

    assert "1,234 notes" in shown
    assert "notes/s" in shown

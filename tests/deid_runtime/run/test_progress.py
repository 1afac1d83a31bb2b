import io
import json
import os
import pty
from contextlib import suppress

import pytest

from deid_runtime.run import progress as module
from deid_runtime.run.estimate import Estimate, Left, shown_duration
from deid_runtime.run.progress import Progress, progress


def test_plain_lines_come_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    with progress("auto", stream) as report:
        report(Progress(notes=10, quarantined=0, share=0.1))
        monkeypatch.setattr(module, "_LINE_SECONDS", 0.0)
        report(Progress(notes=1_200, quarantined=7, share=0.5))

    [line] = stream.getvalue().splitlines()
    assert line.startswith("1,200 notes, ")
    assert line.endswith(" notes/s, 7 quarantined, 50% read")


def test_objects_for_schedulers_hold_the_rate_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LINE_SECONDS", 0.0)
    monkeypatch.setattr(module, "_SAMPLE_SECONDS", 0.0)
    stream = io.StringIO()
    with progress("json", stream) as report:
        for number in range(1, 7):
            report(
                Progress(
                    notes=100 + number,
                    quarantined=1,
                    share=number / 10,
                    notes_now=number,
                    bytes_now=number * 50,
                    bytes_left=500 - number * 50,
                    shards=2,
                )
            )

    rows = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(rows) == 6
    monkeypatch.setattr(module, "_LINE_SECONDS", 60.0)
    stream = io.StringIO()
    with progress("json", stream) as report:
        report(Progress(notes=1, quarantined=0, share=0.5))
        report(Progress(notes=2, quarantined=0, share=1.0))
    [last] = stream.getvalue().splitlines()
    assert json.loads(last)["notes"] == 2
    assert rows[0]["left_s"] is None
    assert rows[-1]["left_least_s"] <= rows[-1]["left_s"] <= rows[-1]["left_most_s"]
    assert {name: rows[-1][name] for name in ("notes", "quarantined", "share", "shards")} == {
        "notes": 106,
        "quarantined": 1,
        "share": 0.6,
        "shards": 2,
    }
    assert rows[-1]["notes_per_s"] > 0


def test_none_says_nothing() -> None:
    stream = io.StringIO()
    with progress("none", stream) as report:
        report(Progress(notes=10, quarantined=0, share=1.0))

    assert stream.getvalue() == ""


def read_to_end(terminal: int) -> str:
    parts = []
    with os.fdopen(terminal, "rb", buffering=0) as file, suppress(OSError):  # its end is an error on Linux
        while part := file.read(1_000):
            parts.append(part)
    return b"".join(parts).decode()


def test_a_terminal_gets_a_bar() -> None:
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as stream, progress("auto", stream) as report:
        report(Progress(notes=1_234, quarantined=5, share=0.5))
    shown = read_to_end(leader)

    assert "1,234 notes" in shown
    assert "notes/s" in shown


def test_the_estimate_is_wide_when_rates_differ() -> None:
    even, uneven = Estimate(), Estimate()
    assert even.left(100) is None
    for number in range(20):
        even.add(10, 100, 5)
        uneven.add(10, 20 if number % 2 else 180, 5)

    assert even.notes_per_s == 0.5
    assert even.left(1_000) == Left(100.0, 100 / 1.05, 100 / 0.95)
    wide = uneven.left(1_000)
    assert wide is not None
    assert wide.likely_s == pytest.approx(100)
    assert wide.least_s < 80 < 120 < wide.most_s


@pytest.mark.parametrize(
    ("seconds", "shown"), [(59.4, "59 s"), (61, "1 min 01 s"), (7_500, "2 h 05 min"), (180_000, "2 d 02 h")]
)
def test_durations_are_short(seconds: float, shown: str) -> None:
    assert shown_duration(seconds) == shown

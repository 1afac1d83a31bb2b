"""Test when real processes count as busy or idle."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from deid_runtime.run.watchdog import STEP_S, Patience, Stopwatch, Watchdog, processor_seconds

BUSY = "while True: pass"
#: A process with a small share of a busy machine.
STARVED = """
import time
while True:
    until = time.process_time() + 0.04
    while time.process_time() < until: pass
    time.sleep(0.4)
"""
IDLE = "import time\nwhile True: time.sleep(1)"


@contextmanager
def running(code: str) -> Iterator[Stopwatch]:
    process = subprocess.Popen([sys.executable, "-c", f"print(flush=True)\n{code}"], stdout=subprocess.PIPE)
    try:
        assert process.stdout
        process.stdout.readline()
        yield Stopwatch(process.pid)
    finally:
        process.kill()
        process.communicate()


def looked(watch: Stopwatch, seconds: float) -> Stopwatch:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(STEP_S)
        watch.look()
    return watch


def test_a_process_that_works_is_busy() -> None:
    with running(BUSY) as watch:
        looked(watch, 3)

    assert 0 < watch.busy_s <= 4
    assert watch.idle_s < 1


def test_a_process_that_gets_little_of_the_processor_is_not_idle() -> None:
    with running(STARVED) as watch:
        looked(watch, 5)

    assert watch.idle_s < 2
    assert watch.busy_s < 2.5


def test_a_process_that_waits_is_idle_as_long_as_it_is_looked_at() -> None:
    with running(IDLE) as watch:
        looked(watch, 3)
        assert 2 <= watch.idle_s <= 6
        assert watch.busy_s < 0.2

        watch.start()
        time.sleep(4)
        watch.look()

    assert 1.5 <= watch.idle_s <= 2


def test_a_process_that_is_gone_has_no_processor_time() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()

    assert processor_seconds(process.pid) is None


def test_time_allowed_follows_the_size_of_a_job_and_the_slowest_seen() -> None:
    patience = Patience(busy_s=100, chars_per_s=1_000, times_slowest=10)
    watchdog = Watchdog(patience, None)
    watch = Stopwatch(0)

    def is_overdue(busy_s: float, chars: int) -> bool:
        watch.busy_s = busy_s
        return bool(watchdog.overdue_job(watch, 1, chars))

    assert [is_overdue(seconds, 1_000_000) for seconds in (1_099, 1_101)] == [False, True]
    watch.busy_s = 50
    watchdog.learn(watch, 100_000)  # 2,000 characters per second; a tenth of that is allowed
    assert [is_overdue(seconds, 1_000_000) for seconds in (5_099, 5_101)] == [False, True]
    watch.busy_s = 10
    watchdog.learn(watch, 100_000)  # a faster note changes nothing
    assert [is_overdue(seconds, 1_000_000) for seconds in (5_099, 5_101)] == [False, True]


def test_a_worker_that_waits_for_a_server_may_be_idle_as_long_as_the_server_may_take() -> None:
    class Slow:
        connect_seconds = 30.0

        def longest_s(self, notes: int, chars: int) -> float:
            return notes * 100.0 + chars

        def connect(self, settings: object) -> None:
            pytest.fail("nobody asks")

    watchdog = Watchdog(Patience(idle_s=10, load_s=10), Slow())  # type: ignore[arg-type]
    watch = Stopwatch(0)

    watch.idle_s = 224.0
    assert not watchdog.overdue_job(watch, 2, 15)
    assert watchdog.overdue_job(watch, 2, 13) == "did nothing for 224 s"
    watch.idle_s = 39.0
    assert not watchdog.overdue_load(watch)
    watch.idle_s = 41.0
    assert watchdog.overdue_load(watch) == "was not ready after 41 s"

"""Test rates and times as a table, with a clock of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from deid_runtime.access.projects import Limits, Project
from deid_runtime.gateway.limits import Bucket, Gate, Use, take_notes
from deid_runtime.gateway.problems import ProblemError
from deid_runtime.gateway.work import in_order


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def in_a_loop(run: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine in a thread: tests with a browser leave an event loop running in this one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(lambda: asyncio.run(run())).result()


def test_a_bucket_holds_a_minute_and_fills_evenly() -> None:
    clock = Clock()
    bucket = Bucket(60, clock)

    assert bucket.take(60) == 0
    assert bucket.take(1) == pytest.approx(1)
    clock.now = 10
    assert bucket.take(11) == pytest.approx(1)
    assert bucket.take(10) == 0
    clock.now = 10_000
    assert bucket.take(61) == pytest.approx(1)
    assert bucket.take(60) == 0


def test_a_stream_owes_and_waits() -> None:
    clock = Clock()
    bucket = Bucket(60, clock)

    assert bucket.owe(60) == 0
    assert bucket.owe(2) == pytest.approx(2)
    clock.now = 2
    assert bucket.owe(0) == 0


def test_a_rate_that_changes_in_the_access_file_holds_at_once() -> None:
    project = Project("a", limits=Limits(notes_per_minute=1_000))
    use = Use.of(project.limits)
    smaller = Project("a", limits=Limits(notes_per_minute=300))
    use.follow(smaller.limits)

    take_notes(use, smaller, 300, 0)
    with pytest.raises(ProblemError) as error:
        take_notes(use, smaller, 1, 0)
    assert error.value.kind.status == 429
    assert error.value.retry_s == pytest.approx(0.2, abs=0.05)


def test_what_could_never_be_served_is_too_large() -> None:
    project = Project("a")

    with pytest.raises(ProblemError) as error:
        take_notes(Use.of(project.limits), project, 601, 0)
    assert error.value.kind.status == 413


def test_a_gate_counts_requests_also_when_they_fail() -> None:
    gate = Gate(most_requests=3)
    project = Project("a", limits=Limits(requests_at_once=2))

    with gate.entered(project), gate.entered(project):
        with pytest.raises(ProblemError, match="rate"), gate.entered(project):
            pass
        with gate.entered(Project("b")), pytest.raises(ProblemError, match="busy"), gate.entered(Project("c")):
            pass
    with pytest.raises(ZeroDivisionError), gate.entered(project):
        raise ZeroDivisionError
    assert gate.requests == 0


def test_results_come_in_order_and_only_a_few_items_are_taken() -> None:
    taken: list[int] = []

    async def items() -> AsyncIterator[int]:
        for number in range(20):
            taken.append(number)
            yield number

    async def work(number: int) -> int:
        await asyncio.sleep(0.02 if number % 3 == 0 else 0)
        return number

    async def run() -> list[int]:
        found = []
        async for number in in_order(items(), work, 4):
            found.append(number)
            assert len(taken) <= len(found) + 4
        return found

    assert in_a_loop(run) == list(range(20))


def test_an_error_ends_the_work_that_is_open() -> None:
    ended: list[int] = []

    async def items() -> AsyncIterator[int]:
        for number in range(20):
            yield number

    async def work(number: int) -> int:
        if number == 1:
            raise ZeroDivisionError
        try:
            await asyncio.sleep(0 if number == 0 else 60)
        except asyncio.CancelledError:
            ended.append(number)
            raise
        return number

    async def run() -> list[int]:
        return [number async for number in in_order(items(), work, 4)]

    with pytest.raises(ZeroDivisionError):
        in_a_loop(run)
    assert {2, 3} <= set(ended) <= {2, 3, 4}  # the last may not have begun

"""Test the queue between Triton's queue and the thread that answers notes."""

import threading
import time

from deid_runtime.serving.note_queue import NoteQueue


class Answers:
    """Answers requests one by one, each when it is let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.waited: list[float] = []
        self._go = threading.Semaphore(0)

    def __call__(self, request: str, waited_seconds: float) -> None:
        self.begun.append(request)
        self.waited.append(waited_seconds)
        assert self._go.acquire(timeout=10)
        if request == "bad":
            raise ValueError

    def go(self, count: int = 1) -> None:
        self._go.release(count)


def wait_until_begun(answers: Answers, count: int) -> None:
    deadline = time.monotonic() + 10
    while len(answers.begun) < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_requests_are_answered_in_order_urgent_ones_first_and_the_rest_at_the_end() -> None:
    answers = Answers()
    queue = NoteQueue(answers)
    queue.put("first")
    wait_until_begun(answers, 1)
    for request in ("second", "bad", "last"):
        queue.put(request)
    queue.put("canary", is_urgent=True)
    assert len(queue) == 4

    answers.go(5)
    queue.close()

    assert answers.begun == ["first", "canary", "second", "bad", "last"]
    assert answers.waited[0] < 1
    assert all(seconds > 0 for seconds in answers.waited)
    assert len(queue) == 0


def test_a_full_queue_takes_only_urgent_requests() -> None:
    answers = Answers()
    queue = NoteQueue(answers, length=2)
    queue.put("first")
    wait_until_begun(answers, 1)
    queue.put("second")
    queue.put("third")
    putting = threading.Thread(target=queue.put, args=("fourth",))
    putting.start()
    putting.join(0.1)
    assert putting.is_alive()

    queue.put("canary", is_urgent=True)
    assert len(queue) == 3

    answers.go(2)  # the canary request leaves the queue as full as it was
    wait_until_begun(answers, 3)
    putting.join(10)
    assert not putting.is_alive()
    answers.go(3)
    queue.close()
    assert answers.begun == ["first", "canary", "second", "third", "fourth"]

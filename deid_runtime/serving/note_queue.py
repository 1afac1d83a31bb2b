"""The requests that wait in the process of a model, between Triton's queue and the thread that answers them.

Triton gives a model with limits on its queue one request at a time. When the model returns, Triton does not look for
the next request at once, but when another one arrives, or after half a second (a slot that becomes free wakes no one in
Triton's dynamic batcher of 2025). With notes of some milliseconds, processors were idle half of the time. So the model
takes requests ahead, returns at once, and a thread of this queue answers them. When this queue is full, the model does
not return, and Triton's queue refuses what is beyond its limits, as before.
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import Final, Generic, TypeVar

#: The environment variable with a folder where each process marks a file at each answer, for the canary of the server.
ANSWERS_VARIABLE: Final = "DEID_SERVE_ANSWERS"
#: Requests taken ahead. With 8 of them and 16 in flight, two of three seconds were used, with 32 all. Their texts are
#: in shared memory, which is limited (:data:`deid_runtime.serving.confined.MAX_FILE_BYTES`).
TAKEN_AHEAD: Final = 32

Request = TypeVar("Request")


class NoteQueue(Generic[Request]):
    """A queue of bounded length with one thread, which calls ``answer`` with each request in order.

    ``answer`` gets the request and the seconds that it waited here. It should not raise: an exception is ignored, since
    the thread must go on.
    """

    def __init__(self, answer: Callable[[Request, float], None], length: int = TAKEN_AHEAD) -> None:
        self._answer = answer
        self._length = length
        self._waiting: deque[tuple[Request, float]] = deque()  # with the time of arrival
        self._is_closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._answer_all, name="notes", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """Return the number of requests that wait."""
        return len(self._waiting)

    def put(self, request: Request, *, is_urgent: bool = False) -> None:
        """Add a request; wait while the queue is full. An urgent request does not wait, and is answered next."""
        with self._changed:
            if is_urgent:
                self._waiting.appendleft((request, perf_counter()))
            else:
                self._changed.wait_for(lambda: len(self._waiting) < self._length)
                self._waiting.append((request, perf_counter()))
            self._changed.notify_all()

    def close(self) -> None:
        """Answer what waits, then end the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join()

    def _answer_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                if not self._waiting:
                    return
                request, arrived = self._waiting.popleft()
                self._changed.notify_all()
            with suppress(Exception):
                self._answer(request, perf_counter() - arrived)
            del request  # it holds a note

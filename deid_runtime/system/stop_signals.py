"""The signals that stop a run, and how to ignore them while the parts of an output are moved to their final paths."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Ctrl-C, the signal of service managers, a closed terminal, and Ctrl-\\, which would dump the memory to disk.
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Stopped(KeyboardInterrupt):
    """A stop signal was received. ``number`` is the signal number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def signals_held() -> Iterator[None]:
    """Ignore stop signals inside the ``with`` block.

    Blocking them in this thread is not enough: the system delivers them to another thread, and Python runs the handler
    in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread, and only the main thread may set them
        return
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Hold stop signals back until the block ends, then let the first one act.

    As with :func:`signals_held`, a mask of this thread is not enough.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])

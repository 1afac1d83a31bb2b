"""The signals that stop a run, and how they are held off while an output gets its names."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Ctrl-C, what service managers send, a terminal that closes, and Ctrl-\\, which would dump the memory to disk.
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Stopped(KeyboardInterrupt):
    """A stop signal has come. ``number`` is that of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def signals_held() -> Iterator[None]:
    """Let stop signals pass without effect.

    A mask of this thread is not enough: the system gives them to another thread, and Python runs the handler in the
    main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread, and only that one may set them
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

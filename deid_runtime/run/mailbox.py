"""Messages between the parent and a worker process, over a socket pair.

The parent never waits inside a message: a worker can be stopped in the middle of one. Each message is its length in
eight bytes, then its pickle. Both ends are processes of one run.
"""

import pickle
import socket
import struct
from collections import deque
from typing import BinaryIO, Final

_LENGTH: Final = struct.Struct("!Q")
_CHUNK_BYTES: Final = 2**20


class Mailbox:
    """The parent's end. No method blocks."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._incoming = bytearray()
        self._outgoing: deque[memoryview] = deque()

    def fileno(self) -> int:
        """Return the file descriptor, for ``poll``."""
        return self._connection.fileno()

    @property
    def is_sending(self) -> bool:
        """Whether a message waits until the worker takes more of it."""
        return bool(self._outgoing)

    def post(self, message: object) -> None:
        """Send a message, now or when :meth:`flush` is called. Raises OSError when the worker is gone."""
        self._outgoing += map(memoryview, _framed(message))
        self.flush()

    def flush(self) -> None:
        """Send as much as the worker takes now. Raises OSError when the worker is gone."""
        while self._outgoing:
            try:
                sent = self._connection.send(self._outgoing[0])
            except BlockingIOError:
                return
            rest = self._outgoing.popleft()[sent:]
            if rest:
                self._outgoing.appendleft(rest)

    def collect(self) -> list[object]:
        """Return the messages that have arrived whole.

        Raises EOFError when the worker is gone, or sends what is no message.
        """
        is_open = self._read()
        messages: list[object] = []
        while (message := self._cut()) is not None:
            messages.append(_loaded(message))
        if not messages and not is_open:
            raise EOFError
        return messages

    def close(self) -> None:
        """Close the parent's end."""
        self._connection.close()

    def _read(self) -> bool:
        """Take in what has arrived; return whether more can come."""
        while True:
            try:
                part = self._connection.recv(_CHUNK_BYTES)
            except BlockingIOError:
                return True
            except OSError:  # it is gone; what it sent before counts
                return False
            if not part:
                return False
            self._incoming += part

    def _cut(self) -> bytes | None:
        """Return the bytes of the first message that is whole, without its length; None when there is none."""
        if len(self._incoming) < _LENGTH.size:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(self._incoming)[0]
        if len(self._incoming) < end:
            return None
        message = bytes(memoryview(self._incoming)[_LENGTH.size : end])
        del self._incoming[:end]
        return message


def send(stream: BinaryIO, message: object) -> None:
    """Send a message from the worker; wait until the parent has taken it. Raises OSError when the parent is gone."""
    for part in _framed(message):
        stream.write(part)
    stream.flush()


def receive(stream: BinaryIO) -> object:
    """Wait for the next message of the parent and return it. Raises EOFError when the parent is gone."""
    (length,) = _LENGTH.unpack(_read_exactly(stream, _LENGTH.size))
    return _loaded(_read_exactly(stream, length))


def _framed(message: object) -> tuple[bytes, bytes]:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)), data


def _loaded(data: bytes) -> object:
    try:
        return pickle.loads(data)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - damaged pickles raise anything; what it says may quote the text
        raise EOFError from None


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data

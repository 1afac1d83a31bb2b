"""Messages between the parent and a worker process, over a socket pair.

The parent never blocks within a message, because a worker can stop in the middle of one. Each message is its length in
eight bytes, big-endian, then its pickle. Both ends are processes of one run, so the pickles come from trusted code.
"""

import pickle
import socket
import struct
from collections import deque
from typing import BinaryIO, Final

_LENGTH: Final = struct.Struct("!Q")
_CHUNK_BYTES: Final = 2**20


class Mailbox:
    """The parent's end of the connection. No method blocks."""

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
        """Whether a part of a message is still to be sent."""
        return bool(self._outgoing)

    def post(self, message: object) -> None:
        """Queue a message and send as much of it as possible. Raises OSError when the worker is gone."""
        self._outgoing += map(memoryview, _framed(message))
        self.flush()

    def flush(self) -> None:
        """Send as much as the socket accepts now. Raises OSError when the worker is gone."""
        while self._outgoing:
            try:
                sent = self._connection.send(self._outgoing[0])
            except BlockingIOError:
                return
            rest = self._outgoing.popleft()[sent:]
            if rest:
                self._outgoing.appendleft(rest)

    def collect(self) -> list[object]:
        """Return the messages that have arrived completely.

        Raises EOFError when the worker is gone, or when its data is not a valid message.
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
        """Read all bytes that have arrived; return whether the connection is still open."""
        while True:
            try:
                part = self._connection.recv(_CHUNK_BYTES)
            except BlockingIOError:
                return True
            except OSError:  # the worker is gone; its earlier bytes are still used
                return False
            if not part:
                return False
            self._incoming += part

    def _cut(self) -> bytes | None:
        """Return the pickle of the first complete message, without its length; None when there is none."""
        if len(self._incoming) < _LENGTH.size:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(self._incoming)[0]
        if len(self._incoming) < end:
            return None
        message = bytes(memoryview(self._incoming)[_LENGTH.size : end])
        del self._incoming[:end]
        return message


def send(stream: BinaryIO, message: object) -> None:
    """Send a message from the worker; block until it is written. Raises OSError when the parent is gone."""
    for part in _framed(message):
        stream.write(part)
    stream.flush()


def receive(stream: BinaryIO) -> object:
    """Wait for the next message from the parent and return it. Raises EOFError when the parent is gone."""
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
    except Exception:  # noqa: BLE001 - a damaged pickle raises any error, and its message may quote note text
        raise EOFError from None


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data

"""A relay of TCP connections that can stop forwarding at any byte, like a network that fails midway."""

import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self


class Relay:
    """Forward connections to a port of this machine. A context manager.

    ``left`` is the number of bytes that are still forwarded from the server, over all connections; None means all.
    Later bytes wait. Connections stay open.
    """

    def __init__(self, port: int) -> None:
        self.left: int | None = None
        self._is_closed = False
        self._port = port
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                self._sockets += [client, server]
                threading.Thread(target=self._forward, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._forward, args=(server, client, True), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                while is_answer and data and not self._is_closed:
                    count = self._allowed(len(data))
                    target.sendall(data[:count])
                    data = data[count:]
                    time.sleep(0.01 if data else 0)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def _allowed(self, count: int) -> int:
        with self._lock:
            if self.left is None:
                return count
            count = min(count, self.left)
            self.left -= count
            return count

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = True
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

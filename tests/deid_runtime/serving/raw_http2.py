"""Send gRPC requests as raw bytes of HTTP/2, with headers that no client library sends."""

import socket
from collections.abc import Mapping

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS = 0, 1, 4
_END_STREAM, _END_HEADERS = 1, 4


def call(address: tuple[str, int], path: str, headers: Mapping[bytes, bytes]) -> bytes:
    """Send an empty message to a gRPC method; return all bytes of the answer until its end or 5 s of silence."""
    fields = {
        b":method": b"POST",
        b":scheme": b"http",
        b":path": path.encode(),
        b":authority": b"localhost",
        b"te": b"trailers",
        b"content-type": b"application/grpc",
        **headers,
    }
    block = b"".join(b"\x10" + _text(name) + _text(value) for name, value in fields.items())
    answer = b""
    with socket.create_connection(address, timeout=5) as connection:
        connection.sendall(
            _PREFACE
            + _frame(_SETTINGS, 0, 0, b"")
            + _frame(_HEADERS, _END_HEADERS, 1, block)
            + _frame(_DATA, _END_STREAM, 1, bytes(5))
        )
        try:
            while b"grpc-message" not in answer and (part := connection.recv(65536)):
                answer += part
        except TimeoutError:
            pass
    return answer


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def _text(text: bytes) -> bytes:
    """Encode a string for HPACK, without the Huffman code."""
    assert len(text) < 127
    return bytes([len(text)]) + text

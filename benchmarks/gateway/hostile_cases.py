"""Hostile requests to a gateway, drawn from a seed: each is the bytes of one connection."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

MARKER: Final = "Zqmarkerqz"  # stands in every request and must not stand in a log
TEXT: Final = f"{MARKER} seen by Dr. Jane Doe on 01/02/2003."
KEY: Final = "study"

_PATHS: Final = ("/v1/deidentify", "/v1/detect")
_KEYS: Final = (
    "../study", "..%2fstudy", "study.key", "/etc/passwd", "study/../study", "study\0", "study\n", "./study", "~/study",
    "study\u202e", "ｓｔｕｄｙ", "STUDY", " study", "study ", "", "con", "a" * 5_000, "%73tudy", "study;id", "$(id)",
    "{{7*7}}", "' or 1=1 --", "\U0001f511", "../../proc/self/environ", "\\\\host\\study",
)  # fmt: skip
_VALUES: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 1.5, 1e308, "", [], {}, [[]], {"a": {}}, ["x"] * 50, "\ud800", "a\udfffb", "\0", "\u2028",
    10**30, {"$ref": "#"}, {"__proto__": {}}, "A" * 2_000,
)  # fmt: skip
_BAD_UTF8: Final = (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80", b"\xfe\xff")
_LENGTHS: Final = (
    "Content-Length: {n}\r\nTransfer-Encoding: chunked\r\n", "Content-Length: {n}\r\nContent-Length: {m}\r\n",
    "Content-Length: +{n}\r\n", "Content-Length: -1\r\n", "Content-Length: {n}, {n}\r\n", "Content-Length : {n}\r\n",
    "Content-Length: {n}\r\n Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked, identity\r\n",
    "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding:\x0bchunked\r\n", "Content-Length: 0x{n}\r\n",
    "Content-Length: 99999999999999999999999\r\n", "Content-Length: {n}e0\r\n", "Content_Length: {n}\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Content-Length: \u0661\r\n", "",
)  # fmt: skip
_METHODS: Final = ("GET", "PUT", "DELETE", "TRACE", "CONNECT", "OPTIONS", "post", "PATCH", "HEAD", "P\0ST", "A" * 300)


@dataclass(frozen=True)
class Case:
    """The bytes of one connection, and what kind of attack it is."""

    kind: str
    content: bytes


def draw_cases(seed: int, count: int, token: str) -> Iterator[Case]:
    """Yield ``count`` cases, the same for the same seed and token, all kinds in turn."""
    draw = random.Random(seed)
    kinds = sorted(_KINDS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        yield Case(kind, _KINDS[kind](draw, token))


def _request(
    draw: random.Random,
    token: str,
    body: bytes,
    *,
    path: str = "",
    method: str = "POST",
    kind: str = "application/json",
    length: str | None = None,
    more: str = "",
) -> bytes:
    """Return a request; ``length`` are the header lines that say how long the body is."""
    path = path or draw.choice(_PATHS)
    length = f"Content-Length: {len(body)}\r\n" if length is None else length
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer {token}\r\nContent-Type: {kind}\r\n"
        f"Connection: close\r\nX-Note: {MARKER}\r\n{more}{length}\r\n"
    )
    return head.encode("utf-8", "surrogatepass") + body


def _right(draw: random.Random) -> dict[str, Any]:
    note = {"id": f"{MARKER}-{draw.randrange(99)}", "text": TEXT, "patient": MARKER}
    if draw.random() < 0.5:
        return {**note, "key": KEY}
    return {"notes": [dict(note) for _ in range(draw.randrange(4))], "key": KEY}


def _types(draw: random.Random, token: str) -> bytes:
    content = _right(draw)
    target: Any = content
    while isinstance(target, dict) and "notes" in target and target["notes"] and draw.random() < 0.7:
        target = draw.choice(target["notes"])
    name = draw.choice([*target, MARKER])
    target[name] = draw.choice(_VALUES)
    return _request(draw, token, json.dumps(content).encode())


def _keys(draw: random.Random, token: str) -> bytes:
    key = draw.choice(_KEYS)
    if draw.random() < 0.3:
        line = json.dumps({"id": MARKER, "text": TEXT}).encode() + b"\n"
        path = f"/v1/deidentify?key={quote(key, safe='')}"
        return _request(draw, token, line, path=path, kind="application/x-ndjson")
    return _request(draw, token, json.dumps({**_right(draw), "key": key}).encode(), path="/v1/deidentify")


def _encodings(draw: random.Random, token: str) -> bytes:
    body = json.dumps(_right(draw), ensure_ascii=False).encode()
    change = draw.randrange(5)
    if change == 0:
        place = draw.randrange(len(body))
        return _request(draw, token, body[:place] + draw.choice(_BAD_UTF8) + body[place:])
    if change == 1:
        return _request(draw, token, body.decode().encode(draw.choice(("utf-16", "utf-32", "utf-8-sig", "utf-7"))))
    if change == 2:
        more = f"Content-Encoding: {draw.choice(('gzip', 'br', 'deflate', 'identity, gzip', MARKER))}\r\n"
        return _request(draw, token, body, more=more)
    if change == 3:
        charset = draw.choice(("latin-1", "utf-16", "utf-7", MARKER, '"', "utf-8; charset=utf-16"))
        return _request(draw, token, body, kind=f"application/json; charset={charset}")
    kind = draw.choice(("text/plain", "multipart/form-data; boundary=x", "application/xml", "", "*/*", "a" * 3_000))
    return _request(draw, token, body, kind=kind)


def _broken(draw: random.Random, token: str) -> bytes:
    body = bytearray(json.dumps(_right(draw)).encode())
    for _ in range(draw.randrange(1, 4)):
        place = draw.randrange(len(body))
        change = draw.randrange(3)
        if change == 0:
            del body[place:]
        elif change == 1:
            body[place] = draw.randrange(256)
        else:
            body[place:place] = draw.choice((b"{", b"}", b"[", b'"', b",", b"\\", b"\0", b"/*", b"NaN", b"-Infinity"))
        if not body:
            break
    return _request(draw, token, bytes(body))


def _nesting(draw: random.Random, token: str) -> bytes:
    depth = draw.choice((10, 900, 1_100, 20_000, 200_000))
    opening, closing = draw.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'{"text":[', b"]}")))
    body = opening * depth + b"1" + closing * (depth if draw.random() < 0.5 else 0)
    return _request(draw, token, b'{"notes": ' + body + b"}")


def _numbers(draw: random.Random, token: str) -> bytes:
    number = draw.choice(
        (b"9" * 5_000, b"1e999999", b"-" + b"1" * 100_000, b"0." + b"3" * 50_000, b"1E+400", b"00", b"1_0")
    )
    name = draw.choice((b"text", b"notes", b"key", b"id", b"other"))
    return _request(draw, token, b'{"' + name + b'": ' + number + b', "key": "study"}')


def _sizes(draw: random.Random, token: str) -> bytes:
    change = draw.randrange(5)
    if change == 0:
        note = {"id": MARKER, "text": "x " * draw.choice((40_000, 600_000))}
        return _request(
            draw, token, json.dumps({"notes": [note] * draw.choice((1, 12)), "key": KEY}).encode(), path=_PATHS[0]
        )
    if change == 1:
        notes = [{"id": str(number), "text": ""} for number in range(draw.choice((257, 5_000)))]
        return _request(draw, token, json.dumps({"notes": notes, "key": KEY}).encode())
    if change == 2:
        parts = b"".join(b"1\r\n \r\n" for _ in range(draw.choice((100, 20_000))))
        return _request(draw, token, parts + b"0\r\n\r\n", length="Transfer-Encoding: chunked\r\n")
    if change == 3:
        return _request(draw, token, b"", length=f"Content-Length: {draw.choice((10**9, 10**15, 2**63))}\r\n")
    more = "".join(f"X-{number}: {MARKER}\r\n" for number in range(draw.choice((50, 3_000))))
    return _request(draw, token, json.dumps(_right(draw)).encode(), more=more)


def _headers(draw: random.Random, token: str) -> bytes:
    body = json.dumps(_right(draw)).encode()
    smuggled = f"0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: {MARKER}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    length = draw.choice(_LENGTHS).format(n=len(body), m=len(body) + 5)
    more = draw.choice(
        ("", "Host: other\r\n", "X-Forwarded-For: 10.0.0.1\r\n", f"X-Request-Id: {MARKER}\r\n", "X: a\rb: c\r\n",
         "X\0: a\r\n", f"Authorization: Basic {MARKER}\r\n", "Expect: 100-continue\r\n", f"Upgrade: {MARKER}\r\n",
         "Connection: upgrade\r\nUpgrade: websocket\r\n", "Connection: upgrade\r\nUpgrade: h2c\r\n", ": empty\r\n")
    )  # fmt: skip
    return _request(draw, token, draw.choice((body, smuggled, body + smuggled)), length=length, more=more)


def _addresses(draw: random.Random, token: str) -> bytes:
    path = draw.choice(
        ("/", "//", "/v1/deidentify/", "/v1/../metrics", "/v1/%2e%2e/metrics", f"/{MARKER}", "/v1/deidentify%00", "*",
         "http://other/v1/detect", f"/v1/detect?{MARKER}={MARKER}", "/v1/deidentify?key=study&key=other", "/metrics",
         "/v1/deidentify?key=%ff%fe", "/" + "a" * 20_000, "/docs", "/openapi.json", "/readyz", "/v1/d\u00e9tect", "/%")
    )  # fmt: skip
    method = draw.choice(("POST", *_METHODS))
    return _request(draw, token, json.dumps(_right(draw)).encode(), path=path, method=method)


def _tokens(draw: random.Random, token: str) -> bytes:
    wrong = draw.choice(
        ("", MARKER, token[:-1], token + "a", token.upper(), f"{token}, Bearer {token}",
         "deid_" + "0" * 12 + "_" + "a" * 52, "\u00e9", "a" * 9_000, token.replace("_", "__"), "null",
         '"', f"{token}\x01")
    )  # fmt: skip
    return _request(draw, wrong, json.dumps(_right(draw)).encode())


def _streams(draw: random.Random, token: str) -> bytes:
    good = json.dumps({"id": MARKER, "text": TEXT}).encode()
    lines = draw.choices(
        (
            good,
            b"{",
            b"[]",
            b"7",
            b"\xff",
            b"",
            good[:20],
            b'{"id": 1, "text": 2}',
            b"[" * 5_000,
            b'"' + b"x" * 9_000,
            b"\0",
        ),
        k=draw.randrange(5),
    )
    body = draw.choice((b"\n", b"\r\n", b"\n\n", b"\r")).join(lines)
    return _request(draw, token, body, path="/v1/detect", kind="application/x-ndjson")


def _garbage(draw: random.Random, token: str) -> bytes:
    change = draw.randrange(5)
    if change == 0:
        return draw.randbytes(draw.randrange(1, 2_000))
    if change == 1:
        return b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + draw.randbytes(200)
    if change == 2:
        return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + draw.randbytes(50)
    right = _request(draw, token, json.dumps(_right(draw)).encode())
    if change == 3:
        return right[: draw.randrange(1, len(right))]
    place = draw.randrange(len(right))
    return right[:place] + draw.randbytes(draw.randrange(1, 9)) + right[place + 1 :]


_KINDS: Final[dict[str, Callable[[random.Random, str], bytes]]] = {
    "addresses": _addresses,
    "broken": _broken,
    "encodings": _encodings,
    "garbage": _garbage,
    "headers": _headers,
    "keys": _keys,
    "nesting": _nesting,
    "numbers": _numbers,
    "sizes": _sizes,
    "streams": _streams,
    "tokens": _tokens,
    "types": _types,
}

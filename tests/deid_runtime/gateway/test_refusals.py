"""Test what the gateway refuses: clients without access, wrong requests, too much and too slow ones."""

import json
import re
import socket
import time
from typing import Any

import pytest

from tests.deid_runtime.gateway.running_gateway import RunningGateway

NOTE = {"id": "n1", "text": "Seen by Dr. Swordfish.", "key": "study"}
HEAD = "POST /v1/deidentify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer {token}\r\n"


def statuses(answer: bytes) -> list[int]:
    """Return the status of each answer on a connection."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


@pytest.mark.parametrize("token", [None, "x", "deid_", "deid_" + "0" * 12 + "_" + "a" * 52])
def test_without_a_known_token_nothing_is_answered(lone: RunningGateway, token: str | None) -> None:
    answer = lone.ask(body=NOTE, token=token)

    assert (answer.status, answer.problem) == (401, "no-access")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "name", ["nobody", "gone2", "../study", "/etc/passwd", "study\0", "study.key", "", "x" * 3_000]
)
def test_unknown_and_forbidden_key_names_have_one_answer(front: RunningGateway, name: str) -> None:
    answer, other = (front.ask(body={**NOTE, "key": each}) for each in (name, "forbidden"))

    def told(answer: Any) -> Any:
        return {**answer.json, "instance": ""}

    assert (answer.status, answer.problem) == (403, "key-refused")
    assert told(answer) == told(other)
    assert front.audited()[-1]["key"] is None


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        (b"", 400, None),
        (b"{", 400, None),
        (b"\xff\xfe", 400, None),
        (b'{"text": "\xc3"}', 400, None),
        ('{"text": "x", "key": "study"}'.encode("utf-16"), 400, None),
        (b'{"text": "x", "text": "y", "key": "study"}', 400, None),
        (b'{"text": NaN}', 400, None),
        (b'{"text": ' + b"9" * 5_000 + b"}", 400, None),
        (b"[" * 20_000 + b"]" * 20_000, 400, None),
        (b"[]", 422, ""),
        (b'{"key": "study"}', 422, ""),
        (b'{"id": "1", "text": 7, "key": "study"}', 422, "/text"),
        (b'{"id": "1", "text": "\\ud800", "key": "study"}', 422, "/text"),
        (b'{"text": "x", "key": "study", "Swordfish": 1}', 422, ""),
        (b'{"id": "1", "text": "x", "key": ["study"]}', 422, "/key"),
        (b'{"id": "1", "text": "x"}', 422, "/key"),
        (b'{"id": "", "text": "x", "key": "study"}', 422, "/id"),
        (b'{"text": "x", "key": "study"}', 422, ""),
        (b'{"notes": {}, "key": "study"}', 422, "/notes"),
        (b'{"notes": [{"text": "x"}], "key": "study"}', 422, "/notes/0"),
        (b'{"notes": [{"id": "1", "text": "x"}, 5], "key": "study"}', 422, "/notes/1"),
        (json.dumps({**NOTE, "id": "x" * 1_025}).encode(), 422, "/id"),
        (json.dumps({**NOTE, "text": "é" * 2_100}).encode(), 413, "/text"),
        (json.dumps({"key": "study", "notes": [{"id": "1", "text": "x"}] * 9}).encode(), 413, "/notes"),
        (b" " * 65_537, 413, None),
    ],
)
def test_a_wrong_body_is_a_problem_that_quotes_nothing(
    lone: RunningGateway, body: bytes, status: int, pointer: str | None
) -> None:
    answer = lone.ask(body=body)

    assert (answer.status, answer.json.get("pointer")) == (status, pointer)
    assert answer.problem
    assert b"Swordfish" not in answer.content


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/json; charset=latin-1"},
        {"content-encoding": "gzip"},
    ],
)
def test_another_form_of_content_is_refused(lone: RunningGateway, headers: dict[str, str]) -> None:
    assert lone.ask(body=NOTE, headers=headers).problem == "wrong-type"


def test_other_addresses_and_methods_are_refused(lone: RunningGateway) -> None:
    for path in ("/", "/v1/deidentify/", "/v1//deidentify", "/v1/../metrics", "/V1/deidentify", "/v1/%64eidentify%00"):
        assert lone.ask(path, NOTE).problem == "not-found", path
    answer = lone.get("/v1/deidentify")
    assert (answer.status, answer.problem, answer.headers["allow"]) == (405, "wrong-method", "POST")


@pytest.mark.parametrize(
    "lines",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length : 5\r\n",
        "Content-Length: 5\r\n Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding:\x0bchunked\r\n",
        "Content-Length: 5\r\nHost: y\r\n",
        "Content-Length: 5\r\nContent-Type: text/plain\r\n",
        "Content-Length: 5\r\nAuthorization: Bearer x\r\n",
        "Content-Length: 5\r\nX: a\rb\r\n",
        "Content-Length: 5\r\nX\x00: a\r\n",
    ],
)
def test_no_request_is_smuggled_behind_another(lone: RunningGateway, lines: str) -> None:
    smuggled = "0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = lone.raw((HEAD.format(token=lone.token) + lines + "\r\n" + smuggled).encode("latin-1"), timeout=3)

    assert [status for status in statuses(answer) if status not in (400, 413, 501)] == []
    assert b"\nok" not in answer


def test_headers_of_a_proxy_are_not_believed(lone: RunningGateway) -> None:
    answer = lone.ask(
        body=NOTE,
        token=None,
        headers={"X-Forwarded-For": "10.9.8.7", "Forwarded": "for=10.9.8.7", "X-Request-Id": "mine"},
    )

    rows = [row for row in lone.audited() if row["request"] == answer.headers["x-request-id"]]
    assert answer.headers["x-request-id"] != "mine"
    assert all(row["address"] == "127.0.0.1" for row in rows)


def test_a_client_that_sends_slowly_is_ended(lone: RunningGateway) -> None:
    for part in (b"", b"POST /v1/deidentify HTTP/1.1\r\nHost: x\r\nX: "):
        begun = time.monotonic()
        answer = lone.raw(part)
        assert statuses(answer) == [408]
        assert time.monotonic() - begun < 4
    body = HEAD.format(token=lone.token) + "Content-Length: 100\r\n\r\n{"
    assert statuses(lone.raw(body.encode())) == [408]


def test_slow_headers_of_a_second_request_are_ended_too(lone: RunningGateway) -> None:
    with socket.create_connection(("127.0.0.1", lone.port), 10) as opened:
        opened.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = b""
        while not answer.endswith(b"ok\n"):
            answer += opened.recv(65_536)
        parts = b""
        try:
            for _ in range(12):
                opened.sendall(b"G")
                time.sleep(0.25)
        except OSError:
            pass
        try:
            while part := opened.recv(65_536):
                parts += part
        except ConnectionResetError:
            pass
    assert statuses(parts) in ([408], [])


def test_too_many_requests_of_a_project_are_told_to_come_again(lone: RunningGateway) -> None:
    opened = [socket.create_connection(("127.0.0.1", lone.port), 10) for _ in range(2)]
    for each in opened:
        each.sendall((HEAD.format(token=lone.token) + "Content-Length: 100\r\n\r\n{").encode())
    time.sleep(0.3)

    answer = lone.ask(body=NOTE)

    for each in opened:
        each.close()
    assert (answer.status, answer.problem) == (429, "rate")
    assert answer.headers["retry-after"] == "1"


def test_connections_beyond_the_limit_are_refused_and_the_rest_goes_on(lone: RunningGateway) -> None:
    opened = [socket.create_connection(("127.0.0.1", lone.port), 10) for _ in range(30)]
    try:
        time.sleep(0.3)
        refused = [each for each in opened if _has_come(each)]
        assert len(refused) >= 6
    finally:
        for each in opened:
            each.close()
    until = time.monotonic() + 5
    while True:
        try:
            assert lone.get("/healthz").status == 200
            break
        except (AssertionError, OSError):
            assert time.monotonic() < until


def _has_come(opened: socket.socket) -> bool:
    opened.settimeout(0.05)
    try:
        return b" 503 " in opened.recv(100)
    except TimeoutError:
        return False

"""Test notes through the gateway on the real server: the same answers as of the embedded pipeline."""

import http.client
import json
import time
from typing import Any

import pytest

from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified, Detected
from deid_runtime.settings import Settings
from deid_runtime.spans import Note
from deid_runtime.surrogates import load_key
from tests.deid_runtime.gateway.running_gateway import RunningGateway
from tests.deid_runtime.serving.requests import LINES
from tests.running_server import KEY_NAME, ServedFolder

TEXT = "\n".join(LINES) + "\nThérèse Oyelaran visited \U0001f600.\r\n"
NOTES = [
    {"id": "n1", "text": TEXT, "patient": "p1"},
    {"id": "n2", "text": "Seen by Dr. Marcus Oyelaran on 03/04/2051.", "patient": "p1"},
    {"id": "n3", "text": "a\0b"},
    {"id": "n4", "text": ""},
]


@pytest.fixture(scope="module")
def expected(served_folder: ServedFolder) -> dict[str, dict[str, Any]]:
    """Return the answers that the embedded pipeline gives, by id."""
    key = load_key(served_folder.keys / f"{KEY_NAME}.key")
    notes = [Note(row["id"], row["text"], row.get("patient", "")) for row in NOTES]
    found = {}
    with load_pipeline(Settings(), key=key, records={}) as pipeline:
        for note in notes:
            [done] = pipeline.deidentify([note])
            [searched] = pipeline.detect([note])
            if isinstance(done, Deidentified) and isinstance(searched, Detected):
                assert done.spans == searched.spans
                found[note.id] = {
                    "text": done.text,
                    "spans": [(span.start, span.end, span.label) for span in done.spans],
                    "pseudonyms": {"note": done.note_pseudonym, "patient": done.patient_pseudonym},
                }
    assert found.keys() == {"n1", "n2", "n4"}
    return found


def places(row: dict[str, Any]) -> list[tuple[int, int, str]]:
    return [(span["start"], span["end"], span["label"]) for span in row["spans"]]


def check(row: dict[str, Any], expected: dict[str, dict[str, Any]]) -> None:
    if row["id"] == "n3":
        assert row == {"id": "n3", "held_back": {"stage": "read", "reason": row["held_back"]["reason"]}}
    else:
        assert {**row, "spans": places(row)} == {"id": row["id"], **expected[row["id"]]}


def test_one_note_is_that_of_the_embedded_pipeline(front: RunningGateway, expected: dict[str, Any]) -> None:
    answer = front.ask(body={**NOTES[0], "key": KEY_NAME})

    assert answer.status == 200
    check(answer.json, expected)
    spans = answer.json["spans"]
    assert TEXT[spans[0]["start"] : spans[0]["end"]] == "Rosalind Thackeray"


def test_a_batch_is_answered_in_order_and_a_bad_note_alone_is_held_back(
    front: RunningGateway, expected: dict[str, Any]
) -> None:
    answer = front.ask(body={"notes": NOTES, "key": KEY_NAME})

    assert answer.status == 200
    assert (answer.json["done"], answer.json["held_back"]) == (3, 1)
    assert [row["id"] for row in answer.json["notes"]] == ["n1", "n2", "n3", "n4"]
    for row in answer.json["notes"]:
        check(row, expected)
    assert front.ask(body={"notes": [], "key": KEY_NAME}).json == {"notes": [], "done": 0, "held_back": 0}


def test_detect_gives_the_same_spans_without_a_key_and_without_text(
    front: RunningGateway, expected: dict[str, Any]
) -> None:
    answer = front.ask("/v1/detect", {"notes": NOTES})

    assert answer.status == 200
    for row in answer.json["notes"]:
        if "held_back" not in row:
            assert row.keys() == {"id", "spans"}
            assert places(row) == expected[row["id"]]["spans"]
    single = front.ask("/v1/detect", NOTES[0])
    assert (single.status, single.json) == (200, answer.json["notes"][0])


def test_a_single_note_that_is_held_back_is_a_problem_with_its_stage(front: RunningGateway) -> None:
    answer = front.ask(body={"id": "n7", "text": "a\0b", "key": KEY_NAME})

    assert (answer.status, answer.problem, answer.json["stage"]) == (422, "held-back", "read")

    answer = front.ask(body={"id": "n7", "text": TEXT, "key": "gone"})

    assert (answer.status, answer.problem, answer.json["stage"]) == (422, "held-back", "surrogates")


def test_a_stream_answers_each_line_before_the_next_is_sent(front: RunningGateway, expected: dict[str, Any]) -> None:
    connection = front.connection()
    connection.putrequest("POST", f"/v1/deidentify?key={KEY_NAME}")
    connection.putheader("content-type", "application/x-ndjson")
    connection.putheader("transfer-encoding", "chunked")
    connection.putheader("authorization", f"Bearer {front.token}")
    connection.endheaders()
    lines = [json.dumps(note).encode() + b"\n" for note in NOTES]
    lines.insert(2, b'{"id": "broken"\n')

    def send(part: bytes) -> None:
        connection.send(f"{len(part):x}\r\n".encode() + part + b"\r\n")

    send(lines[0])
    response = connection.getresponse()
    assert response.status == 200
    check(json.loads(response.readline()), expected)
    for line in lines[1:]:
        send(line[:7])
        send(line[7:])
        row = json.loads(response.readline())
        if line.startswith(b'{"id": "broken"'):
            assert row["held_back"]["stage"] == "read"
        else:
            check(row, expected)
    connection.send(b"0\r\n\r\n")
    assert json.loads(response.readline()) == {"end": {"complete": True, "done": 3, "held_back": 2}}
    assert response.read() == b""
    connection.close()


def test_a_client_that_goes_away_is_written_down(front: RunningGateway) -> None:
    connection = front.connection()
    notes = [{"id": str(number), "text": TEXT * 20} for number in range(64)]
    connection.request(
        "POST", "/v1/detect", json.dumps({"notes": notes}),
        {"content-type": "application/json", "authorization": f"Bearer {front.token}"},
    )  # fmt: skip
    time.sleep(0.3)
    connection.close()

    until = time.monotonic() + 20
    while not any(row["outcome"] == "gone" for row in front.audited() if "outcome" in row):
        assert time.monotonic() < until
        time.sleep(0.1)


def test_health_says_what_is_true(front: RunningGateway, lone: RunningGateway) -> None:
    assert front.get("/readyz").status == 200
    assert front.get("/healthz").content == b"ok\n"
    assert lone.get("/healthz").status == 200
    assert lone.get("/readyz").status == 503
    assert all(each.get("/readyz").headers["content-type"].startswith("text/plain") for each in (front, lone))
    answer = lone.ask(body={"id": "n7", "text": "x", "key": KEY_NAME})
    assert (answer.status, answer.problem) == (503, "no-server")
    assert int(answer.headers["retry-after"]) >= 1


def test_metrics_count_notes_and_need_a_token_beyond_the_monitor(front: RunningGateway) -> None:
    front.ask(body={"id": "n7", "text": TEXT, "key": KEY_NAME})

    assert front.get("/metrics").status == 401
    text = front.get("/metrics", token=front.token).content.decode()
    assert 'deid_gateway_notes_total{outcome="done",project="heart",task="deidentify"}' in text
    assert "deid_client_calls_total" in text
    monitor = http.client.HTTPConnection("127.0.0.1", front.monitor_port, timeout=10)
    for path, status in (("/metrics", 200), ("/readyz", 200), ("/healthz", 200), ("/v1/deidentify", 404)):
        monitor.request("GET", path)
        response = monitor.getresponse()
        assert (response.status, bool(response.read())) == (status, True)
    monitor.close()


def test_the_audit_log_has_counts_and_ids_of_requests_and_no_text(front: RunningGateway) -> None:
    answer = front.ask(body={"notes": NOTES, "key": KEY_NAME})

    [row] = [row for row in front.audited() if row["request"] == answer.headers["x-request-id"]]
    assert row["shown"] == f"token {front.token.split('_')[1]}"
    assert {name: row[name] for name in ("project", "key", "task", "outcome", "status", "done", "held_back")} == {
        "project": "heart", "key": "study", "task": "deidentify", "outcome": "ok", "status": 200, "done": 3,
        "held_back": {"read": 1},
    }  # fmt: skip
    logged = front.audit.read_text() + "".join(front.log) + front.get("/metrics", token=front.token).content.decode()
    assert not [word for word in ("Thackeray", "Oyelaran", "8841207", "n1", "p1", front.token) if word in logged]
    assert front.audit.stat().st_mode & 0o077 == 0

"""Test a few hundred hostile requests of ``benchmarks/gateway/hostile_requests.py``."""

from pathlib import Path

from deid_runtime.serving.server import Server
from tests.benchmarks.scripts import load_script
from tests.deid_runtime.gateway.running_gateway import gateway

COUNT = 240


def test_hostile_requests_make_no_failure_and_leave_no_trace(triton: Server, tmp_path: Path) -> None:
    cases = load_script("gateway/hostile_cases")
    script = load_script("gateway/attack")
    more = "requests_at_once = 64\n"
    with gateway(tmp_path, triton.options.grpc, "--body-time", 0.3, "--header-time", 0.3, more=more) as front:
        report = script.attack(front.port, cases.draw_cases(7, COUNT, front.token), 4)

        assert report.failures == []
        assert set(report.statuses) == set(cases._KINDS)
        # Right notes came through, and most others did not.
        found = sum(report.statuses.values(), start=type(report.statuses["keys"])())
        assert found["200"] >= 5
        assert found["400"] + found["401"] + found["403"] + found["422"] > COUNT / 3
        logged = front.audit.read_text() + "".join(front.log)
        logged += front.get("/metrics", token=front.token).content.decode()
        assert cases.MARKER not in logged
        answer = front.ask(body={"id": "1", "text": cases.TEXT, "key": cases.KEY})
        assert answer.status == 200
        assert "Jane Doe" not in answer.json["text"]


def test_cases_are_those_of_the_seed() -> None:
    cases = load_script("gateway/hostile_cases")

    assert [*cases.draw_cases(1, 50, "t")] == [*cases.draw_cases(1, 50, "t")] != [*cases.draw_cases(2, 50, "t")]

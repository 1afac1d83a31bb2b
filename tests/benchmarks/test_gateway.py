"""Test that the page of the gateway quotes the committed results, and that these are good."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "gateway.md").read_text(encoding="utf-8")


def result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "benchmarks" / "results" / f"gateway_{name}.json").read_text())
    return found


def test_the_page_has_the_times_of_the_load() -> None:
    rows = re.findall(r"^\| ((?:gateway|gRPC), [^|]+) \| (.+) \|$", PAGE, re.MULTILINE)
    told = {name: [int(cell.replace(",", "")) for cell in cells.split(" | ")] for name, cells in rows}

    names = ("count", "failures", "p50_ms", "p95_ms", "p99_ms")
    assert told == {name: [row[each] for each in names] for name, row in result("load")["requests"].items()}
    assert all(row["failures"] == 0 for row in result("load")["requests"].values())


def test_the_page_has_the_rate() -> None:
    rows = re.findall(r"^\| (new to the server|all from the cache)[^|]* \| (.+) \|$", PAGE, re.MULTILINE)
    told = [[float(cell) for cell in cells.split(" | ")] for _, cells in rows]

    results = [result("rate"), result("rate_repeated")]
    assert [each["repeated"] for each in results] == [False, True]
    ways = ("grpc", "gateway")
    assert told == [
        [
            *(each["notes_per_second"][way] for way in ways),
            each["share"],
            *(each["processor_ms_per_note"][way] for way in ways),
        ]
        for each in results
    ]
    assert all(each["share"] >= 0.95 for each in results)


def test_no_hostile_request_did_harm() -> None:
    hostile = result("hostile")

    assert hostile["requests"] == 10_000
    assert (hostile["failures"], hostile["logs_with_marker"], hostile["works_afterwards"]) == ([], [], True)

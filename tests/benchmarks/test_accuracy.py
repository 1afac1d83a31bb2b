"""Test which parts of a report the accuracy benchmark keeps."""

import json
from typing import Any

import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.evaluation.report import evaluate
from deid_runtime.spans import Span
from tests.benchmarks.scripts import FOLDER, load_script


@pytest.fixture
def report() -> Any:
    gold = [AnnotatedNote("n1", "p1", "Letter", "Elko, 3/14, Orr", (Span(0, 4, "CITY"), Span(6, 10, "DATE")))]
    return evaluate(gold, {"n1": [Span(6, 10, "IDNUM"), Span(12, 15, "DOCTOR")]}, bootstrap_resamples=9).to_json()


def test_all_but_note_types_is_kept(report: Any) -> None:
    kept = load_script("accuracy").stored(report, is_short=False)

    assert kept == {name: value for name, value in report.items() if name != "note_types"}


def test_a_short_report_has_errors_without_their_kinds(report: Any) -> None:
    kept = load_script("accuracy").stored(report, is_short=True)

    assert kept["errors"]["missed"] == {name: report["errors"]["missed"][name] for name in ("total", "aspects")}
    assert kept["errors"]["wrong"]["total"]["errors"] == 1
    assert kept["errors"]["relabelled"] == {"DATE as IDNUM": 2}
    assert kept["groups"] == report["groups"]


@pytest.mark.parametrize("name", ["fast", "full", "fast_test", "full_test", "fast_long", "full_long"])
def test_committed_reports_are_stored_so(name: str) -> None:
    report = json.loads((FOLDER / "results" / f"accuracy_{name}.json").read_text(encoding="utf-8"))["report"]

    assert "note_types" not in report
    assert ("kinds" in report["errors"]["missed"]) == (name in ("fast", "full"))

"""Test the comparison with baselines end to end on small notes, with a learner without a base model."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the BiLSTM-CRF is imported beside the CRF")
pytest.importorskip("transformers", reason="the BERT is imported beside the CRF")
pytest.importorskip("pycrfsuite", reason="the CRF needs python-crfsuite")

from tests.benchmarks.baselines.notes import gold_notes
from tests.benchmarks.scripts import load_script
from tests.commands import write_rows

Run = Callable[..., tuple[dict[str, Any], str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a script on 16 notes of two batches with 4 other notes as dev; return its results and its output."""
    notes = [
        dataclasses.replace(note, id=f"{('T1', 'T2')[number % 2] if number < 16 else 'D1'}-{number}")
        for number, note in enumerate(gold_notes(20))
    ]
    for name, part in (("notes", notes[:16]), ("dev", notes[16:])):
        rows = [
            {
                "id": note.id,
                "patient": note.patient,
                "text": note.text,
                "spans": [{"start": span.start, "end": span.end, "label": span.label} for span in note.spans],
            }
            for note in part
        ]
        write_rows(tmp_path / f"{name}.jsonl", rows)

    def run_script(name: str, *arguments: str) -> tuple[dict[str, Any], str]:
        out = tmp_path / f"{Path(name).name}.json"
        files = ["--notes", tmp_path / "notes.jsonl", "--dev", tmp_path / "dev.jsonl", "--work", tmp_path / "work"]
        monkeypatch.setattr("sys.argv", [name, *map(str, files), "--threads", "1", "--results", str(out), *arguments])
        load_script(name).main()
        return json.loads(out.read_text(encoding="utf-8")), capsys.readouterr().out

    return run_script


def test_what_a_baseline_found_is_kept_for_the_next_comparison(run: Run, tmp_path: Path) -> None:
    asked = ["--systems", "crf", "rules alone", "--crf-iterations", "20", "--repeats", "1", "--shuffles", "99"]
    first, _ = run("baselines/baselines", *asked)
    [kept] = (tmp_path / "work").glob("found-*.json")
    before = kept.stat().st_mtime_ns
    second, _ = run("baselines/baselines", *asked)

    assert kept.stat().st_mtime_ns == before
    [row], [again] = ([row for row in results["systems"] if row["system"] == "crf"] for results in (first, second))
    assert row == again
    assert row["groups"]["C"]["recall"] > 0.5
    table = load_script("baselines/baselines").render(first)
    assert f"| crf | {row['groups']['C']['precision']:.3f} | {row['groups']['C']['recall']:.3f} |" in table

"""Test the benchmarks of training data and baselines end to end on small notes, with a learner without a base model."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deid_runtime.annotations.note import AnnotatedNote

pytest.importorskip("torch", reason="the joint learner is imported beside the CRF")
pytest.importorskip("transformers", reason="the joint learner is imported beside the CRF")
pytest.importorskip("pycrfsuite", reason="the CRF needs python-crfsuite")
pytest.importorskip("matplotlib", reason="the learning curve is drawn")

from deid_export.data.subsets import halves
from tests.benchmarks.baselines.notes import gold_notes
from tests.benchmarks.scripts import load_script

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
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run_script(name: str, *arguments: str) -> tuple[dict[str, Any], str]:
        out = tmp_path / f"{Path(name).name}.json"
        files = ["--notes", tmp_path / "notes.jsonl", "--dev", tmp_path / "dev.jsonl", "--work", tmp_path / "work"]
        monkeypatch.setattr("sys.argv", [name, *map(str, files), "--threads", "1", "--results", str(out), *arguments])
        load_script(name).main()
        return json.loads(out.read_text(encoding="utf-8")), capsys.readouterr().out

    return run_script


def test_the_curve_learns_more_from_more_notes_and_each_part_once(run: Run, tmp_path: Path) -> None:
    crf = ["--learner", "crf", "--crf-iterations", "20", "--crf-min-count", "1", "--seeds", "5", "6"]
    first, printed = run("research/learning_curve", *crf)
    again, printed_again = run("research/learning_curve", *crf)

    rows = [row for row in first["rows"] if row["seed"] == 5]
    assert [row["share"] for row in rows] == [0.1, 0.25, 0.5, 0.75, 1.0]
    assert rows[0]["notes"] < rows[-1]["notes"] == 16
    assert rows[0]["recall"] <= rows[-1]["recall"]
    assert printed.count("of processor time") == 9, "all notes of one seed are those of the other"
    assert "of processor time" not in printed_again
    assert again["rows"] == first["rows"]
    assert (tmp_path / "learning_curve.svg").is_file()
    assert f"| {rows[-1]['recall']:.3f} |" in load_script("research/learning_curve").render(first)


def test_transfer_tells_own_notes_from_those_of_others(run: Run) -> None:
    crf = ["--learner", "crf", "--crf-iterations", "20", "--crf-min-count", "1", "--batches", "T1", "T2"]
    results, printed = run("research/transfer", *crf)

    assert [(row["kind"], row["batch"]) for row in results["rows"]] == [
        ("others and own", "all"),
        ("alone", "T1"),
        ("alone", "T2"),
        ("others", "T1"),
        ("others", "T2"),
    ]
    scores = {(row["kind"], row["batch"]): row["tests"] for row in results["rows"]}
    assert scores["others", "T1"]["T1"] == scores["alone", "T2"]["T1"], "with two batches the others are the other"
    own, other = scores["others and own", "all"]["T1"], scores["alone", "T2"]["T1"]
    row = "| T1 | 4 | {0} | {1} | {0} | {2} |".format(
        *(f"{score['recall']:.3f} / {score['precision']:.3f}" for score in (other, scores["alone", "T1"]["T1"], own))
    )
    assert row in printed


def test_no_model_of_transfer_learns_a_patient_it_is_tested_on() -> None:
    transfer = load_script("research/transfer")
    notes = {
        batch: [AnnotatedNote(f"{batch}-{number}", f"{batch}-{number // 2}", "", "", ()) for number in range(9)]
        for batch in ("T1", "T2", "T3")
    }
    own, held = {}, {}
    for batch, of_batch in notes.items():
        own[batch], held[batch] = halves(of_batch, 1)

    for training in transfer.trainings(tuple(notes), own):
        learnt = {note.patient for note in training.notes}
        assert learnt
        for test in set(training.tests) - {"dev"}:
            assert not learnt & {note.patient for note in held[test]}
        if training.kind == "others":
            assert not any(patient.startswith(training.batch) for patient in learnt)


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

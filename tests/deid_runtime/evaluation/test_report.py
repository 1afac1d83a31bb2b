import json
from dataclasses import replace

import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.evaluation.report import evaluate
from deid_runtime.evaluation.tables import render
from deid_runtime.spans import Span
from deid_runtime.system.shown_ids import shown_id
from tests.deid_runtime.evaluation.invented import GOLD

FOUND = {
    "a": [Span(0, 15, "DOCTOR", 0.9, ("model:name",)), Span(47, 55, "DOCTOR")],
    "b": [Span(0, 4, "PATIENT"), Span(13, 18, "CITY")],
    "c": [],
}


@pytest.fixture(scope="module")
def report():
    return evaluate(GOLD, FOUND, bootstrap_resamples=200)


def test_counts(report):
    assert (report.notes, report.patients, report.quarantined, report.not_in_gold) == (3, 2, 0, 0)
    assert {name: (g.tokens.true_positives, g.tokens.false_positives, g.tokens.false_negatives)
            for name, g in report.groups.items()} == {"A": (3, 1, 1), "B": (4, 1, 1), "C": (4, 1, 2)}  # fmt: skip
    assert report.groups["C"].characters.false_negatives == len("91Quarrybank")


def test_labels_have_recall_by_gold_and_precision_by_found(report):
    patient, doctor, city = (report.labels[label] for label in ("PATIENT", "DOCTOR", "CITY"))

    assert (patient.recall, patient.precision) == (1.0, 1.0)
    assert (doctor.gold, doctor.found, doctor.found_gold, doctor.precision) == (1, 3, 3, 1.0)
    assert (city.recall, city.precision) == (None, 0.0)
    assert report.labels["AGE"].recall == 0.0
    assert "ZIP" not in report.labels


def test_misses_and_types(report):
    assert report.misses_per_note == {"A": {0: 2, 1: 1}, "B": {0: 2, 1: 1}, "C": {0: 2, 2: 1}}
    assert {name: (kind.notes, kind.notes_without_miss) for name, kind in report.note_types.items()} == {
        "Clinic note": (2, 1),
        "Letter": (1, 1),
    }
    clinic = report.note_types["Clinic note"]
    assert (clinic.share_without_miss, clinic.missed_per_1000_notes) == (0.5, 1000.0)


def test_a_lost_note_is_an_error_that_names_it():
    with pytest.raises(InputError, match="1 of 3 gold notes have no row among the found spans: b;"):
        evaluate(GOLD, {"a": [], "c": []})


def test_many_lost_notes_are_not_all_named():
    gold = [AnnotatedNote(f"n{index}", "", "", "", ()) for index in range(9)]

    with pytest.raises(InputError, match="n0, n1, n2, n3, n4 and 4 more"):
        evaluate(gold, {})


def test_a_quarantined_note_counts_as_missed():
    report = evaluate(GOLD, {"a": FOUND["a"], "c": []}, quarantined={"b"}, bootstrap_resamples=10)

    assert report.quarantined == 1
    assert report.groups["A"].tokens.false_negatives == 2
    assert "1 notes were quarantined" in render(report)


def test_a_quarantined_note_is_known_by_the_digest_of_its_id() -> None:
    gold = [replace(note, id="Seen by Ayodele") if note.id == "b" else note for note in GOLD]

    report = evaluate(
        gold, {"a": FOUND["a"], "c": []}, quarantined={shown_id("Seen by Ayodele")}, bootstrap_resamples=10
    )

    assert report.quarantined == 1


def test_found_notes_outside_gold_are_left_out():
    report = evaluate(GOLD[:1], FOUND, bootstrap_resamples=10)

    assert (report.notes, report.not_in_gold) == (1, 2)


def test_json_is_plain_and_repeatable(report):
    value = json.loads(json.dumps(report.to_json()))

    assert value["groups"]["C"]["tokens"]["recall"] == pytest.approx(4 / 6, abs=1e-6)
    assert value["labels"]["CITY"]["recall"] is None
    assert value["misses_per_note"]["C"] == {"0": 2, "2": 1}
    assert value["note_types"]["Letter"]["missed_per_1000_notes"] == 0.0
    assert value["groups"]["C"]["intervals"]["recall"].keys() == {"low", "high"}
    assert report.to_json() == evaluate(GOLD, FOUND, bootstrap_resamples=200).to_json()


def test_text_report(report):
    text = render(report)

    assert "3 notes of 2 patients" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["C", "2", "0.667", "0", "0.000", "1", "0.333", *["0", "0.000"] * 3, "666.7"] in rows
    assert ["Clinic", "note", "2", "1", "0.500", "6", "2", "1000.0", "0.8000", "0.6667"] in rows
    assert max(map(len, text.splitlines())) <= 100
    assert text.endswith("\n")


def test_wrong_tokens_are_told_once_since_they_are_of_no_group(report):
    lines = render(report).splitlines()
    wrong = {group.tokens.false_positives for group in report.groups.values()}

    assert wrong == {1}
    assert [line for line in lines if line.startswith("Wrong: 1 found tokens are gold of no label")]
    header = next(line for line in lines if line.startswith("group "))
    assert "wrong" not in header


def test_no_note_text_in_any_form(report):
    shown = render(report) + json.dumps(report.to_json()) + repr(report) + repr(GOLD)

    assert not [word for word in ("Ilse", "Vandermeer", "Quarrybank", "Oyelaran", "fever") if word in shown]


def test_no_notes_at_all():
    assert "0 notes" in render(evaluate([], {}))

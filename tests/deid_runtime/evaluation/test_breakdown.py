import numpy as np
import pytest

from deid_runtime.evaluation.breakdown import by_note, by_source, confusion, label_intervals, patients_of, totals
from deid_runtime.evaluation.intervals import effective_size, share_interval
from deid_runtime.evaluation.plain_words import plain_sentences
from deid_runtime.evaluation.threshold_table import head_of, threshold_tables
from deid_runtime.evaluation.token_table import tabulate
from deid_runtime.spans import Span
from tests.deid_runtime.evaluation.invented import FOUND, GOLD

TABLE = tabulate(GOLD, FOUND)


def test_three_plain_sentences():
    assert plain_sentences(totals(TABLE)) == [
        "Of 3 notes, 2 had nothing missed.",
        "In 0 notes a name was missed.",
        "1 clinical word was removed that identifies nobody.",
    ]


def test_sentences_count_notes_with_a_missed_name_and_wrong_words():
    found = {"a": [Span(0, 4, "PATIENT"), Span(20, 28, "CITY")], "b": [Span(5, 18, "CITY")], "c": []}

    assert plain_sentences(totals(tabulate(GOLD, found))) == [
        "Of 3 notes, 1 had nothing missed.",
        "In 2 notes a name was missed.",
        "4 clinical words were removed that identify nobody.",
    ]


def test_confusion_has_missed_and_wrong_words():
    assert confusion(TABLE) == {
        "PATIENT": {"PATIENT": 1, "DOCTOR": 2},
        "DOCTOR": {"DOCTOR": 1},
        "AGE": {"": 1},
        "HOSPITAL": {"": 1},
        "": {"CITY": 1},
    }


def test_sources_and_what_only_they_found():
    rows = {row.source: row for row in by_source(TABLE)}

    assert (rows["model:name"].right, rows["model:name"].only_right, rows["model:name"].wrong) == (3, 2, 0)
    assert (rows["rule:people"].right, rows["rule:people"].only_right) == (1, 0)
    assert (rows["model:location"].wrong, rows["model:location"].only_wrong) == (1, 1)
    assert rows["record"].only_share == pytest.approx(1 / 6)


def test_errors_by_note():
    assert [(note.id, note.gold, note.missed, note.wrong) for note in by_note(GOLD, TABLE)] == [
        ("a", 5, 2, 0), ("b", 1, 0, 1), ("c", 0, 0, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sources", "head"),
    [
        (("model:name",), "name"),
        (("model:name:v3",), "name"),
        (("pattern", "model:name"), ""),
        (("record",), ""),
        (("model:trace",), ""),
        ((), ""),
    ],
)
def test_a_threshold_decides_about_what_one_head_alone_found(sources, head):
    assert head_of(Span(0, 1, "PATIENT", 0.5, sources)) == head


def test_thresholds_tell_what_higher_ones_would_give():
    tables = threshold_tables(TABLE)

    assert tables.keys() == {"name", "location"}
    by_threshold = {row.threshold: (row.missed, row.wrong) for row in tables["name"]}
    assert by_threshold[0.9] == (2, 1)  # the score 0.9 still reaches it
    assert by_threshold[0.95] == (4, 1)
    first = tables["location"][0]
    assert (first.threshold, first.missed, first.wrong) == (0.4, 2, 1)
    assert tables["location"][1].wrong == 0


def test_label_intervals_hold_the_share_and_never_claim_certainty():
    intervals = label_intervals(TABLE, patients_of(GOLD))

    assert intervals["PATIENT"].recall.high == 1.0
    assert 0 < intervals["PATIENT"].recall.low < 0.9
    assert intervals["AGE"].precision is None


def test_alike_tokens_of_a_patient_tell_less_than_independent_ones():
    alike = effective_size(np.array([10, 10, 0, 0]), np.array([10] * 4))
    mixed = effective_size(np.array([5, 6, 4, 5]), np.array([10] * 4))

    assert alike == pytest.approx(3)
    assert mixed == 40
    assert effective_size(np.array([10, 30]), np.array([10, 30])) == pytest.approx(40**2 / (10**2 + 30**2))
    assert share_interval(np.array([0]), np.array([0])) is None


def test_intervals_of_independent_tokens_are_those_of_wilson():
    interval = share_interval(np.array([1] * 8 + [0] * 2), np.array([1] * 10))

    # The design effect of a simple sample is n / (n - 1), so nine tokens count.
    assert (interval.low, interval.high) == pytest.approx((0.47379, 0.94673), abs=1e-4)

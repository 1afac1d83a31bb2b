"""Test the counting of the benchmark, not its results."""

import gzip
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from deid_export.data.gazetteers import load_gazetteers
from deid_export.data.negatives import carriers, identifies_nobody
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.spans import Span
from tests.export.lists import write_lists

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark():
    """Import the script as a module; it imports its neighbours as scripts do."""
    before = list(sys.path)
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("over_redaction", FOLDER / "over_redaction.py")
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def test_ten_sentences_of_each_kind_that_training_never_saw(benchmark):
    trained = {sentence for sentences in carriers().values() for sentence in sentences}

    assert {len(set(sentences)) for sentences in benchmark.SENTENCES.values()} == {10}
    for sentences in benchmark.SENTENCES.values():
        assert trained.isdisjoint(sentences)
        assert [sentence.count("{x}") for sentence in sentences] == [1] * 10
        assert find_patterns([sentence.replace("{x}", "asthma") for sentence in sentences]) == [[]] * 10


@pytest.mark.parametrize("kind", ["eponyms", "scores", "drugs", "devices"])
def test_term_offsets_are_those_of_the_term(benchmark, kind):
    lines = list(benchmark.term_lines(kind, "zantrol-x"))

    written = [line.text[slice(*line.term)] for line in lines]
    assert {each.casefold() for each in written} == {"zantrol-x"}
    assert written[8:] == ["zantrol-x", "ZANTROL-X"]
    assert written[1] == ("Zantrol-x" if kind == "drugs" else "zantrol-x")
    assert lines[8].text.islower()
    assert lines[9].text.isupper()


def test_a_letter_that_grows_in_capitals_moves_the_offsets(benchmark):
    line = list(benchmark.term_lines("devices", "Straßer clamp"))[9]

    assert line.text[slice(*line.term)] == "STRASSER CLAMP"


def test_scores_are_told_from_eponyms(benchmark, tmp_path):
    lists = load_gazetteers(write_lists(tmp_path))

    terms = benchmark.terms_by_kind(lists)

    assert terms["eponyms"] == ["Babinski sign", "parkinson disease"]
    assert terms["drugs"] == ["zantrol", "lisinopril", "aspirin"]
    assert benchmark._SCORE.search("Wells score")
    assert benchmark._SCORE.search("Tanner stage III")
    assert not benchmark._SCORE.search("Gradenigo syndrome")


def test_notes_of_terms(benchmark):
    texts = benchmark.term_notes({"devices": ["Foley", "Groshong", "Hoyer lift"]}, 2, 0, is_joined=True)

    alone, joined = texts["terms: devices"], texts["terms, joined: devices"]
    assert [len(lines) for lines in alone] == [1] * 20
    assert [len(lines) for lines in joined] == [10, 10]
    assert sorted(line.text for lines in joined for line in lines) == sorted(line.text for [line] in alone)
    assert texts == benchmark.term_notes({"devices": ["Foley", "Groshong", "Hoyer lift"]}, 2, 0, is_joined=True)


@pytest.mark.parametrize(
    ("sentence", "is_free"),
    [
        ("Her father died of an MI at 65.", False),
        ("One uncle had colon cancer in his late 40s.", False),
        ("Dad is 40 and healthy.", False),
        ("This 78y/o was referred.", False),
        ("Well 2-week-old infant.", False),
        ("Mother and aunts with asthma.", True),
        ("CXR (12/8): no infiltrate.", False),
        ("Booster was in 07/03.", False),
        ("The last surgery was in 3/95.", False),
        ("Strength 5/5, a 6-French sheath was placed.", True),
        ("Started 3/7 ago, blood pressure in the 80s.", True),
        ("Child Pugh class B, albumin 2.9.", True),
    ],
)
def test_sentences_that_identify_are_left_out(benchmark, sentence, is_free):
    assert identifies_nobody(sentence) is is_free


def test_clinical_notes(benchmark, tmp_path):
    lists = load_gazetteers(write_lists(tmp_path))
    reports = tmp_path / "reports.jsonl.gz"
    texts = ["Patient denies pain.\nHistory of Smith.\nNo fever.", "Dr. Smith", "Fever and pain 07/03."]
    reports.write_bytes(gzip.compress("".join(json.dumps({"text": text}) + "\n" for text in texts).encode()))

    notes = benchmark.clinical_notes([reports], lists, None, 0)

    assert [[line.text for line in note] for note in notes["clinical: reports.jsonl.gz"]] == [
        ["Patient denies pain.", "No fever."]
    ]


def test_sample(benchmark):
    assert benchmark.sample("abc", None, 0) == benchmark.sample("abc", 5, 0) == ["a", "b", "c"]
    drawn = benchmark.sample(range(100), 10, 3)
    assert drawn == sorted(set(drawn)) == benchmark.sample(range(100), 10, 3) != benchmark.sample(range(100), 10, 4)


def test_counts(benchmark):
    lines = [benchmark.Line("Foley in place", (0, 5)), benchmark.Line("the Hoyer lift 20 min", (4, 14))]
    text = "Foley in place\nthe Hoyer lift 20 min"
    spans = [
        Span(19, 24, "PATIENT", sources=("model:name", "propagation")),
        Span(30, 36, "AGE", sources=("model:age", "pattern")),
    ]

    tally = benchmark.count(lines, text, spans)

    value = tally.to_json()
    assert (value["tokens"], value["wrong_tokens"], value["notes_touched"]) == (8, 3, 1)
    assert value["wrong_per_1000_tokens"] == 375.0
    assert value["by_label"] == {"AGE": 2, "PATIENT": 1}
    assert value["by_source"] == {"model:age + pattern": 2, "model:name + propagation": 1}
    assert value["by_finder"] == {"models and rules": 2, "models": 1}
    assert (value["occurrences"], value["occurrences_touched"], value["over_redaction"]) == (2, 1, 0.5)
    assert "Hoyer" not in json.dumps(value)
    assert tally.strings["Hoyer", "PATIENT", "model:name + propagation"] == 1


def test_tallies_add_up(benchmark):
    total = benchmark.Tally()
    for text in ("Foley in", "Hoyer out"):
        total.add(benchmark.count([benchmark.Line(text, (0, 5))], text, [Span(0, 5, "CITY", sources=("pattern",))]))

    assert (total.notes, total.notes_touched, total.tokens, total.wrong, total.terms_touched) == (2, 2, 4, 2, 2)
    assert total.finders == {"rules": 2}
    assert len(total.touched_terms) == 2


@pytest.mark.parametrize(
    ("sources", "who"),
    [
        (["model:name", "model:age"], "models"),
        (["pattern", "propagation"], "rules"),
        (["template", "model:name"], "models and rules"),
        (["propagation"], "propagation alone"),
    ],
)
def test_finder(benchmark, sources, who):
    assert benchmark.finder(sources) == who

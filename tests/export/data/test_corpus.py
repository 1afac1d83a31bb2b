"""Test the reading of annotated notes, and the replacement of their values by fresh ones."""

import json
import random
from pathlib import Path

import pytest

from deid_export.data.fresh_values import Rates
from deid_export.data.gazetteers import Gazetteers, load_gazetteers
from deid_export.data.negatives import carrier_sentence, carriers, identifies_nobody, negative_text, screened_sentences
from deid_export.data.resample import Resampler
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated
from deid_runtime.detectors.clinical import without_clinical
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.errors import SourceError
from deid_runtime.spans import Span
from tests.deid_runtime.annotations.test_read import TAGGED
from tests.export.lists import write_lists


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Gazetteers:
    return load_gazetteers(write_lists(tmp_path_factory.mktemp("lists")))


@pytest.fixture
def notes(tmp_path: Path) -> list[AnnotatedNote]:
    (tmp_path / "P1.txt").write_text(TAGGED, encoding="utf-8")
    return read_annotated([tmp_path])


def test_a_variant_keeps_labels_and_the_text_between(notes: list[AnnotatedNote], lists: Gazetteers) -> None:
    rates = Rates(keep=0, upper_note=0, lower_note=0, joined=0, noise=0)
    for seed in range(30):
        text, spans = Resampler(lists, random.Random(seed), rates).note(notes[0])

        assert [s.label for s in spans] == [s.label for s in notes[0].spans]
        name, age, date, doctor = (text[s.start : s.end] for s in spans)
        assert text == f"{name} ({age}) called {date}, BP <140/90.\nDr. {doctor}"
        assert doctor.isupper()
        assert doctor.lower() == name.split()[-1].lower(), "parts of a name map alike in one note"
        assert age.isdigit()


def test_every_rate_leaves_spans_on_their_values(notes: list[AnnotatedNote], lists: Gazetteers) -> None:
    for seed in range(60):
        text, spans = Resampler(lists, random.Random(seed), Rates(joined=0.5, noise=0.1)).note(notes[0])

        for span in spans:
            value = text[span.start : span.end]
            assert value
            assert value == value.strip()


@pytest.mark.parametrize(
    "label",
    ["PATIENT", "DOCTOR", "USERNAME", "AGE", "DATE", "PHONE", "EMAIL", "URL", "STREET", "CITY", "STATE", "COUNTRY",
     "ZIP",      "HOSPITAL", "ORGANIZATION", "LOCATION-OTHER", "MEDICALRECORD", "IPADDR"],
)  # fmt: skip
@pytest.mark.parametrize(
    "value", ["x", "A.", "12", "ÅSA-9", "St. 5", "rm 318", "jo at orr.org", "the 29th", "'08", "Fla."]
)
def test_odd_values_get_some_value(label: str, value: str, lists: Gazetteers) -> None:
    note = AnnotatedNote("n", "p", "", f"a {value} b", (Span(2, 2 + len(value), label),))
    for seed in range(5):
        text, [span] = Resampler(lists, random.Random(seed), Rates(keep=0)).note(note)

        assert text[span.start : span.end].strip()
        assert "\n" not in text


def test_missing_lists_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"first_names_us\.csv\.gz is missing"):
        load_gazetteers(tmp_path)


def test_screening_keeps_only_sentences_of_known_words(tmp_path: Path, lists: Gazetteers) -> None:
    import gzip

    path = tmp_path / "samples.jsonl.gz"
    text = (
        "Patient denies chest pain. Seen by Dr. Quist today. Pain 3/14/2019. No fever. Zebulon was seen. "
        "No pain at 4567."
    )
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(json.dumps({"text": text}) + "\n")

    assert screened_sentences([path], lists) == [["Patient denies chest pain.", "No fever."]]


def test_clean_text_is_drawn_from_the_pool(lists: Gazetteers) -> None:
    rng = random.Random(4)
    drawn = [negative_text([["no fever.", "no pain."]], lists, rng).lower() for _ in range(200)]
    runs = [text for text in drawn if "no fever" in text or "no pain" in text]
    others = [text.count("\n") + 1 for text in drawn if text not in runs]  # carriers, one per line

    assert 90 <= len(runs) <= 130
    assert 50 <= others.count(1) <= 90
    assert min(lines for lines in others if lines > 1) >= 3
    assert carrier_sentence(lists, random.Random(1)) == carrier_sentence(lists, random.Random(1))


@pytest.mark.parametrize("kind", list(carriers()))
def test_no_sentence_around_a_term_holds_anything_that_a_pattern_takes_for_an_identifier(kind: str) -> None:
    filled = [
        each.format(x="asthma", y="gout", z="croup", n=n, m=m)
        for each in carriers()[kind]
        for n, m in ((3, 12), (64, 8))
    ]
    found = [without_clinical(text, spans) for text, spans in zip(filled, find_patterns(filled), strict=True)]
    # A weak pattern may take a fraction among the facts for a date; models learn from it that it is none.
    sure = [[span for span in row if kind != "facts" or span.sources != ("pattern:weak",)] for row in found]

    assert len(set(carriers()[kind])) == len(carriers()[kind]) >= 30
    assert [text for text, row in zip(filled, sure, strict=True) if row] == []
    assert [text for text in filled if not identifies_nobody(text)] == []

"""Reading annotated notes, and drawing fresh values for their spans."""

import json
import random
from pathlib import Path

import pytest

from deid_export.data.corpus import GoldNote, corpus_digest, read_corpus
from deid_export.data.gazetteers import Gazetteers, load_gazetteers
from deid_export.data.negatives import carrier_sentence, carriers, identifies_nobody, negative_text, screened_sentences
from deid_export.data.resample import Rates, Resampler
from deid_runtime.detectors.clinical import without_clinical
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.errors import InputError, SourceError
from deid_runtime.spans import Span
from tests.export.lists import write_lists

TAGGED = """%% patient id=P1 given=Alma family=Orr
%% note id=P1-1 type="Phone note"
<PATIENT>Alma Orris</PATIENT> (<AGE>67</AGE>) called <DATE>3/14/2019</DATE>, BP <140/90.
Dr. <DOCTOR>ORRIS</DOCTOR>
%% note id=P1-2 type=Letter
Nothing here.
"""


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Gazetteers:
    return load_gazetteers(write_lists(tmp_path_factory.mktemp("lists")))


@pytest.fixture
def notes(tmp_path: Path) -> list[GoldNote]:
    (tmp_path / "P1.txt").write_text(TAGGED, encoding="utf-8")
    return read_corpus([tmp_path])


def test_tagged_notes_become_text_and_spans(notes: list[GoldNote]) -> None:
    first, second = notes

    assert (first.id, first.patient, first.type) == ("P1-1", "P1", "Phone note")
    assert [(s.label, first.text[s.start : s.end]) for s in first.spans] == [
        ("PATIENT", "Alma Orris"), ("AGE", "67"), ("DATE", "3/14/2019"), ("DOCTOR", "ORRIS"),
    ]  # fmt: skip
    assert first.text.startswith("Alma Orris (67) called 3/14/2019, BP <140/90.\nDr. ORRIS")
    assert second.spans == ()


def test_a_file_for_each_batch_reads_as_a_file_for_each_patient(tmp_path: Path) -> None:
    patients = ["T1-001", "T1-010", "T1-002", "T10-001", "T2-001"]
    for folder in ("patients", "batches"):
        (tmp_path / folder).mkdir()
    for patient in sorted(patients):
        text = TAGGED.replace("P1", patient)
        (tmp_path / "patients" / f"{patient}.txt").write_text(text, encoding="utf-8")
        with (tmp_path / "batches" / f"{patient.partition('-')[0]}.txt").open("a", encoding="utf-8") as file:
            file.write(text)
    notes = read_corpus([tmp_path / "batches"])

    assert notes == read_corpus([tmp_path / "patients"])
    assert list(dict.fromkeys(note.patient for note in notes)) == ["T1-001", "T1-002", "T1-010", "T10-001", "T2-001"]


def test_json_lines_hold_the_same(tmp_path: Path, notes: list[GoldNote]) -> None:
    path = tmp_path / "notes.jsonl"
    rows = [
        {"id": n.id, "patient": n.patient, "type": n.type, "text": n.text,
         "spans": [{"start": s.start, "end": s.end, "label": s.label} for s in n.spans]}
        for n in notes
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    assert read_corpus([path]) == notes
    assert corpus_digest(read_corpus([path])) == corpus_digest(notes)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty", None, "holds no annotated note"),
        ("bad.jsonl", "{}\n", r"bad\.jsonl:1: not an annotated note"),
        ("bad.txt", '%% note id="x\ntext\n', r"bad\.txt:1: unbalanced quotes"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    path = tmp_path / name
    if content is None:
        path.mkdir()
    else:
        path.write_text(content, encoding="utf-8")

    with pytest.raises(SourceError, match=message):
        read_corpus([path])


def test_a_variant_keeps_labels_and_the_text_between(notes: list[GoldNote], lists: Gazetteers) -> None:
    rates = Rates(keep=0, upper_note=0, lower_note=0, joined=0, noise=0)
    for seed in range(30):
        text, spans = Resampler(lists, random.Random(seed), rates).note(notes[0])

        assert [s.label for s in spans] == [s.label for s in notes[0].spans]
        name, age, date, doctor = (text[s.start : s.end] for s in spans)
        assert text == f"{name} ({age}) called {date}, BP <140/90.\nDr. {doctor}"
        assert doctor.isupper()
        assert doctor.lower() == name.split()[-1].lower(), "parts of a name map alike in one note"
        assert age.isdigit()


def test_every_rate_leaves_spans_on_their_values(notes: list[GoldNote], lists: Gazetteers) -> None:
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
    note = GoldNote("n", "p", "", f"a {value} b", (Span(2, 2 + len(value), label),))
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
    others = [text.count("\n") + 1 for text in drawn if text not in runs]  # carriers, one a line

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
    # A fraction among facts may look like a date to a weak pattern: models learn from it that it is none.
    sure = [[span for span in row if kind != "facts" or span.sources != ("pattern:weak",)] for row in found]

    assert len(set(carriers()[kind])) == len(carriers()[kind]) >= 30
    assert [text for text, row in zip(filled, sure, strict=True) if row] == []
    assert [text for text in filled if not identifies_nobody(text)] == []


def test_forms_may_stand_side_by_side_in_a_folder(tmp_path: Path) -> None:
    import gzip

    row = {"id": "j1", "text": "seen by Orr", "spans": [{"start": 8, "end": 11, "label": "DOCTOR"}]}
    (tmp_path / "tagged.txt").write_text(TAGGED, encoding="utf-8")
    with gzip.open(tmp_path / "rows.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    (tmp_path / "ward").mkdir()
    (tmp_path / "ward" / "b1.txt").write_text("seen by Quist", encoding="utf-8")
    (tmp_path / "ward" / "b1.ann").write_text("T1\tDOCTOR 8 13\tQuist\nT2\tDOCTOR 8 13\tQuist\n", encoding="utf-8")
    (tmp_path / "110-02.xml").write_text(
        '<deIdi2b2><TEXT>Elko</TEXT><TAGS><LOCATION id="P0" start="0" end="4" TYPE="CITY" /></TAGS></deIdi2b2>',
        encoding="utf-8",
    )

    found = {note.id: note for note in read_corpus([tmp_path])}

    assert list(found) == ["110-02", "j1", "P1-1", "P1-2", "ward/b1"]
    assert found["110-02"].patient == "110"
    assert found["ward/b1"].spans == (Span(8, 13, "DOCTOR"),)


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(0, 4, "CITY"), (2, 6, "STATE")], r"note n1: spans \[0, 4\) CITY and \[2, 6\) STATE overlap"),
        ([(0, 9, "CITY")], "note n1: a span ends at 9, behind a text of 7 code points"),
    ],
)
def test_spans_that_nothing_can_be_learnt_from_are_named(
    tmp_path: Path, spans: list[tuple[int, int, str]], message: str
) -> None:
    row = {"id": "n1", "text": "Elko NV", "spans": [{"start": a, "end": b, "label": c} for a, b, c in spans]}
    (tmp_path / "n.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")

    with pytest.raises(InputError, match=message):
        read_corpus([tmp_path / "n.jsonl"])

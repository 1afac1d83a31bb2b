"""Test whole runs with the shipped models: equal bytes for any batching, and no identifier of the examples left."""

import json
from pathlib import Path

import pytest

from deid_runtime.run.job import RunOptions, deidentify_files, detect_files
from deid_runtime.settings import Settings
from tests.commands import read_rows

ROOT = Path(__file__).resolve().parents[3]
KEY = bytes(range(32))
#: Workers, notes per batch, model windows per call; the first row is the reference.
CUTS = ((1, 32, 16), (1, 1, 1), (1, 7, 7), (1, 256, 256), (2, 1, 16), (2, 7, 16))


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the sample notes and variants: in capitals, cut short, and on one line far too long for a window."""
    texts = [row["text"] for row in read_rows(ROOT / "examples" / "notes.jsonl")]
    texts += [text.upper() for text in texts[:3]] + [" ".join(texts[3].split()) * 4, texts[4][:60], ""]
    path = tmp_path_factory.mktemp("notes") / "notes.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": f"n{number}", "patient": f"p{number % 4}", "text": text}) + "\n")
    return path


def output(notes: Path, folder: Path, workers: int, batch_size: int, windows: int) -> bytes:
    out = folder / f"{workers}-{batch_size}.jsonl"
    options = RunOptions(workers=workers, batch_size=batch_size, quiet=True)
    summary = deidentify_files([notes], out, Settings(batch_windows=windows), options, key=KEY)
    assert summary.counts.quarantined.total() == 0
    return out.read_bytes()


def test_the_bytes_do_not_depend_on_workers_and_batches(notes: Path, tmp_path: Path) -> None:
    expected = output(notes, tmp_path, *CUTS[0])

    for cut in CUTS[1:]:
        assert output(notes, tmp_path, *cut) == expected, cut


def test_names_of_the_sample_patients_do_not_come_through(tmp_path: Path) -> None:
    source = ROOT / "examples" / "notes.jsonl"
    records = read_rows(ROOT / "examples" / "patients.jsonl")
    found = tmp_path / "found.jsonl"
    detect_files([source], found, Settings(), RunOptions(quiet=True))
    spans = {row["id"]: row["spans"] for row in read_rows(found)}
    family = {record["id"]: record["family"].casefold() for record in records}

    seen = missed = 0
    for note in read_rows(source):
        text, name = note["text"].casefold(), family[note["patient"]]
        at = text.find(name)
        while at >= 0:
            seen += 1
            missed += not any(span["start"] < at + len(name) and at < span["end"] for span in spans[note["id"]])
            at = text.find(name, at + len(name))
    assert seen > 10
    assert missed == 0


def test_a_megabyte_in_one_note_comes_through(tmp_path: Path) -> None:
    line = "Seen by Dr. Marcus Oyelaran on 3/14/2019 for cough, no fever, lungs clear to auscultation. "
    clean = "No known drug allergies.\n"  # on the inclusion list, to save model time
    source = tmp_path / "long.jsonl"
    source.write_text(json.dumps({"id": "long", "text": line * 1_000 + "\n" + clean * 36_000}) + "\n", encoding="utf-8")
    out = tmp_path / "out.jsonl"

    summary = deidentify_files([source], out, Settings(), RunOptions(quiet=True), key=KEY)

    assert summary.counts.quarantined.total() == 0
    text = json.loads(out.read_text(encoding="utf-8"))["text"]
    assert "Oyelaran" not in text
    assert text.count("lungs clear to auscultation") == 1_000

"""Test the counting of the benchmark and the form of its texts, not its results."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from deid_runtime.labels import LABELS
from deid_runtime.spans import Span
from tests.benchmarks.scripts import FOLDER, load_script

script = load_script("other_authors/other_authors")
TEXTS = sorted((FOLDER / "other_authors").glob("*.txt"))


def fours(texts: Sequence[str]) -> list[list[Span]]:
    """Find every "4" of each text."""
    return [[Span(at, at + 1, "AGE") for at, char in enumerate(text) if char == "4"] for text in texts]


def test_missed_and_changed_words_are_counted_in_words_and_notes(tmp_path: Path) -> None:
    path = tmp_path / "an_author_notes.txt"
    path.write_text("<AGE>4</AGE> years,\n<PATIENT>Una Li</PATIENT>\n%%%\nwell, 4 of 4 pulses\n", encoding="utf-8")

    row = script.measure(fours, script.read(path))

    assert row["notes"] == 2
    assert (row["words_missed"]["count"], row["words_missed"]["of"]) == (2, 3)
    assert (row["words_changed"]["count"], row["words_changed"]["of"]) == (2, 6)
    assert (row["notes_with_a_miss"]["count"], row["notes_with_a_change"]["count"]) == (1, 1)
    assert row["missed_by_label"] == {"AGE": [0, 1], "PATIENT": [2, 2]}


def test_each_clean_line_is_a_note(tmp_path: Path) -> None:
    path = tmp_path / "an_author_clean.txt"
    path.write_text("one\n\ntwo 4\n", encoding="utf-8")

    assert [text for text, _ in script.read(path)] == ["one", "two 4"]
    assert script.measure(fours, script.read(path))["words_missed"]["of"] == 0


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_tags_are_labels_and_clean_lines_have_none(path: Path) -> None:
    notes = script.read(path)

    assert len(notes) >= 60
    assert {span.label for _, spans in notes for span in spans} <= set(LABELS)
    assert any(spans for _, spans in notes) == path.stem.endswith("_notes")
    assert not any("<" + label + ">" in text or "</" in text for text, _ in notes for label in LABELS)

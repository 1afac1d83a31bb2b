"""Test the outside check: its cases, and which spans count as found."""

import gzip
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from deid_runtime.lexicon.word_codes import load_lexicon, word_key
from tests.benchmarks.scripts import FOLDER

pytest.importorskip("scipy", reason="the intervals need scipy")

DOCUMENTS = [
    "The patient was brought in with chest pain and was given aspirin. She denies fever. " * 12 + f"Note {number}."
    for number in range(8)
]


@pytest.fixture(scope="module", name="outside")
def outside_script() -> ModuleType:
    before = list(sys.path)
    sys.path.insert(0, str(FOLDER / "outside"))
    try:
        import outside
    finally:
        sys.path[:] = before
    return outside


@pytest.fixture(scope="module")
def made(outside: ModuleType) -> list[object]:
    return list(outside.make_cases(DOCUMENTS, 2, seed=3))


def test_every_form_and_culture_has_its_cases(outside: ModuleType, made: list[object]) -> None:
    assert len(made) == 2 * len(outside.FORMS) * len(outside.CULTURES)
    assert made == outside.make_cases(DOCUMENTS, 2, seed=3)
    for case in made:
        name = case.text[case.start : case.end]
        assert name.strip() == name
        assert 60 <= len(case.text.split()) <= 130
        if case.form == "lower case":
            assert name.islower()
        if case.form.endswith("in no list"):
            assert all(word_key(word) not in load_lexicon() for word in name.split())
        if case.form == "capitals":
            assert name.isupper()
        if case.form == "line end inside":
            assert "\n" in name


def test_a_name_is_found_when_every_word_of_it_is(outside: ModuleType, made: list[object]) -> None:
    case = next(case for case in made if case.form == "full" and " " in case.text[case.start : case.end])
    middle = case.text.index(" ", case.start)
    whole = [{"start": case.start, "end": case.end, "label": "PATIENT"}]
    part = [{"start": case.start, "end": middle, "label": "PATIENT"}]

    assert outside.is_found(case, whole)
    assert not outside.is_found(case, part)
    assert not outside.is_found(case, [])


def test_rates_and_other_words_are_counted(outside: ModuleType, made: list[object]) -> None:
    cases = made[:4]
    found = {case.id: [{"start": case.start, "end": case.end, "label": "PATIENT"}] for case in cases}
    found[cases[0].id] = [{"start": 0, "end": len(cases[0].text), "label": "DATE"}]

    [row] = outside.rates(cases, found, lambda case: "all").values()
    assert (row["found"], row["notes"], row["share"]) == (4, 4, 1.0)
    assert 0.5 < row["low"] < 1
    assert outside.other_words(cases, {case.id: [] for case in cases})["all"] == 0
    assert outside.other_words(cases, found)["DATE"] == outside.other_words(cases, found)["all"] > 200


def test_titles_and_credentials_are_no_part_of_a_name(outside: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl.gz"
    text = "Ask Mrs. Ann Holm MD, or Dr. Bo."
    spans = [
        {"entity_type": "PERSON", "start_position": text.index("Mrs"), "end_position": text.index(",")},
        {"entity_type": "PERSON", "start_position": text.index("Dr"), "end_position": len(text) - 1},
    ]
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.write(json.dumps({"full_text": text, "spans": spans}) + "\n")

    cases = [case for case in outside.read_name_set(path) if case.form == "unchanged"]

    assert [case.text[case.start : case.end] for case in cases] == ["Ann Holm", "Bo"]

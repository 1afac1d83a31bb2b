"""Test real prose with people set into it."""

import random
from itertools import pairwise
from pathlib import Path

import pytest

from deid_export.data.gazetteers import Gazetteers, load_gazetteers
from deid_export.data.substitution.persons import CULTURES, PersonDrawer, is_held_out, listed_names
from deid_export.data.substitution.prose import Document, make_document
from deid_export.data.substitution.setting import PeopleSetter, SetNote, SettingRates, frames
from deid_runtime.evaluation.layout import recased, wrapped
from deid_runtime.labels import LABELS
from deid_runtime.spans import Span
from tests.export.lists import write_lists

PROSE = (
    "The patient was admitted on 3/14/2019 with chest pain. She denies fever. Her mother was at the bedside. The "
    "surgeon placed a drain without difficulty.\n\nPLAN: The patient will return in two weeks. His wound was dry and "
    "intact. "
) * 4


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Gazetteers:
    return load_gazetteers(write_lists(tmp_path_factory.mktemp("lists") / "lists"))


def document() -> Document:
    starts = [at for at in range(len(PROSE)) if PROSE.startswith("3/14/2019", at)]
    found = [Span(at, at + 9, "DATE", 1.0, ("pattern",)) for at in starts]
    doubtful = PROSE.index("chest")
    return make_document(
        PROSE, sorted([*found, Span(doubtful, doubtful + 5, "HOSPITAL", 0.4, ("model:organization",))])
    )


def notes(lists: Gazetteers, count: int = 300, seed: int = 1, rates: SettingRates | None = None) -> list[SetNote]:
    setter = PeopleSetter([document()], lists, random.Random(seed), rates)
    return [setter.note() for _ in range(count)]


def test_spans_are_sorted_disjoint_and_hold_a_name(lists: Gazetteers) -> None:
    for note in notes(lists):
        assert all(left.end <= right.start for left, right in pairwise(note.spans))
        for span in note.spans:
            value = note.text[span.start : span.end]
            assert value.strip() == value
            assert value
            assert span.label in LABELS


def test_what_surely_identifies_stays_marked(lists: Gazetteers) -> None:
    for note in notes(lists, rates=SettingRates(upper_note=0, lower_note=0, wrapped_note=0, scanned=0)):
        dates = {note.text[span.start : span.end] for span in note.spans if span.label == "DATE"}
        assert dates <= {"3/14/2019"}
        assert note.text.count("3/14/2019") == sum(span.label == "DATE" for span in note.spans)


def test_what_perhaps_identifies_is_told(lists: Gazetteers) -> None:
    rates = SettingRates(upper_note=0, lower_note=0, wrapped_note=0, scanned=0)
    told = [note.text[start:end] for note in notes(lists, rates=rates) for start, end in note.unsure]

    assert told
    assert set(told) == {"chest"}


def test_most_notes_name_people_and_some_do_not(lists: Gazetteers) -> None:
    with_people = sum(any(span.label in ("PATIENT", "DOCTOR") for span in note.spans) for note in notes(lists))

    assert 180 < with_people < 270


def test_a_seed_gives_the_same_notes(lists: Gazetteers) -> None:
    assert notes(lists, 40) == notes(lists, 40)
    assert notes(lists, 40) != notes(lists, 40, seed=2)


def test_training_and_check_share_no_given_name(lists: Gazetteers) -> None:
    learnt = PersonDrawer(lists, random.Random(1))
    held = PersonDrawer(None, random.Random(1), held_out=True)

    assert not any(is_held_out(learnt.any().given) for _ in range(500))
    for culture in CULTURES:
        for sex in "FM":
            assert is_held_out(held.of_culture(culture, sex).given)


def test_names_that_are_held_out_are_some_of_every_long_list() -> None:
    for key, names in listed_names().items():
        if len(names) >= 300:
            assert 0.08 < sum(map(is_held_out, names)) / len(names) < 0.22, key


def test_every_frame_names_somebody() -> None:
    assert len(frames()) > 90
    assert all("{" in frame for frame in frames())


@pytest.mark.parametrize("columns", [20, 60, 100])
def test_wrapping_turns_blanks_into_line_ends_alone(columns: int) -> None:
    text = PROSE
    changed = wrapped(text, columns)

    assert len(changed) == len(text)
    assert {(old, new) for old, new in zip(text, changed, strict=True) if old != new} <= {(" ", "\n")}
    assert all(len(line) <= columns for line in changed.split("\n"))


def test_recasing_keeps_every_place() -> None:
    assert recased("Straße İz", str.upper) == "STRAßE İZ"


def test_lists_folder_is_named_when_it_lacks_a_file(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="first_names_us"):
        load_gazetteers(tmp_path)

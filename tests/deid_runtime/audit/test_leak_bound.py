"""Test the sample, what readers mark, and the bound; its coverage by a short simulation with the real code."""

import json
import random
from collections import Counter

import pytest

from deid_runtime.audit.blind_review import ReadNote, read_reviews
from deid_runtime.audit.leak_bound import bound_leaks, draws_needed, tell_beforehand, tell_bounds, upper_bound
from deid_runtime.audit.sample import OTHER_TYPES, draw_sample, read_sample, write_sample
from deid_runtime.errors import InputError, OutputError, SourceError
from deid_runtime.review.export import export_marks
from deid_runtime.review.project import ReviewProject
from deid_runtime.review.schema import Decision, Reviewable, create_project
from deid_runtime.spans import Note, Span

pytest.importorskip("scipy")


def release(patients: int = 60, *, kinds=("Letter", "Progress note"), sizes=(1, 2, 7)) -> list[Note]:
    return [
        Note(f"{kind}-{patient}-{number}", f"Ann Oyelaran, {30 + patient}", f"p{patient}", kind)
        for patient in range(patients)
        for kind in kinds
        for number in range(sizes[patient % len(sizes)])
    ]


NOTES = release()


def read_all(sample, marks=None):
    marks = marks or {}
    return {
        each: ReadNote(each, tuple(marks.get(each, ())), frozenset({"mk"}), frozenset({"mk"} if each in marks else ()))
        for each in sample.note_ids
    }


def test_the_bound_is_that_of_clopper_and_pearson():
    assert upper_bound(0, 300, 0.95) == pytest.approx(1 - 0.05 ** (1 / 300))
    assert upper_bound(1, 10, 0.95) == pytest.approx(0.3942, abs=1e-4)
    assert upper_bound(10, 10, 0.95) == 1.0
    assert draws_needed(0.01, 0.95) == 299
    assert upper_bound(0, 299, 0.95) <= 0.01 < upper_bound(0, 298, 0.95)


def test_the_same_seed_draws_the_same_sample_from_notes_in_any_order():
    shuffled = NOTES[:]
    random.Random(3).shuffle(shuffled)

    sample = draw_sample(NOTES, draws=40, notes_per_patient=2, seed=7)
    assert draw_sample(shuffled, draws=40, notes_per_patient=2, seed=7) == sample
    assert draw_sample(NOTES, draws=40, notes_per_patient=2, seed=8).draws != sample.draws


def test_draws_are_of_one_patient_and_type_and_in_proportion():
    sample = draw_sample([*NOTES, Note("rare", "x", "p1", "Telegram")], draws=41, notes_per_patient=3, seed=1)

    assert {each.name: each.draws for each in sample.strata} == {"Letter": 20, "Progress note": 20, OTHER_TYPES: 1}
    by_id = {note.id: note for note in NOTES}
    for draw in sample.draws:
        if draw.stratum != OTHER_TYPES:
            assert {by_id[each].type for each in draw.notes} == {draw.stratum}
            assert len({by_id[each].patient for each in draw.notes}) == 1
            assert len(set(draw.notes)) == len(draw.notes) <= 3
    assert sample.release_patients == 60


def test_every_note_has_the_same_chance():
    notes = release(6, kinds=("Letter",), sizes=(1, 9))

    drawn = Counter(
        each for seed in range(400) for draw in draw_sample(notes, draws=10, seed=seed).draws for each in draw.notes
    )
    assert len(drawn) == len(notes) == 30
    assert all(abs(count - 4_000 / 30) < 5 * (4_000 / 30) ** 0.5 for count in drawn.values())


def test_a_clean_sample_proves_what_was_said_beforehand():
    sample = draw_sample(NOTES, draws=59, seed=1)

    before = tell_beforehand(sample)
    assert "seed 1." in before[0]
    assert "with 95 % confidence at most 4.96 % of all notes hold a leak (19 notes)" in before[1]
    by_id = {note.id: note for note in NOTES}
    after = tell_bounds(bound_leaks(sample, by_id, read_all(sample)))
    assert "was marked in any of them" in after[0]
    assert "at most 4.96 % of the 400 notes of the release hold one (19 notes)" in after[1]


def test_bounds_by_group_and_type_and_by_draws():
    notes = {note.id: note for note in NOTES}
    sample = draw_sample(NOTES, draws=40, notes_per_patient=3, seed=2)
    draw = next(each for each in sample.draws if len(each.notes) == 3)
    name, *_, hospital = draw.notes
    marks = {name: [Span(0, 3, "DOCTOR")], hospital: [Span(0, 3, "HOSPITAL")]}

    found = bound_leaks(sample, notes, read_all(sample, marks))
    whole = {bound.group: bound for bound in found.bounds if not bound.stratum}
    times = sum(each.notes == draw.notes for each in sample.draws)
    assert whole["A"].leaks == 0
    assert whole["A"].upper == upper_bound(0, 40, 0.95)
    assert whole["C"].leaking_notes == 2
    assert whole["C"].leaks >= 2 / 3 * times
    others = [bound for bound in found.bounds if bound.stratum not in ("", draw.stratum)]
    assert all(bound.leaks == 0 for bound in others)


def test_an_age_over_89_is_of_group_a_and_others_of_group_c():
    notes = [Note("old", "seen at 93", "p", ""), Note("young", "seen at 47", "q", "")]
    by_id = {note.id: note for note in notes}

    for note_id, leaking in (("old", "ABC"), ("young", "C")):
        sample = draw_sample([by_id[note_id]], draws=1, seed=0)
        found = bound_leaks(sample, by_id, read_all(sample, {note_id: [Span(8, 10, "AGE")]}))
        assert "".join(each.group for each in found.bounds if not each.stratum and each.leaks) == leaking


def test_what_was_not_read_counts_as_a_leak_of_every_group():
    notes = {note.id: note for note in NOTES}
    sample = draw_sample(NOTES, draws=40, seed=2)
    read = read_all(sample)
    read[sample.note_ids[0]] = ReadNote(sample.note_ids[0])

    found = bound_leaks(sample, notes, read)
    assert (found.unread, found.marked) == (1, 0)
    assert all(bound.leaks >= 1 for bound in found.bounds if not bound.stratum)
    assert any("1 notes were not read whole" in line for line in tell_bounds(found))


def test_a_sample_comes_back_from_its_folder_and_only_the_owner_may_open_it(tmp_path):
    sample = draw_sample(NOTES, draws=20, seed=4)

    write_sample(tmp_path / "sample", sample, NOTES)
    assert (tmp_path / "sample").stat().st_mode & 0o077 == 0
    again, notes = read_sample(tmp_path / "sample")
    assert again == sample
    assert [notes[each].text for each in sample.note_ids] == [
        next(note.text for note in NOTES if note.id == each) for each in sample.note_ids
    ]
    with pytest.raises(OutputError, match="new folder"):
        write_sample(tmp_path / "sample", sample, NOTES)
    (tmp_path / "sample" / "notes.jsonl").write_text('{"id": "n", "text": "x"}\n')
    with pytest.raises(SourceError, match="does not match"):
        read_sample(tmp_path / "sample")
    (tmp_path / "sample" / "sample.json").write_text("[]")
    with pytest.raises(SourceError, match="not the design of a sample"):
        read_sample(tmp_path / "sample")


ROW = {"id": "n", "patient": "p", "reviewer": "mk", "mode": "blind", "read_whole": True, "marks": []}
SAMPLED = {"n": Note("n", "Ann Oyelaran", "p", "")}


def test_marks_of_two_readers_are_united(tmp_path):
    path = tmp_path / "review.jsonl"
    mark = {"start": 4, "end": 12, "label": "DOCTOR"}
    path.write_text("".join(json.dumps(row) + "\n" for row in (ROW, {**ROW, "reviewer": "al", "marks": [mark]})))

    read = read_reviews([path], SAMPLED)["n"]
    assert read == ReadNote("n", (Span(4, 12, "DOCTOR"),), frozenset({"mk", "al"}), frozenset({"al"}))
    found = bound_leaks(draw_sample(list(SAMPLED.values()), draws=1, seed=0), SAMPLED, {"n": read})
    assert (found.by_two, found.leaking_by_two, found.agreed) == (1, 1, 0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"mode": "correct"}, "not reviewed in blind mode"),
        ({"text": "Ann"}, "unknown fields"),
        ({"id": "x"}, "not in the sample"),
        ({"patient": "q"}, "different patient"),
        ({"type": "Letter"}, "different patient or type"),
        ({"reviewer": ""}, "expected 'reviewer'"),
        ({"read_whole": "yes"}, "'read_whole', true or false"),
        ({"marks": None}, "no list 'spans'"),
        ({"marks": [{"start": 4, "end": 13, "label": "DOCTOR"}]}, "ends after a text of 12"),
        ({"marks": [{"start": 4, "end": 12, "label": "NAME"}]}, "unknown label"),
    ],
)
def test_other_lines_are_refused(tmp_path, change, told):
    path = tmp_path / "review.jsonl"
    path.write_text(json.dumps({**ROW, **change}) + "\n")

    with pytest.raises((SourceError, InputError), match=told) as error:
        read_reviews([path], SAMPLED)
    assert "Oyelaran" not in str(error.value)


def test_one_reader_has_a_note_once(tmp_path):
    path = tmp_path / "review.jsonl"
    path.write_text((json.dumps(ROW) + "\n") * 2)

    with pytest.raises(SourceError, match="occurs twice for one reviewer"):
        read_reviews([path], SAMPLED)


@pytest.mark.parametrize("notes_per_patient", [1, 4])
def test_the_bound_covers_where_all_notes_of_a_patient_leak_together(notes_per_patient):
    rng = random.Random(5)
    notes = release(40, kinds=("Letter",))
    leaking = {f"p{patient}" for patient in rng.sample(range(40), 6)}
    by_id = {note.id: note for note in notes}
    true_share = sum(note.patient in leaking for note in notes) / len(notes)

    covered = 0
    for seed in range(300):
        sample = draw_sample(notes, draws=30, notes_per_patient=notes_per_patient, seed=seed)
        marks = {each: [Span(0, 3, "DOCTOR")] for each in sample.note_ids if by_id[each].patient in leaking}
        found = bound_leaks(sample, by_id, read_all(sample, marks))
        covered += next(each for each in found.bounds if each.group == "C" and not each.stratum).upper >= true_share
    assert covered / 300 >= 0.95 - 3 * (0.95 * 0.05 / 300) ** 0.5


def test_what_the_review_page_writes_is_what_the_bound_reads(tmp_path):
    sample = draw_sample(NOTES, draws=10, seed=4)
    write_sample(tmp_path / "sample", sample, NOTES)
    _, notes = read_sample(tmp_path / "sample")
    path = tmp_path / "blind.review"
    create_project(path, [Reviewable(note, released=note.text) for note in notes.values()], mode="blind")
    with ReviewProject(path) as project:
        first = project.note(1).note.id
        for number in range(1, len(notes) + 1):
            spans = (Span(4, 12, "DOCTOR"),) if number == 1 else ()
            project.save(number, "mk", Decision(spans, True, 0))
        export_marks(project, tmp_path / "review.jsonl")

    read = read_reviews([tmp_path / "review.jsonl"], notes)
    assert {each for each, what in read.items() if what.marks} == {first}
    assert all(what.read_by == {"mk"} for what in read.values())

from pathlib import Path

import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.errors import SourceError
from deid_runtime.resynthesis.notes import Resynthesis, replace_spans, resynthesize
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.name_pools import names
from tests.deid_runtime.resynthesis.notes import gold, write_notes

KEY = b"k" * 32


def values(note: AnnotatedNote) -> list[tuple[str, str]]:
    return [(span.label, note.text[span.start : span.end]) for span in note.spans]


def between(note: AnnotatedNote) -> list[str]:
    borders = [0, *(at for span in note.spans for at in (span.start, span.end)), len(note.text)]
    return [note.text[start:end] for start, end in zip(borders[::2], borders[1::2], strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_notes(tmp_path_factory.mktemp("corpus") / "notes")


@pytest.fixture(scope="module")
def made(folder: Path) -> Resynthesis:
    return resynthesize(read_annotated([folder]), read_records([folder]), Surrogates(KEY))


def test_every_value_is_another_and_all_between_is_the_same(folder: Path, made: Resynthesis) -> None:
    for old, new in zip(read_annotated([folder]), made.notes, strict=True):
        assert between(old) == between(new)
        assert [label for label, _ in values(old)] == [label for label, _ in values(new)]
        assert all(a != b for (label, a), (_, b) in zip(values(old), values(new), strict=True) if label != "AGE")


def test_nothing_of_the_originals_is_left(made: Resynthesis) -> None:
    assert made.checks.is_clean
    assert made.violations == []
    text = " ".join(note.text for note in made.notes)
    assert not any(name in text for name in ("Halvorsen", "Quist", "Okafor", "Elm St", "89801", "48213377"))
    assert made.checks.ordinary_outside == 1  # the rice, equal to the name of Mr. Rice


def test_notes_and_record_of_a_patient_agree(made: Resynthesis) -> None:
    first, second, _ = made.notes
    assert first.patient == second.patient
    record = made.records[first.patient].fields
    of_first = dict(values(first))

    assert values(second)[0] == ("PATIENT", record["family"])
    assert of_first["PATIENT"] == f"{record['given']} {record['family']}"
    assert of_first["MEDICALRECORD"] == record["mrn"]
    assert (of_first["CITY"], of_first["ZIP"]) == (record["city"], record["zip"])
    assert record["sex"] == "F"
    assert record["dob"] != "1950-03-02"


def test_ids_are_pseudonyms_unless_they_are_kept(folder: Path, made: Resynthesis) -> None:
    notes, records = read_annotated([folder]), read_records([folder])
    kept = resynthesize(notes, records, Surrogates(KEY), keep_ids=True)

    assert (
        [note.id for note in kept.notes] == ["P1-1", "P1-2", "P2-1"] == [made.sources[note.id] for note in made.notes]
    )
    assert set(kept.records) == {"P1", "P2"}
    assert not {"P1", "P1-1"} & {*made.records, *(note.id for note in made.notes)}


def test_the_same_key_gives_the_same_corpus(folder: Path, made: Resynthesis) -> None:
    notes, records = read_annotated([folder]), read_records([folder])

    assert resynthesize(notes, records, Surrogates(KEY)).notes == made.notes
    assert resynthesize(notes, records, Surrogates(b"l" * 32)).notes != made.notes


def test_a_family_name_of_one_patient_is_no_surrogate_of_another() -> None:
    # All names of one small culture are originals: every surrogate for one of them is the original of another.
    smallest = min((pool for (_, sex), pool in names().pools.items() if not sex), key=len)
    families = [name for name in smallest if normal_form(name) not in names().given]
    assert len(families) > 5
    notes = [
        note
        for number, family in enumerate(families)
        for note in gold(
            f"p{number}", **{f"n{number}": f"<PATIENT>{family}</PATIENT>, <HOSPITAL>{family} Clinic</HOSPITAL>"}
        )
    ]

    made = resynthesize(notes, {}, Surrogates(KEY))

    assert made.violations == []
    taken = {normal_form(family) for family in families}
    assert not taken & {normal_form(value) for note in made.notes for _, value in values(note)}


def test_a_value_has_one_surrogate_in_all_notes_of_a_patient() -> None:
    texts = {
        f"n{number}": f"<PATIENT>Alma Lindholm</PATIENT> at <HOSPITAL>{other} Ridge Clinic</HOSPITAL>"
        for number, other in enumerate(["Quist", "Voss", "Okafor", "Halvorsen"])
    }
    made = resynthesize(gold("p", **texts), {}, Surrogates(KEY))

    assert len({values(note)[0] for note in made.notes}) == 1
    assert (made.checks.repeated, made.checks.consistent) == (1, 1)


def test_initials_follow_a_name_that_stands_in_another_note() -> None:
    made = resynthesize(
        gold("p", n1="seen, <DOCTOR>HVO</DOCTOR>", n2="Dr. <DOCTOR>Henrike Viola Okafor</DOCTOR>"), {}, Surrogates(KEY)
    )

    [(_, initials)], [(_, name)] = (values(note) for note in made.notes)
    assert initials == "".join(word[0] for word in name.split())


def test_what_nobody_marked_is_a_violation_at_its_place() -> None:
    notes = gold("p", n1="<PATIENT>Alma Halvorsen</PATIENT>", n2="Mrs. Halvorsen called.")

    made = resynthesize(notes, {}, Surrogates(KEY), keep_ids=True)

    [violation] = made.violations
    assert (violation.note, violation.start, violation.end, violation.kind) == ("n2", 5, 14, "family name")
    assert not made.checks.is_clean


def test_an_id_that_comes_twice_is_named() -> None:
    with pytest.raises(SourceError, match="note id n1 occurs twice"):
        resynthesize([*gold(n1="a"), *gold(n1="b")], {}, Surrogates(KEY))


def test_spans_that_are_not_replaced_stay_and_move() -> None:
    [note] = gold(n1="<PATIENT>Alma Halvorsen</PATIENT> and <DOCTOR>Quist</DOCTOR>")

    made = replace_spans(note, note.spans[:1], Surrogates(KEY), None, ())

    assert values(made)[1] == ("DOCTOR", "Quist")
    assert values(made)[0] != values(note)[0]

from dataclasses import replace

import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.evaluation.agreement import agreement, strength
from deid_runtime.spans import Span

TEXT = "a b c d e f g h i j"


def note(*spans: Span, note_id: str = "n", text: str = TEXT) -> AnnotatedNote:
    return AnnotatedNote(note_id, "", "", text, spans)


def test_kappa_is_that_of_the_textbook():
    # Ten words: both mark 2, the first alone 1, the second alone 1, nobody 6. Agreement .8, by chance .3*.3 + .7*.7.
    first = note(Span(0, 1, "CITY"), Span(2, 3, "CITY"), Span(4, 5, "CITY"))
    second = note(Span(0, 1, "CITY"), Span(2, 3, "CITY"), Span(6, 7, "CITY"))

    found = agreement([first], [second])
    assert found.identifier.kappa == pytest.approx((0.8 - 0.58) / (1 - 0.58))
    assert (found.identifier.both, found.identifier.first_only, found.identifier.second_only) == (2, 1, 1)
    assert found.labels.keys() == {"CITY"}
    assert found.span_f1 == pytest.approx(4 / 6)


def test_another_label_disagrees_on_the_label_alone():
    found = agreement([note(Span(0, 1, "CITY"))], [note(Span(0, 1, "STATE"))])

    assert found.identifier.kappa == 1.0
    assert found.label.kappa < 1.0
    assert found.label.both == 1
    assert found.labels["CITY"].kappa == 0.0


def test_nothing_marked_has_no_kappa():
    found = agreement([note()], [note()])

    assert found.identifier.kappa is None
    assert strength(found.identifier.kappa) == "not defined"
    assert found.span_f1 is None


def test_notes_of_one_side_are_counted_and_other_texts_refused():
    found = agreement([note(), note(note_id="x")], [note(), note(note_id="y"), note(note_id="z")])

    assert (found.notes, found.first_alone, found.second_alone) == (1, 1, 2)
    with pytest.raises(InputError, match="texts of 1 notes differ") as error:
        agreement([note()], [replace(note(), text="Ilse")])
    assert "Ilse" not in str(error.value)
    with pytest.raises(InputError, match="no note has the same id"):
        agreement([note()], [note(note_id="y")])


@pytest.mark.parametrize(("kappa", "word"), [(0.9, "almost perfect"), (0.5, "moderate"), (-0.1, "none")])
def test_strengths(kappa, word):
    assert strength(kappa) == word

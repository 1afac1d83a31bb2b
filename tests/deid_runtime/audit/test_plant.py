import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.audit.plant import plant
from deid_runtime.errors import SourceError
from deid_runtime.surrogates import Surrogates
from tests.deid_runtime.audit.notes import annotated

KEY = b"k" * 32


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_a_share_of_the_spans_is_left_and_all_others_are_replaced(share: float) -> None:
    notes = annotated()
    released = plant(notes, {}, Surrogates(KEY), share=share, seed=1)

    spans = sum(len(note.spans) for note in notes)
    leaks = sum(len(note.leaks) for note in released)
    assert share * spans <= leaks <= share * spans + 4
    assert sum(len(note.surrogates) for note in released) == spans - leaks
    for old, new in zip(notes, released, strict=True):
        originals = {old.text[span.start : span.end] for span in old.spans}
        assert {new.text[span.start : span.end] for span in new.leaks} <= originals
        kept = {(s.label, new.text[s.start : s.end]) for s in new.surrogates if s.label not in ("AGE", "DATE")}
        assert not {value for _, value in kept} & originals


def test_whole_values_of_a_patient_are_left() -> None:
    texts = [f"{'x' * number} Alma Orr, Alma Orr" for number in range(3)]
    notes = []
    for number, text in enumerate(texts):
        first, second = text.index("Alma"), text.rindex("Alma")
        [template] = annotated(1)
        span = next(span for span in template.spans if span.label == "PATIENT")
        spans = tuple(type(span)(start, start + 8, "PATIENT") for start in (first, second))
        notes.append(AnnotatedNote(f"n{number}", "p", "", text, spans))

    released = plant(notes, {}, Surrogates(KEY), share=0.1, seed=1)

    assert [len(note.leaks) for note in released] == [2, 2, 2]
    assert {number for note in released for number in note.leak_values} == {0}


def test_the_seed_decides_what_is_left() -> None:
    def places(seed: int) -> list[tuple[int, ...]]:
        released = plant(annotated(), {}, Surrogates(KEY), share=0.05, seed=seed)
        return [tuple(span.start for span in note.leaks) for note in released]

    assert places(1) == places(1) != places(2)


def test_notes_without_spans_have_nothing_to_leave() -> None:
    with pytest.raises(SourceError, match="nothing to withhold"):
        plant([AnnotatedNote("n", "", "", "text", ())], {}, Surrogates(KEY), share=0.05, seed=1)


def test_no_repr_shows_text() -> None:
    [note] = plant(annotated(1), {}, Surrogates(KEY), share=0.2, seed=1)

    assert "Patient" in note.text
    assert "Patient" not in repr(note)

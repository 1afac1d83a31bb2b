"""Properties of all figures: perfect answers score 1, swapping sides swaps measures, order changes nothing."""

from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.evaluation.agreement import agreement
from deid_runtime.evaluation.characters import count_characters
from deid_runtime.evaluation.full_report import full_report
from deid_runtime.evaluation.tokens import token_binary
from tests.strategies import texts_with_spans

few = settings(max_examples=25)


def report_of(notes, found):
    return full_report(notes, found, bootstrap_resamples=2)


@st.composite
def annotated(draw: st.DrawFn) -> tuple[list[AnnotatedNote], dict[str, list]]:
    """Draw notes with gold spans, and found spans for each."""
    notes, found = [], {}
    for number in range(draw(st.integers(1, 4))):
        text, gold = draw(texts_with_spans())
        others = draw(st.lists(st.sampled_from(gold), max_size=5)) if gold else []
        found[f"n{number}"] = sorted(others)
        patient, kind = draw(st.sampled_from(["", "p1", "p2"])), draw(st.sampled_from(["", "Letter"]))
        notes.append(AnnotatedNote(f"n{number}", patient, kind, text, tuple(sorted(gold))))
    return notes, found


@few
@given(annotated())
def test_perfect_answers_score_one(drawn):
    notes, _ = drawn
    report = report_of(notes, {note.id: list(note.spans) for note in notes})

    for group in report.scores.groups.values():
        assert group.tokens.recall in (1.0, None)
        assert group.tokens.precision in (1.0, None)
    assert report.outcome.clean_notes == report.outcome.notes
    assert report.outcome.wrong_words == 0
    assert report.scores.characters.found_share in (1.0, None)
    assert report.scores.characters.redacted == 0
    assert all(score.micro.f1 in (1.0, None) for score in report.scores.entities.values())
    assert agreement(notes, notes, resamples=2).identifier.kappa in (1.0, None)


@few
@given(annotated())
def test_swapping_gold_and_found_swaps_recall_and_precision(drawn):
    notes, found = drawn
    swapped = [AnnotatedNote(each.id, each.patient, each.type, each.text, tuple(found[each.id])) for each in notes]
    gold_as_found = {note.id: list(note.spans) for note in notes}

    one, other = token_binary(notes, found)["C"], token_binary(swapped, gold_as_found)["C"]
    assert (one.recall, one.precision) == (other.precision, other.recall)
    first, second = report_of(notes, found).scores, report_of(swapped, gold_as_found).scores
    for name, score in first.entities.items():
        assert (score.micro.recall, score.micro.precision) == (
            second.entities[name].micro.precision,
            second.entities[name].micro.recall,
        )


@few
@given(annotated(), st.randoms())
def test_the_order_of_notes_changes_nothing(drawn, rng):
    notes, found = drawn
    shuffled = notes[:]
    rng.shuffle(shuffled)

    one, other = report_of(notes, found).to_json(), report_of(shuffled, found).to_json()
    assert sorted(map(str, one.pop("notes"))) == sorted(map(str, other.pop("notes")))
    assert one == other


@few
@given(annotated())
def test_characters_without_young_ages_are_a_part_of_all(drawn):
    notes, found = drawn
    whole, older = count_characters(notes, found), count_characters(notes, found, ages_under_90=False)

    assert older.identifying <= whole.identifying
    assert older.found <= whole.found
    assert (older.other, older.redacted) == (whole.other, whole.redacted)

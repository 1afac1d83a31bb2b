"""Test the ranking of notes for annotation."""

import numpy as np
import pytest

from deid_export.adapt.ensemble import Seen
from deid_export.adapt.selection import Scored, is_in_share, score_notes, select, signature
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.spans import Note
from tests.export.letters import Letters, letter_ensemble

CALM = "the patient slept well and went home today"


def score(text: str, letters: Letters, threshold: float = 0.5) -> Scored:
    with letter_ensemble(letters, threshold=threshold) as ensemble:
        [found] = score_notes(ensemble, [Note("n1", text)])
    assert isinstance(found, Scored)
    return found


def test_a_note_that_all_agree_on_has_no_score() -> None:
    found = score(f"quorl said {CALM}", {"name@v0": {"q": 0.999}, "name@v1": {"q": 0.999}})

    assert found.words == 10
    assert found.score == pytest.approx(0, abs=0.05)


def test_versions_disagree_where_one_finds_and_one_does_not() -> None:
    found = score(f"quorl said {CALM}", {"name@v0": {"q": 0.95}, "name@v1": {"q": 0.05}})
    both = score(f"quorl said {CALM}", {"name@v0": {"q": 0.99}, "name@v1": {"q": 0.7}})

    assert found.versions == pytest.approx(0.9, abs=1e-3), "one word in a short note, taken for 100 words"
    assert both.versions == 0


def test_rules_disagree_with_heads_in_both_directions() -> None:
    date = "seen on 3/14/2019 by us"
    everywhere = {"identifier@v0": {"3": 0.999, "/": 0.999, "1": 0.999, "2": 0.999}}

    assert score(date, {}).rules == 5, "the rules find five words that no head does"
    assert score(date, everywhere).rules == 0
    assert score(f"quorl {CALM}", {"identifier@v0": {"q": 0.999}}).rules == 1, "rules are to find identifiers"
    assert score(f"quorl {CALM}", {"name@v0": {"q": 0.999}}).rules == 0, "names are for heads"


def test_the_closest_vote_is_the_most_uncertain() -> None:
    at, near, far = (score(f"quorl {CALM}", {"name@v0": {"q": value}}).uncertainty for value in (0.5, 0.7, 0.99))

    assert at == pytest.approx(1, abs=1e-3)
    assert at > near > far == 0
    low = score(f"quorl {CALM}", {"name@v0": {"q": 0.1}}, threshold=0.1)
    assert low.uncertainty > 0.99, "what is close is told from the threshold, not from one half"


def test_a_sure_head_makes_up_for_an_unsure_one() -> None:
    found = score(f"quorl {CALM}", {"name@v0": {"q": 0.5}, "location@v0": {"q": 0.999}})

    assert found.uncertainty == 0


def test_long_notes_are_not_better_for_being_long() -> None:
    once = " ".join([CALM] * 12) + " quorl"
    letters = {"name@v0": {"q": 0.95}, "name@v1": {"q": 0.05}}

    assert score(" ".join([once] * 3), letters).versions == pytest.approx(score(once, letters).versions, rel=0.05)


def test_a_note_without_words_has_no_score() -> None:
    assert score("", {}).score == 0
    assert score("\n \n", {}).words == 0


def test_words_of_a_note_that_is_read_through_stand_at_its_own_offsets() -> None:
    text = f"seen&nbsp;by quorl, {CALM}"
    with letter_ensemble({"name@v0": {"q": 0.999}}) as ensemble:
        [seen] = ensemble.run([Note("n1", text)])

    assert isinstance(seen, Seen)
    words = [text[start:end] for start, end in seen.words.offsets]
    assert words[words.index("by") :][:2] == ["by", "quorl"]
    assert seen.words.scores["name"][words.index("quorl")] > 0.9


def test_a_bad_note_costs_only_itself() -> None:
    with letter_ensemble({}) as ensemble:
        bad, good = score_notes(ensemble, [Note("bad", "a\0b"), Note("good", CALM)])

    assert isinstance(bad, Quarantined)
    assert isinstance(good, Scored)


def scored(note_id: str, value: float, text: str) -> Scored:
    return Scored(note_id, 10, value, 0.0, 0.0, signature(text))


LONG = "patient was admitted on 3/14/2019 with fever and cough and was treated with rest and fluids at home by family"


def test_the_best_come_first_and_copies_are_passed_over() -> None:
    other = "a letter to the school about sports in spring term and how the knee has mended since the fall in winter"
    notes = [
        scored("b", 5.0, LONG),
        scored("a", 3.0, other),
        scored("copy", 4.0, LONG.replace("3/14/2019", "7/28/2041").upper()),
        scored("c", 3.0, "nothing alike"),
    ]

    found = select(notes, 2)

    assert [(entry.note.id, entry.near_duplicates) for entry in found] == [("b", 1), ("a", 0)]
    assert [entry.note.id for entry in select(notes, 9, 1.0)] == ["b", "copy", "a", "c"]
    assert select([], 3) == []
    assert select(reversed(notes), 2) == found


def test_the_estimate_is_near_the_true_overlap() -> None:
    words = [f"w{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(400)]
    one, other = signature(" ".join(words[:300])), signature(" ".join(words[100:]))

    assert (one == other).mean() == pytest.approx(196 / 396, abs=0.12)
    assert signature("").shape == (128,)
    assert one.dtype == np.uint32


def test_a_share_is_the_same_notes_every_time() -> None:
    ids = [f"n{number}" for number in range(2000)]
    tenth = {each for each in ids if is_in_share(each, 0.1)}

    assert len(tenth) == pytest.approx(200, abs=50)
    assert tenth < {each for each in ids if is_in_share(each, 0.2)}
    assert all(is_in_share(each, 1.0) for each in ids)

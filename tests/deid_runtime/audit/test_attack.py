import numpy as np
import pytest

pytest.importorskip("pycrfsuite", reason="the attack trains a CRF")

from deid_runtime.audit.attack import AttackSettings, Guesses, attack, candidates
from deid_runtime.audit.plant import Released, plant
from deid_runtime.audit.score import score
from deid_runtime.errors import SourceError
from deid_runtime.evaluation.tokens import token_offsets
from deid_runtime.surrogates import Surrogates
from tests.deid_runtime.audit.notes import annotated

RELEASED = plant(annotated(40), {}, Surrogates(b"k" * 32), share=0.1, seed=2)
SETTINGS = AttackSettings(iterations=30)


@pytest.fixture(scope="module")
def insider() -> list[Guesses]:
    return attack(RELEASED, SETTINGS)


def test_the_insider_finds_most_leaks_where_the_context_tells_and_chance_few(insider: list[Guesses]) -> None:
    made = score(RELEASED, insider)

    assert made.found is not None
    assert made.found > 0.6
    assert made.chance.leaks_found < made.leaks_found / 3
    assert made.lift is not None
    assert made.lift > 3


def test_the_insider_never_guesses_surrogates_and_the_parrot_nothing_else(insider: list[Guesses]) -> None:
    parrot = attack(RELEASED, AttackSettings(attacker="parrot", iterations=5))

    for note, one, other in zip(RELEASED, insider, parrot, strict=True):
        offsets = token_offsets(note.text)
        marked = [any(s.start < end and start < s.end for s in note.surrogates) for start, end in offsets.tolist()]
        assert not (one.guessed & np.array(marked)).any()
        assert not (other.guessed & ~np.array(marked) & (other.leak < 0)).any()
        assert (one.may_be == ~np.array(marked)).all()


def test_notes_of_a_patient_are_never_learnt_from_when_attacked(monkeypatch: pytest.MonkeyPatch) -> None:
    import deid_runtime.audit.attack as module

    learnt: list[set[str]] = []
    train = module.train
    patient_of = {note.text: note.patient for note in RELEASED}

    def watched(notes, settings, out):  # type: ignore[no-untyped-def]
        learnt.append({patient_of[text] for text, _ in notes})
        return train(notes, settings, out)

    monkeypatch.setattr(module, "train", watched)
    attack(RELEASED, AttackSettings(folds=3, iterations=1))

    everybody = {note.patient for note in RELEASED}
    held_out = [everybody - each for each in learnt]
    assert set.union(*held_out) == everybody
    assert sum(map(len, held_out)) == len(everybody)


def test_the_same_seed_makes_the_same_guesses(insider: list[Guesses]) -> None:
    again = attack(RELEASED, SETTINGS)

    assert all((a.guessed == b.guessed).all() for a, b in zip(insider, again, strict=True))


def test_neighbouring_guesses_are_one_candidate_within_a_line() -> None:
    note = Released("n", "", "Alma Orr, 44\nDr. Quist saw her", ())
    guessed = np.array([True, True, True, True, True, False, True])
    made = Guesses(guessed, guessed, guessed, np.full(7, -1))

    assert [note.text[start:end] for start, end in candidates(note, made)] == ["Alma Orr, 44", "Dr. Quist", "her"]


def test_what_cannot_be_attacked_is_said() -> None:
    with pytest.raises(SourceError, match="1 patients for 2 folds"):
        attack(RELEASED[:1], AttackSettings())
    bare = [Released(str(number), "", "text", ()) for number in range(4)]
    with pytest.raises(SourceError, match="no surrogate to learn from"):
        attack(bare, AttackSettings())

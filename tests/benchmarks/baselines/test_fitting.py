"""Test the training loop of the neural baselines on a model of one weight."""

from collections.abc import Iterator, Sequence

import pytest

pytest.importorskip("torch", reason="the neural baselines need torch")

import torch
from torch import Tensor, nn

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import SourceError
from deid_runtime.spans import Span
from tests.benchmarks.baselines.notes import gold_notes
from tests.benchmarks.scripts import load_script

fitting = load_script("baselines/fitting")


def test_the_split_is_by_patient_and_seed() -> None:
    notes = [AnnotatedNote(f"{note.id}-{copy}", note.patient, "", note.text, note.spans)
             for note in gold_notes(20) for copy in range(2)]  # fmt: skip
    learnt, held_out = fitting.split_patients(notes, share=0.1, seed=1)

    assert len(held_out) == 4
    assert not {note.patient for note in learnt} & {note.patient for note in held_out}
    assert fitting.split_patients(notes, share=0.1, seed=1) == (learnt, held_out)
    assert fitting.split_patients(notes, share=0.1, seed=2) != (learnt, held_out)


def test_notes_without_patient_stand_for_themselves() -> None:
    notes = [AnnotatedNote(note.id, "", "", note.text, note.spans) for note in gold_notes(10)]

    assert [len(part) for part in fitting.split_patients(notes, share=0.1, seed=0)] == [9, 1]


def test_one_patient_is_too_few() -> None:
    with pytest.raises(SourceError, match="1 notes of 1 patients leave none"):
        fitting.split_patients(gold_notes(1), share=0.1, seed=0)


class OneWeight(nn.Module):
    """A model whose weight grows by the learning rate in every step of SGD."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def loss(self, scale: float) -> Tensor:
        return -scale * self.weight.sum()


def run(scores: Sequence[float], **settings: float) -> tuple[OneWeight, list[float], int]:
    """Fit with held-out notes whose recall in each pass is given; return model, F1 scores and passes begun."""
    model = OneWeight()
    [note] = gold_notes(1)
    begun = 0

    def batches(number: int) -> Iterator[tuple[float, int]]:
        nonlocal begun
        begun += 1
        for _ in range(4):
            yield 1.0, 10

    def detector(texts: Sequence[str]) -> list[list[Span]]:
        share = scores[min(begun, len(scores)) - 1]
        return [list(note.spans[: round(share * len(note.spans))])]

    history = fitting.fit(
        model,
        torch.optim.SGD(model.parameters(), lr=1.0),
        batches,
        model.loss,
        detector,
        [note],
        fitting.FitSettings(**{"tokens": 400, "learning_rate": 1.0, "patience": 3} | settings),  # type: ignore[arg-type]
    )
    return model, [passed.f1 for passed in history], begun


def test_the_best_pass_is_kept() -> None:
    model, scores, begun = run([0.4, 1.0, 0.4])

    assert begun == 5, "two passes until the best, three without a better one"
    assert max(scores) == scores[1]
    assert 4.0 < model.weight.item() < 8.0, "the weight after eight steps at a falling rate"


def test_the_budget_ends_in_the_middle_of_a_pass_and_that_counts() -> None:
    _, scores, begun = run([0.2, 0.4, 0.6, 0.8, 1.0], tokens=60)

    assert begun == 2
    assert len(scores) == 2


def test_minutes_end_it_too() -> None:
    _, scores, _ = run([0.4], minutes=1e-9)

    assert len(scores) == 1


def test_warm_up_begins_low() -> None:
    plain, _, _ = run([1.0], tokens=40)
    warmed, _, _ = run([1.0], tokens=40, warm_up=0.5)

    assert warmed.weight.item() < plain.weight.item()

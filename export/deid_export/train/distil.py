"""Distil a teacher: train the student towards the softened answers of a larger model on the same windows.

Hinton et al. 2015, *Distilling the knowledge in a neural network*. Low thresholds use the tail of a head's
distribution. Gold tags are all ones and zeros and say nothing about this tail. Early in training, the last hidden
states of the student are also pulled towards those of the teacher, if they have the same width (Jiao et al. 2020,
*TinyBERT*). This gives a target of hundreds of values for every token.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn

from deid_export.model.precision import autocast
from deid_export.model.tagger import BranchedTagger, load
from deid_export.train.batches import IGNORED, Batch
from deid_runtime.errors import InputError

#: Softens both distributions. Hinton et al. found 2.5 to 4 best for a student many times smaller; ours is about half
#: the size.
TEMPERATURE: Final = 2.0


class LastStates:
    """Keep the hidden states of the last layer of a joint model from its latest call."""

    def __init__(self, model: BranchedTagger) -> None:
        self.states: Tensor | None = None  # (rows, tokens, hidden); None for a model whose heads have separate layers
        if model.joint:
            layers = [*model.shared, *next(iter(model.branches.values())).get_submodule("layers").children()]
            layers[-1].register_forward_hook(self._keep)

    def _keep(self, _: nn.Module, __: object, output: tuple[Tensor, ...]) -> None:
        self.states = output[0]


class Teacher:
    """A trained model that answers the batches of the student; its weights are frozen."""

    def __init__(self, path: Path, student: BranchedTagger) -> None:
        """Load the model at ``path``. Raises InputError when it lacks one of the heads of ``student``."""
        self._model = load(path).eval().requires_grad_(False)
        missing = set(student.shape.heads) - set(self._model.shape.heads)
        if missing:
            raise InputError(
                f"{path} has no head {', '.join(sorted(missing))}; a teacher needs all heads of its student"
            )
        self._own, self._students = LastStates(self._model), LastStates(student)

    @torch.inference_mode()
    def __call__(self, batch: Batch) -> dict[str, Tensor]:
        """Return logits ``(rows, tokens, tags)`` by head."""
        with autocast():
            logits: dict[str, Tensor] = self._model(batch.input_ids, batch.token_type_ids, batch.attention_mask)
        return logits

    def loss(self, batch: Batch, logits: Mapping[str, Tensor], progress: float) -> Tensor:
        """Return the distance between the teacher and the student, which has just answered ``batch`` with ``logits``.

        ``progress``, 0 to 1, is the completed share of the training: the weight of the hidden states falls with it.
        """
        total = divergence(logits, self(batch), batch.targets)
        own, students = self._own.states, self._students.states
        if own is not None and students is not None and own.shape == students.shape:
            read = batch.attention_mask.bool()
            wanted = own[read].float()
            total = total + (1 - progress) * nn.functional.mse_loss(students[read].float(), wanted) / wanted.var()
        return total


def divergence(student: Mapping[str, Tensor], teacher: Mapping[str, Tensor], targets: Mapping[str, Tensor]) -> Tensor:
    """Return the Kullback-Leibler divergence of the softened answers, summed over heads, as a mean over scored tokens.

    It is multiplied by the square of :data:`TEMPERATURE`, which keeps its gradients as large as those of the gold tags.
    """
    total = torch.zeros(())
    for head, target in targets.items():
        scored = target != IGNORED
        ours = torch.log_softmax(student[head][scored].float() / TEMPERATURE, dim=-1)
        theirs = torch.log_softmax(teacher[head][scored].float() / TEMPERATURE, dim=-1)
        total = total + nn.functional.kl_div(ours, theirs, reduction="batchmean", log_target=True)
    return total * TEMPERATURE**2

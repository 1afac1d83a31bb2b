"""Shrink a trained model: fewer layers and narrower feed-forward parts; the result is then trained with a teacher.

Layers are dropped as by Sajjad et al. 2023 (*On the effect of dropping layers of pre-trained transformer models*), but
their choice is measured. Every choice is tried on a sample of notes; the one whose answers are nearest to those of the
whole model is kept. In a feed-forward part, the neurons that contribute most are kept: activation times norm of the
output weights. Sun et al. 2024 (*A simple and effective pruning approach for large language models*) weigh single
weights in this way.
"""

import random
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from deid_export.model import weight_files
from deid_export.model.tagger import BranchedTagger, Shape, empty, save, with_shared_layers, with_word_classes
from deid_export.train.batches import Batch, StreamSettings, collate, cut_windows, window_targets
from deid_export.train.distil import divergence
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError, ModelError
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import WordEncoder

_SAMPLE_WINDOWS: Final = 192
_ROWS: Final = 16
_SEED: Final = 17

State = dict[str, Tensor]


def shrink(
    trained: Path, notes: Sequence[AnnotatedNote], encoder: WordEncoder, out: Path, *, layers: int, feed_forward: int
) -> tuple[int, ...]:
    """Write the model at ``trained`` to ``out`` with ``layers`` layers of ``feed_forward`` inner neurons each.

    Returns the indices of the layers kept. ``notes`` are sampled for the measurement. Train the result before use,
    because it has lost much of what it had learnt. The model card states what a training of millions of tokens
    recovered and what not.

    Raises InputError when the model has fewer layers or neurons than asked for, or the notes are empty. Raises
    ModelError for a file that is not a joint BERT.
    """
    saved = with_word_classes(weight_files.read(trained))
    config = saved.get("config", {})
    if not saved.get("joint") or "intermediate_size" not in config:
        raise ModelError(
            f"{trained} is not a BERT whose heads share all layers; expected joint.pt from `deid-export train`"
        )
    had = int(config["num_hidden_layers"])
    if not (1 <= layers <= had and 1 <= feed_forward <= config["intermediate_size"]):
        raise InputError(
            f"{trained} has {had} layers of {config['intermediate_size']} inner neurons; give as many or fewer"
        )
    heads = tuple(saved["heads"])
    state = with_shared_layers(saved["state"], heads, saved["shared_layers"], had)
    batches = _sample(notes, encoder, heads)
    whole = _model(config, heads, state)
    wanted = [_answers(whole, batch) for batch in batches]
    narrow = _narrowed(state, _importance(whole, state, batches), feed_forward)
    config = {**config, "intermediate_size": feed_forward, "num_hidden_layers": layers}

    best = min(
        combinations(range(had), layers),
        key=lambda kept: _distance(_model(config, heads, _with_layers(narrow, kept)), batches, wanted),
    )
    save(_model(config, heads, _with_layers(narrow, best)), config, out)
    return best


def _sample(notes: Sequence[AnnotatedNote], encoder: WordEncoder, heads: Sequence[str]) -> list[Batch]:
    rng = random.Random(_SEED)
    rows = []
    for note in rng.sample(list(notes), min(len(notes), _SAMPLE_WINDOWS)):
        windows = list(cut_windows(note.text, split_sentences(note.text), encoder, StreamSettings()))
        if windows:
            window = rng.choice(windows)
            rows.append((window, window_targets(window, note.spans, heads)))
    if not rows:
        raise InputError("the notes have no text; give annotated notes for the measurement")
    rows.sort(key=lambda row: len(row[0].ids))
    return [
        collate(chunk, encoder, rng, 0.0, (len(chunk), len(chunk[-1][0].ids)))
        for chunk in (rows[first : first + _ROWS] for first in range(0, len(rows), _ROWS))
    ]


def _model(config: dict[str, Any], heads: tuple[str, ...], state: State) -> BranchedTagger:
    bert, distances = empty(config)
    model = BranchedTagger(bert, Shape(int(config["num_hidden_layers"]), heads), joint=True, distances=distances)
    model.load_state_dict(state)
    return model.eval()


@torch.inference_mode()
def _answers(model: BranchedTagger, batch: Batch) -> dict[str, Tensor]:
    logits: dict[str, Tensor] = model(batch.input_ids, batch.token_type_ids, batch.attention_mask)
    return logits


def _distance(model: BranchedTagger, batches: Sequence[Batch], wanted: Sequence[dict[str, Tensor]]) -> float:
    return sum(
        float(divergence(_answers(model, batch), answers, batch.targets))
        for batch, answers in zip(batches, wanted, strict=True)
    )


@torch.inference_mode()
def _importance(model: BranchedTagger, state: State, batches: Sequence[Batch]) -> list[Tensor]:
    """Return, by layer, how much each inner neuron contributes on ``batches``: float ``(neurons,)``."""
    importance = [torch.zeros(1) for _ in model.shared]
    read = torch.empty(0)

    def adding_to(layer: int) -> Callable[[nn.Module, object, Tensor], None]:
        norms = state[f"shared.{layer}.output.dense.weight"].norm(dim=0)

        def add(_: nn.Module, __: object, activations: Tensor) -> None:
            importance[layer] = importance[layer] + norms * activations.abs()[read].sum(0)

        return add

    hooks = [
        layer.get_submodule("intermediate").register_forward_hook(adding_to(i)) for i, layer in enumerate(model.shared)
    ]
    for batch in batches:
        read = batch.attention_mask.bool()
        _answers(model, batch)
    for hook in hooks:
        hook.remove()
    return importance


def _narrowed(state: State, importance: Sequence[Tensor], neurons: int) -> State:
    narrow = dict(state)
    for layer, values in enumerate(importance):
        kept = values.topk(neurons).indices.sort().values
        name = f"shared.{layer}"
        for part in ("weight", "bias"):
            narrow[f"{name}.intermediate.dense.{part}"] = state[f"{name}.intermediate.dense.{part}"][kept]
        narrow[f"{name}.output.dense.weight"] = state[f"{name}.output.dense.weight"][:, kept]
    return narrow


def _with_layers(state: State, kept: Sequence[int]) -> State:
    """Return the weights ``state`` with only the layers ``kept``, renumbered; all layers must be shared."""
    of_layers = {
        f"shared.{new}.{name.removeprefix(f'shared.{old}.')}": value
        for new, old in enumerate(kept)
        for name, value in state.items()
        if name.startswith(f"shared.{old}.")
    }
    return {name: value for name, value in state.items() if not name.startswith("shared.")} | of_layers

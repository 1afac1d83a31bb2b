"""Fine-tune in two phases: all entities jointly, then each head's own upper layers on frozen lower layers.

Both phases stream resampled windows, take AdamW steps (in bfloat16 where the CPU has it), and write checkpoints. The
same command continues from a checkpoint and gives the same result.
"""

import dataclasses
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm

from deid_export.data.gazetteers import Gazetteers
from deid_export.data.substitution.prose import Document
from deid_export.model.coded import code_pieces
from deid_export.model.mpnet import is_mpnet, load_mpnet
from deid_export.model.precision import MasterWeights
from deid_export.model.tagger import (
    BranchedTagger,
    Shape,
    config_to_save,
    empty,
    load_base,
    save,
    with_shared_layers,
    with_word_classes,
)
from deid_export.train.batches import IGNORED, Batch, StreamSettings, piece_counts, stream_batches
from deid_export.train.distil import Teacher
from deid_export.train.resuming import claim
from deid_export.train.scoring import precision_recall, score_words
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.labels import HEADS
from deid_runtime.text.windows import WordEncoder

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """Length and learning rates of the training. Token counts include padding."""

    base: str
    layers: int | None = None  # layers of the base to keep, from the lowest on; None: all
    coded_pieces: bool = False  # store the base's token embeddings as product codes, without training them
    joint_tokens: int = 11_000_000
    head_tokens: int = 2_500_000
    shared_layers: int = 5
    learning_rate: float = 3e-4
    head_learning_rate: float = 1.5e-4
    warm_up: float = 0.05  # share of the steps
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    dropout: float = 0.1  # of hidden states
    start: Path | None = None  # a trained model that gives the first weights of the joint phase
    teacher: Path | None = None  # a trained model whose answers weigh as much as the gold tags in the joint phase
    threads: int = 2
    checkpoint_every_s: float = 240.0
    seed: int = 17


@dataclass(frozen=True)
class Data:
    """The input of training: gold notes, clean sentences by source, lists, and dev notes to score."""

    notes: Sequence[AnnotatedNote]
    negatives: Sequence[Sequence[str]]
    lists: Gazetteers
    dev: Sequence[AnnotatedNote]
    focus: Sequence[AnnotatedNote] = ()  # excerpts to learn in every pass in addition to the notes; repeats count
    prose: Sequence[Document] = ()  # real prose in which to insert people


def train(data: Data, encoder: WordEncoder, settings: TrainSettings, stream: StreamSettings, out: Path) -> Path:
    """Train both phases and return the path of the trained model; a finished phase is not repeated.

    ``out`` receives ``settings.json``, ``joint.pt``, ``heads.pt``, a checkpoint of the current phase and ``log.jsonl``.
    Raises InputError when settings contradict each other, and when ``out`` has a training with other settings or data
    (:func:`deid_export.train.resuming.claim`).
    """
    torch.set_num_threads(settings.threads)
    if (settings.layers or settings.coded_pieces) and settings.start:
        raise InputError("--layers and --coded-pieces apply only when training starts from a base; omit them")
    out.mkdir(parents=True, exist_ok=True)
    claim(
        out,
        train=settings,
        stream=stream,
        notes=data.notes,
        focus=data.focus,
        clean_sentences=sum(map(len, data.negatives)),
        tokens={"joint.pt": "joint_tokens", "heads.pt": "head_tokens"},
    )
    torch.manual_seed(settings.seed)
    phases = (
        ("joint", settings.joint_tokens, settings.learning_rate),
        ("heads", settings.head_tokens, settings.head_learning_rate),
    )
    model, config = _begin(settings, data.notes, encoder)
    for number, (phase, tokens, rate) in enumerate(phases):
        path = out / f"{phase}.pt"
        if phase == "heads":
            model.branch_out()
            model.freeze_shared()
        if path.is_file():
            model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True)["state"])
            continue
        torch.manual_seed(settings.seed + number)  # a seed per phase, so that a resumed training gives the same result
        phase_stream = dataclasses.replace(stream, seed=stream.seed + 1000 * number)
        teacher = Teacher(settings.teacher, model) if settings.teacher is not None and phase == "joint" else None
        _run_phase(model, data, encoder, settings, phase_stream, phase, tokens, rate, out, teacher)
        save(model, config, path)
        (out / f"{phase}.checkpoint.pt").unlink(missing_ok=True)
    return path


def _begin(
    settings: TrainSettings, notes: Sequence[AnnotatedNote], encoder: WordEncoder
) -> tuple[BranchedTagger, Mapping[str, object]]:
    """Return the initial model of the joint phase, and the part of its configuration to save."""
    shape = Shape(settings.shared_layers, tuple(HEADS))
    if settings.start is not None:
        start = with_word_classes(torch.load(settings.start, map_location="cpu", weights_only=True))
        if not start["joint"]:
            raise InputError(f"{settings.start}: its heads have separate layers; start from a joint.pt")
        bert, distances = empty(start["config"], dropout=settings.dropout)
        model = BranchedTagger(bert, shape, joint=True, distances=distances)
        shared = settings.shared_layers
        model.load_state_dict(with_shared_layers(start["state"], start["heads"], start["shared_layers"], shared))
        return model, config_to_save(bert.config)
    distances = None
    if is_mpnet(settings.base):
        bert, distances = load_mpnet(settings.base, encoder.pieces(), layers=settings.layers, dropout=settings.dropout)
    else:
        bert = load_base(settings.base, layers=settings.layers, dropout=settings.dropout)
    if settings.coded_pieces:
        code_pieces(bert, piece_counts(notes, encoder))
    return BranchedTagger(bert, shape, joint=True, distances=distances), config_to_save(bert.config)


def tune_heads(
    model: BranchedTagger,
    data: Data,
    encoder: WordEncoder,
    settings: TrainSettings,
    stream: StreamSettings,
    phase: str,
    out: Path,
) -> Path:
    """Train the branches of ``model`` for ``settings.head_tokens`` tokens; the shared layers are frozen.

    Returns the path of the checkpoint. An interrupted call continues from it and gives the same weights. The caller
    removes it when the result is safe.
    """
    torch.manual_seed(settings.seed)
    torch.set_num_threads(settings.threads)
    model.freeze_shared()
    _run_phase(model, data, encoder, settings, stream, phase, settings.head_tokens, settings.head_learning_rate, out)
    return out / f"{phase}.checkpoint.pt"


def _run_phase(
    model: BranchedTagger,
    data: Data,
    encoder: WordEncoder,
    settings: TrainSettings,
    stream: StreamSettings,
    phase: str,
    tokens: int,
    rate: float,
    out: Path,
    teacher: Teacher | None = None,
) -> None:
    weights = MasterWeights(model, rate=rate, weight_decay=settings.weight_decay, clip_norm=settings.clip_norm)
    checkpoint = out / f"{phase}.checkpoint.pt"
    seen = step = 0
    if checkpoint.is_file():
        saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
        weights.load(saved["masters"], saved["optimizer"])
        torch.set_rng_state(saved["rng"])
        seen, step = saved["seen"], saved["step"]
        _log.info("%s: continuing after %d steps", phase, step)
    batches = stream_batches(
        data.notes, data.negatives, data.lists, encoder, model.shape.heads, stream, data.focus, data.prose
    )
    batches = islice(batches, step, None)
    loss_of = nn.CrossEntropyLoss(ignore_index=IGNORED)
    model.train()
    started = saved_at = time.monotonic()
    reported = seen
    with tqdm(total=tokens, initial=seen, unit="tok", unit_scale=True, desc=phase, mininterval=10) as bar:
        while seen < tokens:
            batch = next(batches)
            done = seen / tokens
            scale = min(done / settings.warm_up, 1.0, (1.0 - done) / (1.0 - settings.warm_up))
            loss = _backward(model, batch, loss_of, teacher, done)
            weights.step(rate * max(scale, 0.002))
            count = batch.input_ids.numel()
            seen += count
            step += 1
            bar.update(count)
            bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
            if seen - reported > tokens / 8 or seen >= tokens:
                reported = seen
                _report(model, data, encoder, stream, phase, seen, step, time.monotonic() - started, out)
            if time.monotonic() - saved_at > settings.checkpoint_every_s:
                saved_at = time.monotonic()
                _write_checkpoint(checkpoint, weights, seen, step)
    weights.release()


def _backward(
    model: BranchedTagger, batch: Batch, loss_of: nn.Module, teacher: Teacher | None, progress: float
) -> float:
    """Compute the loss of the batch, add its gradients to ``model``, and return the loss."""
    logits = model(batch.input_ids, batch.token_type_ids, batch.attention_mask)
    loss = sum(loss_of(logits[head].float().flatten(0, 1), target.flatten()) for head, target in batch.targets.items())
    assert isinstance(loss, torch.Tensor)
    if teacher is not None:
        loss = loss + teacher.loss(batch, logits, progress)
    loss.backward()  # type: ignore[no-untyped-call]
    return float(loss.detach())


def _report(
    model: BranchedTagger,
    data: Data,
    encoder: WordEncoder,
    stream: StreamSettings,
    phase: str,
    seen: int,
    step: int,
    seconds: float,
    out: Path,
) -> None:
    if not data.dev:
        return
    words = score_words(model, data.dev, encoder, stream=stream)
    row: dict[str, object] = {"phase": phase, "tokens": seen, "step": step, "seconds": round(seconds)}
    for head in model.shape.heads:
        row[head] = {str(t): [round(v, 4) for v in precision_recall(words, head, t)] for t in (0.5, 0.2, 0.05)}
    with (out / "log.jsonl").open("a") as log:
        log.write(json.dumps(row) + "\n")


def _write_checkpoint(path: Path, weights: MasterWeights, seen: int, step: int) -> None:
    temporary = path.with_suffix(".tmp")
    torch.save({**weights.state(), "rng": torch.get_rng_state(), "seen": seen, "step": step}, temporary)
    temporary.replace(path)

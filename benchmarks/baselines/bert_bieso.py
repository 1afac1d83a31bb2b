"""One BERT with one softmax over the BIESO tags of all labels, as in OpenDeID (Liu et al. 2023, JMIR 25:e48145).

Words are cut at changes of kind before word pieces are made (their cascading rule; here :mod:`deid_runtime.text.words`,
which our own models use as well), the first piece of a word is tagged, and the best sequence that the scheme allows is
taken.
The base, the windows and the word shapes are those of our own models, so that the two differ in the heads, the
training data and the decoding alone.
"""

import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

import torch
from crf_layer import constraints, viterbi
from fitting import FitSettings, fit, split_patients
from tag_schemes import allowed, tag_names
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from deid_export.data.fresh_values import Rates
from deid_export.data.gazetteers import Gazetteers, load_gazetteers
from deid_export.data.resample import Resampler
from deid_export.model.precision import autocast
from deid_export.model.tagger import CLASSIFIER_DROPOUT, load_base
from deid_export.train.batches import IGNORED, WIDTHS, Batch, collate
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.audit.word_tags import SentenceWords, spans_of_tags, tag_words
from deid_runtime.errors import ModelError
from deid_runtime.merging.fusion import fuse_spans
from deid_runtime.spans import Span
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, WordEncoder, make_windows

NAME: Final = "bert-bieso"
_MODEL: Final = "model.pt"
_TOKENIZER: Final = "tokenizer.json"
_HEAD: Final = "all"
_CONFIG: Final = (
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "hidden_act",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BertSettings:
    """How the BERT learns. ``tokens`` are word pieces, padding included, as in :mod:`deid_export.train.training`."""

    base: str
    tokens: int = 2_000_000
    minutes: float | None = None
    learning_rate: float = 3e-4  # of a base as small as the default; larger ones want 5e-5
    batch_tokens: int = 2048
    word_dropout: float = 0.0  # share of words whose pieces are hidden, shape kept
    resample_from: Path | None = None  # lists: learn fresh values in every pass, as our own models do
    patience: int = 4
    held_out: float = 0.1  # share of patients
    threads: int = 2
    seed: int = 17


class BertBieso(nn.Module):
    """A BERT encoder and one classifier."""

    def __init__(self, encoder: BertModel) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(CLASSIFIER_DROPOUT)
        self.classifier = nn.Linear(encoder.config.hidden_size, len(tag_names("BIESO")))

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return logits ``(rows, tokens, tags)``."""
        states = self.encoder(
            input_ids=input_ids, token_type_ids=token_type_ids, attention_mask=attention_mask
        ).last_hidden_state
        logits: Tensor = self.classifier(self.dropout(states))
        return logits

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean cross-entropy of a word."""
        with autocast():
            logits = self(batch.input_ids, batch.token_type_ids, batch.attention_mask)
        return nn.functional.cross_entropy(
            logits.float().flatten(0, 1), batch.targets[_HEAD].flatten(), ignore_index=IGNORED
        )


class BertDetector:
    """A :data:`~deid_runtime.spans.Detector` on whole notes; made by :func:`load`."""

    def __init__(self, model: BertBieso, encoder: WordEncoder, *, rows: int = 16) -> None:
        self._model = model
        self._encoder = encoder
        self._rows = rows
        self._names = tag_names("BIESO")
        self._weights = constraints(allowed("BIESO"))

    def __call__(self, texts: Sequence[str]) -> list[list[Span]]:
        """Return one row of sorted, disjoint spans per text."""
        found: list[list[Span]] = [[] for _ in texts]
        windows = [
            (number, window)
            for number, text in enumerate(texts)
            for window in make_windows(text, split_sentences(text), self._encoder)
        ]
        windows.sort(key=lambda pair: len(pair[1].ids))
        for first in range(0, len(windows), self._rows):
            chunk = windows[first : first + self._rows]
            for (number, window), tags in zip(chunk, self._tag([window for _, window in chunk]), strict=True):
                words = SentenceWords(window.starts, window.ends)
                found[number] += spans_of_tags(words, [self._names[tag] for tag in tags], NAME)
        # The windows of an over-long sentence overlap, and may disagree.
        return [fuse_spans(text, row) for text, row in zip(texts, found, strict=True)]

    @torch.inference_mode()
    def _tag(self, windows: Sequence[Window]) -> list[list[int]]:
        batch = _pad(windows, self._encoder)
        with autocast():
            logits = self._model(batch.input_ids, batch.token_type_ids, batch.attention_mask)
        words = max(len(window.positions) for window in windows)
        positions = torch.tensor([window.positions + [0] * (words - len(window.positions)) for window in windows])
        lengths = torch.tensor([len(window.positions) for window in windows])
        scores = logits.float().log_softmax(-1)
        scores = scores.gather(1, positions[:, :, None].expand(-1, -1, scores.shape[2]))
        return viterbi(scores, torch.arange(words) < lengths[:, None], *self._weights)


def train(notes: Sequence[AnnotatedNote], settings: BertSettings, out: Path) -> dict[str, object]:
    """Fine-tune on ``notes`` but a held-out share, write the model into ``out``, return figures of the training."""
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(settings.seed)
    torch.set_num_threads(settings.threads)
    tokenizer = Path(settings.base) / _TOKENIZER
    encoder = WordEncoder.from_file(tokenizer)
    model = BertBieso(load_base(settings.base, dropout=0.1))
    learnt, held_out = split_patients(notes, share=settings.held_out, seed=settings.seed)
    lists = load_gazetteers(settings.resample_from) if settings.resample_from is not None else None
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    plain = [weight for weight in model.parameters() if weight.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
        lr=settings.learning_rate,
        fused=True,
    )
    history = fit(
        model,
        optimizer,
        partial(_batches_of_pass, learnt, encoder, settings, lists),
        model.loss,
        BertDetector(model, encoder),
        held_out,
        FitSettings(
            tokens=settings.tokens,
            minutes=settings.minutes,
            learning_rate=settings.learning_rate,
            warm_up=0.05,
            clip_norm=1.0,
            patience=settings.patience,
        ),
    )
    config = {key: getattr(model.encoder.config, key) for key in _CONFIG}
    torch.save({"state": model.state_dict(), "config": config}, out / _MODEL)
    shutil.copyfile(tokenizer, out / _TOKENIZER)
    return {"held_out_notes": len(held_out), "passes": [asdict(passed) for passed in history]}


def load(folder: Path) -> BertDetector:
    """Load what :func:`train` wrote; tensors and plain values only, nothing is executed.

    Raises ModelError when a file is missing.
    """
    for name in (_MODEL, _TOKENIZER):
        if not (folder / name).is_file():
            raise ModelError(f"{folder / name} is missing; train the baseline again")
    saved = torch.load(folder / _MODEL, map_location="cpu", weights_only=True)
    config = BertConfig(**saved["config"], hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertBieso(BertModel(config, add_pooling_layer=False))
    model.load_state_dict(saved["state"])
    return BertDetector(model.eval(), WordEncoder.from_file(folder / _TOKENIZER))


def _batches_of_pass(
    notes: Sequence[AnnotatedNote], encoder: WordEncoder, settings: BertSettings, lists: Gazetteers | None, number: int
) -> Iterator[tuple[Batch, int]]:
    rng = random.Random(f"{settings.seed}-{number}")
    index = {tag: position for position, tag in enumerate(tag_names("BIESO"))}
    resampler = Resampler(lists, rng, Rates()) if lists is not None else None
    by_width: dict[int, list[tuple[Window, dict[str, list[int]]]]] = {}
    for note in notes:
        text, spans = resampler.note(note) if resampler is not None else (note.text, note.spans)
        for window in make_windows(text, split_sentences(text), encoder):
            tags = tag_words(SentenceWords(window.starts, window.ends), spans, "BIESO")
            width = next(width for width in WIDTHS if len(window.ids) <= width)
            by_width.setdefault(width, []).append((window, {_HEAD: [index[tag] for tag in tags]}))
    batches = []
    for width, rows in by_width.items():
        rng.shuffle(rows)
        count = max(1, settings.batch_tokens // width)
        batches += [(rows[first : first + count], (count, width)) for first in range(0, len(rows), count)]
    rng.shuffle(batches)
    for rows, shape in batches:
        yield collate(rows, encoder, rng, settings.word_dropout, shape), shape[0] * shape[1]


def _pad(windows: Sequence[Window], encoder: WordEncoder) -> Batch:
    rows = [(window, {_HEAD: [0] * len(window.positions)}) for window in windows]
    width = max(len(window.ids) for window in windows)
    return collate(rows, encoder, random.Random(0), 0.0, (len(rows), width))

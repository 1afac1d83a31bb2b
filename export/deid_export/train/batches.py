"""Stream endless, seeded training batches: resampled notes and clean text, cut into windows, padded by length."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from deid_export.data.contrasts import contrast_note
from deid_export.data.gazetteers import Gazetteers
from deid_export.data.negatives import negative_text
from deid_export.data.resample import Resampler
from deid_export.data.substitution.prose import Document
from deid_export.data.substitution.setting import PeopleSetter
from deid_export.model.tagger import tags_of
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.evaluation.layout import recased, wrapped
from deid_runtime.labels import HEAD_OF, HEADS
from deid_runtime.spans import Sentence, Span
from deid_runtime.text.reading.view import read_marked, read_view
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import WINDOW_TOKENS, Window, WordEncoder, make_windows
from deid_runtime.text.words import without_class

#: Batches have one of these widths, and a row count that depends on it. CPU kernels are rebuilt for every new shape,
#: which costs more than padding.
WIDTHS = (48, 64, 80, 96, 112, WINDOW_TOKENS)
IGNORED = -100  # target of tokens that are not the first of their word


@dataclass(frozen=True)
class Batch:
    """Padded rows: int64 tensors ``(rows, tokens)``; ``targets`` is by head, :data:`IGNORED` where not scored."""

    input_ids: Tensor
    token_type_ids: Tensor
    attention_mask: Tensor
    targets: dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """Settings of the batch stream; shares refer to one pass over the corpus."""

    seed: int = 17
    batch_tokens: int = 2048  # padding included
    negative_share: float = 0.24  # of windows: clean text
    contrast_share: float = 0.0  # of windows: lines with identifiers beside clinical facts of the same form
    prose_share: float = 0.0  # of windows: real prose with inserted people
    wrapped: float = 0.0  # of notes: line ends like those of a system that wraps at 60 to 120 columns
    names_recased: float = 0.0  # of notes: only their names in lower case or in capitals
    short_windows: float = 0.2  # of notes: cut into shorter windows than in serving, with less context
    word_dropout: float = 0.08  # of words: tokens replaced by [UNK], word shape kept
    resample: float = 1.0  # of notes, in each pass: with fresh values; the others unchanged
    class_dropout: float = 0.15  # of the distinct words of a window: shown as if they were in no list
    shapes: bool = True  # False: every word has token type 0, to measure the gain from word shapes
    lone_sentences: bool = False  # True: one window per sentence, to measure the gain from windows


def window_targets(window: Window, spans: Sequence[Span], heads: Sequence[str]) -> dict[str, list[int]]:
    """Return, by head, the tag index of each word of ``window``; ``spans`` are sorted, disjoint, in note offsets."""
    index = {head: {tag: i for i, tag in enumerate(tags_of(head))} for head in heads}
    tags = {head: [0] * len(window.starts) for head in heads}
    at = 0
    for word, (start, end) in enumerate(zip(window.starts, window.ends, strict=True)):
        while at and spans[at - 1].end > start:
            at -= 1  # windows of one long sentence overlap
        while at < len(spans) and spans[at].end <= start:
            at += 1
        if at == len(spans) or spans[at].start >= end:
            continue
        span = spans[at]
        head = HEAD_OF[span.label]
        if head in index:
            begins = start <= span.start or word == 0 or window.ends[word - 1] <= span.start
            tags[head][word] = index[head][f"{'B' if begins else 'I'}-{span.label}"]
    return tags


def cut_windows(
    text: str,
    sentences: Sequence[Sentence],
    encoder: WordEncoder,
    settings: StreamSettings,
    *,
    window_tokens: int = WINDOW_TOKENS,
    end_at_blank_lines: bool = False,
) -> Iterator[Window]:
    """Yield the windows of one note for ``settings``; the defaults give the windows of serving."""
    groups = [[sentence] for sentence in sentences] if settings.lone_sentences else [sentences]
    for group in groups:
        for window in make_windows(
            text, group, encoder, window_tokens=window_tokens, end_at_blank_lines=end_at_blank_lines
        ):
            if not settings.shapes:
                window.types = [0] * len(window.types)
            yield window


def _training_windows(
    text: str, sentences: Sequence[Sentence], encoder: WordEncoder, settings: StreamSettings, room: int = WINDOW_TOKENS
) -> Iterator[Window]:
    """Yield the windows of one note to train on. They end only when full, as those of the packaged models did.

    A model that learnt from windows across blank lines also reads the shorter windows of serving.
    """
    return cut_windows(text, sentences, encoder, settings, window_tokens=room)


def piece_counts(notes: Sequence[AnnotatedNote], encoder: WordEncoder) -> Tensor:
    """Return how often each token of the vocabulary occurs in ``notes``: int64 ``(vocabulary,)``, by token id."""
    ids = [
        piece
        for note in notes
        for window in make_windows(note.text, split_sentences(note.text), encoder)
        for piece in window.ids
    ]
    return torch.bincount(torch.tensor(ids), minlength=encoder.vocabulary)


def collate(
    rows: Sequence[tuple[Window, dict[str, list[int]]]],
    encoder: WordEncoder,
    rng: random.Random,
    dropout: float,
    shape: tuple[int, int],
    class_dropout: float = 0.0,
) -> Batch:
    """Pad rows to ``shape`` (rows, tokens); missing rows are masked and not scored.

    ``dropout`` is the share of words whose tokens are replaced by [UNK], ``class_dropout`` the share of the distinct
    words of a window that are shown as if they were in no list.
    """
    heads = list(rows[0][1])
    ids = torch.full(shape, encoder.pad, dtype=torch.long)
    types = torch.zeros(shape, dtype=torch.long)
    mask = torch.zeros(shape, dtype=torch.long)
    targets = {head: torch.full(shape, IGNORED, dtype=torch.long) for head in heads}
    for row, (window, tags) in enumerate(rows):
        length = len(window.ids)
        pieces, kinds = list(window.ids), list(window.types)
        ends = [*window.positions[1:], length - 1]
        unlisted: dict[tuple[int, ...], bool] = {}  # a word that occurs again is in the same lists
        for first, last in zip(window.positions, ends, strict=True):
            word = tuple(window.ids[first:last])
            if word not in unlisted:
                unlisted[word] = rng.random() < class_dropout
            if unlisted[word]:
                kinds[first:last] = [without_class(kind) for kind in kinds[first:last]]
            if rng.random() < dropout:
                pieces[first:last] = [encoder.unknown] * (last - first)
        ids[row, :length] = torch.tensor(pieces)
        types[row, :length] = torch.tensor(kinds)
        mask[row, :length] = 1
        where = torch.tensor(window.positions)
        for head in heads:
            targets[head][row, where] = torch.tensor(tags[head])
    return Batch(ids, types, mask, targets)


def stream_batches(
    notes: Sequence[AnnotatedNote],
    negatives: Sequence[Sequence[str]],
    lists: Gazetteers,
    encoder: WordEncoder,
    heads: Sequence[str],
    settings: StreamSettings,
    focus: Sequence[AnnotatedNote] = (),
    prose: Sequence[Document] = (),
) -> Iterator[Batch]:
    """Yield batches without end; the n-th batch depends only on the arguments.

    ``focus`` are excerpts that every pass learns in addition to the notes, starting with their first sentence.
    ``prose`` are documents in which to insert people (:mod:`deid_export.data.substitution`), with other people in
    each pass.
    """
    pass_number = 0
    while True:
        rng = random.Random(f"{settings.seed}-{pass_number}")
        resampler = Resampler(lists, rng)
        rows: list[tuple[Window, dict[str, list[int]]]] = []
        for note in notes:
            text, spans = _laid_out(*_shown(note, resampler, rng, settings.resample), rng, settings)
            sentences = split_sentences(text)
            short = rng.random() < settings.short_windows
            room = rng.randrange(20, WINDOW_TOKENS) if short else WINDOW_TOKENS
            if not short and sentences:  # start later than in serving, so that a word is not always at the same place
                sentences = sentences[rng.randrange(min(4, len(sentences))) :]
            windows = list(_training_windows(text, sentences, encoder, settings, room))
            rows += [(window, window_targets(window, spans, heads)) for window in windows]
        for note in focus:
            text, spans = _laid_out(*_shown(note, resampler, rng, settings.resample), rng, settings)
            windows = list(_training_windows(text, split_sentences(text), encoder, settings))
            rows += [(window, window_targets(window, spans, heads)) for window in windows]
        of_notes = len(rows) / (1 - settings.negative_share - settings.prose_share - settings.contrast_share)
        if prose and settings.prose_share:
            setter = PeopleSetter(prose, lists, rng)
            end = len(rows) + of_notes * settings.prose_share
            while len(rows) < end:
                rows += _prose_rows(setter, encoder, heads, settings)
        end = len(rows) + of_notes * settings.contrast_share
        while settings.contrast_share and len(rows) < end:
            text, spans = _laid_out(*_shown(contrast_note(rng), resampler, rng, settings.resample), rng, settings)
            for window in _training_windows(text, split_sentences(text), encoder, settings):
                rows.append((window, window_targets(window, spans, heads)))
        wanted = of_notes * settings.negative_share
        while negatives and wanted > 0:
            text = negative_text(negatives, lists, rng)
            for window in _training_windows(text, split_sentences(text), encoder, settings):
                rows.append((window, window_targets(window, (), heads)))
                wanted -= 1
        yield from _batched(rows, encoder, rng, settings)
        pass_number += 1


def _prose_rows(
    setter: PeopleSetter, encoder: WordEncoder, heads: Sequence[str], settings: StreamSettings
) -> Iterator[tuple[Window, dict[str, list[int]]]]:
    note = setter.note()
    text, spans = read_marked(note.text, note.spans)
    view = read_view(note.text)
    unsure = [view.seen(start, end) for start, end in note.unsure]
    for window in _training_windows(text, split_sentences(text), encoder, settings):
        targets = window_targets(window, spans, heads)
        for first, last in unsure:
            for word, (start, end) in enumerate(zip(window.starts, window.ends, strict=True)):
                if start < last and first < end:
                    for tags in targets.values():
                        tags[word] = IGNORED
        yield window, targets


def _laid_out(text: str, spans: list[Span], rng: random.Random, settings: StreamSettings) -> tuple[str, list[Span]]:
    """Return a note as detectors read it; sometimes with other line ends, or with its names in another case."""
    if settings.names_recased and rng.random() < settings.names_recased:
        change = str.lower if rng.random() < 0.65 else str.upper
        for span in spans:
            if span.label in HEADS["name"] and rng.random() < 0.8:
                value = recased(text[span.start : span.end], change)
                text = text[: span.start] + value + text[span.end :]
    if settings.wrapped and rng.random() < settings.wrapped:
        text = wrapped(text, rng.randrange(60, 121))
    read, seen = read_marked(text, spans)
    return read, list(seen)


def _shown(note: AnnotatedNote, resampler: Resampler, rng: random.Random, share: float) -> tuple[str, list[Span]]:
    # Do not draw at 0 and 1: with these shares, a seed gives the same stream as without this setting.
    fresh = share >= 1 or (share > 0 and rng.random() < share)
    return resampler.note(note) if fresh else (note.text, list(note.spans))


def _batched(
    rows: list[tuple[Window, dict[str, list[int]]]], encoder: WordEncoder, rng: random.Random, settings: StreamSettings
) -> Iterator[Batch]:
    rng.shuffle(rows)
    by_width: dict[int, list[tuple[Window, dict[str, list[int]]]]] = {}
    for row in rows:
        by_width.setdefault(next(width for width in WIDTHS if len(row[0].ids) <= width), []).append(row)
    batches = []
    for width, members in by_width.items():
        count = max(1, settings.batch_tokens // width)
        batches += [(members[first : first + count], count, width) for first in range(0, len(members), count)]
    rng.shuffle(batches)
    for members, count, width in batches:
        yield collate(members, encoder, rng, settings.word_dropout, (count, width), settings.class_dropout)

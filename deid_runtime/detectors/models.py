"""The model detector: windows of sentences through the heads, words over their thresholds back as spans."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Final, Self

import numpy as np

from deid_runtime.contract import Manifest, find_models, read_manifest
from deid_runtime.decoding import decode_words
from deid_runtime.engines import Engine, Ids, load_engine
from deid_runtime.errors import SettingsError
from deid_runtime.settings import Settings
from deid_runtime.spans import Sentence, Span
from deid_runtime.windows import WINDOW_TOKENS, Window, WordEncoder, make_windows

#: Rows are padded to one of these widths. A row's width depends on the row alone, so its answer does too. Batches are
#: padded to 1, 2, 4 ... rows: engines keep kernels for every shape they meet, which costs more than the padding.
_WIDTHS: Final = (32, 64, 96, WINDOW_TOKENS)
_POOL_WINDOWS: Final = 512  # windows sorted by width at a time; bounds memory on long notes


class ModelTagger:
    """A :data:`~deid_runtime.spans.Tagger`: every head on every window. Made by :func:`load_tagger`; one per thread."""

    def __init__(
        self,
        engine: Engine,
        manifest: Manifest,
        thresholds: Mapping[str, float],
        encoder: WordEncoder,
        batch_windows: int,
    ) -> None:
        self._engine = engine
        self._heads = [(head, thresholds.get(head.name, head.threshold)) for head in manifest.heads]
        self._encoder = encoder
        self._batch_windows = batch_windows
        self.manifest: Mapping[str, object] = {
            **manifest.content,
            "engine": engine.name,
            "thresholds": {head.name: threshold for head, threshold in self._heads},
        }

    def __call__(self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]) -> list[list[Span]]:
        """Return one row of spans per text, sorted, in its offsets; spans of different heads may overlap.

        ``sentences`` are those of each text to look at, in order; neighbours among them share windows.
        """
        rows: list[list[Span]] = [[] for _ in texts]
        windows = (
            (number, window)
            for number, (text, chosen) in enumerate(zip(texts, sentences, strict=True))
            for window in make_windows(text, chosen, self._encoder)
        )
        while pool := list(islice(windows, _POOL_WINDOWS)):
            for batch in self._batches(pool):
                self._tag(batch, texts, rows)
        for row in rows:
            row.sort()
        return rows

    def _batches(self, pool: list[tuple[int, Window]]) -> Iterator[list[tuple[int, Window]]]:
        """Yield windows of one padded width together, at most ``batch_windows`` a time."""
        by_width: dict[int, list[tuple[int, Window]]] = {}
        for entry in pool:
            by_width.setdefault(_width(len(entry[1].ids)), []).append(entry)
        for entries in by_width.values():
            for first in range(0, len(entries), self._batch_windows):
                yield entries[first : first + self._batch_windows]

    def _tag(self, batch: list[tuple[int, Window]], texts: Sequence[str], rows: list[list[Span]]) -> None:
        ids, types, mask = pad([window for _, window in batch], self._encoder.pad)
        for (head, threshold), answer in zip(self._heads, self._engine(ids, types, mask), strict=True):
            hit_rows = (answer.scores[: len(batch)] >= threshold).any(axis=1)
            for row in np.flatnonzero(hit_rows).tolist():
                number, window = batch[row]
                scores = answer.scores[row, window.positions].tolist()
                tags = answer.tags[row, window.positions].tolist()
                rows[number] += decode_words(
                    texts[number], window.starts, window.ends, tags, scores, head.tags, threshold, f"model:{head.name}"
                )

    def close(self) -> None:
        """Free the engine."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def load_tagger(settings: Settings) -> ModelTagger:
    """Load the models that ``settings`` names.

    Raises ModelError when models are missing, damaged or of another version, SettingsError for a wrong threshold.
    """
    manifest = read_manifest(find_models(settings.models))
    names = [head.name for head in manifest.heads]
    for head, threshold in settings.thresholds.items():
        if head not in names:
            raise SettingsError(f"threshold for unknown head {head!r}; these models have {', '.join(names)}")
        if not 0 < threshold < 1:
            raise SettingsError(f"threshold {threshold} for head {head!r} is not between 0 and 1")
    if settings.batch_windows < 1:
        raise SettingsError(f"batch_windows is {settings.batch_windows}; expected 1 or more")
    engine = load_engine(settings.engine, manifest.graph, names, settings.engine_threads)
    return ModelTagger(
        engine, manifest, settings.thresholds, WordEncoder.from_file(manifest.tokenizer), settings.batch_windows
    )


def pad(windows: Sequence[Window], pad_id: int) -> tuple[Ids, Ids, Ids]:
    """Return ids, types and mask, int32 ``(rows, width)``, of windows that share one padded width.

    ``rows`` is the next power of two; those behind the windows are masked and mean nothing.
    """
    width = _width(max(len(window.ids) for window in windows))
    shape = 1 << (len(windows) - 1).bit_length(), width
    ids = np.full(shape, pad_id, dtype=np.int32)
    types = np.zeros(shape, dtype=np.int32)
    mask = np.zeros(shape, dtype=np.int32)
    for row, window in enumerate(windows):
        length = len(window.ids)
        ids[row, :length] = window.ids
        types[row, :length] = window.types
        mask[row, :length] = 1
    return ids, types, mask


def _width(length: int) -> int:
    return next(width for width in _WIDTHS if length <= width)

"""The model detector: windows of sentences through the heads, words over their thresholds back as spans.

Where a profile has several versions of a head, their log odds are averaged; the heads vote one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Final, Self

import numpy as np

from deid_runtime.contract import Graph, Profile, find_models, read_manifest
from deid_runtime.decoding import decode_words
from deid_runtime.engines import Engine, Ids, TokenScores, load_engine
from deid_runtime.errors import SettingsError
from deid_runtime.labels import HEADS
from deid_runtime.settings import Settings
from deid_runtime.spans import Sentence, Span
from deid_runtime.windows import WINDOW_TOKENS, Window, WordEncoder, make_windows, title_case_types

#: Rows are padded to one of these widths. A row's width depends on the row alone, so its answer does too. Batches are
#: padded to 1, 2, 4 ... rows: engines keep kernels for every shape they meet, which costs more than the padding.
_WIDTHS: Final = (32, 64, 96, WINDOW_TOKENS)
_LEAST_SCORE: Final = np.float32(2**-12)  # scores come as float16, which has no value between this far from 1 and 1
_POOL_WINDOWS: Final = 512  # windows sorted by width at a time; bounds memory on long notes


class ModelTagger:
    """A :data:`~deid_runtime.spans.Tagger`: every head on every window. Made by :func:`load_tagger`; one per thread."""

    def __init__(
        self,
        engines: Sequence[tuple[Graph, Engine]],
        profile: Profile,
        thresholds: Mapping[str, float],
        encoder: WordEncoder,
        batch_windows: int,
        content: Mapping[str, object],
    ) -> None:
        self._engines = engines
        self._thresholds = {head: thresholds.get(head, profile.thresholds[head]) for head in HEADS}
        self._title_case = profile.title_case
        self._encoder = encoder
        self._batch_windows = batch_windows
        # The versions of a head agree on their tags: the contract asks for the same labels, and the order is theirs.
        self._tags = {version.head: version.tags for graph, _ in engines for version in graph.heads}
        self.manifest: Mapping[str, object] = {
            **content,
            "engine": engines[0][1].name,
            "profile": profile.name,
            "thresholds": self._thresholds,
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
        for head, answer in self.answers([window for _, window in batch]).items():
            threshold = self._thresholds[head]
            hit_rows = (answer.scores[: len(batch)] >= threshold).any(axis=1)
            for row in np.flatnonzero(hit_rows).tolist():
                number, window = batch[row]
                scores = answer.scores[row, window.positions].tolist()
                tags = answer.tags[row, window.positions].tolist()
                rows[number] += decode_words(
                    texts[number],
                    window.starts,
                    window.ends,
                    tags,
                    scores,
                    self._tags[head],
                    threshold,
                    f"model:{head}",
                )

    def answers(self, windows: Sequence[Window]) -> dict[str, TokenScores]:
        """Return what each head says of ``windows``, which share one padded width: a row each, then rows to ignore."""
        inputs = pad(windows, self._encoder.pad)
        answers = self._answers(*inputs)
        if self._title_case:
            answers["name"] = self._with_title_case(answers["name"], windows, *inputs)
        return answers

    def _answers(self, ids: Ids, types: Ids, mask: Ids) -> dict[str, TokenScores]:
        """Return the combined answer of each head, in the order of :data:`~deid_runtime.labels.HEADS`."""
        votes: dict[str, list[TokenScores]] = {head: [] for head in HEADS}
        for graph, engine in self._engines:
            for version, answer in zip(graph.heads, engine(ids, types, mask), strict=True):
                votes[version.head].append(answer)
        return {head: combine(answers) for head, answers in votes.items()}

    def _with_title_case(
        self, answer: TokenScores, windows: Sequence[Window], ids: Ids, types: Ids, mask: Ids
    ) -> TokenScores:
        """Let the name head read words in capitals once more, as if in title case, and average what it says of them."""
        changed = types.copy()
        for row, window in enumerate(windows):
            title = title_case_types(window)
            if title is not None:
                changed[row, : len(title)] = title
        capitals = changed != types
        if not capitals.any():
            return answer
        both = combine([answer, self._answers(ids, changed, mask)["name"]])
        return TokenScores(np.where(capitals, both.tags, answer.tags), np.where(capitals, both.scores, answer.scores))

    def close(self) -> None:
        """Free the engines."""
        for _, engine in self._engines:
            engine.close()

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
    profile = manifest.profiles.get(settings.profile)
    if profile is None:
        raise SettingsError(f"these models have no profile {settings.profile!r}, only {', '.join(manifest.profiles)}")
    for head, threshold in settings.thresholds.items():
        if head not in HEADS:
            raise SettingsError(f"threshold for unknown head {head!r}; these models have {', '.join(HEADS)}")
        if not 0 < threshold < 1:
            raise SettingsError(f"threshold {threshold} for head {head!r} is not between 0 and 1")
    if settings.batch_windows < 1:
        raise SettingsError(f"batch_windows is {settings.batch_windows}; expected 1 or more")
    engines = [
        (
            graph,
            load_engine(settings.engine, graph.file, [version.output for version in graph.heads],
                        settings.engine_threads),
        )
        for graph in profile.graphs
    ]  # fmt: skip
    encoder = WordEncoder.from_file(manifest.tokenizer)
    return ModelTagger(engines, profile, settings.thresholds, encoder, settings.batch_windows, manifest.content)


def combine(answers: Sequence[TokenScores]) -> TokenScores:
    """Average the scores of several versions of one head, as log odds; the tag is that of the surest.

    On dev the mean of log odds was better than that of probabilities, and both better than the highest score.
    """
    if len(answers) == 1:
        return answers[0]
    scores = np.stack([answer.scores for answer in answers])
    tags = np.stack([answer.tags for answer in answers])
    surest = scores.argmax(axis=0)
    bounded = np.clip(scores, _LEAST_SCORE, 1 - _LEAST_SCORE)
    odds = np.log(bounded / (1 - bounded)).mean(axis=0)
    return TokenScores(np.take_along_axis(tags, surest[None], axis=0)[0], 1 / (1 + np.exp(-odds)))


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

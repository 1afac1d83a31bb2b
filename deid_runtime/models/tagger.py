"""Detect entities with models: run windows of sentences through the heads, return words over the thresholds as spans.

A profile with several versions of a head says how to combine them: the highest score, or the weighted mean of their
log odds. Each head is combined separately.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from deid_runtime.errors import DeidError, EngineError, ModelError, SettingsError
from deid_runtime.labels import HEADS
from deid_runtime.models.batching import WIDTHS, Batch, make_batches, no_window_is_known, pad, row_counts, width_of
from deid_runtime.models.decoding import decode_traces, decode_words
from deid_runtime.models.doubts import DENIED_BELOW
from deid_runtime.models.engines import Engine, TokenScores, instruction_set, load_engine
from deid_runtime.models.manifest import Graph, HeadVersion, Manifest, Profile, Vote
from deid_runtime.models.self_test import SelfTestingEngine
from deid_runtime.models.trust import read_trusted
from deid_runtime.models.window_cache import KeptAnswer, WindowCache, key_of
from deid_runtime.settings import Settings
from deid_runtime.spans import Sentence, Span
from deid_runtime.system.closing import Closing
from deid_runtime.text.windows import Window, WordEncoder

_TESTED_ROWS: Final = 8  # largest batch in the test of a loaded engine; larger ones take seconds
_MOST_KNOWN: Final = 64  # windows with a kept answer that are decoded together; it limits memory
_LEAST_SCORE: Final = np.float32(2**-12)  # scores come as float16, which has no value between 1 - 2**-12 and 1


@dataclass(frozen=True, slots=True, eq=False)
class ScoredBatch:
    """A batch with the answers of all versions of the heads, and with those of each head, its versions combined.

    Each answer has one row per window, and then padding rows.
    """

    batch: Batch = field(repr=False)
    votes: Sequence[tuple[HeadVersion, TokenScores]] = field(repr=False)
    answers: Mapping[str, TokenScores] = field(repr=False)


class ModelTagger(Closing):
    """A :data:`~deid_runtime.spans.Tagger`: every head on every window. Made by :func:`load_tagger`; one per thread."""

    def __init__(
        self,
        engines: Sequence[tuple[Graph, Engine]],
        profile: Profile,
        thresholds: Mapping[str, float],
        encoder: WordEncoder,
        batch_windows: int,
        content: Mapping[str, object],
        *,
        cache_bytes: int = 0,
        end_at_blank_lines: bool = False,
    ) -> None:
        self._engines = engines
        self._decoder = SpanDecoder([graph for graph, _ in engines], profile, thresholds)
        self._vote = profile.vote
        self._encoder = encoder
        self._batch_windows = batch_windows
        self._end_at_blank_lines = end_at_blank_lines
        self._cache = WindowCache(cache_bytes, self._decoder.least_score)
        self.manifest: Mapping[str, object] = {
            **content,
            "engine": engines[0][1].name,
            "precision": engines[0][1].precision,
            "instruction_set": instruction_set(),
            "profile": profile.name,
            "thresholds": self._decoder.thresholds,
        }

    @property
    def thresholds(self) -> Mapping[str, float]:
        """Return the lowest score at which each head finds a word."""
        return self._decoder.thresholds

    def __call__(self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]) -> list[list[Span]]:
        """Return one row of spans per text, sorted, in its offsets; spans of different heads may overlap.

        ``sentences`` lists for each text the sentences to read, in order. Neighbouring ones share windows. A row also
        contains the traces (:data:`~deid_runtime.models.doubts.TRACE`) of its text.

        Raises EngineError when an engine fails or gives an invalid answer.
        """
        try:
            return self._found(texts, sentences)
        except ModelError as error:
            raise EngineError(str(error)) from error
        except (DeidError, MemoryError):
            raise
        except Exception as error:  # its message may quote the text, so only its class is named
            raise EngineError(f"the engine failed with {type(error).__name__}") from error

    def _found(self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]) -> list[list[Span]]:
        spans = SpanRows(self._decoder, self._cache, texts)
        for scored in self.scored(texts, sentences, spans.add_known):
            spans.add(scored.batch, scored.answers)
        for _, engine in self._engines:
            if isinstance(engine, SelfTestingEngine):
                engine.test_if_due()
        return spans.sorted()

    def window_counts(self) -> Mapping[str, int]:
        """Return how many windows were read so far, and how many of them were answered from the cache."""
        return self._cache.counts

    def scored(
        self,
        texts: Sequence[str],
        sentences: Sequence[Sequence[Sentence]],
        is_known: Callable[[int, Window], bool] = no_window_is_known,
    ) -> Iterator[ScoredBatch]:
        """Yield the windows of the given sentences of each text, with what the models say about their words.

        ``is_known`` selects windows to skip, as in :func:`make_batches`. By default, none are skipped.
        """
        for batch in make_batches(
            texts,
            sentences,
            self._encoder,
            lambda width: self._batch_windows,
            is_known,
            end_at_blank_lines=self._end_at_blank_lines,
        ):
            first = 0
            for count in row_counts(len(batch)):
                part = batch[first : first + count]
                ids, types, mask = pad([window for _, window in part], self._encoder.pad)
                votes = [
                    vote
                    for graph, engine in self._engines
                    for vote in zip(graph.heads, engine(ids, types, mask), strict=True)
                ]
                yield ScoredBatch(part, votes, combined(votes, self._vote))
                first += count

    def decode(self, scored: ScoredBatch, texts: Sequence[str], rows: Sequence[list[Span]]) -> None:
        """Add the spans and traces of one batch to the row of each text, unsorted."""
        self._decoder.decode(scored.batch, scored.answers, texts, rows)

    def close(self) -> None:
        """Free the engines and the cache."""
        self._cache.clear()
        for _, engine in self._engines:
            engine.close()


class SpanDecoder:
    """Turns the answers of the heads for a batch into spans. It needs no engine."""

    def __init__(self, graphs: Sequence[Graph], profile: Profile, thresholds: Mapping[str, float]) -> None:
        self.thresholds = {head: thresholds.get(head, profile.thresholds[head]) for head in HEADS}
        #: Decoding compares scores with this value and with higher ones.
        self.least_score = min(DENIED_BELOW, *self.thresholds.values())
        # All versions of a head have the same tags: the manifest requires the same labels in the same order.
        self._tags = {version.head: version.tags for graph in graphs for version in graph.heads}

    def decode(
        self, batch: Batch, answers: Mapping[str, TokenScores], texts: Sequence[str], rows: Sequence[list[Span]]
    ) -> None:
        """Add the spans and traces in ``answers`` (by head) of ``batch`` to the row of each text, unsorted.

        Raises EngineError for a tag that the head does not have, and for a score that is not a number from 0 to 1.
        NaN never reaches a threshold, so a damaged model would otherwise find nothing.
        """
        for head, answer in answers.items():
            asked = answer.scores[: len(batch)]
            if not ((asked >= 0) & (asked <= 1)).all():
                raise EngineError(f"the head {head} gave scores that are not numbers from 0 to 1; its model is damaged")
            if answer.tags[: len(batch)].max(initial=0) >= len(self._tags[head]):
                raise EngineError(f"the head {head} gave tags that it does not have; its model is damaged")
            threshold = self.thresholds[head]
            hit_rows = (asked >= threshold).any(axis=1)
            for row in np.flatnonzero(hit_rows).tolist():
                number, window = batch[row]
                scores = answer.scores[row, window.positions].tolist()
                tags = answer.tags[row, window.positions].tolist()
                rows[number].extend(
                    decode_words(
                        texts[number],
                        window.starts,
                        window.ends,
                        tags,
                        scores,
                        self._tags[head],
                        threshold,
                        f"model:{head}",
                    )
                )
        traced = np.max([answer.scores[: len(batch)] for answer in answers.values()], axis=0) >= DENIED_BELOW
        for row in np.flatnonzero(traced.any(axis=1)).tolist():
            number, window = batch[row]
            scores = {head: answer.scores[row, window.positions] for head, answer in answers.items()}
            rows[number].extend(decode_traces(window.starts, window.ends, scores, self.thresholds))


class SpanRows:
    """The spans that one call finds, a row for each of its texts. A cache answers windows that occurred earlier."""

    def __init__(self, decoder: SpanDecoder, cache: WindowCache, texts: Sequence[str]) -> None:
        self._decoder = decoder
        self._cache = cache
        self._texts = texts
        self._rows: list[list[Span]] = [[] for _ in texts]
        self._asked: dict[bytes, Batch] = {}  # key of a window without answer yet: equal windows
        self._known: dict[int, list[tuple[int, Window, KeptAnswer]]] = {}  # by width: windows with a kept answer

    def add_known(self, number: int, window: Window) -> bool:
        """Return whether ``window`` of text ``number`` needs no answer: it has one, or an equal one is asked about."""
        if not self._cache.is_on:
            return False
        key = key_of(window)
        kept = self._cache.find(key)
        if kept is None and key not in self._asked:
            self._asked[key] = []
            self._cache.count(read=1, from_cache=0)
            return False
        self._cache.count(read=1, from_cache=1)
        if kept is None:
            self._asked[key].append((number, window))
            return True
        width = width_of(len(window.ids))
        known = self._known.setdefault(width, [])
        known.append((number, window, kept))
        if len(known) >= _MOST_KNOWN:
            self._decode_known(width)
        return True

    def add(self, batch: Batch, answers: Mapping[str, TokenScores]) -> None:
        """Add the spans and traces in ``answers`` of ``batch``, and those of equal windows. Keep the answers."""
        self._decoder.decode(batch, answers, self._texts, self._rows)
        if not self._cache.is_on:
            return
        keys = [key_of(window) for _, window in batch]
        self._cache.keep(keys, answers)
        equal = [(row, each) for row, key in enumerate(keys) for each in self._asked.pop(key)]
        if equal:
            indexes = [row for row, _ in equal]
            same = {head: TokenScores(each.tags[indexes], each.scores[indexes]) for head, each in answers.items()}
            self._decoder.decode([each for _, each in equal], same, self._texts, self._rows)

    def sorted(self) -> list[list[Span]]:
        """Return the rows of all spans and traces, each sorted."""
        for width in list(self._known):
            self._decode_known(width)
        for row in self._rows:
            row.sort()
        return self._rows

    def _decode_known(self, width: int) -> None:
        known = self._known.pop(width)
        answers = self._cache.restored([kept for _, _, kept in known], width)
        self._decoder.decode([(number, window) for number, window, _ in known], answers, self._texts, self._rows)


def load_tagger(settings: Settings) -> ModelTagger:
    """Load and test the models that ``settings`` names.

    Raises ModelError when models are missing, damaged, not trusted or of another version, EngineError when an engine
    cannot run them here, SettingsError for a wrong threshold.
    """
    manifest, profile = choose_profile(settings)
    encoder = manifest.word_encoder()
    engines = [(graph, _tested_engine(graph, encoder, settings)) for graph in profile.graphs]
    manifest.check_unchanged()
    return ModelTagger(
        engines,
        profile,
        settings.thresholds,
        encoder,
        settings.batch_windows,
        {**manifest.content, "models_sha256": manifest.profile_sha256(profile.name)},
        cache_bytes=settings.window_cache_bytes // 2,
        end_at_blank_lines=settings.window_borders == "blocks",
    )


def _tested_engine(graph: Graph, encoder: WordEncoder, settings: Settings) -> Engine:
    outputs = [version.output for version in graph.heads]
    engine = load_engine(settings.engine, graph.file, outputs, settings.engine_threads, settings.precision)
    if graph.known_answer is None:
        return engine
    most_rows = next(row_counts(min(settings.batch_windows, _TESTED_ROWS)))
    shapes = ((1, WIDTHS[0]), (1, WIDTHS[-1]), (most_rows, WIDTHS[-1]))
    return SelfTestingEngine(engine, graph, graph.known_answer, encoder, shapes)


def choose_profile(settings: Settings) -> tuple[Manifest, Profile]:
    """Return the checked manifest that ``settings`` names, and the chosen profile.

    Raises ModelError when models are missing, damaged, not trusted or of another version, SettingsError for a wrong
    threshold.
    """
    manifest = read_trusted(settings.models, key=settings.models_key, trust=settings.trust_models)
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
    return manifest, replace(profile, thresholds=profile.thresholds_for(settings.recall))


def combined(votes: Iterable[tuple[HeadVersion, TokenScores]], vote: Vote) -> dict[str, TokenScores]:
    """Return the combined answer of each head that has one, in the order of :data:`~deid_runtime.labels.HEADS`."""
    by_head: dict[str, list[tuple[HeadVersion, TokenScores]]] = {head: [] for head in HEADS}
    for version, answer in votes:
        by_head[version.head].append((version, answer))
    return {
        head: combine([answer for _, answer in of_head], [version.weight for version, _ in of_head], vote)
        for head, of_head in by_head.items()
        if of_head
    }


def combine(answers: Sequence[TokenScores], weights: Sequence[float] | None = None, vote: Vote = "mean") -> TokenScores:
    """Combine the answers of several versions of a head: the highest score, or the mean of log odds by ``weights``.

    The tag is that of the version with the highest score.
    """
    if len(answers) == 1:
        return answers[0]
    scores = np.stack([answer.scores for answer in answers])
    tags = np.stack([answer.tags for answer in answers])
    surest = scores.argmax(axis=0)
    if vote == "any":
        return TokenScores(np.take_along_axis(tags, surest[None], axis=0)[0], scores.max(axis=0))
    bounded = np.clip(scores, _LEAST_SCORE, 1 - _LEAST_SCORE)
    counted = None if weights is None else np.asarray(weights, dtype=scores.dtype)
    odds = np.average(np.log(bounded / (1 - bounded)), axis=0, weights=counted)
    return TokenScores(np.take_along_axis(tags, surest[None], axis=0)[0], 1 / (1 + np.exp(-odds)))

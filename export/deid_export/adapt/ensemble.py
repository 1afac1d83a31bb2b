"""Run the served ensemble and keep the scores of every version for every word; used by error search and selection.

The stages are those of :class:`deid_runtime.pipeline.Pipeline`. The models are those of
:class:`deid_runtime.models.tagger.ModelTagger`. They come from a repository of `deid-export models onnx`, or from a
registry whose models are not exported yet.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deid_runtime.detectors.inclusion import load_inclusion
from deid_runtime.detectors.known import packaged_lines
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.templates import load_templates
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.models.decoding import decode_traces, decode_words
from deid_runtime.models.engines import Engine, Ids, TokenScores, load_engine
from deid_runtime.models.manifest import Graph, HeadVersion, Profile, find_models, read_manifest
from deid_runtime.models.tagger import ModelTagger
from deid_runtime.pipeline import Pipeline, Quarantined
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, Sentence, Span
from deid_runtime.system.closing import Closing
from deid_runtime.text.reading.view import View, read_view
from deid_runtime.text.windows import Window, WordEncoder, make_windows

_BATCH_WINDOWS: Final = 16

Floats = NDArray[np.float32]
Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of one text that the models read.

    ``starts`` and ``ends`` are half-open code points, sorted and disjoint. ``scores`` maps each head to 1 - P(O), all
    its versions combined as they serve, shape (words,). ``versions`` maps each head to the scores of each version,
    shape (versions, words).
    """

    starts: Offsets = field(repr=False)
    ends: Offsets = field(repr=False)
    scores: Mapping[str, Floats] = field(repr=False)
    versions: Mapping[str, Floats] = field(repr=False)

    @property
    def offsets(self) -> Offsets:
        """Return starts and ends as int64 (words, 2)."""
        return np.stack([self.starts, self.ends], axis=1)

    def located(self, view: View) -> "Words":
        """Return the words with offsets of the original text instead of the text of ``view``."""
        if not view.layers:
            return self
        places = [view.original(int(start), int(end)) for start, end in self.offsets]
        starts, ends = np.array(places, dtype=np.int64).reshape(-1, 2).T
        return replace(self, starts=starts, ends=ends)


@dataclass(frozen=True, slots=True)
class Seen:
    """One note: its words with model scores, the spans of the whole ensemble, the spans of the rules alone."""

    note_id: str
    words: Words
    spans: tuple[Span, ...]
    ruled: tuple[Span, ...]


class _Watched:
    """An engine that keeps its answers to the first call after :meth:`forget`.

    Later calls are the second readings in title case. The combined answers already include what they need from those.
    """

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self.precision = engine.precision
        self._engine = engine
        self.answers: list[TokenScores] = []

    def __call__(self, ids: Ids, types: Ids, mask: Ids) -> list[TokenScores]:
        answers = self._engine(ids, types, mask)
        self.answers = self.answers or answers
        return answers

    def forget(self) -> None:
        self.answers = []

    def close(self) -> None:
        self._engine.close()


class Ensemble(Closing):
    """Models of one profile, and rules, loaded once. Use it as a context manager: leaving it frees the engines."""

    def __init__(
        self, engines: Sequence[tuple[Graph, Engine]], profile: Profile, encoder: WordEncoder, settings: Settings
    ) -> None:
        self._watched = [(graph, _Watched(engine)) for graph, engine in engines]
        self._tagger = ModelTagger(self._watched, profile, settings.thresholds, encoder, _BATCH_WINDOWS, {})
        self._encoder = encoder
        self._tags = {version.head: version.tags for graph, _ in engines for version in graph.heads}
        self.heads = tuple(self._tags)
        self.thresholds = {head: settings.thresholds.get(head, profile.thresholds[head]) for head in self.heads}
        self._words: dict[str, Words] = {}
        inclusion = load_inclusion(settings.inclusion, screen=find_patterns)
        templates = load_templates(settings.templates)
        self._whole, self._rules = (
            Pipeline(
                inclusion=inclusion,
                templates=templates,
                tagger=tagger,
                surrogates=None,
                records={},
                description={},
                resources=ExitStack(),
                packaged=packaged_lines(settings),
            )
            for tagger in (self._tag, None)
        )

    def run(self, notes: Sequence[Note]) -> list[Seen | Quarantined]:
        """Run models and rules over ``notes``; return one outcome per note, in order."""
        self._words.clear()
        whole, ruled = self._whole.detect(notes), self._rules.detect(notes)
        outcomes: list[Seen | Quarantined] = []
        for note, all_of_it, by_rules in zip(notes, whole, ruled, strict=True):
            if isinstance(all_of_it, Quarantined):
                outcomes.append(all_of_it)
            elif isinstance(by_rules, Quarantined):
                outcomes.append(by_rules)
            else:
                view = read_view(note.text)
                words = self._words[view.text].located(view)
                outcomes.append(Seen(note.id, words, all_of_it.spans, by_rules.spans))
        return outcomes

    def words(self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]) -> list[Words]:
        """Return the words and scores of the given sentences of each text."""
        self._tag(texts, sentences)
        return [self._words[text] for text in texts]

    def _tag(self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]) -> list[list[Span]]:
        """Tag like the tagger of the pipeline, and keep the words of every text."""
        rows: list[list[Span]] = [[] for _ in texts]
        answers: list[list[tuple[Window, _Answer]]] = [[] for _ in texts]
        for number, window, answer in self._answers(texts, sentences):
            answers[number].append((window, answer))
            for head, threshold in self.thresholds.items():
                rows[number] += decode_words(
                    texts[number],
                    window.starts,
                    window.ends,
                    answer.tags[head].tolist(),
                    answer.scores[head].tolist(),
                    self._tags[head],
                    threshold,
                    f"model:{head}",
                )
            rows[number] += decode_traces(window.starts, window.ends, answer.scores, self.thresholds)
        for text, found in zip(texts, answers, strict=True):
            self._words[text] = self._collated(found)
        return [sorted(row) for row in rows]

    def _answers(
        self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]
    ) -> Iterator[tuple[int, Window, "_Answer"]]:
        """Yield (index of the text, window, answer), shortest windows first."""
        windows = [
            (number, window)
            for number, (text, chosen) in enumerate(zip(texts, sentences, strict=True))
            for window in make_windows(text, chosen, self._encoder)
        ]
        windows.sort(key=lambda entry: len(entry[1].ids))
        for first in range(0, len(windows), _BATCH_WINDOWS):
            batch = windows[first : first + _BATCH_WINDOWS]
            for _, engine in self._watched:
                engine.forget()
            combined = self._tagger.answers([window for _, window in batch])
            single: dict[str, list[TokenScores]] = {head: [] for head in self.heads}
            for graph, engine in self._watched:
                for version, answer in zip(graph.heads, engine.answers, strict=True):
                    single[version.head].append(answer)
            for row, (number, window) in enumerate(batch):
                at = window.positions
                yield (
                    number,
                    window,
                    _Answer(
                        {head: combined[head].tags[row, at] for head in self.heads},
                        {head: combined[head].scores[row, at] for head in self.heads},
                        {head: np.stack([answer.scores[row, at] for answer in single[head]]) for head in self.heads},
                    ),
                )

    def _collated(self, answers: Sequence[tuple[Window, "_Answer"]]) -> Words:
        """Merge the windows of one text into its words; a word in several windows gets its highest scores."""
        starts = np.array([start for window, _ in answers for start in window.starts], dtype=np.int64)
        ends = np.array([end for window, _ in answers for end in window.ends], dtype=np.int64)
        order = np.argsort(starts, kind="stable")
        firsts = np.flatnonzero(np.diff(starts[order], prepend=-1))

        def best(rows: list[Floats]) -> Floats:
            if not rows:
                return np.zeros((1, 0), dtype=np.float32)
            merged: Floats = np.maximum.reduceat(np.concatenate(rows, axis=-1)[..., order], firsts, axis=-1)
            return merged

        return Words(
            starts[order][firsts],
            ends[order][firsts],
            {head: best([answer.scores[head][None] for _, answer in answers])[0] for head in self.heads},
            {head: best([answer.versions[head] for _, answer in answers]) for head in self.heads},
        )

    def close(self) -> None:
        """Free the engines."""
        self._tagger.close()


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """The answer of the heads for one window: by head, tags and scores (words,), versions (versions, words)."""

    tags: Mapping[str, NDArray[np.uint8]]
    scores: Mapping[str, Floats]
    versions: Mapping[str, Floats]


def load_exported(settings: Settings) -> Ensemble:
    """Load the ensemble of the model repository and profile that ``settings`` names.

    Raises ModelError when the models are missing or do not fit together, SettingsError when they lack the profile.
    """
    manifest = read_manifest(find_models(settings.models))
    profile = manifest.profiles.get(settings.profile)
    if profile is None:
        raise SettingsError(f"these models have no profile {settings.profile!r}, only {', '.join(manifest.profiles)}")
    engines = [
        (graph, load_engine(settings.engine, graph.file, [v.output for v in graph.heads], settings.engine_threads))
        for graph in profile.graphs
    ]
    return Ensemble(engines, profile, WordEncoder.from_file(manifest.tokenizer), settings)


def load_registered(
    registry_path: Path, settings: Settings, versions: Mapping[str, Sequence[str]] | None = None
) -> Ensemble:
    """Load the chosen versions of a registry, or the given ``versions`` by head, as the profile ``full`` serves them.

    Needs torch. Raises ModelError when a version is missing or the registry has no threshold for a head yet.
    """
    from deid_export.adapt.registry import folder_of, read_registry
    from deid_export.adapt.versions import TorchEngine, branches_of, joined
    from deid_export.model.tagger import tags_of

    registry = read_registry(registry_path)
    chosen = registry.chosen if versions is None else versions
    lacking = set(chosen) - set(registry.thresholds)
    if lacking:
        raise ModelError(
            f"no version of {sorted(lacking)} was graded; run `deid-export adapt iterate` on this registry"
        )
    heads = tuple(
        HeadVersion(head, name, branch, tuple(tags_of(branch)[1:]))
        for branch, (head, name) in branches_of(registry_path, chosen).items()
    )
    graph = Graph("registry", folder_of(registry_path) / registry.shared.file, heads)
    profile = Profile("full", (graph,), registry.thresholds)
    encoder = WordEncoder.from_file(folder_of(registry_path) / registry.tokenizer.file)
    return Ensemble([(graph, TorchEngine(joined(registry_path, chosen)))], profile, encoder, settings)

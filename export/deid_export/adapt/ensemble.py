"""Run the served ensemble and keep the scores of every version for every word; used by error search and selection.

The stages are those of :class:`deid_runtime.pipeline.processing.Pipeline`. The models are those of
:class:`deid_runtime.models.tagger.ModelTagger`. They come from a repository of `deid-export models onnx`, or from a
registry whose models are not exported yet.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from deid_runtime.detectors.inclusion import load_inclusion
from deid_runtime.detectors.known import packaged_lines
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.templates import load_templates
from deid_runtime.errors import ModelError
from deid_runtime.models.manifest import Graph, HeadVersion, Profile
from deid_runtime.models.tagger import ModelTagger, load_tagger
from deid_runtime.models.words import WordCollector, Words, joined_words, read_words
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, Sentence, Span
from deid_runtime.system.closing import Closing
from deid_runtime.text.blocks import block_starts
from deid_runtime.text.reading.view import read_view
from deid_runtime.text.windows import WordEncoder


@dataclass(frozen=True, slots=True)
class Seen:
    """One note: its words with model scores, the spans of the whole ensemble, the spans of the rules alone."""

    note_id: str
    words: Words
    spans: tuple[Span, ...]
    ruled: tuple[Span, ...]


class Ensemble(Closing):
    """Models of one profile, and rules, loaded once. Use it as a context manager: leaving it frees the engines."""

    def __init__(self, tagger: ModelTagger, settings: Settings) -> None:
        """Take a loaded tagger, and load the rules of ``settings``."""
        self._tagger = tagger
        self.thresholds = tagger.thresholds
        self.heads = tuple(self.thresholds)
        self._words: dict[str, Words] = {}
        self._by_blocks = settings.window_borders == "blocks"
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
                by_blocks=self._by_blocks,
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
                words = self._words_of(view.text).located(view)
                outcomes.append(Seen(note.id, words, all_of_it.spans, by_rules.spans))
        return outcomes

    def words(self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]) -> list[Words]:
        """Return the words and scores of the given sentences of each text."""
        return read_words(self._tagger, texts, sentences)

    def _words_of(self, text: str) -> Words:
        """Return the words of a text that the pipeline has read, from those of its blocks."""
        starts = block_starts(text) if self._by_blocks else [0]
        return joined_words([(start, self._words[text[start:end]]) for start, end in pairwise([*starts, len(text)])])

    def _tag(self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]) -> list[list[Span]]:
        """Tag like the tagger of the pipeline, and keep the words of every block."""
        rows: list[list[Span]] = [[] for _ in texts]
        words = WordCollector(len(texts))
        for scored in self._tagger.scored(texts, sentences):
            self._tagger.decode(scored, texts, rows)
            words.add(scored)
        self._words |= zip(texts, words.collected(), strict=True)
        return [sorted(row) for row in rows]

    def close(self) -> None:
        """Free the engines."""
        self._tagger.close()


def load_exported(settings: Settings) -> Ensemble:
    """Load the ensemble of the model repository and profile that ``settings`` names.

    Raises ModelError when the models are missing or do not fit together, SettingsError when they lack the profile.
    """
    return Ensemble(load_tagger(replace(settings, trust_models=True)), settings)


def load_registered(
    registry_path: Path, settings: Settings, versions: Mapping[str, Sequence[str]] | None = None
) -> Ensemble:
    """Load the chosen versions of a registry, or the given ``versions`` by head, as the profile ``full`` serves them.

    Needs torch. Raises ModelError when a version is missing or the registry has no threshold for a head yet.
    """
    from deid_export.adapt.registry import folder_of, read_registry
    from deid_export.adapt.versions import branches_of, joined
    from deid_export.model.engine import TorchEngine
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
    engines = [(graph, TorchEngine(joined(registry_path, chosen)))]
    tagger = ModelTagger(
        engines,
        profile,
        settings.thresholds,
        encoder,
        settings.batch_windows,
        {},
        end_at_blank_lines=settings.window_borders == "blocks",
    )
    return Ensemble(tagger, settings)

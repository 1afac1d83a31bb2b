"""Improve the heads in rounds: run the ensemble, collect its errors, train the next version of each head on them.

The method is Supplementary Figure 1 of Murugadoss et al. 2021. One round::

    join the chosen versions -> error space of the notes -> excerpts, repeated, added to the training notes
        -> train the best version of each head on, shared layers frozen -> grade it on dev -> choose the best two

Each step is recorded in the registry when its result is on disk. The same call continues an interrupted round and gives
the same versions.
"""

import dataclasses
import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from deid_export.adapt.dev_words import DevWords
from deid_export.adapt.ensemble import load_registered
from deid_export.adapt.error_space import (
    ErrorSentence,
    excerpts,
    find_errors,
    read_errors,
    with_variants,
    write_errors,
)
from deid_export.adapt.grading import (
    OWN,
    HeadWords,
    best_threshold,
    combined,
    pick,
    read_words,
    write_words,
)
from deid_export.adapt.registry import (
    REGISTRY,
    ErrorsFound,
    Grade,
    Registry,
    Round,
    StoredFile,
    Version,
    read_registry,
    write_registry,
)
from deid_export.adapt.versions import (
    State,
    branch_state,
    branches_of,
    joined,
    save_branch,
    save_shared,
    shared_state,
    split,
    to_train,
    weights_sha256,
)
from deid_export.data.corpus import corpus_digest
from deid_export.model.engine import TorchEngine
from deid_export.train.batches import StreamSettings
from deid_export.train.training import Data, TrainSettings, tune_heads
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.labels import HEADS
from deid_runtime.models.manifest import sha256_of
from deid_runtime.settings import Settings
from deid_runtime.text.windows import WordEncoder

_log = logging.getLogger(__name__)

_TOKENIZER: Final = "tokenizer.json"


@dataclass(frozen=True, kw_only=True)
class IterateSettings:
    """Settings of one round. ``tokens`` is the budget for all heads together, padding included."""

    tokens: int = 800_000
    learning_rate: float = 1e-4
    repeat: int = 3  # of an excerpt in which only a head errs
    ensemble_repeat: int = 6  # of an excerpt in which the whole ensemble errs
    neighbours: int = 3  # sentences before and after an error that are learnt with it
    variants: int = 0  # resampled variants of each note that are also searched for errors
    remember: bool = True  # error sentences of earlier rounds stay in the training set, each once
    threads: int = 2
    checkpoint_every_s: float = 240.0
    seed: int = 17

    def recorded(self) -> dict[str, str | int | float | bool]:
        """Return the settings on which the weights depend."""
        settings = dataclasses.asdict(self)
        return {name: settings[name] for name in settings if name not in {"threads", "checkpoint_every_s"}}


@dataclass(frozen=True)
class Loop:
    """The data that every round needs besides its settings: training data, notes to search for errors, rules."""

    data: Data
    searched: Sequence[AnnotatedNote]
    rules: Settings
    stream: StreamSettings


def start(folder: Path, trained: Path, tokenizer: Path) -> Registry:
    """Split ``trained`` into ``folder`` as version v0 of its heads, and write the registry.

    Raises ModelError when the folder has a registry of another model, or when ``trained`` cannot be split.
    """
    shared, heads = split(trained)
    if (folder / REGISTRY).exists():
        registry = read_registry(folder)
        same = all(registry.find(head, "v0").weights.sha256 == weights_sha256(state) for head, state in heads.items())
        if not same:
            raise ModelError(f"{folder} has a registry that was started from other weights; choose another folder")
        return registry
    (folder / "heads").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(tokenizer, folder / _TOKENIZER)
    shared_sha256 = save_shared(shared, folder / "shared.pt")
    versions = tuple(
        _stored(folder, head, "v0", None, 0, state, shared_sha256) for head, state in heads.items() if head in HEADS
    )
    registry = Registry(
        shared=StoredFile(file="shared.pt", sha256=shared_sha256),
        tokenizer=StoredFile(file=_TOKENIZER, sha256=sha256_of(folder / _TOKENIZER)),
        versions=versions,
        chosen={version.head: (version.name,) for version in versions},
        thresholds={},
    )
    write_registry(folder, registry)
    return registry


def iterate(folder: Path, heads: Sequence[str], loop: Loop, settings: IterateSettings) -> Registry:
    """Run one round for ``heads`` (all when empty), or continue the interrupted one.

    Raises SettingsError when an interrupted round has other data or settings, or when a head is unknown.
    """
    registry = read_registry(folder)
    unknown = set(heads) - set(registry.heads)
    if unknown:
        raise SettingsError(f"this registry has no head {sorted(unknown)}; it has {', '.join(registry.heads)}")
    if not loop.data.dev:
        raise SettingsError(
            "there are no dev notes; versions can be compared only on annotated notes on which none was trained"
        )
    torch.set_num_threads(settings.threads)
    encoder = WordEncoder.from_file(folder / registry.tokenizer.file)
    registry = _graded(folder, registry, loop.data.dev, encoder)
    round_ = _round(registry, [head for head in registry.heads if head in heads or not heads], loop, settings)
    write_registry(folder, registry := registry.with_round(round_))
    if round_.errors is None:
        round_ = dataclasses.replace(round_, errors=_search(folder, round_, loop, settings))
        write_registry(folder, registry := registry.with_round(round_))
    if not any(version.round == round_.number for version in registry.versions):
        registry = _train(folder, registry, round_, loop, encoder, settings)
        write_registry(folder, registry)
        shutil.rmtree(folder / "work", ignore_errors=True)
    registry = _graded(folder, registry, loop.data.dev, encoder)
    registry = registry.with_round(dataclasses.replace(round_, done=True))
    write_registry(folder, registry)
    return registry


def abandon(folder: Path) -> Registry:
    """Drop an interrupted round, if there is one, and its files."""
    registry = read_registry(folder)
    rounds = tuple(round_ for round_ in registry.rounds if round_.done)
    kept = {round_.number for round_ in rounds} | {0}
    versions = tuple(version for version in registry.versions if version.round in kept)
    registry = _choose(folder, dataclasses.replace(registry, rounds=rounds, versions=versions))
    write_registry(folder, registry)
    shutil.rmtree(folder / "work", ignore_errors=True)
    return registry


def _round(registry: Registry, heads: Sequence[str], loop: Loop, settings: IterateSettings) -> Round:
    """Return the interrupted round, or the next one."""
    wanted = Round(
        number=len(registry.rounds) + 1,
        heads=tuple(heads),
        settings=settings.recorded(),
        notes_sha256=corpus_digest(loop.data.notes),
        notes=len(loop.data.notes),
        searched_sha256=corpus_digest(loop.searched),
        searched=len(loop.searched),
    )
    if not registry.rounds or registry.rounds[-1].done:
        return wanted
    begun = registry.rounds[-1]
    wanted = dataclasses.replace(wanted, number=begun.number, errors=begun.errors)
    differing = [f.name for f in dataclasses.fields(Round) if getattr(begun, f.name) != getattr(wanted, f.name)]
    if differing:
        raise SettingsError(
            f"round {begun.number} was interrupted and had other {', '.join(differing)}; run it again as it was "
            "started, or drop it with --abandon"
        )
    _log.info("continuing round %d", begun.number)
    return begun


def _search(folder: Path, round_: Round, loop: Loop, settings: IterateSettings) -> ErrorsFound:
    _log.info("round %d: searching %d notes for errors", round_.number, len(loop.searched))
    with load_registered(folder, loop.rules) as ensemble:
        found = find_errors(ensemble, _searched(loop, round_, settings))
    file = f"rounds/{round_.number}.jsonl"
    sha256 = write_errors(folder / file, found.sentences)
    _log.info("round %d: %d error sentences", round_.number, len(found.sentences))
    return ErrorsFound(file=StoredFile(file=file, sha256=sha256), by_head=found.by_head, ruled_wrong=found.ruled_wrong)


def _searched(loop: Loop, round_: Round, settings: IterateSettings) -> list[tuple[int, AnnotatedNote]]:
    seed = settings.seed + round_.number
    return list(with_variants(loop.searched, settings.variants, loop.data.lists, seed))


def _train(
    folder: Path, registry: Registry, round_: Round, loop: Loop, encoder: WordEncoder, settings: IterateSettings
) -> Registry:
    """Train the next version of each head of the round, starting from its best version, and store it."""
    parents = {head: registry.chosen[head][0] for head in round_.heads}
    train_settings = TrainSettings(
        base="",
        head_tokens=settings.tokens,
        head_learning_rate=settings.learning_rate,
        threads=settings.threads,
        checkpoint_every_s=settings.checkpoint_every_s,
        seed=settings.seed + round_.number,
    )
    model = to_train(folder, parents, dropout=train_settings.dropout)
    data = dataclasses.replace(loop.data, dev=(), focus=_focus(folder, registry, round_, loop, settings))
    _log.info("round %d: learning from %d stretches, repeats included", round_.number, len(data.focus))
    # Differs from the seed of earlier rounds and of the first training, so that the notes are resampled differently.
    stream = dataclasses.replace(loop.stream, seed=settings.seed + 1000 * (round_.number + 1))
    work = folder / "work"
    work.mkdir(exist_ok=True)
    tune_heads(model, data, encoder, train_settings, stream, f"round{round_.number}", work)
    state = model.state_dict()
    if weights_sha256(shared_state(state)) != registry.shared.sha256:
        raise ModelError("training changed the shared layers; this is a defect, please report it")
    for head in round_.heads:
        name = f"v{len(registry.of_head(head))}"
        branch = branch_state(state, head)
        registry = registry.with_version(
            _stored(folder, head, name, parents[head], round_.number, branch, registry.shared.sha256)
        )
    return registry


def _focus(
    folder: Path, registry: Registry, round_: Round, loop: Loop, settings: IterateSettings
) -> list[AnnotatedNote]:
    """Return the excerpts of this round, repeated as set, and the excerpts of earlier rounds once each."""
    assert round_.errors is not None
    notes = _searched(loop, round_, settings)
    current = read_errors(folder / round_.errors.file.file, round_.errors.file.sha256)
    found = excerpts(
        notes,
        current,
        heads=round_.heads,
        neighbours=settings.neighbours,
        repeat=settings.repeat,
        ensemble_repeat=settings.ensemble_repeat,
    )
    if not settings.remember:
        return found
    known = {(sentence.text_sha256, sentence.start) for sentence in current}
    earlier: list[ErrorSentence] = []
    for before in registry.rounds:
        if before.done and before.errors is not None:
            for sentence in read_errors(folder / before.errors.file.file, before.errors.file.sha256):
                # Variants are drawn again in every round, so only the annotated notes themselves can be found again.
                if sentence.variant == 0 and (sentence.text_sha256, sentence.start) not in known:
                    known.add((sentence.text_sha256, sentence.start))
                    earlier.append(sentence)
    available = [(0, note) for note in {note.text: note for note in (*loop.data.notes, *loop.searched)}.values()]
    return found + excerpts(
        available, earlier, heads=round_.heads, neighbours=settings.neighbours, repeat=1, ensemble_repeat=1
    )


def _stored(
    folder: Path, head: str, name: str, parent: str | None, number: int, state: State, shared_sha256: str
) -> Version:
    file = f"heads/{head}.{name}.pt"
    sha256 = save_branch(state, head, shared_sha256, folder / file)
    return Version(head=head, name=name, parent=parent, round=number, weights=StoredFile(file=file, sha256=sha256))


def _graded(folder: Path, registry: Registry, dev: Sequence[AnnotatedNote], encoder: WordEncoder) -> Registry:
    """Grade the versions that have no grade on these dev notes, choose, and write the registry."""
    words = DevWords(dev, encoder)
    ungraded: dict[str, tuple[str, ...]] = {}
    for head in registry.heads:
        names = tuple(v.name for v in registry.of_head(head) if v.grade is None or v.grade.dev_sha256 != words.sha256)
        if names:
            ungraded[head] = names
    if not ungraded:
        return registry
    _log.info("grading %s", ", ".join(f"{head} {' '.join(names)}" for head, names in ungraded.items()))
    branches = branches_of(folder, ungraded)
    scores = words.scores(TorchEngine(joined(folder, ungraded)))
    for row, (head, name) in zip(scores, branches.values(), strict=True):
        of_head = HeadWords(row, words.gold(head))
        best = best_threshold(of_head)
        file = f"dev/{head}.{name}.npz"
        write_words(folder / file, of_head)
        grade = Grade(
            dev_sha256=words.sha256,
            gold_words=int((of_head.gold == OWN).sum()),
            threshold=best.threshold,
            precision=best.precision,
            recall=best.recall,
            merit=best.merit,
            words=file,
        )
        registry = registry.with_version(dataclasses.replace(registry.find(head, name), grade=grade))
    registry = _choose(folder, registry)
    write_registry(folder, registry)
    return registry


def _choose(folder: Path, registry: Registry) -> Registry:
    """Choose the best versions of every graded head; of an ungraded head, choose the first version."""

    def words_of(version: Version) -> HeadWords:
        assert version.grade is not None
        return read_words(folder / version.grade.words)

    chosen = {}
    thresholds = {}
    for head in registry.heads:
        graded = [version for version in registry.of_head(head) if version.grade is not None]
        chosen[head] = pick(graded, words_of) if graded else (registry.of_head(head)[0].name,)
        if graded:
            together = combined([words_of(registry.find(head, name)) for name in chosen[head]])
            thresholds[head] = best_threshold(together).threshold
    return dataclasses.replace(registry, chosen=chosen, thresholds=thresholds)


def table(registry: Registry) -> str:
    """Return a table of all versions with their grades; serving versions are marked with their rank."""
    lines = ["head           version  parent  round  threshold  precision  recall      F2  serves"]
    for head in registry.heads:
        for version in registry.of_head(head):
            chosen = registry.chosen[head]
            place = str(chosen.index(version.name) + 1) if version.name in chosen else ""
            cells = f"{head:<14} {version.name:<8} {version.parent or '-':<7} {version.round:>5}"
            if (grade := version.grade) is not None:
                cells += (
                    f"  {grade.threshold:>9.2f}  {grade.precision:>9.4f}  {grade.recall:>6.4f}  {grade.merit:>6.4f}"
                )
            lines.append(f"{cells}  {place:>6}".rstrip())
    return "\n".join(lines)


def error_table(errors: ErrorsFound) -> str:
    """Return the error counts of a round as a table."""
    lines = ["head            missed   wrong  missed by all  wrong in all  sentences"]
    for head, counts in errors.by_head.items():
        lines.append(
            f"{head:<14} {counts.missed:>7} {counts.wrong:>7} {counts.ensemble_missed:>14} {counts.ensemble_wrong:>13} "
            f"{counts.sentences:>10}"
        )
    lines.append(f"wrong by rules alone: {errors.ruled_wrong} tokens")
    return "\n".join(lines)

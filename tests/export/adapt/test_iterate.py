"""Test the iterative framework end to end: a very small real BERT learns from the errors of the ensemble."""

import dataclasses
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("transformers", reason="training needs transformers")

import torch
from click.testing import CliRunner

from deid_export.adapt.ensemble import Seen, load_registered
from deid_export.adapt.error_space import read_errors
from deid_export.adapt.grading import read_words
from deid_export.adapt.iterate import IterateSettings, Loop, abandon, iterate, start
from deid_export.adapt.registry import Registry, read_registry
from deid_export.cli.main import main
from deid_export.data.gazetteers import load_gazetteers
from deid_export.model.tagger import load
from deid_export.train.batches import StreamSettings
from deid_export.train.training import Data
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.labels import HEADS
from deid_runtime.settings import Settings
from deid_runtime.spans import Note
from tests.export.lists import write_lists
from tests.export.tiny_model import LINES, annotated, write_base, write_trained

QUICK = IterateSettings(tokens=32_000, learning_rate=6e-3, threads=1, neighbours=1)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trained(tmp_path_factory.mktemp("trained") / "heads.pt", base)


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Loop:
    lists = load_gazetteers(write_lists(tmp_path_factory.mktemp("lists") / "lists"))
    data = Data(annotated(), [["no fever.", "denies pain."]], lists, annotated(4, first=20))
    # Small batches without resampling, so that a few seconds of training have an effect.
    stream = StreamSettings(batch_tokens=128, resample=False, word_dropout=0.0)
    return Loop(data, annotated(4, first=30), Settings(), stream)


@pytest.fixture(scope="module")
def after(base: Path, trained: Path, loop: Loop, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Registry]:
    folder = tmp_path_factory.mktemp("registry")
    start(folder, trained, base / "tokenizer.json")
    return folder, iterate(folder, [], loop, QUICK)


def test_the_next_versions_are_better_and_know_their_parents(after: tuple[Path, Registry]) -> None:
    folder, registry = after

    assert read_registry(folder) == registry
    for head in HEADS:
        first, second = registry.of_head(head)
        assert (first.name, first.parent, first.round) == ("v0", None, 0)
        assert (second.name, second.parent, second.round) == ("v1", "v0", 1)
        assert first.grade is not None
        assert second.grade is not None
        assert first.grade.gold_words == second.grade.gold_words > 0
        assert second.grade.merit > first.grade.merit
        assert registry.chosen[head] == ("v1", "v0")
        assert 0 < registry.thresholds[head] < 1
    age = registry.find("age", "v1").grade
    assert age is not None
    assert age.merit > 0.9


def test_the_round_is_on_record_without_text(after: tuple[Path, Registry]) -> None:
    folder, registry = after
    [done] = registry.rounds

    assert done.done
    assert (done.number, done.heads, done.notes, done.searched) == (1, tuple(HEADS), 12, 4)
    assert done.settings["tokens"] == QUICK.tokens
    assert done.errors is not None
    assert done.errors.by_head["name"].sentences > 0
    sentences = read_errors(folder / done.errors.file.file, done.errors.file.sha256)
    assert {sentence.note for sentence in sentences} <= {"n30", "n31", "n32", "n33"}
    for path in (folder / "registry.json", folder / done.errors.file.file):
        assert not any(word in path.read_text() for word in ("alma", "quist", "elko", "falk"))
    assert not (folder / "work").exists()


def test_the_shared_layers_stay_and_every_version_fits_them(after: tuple[Path, Registry], tmp_path: Path) -> None:
    folder, registry = after
    out = tmp_path / "full.pt"
    result = CliRunner().invoke(main, ["adapt", "versions", str(folder), "-o", str(out)])

    assert result.exit_code == 0, result.output
    assert load(out).shape.heads == tuple(f"{head}@{name}" for head in HEADS for name in registry.chosen[head])
    saved = torch.load(folder / "heads" / "name.v1.pt", weights_only=True)
    assert saved["shared_sha256"] == registry.shared.sha256


def test_versions_are_listed_and_single_ones_joined(after: tuple[Path, Registry], tmp_path: Path) -> None:
    folder, registry = after
    listed = CliRunner().invoke(main, ["adapt", "versions", str(folder)]).output
    assert listed.splitlines()[1].startswith("name           v0       -")
    assert len(listed.splitlines()) == 1 + 2 * len(HEADS)

    for place in ("1", "2"):
        out = tmp_path / f"{place}.pt"
        arguments = ["adapt", "versions", str(folder), "-o", str(out), "--place", place, "--head", "age=v1,v0"]
        assert CliRunner().invoke(main, arguments).exit_code == 0
        expected = f"name@{registry.chosen['name'][int(place) - 1]}"
        heads = load(out).shape.heads
        assert heads[0] == expected
        assert [head for head in heads if head.startswith("age")] == ["age@v1", "age@v0"]
    wrong = CliRunner().invoke(main, ["adapt", "versions", str(folder), "-o", str(out), "--head", "age=v9"])
    assert wrong.exit_code == 2
    assert "no version age=v9" in wrong.output


def test_the_ensemble_of_a_registry_finds_what_was_learnt(after: tuple[Path, Registry]) -> None:
    folder, _ = after
    note = annotated(1, first=40)[0]
    with load_registered(folder, Settings()) as ensemble:
        [seen] = ensemble.run([Note(note.id, note.text)])

    assert isinstance(seen, Seen)
    assert "67" in {note.text[span.start : span.end] for span in seen.spans if "model:age" in span.sources}
    assert all(scores.shape == (2, len(seen.words.starts)) for scores in seen.words.versions.values())


class Interrupting(list[AnnotatedNote]):
    """Notes that raise KeyboardInterrupt, as Ctrl-C does, on the read with number ``last``."""

    reads = 0
    last = 2

    def __iter__(self) -> Iterator[AnnotatedNote]:
        self.reads += 1
        if self.reads == self.last:
            raise KeyboardInterrupt
        return super().__iter__()


def interrupted(loop: Loop, last: int) -> Loop:
    notes = Interrupting(loop.data.notes)
    notes.last = last
    return dataclasses.replace(loop, data=dataclasses.replace(loop.data, notes=notes))


def test_an_interrupted_round_goes_on_to_the_same_versions(
    base: Path, trained: Path, loop: Loop, after: tuple[Path, Registry], tmp_path: Path
) -> None:
    _, expected = after
    start(tmp_path, trained, base / "tokenizer.json")
    for last in (1, 3, 4):  # in the digest before the round, in the stream, and after a checkpoint
        with pytest.raises(KeyboardInterrupt):
            iterate(tmp_path, [], interrupted(loop, last), dataclasses.replace(QUICK, checkpoint_every_s=0.0))
    begun = read_registry(tmp_path)
    assert [round_.done for round_ in begun.rounds] == [False]
    assert [version.name for version in begun.versions] == ["v0"] * len(HEADS)
    assert (tmp_path / "work" / "round1.checkpoint.pt").is_file()

    with pytest.raises(SettingsError, match=r"round 1 was interrupted and had other settings; .* --abandon"):
        iterate(tmp_path, [], loop, dataclasses.replace(QUICK, repeat=9))
    assert iterate(tmp_path, [], loop, QUICK) == expected
    assert not (tmp_path / "work").exists()


def test_one_head_alone_is_trained_and_earlier_errors_are_remembered(
    after: tuple[Path, Registry], loop: Loop, tmp_path: Path
) -> None:
    folder, before = after
    shutil.copytree(folder, tmp_path / "copy")
    searched = dataclasses.replace(loop, searched=annotated(2, first=50))
    registry = iterate(tmp_path / "copy", ["age"], searched, dataclasses.replace(QUICK, tokens=2_000, variants=1))

    assert [version.name for version in registry.of_head("age")] == ["v0", "v1", "v2"]
    assert registry.find("age", "v2").parent == before.chosen["age"][0]
    assert registry.of_head("name") == before.of_head("name")
    assert [round_.number for round_ in registry.rounds] == [1, 2]
    assert registry.rounds[0] == before.rounds[0]
    with pytest.raises(SettingsError, match="no head"):
        iterate(tmp_path / "copy", ["toe"], loop, QUICK)


def test_other_dev_notes_grade_all_versions_anew(after: tuple[Path, Registry], loop: Loop, tmp_path: Path) -> None:
    folder, before = after
    shutil.copytree(folder, tmp_path / "copy")
    other = dataclasses.replace(loop, data=dataclasses.replace(loop.data, dev=annotated(2, first=60)))
    with pytest.raises(KeyboardInterrupt):
        iterate(tmp_path / "copy", ["age"], interrupted(other, 1), QUICK)
    registry = read_registry(tmp_path / "copy")

    old = {version.grade.dev_sha256 for version in before.versions if version.grade}
    new = {version.grade.dev_sha256 for version in registry.versions if version.grade}
    assert len(old) == len(new) == 1
    assert old != new
    grade = registry.find("name", "v1").grade
    assert grade is not None
    assert int((read_words(tmp_path / "copy" / grade.words).gold == 1).sum()) == grade.gold_words


def test_an_abandoned_round_leaves_no_trace_in_the_registry(
    after: tuple[Path, Registry], loop: Loop, tmp_path: Path
) -> None:
    folder, before = after
    shutil.copytree(folder, tmp_path / "copy")
    with pytest.raises(KeyboardInterrupt):
        iterate(tmp_path / "copy", ["age"], interrupted(loop, 3), QUICK)
    assert len(read_registry(tmp_path / "copy").rounds) == 2

    assert abandon(tmp_path / "copy") == before
    assert not (tmp_path / "copy" / "work").exists()


def test_without_dev_notes_nothing_is_compared(after: tuple[Path, Registry], loop: Loop) -> None:
    with pytest.raises(SettingsError, match="no dev notes"):
        iterate(after[0], [], dataclasses.replace(loop, data=dataclasses.replace(loop.data, dev=[])), QUICK)


def test_versions_without_a_grade_cannot_be_run(base: Path, trained: Path, tmp_path: Path) -> None:
    start(tmp_path, trained, base / "tokenizer.json")

    with pytest.raises(ModelError, match="run `deid-export adapt iterate`"):
        load_registered(tmp_path, Settings())


def tagged(folder: Path, name: str, lines: int) -> str:
    text = "\n".join(LINES[:lines])
    (folder / f"{name}.txt").write_text(f"%% patient id={name}\n%% note id={name}-1\n{text}\n", encoding="utf-8")
    return str(folder / f"{name}.txt")


def test_command_line_runs_two_rounds_and_tells_errors_in_one_line(base: Path, trained: Path, tmp_path: Path) -> None:
    common = [
        "adapt", "iterate", str(tmp_path / "registry"), "--notes", tagged(tmp_path, "p", 4),
        "--dev", tagged(tmp_path, "d", 3),
        "--lists", str(write_lists(tmp_path / "lists")), "--base", str(base), "--tokens", "600", "--threads", "1",
    ]  # fmt: skip
    missing = CliRunner().invoke(main, common)
    assert missing.exit_code == 2
    assert "start one with --trained" in missing.output

    result = CliRunner().invoke(main, [*common, "--trained", str(trained), "--rounds", "2"])

    assert result.exit_code == 0, result.output
    assert "round 2: errors of the ensemble in 1 notes" in result.output
    assert json.loads((tmp_path / "registry" / "registry.json").read_text())["rounds"][1]["done"] is True
    assert [version.name for version in read_registry(tmp_path / "registry").of_head("age")] == ["v0", "v1", "v2"]

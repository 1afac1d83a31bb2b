"""Test the registry file: it round-trips, damage is named, and an interrupted write leaves the old file."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from deid_export.adapt.registry import (
    ErrorCounts,
    ErrorsFound,
    Grade,
    Registry,
    Round,
    StoredFile,
    Version,
    locked,
    read_registry,
    write_registry,
)
from deid_runtime.errors import ModelError, OutputError

GRADE = Grade(
    dev_sha256="d", gold_words=10, threshold=0.2, precision=0.9, recall=1, merit=0.978, words="dev/name.v0.npz"
)
FIRST = Version(
    head="name", name="v0", parent=None, round=0, weights=StoredFile(file="heads/name.v0.pt", sha256="1"), grade=GRADE
)
SECOND = Version(head="name", name="v1", parent="v0", round=1, weights=StoredFile(file="heads/name.v1.pt", sha256="2"))
ERRORS = ErrorsFound(
    file=StoredFile(file="rounds/1.jsonl", sha256="e"), by_head={"name": ErrorCounts(missed=2)}, ruled_wrong=1
)
ROUND = Round(
    number=1,
    heads=("name",),
    settings={"tokens": 10, "learning_rate": 0.1, "remember": True},
    notes_sha256="n",
    notes=3,
    searched_sha256="s",
    searched=4,
    errors=ERRORS,
)
REGISTRY = Registry(
    shared=StoredFile(file="shared.pt", sha256="0"),
    tokenizer=StoredFile(file="tokenizer.json", sha256="t"),
    versions=(FIRST, SECOND),
    chosen={"name": ("v0",)},
    thresholds={"name": 0.2},
    rounds=(ROUND,),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_registry(tmp_path, REGISTRY)

    assert read_registry(tmp_path) == REGISTRY
    assert read_registry(tmp_path / "registry.json") == REGISTRY
    assert isinstance(read_registry(tmp_path).find("name", "v0").grade, Grade)
    assert [path.name for path in tmp_path.iterdir()] == ["registry.json"]


def test_versions_and_rounds_take_the_place_of_their_like() -> None:
    graded = dataclasses.replace(SECOND, grade=GRADE)
    done = dataclasses.replace(ROUND, done=True)
    registry = REGISTRY.with_version(graded).with_round(done)

    assert registry.versions == (FIRST, graded)
    assert registry.rounds == (done,)
    assert registry.with_version(dataclasses.replace(SECOND, name="v2")).of_head("name")[-1].name == "v2"
    with pytest.raises(ModelError, match="no version name=v7; it has name=v0, name=v1"):
        registry.find("name", "v7")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda c: c.update(format=99), "not a registry of format 1"),
        (lambda c: c.pop("chosen"), r"registry\.json has \["),
        (lambda c: c["versions"][1].update(round="one"), r"versions\[1\]: round is str; expected int"),
        (lambda c: c["versions"][0]["grade"].pop("merit"), r"versions\[0\]: grade has"),
        (lambda c: c["rounds"][0]["errors"]["by_head"]["name"].update(missed=None), r"by_head\['name'\]: missed is"),
        (lambda c: c["rounds"][0].update(settings={"tokens": []}), r"settings\['tokens'\] is list"),
        (lambda c: c.update(versions={}), "versions is dict"),
    ],
)
def test_a_damaged_file_is_told_with_the_place(tmp_path: Path, damage: object, message: str) -> None:
    write_registry(tmp_path, REGISTRY)
    content = json.loads((tmp_path / "registry.json").read_text())
    damage(content)  # type: ignore[operator]
    (tmp_path / "registry.json").write_text(json.dumps(content))

    with pytest.raises(ModelError, match=message):
        read_registry(tmp_path)


def test_no_registry_and_half_a_registry_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"start one with --trained heads\.pt"):
        read_registry(tmp_path)
    (tmp_path / "registry.json").write_text('{"format": 1, ')
    with pytest.raises(ModelError, match="cannot be read as JSON"):
        read_registry(tmp_path)


KILLED = """
import os, signal, sys
from pathlib import Path
from deid_export.adapt import registry

real = os.fsync
def fsync(handle):
    real(handle)
    os.kill(os.getpid(), signal.SIGKILL)  # as the machine might, the new file written and not yet in place
os.fsync = fsync
found = registry.read_registry(Path(sys.argv[1]))
registry.write_registry(Path(sys.argv[1]), found.with_version(found.versions[0]).with_round(found.rounds[0]))
"""


def test_a_writer_that_is_killed_leaves_the_registry_of_before(tmp_path: Path) -> None:
    write_registry(tmp_path, REGISTRY)

    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], env={"PYTHONPATH": ":".join(sys.path)})

    assert killed.returncode == -9
    assert read_registry(tmp_path) == REGISTRY
    write_registry(tmp_path, dataclasses.replace(REGISTRY, rounds=()))
    assert read_registry(tmp_path).rounds == ()
    assert [path.name for path in tmp_path.iterdir()] == ["registry.json"]


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(OutputError, match="another iteration"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass

"""Run a recipe: one file with all steps from base models and notes to the graphs of the package.

A recipe is TOML. ``[inputs]`` names files below the data folder with their SHA-256. Each ``[[step]]`` has a name, the
files that it ``makes``, and either a ``run`` (arguments of ``deid-export``) or a ``git`` (a file of an earlier commit).
``{data}``, ``{out}`` and ``{project}`` stand for the folders. A step that was already done with the same arguments and
inputs is skipped. An interrupted training continues from its checkpoint.
"""

import hashlib
import json
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from deid_runtime.errors import InputError, SourceError
from deid_runtime.models.manifest import sha256_of

STATE_FILE: Final = "recipe-state.json"


@dataclass(frozen=True, slots=True)
class Step:
    """One step. ``run`` has the arguments of ``deid-export``; ``git`` commit, path and SHA-256 of a file to extract."""

    name: str
    run: tuple[str, ...]
    git: Mapping[str, str]
    makes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe; ``inputs`` maps the path of each input below the data folder to its SHA-256."""

    inputs: Mapping[str, str]
    steps: tuple[Step, ...]


def read_recipe(path: Path) -> Recipe:
    """Read a recipe. Raises SourceError that names the step when it is not TOML or a part is missing."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: not TOML in UTF-8 ({type(error).__name__})") from None
    steps = []
    for number, row in enumerate(content.get("step", []), start=1):
        if not isinstance(row.get("name"), str) or ("run" in row) == ("git" in row) or not row.get("makes"):
            raise SourceError(f"{path}: step {number} needs `name`, `makes`, and either `run` or `git`")
        steps.append(Step(row["name"], tuple(row.get("run", ())), dict(row.get("git", {})), tuple(row["makes"])))
    if not steps:
        raise SourceError(f"{path}: no [[step]]")
    return Recipe(dict(content.get("inputs", {})), tuple(steps))


def run_recipe(
    recipe: Recipe,
    folders: Mapping[str, Path],
    export: Callable[[Sequence[str]], None],
    tell: Callable[[str], None],
    *,
    until: str | None = None,
) -> None:
    """Run the steps that are not done, in order, up to and including the one named ``until``.

    ``folders`` are the values of the placeholders. ``export`` runs ``deid-export`` with the given arguments. ``tell``
    receives a line before every step. Raises SourceError for an input with another digest, InputError for a step that
    did not make its output.
    """
    for name, digest in recipe.inputs.items():
        path = folders["data"] / name
        if not path.is_file() or sha256_of(path) != digest:
            raise SourceError(
                f"{path}: missing, or not the file of the recipe (SHA-256 {digest[:12]}...); download it again"
            )
    out = folders["out"]
    out.mkdir(parents=True, exist_ok=True)
    state_path = out / STATE_FILE
    state: dict[str, Any] = json.loads(state_path.read_text()) if state_path.is_file() else {}
    before = hashlib.sha256(json.dumps(recipe.inputs, sort_keys=True).encode()).hexdigest()
    for number, step in enumerate(recipe.steps, start=1):
        made = [_placed(each, folders) for each in step.makes]
        wanted = hashlib.sha256(json.dumps([before, step.run, dict(step.git)]).encode()).hexdigest()
        done = state.get(step.name)
        if done and done["step"] == wanted and done["made"] == _digests(made):
            tell(f"{number}/{len(recipe.steps)} {step.name}: done before")
        else:
            tell(f"{number}/{len(recipe.steps)} {step.name}")
            if step.git:
                _take(step.git, made[0], folders["project"])
            else:
                export([_placed(each, folders) for each in step.run])
            missing = [path for path in made if not Path(path).exists()]
            if missing:
                raise InputError(f"step {step.name} did not make {missing[0]}; see its messages above")
            state[step.name] = {"step": wanted, "made": _digests(made)}
            state_path.write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
        before = hashlib.sha256(json.dumps([before, wanted]).encode()).hexdigest()
        if step.name == until:
            return


def _placed(text: str, folders: Mapping[str, Path]) -> str:
    for name, folder in folders.items():
        text = text.replace(f"{{{name}}}", str(folder))
    return text


def _digests(paths: Sequence[str]) -> list[str]:
    """Return the SHA-256 of each file, or of the digests of a folder's files; empty for a missing path."""
    digests = []
    for path in map(Path, paths):
        if path.is_dir():
            files = sorted(each for each in path.rglob("*") if each.is_file())
            listed = [[each.relative_to(path).as_posix(), sha256_of(each)] for each in files]
            digests.append(hashlib.sha256(json.dumps(listed).encode()).hexdigest())
        else:
            digests.append(sha256_of(path) if path.is_file() else "")
    return digests


def _take(git: Mapping[str, str], to: str, project: Path) -> None:
    """Write a file as it is in a commit. Raises SourceError when it is missing or has another digest."""
    command = ["git", "-C", str(project), "show", f"{git['commit']}:{git['path']}"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode or hashlib.sha256(done.stdout).hexdigest() != git["sha256"]:
        raise SourceError(
            f"commit {git['commit']} with {git['path']} is not in this clone; fetch the whole history "
            "(`git fetch --unshallow`)"
        )
    Path(to).parent.mkdir(parents=True, exist_ok=True)
    Path(to).write_bytes(done.stdout)

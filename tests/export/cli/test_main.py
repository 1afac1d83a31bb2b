"""Test the tree of commands: its help, how commands end, and that the recipe of the release fits them."""

import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from deid_export.cli.main import main
from deid_export.cli.reports import ReportingGroup
from deid_runtime.errors import EngineError, InputError

PROJECT = Path(__file__).parents[3]


def commands(group: click.Group, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the full name of every command below ``group``, as a tuple of words."""
    found = []
    for name, command in group.commands.items():
        found += commands(command, (*above, name)) if isinstance(command, click.Group) else [(*above, name)]
    return found


@pytest.mark.parametrize("words", commands(main), ids=" ".join)
def test_every_command_has_help_that_says_what_it_does(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*words, "--help"])

    assert result.exit_code == 0
    assert len(result.output.splitlines()[2].split()) >= 3


def test_the_first_page_names_the_groups() -> None:
    assert set(main.commands) == {"corpus", "models", "adapt", "train", "recipe", "release", "completion"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands(shell: str) -> None:
    script = CliRunner().invoke(main, ["completion", shell])
    word = "cor" if shell == "fish" else "1"
    asked = {"_DEID_EXPORT_COMPLETE": f"{shell}_complete", "COMP_WORDS": "deid-export cor", "COMP_CWORD": word}
    answer = CliRunner().invoke(main, [], env=asked, prog_name="deid-export")

    assert "_DEID_EXPORT_COMPLETE" in script.output
    assert "corpus" in answer.output


def steps() -> list[list[str]]:
    content = tomllib.loads((PROJECT / "export" / "recipes" / "release.toml").read_text(encoding="utf-8"))
    return [step["run"] for step in content["step"] if "run" in step]


@pytest.mark.parametrize("step", steps(), ids=lambda step: step[step.index("-o") + 1])
def test_every_step_of_the_release_is_a_command_with_these_options(step: list[str]) -> None:
    words = [word.replace("{project}", str(PROJECT)) for word in step]
    command: click.Command = main
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    paths = [(each, each.type) for each in command.params if isinstance(each.type, click.Path)]
    for parameter, _ in paths:
        parameter.type = click.Path(path_type=Path)  # earlier steps make the input of a step
    try:
        context = command.make_context("step", words)
    finally:
        for parameter, kind in paths:
            parameter.type = kind

    assert context.params["out"]


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (InputError("note n1: too long"), 2, "deid-export: note n1: too long"),
        (EngineError("the engine failed"), 3, "deid-export: the engine failed"),
        (FileNotFoundError(2, "No such file or directory", "a.jsonl"), 2, "deid-export: a.jsonl: No such file"),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), 2, "pip install '.[export]'"),
        (ValueError("Seen by Dr. Orr"), 3, "unexpected ValueError, a defect of deid-export"),
        (KeyboardInterrupt(), 130, "run the same command again"),
    ],
)
def test_commands_end_with_the_codes_of_deid_and_one_line(error: BaseException, code: int, told: str) -> None:
    @click.group(cls=ReportingGroup)
    def group() -> None: ...

    @group.command()
    def fail() -> None:
        raise error

    result = CliRunner().invoke(group, ["fail"])

    assert result.exit_code == code
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Orr" not in result.output

"""Test the option ``--config`` of ``deid-export``: what a file sets, and what is a mistake in it."""

from pathlib import Path

import click
import cloup
import pytest
from click.testing import CliRunner, Result

from deid_export.cli.config import COMMANDS, configured
from deid_export.cli.main import main


def command_of(words: list[str]) -> click.Command:
    command: click.Command = main
    for word in words:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    return command


def settings(words: list[str], config: Path, *arguments: str) -> dict[str, object]:
    """Return the values of a command's parameters with this file, without running the command."""
    root = click.Context(main, info_name="deid-export")
    context = command_of(words).make_context(words[-1], ["--config", str(config), *arguments], parent=root)
    return context.params


def refused(words: list[str], config: Path) -> Result:
    return CliRunner().invoke(main, [*words, "--config", str(config)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("notes", "dev", "lists"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_a_file_sets_options_of_all_commands_and_of_one(folder: Path) -> None:
    config = folder / "site.toml"
    config.write_text('threads = 6\nlists = "lists"\n[train]\nnotes = ["notes"]\nseed = 3\n[iterate]\ndev = ["dev"]\n')

    train = settings(["train"], config, "-o", "run", "--seed", "4")
    iterate = settings(["adapt", "iterate"], config, "registry", "--notes", str(folder / "notes"))

    assert (train["threads"], train["notes"], train["lists"]) == (6, (folder / "notes",), folder / "lists")
    assert train["seed"] == 4  # the command line overrides the file
    assert (iterate["threads"], iterate["dev"], iterate["seed"]) == (6, (folder / "dev",), 17)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("thread = 6\n", "did you mean threads"),
        ("[adapt]\nseed = 1\n", r"expected one of [train]"),
        ("[train]\nregistry = 'a'\n", "not an option of `deid-export train`"),
        ("threads = 'many'\n", "expected a whole number"),
    ],
)
def test_a_mistake_in_the_file_is_wrong_use(folder: Path, content: str, told: str) -> None:
    config = folder / "site.toml"
    config.write_text(content)

    result = refused(["train"], config)

    assert result.exit_code == 2
    assert told in result.stderr
    assert str(config) in result.stderr


def test_all_commands_with_many_options_take_a_file_and_group_them() -> None:
    known = configured(main)

    assert tuple(known) == COMMANDS
    for command in known.values():
        assert isinstance(command, cloup.Command)
        assert len(command.option_groups) > 2

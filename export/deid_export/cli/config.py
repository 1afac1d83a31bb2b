"""The option ``--config`` of ``deid-export``: what a site sets once for training and adaptation."""

from collections.abc import Mapping
from typing import Final

import click

from deid_runtime.cli.config import config_option_of

#: The commands that read a configuration file; each may have a table in it.
COMMANDS: Final = ("train", "select", "iterate", "harvest")
CONFIG_VARIABLE: Final = "DEID_EXPORT_CONFIG"


def configured(root: click.Group) -> dict[str, click.Command]:
    """Return the commands of :data:`COMMANDS` by name, from the groups in which they stand."""
    groups = [root, *(command for command in root.commands.values() if isinstance(command, click.Group))]
    return {name: group.commands[name] for name in COMMANDS for group in groups if name in group.commands}


def _commands(context: click.Context) -> Mapping[str, click.Command]:
    root = context.find_root().command
    assert isinstance(root, click.Group)
    return configured(root)


config_option = config_option_of(
    "deid-export",
    _commands,
    CONFIG_VARIABLE,
    "TOML file with options, without the dashes: `threads = 8` for all of train, select, iterate and harvest, "
    "`[train]` for one.",
)

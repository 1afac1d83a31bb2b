"""``deid completion``: print a script with which a shell completes commands, options and their values."""

from typing import Final

import click
import cloup
from click.shell_completion import get_completion_class

from deid_runtime.cli.exits import reported

_HELP: Final = """Print a script for SHELL that completes commands, options and their values.

\b
bash:  echo 'eval "$({program} completion bash)"' >> ~/.bashrc
zsh:   echo 'eval "$({program} completion zsh)"' >> ~/.zshrc
fish:  {program} completion fish > ~/.config/fish/completions/{program}.fish
"""


def completion_of(program: str) -> click.Command:
    """Return the command ``completion`` of a program."""
    variable = f"_{program.upper().replace('-', '_')}_COMPLETE"  # the variable that click reads

    @cloup.command("completion", help=_HELP.format(program=program))
    @cloup.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
    @reported
    def completion(shell: str) -> None:
        made = get_completion_class(shell)
        assert made is not None
        root = click.get_current_context().find_root().command
        # Formatted here, because `script.source` would start bash to get its version.
        script = made(root, {}, program, variable)
        click.echo(script.source_template % script.source_vars())

    return completion


completion = completion_of("deid")

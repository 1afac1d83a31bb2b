"""``deid completion``: print a script with which a shell completes commands, options and their values."""

import click
import cloup
from click.shell_completion import get_completion_class

from deid_runtime.cli.exits import reported

_PROGRAM = "deid"
_VARIABLE = "_DEID_COMPLETE"


@cloup.command()
@cloup.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@reported
def completion(shell: str) -> None:
    """Print a script for SHELL that completes commands, options and their values.

    \b
    bash:  echo 'eval "$(deid completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(deid completion zsh)"' >> ~/.zshrc
    fish:  deid completion fish > ~/.config/fish/completions/deid.fish
    """
    made = get_completion_class(shell)
    assert made is not None
    root = click.get_current_context().find_root().command
    # Formatted here, since `script.source` would start bash to get its version.
    script = made(root, {}, _PROGRAM, _VARIABLE)
    click.echo(script.source_template % script.source_vars())

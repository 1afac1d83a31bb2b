"""``deid key``: make keys for surrogates, crosswalks and signatures, with one command for each."""

from pathlib import Path

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import reported


@cloup.group("key")
def key_group() -> None:
    """Make keys for surrogates, crosswalks and signatures of models."""


@key_group.command("new")
@cloup.argument("file", type=cli_options.PATH)
@reported
def new_key_file(file: Path) -> None:
    """Write a new random key to FILE, readable by its owner only.

    Keep it as long as you may process more notes of the same patients, and store it apart from the output. Without it,
    later runs give other surrogates. Anyone who has it can test guesses about the originals.
    """
    from deid_runtime.surrogates import write_key

    write_key(file)


@key_group.command("pair")
@cloup.argument("file", type=cli_options.PATH)
@reported
def key_pair(file: Path) -> None:
    """Write a new pair of keys for crosswalks: FILE, private, readable by you alone, and FILE.pub.

    Give FILE.pub to the person who runs `deid run --crosswalk`. FILE stays with the honest broker: without it no
    crosswalk can be read, and anyone who has it and a crosswalk can read all originals. The format is age, X25519.
    """
    from deid_runtime.run.crosswalk import write_key_pair

    click.echo(f"public key: {write_key_pair(file)}", err=True)


@key_group.command("signing-pair")
@cloup.argument("file", type=cli_options.PATH)
@reported
def signing_pair(file: Path) -> None:
    """Write a new pair of keys for signatures of models: FILE, private, readable by you alone, and FILE.pub.

    Give FILE.pub to the users of the models. Anyone who has FILE can sign models that they will accept. Ed25519, PEM.
    Needs the extra [signing].
    """
    from deid_runtime.system.signatures import write_signing_pair

    click.echo(f"public key: {write_signing_pair(file)}", err=True)

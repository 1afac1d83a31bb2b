"""``deid models``: sign models. For those who make models and confirm their origin."""

from pathlib import Path

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import reported


@cloup.group("models")
def models_group() -> None:
    """Work with folders of models."""


@models_group.command("sign")
@cloup.argument("folder", type=cli_options.FOLDER)
@click.option("--key", type=cli_options.FILE, required=True, help="Private key, from `deid key signing-pair`.")
@cli_options.allow_shared_key()
@reported
def sign(folder: Path, key: Path, allow_shared_key: bool) -> None:
    """Sign the models in FOLDER, which `deid-export` wrote, after all of their files were checked.

    Writes FOLDER/manifest.json.sig. Give FOLDER and the public key, by different ways, to those who use the models:
    `deid run --models FOLDER --models-key KEY.pub`. Sign again after every change. Needs the extra [signing].
    """
    from deid_runtime.models.signature import sign_models

    click.echo(f"signature: {sign_models(folder, key, allow_shared_key=allow_shared_key)}", err=True)

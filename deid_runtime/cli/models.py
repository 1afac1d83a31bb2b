"""``deid models``: sign models and check signed ones. For those who make models, and for those who install them."""

import sys
from pathlib import Path

import click
import cloup

from deid_runtime.cli import options as cli_options
from deid_runtime.cli.exits import ExitCode, reported


@cloup.group("models")
def models_group() -> None:
    """Work with folders of models."""


@models_group.command("sign")
@cloup.argument("folder", type=cli_options.FOLDER)
@click.option("--key", type=cli_options.FILE, required=True, help="Private key, from `deid key signing-pair`.")
@click.option("--release", default="", help="Version of the models, as `2.1.0`, to be asked for later.")
@cli_options.allow_shared_key()
@reported
def sign(folder: Path, key: Path, release: str, allow_shared_key: bool) -> None:
    """Sign the models in FOLDER, which `deid-export` wrote, after all of their files were checked.

    Writes FOLDER/release.json, a list of all files with their digests, and its signature FOLDER/release.json.sig. Give
    FOLDER and the public key, by different ways, to those who use the models: `deid run --models FOLDER --models-key
    KEY.pub`. Sign again after every change; a file that is added is a change. Needs the extra [signing].
    """
    from deid_runtime.models.signature import Origin, sign_models

    origin = Origin(version=release)
    click.echo(f"signature: {sign_models(folder, key, origin=origin, allow_shared_key=allow_shared_key)}", err=True)


@models_group.command("verify")
@cloup.argument("folder", type=cli_options.FOLDER)
@click.option("--key", type=cli_options.FILE, required=True, help="Public key of those who signed the models.")
@click.option("--release", help="Version that these models must be. An older release is signed too. Default: any.")
@reported
def verify(folder: Path, key: Path, release: str | None) -> None:
    """Check that the models in FOLDER are a signed release, and that no file or folder was changed, added or removed.

    FOLDER is a folder of models or a repository for a server. Every difference is one line on stdout. `deid run`, `deid
    serve` and the server's models make the same check when they are given --models-key.

    Exit codes: 0 when all is as it was signed; 1 when the signature is wrong, the version is another, or a file
    differs; 2 when there is no release, or the models do not fit this version of deid. Needs the extra [signing].
    """
    from deid_runtime.models.manifest import read_manifest, served_version
    from deid_runtime.models.signature import UnsignedError, check_covers, differences, read_release

    try:
        signed = read_release(folder, key)
    except UnsignedError as error:
        _refuse(folder, [str(error)])
    lines = differences(folder, signed)
    if release is not None and signed.version != release:
        lines.append(f"version {signed.version or 'not given'!r:.80}, expected {release!r}")
    if lines:
        _refuse(folder, lines)
    check_covers(read_manifest(folder), signed)
    click.echo(f"{folder}: release {signed.version or 'without a version'}, {len(signed.listing.files):,} files")
    for profile, digest in signed.content["models"].items():
        click.echo(f"{profile}: models {digest}, version {served_version(digest)} of the served model `deidentify`")
    for name, digest in signed.content["graphs"].items():
        click.echo(f"{name}: graph {digest}, served as version {served_version(digest)}")


def _refuse(folder: Path, lines: list[str]) -> None:
    for line in lines:
        click.echo(line)
    click.echo(f"deid: {folder} is not the signed release; do not use these models", err=True)
    sys.exit(ExitCode.HELD_BACK)

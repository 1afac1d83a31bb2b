"""``deid models``: sign models and check signed ones. For people who train models, and for people who install them."""

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
@click.option("--release", default="", help="Version of the models, for instance `2.1.0`, which users can require.")
@cli_options.allow_shared_key()
@reported
def sign(folder: Path, key: Path, release: str, allow_shared_key: bool) -> None:
    """Check all files of the models in FOLDER, which `deid-export` wrote, and sign them.

    Writes FOLDER/release.json, a list of all files with their digests, and its signature FOLDER/release.json.sig. Give
    FOLDER and the public key to the users of the models, through different channels: `deid run --models FOLDER
    --models-key KEY.pub`. Sign again after every change; an added file is a change. Needs the extra [signing].
    """
    from deid_runtime.models.signature import Origin, sign_models

    origin = Origin(version=release)
    click.echo(f"signature: {sign_models(folder, key, origin=origin, allow_shared_key=allow_shared_key)}", err=True)


@models_group.command("verify")
@cloup.argument("folder", type=cli_options.FOLDER)
@click.option("--key", type=cli_options.FILE, required=True, help="Public key of the signer of the models.")
@click.option(
    "--release",
    help="Version that these models must have: an older release is also signed. Default: any.",
)
@reported
def verify(folder: Path, key: Path, release: str | None) -> None:
    """Check that the models in FOLDER are a signed release, and that no file or folder was changed, added or removed.

    FOLDER is a folder of models or a repository for a server. Prints every difference as one line on stdout. `deid
    run`, `deid serve` and the server's models make the same check when they are given --models-key.

    Exit codes: 0 when nothing has changed since signing; 1 when the signature or the version is wrong, or a file
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

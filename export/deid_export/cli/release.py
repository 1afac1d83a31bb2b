"""``deid-export release``: write a signed bundle of models."""

from pathlib import Path

import click

from deid_runtime.cli import options as cli_options


@click.command()
@click.argument("source", type=cli_options.FOLDER)
@click.option("-o", "--out", type=cli_options.PATH, required=True, help="New folder to write.")
@click.option(
    "--key", type=cli_options.FILE, required=True, help="Private key of the signer, from `deid key signing-pair`."
)
@click.option(
    "--release",
    "version",
    required=True,
    help="Version of these models, such as `2.1.0`. Users can require it with `deid models verify --release`.",
)
@click.option("--card", type=cli_options.FILE, help="Model card. Default: MODEL_CARD.md of SOURCE.")
@click.option(
    "--recipe",
    "recipes",
    type=cli_options.FILE,
    multiple=True,
    help="Recipe of the models, or another file that documents it. The release has its digest. May be repeated.",
)
@cli_options.allow_shared_key()
def release(
    source: Path,
    out: Path,
    key: Path,
    version: str,
    card: Path | None,
    recipes: tuple[Path, ...],
    allow_shared_key: bool,
) -> None:
    """Copy SOURCE, models of `models onnx` or a repository of `models repository`, to the new folder OUT and sign it.

    OUT/release.json lists every file by digest, including configurations and programs, and names version, corpus,
    recipes and card; OUT/release.json.sig is its Ed25519 signature. `deid models verify`, and `deid run` and `deid
    serve` with
    --models-key, refuse the folder when any byte was changed or any file added or removed.
    """
    from deid_export.onnx.release import write_release

    manifest = write_release(
        source, out, key=key, version=version, card=card, recipes=recipes, allow_shared_key=allow_shared_key
    )
    click.echo(f"{out}: release {version}")
    for profile in manifest.profiles:
        click.echo(f"{profile}: models {manifest.profile_sha256(profile)}")

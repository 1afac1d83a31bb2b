"""``deid-export recipe``: make the models of the package from one file."""

from collections.abc import Sequence
from pathlib import Path

import click

_PROJECT = Path(__file__).parents[3]


@click.group()
def recipe() -> None:
    """Make models from a recipe file."""


@recipe.command("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="Folder of the public texts and lists that the recipe names by digest.",
)
@click.option(
    "-o", "--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for all results."
)
@click.option("--until", help="Stop after the step of this name.")
def run(file: Path, data: Path, out: Path, until: str | None) -> None:
    """Run the steps of recipe FILE that are not done yet; run it again to continue after an interruption.

    This takes hours on a laptop. export/recipes/release.toml makes the models of the package.
    """
    from deid_export.train.recipe import read_recipe, run_recipe

    command = click.get_current_context().find_root().command

    def export(arguments: Sequence[str]) -> None:
        command.main(list(arguments), standalone_mode=False)

    folders = {"data": data, "out": out, "project": _PROJECT}
    run_recipe(read_recipe(file), folders, export, click.echo, until=until)

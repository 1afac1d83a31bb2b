"""``deid-export head-cards``: a model card for each head, kept equal to what was measured."""

import json
from pathlib import Path

import click

_EXISTING = click.Path(exists=True, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("head-cards")
@click.argument("models", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--notes", type=_EXISTING, required=True, multiple=True, help="The annotated notes the heads learnt from."
)
@click.option(
    "--accuracy",
    type=_FILE,
    required=True,
    multiple=True,
    help="Results of benchmarks/accuracy.py with these models, one file for each profile.",
)
@click.option(
    "--update", type=_FILE, help="Page to write the cards into, between its marks. Default: print them."
)  # fmt: skip
def head_cards(models: Path, notes: tuple[Path, ...], accuracy: tuple[Path, ...], update: Path | None) -> None:
    """Write what each head of the repository MODELS learnt from, what it scores by label, and where it errs."""
    from deid_export.adapt.head_cards import MARK
    from deid_export.adapt.head_cards import head_cards as cards_of
    from deid_export.cli.errors import errors_in_one_line
    from deid_export.data.marked_tables import with_tables
    from deid_runtime.annotations.read import read_annotated

    with errors_in_one_line():
        manifest = json.loads((models / "manifest.json").read_text(encoding="utf-8"))
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in accuracy]
        cards = cards_of(
            manifest,
            read_annotated(notes),
            {report["run"]["pipeline"]["models"]["profile"]: report for report in reports},
        )
        if update is None:
            click.echo("\n\n".join(f"### {head}\n\n{card}" for head, card in cards.items()))
        else:
            update.write_text(with_tables(update.read_text(encoding="utf-8"), cards, MARK), encoding="utf-8")

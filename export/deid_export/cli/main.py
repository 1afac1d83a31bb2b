"""``deid-export``: one group of commands each for corpora, training, models, adaptation to a site, and recipes."""

import logging

import click
import cloup

from deid_export.cli import corpus as corpora
from deid_export.cli import models as trained
from deid_export.cli.harvest import harvest
from deid_export.cli.iterate import iterate, versions
from deid_export.cli.recipe import recipe
from deid_export.cli.release import release
from deid_export.cli.reports import ReportingGroup
from deid_export.cli.repository import repository
from deid_export.cli.review import review
from deid_export.cli.select import corrections, select
from deid_export.cli.train import train
from deid_runtime.cli.completion import completion_of
from deid_runtime.system.process_privacy import keep_private


@cloup.group(cls=ReportingGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option("--verbose", is_flag=True, help="Log the steps to stderr.")
def main(verbose: bool) -> None:
    """Train the models that `deid` serves, and adapt them to your own notes.

    Exit codes: 0 for success; 1 when notes were omitted, or a check found something; 2 wrong use or input; 3 failure of
    deid-export.
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(name)s: %(message)s")
    keep_private()


@cloup.group()
def corpus() -> None:
    """Check, count and convert annotated notes; mark public prose to train on."""


@cloup.group()
def models() -> None:
    """Convert trained models to the models that `deid` runs, and back; average, shrink, set thresholds."""


@cloup.group()
def adapt() -> None:
    """Adapt to your own notes: choose and annotate some, learn from errors, harvest lists and templates."""


for command in (corpora.check, corpora.card, corpora.convert, corpora.mark_prose):
    corpus.add_command(command)
for command in (
    trained.onnx,
    repository,
    trained.calibrate,
    trained.restore,
    trained.average,
    trained.shrink,
    trained.card,
):
    models.add_command(command)
for command in (select, corrections, iterate, versions, harvest, review):
    adapt.add_command(command)
main.section("Corpora and models", corpus, train, models)
main.section("Adaptation", adapt)
main.section("Recipes and releases", recipe, release)
main.section("This program", completion_of("deid-export"))


if __name__ == "__main__":
    main()

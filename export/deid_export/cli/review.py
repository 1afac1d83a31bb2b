"""``deid-export adapt review``: decide on harvested lines, and write the accepted ones for ``deid run``."""

from collections import Counter
from pathlib import Path

import click

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", type=_FILE)
@click.option(
    "--write",
    "out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Do not ask; write only the accepted lines to this file, for `deid run --inclusion` or --templates.",
)
@click.option(
    "--with-packaged",
    is_flag=True,
    help="With --write: put the list of the package before the accepted lines. `deid run` uses the file it is given "
    "instead of that of the package.",
)
@click.option(
    "--accept-all-above",
    type=click.IntRange(min=1),
    metavar="PATIENTS",
    help="Accept, unread, every pending line of at least this many patients. A name that the detectors miss may be "
    "frequent, too. Asks first, and marks the lines as decided in bulk.",
)
def review(file: Path, out: Path | None, with_packaged: bool, accept_all_above: int | None) -> None:
    """Decide about the lines of a review FILE from `deid-export adapt harvest`, one by one.

    Keys: a accept, r reject, s skip for now, b back, q quit. Every decision is saved at once; run it again to continue
    with the pending lines.
    """
    if with_packaged and out is None:
        raise click.UsageError("--with-packaged needs --write; add it")
    if out is not None and accept_all_above is not None:
        raise click.UsageError("--write and --accept-all-above are two steps; decide first, then write")
    if out is not None:
        _write(file, out, with_packaged=with_packaged)
    elif accept_all_above is not None:
        _accept(file, accept_all_above)
    else:
        _review(file)


def _review(file: Path) -> None:
    from rich.console import Console

    from deid_export.adapt.harvest.review import review_pending

    _tell(review_pending(file, Console(), _read_key))


def _read_key() -> str:
    try:
        return click.getchar()
    except EOFError:
        return ""
    except OSError:
        raise click.UsageError(
            "there is no terminal to ask in; run it in one, or use --accept-all-above or --write"
        ) from None


def _accept(file: Path, patients: int) -> None:
    from deid_export.adapt.harvest.candidates import read_review
    from deid_export.adapt.harvest.review import accept_above, bulk

    count = len(bulk(read_review(file), patients))
    if not count:
        click.echo(f"no pending line has {patients:,} patients or more; nothing was changed")
        return
    click.confirm(
        f"{count:,} lines with {patients:,} patients or more will be accepted without anyone having read them, and "
        "their text will stay in every output. Accept them?",
        abort=True,
    )
    click.echo(f"{accept_above(file, patients):,} lines accepted in bulk")


def _write(file: Path, out: Path, *, with_packaged: bool) -> None:
    from importlib.resources import files

    from deid_export.adapt.harvest.candidates import list_of, read_review, write_accepted

    candidates = read_review(file)
    name = list_of(candidates)
    before = (files("deid_runtime") / "data" / f"{name}.txt").read_bytes() if with_packaged else b""
    write_accepted(out, candidates, name, before=before)
    _tell(Counter(candidate.status for candidate in candidates))
    click.echo(f"for deid run: --{name} {out}" + ("" if with_packaged else " (instead of the list of the package)"))


def _tell(counts: Counter[str]) -> None:
    click.echo(f"{counts['accepted']:,} accepted, {counts['rejected']:,} rejected, {counts['pending']:,} pending")

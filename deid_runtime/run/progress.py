"""Show the progress of a run on stderr: a bar on a terminal, else a plain line every few seconds. Counts only."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

#: Called with the number of finished notes and the share of input bytes read, 0 to 1.
Report = Callable[[int, float], None]

_LINE_SECONDS = 5.0


@contextmanager
def progress(*, quiet: bool, stream: TextIO | None = None) -> Iterator[Report]:
    """Yield a function that takes the progress and shows it; with ``quiet`` it does nothing."""
    stream = stream or sys.stderr
    if quiet or stream is None:
        yield lambda notes, share: None
    elif stream.isatty():
        with _bar(stream) as report:
            yield report
    else:
        yield _lines(stream)


@contextmanager
def _bar(stream: TextIO) -> Iterator[Report]:
    # Imported here: this import takes longer than the rest of the command line, and only a terminal needs it.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[notes]:,} notes"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]:,.0f} notes/s"),
        TimeRemainingColumn(),
    )
    started = time.monotonic()
    with Progress(*columns, console=Console(file=stream)) as bar:
        task = bar.add_task("", total=1.0, notes=0, rate=0.0)

        def report(notes: int, share: float) -> None:
            bar.update(task, completed=share, notes=notes, rate=_rate(notes, started))

        yield report


def _lines(stream: TextIO) -> Report:
    started = last = time.monotonic()

    def report(notes: int, share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_SECONDS:
            last = now
            print(f"{notes:,} notes, {_rate(notes, started):,.0f} notes/s, {share:.0%} read", file=stream, flush=True)

    return report


def _rate(notes: int, started: float) -> float:
    return notes / max(time.monotonic() - started, 1e-9)

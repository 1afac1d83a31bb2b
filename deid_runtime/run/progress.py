"""Show the progress of a run on stderr: a bar on a terminal, otherwise a plain line every few seconds. Counts only.

``json`` writes one object per line instead, for schedulers, and a last one when all notes are done::

    {"notes", "notes_per_s", "quarantined", "share", "left_s", "left_least_s", "left_most_s", "shards"}

``notes_per_s`` is the rate of the last minutes. ``left_s`` is the estimated time to the end in seconds, with its likely
range; all three are null while there is too little data. ``share`` is the share of the input bytes that was read.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, TextIO

from deid_runtime.run.estimate import Estimate, Left

#: How to show progress.
Mode = Literal["auto", "json", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is.

    ``notes`` and ``quarantined`` count from its beginning, ``notes_now`` from the start of this process.
    ``bytes_now`` are the input bytes that this process has read, ``bytes_left`` those that remain to be read, ``share``
    is the part that was read, 0 to 1. ``shards`` are those that are committed.
    """

    notes: int
    quarantined: int
    share: float
    notes_now: int = 0
    bytes_now: int = 0
    bytes_left: int = 0
    shards: int = 0


#: Called with the progress after each batch.
Report = Callable[[Progress], None]

_LINE_SECONDS: Final = 5.0
_SAMPLE_SECONDS: Final = 5.0


@contextmanager
def progress(mode: Mode, stream: TextIO | None = None) -> Iterator[Report]:
    """Yield a function that takes the progress and shows it; with ``none`` it does nothing."""
    stream = stream or sys.stderr
    if mode == "none" or stream is None:
        yield lambda now: None
    elif mode == "json":
        lines = _Lines(stream, _as_json)
        yield lines
        lines.finish()
    elif stream.isatty():
        with _bar(stream) as report:
            yield report
    else:
        yield _Lines(stream, _as_text)


class _Watched:
    """Measures the rates of a run: notes per second, and the remaining time."""

    def __init__(self) -> None:
        self._estimate = Estimate()
        self._last_s = time.monotonic()
        self._last = Progress(notes=0, quarantined=0, share=0.0)

    def look(self, now: Progress) -> None:
        """Take a sample when enough time has passed since the last one."""
        elapsed_s = time.monotonic() - self._last_s
        if elapsed_s >= _SAMPLE_SECONDS:
            done = now.bytes_now - self._last.bytes_now
            self._estimate.add(elapsed_s, done, now.notes_now - self._last.notes_now)
            self._last_s, self._last = time.monotonic(), now

    def rate(self, now: Progress) -> float:
        """Return the notes per second."""
        first_s = max(time.monotonic() - self._last_s, 1e-9)
        return self._estimate.notes_per_s or (now.notes_now - self._last.notes_now) / first_s

    def left(self, now: Progress) -> Left | None:
        """Return the estimated remaining time, None while there is too little data."""
        return self._estimate.left(now.bytes_left)


class _Lines:
    """Prints one line every few seconds."""

    def __init__(self, stream: TextIO, render: Callable[[Progress, _Watched], str]) -> None:
        self._stream = stream
        self._render = render
        self._watched = _Watched()
        self._last_s = time.monotonic()
        self._unsaid: Progress | None = None

    def __call__(self, now: Progress) -> None:
        self._watched.look(now)
        self._unsaid = now
        if time.monotonic() - self._last_s >= _LINE_SECONDS:
            self.finish()

    def finish(self) -> None:
        """Print the last progress, unless it has been printed."""
        if self._unsaid is not None:
            self._last_s = time.monotonic()
            print(self._render(self._unsaid, self._watched), file=self._stream, flush=True)
            self._unsaid = None


def _as_text(now: Progress, watched: _Watched) -> str:
    left = watched.left(now)
    return (
        f"{now.notes:,} notes, {watched.rate(now):,.1f} notes/s, {now.quarantined:,} quarantined, {now.share:.0%} read"
        + (f", {left} left" if left else "")
    )


def _as_json(now: Progress, watched: _Watched) -> str:
    left = watched.left(now)
    return json.dumps(
        {
            "notes": now.notes,
            "notes_per_s": round(watched.rate(now), 2),
            "quarantined": now.quarantined,
            "share": round(now.share, 4),
            "left_s": round(left.likely_s) if left else None,
            "left_least_s": round(left.least_s) if left else None,
            "left_most_s": round(left.most_s) if left else None,
            "shards": now.shards,
        }
    )


@contextmanager
def _bar(stream: TextIO) -> Iterator[Report]:
    # Imported here: this import takes longer than the rest of the command line, and only a terminal needs it.
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[notes]:,} notes"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]:,.1f} notes/s, {task.fields[quarantined]:,} quarantined{task.fields[left]}"),
    )
    watched = _Watched()
    with Bar(*columns, console=Console(file=stream)) as bar:
        task = bar.add_task("", total=1.0, notes=0, rate=0.0, quarantined=0, left="")

        def report(now: Progress) -> None:
            watched.look(now)
            left = watched.left(now)
            bar.update(
                task,
                completed=now.share,
                notes=now.notes,
                quarantined=now.quarantined,
                rate=watched.rate(now),
                left=f", {left} left" if left else "",
            )

        yield report

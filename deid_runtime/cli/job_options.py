"""The options of ``deid run`` and ``deid detect`` for long runs: resuming, progress, memory."""

from typing import Final

import click

from deid_runtime.cli import options as cli_options
from deid_runtime.run.batches import DEFAULT_SHARD_CHARS
from deid_runtime.run.progress import Mode

#: Options of resuming and of progress.
job_options: Final = cli_options.section(
    cli_options.JOB,
    cli_options.flag(
        "--resume",
        "Continue the unfinished run to OUT after a crash, a signal or a full disk; start a run if there is none; do "
        "nothing if OUT is finished. Finished shards are not repeated. Refused when inputs, key, settings or program "
        "have changed. `deid run` also needs --key.",
    ),
    cli_options.flag("--restart", "Remove the unfinished run to OUT and start again."),
    cli_options.counted(
        "--shard-chars",
        DEFAULT_SHARD_CHARS,
        "Size of a shard in characters of notes. A finished shard is saved on the disk; after a crash, at most one "
        "shard is repeated. The output is the same for any number.",
    ),
    cli_options.chosen(
        "--progress",
        Mode,
        "auto",
        "auto: a bar on a terminal, otherwise a line every 5 seconds. json: one object per line. none: nothing.",
    ),
)

memory_option: Final = click.option(
    "--memory",
    type=click.IntRange(min=1),
    metavar="MB",
    help="Memory limit for all processes of the run together. Fewer notes wait in memory, and a worker that exceeds "
    "its share is replaced. Refused when it is too small for the workers. Default: no limit.",
)

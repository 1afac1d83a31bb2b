"""The options of ``deid run`` and ``deid detect`` for runs of hours: resuming, progress, memory."""

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
        "Go on with the unfinished run to OUT, which a crash, a signal or a full disk has stopped; begin when there is "
        "none; do nothing when OUT is finished. Finished shards are not done again. Refused when inputs, key, settings "
        "or program have changed. De-identification needs --key for it.",
    ),
    cli_options.flag("--restart", "Remove the unfinished run to OUT and begin again."),
    cli_options.counted(
        "--shard-chars",
        DEFAULT_SHARD_CHARS,
        "Characters of notes after which a part of the work is put on the disk for good: so much is done again after a "
        "crash. The output is the same for any number.",
    ),
    cli_options.chosen(
        "--progress",
        Mode,
        "auto",
        "auto: a bar on a terminal, else a line every 5 seconds. json: one object a line. none: nothing.",
    ),
)

memory_option: Final = click.option(
    "--memory",
    type=click.IntRange(min=1),
    metavar="MB",
    help="Memory for all processes of the run together. Fewer notes wait in it, and a worker that grows beyond its "
    "share is replaced. Refused when the workers cannot do with it. Default: no limit.",
)

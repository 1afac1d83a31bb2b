"""``deid-export models repository``: write the folder that an inference server serves."""

from pathlib import Path

import click

from deid_runtime.cli import options as cli_options
from deid_runtime.serving.graph_models import GraphBackend, ServingOptions
from deid_runtime.serving.note_models import NoteOptions
from deid_runtime.settings import Operator, Profile, Settings

_DEFAULT = ServingOptions()


@click.command()
@click.argument("source", type=cli_options.FOLDER)
@click.option("-o", "--out", type=cli_options.PATH, required=True, help="New or empty folder to write.")
@cli_options.chosen(
    "--backend",
    GraphBackend,
    _DEFAULT.backend,
    "python: the engine of `deid run`, on processors; answers are those of `deid run`, byte for byte. onnxruntime and "
    "tensorrt: on a GPU, in NVIDIA's container; answers differ by rounding.",
)
@cli_options.counted(
    "--instances",
    _DEFAULT.instances,
    "Copies of each model that run at once. More copies than cores, or than fit into GPU memory, are slower.",
)
@cli_options.counted(
    "--max-batch-size",
    _DEFAULT.max_batch_size,
    "Most rows that the server joins, and most rows of one request. More rows need more memory and wait longer.",
)
@cli_options.counted(
    "--max-queue-delay",
    _DEFAULT.max_queue_delay_us,
    "How long a row waits for others to join. 0 sends single rows at once; long delays slow down every answer.",
    least=0,
    metavar="MICROSECONDS",
)
@cli_options.counted(
    "--max-queue-size",
    _DEFAULT.max_queue_size,
    "Requests that may wait; more are refused at once, and clients try again. Large queues hide an overload.",
)
@cli_options.counted(
    "--queue-timeout",
    _DEFAULT.queue_timeout_us,
    "A request that waited this long is refused.",
    metavar="MICROSECONDS",
)
@click.option(
    "--ragged/--no-ragged",
    default=_DEFAULT.is_ragged,
    show_default=True,
    help="Backend python: join rows of different widths. Without it only rows of one width make a batch.",
)
@cli_options.profile("Profile of the model `deidentify`, as for `deid run`.")
@cli_options.operator("Operator of the model `deidentify`, as for `deid run`.")
def repository(
    source: Path,
    out: Path,
    backend: GraphBackend,
    instances: int,
    max_batch_size: int,
    max_queue_delay: int,
    max_queue_size: int,
    queue_timeout: int,
    ragged: bool,
    profile: Profile,
    operator: Operator,
) -> None:
    """Write the models of SOURCE, a folder of `models onnx`, as a repository for the Triton inference server.

    It contains every graph, whole and split into encoder and heads, ensembles of these, and `deidentify`, which
    takes whole notes. `deid serve --repository` serves one of backend python; docker/README.md explains how to
    serve it in a container.
    """
    from deid_export.onnx.repository import write_full_repository
    from deid_runtime.models.manifest import read_manifest

    options = ServingOptions(
        backend=backend,
        instances=instances,
        max_batch_size=max_batch_size,
        preferred_sizes=tuple(size for size in _DEFAULT.preferred_sizes if size <= max_batch_size) or (max_batch_size,),
        max_queue_delay_us=max_queue_delay,
        max_queue_size=max_queue_size,
        queue_timeout_us=queue_timeout,
        is_ragged=ragged,
    )
    notes = NoteOptions(settings=Settings(profile=profile, operator=operator))
    write_full_repository(read_manifest(source), out, options, notes)
    click.echo(out)

"""The models that serve whole notes: text in, de-identified text and spans out, so that a client needs nothing of ours.

``deidentify`` takes one note a request and answers once, as unary gRPC and plain HTTP do. ``deidentify_stream`` is
decoupled: any number of notes a request, an answer to each as soon as it is there, in their order. Triton serves it
over gRPC streams alone. It holds no models, but hands the notes to ``deidentify``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from deid_runtime.serving.model_config import ANY, DynamicBatching, InstanceGroup, ModelConfig, QueuePolicy, Tensor
from deid_runtime.settings import Engine, Operator, Profile

NOTES: Final = "deidentify"
NOTES_STREAM: Final = "deidentify_stream"
#: A parameter of a request: the model shows that it works. It runs a note of its own with a key of nobody.
CANARY: Final = "canary"

#: UTF-8 bytes of a note id, a patient or the name of a key, at most.
MAX_NAME_BYTES: Final = 1024
#: Notes in one request of a stream, at most.
MAX_STREAM_NOTES: Final = 4096

#: What a request holds, strings: shape ``[1]``, in a stream ``[notes]``.
NOTE_INPUTS: Final = ("text", "note_id", "patient", "key")
#: What an answer holds, one string each: shape ``[1]``. In a stream the ``note_id`` comes with them.
NOTE_OUTPUTS: Final = ("text", "spans", "pseudonyms")


@dataclass(frozen=True, kw_only=True)
class NoteOptions:
    """How the server de-identifies whole notes."""

    profile: Profile = "fast"
    engine: Engine = "auto"
    engine_threads: int = 1
    operator: Operator = "surrogate"
    date_shift_days: int = 365
    date_shift_whole_weeks: bool = False
    instances: int = 1  # processes, each with models and patient records of its own
    max_note_bytes: int = 2**20  # of UTF-8; longer notes are refused
    max_queue_size: int = 256  # requests; more are refused at once
    queue_timeout_us: int = 30_000_000  # a request that waited this long is refused


def note_models(options: NoteOptions) -> Iterator[ModelConfig]:
    """Yield the configuration of both models."""
    outputs = tuple(Tensor(each, "STRING", (1,)) for each in NOTE_OUTPUTS)
    yield ModelConfig(
        name=NOTES,
        backend="python",
        max_batch_size=0,
        inputs=tuple(Tensor(each, "STRING", (1,)) for each in NOTE_INPUTS),
        outputs=outputs,
        batching=DynamicBatching((), 0, QueuePolicy(options.max_queue_size, options.queue_timeout_us)),
        instances=InstanceGroup(options.instances, "KIND_CPU"),
        parameters={
            "profile": options.profile,
            "engine": options.engine,
            "engine_threads": str(options.engine_threads),
            "operator": options.operator,
            "date_shift_days": str(options.date_shift_days),
            "date_shift_whole_weeks": "true" if options.date_shift_whole_weeks else "false",
            "max_note_bytes": str(options.max_note_bytes),
        },
    )
    yield ModelConfig(
        name=NOTES_STREAM,
        backend="python",
        max_batch_size=0,
        inputs=tuple(Tensor(each, "STRING", (ANY,)) for each in NOTE_INPUTS),
        outputs=(*outputs, Tensor("note_id", "STRING", (1,))),
        instances=InstanceGroup(options.instances, "KIND_CPU"),
        is_decoupled=True,
    )

"""The models that serve whole notes: text in, de-identified text and spans out, so that a client needs nothing of ours.

``deidentify`` takes one note a request and answers once, as unary gRPC and plain HTTP do. ``deidentify_stream`` is
decoupled: any number of notes a request, an answer to each as soon as it is there, in their order. Triton serves it
over gRPC streams alone. It holds no models, but hands the notes to ``deidentify``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deid_runtime.serving.model_config import ANY, DynamicBatching, InstanceGroup, ModelConfig, QueuePolicy, Tensor
from deid_runtime.settings import Settings, to_parameters

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


#: Names of a site's own lists in the version folder of ``deidentify``, by field of the settings.
SITE_LISTS: Final = {"inclusion": "inclusion.txt", "templates": "templates.txt"}


@dataclass(frozen=True, kw_only=True)
class NoteOptions:
    """How the server de-identifies whole notes."""

    settings: Settings = field(default_factory=Settings)  # of models, server and offsets those of the server count
    instances: int = 1  # processes, each with models and patient records of its own
    max_note_bytes: int = 2**20  # of UTF-8; longer notes are refused
    max_queue_size: int = 256  # requests; more are refused at once
    queue_timeout_us: int = 30_000_000  # a request that waited this long is refused

    @property
    def site_lists(self) -> dict[str, Path]:
        """The lists of the site by field of the settings, where there are any."""
        named = {name: getattr(self.settings, name) for name in SITE_LISTS}
        return {name: path for name, path in named.items() if path is not None}


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
            **to_parameters(options.settings),
            **{name: SITE_LISTS[name] for name in options.site_lists},
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

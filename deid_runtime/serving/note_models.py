"""The Triton models for whole notes: text in, de-identified text and spans out. Clients need no code of this project.

``deidentify`` takes one note per request and sends one response, over unary gRPC or plain HTTP. ``deidentify_stream``
is decoupled: it takes any number of notes per request and sends one response per note, in order, as soon as it is
ready. Triton serves it over gRPC streams only. It has no pipeline of its own: it calls ``deidentify`` for each note.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deid_runtime.serving.model_config import ANY, DynamicBatching, InstanceGroup, ModelConfig, QueuePolicy, Tensor
from deid_runtime.settings import Settings, to_parameters

NOTES: Final = "deidentify"
NOTES_STREAM: Final = "deidentify_stream"
#: A request parameter: the model ignores the inputs and de-identifies an invented note with a random key.
CANARY: Final = "canary"
#: The request parameters of a canary request: it is served before other requests, see ``DynamicBatching.has_urgent``.
CANARY_PARAMETERS: Final[dict[str, bool | int]] = {CANARY: True, "priority": 1}
#: A request parameter: detect identifiers without rewriting the note. No key is needed; ``text`` and ``pseudonyms``
#: are empty.
DETECT: Final = "detect"

#: Most UTF-8 bytes of a note id, a patient id or a key name.
MAX_NAME_BYTES: Final = 1024
#: Most notes in one request to `deidentify_stream`.
MAX_STREAM_NOTES: Final = 4096

#: The inputs of a request, strings of shape ``[1]``; for `deidentify_stream` ``[notes]``.
NOTE_INPUTS: Final = ("text", "note_id", "patient", "key")
#: The outputs of a response, strings of shape ``[1]``. `deidentify_stream` also outputs ``note_id``.
NOTE_OUTPUTS: Final = ("text", "spans", "pseudonyms")


#: File names of a site's own lists in the folder of ``deidentify``, by field of the settings.
SITE_LISTS: Final = {"inclusion": "inclusion.txt", "templates": "templates.txt"}


@dataclass(frozen=True, kw_only=True)
class NoteOptions:
    """Options of the models for whole notes."""

    # models, server and given_date_shifts are replaced by those of the server
    settings: Settings = field(default_factory=Settings)
    instances: int = 1  # processes, each with its own models and patient records
    max_note_bytes: int = 2**20  # UTF-8 bytes; longer notes are refused
    max_queue_size: int = 256  # requests; further requests are refused at once
    queue_timeout_us: int = 30_000_000  # a request that waited this long is refused

    @property
    def site_lists(self) -> dict[str, Path]:
        """The paths of the site's own lists, by field of the settings."""
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
        # A canary request does not wait for the notes in the queue, and a full queue does not refuse it.
        batching=DynamicBatching((), 0, QueuePolicy(options.max_queue_size, options.queue_timeout_us), has_urgent=True),
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

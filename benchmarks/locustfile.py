"""A load of many users on a server of the models, for locust.

    pip install '.[bench]'
    locust --headless -u 64 -r 16 -t 30s -f benchmarks/locustfile.py --host grpc://127.0.0.1:8001 --notes notes.jsonl

64 users come, 16 a second, and stay for the 30 seconds. Each has a connection of its own and asks again as soon as it
is answered: mostly windows of the notes for the model of one graph (``--model``), tokenised as ``deid run`` does it;
and, where the server has a key of the name ``--key-name``, now and then a whole note for the model ``deidentify``. A
request counts as failed when the server refuses it, answers late (``--deadline``) or with other tensors than asked for.

Without ``--headless`` the page at port 8089 shows the same figures as curves: bind it with ``--web-host 127.0.0.1``.
"""

import json
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import gevent
from grpc_users import Answer, GrpcUser, Message, from_anywhere, note_request
from locust import events, task
from questions import make_questions, make_rows, output_names

from deid_runtime.models.manifest import find_models, read_manifest

_SCHEME: Final = "grpc://"


@dataclass(frozen=True)
class Load:
    """The requests of all users, made once; each user goes round them from a place of its own."""

    windows: list[Message]
    notes: list[Message]


@events.init_command_line_parser.add_listener
def add_arguments(parser: ArgumentParser) -> None:
    """Add options of our own to those of locust."""
    parser.add_argument("--notes", required=True, help="JSON Lines with text and optional id and patient")
    parser.add_argument("--load-notes", type=int, default=500, help="how many of them, from the first")
    parser.add_argument("--models", default="", help="folder with the models that are served; default: the package's")
    parser.add_argument("--model", default="v0", help="graph to ask, or ensemble:GRAPH for the ensemble of its parts")
    parser.add_argument("--rows", type=int, default=1, help="windows a request, of one padded width")
    parser.add_argument("--single-sentences", action="store_true", help="one sentence a window")
    parser.add_argument("--key-name", default="", help="key on the server for whole notes; without it none are sent")
    parser.add_argument("--deadline", type=float, default=30.0, help="seconds until an answer counts as failed")
    parser.add_argument("--load-seed", type=int, default=0)


@events.init.add_listener
def make_load(environment: Any, **_: Any) -> None:
    """Build all requests before the first user comes."""
    options = environment.parsed_options
    if options is None:  # not from the command line: nothing to measure
        return
    records = [json.loads(line) for line in Path(options.notes).read_text(encoding="utf-8").split("\n") if line]
    records = records[: options.load_notes]
    manifest = read_manifest(find_models(Path(options.models) if options.models else None))
    name = options.model.removeprefix("ensemble:")
    model = f"deid_{name}" if options.model.startswith("ensemble:") else name
    encoder = manifest.word_encoder()
    rows = make_rows(
        (record["text"] for record in records), encoder, "sentence" if options.single_sentences else "window"
    )
    questions = make_questions(rows, options.rows, encoder.pad, options.load_seed)
    outputs = output_names(manifest.graphs[name])
    environment.load = Load(
        [question.message(model, outputs) for question in questions],
        [note_request(record, options.key_name) for record in records] if options.key_name else [],
    )
    # The clock of the event loop stood still meanwhile, and -t would count from before.
    gevent.get_hub().loop.update_now()


def fault_of(request: Message, answer: Answer) -> str | None:
    """Return what is wrong with an answer, None if nothing: its outputs, and the rows and tokens of each."""
    if {output.name for output in answer.outputs} != {output.name for output in request.outputs}:
        return "other outputs than asked for"
    if len(answer.raw_output_contents) != len(answer.outputs):
        return "outputs without content"
    if request.model_name != "deidentify" and any(
        list(output.shape) != list(request.inputs[0].shape) for output in answer.outputs
    ):
        return "outputs of another shape than the inputs"
    return None


class ModelUser(GrpcUser):
    """Asks the models over one gRPC connection, one request after the other."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment, str(self.host).removeprefix(_SCHEME))
        load: Load = environment.load
        self._deadline_s: float = environment.parsed_options.deadline
        self._windows = from_anywhere(load.windows)
        self._notes = from_anywhere(load.notes or load.windows)

    @task(20)
    def window(self) -> None:
        """Ask one graph for the tags of some windows."""
        self._ask(next(self._windows))

    @task(1)
    def whole_note(self) -> None:
        """Have a whole note de-identified; a window once more where no key was named."""
        self._ask(next(self._notes))

    def _ask(self, request: Message) -> None:
        self.ask(request, f"{request.model_name}/ModelInfer", self._deadline_s, fault_of)

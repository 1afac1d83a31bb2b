"""A load of many users on a server of the models, for locust.

    pip install '.[bench]'
    locust --headless -u 64 -r 16 -t 30s -f benchmarks/locustfile.py --host grpc://127.0.0.1:8001 --notes notes.jsonl

64 users come, 16 a second, and stay for the 30 seconds. Each has a connection of its own and asks again as soon as it
is answered: mostly windows of the notes for the model of one graph (``--model``), tokenised as ``deid run`` does it;
and, where the server has a key of the name ``--key-name``, now and then a whole note for the model ``deidentify``. A
request counts as failed when the server refuses it, answers late (``--deadline``) or with other tensors than asked for.

Without ``--headless`` the page at port 8089 shows the same figures as curves: bind it with ``--web-host 127.0.0.1``.
"""

import itertools
import json
import random
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import gevent
import grpc
import grpc.experimental.gevent
from locust import User, constant, events, task
from locust.exception import StopUser
from questions import make_questions, make_rows, output_names
from tritonclient.grpc import service_pb2, service_pb2_grpc

from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.text.windows import WordEncoder

# Threads of gRPC's own would hold up all users while one waits. Locust has patched the rest when it was imported.
grpc.experimental.gevent.init_gevent()

_SCHEME: Final = "grpc://"
_NOTE_OUTPUTS: Final = ("text", "spans", "pseudonyms")

Message: TypeAlias = service_pb2.ModelInferRequest
Answer: TypeAlias = service_pb2.ModelInferResponse


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
    encoder = WordEncoder.from_file(manifest.tokenizer)
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


def note_request(record: dict[str, str], key_name: str) -> Message:
    """Return the request to de-identify one note."""
    request = service_pb2.ModelInferRequest(model_name="deidentify")
    note_id = str(record.get("id", ""))
    values = {"text": record["text"], "note_id": note_id, "patient": str(record.get("patient") or note_id)}
    for name, value in {**values, "key": key_name}.items():
        request.inputs.add(name=name, datatype="BYTES", shape=[1])
        data = value.encode("utf-8")
        request.raw_input_contents.append(len(data).to_bytes(4, "little") + data)
    for name in _NOTE_OUTPUTS:
        request.outputs.add(name=name)
    return request


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


class ModelUser(User):
    """Asks the models over one gRPC connection, one request after the other."""

    wait_time = constant(0)

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        options: Any = environment.parsed_options
        load: Load = environment.load
        self._deadline_s: float = options.deadline
        self._windows = _from_anywhere(load.windows)
        self._notes = _from_anywhere(load.notes or load.windows)
        # A pool of its own: channels to one address otherwise share a connection, as users of a service don't.
        self._channel = grpc.insecure_channel(
            str(self.host).removeprefix(_SCHEME),
            options=[("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)],
        )
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)

    @task(20)
    def window(self) -> None:
        """Ask one graph for the tags of some windows."""
        self._ask(next(self._windows))

    @task(1)
    def whole_note(self) -> None:
        """Have a whole note de-identified; a window once more where no key was named."""
        self._ask(next(self._notes))

    def on_stop(self) -> None:
        """Close the connection."""
        self._channel.close()

    def _ask(self, request: Message) -> None:
        """Send a request and tell locust what came of it."""
        fault: Exception | None = None
        length = 0
        begun = time.perf_counter()
        try:
            answer = self._stub.ModelInfer(request, timeout=self._deadline_s)
        except grpc.RpcError as error:
            # Its own words would count every request as another kind of failure.
            fault = RuntimeError(error.code().name)
        except ValueError as error:  # the channel was closed at the end of the test
            raise StopUser from error
        else:
            length = answer.ByteSize()
            wrong = fault_of(request, answer)
            fault = RuntimeError(wrong) if wrong else None
        self.environment.events.request.fire(
            request_type="grpc",
            name=f"{request.model_name}/ModelInfer",
            response_time=1000 * (time.perf_counter() - begun),
            response_length=length,
            exception=fault,
            context={},
        )


def _from_anywhere(messages: list[Message]) -> Iterator[Message]:
    """Go round ``messages`` without end, from a random place."""
    start = random.randrange(len(messages))
    return itertools.cycle(messages[start:] + messages[:start])

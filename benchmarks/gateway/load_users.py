"""Users of a gateway and of the server behind it, for locust; ``load.py`` starts both and this.

    locust --headless -u 16 -r 4 -t 60s -f benchmarks/gateway/load_users.py --host http://127.0.0.1:8443 \
        --grpc 127.0.0.1:8001 --notes notes.jsonl --key-name study

with the token in the variable ``DEID_LOAD_TOKEN``. Each user asks again after each answer. Users of HTTP send
one note (3 of 4 requests) or a batch; users of gRPC send one note to the server itself. A request counts as failed when
it is refused, held back, or answered with another note.
"""

import itertools
import json
import os
import random
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.experimental.gevent
from locust import FastHttpUser, User, constant, events, task
from locust.exception import StopUser
from tritonclient.grpc import service_pb2, service_pb2_grpc

# Threads of gRPC's own would hold up all users while one waits. Locust has patched the rest when it was imported.
grpc.experimental.gevent.init_gevent()

_BATCH: Final = 16
_OUTPUTS: Final = ("text", "spans", "pseudonyms")
_OK: Final = 200

Row = dict[str, str]


@events.init_command_line_parser.add_listener
def add_arguments(parser: ArgumentParser) -> None:
    """Add options of our own to those of locust."""
    parser.add_argument("--notes", required=True, help="JSON Lines with text and optional id and patient")
    parser.add_argument("--load-notes", type=int, default=500, help="how many of them, from the first")
    parser.add_argument("--key-name", default="study", help="key on the server")
    parser.add_argument("--grpc", default="127.0.0.1:8001", help="host:port of the server itself")


@events.init.add_listener
def read_notes(environment: Any, **_: Any) -> None:
    """Read the notes before the first user comes."""
    options = environment.parsed_options
    if options is None:  # not from the command line: nothing to measure
        return
    lines = Path(options.notes).read_text(encoding="utf-8").splitlines()[: options.load_notes]
    rows = [json.loads(line) for line in lines]
    environment.notes = [{name: str(row[name]) for name in ("id", "text", "patient") if row.get(name)} for row in rows]


class RestUser(FastHttpUser):
    """Sends notes to the gateway over a connection of its own."""

    wait_time = constant(0)

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._key = environment.parsed_options.key_name
        self._notes = _from_anywhere(environment.notes)
        self._headers = {"authorization": f"Bearer {os.environ['DEID_LOAD_TOKEN']}"}

    @task(3)
    def one(self) -> None:
        """Send one note."""
        note = next(self._notes)
        with self._posted({**note, "key": self._key}, "one note") as answer:
            if answer.status_code == _OK and answer.json()["id"] != note["id"]:
                answer.failure("the answer is that of another note")

    @task(1)
    def batch(self) -> None:
        """Send a batch."""
        notes = [*itertools.islice(self._notes, _BATCH)]
        with self._posted({"notes": notes, "key": self._key}, f"batch of {_BATCH}") as answer:
            if answer.status_code == _OK and answer.json()["done"] != len(notes):
                answer.failure("a note is held back")

    def _posted(self, body: dict[str, Any], name: str) -> Any:
        return self.client.post(
            "/v1/deidentify", json=body, headers=self._headers, name=f"gateway, {name}", catch_response=True
        )


class GrpcUser(User):
    """Sends notes to the server itself over a connection of its own."""

    wait_time = constant(0)

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        options = environment.parsed_options
        self._key = options.key_name
        self._notes = _from_anywhere(environment.notes)
        # A pool of its own: channels to one address otherwise share a connection.
        self._channel = grpc.insecure_channel(options.grpc, options=[("grpc.use_local_subchannel_pool", 1)])
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)

    @task
    def one(self) -> None:
        """Send one note."""
        request = self._request(next(self._notes))
        fault: Exception | None = None
        begun = time.perf_counter()
        size = 0
        try:
            size = self._stub.ModelInfer(request, timeout=120).ByteSize()
        except grpc.RpcError as error:
            # Its own words would count every request as another kind of failure.
            fault = RuntimeError(error.code().name)
        except ValueError as error:  # the channel was closed at the end of the test
            raise StopUser from error
        self.environment.events.request.fire(
            request_type="grpc", name="gRPC, one note", response_time=1000 * (time.perf_counter() - begun),
            response_length=size, exception=fault, context={},
        )  # fmt: skip

    def on_stop(self) -> None:
        """Close the connection."""
        self._channel.close()

    def _request(self, note: Row) -> Any:
        request = service_pb2.ModelInferRequest(model_name="deidentify")
        values = {"text": note["text"], "note_id": note["id"], "patient": note.get("patient", ""), "key": self._key}
        for name, value in values.items():
            request.inputs.add(name=name, datatype="BYTES", shape=[1])
            data = value.encode("utf-8")
            request.raw_input_contents.append(len(data).to_bytes(4, "little") + data)
        for name in _OUTPUTS:
            request.outputs.add(name=name)
        return request


def _from_anywhere(notes: list[Row]) -> Iterator[Row]:
    """Go round the notes without end, from a random place."""
    start = random.randrange(len(notes))
    return itertools.cycle(notes[start:] + notes[:start])

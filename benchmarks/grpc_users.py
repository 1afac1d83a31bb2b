"""What users of locust share who ask a server over gRPC: the connection, the request for a note, the figures.

Import this before anything that opens a connection: threads of gRPC's own would hold up all users while one waits.
"""

import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import grpc
import grpc.experimental.gevent
from locust import User, constant
from locust.exception import StopUser
from tritonclient.grpc import service_pb2, service_pb2_grpc

grpc.experimental.gevent.init_gevent()  # locust has patched the rest when it was imported

_NOTE_OUTPUTS: Final = ("text", "spans", "pseudonyms")

Message: TypeAlias = service_pb2.ModelInferRequest
Answer: TypeAlias = service_pb2.ModelInferResponse
T = TypeVar("T")


def note_request(row: Mapping[str, Any], key_name: str) -> Message:
    """Return the request to de-identify one note, an object with ``text`` and optional ``id`` and ``patient``."""
    request = service_pb2.ModelInferRequest(model_name="deidentify")
    note_id = str(row.get("id", ""))
    patient = str(row.get("patient") or note_id)
    values = {"text": str(row["text"]), "note_id": note_id, "patient": patient, "key": key_name}
    for name, value in values.items():
        request.inputs.add(name=name, datatype="BYTES", shape=[1])
        data = value.encode("utf-8")
        request.raw_input_contents.append(len(data).to_bytes(4, "little") + data)
    for name in _NOTE_OUTPUTS:
        request.outputs.add(name=name)
    return request


def from_anywhere(things: Sequence[T]) -> Iterator[T]:
    """Go round ``things`` without end, from a random place."""
    start = random.randrange(len(things))
    return itertools.cycle([*things[start:], *things[:start]])


class GrpcUser(User):
    """Asks a server over a connection of its own, one request after the other."""

    abstract = True
    wait_time = constant(0)

    def __init__(self, environment: Any, address: str) -> None:
        super().__init__(environment)
        # A pool of its own: channels to one address otherwise share a connection, as users of a service don't.
        self._channel = grpc.insecure_channel(
            address, options=[("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        )
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)

    def on_stop(self) -> None:
        """Close the connection."""
        self._channel.close()

    def ask(
        self, request: Message, name: str, deadline_s: float, fault_of: Callable[[Message, Answer], str | None]
    ) -> None:
        """Send a request and tell locust what came of it; ``fault_of`` says what is wrong with an answer."""
        fault: Exception | None = None
        length = 0
        begun = time.perf_counter()
        try:
            answer = self._stub.ModelInfer(request, timeout=deadline_s)
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
            name=name,
            response_time=1000 * (time.perf_counter() - begun),
            response_length=length,
            exception=fault,
            context={},
        )

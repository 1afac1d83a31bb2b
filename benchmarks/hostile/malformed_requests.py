"""Do malformed requests make a server answer wrongly, stay down, or log what they hold?

    python benchmarks/hostile/malformed_requests.py

Method: a server on the loopback, supervised as ``deid serve`` does it, gets malformed requests of kinds drawn at
random: gRPC messages with wrong shapes, types, sizes, inputs and names, bytes that are no message, bytes that are no
HTTP/2, and connections that are left open. Requests known to end a server are rare among them, and it comes back.
Before, every 100 requests, and at the end right requests for a note and for tokens must get the first answers.
All requests hold a marker that must not stand in the log, and have limits of time.
"""

import argparse
import json
import logging
import random
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import grpc
from attacked_runs import RESULTS, describe_machine
from served_models import Supervised, supervised
from tritonclient.grpc import service_pb2, service_pb2_grpc

from deid_runtime.models.manifest import INPUTS, find_models, read_manifest
from deid_runtime.serving.graph_models import ServingOptions
from deid_runtime.serving.note_models import NOTE_INPUTS, NOTE_OUTPUTS, NOTES, NOTES_STREAM, NoteOptions
from deid_runtime.serving.repository import write_repository
from deid_runtime.serving.supervisor import RestartPolicy
from deid_runtime.surrogates import write_key

Request = Any  # service_pb2.ModelInferRequest, which has no types

_GRAPH: Final = "v0"
_KEY: Final = "attacked"
_MARKER: Final = "Zqmarkerqz"
_TEXT: Final = f"{_MARKER} Ms. Rosalind Thackeray, MRN 8841207, was seen on March 3, 2019 by Dr. Marcus Oyelaran."
_POLICY: Final = RestartPolicy(first_delay_s=0.2, longest_delay_s=1.0)
_ANSWER_S: Final = 20.0
_BACK_S: Final = 240.0  # a server that is gone must be back and answer
_POLL_S: Final = 0.2
_METHOD: Final = "/inference.GRPCInferenceService/"
_MOST_OPEN: Final = 20  # connections that are left open at a time


def note_request() -> Request:
    """Return a right request to de-identify a note."""
    request = service_pb2.ModelInferRequest(model_name=NOTES, id=f"{_MARKER}-1")
    for name, value in zip(NOTE_INPUTS, (_TEXT, "n1", "p1", _KEY), strict=True):
        request.inputs.add(name=name, datatype="BYTES", shape=[1])
        request.raw_input_contents.append(_string(value.encode()))
    return request


def token_request() -> Request:
    """Return a right request for the scores of some tokens."""
    request = service_pb2.ModelInferRequest(model_name=_GRAPH, id=f"{_MARKER}-2")
    for name, value in zip(INPUTS, (7, 0, 1), strict=True):
        request.inputs.add(name=name, datatype="INT32", shape=[2, 32])
        request.raw_input_contents.append(value.to_bytes(4, "little") * 64)
    return request


def _string(value: bytes) -> bytes:
    return len(value).to_bytes(4, "little") + value


def wrong_shape(request: Request, choose: random.Random) -> None:
    """Give an input another shape than its content has."""
    shapes = [[], [0], [-1], [2], [1, 1], [2**31], [2**63 - 1], [-(2**63)], [2**32, 2**32], [1] * 50, [2, 31], [3, 32]]
    choose.choice(request.inputs).shape[:] = choose.choice(shapes)


def wrong_type(request: Request, choose: random.Random) -> None:
    """Give an input another type."""
    choose.choice(request.inputs).datatype = choose.choice(
        ["", "INT32", "BYTES", "FP16", "BOOL", "INT64", "UINT8", _MARKER, "bytes", "TYPE_STRING"]
    )


def wrong_size(request: Request, choose: random.Random) -> None:
    """Cut the content of an input, or make it longer."""
    index = choose.randrange(len(request.raw_input_contents))
    content = request.raw_input_contents[index]
    request.raw_input_contents[index] = choose.choice(
        [b"", content[:-1], content[1:], content + b"x", content * 2, content[:3], bytes(2**20)]
    )


def wrong_length(request: Request, choose: random.Random) -> None:
    """Say another length of a string than it has."""
    index = choose.randrange(len(request.raw_input_contents))
    length = choose.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 4, 5000])
    request.raw_input_contents[index] = length.to_bytes(4, "little") + request.raw_input_contents[index][4:]


def missing_input(request: Request, choose: random.Random) -> None:
    """Leave out an input, its content or both."""
    index = choose.randrange(len(request.inputs))
    kind = choose.randrange(4)
    if kind in (0, 1):
        del request.inputs[index]
    if kind in (0, 2):
        del request.raw_input_contents[index]
    if kind == 3:
        del request.inputs[:]
        del request.raw_input_contents[:]


def doubled_input(request: Request, choose: random.Random) -> None:
    """Give an input twice, with the same or another content."""
    index = choose.randrange(len(request.inputs))
    for _ in range(choose.choice([1, 1, 5, 300])):
        request.inputs.append(request.inputs[index])
        request.raw_input_contents.append(choose.choice(request.raw_input_contents))


def renamed_input(request: Request, choose: random.Random) -> None:
    """Give an input another name."""
    choose.choice(request.inputs).name = choose.choice(["", _MARKER, "text", "input_ids", "x" * 5000, "te\0xt", "TEXT"])


def both_contents(request: Request, choose: random.Random) -> None:
    """Give typed contents beside raw ones."""
    contents = choose.choice(request.inputs).contents
    contents.int_contents.extend([1] * choose.choice([1, 64, 10_000]))
    contents.bytes_contents.append(_MARKER.encode())
    if choose.random() < 0.5:
        del request.raw_input_contents[:]


def ids_out_of_range(request: Request, choose: random.Random) -> None:
    """Give numbers of tokens that there are none of."""
    number = choose.choice([-1, 2**31 - 1, -(2**31), 10**6, 60_000])
    index = choose.randrange(len(request.raw_input_contents))
    request.raw_input_contents[index] = number.to_bytes(4, "little", signed=True) * 64


def bad_utf8(request: Request, choose: random.Random) -> None:
    """Give a string that is no UTF-8."""
    index = choose.randrange(len(request.raw_input_contents))
    bad = choose.choice([b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b"\xf8\x88\x80\x80\x80", b"a\0b", b"\xe2\x82"])
    request.raw_input_contents[index] = _string(_MARKER.encode() + bad * choose.choice([1, 1000]))


def long_string(request: Request, choose: random.Random) -> None:
    """Give a long string."""
    index = choose.randrange(len(request.raw_input_contents))
    request.raw_input_contents[index] = _string(choose.choice([b"x", b"\n", b"\xf0\x9f\x98\x80"]) * (2**20 + 1))


def huge_id(request: Request, choose: random.Random) -> None:
    """Give a long id."""
    request.id = _MARKER * choose.choice([200, 10_000, 1_000_000])


def many_parameters(request: Request, choose: random.Random) -> None:
    """Give parameters that nobody asked for."""
    for number in range(choose.choice([1, 50, 5000])):
        request.parameters[f"{_MARKER}{number}"].string_param = _MARKER
    name = choose.choice(
        ["sequence_id", "priority", "timeout", "sequence_start", "triton_enable_empty_final_response", "canary"]
    )
    parameter = request.parameters[name]
    if choose.random() < 0.5:
        parameter.int64_param = choose.choice([-1, 0, 1, 2**63 - 1])
    else:
        parameter.string_param = _MARKER


def unknown_model(request: Request, choose: random.Random) -> None:
    """Ask for a model or version that there is none of."""
    if choose.random() < 0.3:
        request.model_version = choose.choice(["2", "-1", _MARKER, "1" * 1000])
    else:
        request.model_name = choose.choice(["", _MARKER, "../v0", "v0\0", "x" * 100_000, "v0/../v0", NOTES_STREAM])


def unknown_output(request: Request, choose: random.Random) -> None:
    """Ask for outputs that there are none of, or for one many times."""
    for _ in range(choose.choice([1, 2, 1000])):
        request.outputs.add(name=choose.choice([_MARKER, "", *NOTE_OUTPUTS]))


def shared_memory(request: Request, choose: random.Random) -> None:
    """Point at memory that the server shares with nobody."""
    parameters = choose.choice(request.inputs).parameters
    parameters["shared_memory_region"].string_param = choose.choice([_MARKER, "", "../../etc/passwd"])
    parameters["shared_memory_byte_size"].int64_param = choose.choice([-1, 64, 2**62])
    parameters["shared_memory_offset"].int64_param = choose.choice([-1, 0, 2**62])


def other_models_inputs(request: Request, choose: random.Random) -> None:
    """Send the inputs of one model to another."""
    request.model_name = _GRAPH if request.model_name == NOTES else NOTES


def classification(request: Request, choose: random.Random) -> None:
    """Ask for the most likely classes: of a string the server divides by a size of 0, and ends."""
    names = NOTE_OUTPUTS if request.model_name == NOTES else ("name_v0_label",)
    request.outputs.add(name=choose.choice(names)).parameters["classification"].int64_param = choose.choice(
        [1, -1, 2**31]
    )


def overflowing_shape(request: Request, choose: random.Random) -> None:
    """Give a shape whose size is right where numbers are cut off at 64 bits; it ends the server."""
    for each in request.inputs:
        each.shape[:] = [2, 2**62 + 32] if request.model_name == _GRAPH else [2**62 + 1]


Change = Callable[[Any, random.Random], None]
#: Changes to a right request, and how often each is drawn. Those that end a server cost a restart each.
_CHANGES: Final[dict[Change, float]] = {
    **dict.fromkeys(
        (
            wrong_shape, wrong_type, wrong_size, wrong_length, missing_input, doubled_input, renamed_input,
            both_contents, ids_out_of_range, bad_utf8, long_string, huge_id, many_parameters, unknown_model,
            unknown_output, shared_memory, other_models_inputs,
        ),
        1.0,
    ),
    classification: 0.1,
    overflowing_shape: 0.1,
}  # fmt: skip
_RAW_SHARE: Final = 0.15
#: What comes back when the server, or the process of a model, may have ended.
_GONE: Final = ("UNAVAILABLE", "INTERNAL", "CANCELLED", "UNKNOWN", "ConnectionRefusedError", "ConnectionResetError")


class Attacker:
    """Sends requests to one address and counts what came back. A context manager."""

    def __init__(self, server: Supervised, choose: random.Random) -> None:
        self._server = server
        self._choose = choose
        self._channel = grpc.insecure_channel(server.address, options=[("grpc.max_receive_message_length", -1)])
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)
        self._open: list[socket.socket] = []
        self.counts: dict[str, Counter[str]] = {}

    def close(self) -> None:
        """Close all connections."""
        self._channel.close()
        for each in self._open:
            each.close()

    def right_answers(self) -> list[bytes]:
        """Return the answers to right requests; wait for a server that is not there.

        Raises TimeoutError when there is none in time.
        """
        until = time.monotonic() + _BACK_S
        while True:
            try:
                answers = [self._stub.ModelInfer(each(), timeout=_ANSWER_S) for each in (note_request, token_request)]
                return [answer.SerializeToString(deterministic=True) for answer in answers]
            except grpc.RpcError as error:
                if time.monotonic() > until:
                    raise TimeoutError(f"no answer to a right request for {_BACK_S:.0f} s: {error.code()}") from None
                time.sleep(_POLL_S)

    def attack(self) -> None:
        """Send one malformed request, and wait for a server that it ended."""
        if self._choose.random() < _RAW_SHARE:
            kind, came = self._raw()
        else:
            [change] = self._choose.choices([*_CHANGES], [*_CHANGES.values()])
            kind, came = change.__name__, self._changed(change)
        self.counts.setdefault(kind, Counter())[came] += 1
        if came in _GONE:
            self.right_answers()

    def _changed(self, change: Change) -> str:
        request = self._choose.choice([note_request, token_request])()
        change(request, self._choose)
        if request.inputs and self._choose.random() < 0.1:
            self._choose.choice([wrong_shape, wrong_type, huge_id])(request, self._choose)
        try:
            if self._choose.random() < 0.2:
                for answer in self._stub.ModelStreamInfer(iter([request]), timeout=_ANSWER_S):
                    return "error on the stream" if answer.error_message else "answered"
                return "stream without answer"
            self._stub.ModelInfer(request, timeout=_ANSWER_S)
            return "answered"
        except grpc.RpcError as error:
            return str(error.code().name)

    def _raw(self) -> tuple[str, str]:
        choose = self._choose
        kind = choose.choice(["no message", "unknown method", "garbage", "bad frames", "half-open"])
        if kind in ("no message", "unknown method"):
            method = "ModelInfer" if kind == "no message" else choose.choice([_MARKER, "", "ModelInfer/", "\u00e9"])
            content = bytearray(note_request().SerializeToString())
            for _ in range(choose.choice([1, 5, 50])):
                content[choose.randrange(len(content))] = choose.randrange(256)
            call = self._channel.unary_unary(f"{_METHOD}{method}", lambda data: data, lambda data: data)
            try:
                call(bytes(content), timeout=_ANSWER_S)
                return kind, "answered"
            except grpc.RpcError as error:
                return kind, str(error.code().name)
            except (ValueError, UnicodeError):
                return kind, "not sendable"
        return kind, self._raw_connection(kind)

    def _raw_connection(self, kind: str) -> str:
        choose = self._choose
        host, _, port = self._server.address.partition(":")
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        try:
            connection = socket.create_connection((host, int(port)), timeout=1.0)
            if kind == "half-open":
                connection.sendall((preface + _frame(choose))[: choose.randrange(40)])
                self._open.append(connection)
                if len(self._open) > _MOST_OPEN:
                    self._open.pop(0).close()
                return "left open"
            with connection:
                if kind == "garbage":
                    start = choose.choice([b"", preface, b"POST /v2/models/v0/infer HTTP/1.1\r\n\r\n", b"\x16\x03\x01"])
                    connection.sendall(start + choose.randbytes(choose.choice([1, 100, 100_000])))
                else:
                    connection.sendall(preface + b"".join(_frame(choose) for _ in range(choose.choice([1, 10, 300]))))
                connection.settimeout(0.5)
                while connection.recv(65536):
                    pass
            return "closed"
        except TimeoutError:
            return "kept open"
        except OSError as error:
            return type(error).__name__


def _frame(choose: random.Random) -> bytes:
    """Return a frame of HTTP/2 with a kind, flags and a stream drawn at random; its length may be wrong."""
    payload = choose.choice([b"", bytes(5), _MARKER.encode(), choose.randbytes(choose.randrange(200))])
    length = len(payload) if choose.random() < 0.8 else choose.randrange(2**24)
    stream = choose.choice([0, 1, 1, 2, 3, 2**31 - 1])
    return (
        length.to_bytes(3, "big")
        + bytes([choose.randrange(11), choose.randrange(256)])
        + stream.to_bytes(4, "big")
        + payload
    )


def main() -> None:
    """Attack, print a line every 100 requests, write the results; exit with 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--check-every", type=int, default=100, help="requests between two right ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "hostile_malformed_requests.json")
    options = parser.parse_args()
    choose = random.Random(options.seed)
    begun = time.monotonic()
    wrong = checks = not_back = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "keys").mkdir()
        write_key(folder / "keys" / f"{_KEY}.key")
        write_repository(read_manifest(find_models(None)), folder / "repository", ServingOptions(), NoteOptions())
        log = folder / "serve.log"  # what `deid serve --verbose` shows
        logging.basicConfig(filename=log, level=logging.INFO, format="%(message)s")
        with (
            supervised(folder / "repository", _POLICY, {"DEID_SERVE_KEYS": str(folder / "keys")}) as server,
            closing(Attacker(server, choose)) as attacker,
        ):
            first = attacker.right_answers()
            try:
                for number in range(1, options.requests + 1):
                    attacker.attack()
                    if number % options.check_every == 0 or number == options.requests:
                        checks += 1
                        wrong += attacker.right_answers() != first
                        said = {"requests": number, "restarts": server.starts - 1, "wrong_answers": wrong}
                        print(json.dumps({**said, "seconds": round(time.monotonic() - begun)}), flush=True)
            except TimeoutError as error:
                not_back = 1
                print(error, flush=True)
            restarts = server.starts - 1
        logged = log.read_text(encoding="utf-8", errors="replace").splitlines()
    kinds = {kind: dict(counts) for kind, counts in sorted(attacker.counts.items())}
    result = {
        "question": __doc__.splitlines()[0],
        "machine": describe_machine(),
        "arguments": {each: value for each, value in vars(options).items() if each != "results"},
        "requests": sum(sum(counts.values()) for counts in kinds.values()),
        "right_requests": 2 * (checks + 1),
        "wrong_answers": wrong,
        "server_not_back": not_back,
        "restarts": restarts,
        "timed_out": sum(counts.get("DEADLINE_EXCEEDED", 0) for counts in kinds.values()),
        "log_lines": len(logged),
        "log_lines_with_text": sum(_MARKER in line or "Thackeray" in line for line in logged),
        "seconds": round(time.monotonic() - begun),
        "kinds": kinds,
    }
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    raise SystemExit(1 if wrong or not_back or result["log_lines_with_text"] else 0)


if __name__ == "__main__":
    main()

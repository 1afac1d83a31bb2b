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
from contextlib import closing
from pathlib import Path
from typing import Final

import grpc
from attacked_runs import RESULTS, describe_machine
from request_changes import CHANGES, KEY, MARKER, Change, huge_id, note_request, token_request, wrong_shape, wrong_type
from served_models import Supervised, supervised
from tritonclient.grpc import service_pb2_grpc

from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.serving.graph_models import ServingOptions
from deid_runtime.serving.note_models import NoteOptions
from deid_runtime.serving.repository import write_repository
from deid_runtime.serving.supervisor import RestartPolicy
from deid_runtime.surrogates import write_key

_POLICY: Final = RestartPolicy(first_delay_s=0.2, longest_delay_s=1.0)
_ANSWER_S: Final = 20.0
_BACK_S: Final = 240.0  # a server that is gone must be back and answer
_POLL_S: Final = 0.2
_METHOD: Final = "/inference.GRPCInferenceService/"
_MOST_OPEN: Final = 20  # connections that are left open at a time


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
            [change] = self._choose.choices([*CHANGES], [*CHANGES.values()])
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
            method = "ModelInfer" if kind == "no message" else choose.choice([MARKER, "", "ModelInfer/", "\u00e9"])
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
    payload = choose.choice([b"", bytes(5), MARKER.encode(), choose.randbytes(choose.randrange(200))])
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
        write_key(folder / "keys" / f"{KEY}.key")
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
        "log_lines_with_text": sum(MARKER in line or "Thackeray" in line for line in logged),
        "seconds": round(time.monotonic() - begun),
        "kinds": kinds,
    }
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    raise SystemExit(1 if wrong or not_back or result["log_lines_with_text"] else 0)


if __name__ == "__main__":
    main()

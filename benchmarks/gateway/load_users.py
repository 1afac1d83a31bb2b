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
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

from locust import FastHttpUser, constant, events, task

sys.path.append(str(Path(__file__).resolve().parents[1]))

from grpc_users import GrpcUser, from_anywhere, note_request

_BATCH: Final = 16
_OK: Final = 200
_DEADLINE_S: Final = 120.0


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
        self._notes = from_anywhere(environment.notes)
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


class NoteUser(GrpcUser):
    """Sends notes to the server itself over a connection of its own."""

    def __init__(self, environment: Any) -> None:
        options = environment.parsed_options
        super().__init__(environment, options.grpc)
        self._key = options.key_name
        self._notes = from_anywhere(environment.notes)

    @task
    def one(self) -> None:
        """Send one note."""
        self.ask(note_request(next(self._notes), self._key), "gRPC, one note", _DEADLINE_S, lambda *_: None)

"""Streams of notes: one JSON object per line, in and out, in order, with back-pressure.

The answer begins before the request has ended. A line is read only when there is room for its note; there is room when
an answer has been read. So a client must read while it writes. The last line says whether the stream is complete.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from deid_runtime.gateway.bodies import LINES, parse_json, read_lines
from deid_runtime.gateway.clients import Client
from deid_runtime.gateway.limits import Gate, Use
from deid_runtime.gateway.options import GatewayOptions
from deid_runtime.gateway.problems import DEADLINE, ProblemError
from deid_runtime.gateway.record import GONE, Record
from deid_runtime.gateway.requests import parse_note
from deid_runtime.gateway.work import NoteOutcome, NoteSender, in_order
from deid_runtime.spans import Note

_READ: Final = "read"


class NoteStream(Response):
    """The answer to a stream of notes."""

    media_type = LINES

    def __init__(
        self, gate: Gate, options: GatewayOptions, client: Client, sender: NoteSender, record: Record, request: Request
    ) -> None:
        super().__init__()
        self._gate = gate
        self._options = options
        self._project = client.project
        self._client = client
        self._sender = sender
        self._record = record
        self._request = request
        self._request_id: str = request.state.request_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer line by line. A problem before the first line is an ordinary answer; later it is the last line."""
        try:
            with self._gate.entered(self._project) as use:
                self._record.begin_stream(self._client, self._sender.key)
                async with aclosing(self._lines(use)) as lines:
                    await self._send_all(lines, send)
        except ProblemError as problem:
            self._record.fail(problem)
            raise
        except (ClientDisconnect, asyncio.CancelledError):
            self._record.end(GONE, 0)
            raise

    async def _send_all(self, lines: AsyncGenerator[bytes, None], send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", LINES.encode("ascii"))]}
        )
        problem: ProblemError | None = None
        try:
            async for line in lines:
                await send({"type": "http.response.body", "body": line, "more_body": True})
        except ProblemError as error:
            problem = error
        counts = self._record.counts
        end: dict[str, Any] = {"complete": problem is None, "done": counts.done, "held_back": counts.not_done}
        if problem is not None:
            end["problem"] = problem.content(self._request_id)
            self._record.end(problem.kind.name)
        else:
            self._record.end()
        await send({"type": "http.response.body", "body": _line({"end": end})})

    async def _lines(self, use: Use) -> AsyncGenerator[bytes, None]:
        """Yield the line of each note."""
        async with aclosing(in_order(self._notes(use), self._outcome, self._sender.at_once)) as outcomes:  # type: ignore[type-var]
            async for outcome in outcomes:
                self._record.add(outcome)
                yield _line(outcome.content(self._sender.task))

    async def _notes(self, use: Use) -> AsyncIterator[Note | NoteOutcome]:
        """Yield the note of each line, as fast as the rates of the project allow; an outcome for a wrong line."""
        limits, times = self._project.limits, self._options.timeouts
        async for line in read_lines(self._request, limits.request_bytes, times.body_s):
            wait_s = max(use.notes.owe(1), use.bytes.owe(len(line)))
            if wait_s:
                await asyncio.sleep(wait_s)
            try:
                yield parse_note(parse_json(line), limits, "")
            except ProblemError as problem:
                yield NoteOutcome(Note("", ""), None, _READ, problem.detail)

    async def _outcome(self, note: Note | NoteOutcome) -> NoteOutcome:
        if isinstance(note, NoteOutcome):
            return note
        seconds = self._options.timeouts.deadline_s
        try:
            async with asyncio.timeout(seconds):
                return await self._sender.outcome(note)
        except TimeoutError:
            raise ProblemError(DEADLINE, f"the servers did not answer for a note within {seconds:g} s") from None


def _line(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"

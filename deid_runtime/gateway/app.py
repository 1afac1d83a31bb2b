"""The addresses of the gateway."""

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from deid_runtime.access.access_file import AccessFile
from deid_runtime.gateway.audit_log import AuditLog
from deid_runtime.gateway.bodies import JSON, LINES, media_type, parse_json, read_body
from deid_runtime.gateway.clients import Client, identify
from deid_runtime.gateway.guard import Guard, has_gone
from deid_runtime.gateway.limits import Gate, Use, take_notes
from deid_runtime.gateway.metrics import CONTENT_TYPE, GatewayMetrics
from deid_runtime.gateway.openapi import description, page, style
from deid_runtime.gateway.options import GatewayOptions
from deid_runtime.gateway.problems import DEADLINE, FORBIDDEN, ProblemError, of_status
from deid_runtime.gateway.protocol import CONNECTION
from deid_runtime.gateway.readiness import Readiness
from deid_runtime.gateway.record import GONE, Record
from deid_runtime.gateway.requests import check_key, parse_request
from deid_runtime.gateway.servers import NoteServers, Task
from deid_runtime.gateway.stream import NoteStream
from deid_runtime.gateway.work import NoteSender, problem_of

_Result = TypeVar("_Result")

_OPERATIONS: Final = {
    "/v1/deidentify": "deidentify",
    "/v1/detect": "detect",
    "/healthz": "health",
    "/readyz": "ready",
    "/metrics": "metrics",
    "/openapi.json": "docs",
    "/docs": "docs",
}


@dataclass(slots=True)
class Gateway:
    """All that requests share."""

    options: GatewayOptions
    access: AccessFile
    servers: NoteServers
    audit: AuditLog
    metrics: GatewayMetrics
    gate: Gate = field(init=False)
    readiness: Readiness = field(init=False)

    def __post_init__(self) -> None:
        self.gate = Gate(self.options.requests)
        self.readiness = Readiness(self.servers, self.options.timeouts.ready_s)


def gateway_app(gateway: Gateway) -> Starlette:
    """Return the application for clients."""
    return _application(
        gateway,
        [
            Route("/v1/deidentify", partial(_notes, gateway, "deidentify"), methods=["POST"]),
            Route("/v1/detect", partial(_notes, gateway, "detect"), methods=["POST"]),
            Route("/metrics", partial(_metrics, gateway, True)),
            Route("/openapi.json", _constant(description(), JSON)),
            Route("/docs", _constant(page(), "text/html; charset=utf-8")),
            Route("/docs.css", _constant(style(), "text/css; charset=utf-8")),
            *_health(gateway),
        ],
    )


def monitor_app(gateway: Gateway) -> Starlette:
    """Return the application for probes and Prometheus, which need no token."""
    return _application(gateway, [Route("/metrics", partial(_metrics, gateway, False)), *_health(gateway)])


def _application(gateway: Gateway, routes: list[Route]) -> Starlette:
    answer_s = gateway.options.timeouts.answer_s
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, metrics=gateway.metrics, answer_s=answer_s, operations=_OPERATIONS)],
        exception_handlers={HTTPException: _refused},
    )
    app.router.redirect_slashes = False  # an address is right or wrong; a redirect would repeat the header `host`
    return app


def _health(gateway: Gateway) -> list[Route]:
    return [Route("/healthz", _constant(b"ok\n", "text/plain")), Route("/readyz", partial(_ready, gateway))]


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    response = of_status(status).response(request.state.request_id)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)  # `allow`, for a wrong method
    return response


def _constant(content: bytes, content_type: str) -> Any:
    async def answer(request: Request) -> Response:
        return Response(content, media_type=content_type)

    return answer


async def _ready(gateway: Gateway, request: Request) -> Response:
    is_ready = await gateway.readiness.now()
    content = b"ready\n" if is_ready else b"no server de-identifies a known note\n"
    return Response(content, 200 if is_ready else 503, media_type="text/plain")


async def _metrics(gateway: Gateway, needs_token: bool, request: Request) -> Response:
    if needs_token and not _client(gateway, request).project.may_read_metrics:
        raise ProblemError(FORBIDDEN, "this project may not read metrics (`metrics = true` in the access file)")
    gateway.metrics.access_faults.set(gateway.access.faults)
    return Response(gateway.metrics.text(), media_type=CONTENT_TYPE)


def _client(gateway: Gateway, request: Request) -> Client:
    connection = request.scope.get(CONNECTION)
    return identify(request, gateway.access, connection.subject if connection is not None else None)


async def _notes(gateway: Gateway, task: Task, request: Request) -> Response:
    """Answer a request for notes, and write it to the audit log before its answer is sent."""
    record = Record.of(gateway.audit, request, task)
    try:
        record.client = client = _client(gateway, request)
        if task == "detect" and not client.project.may_detect:
            raise ProblemError(FORBIDDEN, "this project may not have notes searched without a key (detect)")
        if media_type(request, (JSON, LINES)) == LINES:
            return _stream(gateway, task, request, record, client)
        with gateway.gate.entered(client.project) as use:
            content = await _json(gateway, task, request, record, use)
        record.end()
    except ProblemError as problem:
        record.fail(problem)
        raise
    except ClientDisconnect:
        record.end(GONE, 0)
        raise
    return Response(json.dumps(content, ensure_ascii=False).encode("utf-8"), media_type=JSON)


async def _json(gateway: Gateway, task: Task, request: Request, record: Record, use: Use) -> dict[str, Any]:
    assert record.client is not None
    project = record.client.project
    times = gateway.options.timeouts
    take_notes(use, project, 1, 0)  # also a request that cannot be read costs something
    body = await read_body(request, project.limits.request_bytes, times.body_s)
    asked = parse_request(parse_json(body), task, project)
    record.key = asked.key or None
    take_notes(use, project, max(0, len(asked.notes) - 1), len(body))
    sender = _sender(gateway, record.client, task, asked.key)
    try:
        async with asyncio.timeout(times.deadline_s):
            outcomes = await _unless_gone(request, sender.outcomes(asked.notes))
    except TimeoutError:
        raise ProblemError(
            DEADLINE, f"the servers did not answer within {times.deadline_s:g} s; send fewer notes", retry_s=1
        ) from None
    for outcome in outcomes:
        record.add(outcome)
    if asked.is_batch:
        rows = [outcome.content(task) for outcome in outcomes]
        return {"notes": rows, "done": record.counts.done, "held_back": record.counts.not_done}
    [outcome] = outcomes
    if outcome.answer is None:
        raise problem_of(outcome)
    return outcome.content(task)


def _stream(gateway: Gateway, task: Task, request: Request, record: Record, client: Client) -> NoteStream:
    keys = request.query_params.getlist("key")
    key = check_key(keys[0] if len(keys) == 1 else None, task, client.project)
    sender = _sender(gateway, client, task, key)
    return NoteStream(gateway.gate, gateway.options, client, sender, record, request)


def _sender(gateway: Gateway, client: Client, task: Task, key: str) -> NoteSender:
    return NoteSender(gateway.servers, gateway.metrics, client.project.name, task, key, gateway.options.notes_at_once)


async def _unless_gone(request: Request, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Return the result of ``work``. When the client goes away, cancel it and raise ClientDisconnect."""
    working = asyncio.create_task(work)
    gone = asyncio.create_task(has_gone(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        for task in (working, gone):
            task.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)


__all__ = ["Gateway", "gateway_app", "monitor_app"]

"""The requests of the review page."""

from functools import partial
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from deid_runtime.errors import InputError
from deid_runtime.labels import HEAD_OF, LABELS
from deid_runtime.review.access import Door
from deid_runtime.review.project import ReviewProject
from deid_runtime.review.schema import ADJUDICATOR, Decision, Filter, Reviewable
from deid_runtime.review.serve import application, body_of
from deid_runtime.spans import Span

_PAGE_ROWS: Final = 200


def review_app(path: Path, door: Door) -> Starlette:
    """Return the application of the review page for the project at ``path``."""
    bound = {
        name: partial(handler, path)
        for name, handler in (
            ("project", _project), ("listed", _listed), ("note", _note), ("save", _save), ("next", _next),
            ("spread", _spread), ("unspread", _unspread),
        )
    }  # fmt: skip
    return application(
        door,
        "review.html",
        ("review.js", "note_view.js", "page.css"),
        [
            Route("/api/project", bound["project"]),
            Route("/api/notes", bound["listed"]),
            Route("/api/notes/{number:int}", bound["note"], methods=["GET"]),
            Route("/api/notes/{number:int}", bound["save"], methods=["PUT"]),
            Route("/api/notes/{number:int}/next", bound["next"]),
            Route("/api/notes/{number:int}/spread", bound["spread"], methods=["POST"]),
            Route("/api/unspread", bound["unspread"], methods=["POST"]),
        ],
    )


async def _project(path: Path, request: Request) -> JSONResponse:
    person = _person(request)
    with ReviewProject(path) as project:
        return JSONResponse(
            {
                "mode": project.mode,
                "reviewer": person,
                "adjudicates": person == ADJUDICATOR,
                "has_released": project.has_released and project.mode == "correct",
                "labels": [{"name": label, "head": HEAD_OF[label]} for label in LABELS],
                "types": project.types(),
                "counts": project.counts(person),
            }
        )


async def _listed(path: Path, request: Request) -> JSONResponse:
    person = _person(request)
    first = _number(request.query_params.get("first", "0"))
    with ReviewProject(path) as project:
        rows = project.listed(person, _filter(request), first=first, count=_PAGE_ROWS + 1)
    return JSONResponse({"rows": rows[:_PAGE_ROWS], "has_more": len(rows) > _PAGE_ROWS})


async def _note(path: Path, request: Request) -> JSONResponse:
    person = _person(request)
    number = request.path_params["number"]
    with ReviewProject(path) as project:
        note = project.note(number)
        decided = project.decision(number, person)
        others = project.others(number, person) if person == ADJUDICATOR else {}
        initial = _agreed(others) if others else project.initial(number)
    is_blind = project.mode == "blind"
    return JSONResponse(
        {
            "number": number,
            "id": note.note.id,
            "type": note.note.type,
            "text": note.released if is_blind else note.note.text,
            "spans": [_span_row(span) for span in (decided.spans if decided else initial)],
            # A blind reader must not see what the program found.
            "found": [] if is_blind else _found_rows(note),
            "released": "" if is_blind else note.released,
            "read_whole": decided is not None and decided.read_whole,
            "version": decided.version if decided else 0,
            "others": {name: [_span_row(span) for span in each.spans] for name, each in others.items()},
        }
    )


async def _save(path: Path, request: Request) -> JSONResponse:
    body = await body_of(request)
    spans = body.get("spans")
    if not isinstance(spans, list) or not isinstance(body.get("read_whole"), bool):
        raise InputError("expected 'spans', 'read_whole' and 'version'")
    decision = Decision(tuple(_span(row) for row in spans), body["read_whole"], _number(body.get("version")))
    person = _person(request)
    with ReviewProject(path) as project:
        version = project.save(request.path_params["number"], person, decision)
        return JSONResponse({"version": version, "counts": project.counts(person)})


async def _next(path: Path, request: Request) -> JSONResponse:
    step = -1 if request.query_params.get("step") == "-1" else 1
    with ReviewProject(path) as project:
        number = project.neighbour(_person(request), _filter(request), request.path_params["number"], step)
    return JSONResponse({"number": number})


async def _spread(path: Path, request: Request) -> JSONResponse:
    span = _span(await body_of(request))
    with ReviewProject(path) as project:
        added = project.spread(request.path_params["number"], _person(request), span.start, span.end, span.label)
    return JSONResponse({"added": added})


async def _unspread(path: Path, request: Request) -> JSONResponse:
    places = (await body_of(request)).get("added")
    if not isinstance(places, list) or not all(
        isinstance(place, list) and len(place) == 3 and all(type(value) is int for value in place) for place in places
    ):
        raise InputError("expected 'added', a list of number, start, end")
    with ReviewProject(path) as project:
        project.unspread(_person(request), [(number, start, end) for number, start, end in places])
    return JSONResponse({})


def _person(request: Request) -> str:
    return str(request.state.person)


def _filter(request: Request) -> Filter:
    query = request.query_params
    return Filter(
        state=query.get("state", "all"),
        label=query.get("label", ""),
        type=query.get("type", ""),
        order="number" if query.get("order") == "number" else "doubt",
    )


def _number(value: object) -> int:
    """Return a whole number of 0 or more. Raises InputError."""
    if isinstance(value, str) and value.isdecimal() and len(value) <= 12:
        return int(value)
    if type(value) is not int or value < 0:
        raise InputError("expected a whole number of 0 or more")
    return value


def _span(row: object) -> Span:
    """Return the span of ``{"start", "end", "label"}``. Raises InputError."""
    start, end, label = map(row.get, ("start", "end", "label")) if isinstance(row, dict) else (None, None, None)
    if type(start) is not int or type(end) is not int or not isinstance(label, str):
        raise InputError("each span needs whole numbers 'start' < 'end' and a 'label'")
    return Span(start, end, label)


def _span_row(span: Span) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "label": span.label}


def _found_rows(note: Reviewable) -> list[dict[str, Any]]:
    """Return the found spans with scores, sources, and the places of their replacements in the released text."""
    places = note.replacements or [None] * len(note.found)
    return [
        _span_row(span) | {"score": round(span.score, 3), "sources": span.sources, "released": place}
        for span, place in zip(note.found, places, strict=True)
    ]


def _agreed(others: dict[str, Decision]) -> tuple[Span, ...]:
    """Return the spans that all reviewers marked alike."""
    common = set.intersection(*(set(each.spans) for each in others.values()))
    return tuple(sorted(common))

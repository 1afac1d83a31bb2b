"""The demo page: one note, what is found in it and why, and the de-identified text."""

import threading
from functools import partial
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from deid_runtime.errors import InputError
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.review.access import Door
from deid_runtime.review.serve import application, body_of
from deid_runtime.spans import Note

#: Most characters of a note on the demo page; they take some seconds.
MOST_CHARS: Final = 100_000


def demo_app(pipeline: Pipeline, door: Door) -> Starlette:
    """Return the application of the demo page. ``pipeline`` needs a key."""
    lock = threading.Lock()  # a pipeline is not thread-safe
    return application(
        door,
        "demo.html",
        ("demo.js", "note_view.js", "page.css"),
        [Route("/api/deidentify", partial(_deidentify, pipeline, lock), methods=["POST"])],
    )


async def _deidentify(pipeline: Pipeline, lock: threading.Lock, request: Request) -> JSONResponse:
    text = (await body_of(request)).get("text")
    if not isinstance(text, str) or not text.strip() or len(text) > MOST_CHARS:
        raise InputError(f"expected a note of 1 to {MOST_CHARS:,} characters")

    def work() -> dict[str, Any]:
        with lock:
            outcome = pipeline.deidentify([Note("demo", text)])[0]
        if isinstance(outcome, Quarantined):
            return {"held_back": f"{outcome.stage}: {outcome.reason}"}
        return {
            "released": outcome.text,
            "spans": [
                {
                    "start": span.start,
                    "end": span.end,
                    "label": span.label,
                    "score": round(span.score, 3),
                    "sources": span.sources,
                    "released": place,
                }
                for span, place in zip(outcome.spans, outcome.replacements, strict=True)
            ],
        }

    return JSONResponse(await run_in_threadpool(work))

"""Requests that tell a hung server from a busy one.

A server whose model hangs still calls itself ready. So each model is asked to run a small request of our own, again and
again. A request that is not answered in time proves nothing while the model answers others, or computes, as it does for
minutes over the longest notes: then it is busy. A model that does neither is hung.
"""

import http.client
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from deid_runtime.serving.grpc_probe import answers_grpc
from deid_runtime.serving.note_models import CANARY, NOTES_STREAM
from deid_runtime.serving.server import Server

_TOKENS: Final = 32  # of the one row that is asked
_GRPC_S: Final = 5.0
_STREAM_S: Final = 5.0
_GRPC: Final = "gRPC"
_INFER: Final = "/infer"
#: A model computes when it uses so much of one processor. One that waits uses far less.
_COMPUTING_SHARE: Final = 0.05


@dataclass(slots=True)
class _Silence:
    """Since when a model has answered nobody; how many requests it had answered, and how long it had computed.

    ``idle_since_s`` is later than ``since_s`` when the model has computed in between.
    """

    since_s: float
    idle_since_s: float
    answered: int | None
    computed_s: float


class Canary:
    """Asks gRPC and every model of a server in turn, in a thread of its own; a context manager."""

    def __init__(self, server: Server, *, interval_s: float, silent_s: float, computing_s: float) -> None:
        """Pause ``interval_s`` between rounds; a model is hung that is silent for ``silent_s``.

        One that computes meanwhile is hung after ``computing_s``.
        """
        self._server = server
        self._interval_s = interval_s
        self._silent_s = silent_s
        self._computing_s = computing_s
        self._silences: dict[str, _Silence] = {}
        self._requests: dict[str, tuple[str, Any] | None] = {}
        self._failures = 0
        self._hung: str | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="canary", daemon=True)

    @property
    def hung(self) -> str | None:
        """Name of a model, or ``gRPC``, that has answered nobody for ``silent_s`` while it was asked; else None."""
        return self._hung

    @property
    def failures(self) -> int:
        """How many requests were not answered in time."""
        return self._failures

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A request under way may wait long. It ends with the server, and nobody needs its answer.
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.wait(self._interval_s):
            self._note(_GRPC, self._look(_GRPC), answers_grpc(self._server.options, _GRPC_S))
            for model in self._server.options.models:
                if self._closed.is_set():
                    return
                before = self._look(model)
                self._note(model, before, self._answers(model))

    def _look(self, name: str) -> _Silence:
        """Return what there is to tell of a model now, as if it began to be silent."""
        now = time.monotonic()
        if name == _GRPC:
            return _Silence(now, now, None, 0.0)
        return _Silence(now, now, self._answered(name), self._server.computed_s(name))

    def _note(self, name: str, before: _Silence, has_answered: bool) -> None:
        """Take note of one request, before which there was ``before`` to tell."""
        if has_answered:
            self._silences.pop(name, None)
            return
        self._failures += 1
        silence = self._silences.setdefault(name, before)
        now = self._look(name)
        if now.answered is not None and now.answered != silence.answered:
            self._silences[name] = now
            return
        idle_s = now.since_s - silence.idle_since_s
        if idle_s < self._silent_s:
            return
        has_computed = now.computed_s - silence.computed_s >= _COMPUTING_SHARE * idle_s
        if has_computed and now.since_s - silence.since_s < self._computing_s:
            silence.idle_since_s, silence.computed_s = now.since_s, now.computed_s
        else:
            self._hung = name

    def _answers(self, model: str) -> bool:
        """Say whether a model answers a request of ours; an ensemble is taken to, because its parts are asked."""
        is_stream = False
        try:
            if model not in self._requests:
                self._requests[model] = self._request(model)
            request = self._requests[model]
            if request is None:
                return True
            path, body = request
            is_stream = not path.endswith(_INFER)
            status, _ = self._server.ask("POST", path, body, timeout_s=_STREAM_S if is_stream else self._silent_s)
        except TimeoutError:
            # It may wait behind a request of many notes. Where its process hangs, the server itself says so in 1 s.
            return is_stream
        except (OSError, http.client.HTTPException):
            return False
        # A model that refuses the request, as one of somebody else may, has answered. Only on the path of streams the
        # server uses the same status for a model that hangs.
        return status == http.client.OK or (status == http.client.BAD_REQUEST and not is_stream)

    def _request(self, model: str) -> tuple[str, Any] | None:
        """Return path and body of the request for a model, None for an ensemble."""
        status, about = self._server.ask("GET", f"/v2/models/{model}")
        if status != http.client.OK:
            raise http.client.HTTPException("the model is not known")
        if about["platform"] == "ensemble":
            return None
        if model == NOTES_STREAM:  # Triton serves streams over HTTP by this path alone
            return f"/v2/models/{model}/generate", {**{each["name"]: "" for each in about["inputs"]}, CANARY: True}
        body = {"inputs": [_input(each) for each in about["inputs"]], "parameters": {CANARY: True}}
        return f"/v2/models/{model}{_INFER}", body

    def _answered(self, model: str) -> int | None:
        """Return how many requests a model has answered well since it was loaded, None when the server says nothing."""
        try:
            status, found = self._server.ask("GET", f"/v2/models/{model}/stats")
        except (OSError, http.client.HTTPException):
            return None
        if status != http.client.OK:
            return None
        return sum(int(each["inference_stats"]["success"]["count"]) for each in found["model_stats"])


def _input(tensor: dict[str, Any]) -> dict[str, Any]:
    """Return one input of a request: a row of tokens, or of their hidden states; empty text."""
    sizes = [int(size) for size in tensor["shape"]]
    if tensor["datatype"] == "BYTES":
        return {"name": tensor["name"], "datatype": "BYTES", "shape": [1], "data": [""]}
    shape = [1, *(_TOKENS if size < 0 else size for size in sizes[1:])]
    # Ones are allowed everywhere: a token, its type, a mask that hides nothing, a hidden state.
    count = 1
    for size in shape:
        count *= size
    return {"name": tensor["name"], "datatype": tensor["datatype"], "shape": shape, "data": [1] * count}

"""Canary requests: small test requests that distinguish a hung server from a busy one.

A server with a hung model still reports that it is ready. So the canary sends a small request to each model at regular
intervals. A model that does not answer in time is busy when it answers other requests or uses processor time; the
longest notes take minutes. A model that does neither is hung.

The answer of ``deidentify`` is compared with the expected one (:mod:`deid_runtime.serving.canary_note`).
"""

import http.client
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from deid_runtime.serving.canary_note import canary_fault
from deid_runtime.serving.grpc_probe import answers_grpc
from deid_runtime.serving.note_models import CANARY, CANARY_PARAMETERS, NOTES, NOTES_STREAM
from deid_runtime.serving.server import Server

_TOKENS: Final = 32  # in the one row of a canary request
_GRPC_S: Final = 5.0
_STREAM_S: Final = 5.0
_GRPC: Final = "gRPC"
_INFER: Final = "/infer"
_ANSWER_S: Final = 5.0  # how long to wait for an answer; a longer silence spans several requests
#: A model is restarted when it gives a wrong answer this many times in a row.
_WRONG_ANSWERS: Final = 2
#: A model computes when it uses at least this share of one processor. A waiting model uses far less.
_COMPUTING_SHARE: Final = 0.05


@dataclass(slots=True)
class _Silence:
    """The state of a model at the start of its silence: the time, the requests answered, the processor seconds used.

    ``idle_since_s`` is later than ``since_s`` when the model has computed in between. It is the time of the last check
    at which the model had computed, and ``computed_s`` is the value at that check.
    """

    since_s: float
    idle_since_s: float
    answered: int | None
    computed_s: float


class Canary:
    """Sends canary requests to the gRPC endpoint and to every model of a server, in a thread. A context manager."""

    def __init__(self, server: Server, *, interval_s: float, silent_s: float, computing_s: float) -> None:
        """Pause ``interval_s`` between rounds. A model is hung after ``silent_s`` of silence.

        A model that computes meanwhile is hung after ``computing_s``.
        """
        self._server = server
        self._interval_s = interval_s
        self._silent_s = silent_s
        self._computing_s = computing_s
        self._silences: dict[str, _Silence] = {}
        self._requests: dict[str, tuple[str, Any] | None] = {}
        self._failures = 0
        self._hung: str | None = None
        self._suspects: set[str] = set()
        self._wrong_answers = 0  # of `deidentify`, in a row
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="canary", daemon=True)

    @property
    def hung(self) -> str | None:
        """The name of the model, or ``gRPC``, that hangs: it was silent for too long. None while nothing hangs."""
        return self._hung

    @property
    def wrong(self) -> str | None:
        """The name of a model that gave a wrong answer several times in a row. None while there is none."""
        return NOTES if self._wrong_answers >= _WRONG_ANSWERS else None

    @property
    def has_doubts(self) -> bool:
        """Whether the last answer of a model was wrong, or a model is silent and does not compute."""
        return bool(self._suspects) or self._wrong_answers > 0

    @property
    def failures(self) -> int:
        """The number of canary requests that were answered late, wrongly or not at all."""
        return self._failures

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The thread is not joined: a request in flight may wait long. It ends with the server.
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
        """Return the state of a model now, as if its silence began now."""
        now = time.monotonic()
        if name == _GRPC:
            return _Silence(now, now, None, 0.0)
        return _Silence(now, now, self._answered(name), self._server.computed_s(name))

    def _note(self, name: str, before: _Silence, has_answered: bool) -> None:
        """Record the result of one request. ``before`` is the state of the model before the request."""
        if has_answered:
            self._silences.pop(name, None)
            self._suspects.discard(name)
            return
        self._failures += 1
        silence = self._silences.setdefault(name, before)
        now = self._look(name)
        if now.answered is not None and now.answered != silence.answered:
            self._silences[name] = now
            self._suspects.discard(name)
            return
        idle_s = now.since_s - silence.idle_since_s
        has_computed = now.computed_s - silence.computed_s >= _COMPUTING_SHARE * idle_s
        (self._suspects.discard if has_computed else self._suspects.add)(name)
        if idle_s < self._silent_s:
            return
        if has_computed and now.since_s - silence.since_s < self._computing_s:
            silence.idle_since_s, silence.computed_s = now.since_s, now.computed_s
        else:
            self._hung = name

    def _answers(self, model: str) -> bool:
        """Return whether a model answers a canary request; True for an ensemble, whose parts are tested one by one."""
        is_stream = False
        try:
            if model not in self._requests:
                self._requests[model] = self._request(model)
            request = self._requests[model]
            if request is None:
                return True
            path, body = request
            is_stream = not path.endswith(_INFER)
            timeout_s = _STREAM_S if is_stream else min(self._silent_s, _ANSWER_S)
            status, answer = self._server.ask("POST", path, body, timeout_s=timeout_s)
        except TimeoutError:
            # A stream request may wait behind one of many notes. If its process hangs, the server reports it in 1 s.
            return is_stream
        except (OSError, http.client.HTTPException):
            return False
        if model == NOTES and status in (http.client.OK, http.client.BAD_REQUEST):
            is_right = status == http.client.OK and not _note_fault(answer)
            self._wrong_answers = 0 if is_right else self._wrong_answers + 1
            self._failures += not is_right
            return True
        # A model that refuses the request has answered; a site's own model may do so. This is not so for streams:
        # there, the server uses the same status for a hung model.
        return status == http.client.OK or (status == http.client.BAD_REQUEST and not is_stream)

    def _request(self, model: str) -> tuple[str, Any] | None:
        """Return the path and body of the canary request for a model; None for an ensemble."""
        status, about = self._server.ask("GET", f"/v2/models/{model}")
        if status != http.client.OK:
            raise http.client.HTTPException("the model is unknown")
        if about["platform"] == "ensemble":
            return None
        if model == NOTES_STREAM:  # Triton serves streams over HTTP on this path only
            return f"/v2/models/{model}/generate", {**{each["name"]: "" for each in about["inputs"]}, CANARY: True}
        parameters = CANARY_PARAMETERS if model == NOTES else {CANARY: True}
        body = {"inputs": [_input(each) for each in about["inputs"]], "parameters": parameters}
        return f"/v2/models/{model}{_INFER}", body

    def _answered(self, model: str) -> int | None:
        """Return a number that grows when a model answers requests; None when the server gives none.

        Triton counts a request of ``deidentify`` as answered when the model has taken it, so its own mark is used.
        """
        if model == NOTES:
            return self._server.last_answer_ns()
        try:
            status, found = self._server.ask("GET", f"/v2/models/{model}/stats")
        except (OSError, http.client.HTTPException):
            return None
        if status != http.client.OK:
            return None
        return sum(int(each["inference_stats"]["success"]["count"]) for each in found["model_stats"])


def _note_fault(answer: Any) -> str:
    """Return what is wrong with the parsed answer of ``deidentify``; an empty string for a right answer."""
    try:
        outputs = {output["name"]: str(output["data"][0]) for output in answer["outputs"]}
        return canary_fault(outputs["text"], outputs["spans"])
    except (KeyError, IndexError, TypeError):
        return "the answer has no text or no spans"


def _input(tensor: dict[str, Any]) -> dict[str, Any]:
    """Return one input tensor of a canary request: one row of tokens or hidden states, or an empty text."""
    sizes = [int(size) for size in tensor["shape"]]
    if tensor["datatype"] == "BYTES":
        return {"name": tensor["name"], "datatype": "BYTES", "shape": [1], "data": [""]}
    shape = [1, *(_TOKENS if size < 0 else size for size in sizes[1:])]
    # The value 1 is valid for every input: token id, token type, attention mask, hidden state.
    count = 1
    for size in shape:
        count *= size
    return {"name": tensor["name"], "datatype": tensor["datatype"], "shape": shape, "data": [1] * count}

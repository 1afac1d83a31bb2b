"""Triton's python backend for whole notes: the pipeline of ``deid run``, one note per request.

The settings are parameters of the model's configuration. The lists of a site are files beside the model. Everything
else comes from environment variables of the server. Each of them corresponds to an option of ``deid serve``:

- ``DEID_SERVE_KEYS``: a folder of key files
- ``DEID_SERVE_PATIENTS``: a table of patient records
- ``DEID_SERVE_ACCESS``: the access file, see :mod:`deid_runtime.serving.note_access`
- ``DEID_SERVE_GIVEN_DATE_SHIFTS``: a table of date shifts, days by patient
- ``DEID_SERVE_MODELS_KEY``: the public key of the models' signature
- ``DEID_SERVE_OTLP_ENDPOINT``: the OpenTelemetry collector that gets traces
- ``DEID_SERVE_ALLOW_SHARED_KEY=1`` and ``DEID_SERVE_TRUST_MODELS=1``: options without a value

and ``DEID_SERVE_ANSWERS``, which ``deid serve`` sets for itself (:mod:`deid_runtime.serving.note_queue`).
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter, time_ns
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deid_runtime.errors import DeidError, InputError, ModelError, SettingsError
from deid_runtime.pipeline.loading import load_pipeline, surrogate_maker
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.pipeline.tracing import export_traces, more_seconds, record_batch
from deid_runtime.records.patients import read_patients
from deid_runtime.run.outcomes import span_rows
from deid_runtime.serving.canary_note import CANARY_NOTE, canary_fault
from deid_runtime.serving.keys import KeyFolder, check_keys
from deid_runtime.serving.note_access import ACCESS_VARIABLE, NoteAccess
from deid_runtime.serving.note_metrics import NoteMetrics
from deid_runtime.serving.note_models import (
    CANARY,
    DETECT,
    MAX_NAME_BYTES,
    NOTE_INPUTS,
    NOTE_OUTPUTS,
    NOTES,
    SITE_LISTS,
)
from deid_runtime.serving.note_queue import ANSWERS_VARIABLE, NoteQueue
from deid_runtime.serving.refusals import RefusedError
from deid_runtime.serving.triton_requests import check_request, check_version, request_parameters
from deid_runtime.settings import from_parameters
from deid_runtime.spans import Note, Span
from deid_runtime.surrogates import Surrogates, new_key
from deid_runtime.system.process_privacy import keep_private

KEYS_VARIABLE: Final = "DEID_SERVE_KEYS"
PATIENTS_VARIABLE: Final = "DEID_SERVE_PATIENTS"
GIVEN_DATE_SHIFTS_VARIABLE: Final = "DEID_SERVE_GIVEN_DATE_SHIFTS"
MODELS_KEY_VARIABLE: Final = "DEID_SERVE_MODELS_KEY"
OTLP_VARIABLE: Final = "DEID_SERVE_OTLP_ENDPOINT"
ALLOW_SHARED_KEY_VARIABLE: Final = "DEID_SERVE_ALLOW_SHARED_KEY"
TRUST_MODELS_VARIABLE: Final = "DEID_SERVE_TRUST_MODELS"

_PATIENCE_SECONDS: Final = 0.5  # of a client; a request that waited longer is asked whether it was cancelled


@dataclass(frozen=True, slots=True)
class Answer:
    """One de-identified note; ``spans`` and ``pseudonyms`` are JSON.

    Each span has start, end, label, score and sources. Start and end are half-open code point offsets in the original
    text, which has ``chars`` code points. ``found`` are the same spans.
    """

    text: str = field(repr=False)
    spans: str
    pseudonyms: str
    chars: int
    found: tuple[Span, ...]


class NoteService:
    """De-identifies notes one by one, each with the key that its request names."""

    def __init__(
        self,
        pipeline: Pipeline,
        keys: KeyFolder,
        nobodys_key: Surrogates,
        max_note_bytes: int,
        access: NoteAccess | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._keys = keys
        self._nobodys_key = nobodys_key
        self._max_note_bytes = max_note_bytes
        self.access = access or NoteAccess(None)

    def deidentify(self, text: bytes, note_id: bytes, patient: bytes, key: bytes) -> Answer:
        """Return the answer to one request. All inputs are UTF-8.

        Raises RefusedError for a request that cannot be served, InputError with the stage that failed on the note.
        """
        self._check_sizes(text, note_id, patient, key)
        note = Note(_decoded("note_id", note_id), _decoded("text", text), _decoded("patient", patient))
        return self._answer(note, self._keys.surrogates(_decoded("key", key)))

    def detect(self, text: bytes, note_id: bytes, patient: bytes) -> Answer:
        """Return the spans of a note without text. Inputs are UTF-8; errors as in :meth:`deidentify`."""
        self._check_sizes(text, note_id, patient, b"")
        note = Note(_decoded("note_id", note_id), _decoded("text", text), _decoded("patient", patient))
        [outcome] = self._pipeline.detect([note])
        if isinstance(outcome, Quarantined):
            raise InputError(outcome.reason, stage=outcome.stage)
        return Answer("", json.dumps(span_rows(outcome.spans)), "", len(note.text), outcome.spans)

    def _check_sizes(self, text: bytes, note_id: bytes, patient: bytes, key: bytes) -> None:
        if len(text) > self._max_note_bytes:
            raise RefusedError(
                f"the note has {len(text):,} bytes, but this server takes at most {self._max_note_bytes:,}; split it, "
                "or have max_note_bytes raised in the server's configuration",
                "note_size",
            )
        for name, value in (("note_id", note_id), ("patient", patient), ("key", key)):
            if len(value) > MAX_NAME_BYTES:
                raise RefusedError(
                    f"the {name} has {len(value):,} bytes; expected at most {MAX_NAME_BYTES:,}", "name_size"
                )

    def canary(self) -> Answer:
        """De-identify the canary note with a random key. Raises InputError when that fails."""
        return self._answer(CANARY_NOTE, self._nobodys_key)

    def describe(self) -> dict[str, object]:
        """Return the digests and settings of the pipeline, without secrets."""
        return self._pipeline.describe()

    @property
    def stage_seconds(self) -> Mapping[str, float]:
        """Return the seconds that each stage took so far."""
        return self._pipeline.stage_seconds

    def _answer(self, note: Note, surrogates: Surrogates) -> Answer:
        started_ns, before = time_ns(), dict(self._pipeline.stage_seconds)
        [outcome] = self._pipeline.with_surrogates(surrogates).deidentify([note])
        if note is not CANARY_NOTE:
            record_batch([note], [outcome], started_ns, more_seconds(before, self._pipeline.stage_seconds))
        if isinstance(outcome, Quarantined):
            raise InputError(outcome.reason, stage=outcome.stage)
        pseudonyms = {"note": outcome.note_pseudonym, "patient": outcome.patient_pseudonym}
        return Answer(
            outcome.text,
            json.dumps(span_rows(outcome.spans)),
            json.dumps(pseudonyms),
            len(note.text),
            outcome.spans,
        )

    def close(self) -> None:
        """Free the models."""
        self._pipeline.close()


def load_note_service(parameters: Mapping[str, str], models: Path, environment: Mapping[str, str]) -> NoteService:
    """Load the note service as set by the ``parameters`` of a model's configuration and the server's ``environment``.

    Raises SettingsError for a wrong setting, a missing key folder, a key that others can open or guess, or a wrong
    table of patients or date shifts; ModelError for models that do not match, are not trusted, or do not find the
    identifiers of the canary note.
    """
    keys = environment.get(KEYS_VARIABLE)
    patients = environment.get(PATIENTS_VARIABLE)
    if keys and not Path(keys).is_dir():
        raise SettingsError(f"the key folder {keys} is not a folder; create it, and keys in it with `deid key new`")
    allow_shared = _is_set(environment, ALLOW_SHARED_KEY_VARIABLE)
    if keys:
        check_keys(Path(keys), allow_shared=allow_shared)
    access_file = environment.get(ACCESS_VARIABLE)
    access = NoteAccess(Path(access_file) if access_file else None, allow_shared=allow_shared)
    models_key = environment.get(MODELS_KEY_VARIABLE)
    shifts = environment.get(GIVEN_DATE_SHIFTS_VARIABLE)
    settings = from_parameters(
        parameters,
        models=models,
        models_key=Path(models_key) if models_key else None,
        trust_models=_is_set(environment, TRUST_MODELS_VARIABLE),
        given_date_shifts=Path(shifts) if shifts else None,
        **{name: _site_list(parameters, name, models) for name in SITE_LISTS},
    )
    # Surrogates are made at the first use of a key. Making one set here reports wrong settings at load time.
    make = surrogate_maker(settings)
    make(new_key())
    # The canary note has no row in a table of date shifts.
    nobodys = surrogate_maker(replace(settings, given_date_shifts=None))(new_key())
    records = read_patients(Path(patients)) if patients else {}
    pipeline = load_pipeline(settings, key=None, records=records)
    folder = KeyFolder(Path(keys) if keys else None, make, allow_shared=allow_shared)
    service = NoteService(pipeline, folder, nobodys, int(parameters["max_note_bytes"]), access)
    _check_canary(service)
    return service


def _check_canary(service: NoteService) -> None:
    """Raise ModelError when the canary note is not de-identified: no later canary request would succeed either."""
    try:
        answer = service.canary()
        fault = canary_fault(answer.text, answer.spans)
    except InputError as error:
        fault = str(error)
    if fault:
        service.close()
        raise ModelError(
            f"the pipeline fails on the canary note: {fault}; check the site's inclusion list, templates and "
            "thresholds, and the models"
        )


def _is_set(environment: Mapping[str, str], name: str) -> bool:
    """Return whether the variable of an option without a value is 1. Raises SettingsError for an invalid value."""
    value = environment.get(name, "")
    if value not in ("", "0", "1"):
        raise SettingsError(f"the variable {name} must be 1, 0 or empty")
    return value == "1"


def _site_list(parameters: Mapping[str, str], name: str, models: Path) -> Path | None:
    """Return the path of a site's list beside the model; None when the list of the package is used."""
    return models / NOTES / SITE_LISTS[name] if name in parameters else None


def _decoded(name: str, value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusedError(
            f"the {name} is not valid UTF-8 at byte {error.start}; convert it from its actual encoding", "encoding"
        ) from None


@dataclass(frozen=True, slots=True)
class _WaitingRequest:
    """A request of Triton with the sender of its response."""

    request: Any = field(repr=False)
    sender: Any = field(repr=False)


def _is_canary(request: Any) -> bool:
    """Return whether this is a valid canary request."""
    try:
        check_request(request)
        return bool(request_parameters(request).get(CANARY))
    except RefusedError:
        return False


class TritonPythonModel:
    """The class that Triton calls. Requests and responses have the types of ``triton_python_backend_utils``."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the pipeline. After an error Triton does not load the model and logs the message."""
        keep_private()
        check_version(os.environ)
        # This module can be imported only in a process of the server.
        import triton_python_backend_utils as triton

        self._triton: Any = triton
        config = json.loads(args["model_config"])
        parameters = {name: entry["string_value"] for name, entry in config["parameters"].items()}
        self._service = load_note_service(parameters, Path(args["model_repository"]).parent, os.environ)
        answers = os.environ.get(ANSWERS_VARIABLE)
        self._answer_mark = Path(answers, str(os.getpid())) if answers else None
        self._queue = NoteQueue(self._answer)
        self._metrics = NoteMetrics(triton, self._service.describe(), self._queue.__len__)
        collector = os.environ.get(OTLP_VARIABLE)
        self._traces: Any = export_traces(collector) if collector else None

    def execute(self, requests: Sequence[Any]) -> list[None]:
        """Take the requests; the thread of the queue answers each, alone. An invalid one does not affect the others."""
        for request in requests:
            waiting = _WaitingRequest(request, request.get_response_sender())
            self._queue.put(waiting, is_urgent=_is_canary(request))
        return [None for _ in requests]

    def _answer(self, waiting: "_WaitingRequest", waited_seconds: float) -> None:
        triton = self._triton
        self._metrics.waited(waited_seconds)
        if waited_seconds > _PATIENCE_SECONDS and waiting.sender.is_cancelled():
            error = triton.TritonError("not de-identified: the client cancelled", triton.TritonError.CANCELLED)
            response = triton.InferenceResponse(error=error)
        else:
            response = self._respond(waiting.request)
        waiting.sender.send(response, flags=triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        self._metrics.stages(self._service.stage_seconds)
        if self._answer_mark is not None:
            self._answer_mark.touch()

    def _respond(self, request: Any) -> Any:
        triton = self._triton
        is_canary = False
        try:
            check_request(request)
            parameters = request_parameters(request)
            is_canary = bool(parameters.get(CANARY))
            if is_canary:
                answer = self._service.canary()
            else:
                tensors = [triton.get_input_tensor_by_name(request, name) for name in NOTE_INPUTS]
                answer = self._asked(parameters, tensors)
        except DeidError as error:
            stage = error.stage if isinstance(error, InputError) else "read"
            if isinstance(error, RefusedError):
                self._metrics.refused(error.reason)
            elif not is_canary:
                self._metrics.quarantined(stage)
            return triton.InferenceResponse(
                error=triton.TritonError(f"not de-identified, stage {stage}: {error}", triton.TritonError.INVALID_ARG)
            )
        except Exception as error:  # noqa: BLE001 - its message may hold note text: keep it from the log and the client
            if not is_canary:
                self._metrics.failed()
            return triton.InferenceResponse(
                error=triton.TritonError(
                    f"not de-identified: unexpected {type(error).__name__}", triton.TritonError.INTERNAL
                )
            )
        wanted = set(request.requested_output_names())
        values = {"text": answer.text, "spans": answer.spans, "pseudonyms": answer.pseudonyms}
        return triton.InferenceResponse(
            output_tensors=[triton.Tensor(name, strings(values[name])) for name in NOTE_OUTPUTS if name in wanted]
        )

    def _asked(self, parameters: Mapping[str, Any], tensors: Sequence[Any]) -> Answer:
        """Answer one request, given its inputs, and count its note. Raises InputError."""
        begun = perf_counter()
        text, note_id, patient, key = (bytes(tensor.as_numpy().item()) for tensor in tensors)
        if parameters.get(DETECT):
            self._service.access.check_detect(parameters)
            return self._service.detect(text, note_id, patient)  # not counted: nothing is de-identified
        self._service.access.check_key(parameters, key)
        answer = self._service.deidentify(text, note_id, patient, key)
        self._metrics.deidentified(answer.chars, answer.found, perf_counter() - begun)
        return answer

    def finalize(self) -> None:
        """Answer what waits, and free the pipeline, when Triton unloads the model."""
        self._queue.close()
        if self._traces is not None:
            self._traces.shutdown()
        self._metrics.close()
        self._service.close()


def strings(value: str) -> NDArray[np.object_]:
    """Return a text in Triton's form: an object array of shape ``(1,)`` with UTF-8 bytes."""
    return np.array([value.encode("utf-8")], dtype=np.object_)

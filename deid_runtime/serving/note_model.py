"""Triton's python backend for whole notes: the pipeline of ``deid run``, one note per request.

The settings are parameters of the model's configuration. The lists of a site are files beside the model. All else comes
from environment variables of the server. Each of them corresponds to an option of ``deid serve``:

- ``DEID_SERVE_KEYS``: a folder of key files
- ``DEID_SERVE_PATIENTS``: a table of patient records
- ``DEID_SERVE_ACCESS``: the access file, see :mod:`deid_runtime.serving.note_access`
- ``DEID_SERVE_OFFSETS``: a table of date shifts, days by patient
- ``DEID_SERVE_MODELS_KEY``: the public key of the models' signature
- ``DEID_SERVE_ALLOW_SHARED_KEY=1`` and ``DEID_SERVE_TRUST_MODELS=1``: options without a value
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deid_runtime.errors import DeidError, InputError, SettingsError
from deid_runtime.pipeline import Pipeline, Quarantined, load_pipeline, surrogate_maker
from deid_runtime.records.patients import read_patients
from deid_runtime.run.outcomes import span_rows
from deid_runtime.serving.keys import KeyFolder, check_keys
from deid_runtime.serving.note_access import ACCESS_VARIABLE, NoteAccess
from deid_runtime.serving.note_models import (
    CANARY,
    CANARY_TEXT,
    DETECT,
    MAX_NAME_BYTES,
    NOTE_INPUTS,
    NOTE_OUTPUTS,
    NOTES,
    SITE_LISTS,
)
from deid_runtime.serving.triton_requests import check_request, check_version, request_parameters
from deid_runtime.settings import from_parameters
from deid_runtime.spans import Note
from deid_runtime.surrogates import Surrogates, new_key
from deid_runtime.system.process_privacy import keep_private

KEYS_VARIABLE: Final = "DEID_SERVE_KEYS"
PATIENTS_VARIABLE: Final = "DEID_SERVE_PATIENTS"
OFFSETS_VARIABLE: Final = "DEID_SERVE_OFFSETS"
MODELS_KEY_VARIABLE: Final = "DEID_SERVE_MODELS_KEY"
ALLOW_SHARED_KEY_VARIABLE: Final = "DEID_SERVE_ALLOW_SHARED_KEY"
TRUST_MODELS_VARIABLE: Final = "DEID_SERVE_TRUST_MODELS"

#: An invented note for canary requests.
_CANARY_NOTE: Final = Note("canary", CANARY_TEXT, "canary")


@dataclass(frozen=True, slots=True)
class Answer:
    """One de-identified note; ``spans`` and ``pseudonyms`` are JSON.

    Each span has start, end, label, score and sources. Start and end are half-open code point offsets in the original
    text.
    """

    text: str = field(repr=False)
    spans: str
    pseudonyms: str


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
        """Return the answer to one request. All inputs are UTF-8. Raises InputError with the stage that failed."""
        self._check_sizes(text, note_id, patient, key)
        note = Note(_decoded("note_id", note_id), _decoded("text", text), _decoded("patient", patient))
        return self._answer(note, self._keys.surrogates(_decoded("key", key)))

    def detect(self, text: bytes, note_id: bytes, patient: bytes) -> Answer:
        """Return the spans of a note without text. Inputs are UTF-8. Raises InputError with the stage that failed."""
        self._check_sizes(text, note_id, patient, b"")
        note = Note(_decoded("note_id", note_id), _decoded("text", text), _decoded("patient", patient))
        [outcome] = self._pipeline.detect([note])
        if isinstance(outcome, Quarantined):
            raise InputError(outcome.reason, stage=outcome.stage)
        return Answer("", json.dumps(span_rows(outcome.spans)), "")

    def _check_sizes(self, text: bytes, note_id: bytes, patient: bytes, key: bytes) -> None:
        if len(text) > self._max_note_bytes:
            raise InputError(
                f"the note has {len(text):,} bytes, this server takes {self._max_note_bytes:,}; split it, or have "
                "max_note_bytes raised in the server's configuration",
                stage="read",
            )
        for name, value in (("note_id", note_id), ("patient", patient), ("key", key)):
            if len(value) > MAX_NAME_BYTES:
                raise InputError(
                    f"the {name} has {len(value):,} bytes, at most {MAX_NAME_BYTES:,} are taken", stage="read"
                )

    def canary(self) -> Answer:
        """De-identify an invented note with a random key. Raises InputError when that fails."""
        return self._answer(_CANARY_NOTE, self._nobodys_key)

    def _answer(self, note: Note, surrogates: Surrogates) -> Answer:
        [outcome] = self._pipeline.with_surrogates(surrogates).deidentify([note])
        if isinstance(outcome, Quarantined):
            raise InputError(outcome.reason, stage=outcome.stage)
        pseudonyms = {"note": outcome.note_pseudonym, "patient": outcome.patient_pseudonym}
        return Answer(outcome.text, json.dumps(span_rows(outcome.spans)), json.dumps(pseudonyms))

    def close(self) -> None:
        """Free the models."""
        self._pipeline.close()


def load_note_service(parameters: Mapping[str, str], models: Path, environment: Mapping[str, str]) -> NoteService:
    """Load the note service as set by the ``parameters`` of a model's configuration and the server's ``environment``.

    Raises SettingsError for a wrong setting, a missing key folder, a key that others can open or guess, or a wrong
    table of patients or date shifts; ModelError for models that do not match or are not trusted.
    """
    keys = environment.get(KEYS_VARIABLE)
    patients = environment.get(PATIENTS_VARIABLE)
    if keys and not Path(keys).is_dir():
        raise SettingsError(f"the key folder {keys} is not a folder; make it, and keys in it with `deid key new`")
    allow_shared = _is_set(environment, ALLOW_SHARED_KEY_VARIABLE)
    if keys:
        check_keys(Path(keys), allow_shared=allow_shared)
    access_file = environment.get(ACCESS_VARIABLE)
    access = NoteAccess(Path(access_file) if access_file else None, allow_shared=allow_shared)
    models_key = environment.get(MODELS_KEY_VARIABLE)
    offsets = environment.get(OFFSETS_VARIABLE)
    settings = from_parameters(
        parameters,
        models=models,
        models_key=Path(models_key) if models_key else None,
        trust_models=_is_set(environment, TRUST_MODELS_VARIABLE),
        offsets=Path(offsets) if offsets else None,
        **{name: _site_list(parameters, name, models) for name in SITE_LISTS},
    )
    # Surrogates are made at the first use of a key. Making one set here reports wrong settings while loading.
    make = surrogate_maker(settings)
    nobodys = make(new_key())
    records = read_patients(Path(patients)) if patients else {}
    pipeline = load_pipeline(settings, key=None, records=records)
    folder = KeyFolder(Path(keys) if keys else None, make, allow_shared=allow_shared)
    return NoteService(pipeline, folder, nobodys, int(parameters["max_note_bytes"]), access)


def _is_set(environment: Mapping[str, str], name: str) -> bool:
    """Return whether the variable of an option without a value is 1. Raises SettingsError for an invalid value."""
    value = environment.get(name, "")
    if value not in ("", "0", "1"):
        raise SettingsError(f"the variable {name} is neither 1 nor 0 nor empty")
    return value == "1"


def _site_list(parameters: Mapping[str, str], name: str, models: Path) -> Path | None:
    """Return the path of a site's list beside the model; None when the list of the package is used."""
    return models / NOTES / "1" / SITE_LISTS[name] if name in parameters else None


def _decoded(name: str, value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"the {name} is not valid UTF-8 at byte {error.start}; encode it so, from its true encoding", stage="read"
        ) from None


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

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Return one response per request, in order. An invalid request does not affect the others."""
        return [self._respond(request) for request in requests]

    def _respond(self, request: Any) -> Any:
        triton = self._triton
        try:
            check_request(request)
            parameters = request_parameters(request)
            if parameters.get(CANARY):
                answer = self._service.canary()
            else:
                tensors = [triton.get_input_tensor_by_name(request, name) for name in NOTE_INPUTS]
                answer = self._asked(parameters, *(bytes(tensor.as_numpy().item()) for tensor in tensors))
        except DeidError as error:
            stage = error.stage if isinstance(error, InputError) else "read"
            return triton.InferenceResponse(
                error=triton.TritonError(f"not de-identified, stage {stage}: {error}", triton.TritonError.INVALID_ARG)
            )
        except Exception as error:  # noqa: BLE001 - its message may hold note text: keep it from the log and the client
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

    def _asked(self, parameters: Mapping[str, Any], text: bytes, note_id: bytes, patient: bytes, key: bytes) -> Answer:
        if parameters.get(DETECT):
            self._service.access.check_detect(parameters)
            return self._service.detect(text, note_id, patient)
        self._service.access.check_key(parameters, key)
        return self._service.deidentify(text, note_id, patient, key)

    def finalize(self) -> None:
        """Free the pipeline when Triton unloads the model."""
        self._service.close()


def strings(value: str) -> NDArray[np.object_]:
    """Return a text in Triton's form: an object array of shape ``(1,)`` with UTF-8 bytes."""
    return np.array([value.encode("utf-8")], dtype=np.object_)

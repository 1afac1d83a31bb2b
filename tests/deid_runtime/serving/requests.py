"""Send requests to the real server with Triton's own client."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from deid_runtime.models.batching import width_of
from deid_runtime.models.engines import Array
from deid_runtime.models.manifest import INPUTS, find_models, read_manifest
from deid_runtime.serving.note_models import NOTE_INPUTS
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, make_windows

grpc: Any = pytest.importorskip("tritonclient.grpc")

LINES = (
    "Patient: Rosalind Thackeray   MRN: 8841207   DOB: 04/17/1951",
    "Ms. Thackeray is a 68 year old retired teacher from Millbrook who was admitted on March 3, 2019.",
    "She was seen by Dr. Marcus Oyelaran of Cardiology at Lakeview Regional Medical Center.",
    "Vitals: BP 128/76, HR 84, T 98.6.",
    "Troponin 0.02. Parkinson's disease, stable on Sinemet 25/100 TID.",
)


def windows() -> list[Window]:
    """Return windows of every padded width, several of each."""
    encoder = read_manifest(find_models(None)).word_encoder()
    texts = ["\n".join(LINES[first:] + LINES[:first])[:size] for first in range(5) for size in (40, 150, 220, 315, 370)]
    found = [window for text in texts for window in make_windows(text, split_sentences(text), encoder)]
    assert {width_of(len(window.ids)) for window in found} == {32, 64, 96, 112, 128}
    return found


def tokens(rows: Sequence[Window], width: int) -> list[Array]:
    """Return ids, types and mask of ``rows``, padded to ``width``."""
    arrays = [np.zeros((len(rows), width), np.int32) for _ in INPUTS]
    for number, window in enumerate(rows):
        for array, values in zip(arrays, (window.ids, window.types, [1] * len(window.ids)), strict=True):
            array[number, : len(window.ids)] = values
    return arrays


def token_inputs(arrays: Sequence[Array]) -> list[Any]:
    """Return the inputs of a request for a graph."""
    inputs = []
    for name, array in zip(INPUTS, arrays, strict=True):
        inputs.append(grpc.InferInput(name, list(array.shape), "INT32"))
        inputs[-1].set_data_from_numpy(array)
    return inputs


def note_inputs(**columns: Sequence[str | bytes]) -> list[Any]:
    """Return the inputs of a request for whole notes."""
    assert set(columns) == set(NOTE_INPUTS)
    inputs = []
    for name, values in columns.items():
        encoded = [value.encode() if isinstance(value, str) else value for value in values]
        inputs.append(grpc.InferInput(name, [len(encoded)], "BYTES"))
        inputs[-1].set_data_from_numpy(np.array(encoded, np.object_))
    return inputs


def statistics(client: Any, model: str) -> Mapping[str, int]:
    """Return the number of rows that a model has served, and the number of executions."""
    [stats] = client.get_inference_statistics(model).model_stats
    return {"rows": stats.inference_count, "executions": stats.execution_count}

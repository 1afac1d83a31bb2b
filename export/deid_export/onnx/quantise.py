"""Quantise to static int8 with NNCF: one quantised ONNX graph for every engine.

Static, because dynamic quantisation takes its range over the whole batch. The answer for a sentence would then depend
on the other sentences of its batch. The ranges are calibrated on windows of the training notes.
"""

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray

from deid_export.data.corpus import as_read
from deid_export.onnx.simplify import simplify
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.models.batching import pad
from deid_runtime.models.manifest import INPUTS
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import WordEncoder, make_windows


def quantise(
    source: Path, target: Path, notes: Sequence[AnnotatedNote], encoder: WordEncoder, *, batches: int = 48
) -> None:
    """Quantise the graph at ``source`` into ``target``, calibrated on ``batches`` times 16 windows of ``notes``."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # it would report the import
    import nncf

    samples = list(_samples(notes, encoder, batches))
    model = onnx.load(source)
    quantised = nncf.quantize(
        model, nncf.Dataset(samples), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(samples)
    )
    simplify(quantised)
    onnx.save(quantised, target)


def _samples(notes: Sequence[AnnotatedNote], encoder: WordEncoder, batches: int) -> list[dict[str, NDArray[np.int32]]]:
    rng = random.Random(0)
    windows = [
        window
        for note in as_read(rng.sample(list(notes), min(len(notes), batches * 12)))
        # Full windows are in short supply between blank lines.
        for window in make_windows(note.text, split_sentences(note.text), encoder)
    ]
    full = [window for window in windows if len(window.ids) > 112]
    rng.shuffle(full)
    chunks = [full[first : first + 16] for first in range(0, len(full), 16)][:batches]
    return [dict(zip(INPUTS, pad(chunk, encoder.pad), strict=True)) for chunk in chunks]

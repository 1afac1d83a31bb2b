"""Requests to the models as real notes give them: sentences cut, words shaped and tokenised as ``deid run`` does it."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc import service_pb2

from deid_runtime.models.batching import pad, width_of
from deid_runtime.models.engines import Ids
from deid_runtime.models.manifest import INPUTS, Graph
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, WordEncoder, make_windows

#: What a row holds. sentence: one alone, as short a row as there is. window: as many as fit, what ``deid run`` sends.
Unit = Literal["sentence", "window"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a request. ``new_sentences`` counts those in it that no earlier row had."""

    window: Window = field(repr=False)
    new_sentences: int


@dataclass(frozen=True, slots=True)
class Question:
    """The inputs of one request, int32 ``(rows, width)``; all rows have the same padded width."""

    inputs: tuple[Ids, Ids, Ids] = field(repr=False)
    new_sentences: int

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(self.inputs[0])

    @property
    def tokens(self) -> int:
        """How many tokens it has, padding left out."""
        return int(self.inputs[2].sum())

    def message(self, model: str, outputs: Sequence[str]) -> service_pb2.ModelInferRequest:
        """Return the request to ``model`` for ``outputs``."""
        return infer_request(model, dict(zip(INPUTS, self.inputs, strict=True)), outputs)


def infer_request(
    model: str, inputs: Mapping[str, NDArray[np.generic]], outputs: Sequence[str]
) -> service_pb2.ModelInferRequest:
    """Return a request of the KServe v2 protocol; ``inputs`` are int32 or float32."""
    request = service_pb2.ModelInferRequest(model_name=model)
    for name, array in inputs.items():
        datatype = "INT32" if array.dtype == np.int32 else "FP32"
        request.inputs.add(name=name, datatype=datatype, shape=array.shape)
        request.raw_input_contents.append(array.tobytes())
    for name in outputs:
        request.outputs.add(name=name)
    return request


def output_names(graph: Graph) -> list[str]:
    """Return the outputs of a whole graph, in order."""
    return [f"{version.output}_{what}" for version in graph.heads for what in ("label", "score")]


def make_rows(texts: Iterable[str], encoder: WordEncoder, unit: Unit) -> Iterator[Row]:
    """Yield the rows of all texts, in order. With ``sentence``, only those whose sentence is new."""
    seen: set[str] = set()
    for text in texts:
        sentences = split_sentences(text)
        if unit == "sentence":
            for sentence in sentences:
                part = text[sentence.start : sentence.end].strip()
                windows = [] if part in seen else list(make_windows(text, [sentence], encoder))
                if len(windows) == 1:  # one that is too long for a window is no single row
                    seen.add(part)
                    yield Row(windows[0], 1)
            continue
        following = 0  # the sentence that no window has reached
        for window in make_windows(text, sentences, encoder):
            new = 0
            while following < len(sentences) and sentences[following].start < window.ends[-1]:
                part = text[sentences[following].start : sentences[following].end].strip()
                new += bool(part) and part not in seen
                seen.add(part)
                following += 1
            yield Row(window, new)


def make_questions(rows: Iterable[Row], count: int, pad_id: int, seed: int) -> list[Question]:
    """Pack ``count`` rows of equal padded width a request, as a client does, in random order; leave out a remainder."""
    filling: dict[int, list[Row]] = {}
    questions = []
    for row in rows:
        width = width_of(len(row.window.ids))
        batch = filling.setdefault(width, [])
        batch.append(row)
        if len(batch) == count:
            ids, types, mask = (array[:count] for array in pad([each.window for each in batch], pad_id))
            questions.append(Question((ids, types, mask), sum(each.new_sentences for each in batch)))
            batch.clear()
    random.Random(seed).shuffle(questions)
    return questions

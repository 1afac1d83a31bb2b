"""Convert arrays to requests and answers to arrays. Only this module handles bytes. Every answer is checked."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc import service_pb2

from deid_client.errors import BadAnswerError
from deid_runtime.models.engines import TokenScores
from deid_runtime.models.manifest import HeadVersion, head_outputs

Array = NDArray[np.generic]

#: A size that the server decides.
ANY: Final = -1

#: Little-endian, as the protocol requires.
_DTYPES: Final[Mapping[str, np.dtype[np.generic]]] = {
    "INT32": np.dtype("<i4"),
    "UINT8": np.dtype("u1"),
    "FP16": np.dtype("<f2"),
    "FP32": np.dtype("<f4"),
}
_NAMES: Final = {dtype: name for name, dtype in _DTYPES.items()}


@dataclass(frozen=True, slots=True)
class Output:
    """A requested tensor. ``shape`` is the full shape with the batch dimension; ANY stands for any size."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Askable(Protocol):
    """A request that the service repeats until it has a valid answer, see :class:`Question`."""

    @property
    def model(self) -> str:
        """The model that is asked."""

    @property
    def tokens(self) -> int:
        """The size of the request, for its deadline."""

    def request(self, request_id: str) -> service_pb2.ModelInferRequest:
        """Return the message to send."""

    def read(self, endpoint: str, answer: service_pb2.ModelInferResponse, request_id: str) -> dict[str, Array]:
        """Return the outputs by name. Raises BadAnswerError when they do not match the request."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request to one model. It is safe to send it several times.

    ``inputs`` are arrays ``(rows, tokens, ...)`` by name, all with the same rows and tokens.
    """

    model: str
    inputs: Mapping[str, Array] = field(repr=False)  # no repr: the note text can be read from them
    outputs: Sequence[Output]
    version: str = ""  # of the model, which names its graphs by digest; empty: any

    @property
    def tokens(self) -> int:
        """The number of tokens in the request, padding included."""
        rows, tokens = next(iter(self.inputs.values())).shape[:2]
        return int(rows * tokens)

    def request(self, request_id: str) -> service_pb2.ModelInferRequest:
        """Return the message to send."""
        request = service_pb2.ModelInferRequest(model_name=self.model, model_version=self.version, id=request_id)
        for name, array in self.inputs.items():
            request.inputs.add(name=name, datatype=_NAMES[array.dtype], shape=array.shape)
            request.raw_input_contents.append(array.tobytes())
        for output in self.outputs:
            request.outputs.add(name=output.name)
        return request

    def read(self, endpoint: str, answer: service_pb2.ModelInferResponse, request_id: str) -> dict[str, Array]:
        """Return the outputs by name. Raises BadAnswerError when they do not match the request."""
        if answer.id != request_id or answer.model_name != self.model:
            raise BadAnswerError(endpoint, f"it belongs to another request, or to model {answer.model_name!r:.80}")
        if self.version and answer.model_version != self.version:
            raise BadAnswerError(
                endpoint, f"it is from version {answer.model_version!r:.40} of {self.model}, expected {self.version}"
            )
        if len(answer.outputs) != len(self.outputs) or len(answer.raw_output_contents) != len(self.outputs):
            raise BadAnswerError(
                endpoint,
                f"{len(answer.outputs)} outputs with {len(answer.raw_output_contents)} contents from "
                f"{self.model}, expected {len(self.outputs)}",
            )
        came = {
            output.name: (output.datatype, tuple(output.shape), content)
            for output, content in zip(answer.outputs, answer.raw_output_contents, strict=True)
        }
        arrays = {}
        for output in self.outputs:
            if output.name not in came:
                raise BadAnswerError(endpoint, f"{self.model} sent no output {output.name}")
            dtype, shape, content = came[output.name]
            if dtype != output.dtype or not _fits(shape, output.shape):
                raise BadAnswerError(
                    endpoint,
                    f"output {output.name} of {self.model} is {dtype:.16} {list(shape)[:8]}, "
                    f"expected {output.dtype} {list(output.shape)}",
                )
            size = _DTYPES[dtype].itemsize * math.prod(shape)  # Python integers: no overflow for any shape
            if len(content) != size:
                raise BadAnswerError(
                    endpoint, f"output {output.name} of {self.model} has {len(content)} bytes, expected {size}"
                )
            arrays[output.name] = np.frombuffer(content, _DTYPES[dtype]).reshape(shape)
        return arrays


def _fits(shape: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    if len(shape) != len(expected):
        return False
    return all(size == wanted or (wanted == ANY and size > 0) for size, wanted in zip(shape, expected, strict=True))


def outputs_of(version: HeadVersion, shape: tuple[int, ...], suffix: str = "") -> list[Output]:
    """Return the outputs of one head, tags and scores, for inputs of ``shape`` ``(rows, tokens)``."""
    return [Output(name, dtype, shape) for name, dtype in head_outputs(version.output + suffix)]


def head_scores(endpoint: str, version: HeadVersion, arrays: Mapping[str, Array], suffix: str = "") -> TokenScores:
    """Return the tags and scores of one head, in the shape of its outputs: ``(rows, tokens)``.

    Raises BadAnswerError for an unknown tag or a score outside 0 to 1.
    """
    (label, _), (score, _) = head_outputs(version.output + suffix)
    tags: NDArray[np.uint8] = arrays[label].astype(np.uint8, copy=False)
    scores = arrays[score].astype(np.float32)
    if tags.size and int(tags.max()) >= len(version.tags):
        raise BadAnswerError(
            endpoint,
            f"head {version.output} has {len(version.tags)} tags, but sent tag {int(tags.max())}",
        )
    if not ((scores >= 0) & (scores <= 1)).all():  # also false for NaN
        raise BadAnswerError(endpoint, f"head {version.output} sent a score that is not a number from 0 to 1")
    return TokenScores(tags, scores)

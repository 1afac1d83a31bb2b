"""Run the rows of many requests through one graph. The outputs of a row do not depend on the other rows.

Requests of a dynamic batch differ in width, and may have more padding than needed. Every row is run at the padded width
of its own length. The number of rows of a call is padded to a power of two. The embedded engine does the same
(:mod:`deid_runtime.models.tagger`), so both give byte-identical outputs for a row, whatever the other rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deid_runtime.errors import InputError
from deid_runtime.models.batching import row_counts, width_of
from deid_runtime.models.engines import Array
from deid_runtime.models.manifest import HIDDEN
from deid_runtime.text.windows import WINDOW_TOKENS

#: All padded widths in tokens, in ascending order.
WIDTHS: Final = tuple(sorted({width_of(length) for length in range(1, WINDOW_TOKENS + 1)}))


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """The exclusive upper limits of the token ids and token types of a request."""

    vocabulary: int
    token_types: int


def check_tokens(ids: Array, types: Array, mask: Array, limits: TokenLimits) -> None:
    """Raise InputError unless the arrays are int32 ``(rows, tokens)`` of equal shape, with values within the limits.

    The message has names, shapes and limits, never a value.
    """
    named = (("input_ids", ids), ("token_type_ids", types), ("attention_mask", mask))
    for name, array in named:
        _check_shape(name, array, np.dtype(np.int32), 2)
        if array.shape != ids.shape:
            raise InputError(
                f"{name} has shape {list(array.shape)}, input_ids {list(ids.shape)}; expected the same for all inputs",
                stage="models",
            )
    for (name, array), limit in zip(named, (limits.vocabulary, limits.token_types, 2), strict=True):
        # Read as unsigned numbers, negative values exceed every limit.
        if (array.view(np.uint32) >= limit).any():
            raise InputError(f"{name} has a value outside 0..{limit - 1}", stage="models")


def check_hidden(hidden: Array, size: int) -> None:
    """Raise InputError unless ``hidden`` is float32 ``(rows, tokens, size)``."""
    _check_shape(HIDDEN, hidden, np.dtype(np.float32), 3)
    if hidden.shape[2] != size:
        raise InputError(f"{HIDDEN} has shape {list(hidden.shape)}, expected {size} values per token", stage="models")


def _check_shape(name: str, array: Array, data_type: np.dtype[np.generic], dimensions: int) -> None:
    if array.dtype != data_type:
        raise InputError(f"{name} is {array.dtype}, expected {data_type}", stage="models")
    if array.ndim != dimensions or not array.shape[0] or not 1 <= array.shape[1] <= WINDOW_TOKENS:
        raise InputError(
            f"{name} has shape {list(array.shape)}, expected {dimensions} dimensions with at least one row and "
            f"1 to {WINDOW_TOKENS} tokens; split longer texts into several windows",
            stage="models",
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of several requests: one array per input, ``(rows, WINDOW_TOKENS, ...)``, padded at the end.

    ``lengths`` is the number of tokens of each row, ``sizes`` the ``(rows, tokens)`` of each request.
    """

    arrays: tuple[Array, ...] = field(repr=False)
    lengths: NDArray[np.intp] = field(repr=False)
    sizes: tuple[tuple[int, int], ...]


def join_tokens(requests: Sequence[Sequence[Array]], pad_id: int) -> Rows:
    """Join checked requests, each of ids, types and mask, int32 ``(rows, tokens)``.

    A row ends at the last 1 of its mask.
    """
    ids, types, mask = (_stack([request[index] for request in requests]) for index in range(3))
    lengths = WINDOW_TOKENS - np.argmax(mask[:, ::-1], axis=1)
    lengths[~mask.any(axis=1)] = 0
    # Overwrite everything after the end of a row with the padding of the embedded engine, so that it has no effect.
    beyond = np.arange(WINDOW_TOKENS) >= lengths[:, None]
    ids[beyond] = pad_id
    types[beyond] = 0
    sizes = tuple((request[0].shape[0], request[0].shape[1]) for request in requests)
    return Rows((ids, types, mask), lengths, sizes)


def join_hidden(requests: Sequence[Sequence[Array]]) -> Rows:
    """Join checked requests, each of one array of hidden states, float32 ``(rows, tokens, size)``.

    They have no mask: the length of a row is the width of its request.
    """
    sizes = tuple((array.shape[0], array.shape[1]) for [array] in requests)
    lengths = np.repeat([tokens for _, tokens in sizes], [rows for rows, _ in sizes]).astype(np.intp)
    return Rows((_stack([array for [array] in requests]),), lengths, sizes)


def _stack(arrays: Sequence[Array]) -> Array:
    rows = sum(len(array) for array in arrays)
    out = np.zeros((rows, WINDOW_TOKENS, *arrays[0].shape[2:]), arrays[0].dtype)
    first = 0
    for array in arrays:
        out[first : first + len(array), : array.shape[1]] = array
        first += len(array)
    return out


def run_rows(session: Callable[..., list[Array]], rows: Rows, pad_id: int, call_rows: int) -> list[list[Array]]:
    """Return one list of outputs per request, each ``(rows, tokens, ...)``, zero after the end of a row.

    ``session`` takes the arrays of ``rows`` cut to one width, with at most ``call_rows`` rows per call.
    """
    widths = np.asarray(WIDTHS)[np.searchsorted(WIDTHS, rows.lengths)]
    outputs: list[Array] = []
    for width in np.unique(widths).tolist():
        chosen = np.flatnonzero(widths == width)
        for part in np.split(chosen, _cuts(len(chosen), call_rows)):
            answers = session(*_call(rows.arrays, part, width, pad_id))
            if not outputs:
                outputs = [np.zeros((len(widths), WINDOW_TOKENS, *each.shape[2:]), each.dtype) for each in answers]
            for output, answer in zip(outputs, answers, strict=True):
                output[part, :width] = answer[: len(part)]
    ends = np.cumsum([count for count, _ in rows.sizes]).tolist()
    return [
        [np.ascontiguousarray(output[end - count : end, :tokens]) for output in outputs]
        for end, (count, tokens) in zip(ends, rows.sizes, strict=True)
    ]


def _cuts(rows: int, most: int) -> list[int]:
    """Return the indexes that split ``rows`` into calls: calls of ``most`` rows, then those of ``row_counts``."""
    whole, rest = divmod(rows, most)
    calls = [most] * whole + list(row_counts(rest))
    return list(accumulate(calls))[:-1]


def _call(arrays: Sequence[Array], part: NDArray[np.intp], width: int, pad_id: int) -> list[Array]:
    """Return the rows ``part`` of every array at ``width``, with their number padded to a power of two."""
    count = 1 << (len(part) - 1).bit_length()
    out = []
    for number, array in enumerate(arrays):
        padded = np.zeros((count, width, *array.shape[2:]), array.dtype)
        if number == 0 and array.ndim == 2:  # token ids, whose padding id need not be 0
            padded[len(part) :] = pad_id
        padded[: len(part)] = array[part, :width]
        out.append(padded)
    return out

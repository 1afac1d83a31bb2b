"""Batches of windows for the models: windows of one padded width, as arrays of token ids."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from deid_runtime.models.engines import Ids
from deid_runtime.spans import Sentence
from deid_runtime.text.windows import WINDOW_TOKENS, Window, WordEncoder, make_windows

#: Rows are padded to one of these widths. The width depends on the row alone, so the answer does too. Batches have
#: 1, 2, 4 ... rows. The widths are few because engines compile and keep kernels for every shape. A width of 112 is
#: useful because most windows are nearly full. More widths would cost more in small batches than they save in padding.
WIDTHS: Final = (32, 64, 96, 112, WINDOW_TOKENS)

#: Windows of one padded width, each with the number of the text it comes from.
Batch = list[tuple[int, Window]]


def no_window_is_known(number: int, window: Window) -> bool:
    """Return False: models read every window."""
    return False


def make_batches(
    texts: Sequence[str],
    sentences: Sequence[Sequence[Sentence]],
    encoder: WordEncoder,
    most_rows: Callable[[int], int],
    is_known: Callable[[int, Window], bool] = no_window_is_known,
    *,
    end_at_blank_lines: bool = False,
) -> Iterator[Batch]:
    """Yield the windows of the given sentences of each text, in batches of one width; a full batch at once.

    ``most_rows`` returns the maximum number of windows in a batch of a width. At most one batch of each width waits.
    ``is_known`` gets the number of a text and a window, and returns whether to skip this window. For
    ``end_at_blank_lines`` see :func:`~deid_runtime.text.windows.make_windows`.
    """
    filling: dict[int, Batch] = {}
    for number, (text, chosen) in enumerate(zip(texts, sentences, strict=True)):
        for window in make_windows(text, chosen, encoder, end_at_blank_lines=end_at_blank_lines):
            if is_known(number, window):
                continue
            width = width_of(len(window.ids))
            batch = filling.setdefault(width, [])
            batch.append((number, window))
            if len(batch) >= most_rows(width):
                yield filling.pop(width)
    yield from filling.values()


def pad(windows: Sequence[Window], pad_id: int) -> tuple[Ids, Ids, Ids]:
    """Return ids, types and mask, int32 ``(rows, width)``, of windows that share one padded width.

    ``rows`` is the next power of two. Rows after the last window are masked padding.
    """
    width = width_of(max(len(window.ids) for window in windows))
    shape = 1 << (len(windows) - 1).bit_length(), width
    ids = np.full(shape, pad_id, dtype=np.int32)
    types = np.zeros(shape, dtype=np.int32)
    mask = np.zeros(shape, dtype=np.int32)
    for row, window in enumerate(windows):
        length = len(window.ids)
        ids[row, :length] = window.ids
        types[row, :length] = window.types
        mask[row, :length] = 1
    return ids, types, mask


def row_counts(rows: int) -> Iterator[int]:
    """Yield the powers of two that add up to ``rows``, the largest first: batch sizes that need no padding rows."""
    for power in reversed(range(rows.bit_length())):
        if rows >> power & 1:
            yield 1 << power


def width_of(length: int) -> int:
    """Return the padded width of a window of ``length`` tokens."""
    return next(width for width in WIDTHS if length <= width)

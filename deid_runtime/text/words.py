"""Split text into words for the models, and return the shape and the type of each word.

In clinical text, words often run together (``Age:39Sex:F``, ``seen02/20/2087NA``, ``PsychiatryChief``). So a word ends
where letters meet digits or punctuation, and where lower case meets upper case. This is the cascading rule of OpenDeID
(Liu et al. 2023). Training and serving both use this module, so they cannot differ.
"""

import re
import unicodedata
from typing import Final

from deid_runtime.lexicon.word_codes import CLASS_COUNT, UNLISTED

#: A longer run of letters or digits is split into several words, so that one word always fits a window.
MAX_WORD_CHARS: Final = 64

#: Word shapes, in the order of :func:`type_id`.
SHAPES: Final = ("lower", "title", "upper", "mixed", "digits", "punctuation")
#: What is before a word: nothing, one space, or a gap (tab, several spaces, a line break, the start of the text).
SPACINGS: Final = ("joined", "space", "gap")
#: Types of words without a word class. They come first, so that a word in no list has the type of its shape alone.
#: Models that were trained on shapes and spacings know these types alone.
SHAPE_TYPE_COUNT: Final = len(SHAPES) * len(SPACINGS)
#: Types of words of letters: the first of the others. Only such words have a word class.
_LETTER_TYPES: Final = SHAPES.index("digits") * len(SPACINGS)
#: All values of ``token_type_ids``.
TYPE_COUNT: Final = SHAPE_TYPE_COUNT + (CLASS_COUNT - 1) * _LETTER_TYPES


def _letters(category: tuple[str, ...]) -> str:
    # Look only below U+2000, where the cased scripts are; the few cased letters above (full width, Deseret) count as
    # uncased.
    return "".join(re.escape(chr(point)) for point in range(0x2000) if unicodedata.category(chr(point)) in category)


_UPPER: Final = _letters(("Lu", "Lt"))
_LOWER: Final = _letters(("Ll", "Mn"))  # a combining accent belongs to the letter before it
_WORD: Final = re.compile(
    rf"[{_UPPER}]{{1,{MAX_WORD_CHARS}}}(?=[{_UPPER}][{_LOWER}]{{2}})"  # MRN of MRNSmith
    rf"|[{_UPPER}]?[{_LOWER}]{{1,{MAX_WORD_CHARS - 1}}}"  # Smith, smith
    rf"|[{_UPPER}]{{1,{MAX_WORD_CHARS}}}"  # SMITH
    rf"|\d{{1,{MAX_WORD_CHARS}}}"
    rf"|[^\W\d_{_UPPER}{_LOWER}]{{1,{MAX_WORD_CHARS}}}"  # letters without case
    r"|[^\w\s]|_"
)


def split_words(text: str) -> list[tuple[int, int]]:
    """Return the half-open offsets of every word of ``text``, in order. Between words there is only white space."""
    return [match.span() for match in _WORD.finditer(text)]


def shape_of(word: str) -> int:
    """Return the index in :data:`SHAPES` for one word of :func:`split_words`."""
    first = word[0]
    if first.isdigit():
        return 4
    if not first.isalpha():
        return 5
    if word.isupper():
        return 2
    if first.isupper():
        return 1 if word[1:].islower() else 3
    return 0


def type_id(shape: int, spacing: int, word_class: int = UNLISTED) -> int:
    """Return the ``token_type_ids`` value of a shape, a spacing (both indices) and a word class.

    It is below :data:`TYPE_COUNT`. Digits and punctuation have no word class: for them ``word_class`` is
    :data:`~deid_runtime.lexicon.word_codes.UNLISTED`.
    """
    base = shape * len(SPACINGS) + spacing
    return base if word_class == UNLISTED else SHAPE_TYPE_COUNT + (word_class - 1) * _LETTER_TYPES + base


def without_class(kind: int) -> int:
    """Return the ``token_type_ids`` value ``kind`` as if its word were in no list."""
    return kind if kind < SHAPE_TYPE_COUNT else (kind - SHAPE_TYPE_COUNT) % _LETTER_TYPES

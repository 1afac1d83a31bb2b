"""The canary note: an invented note whose answer shows that the model ``deidentify`` works.

A request with the parameter :data:`~deid_runtime.serving.note_models.CANARY` needs no key and no inputs: the model
de-identifies this note with a random key that it made when it was loaded. So the answer reveals nothing about a key of
the server, and nobody can send other text this way. The supervisor of ``deid serve`` and ``deid probe`` send
such requests and check the answers with :func:`canary_fault`.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

from deid_runtime.spans import Note

#: The note: pieces of text that must stay, and between them the two identifiers that must be replaced.
_KEPT: Final = ("Seen by Dr. ", " on ", ".")
_IDENTIFIERS: Final = ("Jane Doe", "01/02/2003")

CANARY_NOTE: Final = Note("canary", _KEPT[0] + _IDENTIFIERS[0] + _KEPT[1] + _IDENTIFIERS[1] + _KEPT[2], "canary")

_ANSWER: Final = re.compile("(.+)".join(map(re.escape, _KEPT)), re.DOTALL)
#: An answer is shorter than this, in characters: its text, and its spans as JSON.
_LONGEST_CHARS: Final = 4096


def canary_fault(text: str, spans: str) -> str:
    """Return what is wrong with the answer to a canary request; an empty string for a right answer.

    ``text`` and ``spans`` are the outputs of ``deidentify``; ``spans`` is JSON. The text between the identifiers must
    be unchanged, both identifiers must be gone, and the spans must cover them and nothing else. The labels and the
    replacements depend on the settings of the server.
    """
    if len(text) > _LONGEST_CHARS or len(spans) > _LONGEST_CHARS:
        return "the answer is too long"
    found = _ANSWER.fullmatch(text)
    if found is None:
        return "text between the identifiers was changed"
    for identifier, replacement in zip(_IDENTIFIERS, found.groups(), strict=True):
        # Whole words: the surrogate of "Jane" may be "Janet" or "Janelle".
        if any(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", replacement) for part in identifier.split()):
            return "an identifier was left in the text"
    try:
        covered = {
            offset for start, end in _offsets(spans) for offset in range(max(start, 0), min(end, _LONGEST_CHARS))
        }
    except (ValueError, KeyError, TypeError, RecursionError):
        return "the spans are not a list of spans"
    return "" if covered == _expected() else "the spans do not cover the identifiers and nothing else"


def _offsets(spans: str) -> Sequence[tuple[int, int]]:
    return [(int(span["start"]), int(span["end"])) for span in json.loads(spans)]


def _expected() -> set[int]:
    """Return the offsets of all characters of the identifiers in the note."""
    starts = [CANARY_NOTE.text.index(identifier) for identifier in _IDENTIFIERS]
    return {
        start + offset
        for start, identifier in zip(starts, _IDENTIFIERS, strict=True)
        for offset in range(len(identifier))
    }

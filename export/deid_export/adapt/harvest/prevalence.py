"""Find inclusion-list candidates: sentences of many patients in which no identifier was found."""

from typing import Final

from deid_export.adapt.harvest.counting import Tally, digest
from deid_export.adapt.harvest.masks import TOKEN
from deid_export.adapt.harvest.passages import Passage
from deid_runtime.detectors.inclusion import MAX_SENTENCE_CHARS, MIN_LETTERS, normalise, strip_marks

_SHOWN_CHARS: Final = 200  # longer sentences rarely repeat, and nobody reads them closely


def sentence_key(text: str) -> int | None:
    """Return the digest under which a sentence is counted; None for a sentence that cannot be on an inclusion list."""
    if len(text) > min(_SHOWN_CHARS, MAX_SENTENCE_CHARS):
        return None
    normal = normalise(text)
    if normal[:1] in ("", "#") or not normal.isprintable() or sum(map(str.isalpha, normal)) < MIN_LETTERS:
        return None
    return digest(normal)


class SentenceTally:
    """Counts of one sentence, over all forms that :func:`normalise` makes equal."""

    def __init__(self, text: str) -> None:
        plain = strip_marks(text)
        # Reading the line would remove a second list marker after the first one.
        self.line = plain if normalise(plain) == normalise(text) else " ".join(text.split())
        self.tally = Tally()
        self.found = 0
        self.beside_identifier = 0

    def add(self, passage: Passage, note: int, patient: int) -> None:
        """Count one occurrence, with or without an identifier in it."""
        if passage.spans:
            self.found += 1
        else:
            self.tally.add(note, patient)
            self.beside_identifier += passage.is_beside_identifier

    @property
    def words(self) -> frozenset[str]:
        """Return the case-folded words of two letters or more."""
        return frozenset(token for token in TOKEN.findall(self.line.casefold()) if token.isalpha() and token[1:])

"""Read lists of diseases and drugs: sentences with such a term are harvested even when they are less frequent."""

import gzip
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from deid_runtime.errors import SourceError

_WORD: Final = re.compile(r"[^\W_]+")
#: Shorter terms are ambiguous abbreviations.
MIN_LETTERS: Final = 3


class TermList:
    """Terms of one or more words; matched as whole words, in any case, with any characters between the words."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._by_first: dict[str, set[tuple[str, ...]]] = {}
        for term in terms:
            words = tuple(_words(term))
            if sum(map(len, words)) >= MIN_LETTERS:
                self._by_first.setdefault(words[0], set()).add(words)

    def __len__(self) -> int:
        return sum(map(len, self._by_first.values()))

    def is_in(self, sentence: str) -> bool:
        """Return whether ``sentence`` contains a term."""
        words = _words(sentence)
        return any(
            tuple(words[at : at + len(term)]) == term
            for at, word in enumerate(words)
            for term in self._by_first.get(word, ())
        )


def read_terms(paths: Sequence[Path]) -> TermList:
    """Read files with one term per line, plain or ``.gz``; blank lines and lines that start with ``#`` are skipped.

    Raises SourceError for a file that cannot be read.
    """
    terms: list[str] = []
    for path in paths:
        try:
            data = path.read_bytes()
            text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise SourceError(
                f"{path}: expected a list of terms in UTF-8, one per line ({type(error).__name__})"
            ) from None
        terms += [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    return TermList(terms)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())

"""The inclusion list: known-clean sentences, which the models do not score.

Most sentences of a hospital's notes are repeated word for word (Murugadoss et al. 2021: 3.1 billion sentences, 700
million distinct). So a list of frequent clean sentences saves most of the work and avoids every false positive in them.
The comparison is exact after :func:`normalise`.

File format: UTF-8, one sentence per line; blank lines and lines that start with ``#`` are skipped.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deid_runtime.detectors.line_files import read_lines
from deid_runtime.errors import SettingsError
from deid_runtime.spans import Detector

#: Longer sentences are never looked up: they do not repeat, and a whole note in one line would take time.
MAX_SENTENCE_CHARS: Final = 400

#: Shorter entries are refused: a line of one or two letters may be a signature as well as a heading.
MIN_LETTERS: Final = 3

_MARKER: Final = re.compile(r"(?:[-*+•·\u2013\u2014>#]+|\d{1,2}[.)]|[a-z]\)|\[[ x]?\])\s+", re.IGNORECASE)


def strip_marks(sentence: str) -> str:
    """Return a sentence without the parts that a comparison ignores; its case is kept.

    White space is collapsed. One leading list marker (``-``, ``•``, ``3.``, ``b)``, ``[x]``) and closing ``.:;,`` are
    removed. A letter with a full stop is not a marker, because it may be an initial. Digits stay as they are:
    ``BP 120/80`` must be listed to match.
    """
    sentence = " ".join(sentence.split())
    marker = _MARKER.match(sentence)
    if marker is not None:
        sentence = sentence[marker.end() :]
    return sentence.rstrip(" .:;,")


def normalise(sentence: str) -> str:
    """Return the form for comparison: :func:`strip_marks`, then case folding."""
    return strip_marks(sentence).casefold()


@dataclass(frozen=True, slots=True)
class InclusionList:
    """Known-clean sentences: ``sentence in inclusion_list``. ``sha256`` is the digest of the file."""

    entries: frozenset[str] = field(repr=False)
    sha256: str

    def __contains__(self, sentence: str) -> bool:
        return len(sentence) <= MAX_SENTENCE_CHARS and normalise(sentence) in self.entries

    def __len__(self) -> int:
        return len(self.entries)


def load_inclusion(path: Path | None, *, screen: Detector) -> InclusionList:
    """Read the list at ``path``; None reads the list of the package.

    ``screen`` runs on every entry of a file; a test runs it on the list of the package, for which a process would have
    to compile the patterns before its first note. Raises SettingsError, with file and line, for:

    - a file that cannot be read;
    - an entry in which ``screen`` finds an identifier;
    - an entry with fewer than :data:`MIN_LETTERS` letters or longer than :data:`MAX_SENTENCE_CHARS`.
    """
    name = str(path or "inclusion.txt")
    lines, sha256 = read_lines(path, "inclusion.txt", "inclusion list")
    numbered = [(i, line.strip()) for i, line in enumerate(lines, 1) if line.strip() and line.lstrip()[0] != "#"]
    screened = [[] for _ in numbered] if path is None else screen([line for _, line in numbered])
    for (number, line), found in zip(numbered, screened, strict=True):
        if found:
            labels = ", ".join(sorted({span.label for span in found}))
            raise SettingsError(
                f"inclusion list {name}, line {number}: contains what looks like {labels}; remove the line"
            )
        if sum(character.isalpha() for character in line) < MIN_LETTERS:
            raise SettingsError(
                f"inclusion list {name}, line {number}: fewer than {MIN_LETTERS} letters, which may be a person's "
                "initials or a number; remove the line"
            )
        if len(line) > MAX_SENTENCE_CHARS:
            raise SettingsError(
                f"inclusion list {name}, line {number}: {len(line)} characters, at most "
                f"{MAX_SENTENCE_CHARS} are looked up"
            )
    entries = frozenset(filter(None, (normalise(line) for _, line in numbered)))
    return InclusionList(entries, sha256)

"""Turn sentences into model input: pack the sentences of a block into windows of at most 128 tokens.

A single short line has little context. In a window, the model sees a whole signature block or table at no extra cost
per token. A sentence is in one window, unless it is longer than a window. Then it is cut at words into overlapping
windows, so no word is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tokenizers import Tokenizer

from deid_runtime.lexicon.word_codes import UNLISTED, word_class
from deid_runtime.spans import Sentence
from deid_runtime.text.words import SHAPES, SPACINGS, shape_of, split_words, type_id

WINDOW_TOKENS: Final = 128  # with [CLS] and [SEP]
OVERLAP_TOKENS: Final = 48  # shared by neighbouring windows of one over-long sentence
_CACHED_WORDS: Final = 200_000  # limits the memory of the word cache to about 40 MB
_CACHED_CHARS: Final = 24  # longer words rarely occur twice

_BREAK_TYPE: Final = type_id(SHAPES.index("punctuation"), SPACINGS.index("gap"))


@dataclass(slots=True)
class Window:
    """One row of model input.

    ``ids`` and ``types`` are token ids and token-type ids, of the same length, at most :data:`WINDOW_TOKENS`.
    ``positions`` has the index of the first token of each word that the model scores. ``starts`` and ``ends`` are the
    half-open offsets of these words in the note, in code points.
    """

    ids: list[int] = field(repr=False)
    types: list[int]
    positions: list[int]
    starts: list[int]
    ends: list[int]


class WordEncoder:
    """Encode words as WordPiece token ids, with a bounded cache of words. Not thread-safe: use one per thread.

    Without ``word_classes`` every word counts as in no list, for models that know shapes and spacings alone.
    """

    def __init__(self, tokenizer: Tokenizer, *, word_classes: bool = True) -> None:
        tokenizer.no_padding()  # a saved tokenizer may have padding and truncation turned on; single words need neither
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._word_classes = word_classes
        self._cache: dict[str, tuple[tuple[int, ...], int, int]] = {}
        special: dict[str, int] = {name: tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]", "[PAD]", "[UNK]")}
        self.cls, self.sep, self.pad, self.unknown = (special[name] for name in ("[CLS]", "[SEP]", "[PAD]", "[UNK]"))
        self.vocabulary: int = tokenizer.get_vocab_size()  # every id is below it
        self.line_break: int = tokenizer.token_to_id("[unused1]")
        self.blank_line: int = tokenizer.token_to_id("[unused2]")

    @classmethod
    def from_file(cls, path: Path, *, word_classes: bool = True) -> "WordEncoder":
        """Load an encoder from a ``tokenizer.json``."""
        return cls(Tokenizer.from_file(str(path)), word_classes=word_classes)

    def pieces(self) -> dict[str, int]:
        """Return the vocabulary: token (WordPiece string) to id."""
        found: dict[str, int] = self._tokenizer.get_vocab()
        return found

    def encode(self, word: str) -> tuple[tuple[int, ...], int, int]:
        """Return the token ids of one word (at least one), its shape, an index of SHAPES, and its word class."""
        found = self._cache.get(word)
        if found is None:
            ids = tuple(self._tokenizer.encode(word, add_special_tokens=False).ids) or (self.unknown,)
            listed = word_class(word) if self._word_classes and word[0].isalpha() else UNLISTED
            found = ids, shape_of(word), listed
            if len(word) <= _CACHED_CHARS:
                if len(self._cache) >= _CACHED_WORDS:
                    self._cache.clear()  # the cache never changes a result, so the simplest eviction is enough
                self._cache[word] = found
        return found


def make_windows(
    text: str,
    sentences: Sequence[Sentence],
    encoder: WordEncoder,
    *,
    window_tokens: int = WINDOW_TOKENS,
    end_at_blank_lines: bool = False,
) -> Iterator[Window]:
    """Yield the windows of the given sentences of one note, in order. Every word is in at least one window.

    A window ends when it is full. With ``end_at_blank_lines`` it also ends where a blank line follows; an omitted line
    counts as one. Then the windows of a block between blank lines depend on this block alone: a copied block has the
    same windows in every note.

    Context sentences (``is_known``) stay in the windows, so that the scores of the other sentences do not depend on
    which sentences are known-clean. Their words are not scored. A window of only context sentences is left out.
    """
    room = window_tokens - 2
    packer = _Packer(encoder)
    for sentence in sentences:
        ids: list[tuple[int, ...]] = []
        types: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        previous, size = -1, 0
        part = text[sentence.start : sentence.end]
        for start, end in split_words(part):
            pieces, shape, listed = encoder.encode(part[start:end])
            pieces = pieces[:room]  # of a word with more tokens, as in Hangul, the model reads only the first ones
            # The first word of a sentence has a gap before it when it starts a line, else normally a space.
            gap = start - previous if previous >= 0 else _first_spacing(text, sentence.start + start)
            spacing = 2 if gap > 1 or (gap == 1 and part[start - 1] == "\t") else gap
            previous = end
            ids.append(pieces)
            types.append(type_id(shape, spacing, listed))
            starts.append(sentence.start + start)
            ends.append(sentence.start + end)
            size += len(pieces)
        if not ids:
            continue
        separator = _separator(text, packer.last_end, starts[0], encoder)
        is_new_block = end_at_blank_lines and separator == encoder.blank_line
        if is_new_block or packer.size + size + (separator is not None) > room:
            yield from packer.take()
            separator = None
        if size <= room:
            packer.add(separator, ids, types, starts, ends, is_asked=not sentence.is_known)
            continue
        for first, last in _cuts([len(pieces) for pieces in ids], room):
            packer.add(
                None,
                ids[first:last],
                types[first:last],
                starts[first:last],
                ends[first:last],
                is_asked=not sentence.is_known,
            )
            yield from packer.take()
    yield from packer.take()


class _Packer:
    """Fills one window at a time."""

    def __init__(self, encoder: WordEncoder) -> None:
        self._encoder = encoder
        self.last_end = -1
        self._reset()

    def _reset(self) -> None:
        self._window = Window([self._encoder.cls], [_BREAK_TYPE], [], [], [])

    @property
    def size(self) -> int:
        return len(self._window.ids) - 1

    def add(
        self,
        separator: int | None,
        ids: Sequence[tuple[int, ...]],
        types: Sequence[int],
        starts: Sequence[int],
        ends: Sequence[int],
        *,
        is_asked: bool,
    ) -> None:
        window = self._window
        if separator is not None and self.size:
            window.ids.append(separator)
            window.types.append(_BREAK_TYPE)
        for pieces, kind in zip(ids, types, strict=True):
            if is_asked:
                window.positions.append(len(window.ids))
            window.ids.extend(pieces)
            window.types.extend([kind] * len(pieces))
        if is_asked:
            window.starts.extend(starts)
            window.ends.extend(ends)
        self.last_end = ends[-1]

    def take(self) -> Iterator[Window]:
        """Start a new window. Yield the old one if the model has to score any of its words."""
        window = self._window
        self._reset()
        if window.positions:
            window.ids.append(self._encoder.sep)
            window.types.append(_BREAK_TYPE)
            yield window


def _first_spacing(text: str, start: int) -> int:
    """Return the spacing before the first word of a sentence, an index of :data:`SPACINGS`.

    It is a gap at the start of a line or after several spaces, a space after one space, and joined after a character.
    """
    if start == 0 or text[start - 1] != " ":
        return 0 if start and not text[start - 1].isspace() else 2
    return 2 if start == 1 or text[start - 2].isspace() else 1


def _separator(text: str, end: int, start: int, encoder: WordEncoder) -> int | None:
    """Return the token id between two words of neighbouring sentences: line break or blank line, None on one line."""
    if end < 0:
        return None
    between = text[end:start] if start - end < 64 else text[end : end + 32] + text[start - 32 : start]
    breaks = between.count("\n") or between.count("\r")
    if breaks == 0:
        return None
    return encoder.line_break if breaks == 1 else encoder.blank_line


def _cuts(sizes: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Yield half-open word ranges of at most ``room`` tokens that overlap by at most :data:`OVERLAP_TOKENS` tokens."""
    overlap = min(OVERLAP_TOKENS, room // 3)
    first = 0
    while True:
        last, used = first, 0
        while last < len(sizes) and (used + sizes[last] <= room or last == first):
            used += sizes[last]
            last += 1
        yield first, last
        if last == len(sizes):
            return
        before, back, first = first, 0, last
        while first > before + 1 and back + sizes[first - 1] <= overlap:
            first -= 1
            back += sizes[first]

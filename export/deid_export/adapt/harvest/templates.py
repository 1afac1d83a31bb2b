"""Find template candidates: the fixed words of sentences of one form, with typed slots for everything that changes.

A sentence with its spans has a *skeleton*. Every span becomes a slot of its label. A clock time, a credential after a
name, a sex after its label and a short number become slots of their kind. **Every other word stays a word**. Sentences
with the same skeleton make one template.

There is no slot for "any word", because it would let names pass, and a template is final for its sentence. So a
harvested template keeps only four things in a text: a word that many patients had at that place, a credential of a
closed list, a clock time, or a number of at most three digits. Only the word could be an identifier; the checks of
:mod:`deid_export.adapt.harvest.checks` cover this case.

A number slot is as narrow as the numbers seen: the digits are counted, and a number that never changed stays unchanged.
Two numbers joined by a slash or dash (``120/80``) become slots only when they cannot be a month and a day.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from deid_export.adapt.harvest.counting import DistinctCount, Tally, digest
from deid_export.adapt.harvest.masks import TOKEN, Masks
from deid_export.adapt.harvest.passages import Passage
from deid_runtime.detectors.templates import FREE_SLOTS, MAX_SENTENCE_CHARS, escape
from deid_runtime.labels import HEADS

#: Least number of letters in the words of a template, and largest number of its parts.
MIN_LETTERS: Final = 3
MAX_PARTS: Final = 60
#: Longer numbers may be years or identifiers and stay unchanged.
MAX_DIGITS: Final = 3
#: Most masks kept per template: a name may have one to five words, but rarely more forms.
MAX_MASKS: Final = 64

_FREE: Final = re.compile(
    r"(?<![\w:/.-])(?P<clock>" + FREE_SLOTS["clock"] + r")(?![\w:/-])|(?P<chain>(?<!\w)\d+(?:[/.-]\d+){2,}(?!\w))"
    r"|(?P<pair>(?<![^\W_])\d{1,3}[/-]\d{1,3}(?![^\W_]))|(?P<token>" + TOKEN.pattern + ")"
)
_CREDENTIAL: Final = re.compile(r"\s*(,?)\s*(" + FREE_SLOTS["credential"] + r")(?![^\W_])")
_SEXES: Final = frozenset({"m", "f", "male", "female"})
_SEX_LABELS: Final = frozenset({"sex", "gender"})

Kind = Literal["word", "mark", "number", "pair", "slot", "free"]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a skeleton. ``has_gap`` is true when white space comes before it."""

    kind: Kind
    text: str = field(repr=False)
    has_gap: bool

    @property
    def is_wordy(self) -> bool:
        """Whether the part is more than a punctuation mark."""
        return self.kind != "mark"

    @property
    def key(self) -> str:
        """Return the value that this part must share in all sentences of a skeleton."""
        if self.kind == "number":
            return "#"
        if self.kind == "pair":
            return "#" * len(self.text)
        return f"{{{self.text}}}" if self.kind in ("slot", "free") else self.text.casefold()


def skeleton_of(passage: Passage) -> tuple[Part, ...] | None:
    """Return the parts of a sentence.

    Returns None when it cannot be a template: it is too long or cut, nothing in it can be a slot, or it looks like a
    missed identifier.
    """
    text = passage.text
    if passage.is_cut or len(text) > MAX_SENTENCE_CHARS or not "".join(text.split()).isprintable():
        return None
    parts: list[Part] = []
    at = 0
    for span in (*passage.spans, None):
        end = span.start if span else len(text)
        for part in _plain_parts(text, at, end, parts):
            if part is None:
                return None
            parts.append(part)
        if span:
            parts.append(Part("slot", span.label, _has_gap(text, span.start)))
            at = span.end
    if parts and (parts[-1].kind, parts[-1].text) == ("mark", "."):
        parts.pop()  # the runtime accepts a final dot anyway
    letters = sum(len(part.text) for part in parts if part.kind == "word" and part.text.isalpha())
    # A list number alone does not justify a template: an inclusion list ignores it.
    is_item = len(parts) > 1 and parts[0].kind == "number" and parts[1].text in (".", ")")
    changing = any(part.kind not in ("word", "mark") for part in parts[is_item:])
    if letters < MIN_LETTERS or len(parts) > MAX_PARTS or not changing:
        return None
    return tuple(parts)


def key_of(parts: Sequence[Part]) -> int:
    """Return the digest under which sentences of one skeleton are counted; white space beside marks is ignored."""
    pieces = []
    for i, part in enumerate(parts):
        counts = i > 0 and part.has_gap and part.is_wordy and parts[i - 1].is_wordy
        pieces.append((" " if counts else "") + part.key)
    return digest("\x1f".join(pieces))


def _plain_parts(text: str, start: int, end: int, before: Sequence[Part]) -> Iterator[Part | None]:
    """Yield the parts of ``text[start:end]``, which has no span; None for a likely missed identifier."""
    if before and before[-1].text in HEADS["name"] and before[-1].kind == "slot":
        credential = _CREDENTIAL.match(text, start, end)
        if credential:
            if credential[1]:
                yield Part("mark", ",", _has_gap(text, credential.start(1)))
            yield Part("free", "credential", _has_gap(text, credential.start(2)))
            start = credential.end()
    words = [part.text.casefold() for part in before[-2:] if part.kind == "word"]
    for match in _FREE.finditer(text, start, end):
        kind, token, has_gap = match.lastgroup, match[0], _has_gap(text, match.start())
        if kind == "clock":
            yield Part("free", "clock", has_gap)
        elif kind == "chain":
            yield None
        elif kind == "pair":
            for piece in re.split(r"([/-])", token):
                yield Part("pair", piece, has_gap) if piece.isdigit() else Part("mark", piece, has_gap)
                has_gap = False
        elif token.isdigit() and token.isascii() and len(token) <= MAX_DIGITS:
            yield Part("number", token, has_gap)
        elif token.casefold() in _SEXES and words and words[-1] in _SEX_LABELS:
            yield Part("free", "sex", has_gap)
        elif token[0].isalnum():
            yield Part("word", token, has_gap)
            words.append(token.casefold())
        else:
            yield Part("mark", token, has_gap)


def _has_gap(text: str, at: int) -> bool:
    return at > 0 and text[at - 1].isspace()


class TemplateTally:
    """The common properties of the sentences of one skeleton."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.tally = Tally()
        self.beside_identifier = 0
        self._parts = parts
        self._gaps = [False] * len(parts)
        self._lengths = {i: (9, 0) for i, part in enumerate(parts) if part.kind in ("number", "pair")}
        self._constants: dict[int, str | None] = {i: parts[i].text for i in self._lengths}
        self._values = [(part.text, DistinctCount()) for part in parts if part.kind == "slot"]
        self.masks: Counter[Masks] = Counter()

    def add(self, passage: Passage, parts: Sequence[Part], note: int, patient: int) -> None:
        """Count one sentence; ``parts`` is the skeleton of this sentence."""
        self.tally.add(note, patient)
        self.beside_identifier += passage.is_beside_identifier
        for i, part in enumerate(parts):
            self._gaps[i] |= part.has_gap
            if i in self._lengths:
                least, most = self._lengths[i]
                self._lengths[i] = min(least, len(part.text)), max(most, len(part.text))
                if part.text != self._constants[i]:
                    self._constants[i] = None
        for span, (_, values) in zip(passage.spans, self._values, strict=True):
            values.add(digest(passage.text[span.start : span.end].casefold()))
        masks = Masks.of(passage.text, passage.spans)
        if masks in self.masks or len(self.masks) < MAX_MASKS:
            self.masks[masks] += 1

    @property
    def words(self) -> frozenset[str]:
        """Return the case-folded words of two letters or more in the template."""
        return frozenset(
            part.text.casefold()
            for part in self._parts
            if part.kind == "word" and part.text.isalpha() and part.text[1:]
        )

    @property
    def has_identifier(self) -> bool:
        """Whether the template has a slot for an identifier."""
        return bool(self._values)

    @property
    def values(self) -> list[tuple[str, int]]:
        """Return the label of every identifier slot, with its number of distinct values."""
        return [(label, len(values)) for label, values in self._values]

    @property
    def may_be_date(self) -> bool:
        """Return whether slots would let a month and a day pass: two joined numbers, both changing, both short."""
        pairs = [i for i in self._lengths if self._parts[i].kind == "pair"]
        return any(
            all(self._constants[i] is None and self._lengths[i][0] < MAX_DIGITS for i in (first, second))
            for first, second in zip(pairs[::2], pairs[1::2], strict=True)
        )

    def line(self) -> str:
        """Return the template line for ``deid run``; empty when nothing changes in its sentences."""
        return "".join(self._pieces(example=False)) if self._has_slots() else ""

    def example(self) -> str:
        """Return an invented sentence that the template matches; only for templates without identifiers."""
        return "".join(self._pieces(example=True))

    def _has_slots(self) -> bool:
        return any(
            part.kind in ("slot", "free") or self._constants.get(i, "") is None for i, part in enumerate(self._parts)
        )

    def _pieces(self, *, example: bool) -> Iterator[str]:
        for i, part in enumerate(self._parts):
            if i and self._gaps[i]:
                yield " "
            constant = self._constants.get(i, part.text)
            if part.kind in ("slot", "free"):
                yield _EXAMPLES.get(part.text, "") if example else f"{{{part.text}}}"
            elif constant is not None:
                yield constant if example else escape(constant)
            else:
                least, most = self._lengths[i]
                yield (
                    "124"[:most]
                    if example
                    else f"{{number:{least}}}"
                    if least == most
                    else f"{{number:{least}-{most}}}"
                )


_EXAMPLES: Final = {"clock": "10:40", "credential": "MD", "sex": "F"}

"""Single errors in masked context, for a person to review inside the secure zone.

Every token in a gold or found span is masked by its shape, ``Xxxxx Xxxxx, 99/99/9999``. Other tokens of the note with
the same value are masked too. The other words of the line are not masked. They are words of a real note that nobody
checked: an identifier that both gold and found missed is readable there.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.evaluation.errors import Judged, Kind, is_telling, judge_tokens
from deid_runtime.evaluation.tokens import TOKEN
from deid_runtime.spans import Span
from deid_runtime.system.owner_only import write_owner_only

CONTEXT_WORDS: Final = 6
#: Marks around the error in its context.
OPEN, CLOSE = "[[", "]]"

_LINE_ENDS: Final = "\r\n"
_WORD: Final = re.compile(r"\S+")
_REACH_CHARS: Final = 400  # of the line on each side, at most: some lines are whole notes


@dataclass(frozen=True, slots=True)
class ErrorInContext:
    """Adjacent missed (or wrong) tokens of one gold (or found) span: ``[start, end)``, and the kind of each token.

    ``before`` and ``after`` are the masked words around it in its line, ``word`` the error itself.
    """

    note: str
    error: str
    start: int
    end: int
    label: str
    kinds: tuple[Kind, ...]
    before: str = field(repr=False)
    word: str = field(repr=False)
    after: str = field(repr=False)

    @property
    def context(self) -> str:
        """The part of the line as one string, with the error between :data:`OPEN` and :data:`CLOSE`."""
        return f"{self.before}{OPEN}{self.word}{CLOSE}{self.after}"

    def to_json(self) -> dict[str, object]:
        """Return the error as JSON values."""
        kinds = [{name: value for name, value in asdict(kind).items() if value} for kind in self.kinds]
        record = {name: value for name, value in asdict(self).items() if name not in ("before", "word", "after")}
        return record | {"kinds": kinds, "context": self.context}


def errors_in_context(
    gold: Sequence[AnnotatedNote],
    found: Mapping[str, Sequence[Span]],
    *,
    context_words: int = CONTEXT_WORDS,
    shows_wrong: bool = False,
) -> Iterator[ErrorInContext]:
    """Yield the errors of every note, in order, with at most ``context_words`` words of the line on each side.

    ``shows_wrong`` leaves wrong tokens unmasked, since they are gold of no label; missed ones stay masked.

    Raises InputError when a found span ends after the end of its text.
    """
    errors = [
        (error, token)
        for error, tokens in zip(("missed", "wrong"), judge_tokens(gold, found), strict=True)
        for token in tokens
        if token.is_error
    ]
    errors.sort(key=lambda entry: (entry[1].note, entry[1].start))
    for number, of_note in groupby(errors, key=lambda entry: entry[1].note):
        note = gold[number]
        tokens_of_note = list(of_note)
        if shows_wrong:
            masked = _with_wrong_shown(note, [token for error, token in tokens_of_note if error == "wrong"])
        else:
            masked = mask(note.text, [*note.spans, *found.get(note.id, ())])
        for error, tokens in _stretches(note.text, tokens_of_note):
            start, end = tokens[0].start, tokens[-1].end
            before, after = _around(masked, start, end, context_words)
            yield ErrorInContext(
                note=note.id,
                error=error,
                start=start,
                end=end,
                label=tokens[0].kind.label,
                kinds=tuple(token.kind for token in tokens),
                before=before,
                word=masked[start:end],
                after=after,
            )


def write_errors(path: Path, errors: Iterable[ErrorInContext]) -> int:
    """Write the errors to a new file that only its owner may read, one JSON object per line; return their number.

    Raises OutputError when ``path`` exists (also as a terminal, a pipe, or a file that others may have open), or when
    the file cannot be written.
    """
    lines = [json.dumps(error.to_json(), ensure_ascii=False) + "\n" for error in errors]
    write_owner_only(path, lines, what="errors in context")
    return len(lines)


def mask(text: str, spans: Sequence[Span]) -> str:
    """Return ``text`` with every token that a span touches, and every other token of the same value, as its shape.

    Capitals become ``X``, digits ``9``, other letters and marks ``x``; punctuation, symbols and spaces stay. The length
    stays the same. Tokens that are too short to be specific (such as initials) are masked only in the spans.
    """
    tokens = [(*match.span(), match[0].casefold()) for match in TOKEN.finditer(text)]
    is_touched = bytearray(len(text))
    for span in spans:
        is_touched[span.start : span.end] = b"\1" * (span.end - span.start)
    values = {value for start, end, value in tokens if any(is_touched[start:end]) and is_telling(value)}
    for start, end, value in tokens:
        if value in values or any(is_touched[start:end]):
            is_touched[start:end] = b"\1" * (end - start)
    return "".join(
        _shape(character) if touched else character for character, touched in zip(text, is_touched, strict=True)
    )


def _shape(character: str) -> str:
    if character.isupper():
        return "X"
    if character.isdecimal():
        return "9"
    return character if unicodedata.category(character)[0] in "PSZC" else "x"


def _stretches(text: str, tokens: Iterable[tuple[str, Judged]]) -> Iterator[tuple[str, list[Judged]]]:
    """Yield runs of errors of one sort and one span, with no other token and no line end between them."""
    stretch: list[Judged] = []
    last = ""
    for error, token in tokens:
        if stretch:
            between = text[stretch[-1].end : token.start]
            joins = error == last and token.span == stretch[-1].span and not TOKEN.search(between)
            if not joins or any(end in between for end in _LINE_ENDS):
                yield last, stretch
                stretch = []
        stretch.append(token)
        last = error
    if stretch:
        yield last, stretch


def _with_wrong_shown(note: AnnotatedNote, wrong: Iterable[Judged]) -> str:
    masked = list(mask(note.text, note.spans))
    for token in wrong:
        # Also when the same value is gold elsewhere: nobody marked it here.
        masked[token.start : token.end] = note.text[token.start : token.end]
    return "".join(masked)


def _around(masked: str, start: int, end: int, words: int) -> tuple[str, str]:
    """Return the last words of the line before an error, and the first words after it."""
    line_start = max(masked.rfind(line_end, 0, start) for line_end in _LINE_ENDS) + 1
    ends = [at for line_end in _LINE_ENDS if (at := masked.find(line_end, end)) >= 0]
    line_end = min(ends, default=len(masked))
    before = _last_words(masked[max(line_start, start - _REACH_CHARS) : start], words)
    after = _last_words(masked[end : min(line_end, end + _REACH_CHARS)][::-1], words)[::-1]
    return before, after


def _last_words(text: str, count: int) -> str:
    """Return the last ``count`` words of ``text`` and the text after them; a partial last word counts as one."""
    words = [match.start() for match in _WORD.finditer(text)]
    if not count:
        return ""
    return text[words[-count] :] if len(words) >= count else text.lstrip()

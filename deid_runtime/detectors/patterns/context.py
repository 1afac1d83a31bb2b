"""The context of a match: the words and marks that checks use. It must be fast, because it runs for every ``3/4``."""

import re
from dataclasses import dataclass

_BEFORE_CHARS = 40
_AFTER_CHARS = 32
_TRIM = "()[]{}.,;:#=~+*\"'’“”<>-–—"


@dataclass(frozen=True, slots=True)
class Context:
    """The text of the same line before and after a value, limited to the length that checks use."""

    before: str
    after: str
    last: str  # the word before, lower case, without punctuation
    two: str  # the two words before
    mark: str  # the last character before that is not white space
    is_at_line_start: bool

    def ends_in(self, marks: str) -> bool:
        """Return whether the last character before the value that is not white space is one of the marks."""
        return self.mark != "" and self.mark in marks


def context_of(match: re.Match[str], group: str = "value") -> Context:
    """Return the context of a group of a match."""
    text = match.string
    start, end = match.span(group)
    head = text[max(0, start - _BEFORE_CHARS) : start]
    line_break = head.rfind("\n")
    before = head[line_break + 1 :]
    words = before.split()[-2:]
    last = words[-1].strip(_TRIM).lower() if words else ""
    return Context(
        before=before,
        after=text[end : end + _AFTER_CHARS].partition("\n")[0],
        last=last,
        two=f"{words[0].strip(_TRIM).lower()} {last}" if len(words) == 2 else last,
        mark=words[-1][-1] if words else "",
        is_at_line_start=(line_break >= 0 or start <= _BEFORE_CHARS) and not before.strip(" \t*-•>#(["),
    )

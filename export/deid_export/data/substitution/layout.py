"""The case and the line ends of a page: changes that keep every character at its place."""

from collections.abc import Callable


def recased(text: str, change: Callable[[str], str]) -> str:
    """Return ``text`` with every letter changed that stays one letter."""
    return "".join(new if len(new := change(char)) == 1 else char for char in text)


def wrapped(text: str, columns: int) -> str:
    """Turn blanks into line ends, as a system does that wraps at ``columns``; every character keeps its place."""
    chars = list(text)
    line_start, blank = 0, -1
    for index, char in enumerate(text):
        if char == "\n":
            line_start, blank = index + 1, -1
        elif char == " ":
            blank = index
        if index - line_start >= columns and blank > line_start:
            chars[blank] = "\n"
            line_start, blank = blank + 1, -1
    return "".join(chars)

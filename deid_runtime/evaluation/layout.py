"""Change the case and the line ends of a text; every character keeps its offset."""

from collections.abc import Callable


def recased(text: str, change: Callable[[str], str]) -> str:
    """Return ``text`` with ``change`` applied to every letter whose changed form is still one letter."""
    return "".join(new if len(new := change(char)) == 1 else char for char in text)


def wrapped(text: str, columns: int) -> str:
    """Replace spaces by line ends, as a system does that wraps at ``columns``; every character keeps its offset."""
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

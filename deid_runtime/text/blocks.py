"""Cut a text at its blank lines. The stretches between them are the blocks that notes repeat: sections, paragraphs."""

import re
from typing import Final

_LINE_ENDS: Final = re.compile(r"\n\s*+")


def block_starts(text: str) -> list[int]:
    """Return where the blocks of ``text`` begin, in order: 0, and the last line end of each run of blank lines.

    So every block but the first begins with a line end, and every block but the last ends with one. Blank lines at the
    beginning and at the end of ``text`` do not count. The time is proportional to its length.
    """
    lead = len(text) - len(text.lstrip())
    starts = [0]
    for run in _LINE_ENDS.finditer(text):
        start, end = run.span()
        if end - start < 2 or start < lead or end == len(text):
            continue
        last = text.rfind("\n", start, end)
        if last > start:
            starts.append(last)
    return starts

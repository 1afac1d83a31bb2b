"""Compile regular expressions when they are first needed."""

import re
from functools import cache


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled ``pattern``, compiled once in a process. Raises re.error.

    The tables of rows hold a thousand patterns, and a text needs few of them: compiling all takes seconds.
    """
    return re.compile(pattern)

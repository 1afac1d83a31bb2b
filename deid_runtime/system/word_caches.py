"""Caches of functions whose arguments are words or values of notes.

The keys of such a cache are text of notes in clear. So it is emptied when a pipeline is closed: nothing of the notes
stays in the process. A cache only saves time, so it may be emptied at any moment, also while another pipeline works.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_CLEAR: Final[list[Callable[[], None]]] = []


def cached_by_word(most: int) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Return a decorator that keeps up to ``most`` results of a function, by its arguments."""

    def decorate(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        cached: Any = lru_cache(maxsize=most)(function)
        _CLEAR.append(cached.cache_clear)
        return cached  # type: ignore[no-any-return]

    return decorate


def clear_word_caches() -> None:
    """Empty all caches that :func:`cached_by_word` made."""
    for clear in _CLEAR:
        clear()

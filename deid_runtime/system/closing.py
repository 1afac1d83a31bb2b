"""Base class of objects that hold engines, connections or processes and are closed at the end of a ``with`` block."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """A context manager that calls its own ``close`` at the end of the ``with`` block."""

    @abstractmethod
    def close(self) -> None:
        """Free the engines, connections or processes that this object holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

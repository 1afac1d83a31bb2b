"""Limits in time: rates of projects, and how many requests are handled at once."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from deid_runtime.access.projects import Limits, Project
from deid_runtime.gateway.problems import BUSY, RATE, TOO_LARGE, ProblemError

_MINUTE_S: Final = 60.0
_BUSY_RETRY_S: Final = 1.0


class Bucket:
    """A token bucket: its size is the amount of one minute, and it fills evenly."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._level = float(per_minute)
        self._filled_s = clock()

    def take(self, amount: float) -> float:
        """Take ``amount`` and return 0.0; or take nothing and return the seconds until there is enough."""
        self._fill()
        if amount <= self._level:
            self._level -= amount
            return 0.0
        return (amount - self._level) * _MINUTE_S / self._per_minute

    def owe(self, amount: float) -> float:
        """Take ``amount`` in any case, and return the seconds until the bucket is out of debt."""
        self._fill()
        self._level -= amount
        return max(0.0, -self._level) * _MINUTE_S / self._per_minute

    def change(self, per_minute: int) -> None:
        """Set another rate. The bucket keeps its level, up to the new size."""
        self._fill()
        self._per_minute = per_minute
        self._level = min(self._level, per_minute)

    @property
    def per_minute(self) -> int:
        """The rate."""
        return self._per_minute

    def _fill(self) -> None:
        now = self._clock()
        self._level = min(self._per_minute, self._level + (now - self._filled_s) * self._per_minute / _MINUTE_S)
        self._filled_s = now


@dataclass(slots=True)
class Use:
    """The recent use of one project."""

    notes: Bucket
    bytes: Bucket
    requests: int = 0

    @classmethod
    def of(cls, limits: Limits) -> "Use":
        """Return the use of a project without requests so far."""
        return cls(Bucket(limits.notes_per_minute), Bucket(limits.bytes_per_minute))

    def follow(self, limits: Limits) -> None:
        """Apply limits that have changed in the access file."""
        for bucket, rate in ((self.notes, limits.notes_per_minute), (self.bytes, limits.bytes_per_minute)):
            if bucket.per_minute != rate:
                bucket.change(rate)


@dataclass(slots=True)
class Gate:
    """Admits requests: at most ``most_requests`` at once, and for each project according to its limits."""

    most_requests: int
    requests: int = 0
    _uses: dict[str, Use] = field(default_factory=dict)

    @contextmanager
    def entered(self, project: Project) -> Iterator[Use]:
        """Admit one request for the block; yield the use of its project. Raises ProblemError."""
        use = self._uses.setdefault(project.name, Use.of(project.limits))
        use.follow(project.limits)
        if self.requests >= self.most_requests:
            raise ProblemError(BUSY, "too many requests are in progress; retry later", retry_s=_BUSY_RETRY_S)
        if use.requests >= project.limits.requests_at_once:
            raise ProblemError(
                RATE,
                f"this project may have {project.limits.requests_at_once} requests at once (requests_at_once)",
                retry_s=_BUSY_RETRY_S,
            )
        self.requests += 1
        use.requests += 1
        try:
            yield use
        finally:
            self.requests -= 1
            use.requests -= 1


def take_notes(use: Use, project: Project, notes: int, size: int) -> None:
    """Count ``notes`` notes in a request of ``size`` bytes. Raises ProblemError when a rate is used up."""
    limits = project.limits
    if size > limits.bytes_per_minute or notes > limits.notes_per_minute:
        raise ProblemError(TOO_LARGE, "the request is larger than what this project may send in a minute")
    for bucket, amount, name in (
        (use.notes, notes, f"{limits.notes_per_minute:,} notes a minute (notes_per_minute)"),
        (use.bytes, size, f"{limits.bytes_per_minute:,} bytes a minute (bytes_per_minute)"),
    ):
        wait_s = bucket.take(amount)
        if wait_s:
            raise ProblemError(RATE, f"this project may send {name}", retry_s=wait_s)

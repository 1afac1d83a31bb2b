"""Estimate the remaining time of a run, with a range, from the rates of its last samples."""

from collections import deque
from dataclasses import dataclass
from math import sqrt
from typing import Final

#: Number of samples in the estimate: enough to average over long notes, few enough to follow a change.
_SAMPLES: Final = 60
_LEAST_SAMPLES: Final = 4
#: Half the width of the range, in standard errors of the rate: the range is right in about 19 of 20 cases.
_SIGMAS: Final = 2.0
#: Later notes may differ from earlier ones: the range is never narrower than this share of the time.
_LEAST_SPREAD: Final = 0.05


@dataclass(frozen=True, slots=True)
class Left:
    """The estimated time to the end of a run, in seconds, and its likely range."""

    likely_s: float
    least_s: float
    most_s: float

    def __str__(self) -> str:
        return f"{shown_duration(self.likely_s)} ({shown_duration(self.least_s)} to {shown_duration(self.most_s)})"


class Estimate:
    """Keeps the last samples of a run."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float, int]] = deque(maxlen=_SAMPLES)

    def add(self, seconds: float, size: float, notes: int) -> None:
        """Add what was done in ``seconds``: ``size`` in any unit of work, such as bytes, and ``notes``."""
        if seconds > 0:
            self._samples.append((seconds, size, notes))

    @property
    def notes_per_s(self) -> float:
        """The notes per second in the last samples; 0 without samples."""
        seconds = sum(sample[0] for sample in self._samples)
        return sum(sample[2] for sample in self._samples) / seconds if seconds else 0.0

    def left(self, size: float) -> Left | None:
        """Return the time that ``size`` takes, None while there are too few samples."""
        if len(self._samples) < _LEAST_SAMPLES:
            return None
        seconds = sum(sample[0] for sample in self._samples)
        rate = sum(sample[1] for sample in self._samples) / seconds
        if rate <= 0:
            return None
        # The rates of the samples, weighted by their time.
        variance = sum(spent * (done / spent - rate) ** 2 for spent, done, _ in self._samples) / seconds
        spread = max(_SIGMAS * sqrt(variance / (len(self._samples) - 1)) / rate, _LEAST_SPREAD)
        likely_s = size / rate
        # The rate is at least a quarter of its mean: lower estimates would be meaningless.
        return Left(likely_s, likely_s / (1 + spread), likely_s / max(1 - spread, 0.25))


def shown_duration(seconds: float) -> str:
    """Return a duration in its two largest units, such as ``2 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600:02} h"

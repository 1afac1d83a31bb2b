"""The state of a server, as its supervisor knows it. One thread writes it.

The threads of probes and metrics read it.
"""

from collections import Counter
from time import monotonic
from typing import Final, Literal, get_args

#: Why a server was restarted, a closed list: values of a label in the metrics.
Reason = Literal["not_started", "ended", "lost_model", "stopped_process", "silent", "wrong_answer", "unready"]
REASONS: Final[tuple[Reason, ...]] = get_args(Reason)

#: How long a statement that the server is ready is valid. The supervisor repeats it more often.
READY_S: Final = 4.0
#: How long the supervisor may be silent while it watches the server, before it counts as hung.
WATCHING_S: Final = 60.0


class ServerState:
    """Whether the server is ready, whether its supervisor works, and how often the server was restarted."""

    def __init__(self) -> None:
        self._is_ready = False
        self._ready_until_s = 0.0
        self._live_until_s = monotonic() + WATCHING_S
        self.restarts: Counter[Reason] = Counter()
        self.canary_failures = 0  # of all servers so far
        self.metrics_socket: str | None = None  # of the server that runs now

    @property
    def is_ready(self) -> bool:
        """Whether the server de-identifies notes now, according to the checks of its supervisor in the last seconds."""
        return self._is_ready and monotonic() < self._ready_until_s

    @property
    def is_live(self) -> bool:
        """Whether the supervisor works.

        It restarts a failed server itself, so only a failed supervisor needs a restart.
        """
        return monotonic() < self._live_until_s

    def set_ready(self, is_ready: bool) -> None:
        """State whether the server is ready now. Also shows that the supervisor works."""
        self._ready_until_s = monotonic() + READY_S
        self._is_ready = is_ready
        self._live_until_s = monotonic() + WATCHING_S

    def set_unready(self, for_s: float) -> None:
        """State that the server is not ready, and that the next statement follows within ``for_s`` seconds."""
        self._is_ready = False
        self._live_until_s = monotonic() + for_s + WATCHING_S

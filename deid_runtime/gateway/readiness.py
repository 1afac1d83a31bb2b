"""Check with a canary note whether the servers work; the answer is kept for a moment."""

import asyncio
import time
from typing import Final

from deid_runtime.gateway.servers import NoteServers

_FRESH_S: Final = 1.0  # so that probes cannot keep the servers busy


class Readiness:
    """The answer of /readyz. Many probes at once ask the servers once."""

    def __init__(self, servers: NoteServers, seconds: float) -> None:
        self._servers = servers
        self._seconds = seconds
        self._is_ready = False
        self._asked_s = float("-inf")
        self._asking = asyncio.Lock()

    async def now(self) -> bool:
        """Return whether a server has just de-identified the canary note correctly.

        False after ``seconds`` of silence.
        """
        async with self._asking:
            if time.monotonic() - self._asked_s > _FRESH_S:
                try:
                    async with asyncio.timeout(self._seconds):
                        self._is_ready = await self._servers.is_ready()
                except TimeoutError:
                    self._is_ready = False
                self._asked_s = time.monotonic()
            return self._is_ready

"""Keeps a server running until told to stop: starts it again when it ends or stays unready, ever less often."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from deid_runtime.errors import DeidError
from deid_runtime.serving.installation import Installation
from deid_runtime.serving.server import Server, ServerOptions

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RestartPolicy:
    """When the server is started again, and how long is waited before: twice as long every time, up to a limit."""

    first_delay_s: float = 0.5
    longest_delay_s: float = 30.0
    stable_s: float = 60.0  # a server that ran so long starts the delays anew
    unready_s: float = 60.0  # a server that answers no more, or has lost a model, is given so long to recover
    poll_s: float = 0.5


def supervise(
    installation: Installation,
    options: ServerOptions,
    stop: threading.Event,
    on_ready: Callable[[Server], None],
    policy: RestartPolicy = RestartPolicy(),
) -> None:
    """Run a server until ``stop`` is set; call ``on_ready`` each time it can take requests.

    Raises DeidError when it cannot be started at all; once it was ready, it is started again whatever happens.
    """
    delay_s = policy.first_delay_s
    was_ready = False
    while not stop.is_set():
        started = time.monotonic()
        try:
            with Server(installation, options) as server:
                if server.wait_ready(stop):
                    was_ready = True
                    on_ready(server)
                    _watch(server, stop, policy)
                reason = _reason(server)
        except DeidError as error:
            if not was_ready:
                raise
            reason = str(error)
        if stop.is_set():
            return
        if time.monotonic() - started >= policy.stable_s:
            delay_s = policy.first_delay_s
        _logger.warning("the inference server %s; it is started again in %.1f s", reason, delay_s)
        stop.wait(delay_s)
        delay_s = min(2 * delay_s, policy.longest_delay_s)


def _watch(server: Server, stop: threading.Event, policy: RestartPolicy) -> None:
    """Return when the server has ended, lost a model, has been unready for too long, or is to be stopped."""
    last_ready = time.monotonic()
    while not stop.wait(policy.poll_s) and server.exit_code() is None and server.has_all_models():
        now = time.monotonic()
        if server.is_ready():
            last_ready = now
        elif now - last_ready > policy.unready_s:
            return


def _reason(server: Server) -> str:
    code = server.exit_code()
    if code is None:
        return "did not answer any more" if server.has_all_models() else "lost the process of a model"
    return f"was ended by signal {-code}" if code < 0 else f"ended with {code}"

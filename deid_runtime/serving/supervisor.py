"""Keep a server running: restart it with growing delays when it ends, hangs or stays unready, until told to stop."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from deid_runtime.errors import DeidError
from deid_runtime.serving.canary import Canary
from deid_runtime.serving.installation import Installation
from deid_runtime.serving.server import Server
from deid_runtime.serving.server_options import ServerOptions

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RestartPolicy:
    """When to restart the server, and the delay before a restart, which doubles every time up to a limit."""

    first_delay_s: float = 0.5
    longest_delay_s: float = 30.0
    stable_s: float = 60.0  # a server that ran this long resets the delay
    unready_s: float = 10.0  # restart a server that is unready for this long, for instance after losing a model
    stopped_s: float = 5.0  # restart a server with a process that is stopped for this long
    canary_s: float = 10.0  # pause between two rounds of canary requests
    silent_s: float = 60.0  # a model that answers no request for this long is hung
    computing_s: float = 600.0  # the same for a model that computes meanwhile: notes may be long
    poll_s: float = 0.5


def supervise(
    installation: Installation,
    options: ServerOptions,
    stop: threading.Event,
    on_ready: Callable[[Server], None],
    policy: RestartPolicy = RestartPolicy(),
) -> None:
    """Run a server until ``stop`` is set. Call ``on_ready`` each time the server becomes ready.

    Raises DeidError when the server fails before it was ready for the first time. Later failures lead to a restart.
    """
    delay_s = policy.first_delay_s
    was_ready = False
    while not stop.is_set():
        started = time.monotonic()
        try:
            with Server(installation, options) as server:
                hung = None
                if server.wait_ready(stop):
                    was_ready = True
                    on_ready(server)
                    hung = _watch(server, stop, policy)
                    if hung:
                        server.clean_up()  # kill at once: a hung server does not react to a stop signal
                reason = hung or _reason(server)
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


def _watch(server: Server, stop: threading.Event, policy: RestartPolicy) -> str | None:
    """Watch the server until it ends, loses a model, hangs, or ``stop`` is set.

    Return a verb phrase that says how it hangs; None in all other cases.
    """
    last_ready = last_running = time.monotonic()
    canary = Canary(server, interval_s=policy.canary_s, silent_s=policy.silent_s, computing_s=policy.computing_s)
    with canary:
        while not stop.wait(policy.poll_s) and server.exit_code() is None and server.has_all_models():
            now = time.monotonic()
            if not server.has_stopped_process():
                last_running = now
            elif now - last_running > policy.stopped_s:
                return "has a stopped process"
            if canary.hung:
                return f"does not answer any more ({canary.hung})"
            if last_running == now and server.is_ready():
                last_ready = now
            elif now - last_ready > policy.unready_s:
                return "is not ready any more"
    return None


def _reason(server: Server) -> str:
    code = server.exit_code()
    if code is None:
        return "lost the process of a model"
    return f"was ended by signal {-code}" if code < 0 else f"ended with {code}"

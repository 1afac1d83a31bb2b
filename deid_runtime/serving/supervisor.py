"""Keep a server running: restart it with growing delays when it ends, hangs or stays unready, until ``stop`` is set."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from deid_runtime.errors import DeidError
from deid_runtime.serving.canary import Canary
from deid_runtime.serving.installation import Installation
from deid_runtime.serving.server import LONGEST_STOP_S, Server
from deid_runtime.serving.server_options import ServerOptions
from deid_runtime.serving.server_state import Reason, ServerState

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


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Why a server is restarted: a value for the metrics, and a verb phrase for the log."""

    reason: Reason
    phrase: str
    is_hung: bool = False  # it does not react to a stop signal


def supervise(
    installation: Installation,
    options: ServerOptions,
    stop: threading.Event,
    on_ready: Callable[[Server], None],
    policy: RestartPolicy = RestartPolicy(),
    state: ServerState | None = None,
) -> None:
    """Run a server until ``stop`` is set. Call ``on_ready`` each time the server becomes ready.

    ``state`` is kept up to date for monitoring.

    Raises DeidError when the server fails before it is ready for the first time. Later failures lead to a restart.
    """
    state = state or ServerState()
    delay_s = policy.first_delay_s
    was_ready = False
    while not stop.is_set():
        started = time.monotonic()
        state.set_unready(options.ready_s)
        try:
            with Server(installation, options) as server:
                trouble = None
                if server.wait_ready(stop):
                    was_ready = True
                    state.metrics_socket = server.metrics_socket
                    state.set_ready(True)
                    on_ready(server)
                    trouble = _watch(server, stop, policy, state)
                    state.set_unready(LONGEST_STOP_S)
                    if trouble and trouble.is_hung:
                        server.clean_up()  # kill at once: a hung server does not react to a stop signal
                trouble = trouble or _end(server)
        except DeidError as error:
            if not was_ready:
                raise
            trouble = _Trouble("not_started", str(error))
        finally:
            state.metrics_socket = None
        if stop.is_set():
            return
        if time.monotonic() - started >= policy.stable_s:
            delay_s = policy.first_delay_s
        _logger.warning(
            "the inference server %s; restart in %.1f s",
            trouble.phrase,
            delay_s,
            extra={"event": "server_restart", "reason": trouble.reason, "delay_s": delay_s},
        )
        state.restarts[trouble.reason] += 1
        state.set_unready(delay_s)
        stop.wait(delay_s)
        delay_s = min(2 * delay_s, policy.longest_delay_s)


def _watch(server: Server, stop: threading.Event, policy: RestartPolicy, state: ServerState) -> _Trouble | None:
    """Watch the server until it ends, loses a model, hangs, or ``stop`` is set.

    Return how it hangs; None in all other cases. ``state`` is updated in each round.
    """
    last_ready = last_running = time.monotonic()
    failures = state.canary_failures
    canary = Canary(server, interval_s=policy.canary_s, silent_s=policy.silent_s, computing_s=policy.computing_s)
    with canary:
        while not stop.wait(policy.poll_s) and server.exit_code() is None and server.has_all_models():
            now = time.monotonic()
            state.canary_failures = failures + canary.failures
            if not server.has_stopped_process():
                last_running = now
            elif now - last_running > policy.stopped_s:
                return _Trouble("stopped_process", "has a stopped process", is_hung=True)
            if canary.hung:
                return _Trouble("silent", f"no longer answers ({canary.hung})", is_hung=True)
            if canary.wrong:
                return _Trouble("wrong_answer", f"gives wrong answers ({canary.wrong})", is_hung=True)
            is_running = last_running == now
            if not is_running or canary.has_doubts:
                state.set_ready(False)
            if is_running and server.is_ready():
                last_ready = now
                state.set_ready(not canary.has_doubts)
                continue
            state.set_ready(False)
            if now - last_ready > policy.unready_s:
                return _Trouble("unready", "is no longer ready", is_hung=True)
    return None


def _end(server: Server) -> _Trouble:
    code = server.exit_code()
    if code is None:
        return _Trouble("lost_model", "lost the process of a model")
    return _Trouble("ended", f"was ended by signal {-code}" if code < 0 else f"ended with {code}")

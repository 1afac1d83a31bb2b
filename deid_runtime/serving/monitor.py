"""The ports of ``deid serve`` for monitoring: metrics and readiness over HTTP, and the gRPC health protocol.

They belong to the supervisor, so they answer correctly even while the server is down, restarts, or hangs. Triton's own
readiness stays true when the process of a python model is dead or stopped.

``/metrics`` has the metrics of the supervisor and, while the server answers, those of the server. ``/ready`` and
``/live`` answer 200 or 503. The gRPC health protocol (``grpc.health.v1``) knows the services ``""`` and ``readiness``,
which are the same, and ``liveness``. They accept no data and give no other information.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http import HTTPStatus
from typing import Any, Final

from deid_runtime.errors import SettingsError
from deid_runtime.run.report import deid_version
from deid_runtime.serving.http_port import HttpLimits, HttpPort, Request, Response
from deid_runtime.serving.http_relay import relay_to
from deid_runtime.serving.server_state import REASONS, ServerState
from deid_runtime.system.closing import Closing
from deid_runtime.system.extras import install_extra

_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
#: How long to wait for the metrics of the server: less than the scrape time-out of Prometheus.
_SERVER_METRICS_S: Final = 3.0
_LIMITS: Final = HttpLimits(request_s=5.0, body_bytes=0, connections=32)
#: The names of services in the health protocol, and whether each means liveness.
SERVICES: Final[Mapping[str, bool]] = {"": False, "readiness": False, "liveness": True}
_HEALTH_POLL_S: Final = 0.2
_HEALTH_CALLS: Final = 64  # at a time


class Monitor(Closing):
    """Listens until it is closed. A context manager."""

    def __init__(self, state: ServerState, host: str, metrics_port: int, health_port: int | None) -> None:
        """Listen on ``host``, an IPv4 address; without the gRPC health protocol when ``health_port`` is None.

        Raises SettingsError when a port cannot be bound or a library is missing.
        """
        page = metrics_page(state)
        with ExitStack() as resources:
            try:
                resources.enter_context(HttpPort((host, metrics_port), lambda request: _answer(request, state, page),
                                                 _LIMITS))  # fmt: skip
            except OSError as error:
                raise _cannot_listen(host, metrics_port, "metrics", error.strerror or "") from None
            if health_port is not None:
                resources.enter_context(_HealthPort(state, host, health_port))
            self._resources = resources.pop_all()

    def close(self) -> None:
        """Stop listening."""
        self._resources.close()


def _cannot_listen(host: str, port: int, name: str, reason: str) -> SettingsError:
    return SettingsError(
        f"cannot listen on {host}:{port} for {name} ({reason}); stop the program that uses it, or give another port "
        f"with --{name}-port"
    )


def _answer(request: Request, state: ServerState, page: Callable[[], bytes]) -> Response | HTTPStatus:
    """Answer a request to the port of the metrics."""
    if request.method != "GET":
        return HTTPStatus.METHOD_NOT_ALLOWED
    path = request.path.partition("?")[0]
    if path == "/metrics":
        return Response(HTTPStatus.OK, [("Content-Type", _CONTENT_TYPE)], page())
    checks = {"/ready": ("ready", state.is_ready), "/live": ("live", state.is_live)}
    if path not in checks:
        return HTTPStatus.NOT_FOUND
    word, is_so = checks[path]
    status = HTTPStatus.OK if is_so else HTTPStatus.SERVICE_UNAVAILABLE
    content = word if is_so else f"not {word}"
    return Response(status, [("Content-Type", "text/plain; charset=utf-8")], f"{content}\n".encode())


def metrics_page(state: ServerState) -> Callable[[], bytes]:
    """Return a function that renders the page of metrics. Raises SettingsError when a library is missing."""
    try:
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
        from prometheus_client.registry import Collector
    except ImportError:
        raise SettingsError(f"metrics need prometheus-client; {install_extra('serve')}") from None

    class StateCollector(Collector):
        def collect(self) -> Iterator[Any]:
            yield GaugeMetricFamily(
                "deid_server_ready",
                "1 while the server de-identifies notes: its processes run, and it answers canary requests correctly.",
                value=state.is_ready,
            )
            restarts = CounterMetricFamily(
                "deid_server_restarts", "Restarts of the server, by reason.", labels=["reason"]
            )
            for reason in REASONS:
                restarts.add_metric([reason], state.restarts[reason])
            yield restarts
            yield CounterMetricFamily(
                "deid_server_canary_failures",
                "Canary requests that got no answer in time, or a wrong answer.",
                value=state.canary_failures,
            )
            supervisor = GaugeMetricFamily(
                "deid_server_supervisor_info", "The version of `deid serve`. Always 1.", labels=["version"]
            )
            supervisor.add_metric([deid_version()], 1)
            yield supervisor

    registry = CollectorRegistry()
    registry.register(StateCollector())

    def page() -> bytes:
        return generate_latest(registry) + _server_metrics(state)

    return page


def _server_metrics(state: ServerState) -> bytes:
    """Return the metrics of the server; nothing when it does not answer."""
    if state.metrics_socket is None:
        return b""
    answer = relay_to(state.metrics_socket, _SERVER_METRICS_S)(Request("GET", "/metrics", (), b""))
    return answer.content if isinstance(answer, Response) and answer.status == HTTPStatus.OK else b""


class _HealthPort(Closing):
    """The gRPC health protocol on a separate port, from the official implementation of gRPC."""

    def __init__(self, state: ServerState, host: str, port: int) -> None:
        try:
            import grpc
            from grpc_health.v1 import health, health_pb2_grpc
        except ImportError:
            raise SettingsError(f"--health-port needs grpcio-health-checking; {install_extra('serve')}") from None
        self._state = state
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="health")
        self._servicer = health.HealthServicer(experimental_thread_pool=self._pool)
        self._server = grpc.server(
            self._pool,
            options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", 4096)],
            maximum_concurrent_rpcs=_HEALTH_CALLS,
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, self._server)
        self._set_all()
        try:
            is_bound = self._server.add_insecure_port(f"{host}:{port}")
        except RuntimeError:
            is_bound = 0
        if not is_bound:
            self._pool.shutdown(wait=False)
            raise _cannot_listen(host, port, "health", "in use or not allowed")
        self._closed = threading.Event()
        self._server.start()
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closed.wait(_HEALTH_POLL_S):
            self._set_all()

    def _set_all(self) -> None:
        from grpc_health.v1 import health_pb2

        status = health_pb2.HealthCheckResponse
        for service, is_liveness in SERVICES.items():
            is_good = self._state.is_live if is_liveness else self._state.is_ready
            self._servicer.set(service, status.SERVING if is_good else status.NOT_SERVING)

    def close(self) -> None:
        """Stop listening; calls in progress are aborted."""
        self._closed.set()
        self._thread.join(timeout=5)
        self._server.stop(None).wait(5)
        self._pool.shutdown(wait=False)

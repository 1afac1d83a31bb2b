"""Run the gateway until a stop signal."""

import asyncio
import logging
import os
import signal
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette

from deid_runtime.errors import SettingsError
from deid_runtime.gateway.app import Gateway, gateway_app, monitor_app
from deid_runtime.gateway.options import GatewayOptions, ListenTls, check_host, check_monitor_host, listen
from deid_runtime.gateway.protocol import protocol_class
from deid_runtime.system.secret_files import check_secret_file

_STOP_S: Final = 30  # for requests in flight
_HEADER_BYTES: Final = 32 * 2**10
_RENEW_S: Final = 30.0

_logger = logging.getLogger(__name__)


def serve(gateway: Gateway, on_ready: Callable[[str], None]) -> None:
    """Answer requests until SIGINT or SIGTERM, then finish those in flight.

    Call ``on_ready`` with the addresses as soon as they listen. Raises SettingsError for an address or a certificate
    that cannot be used.
    """
    options = gateway.options
    check_host(options.host, options.tls)
    check_monitor_host(options.monitor_host)
    context = server_context(options.tls) if options.tls else None
    sockets = [listen(options.host, options.port)]
    try:
        if options.monitor_port is not None:
            sockets.append(listen(options.monitor_host, options.monitor_port))
        # Uvicorn's own log names addresses, and its tracebacks could quote values.
        for name in ("uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
            logging.getLogger(name).disabled = True
        asyncio.run(_serve(gateway, context, sockets, on_ready))
    finally:
        for each in sockets:
            each.close()


async def _serve(
    gateway: Gateway, context: ssl.SSLContext | None, sockets: list[Any], on_ready: Callable[[str], None]
) -> None:
    options = gateway.options
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_log_fault)
    servers = [_Server(_config(gateway_app(gateway), options, context))]
    if options.monitor_port is not None:
        servers.append(_Server(_config(monitor_app(gateway), options, None)))

    def stop() -> None:
        for server in servers:
            server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        # A signal that the parent process ignores (background job of a shell) stays ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, stop)
    await gateway.servers.open()
    renewing = asyncio.create_task(_renew(context, options.tls)) if context and options.tls else None
    try:
        on_ready(_addresses(options, sockets))
        await asyncio.gather(*(server.serve([each]) for server, each in zip(servers, sockets, strict=True)))
    finally:
        if renewing is not None:
            renewing.cancel()
        await gateway.servers.close()
        gateway.audit.close()


class _Server(uvicorn.Server):
    """A server that leaves signals to its owner: there may be two in one process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _config(app: Starlette, options: GatewayOptions, context: ssl.SSLContext | None) -> uvicorn.Config:
    protocol: Any = protocol_class(options.connections, options.timeouts.headers_s)
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # headers such as X-Forwarded-For are not believed
        server_header=False,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        timeout_keep_alive=max(1, round(options.timeouts.idle_s)),
        timeout_graceful_shutdown=_STOP_S,
        ssl_context_factory=(lambda config, default: context) if context else None,
    )


def server_context(tls: ListenTls) -> ssl.SSLContext:
    """Return the context for TLS 1.2 and newer. Raises SettingsError for files that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        check_secret_file(tls.key, tls.key.stat(), allow_shared=tls.allow_shared)
        context.load_cert_chain(tls.certificate, tls.key, password=lambda: "")
        if tls.client_authority is not None:
            context.load_verify_locations(tls.client_authority)
            context.verify_mode = ssl.CERT_REQUIRED
    except SettingsError:  # it is a ValueError too
        raise
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or type(error).__name__
        raise SettingsError(
            f"the certificate {tls.certificate}, its key {tls.key} or the authority cannot be used ({reason}); "
            "expected PEM files that belong together, the key without a password"
        ) from None
    return context


async def _renew(context: ssl.SSLContext, tls: ListenTls) -> None:
    """Read certificate and key again when their files have changed. New connections use them."""
    version = _version(tls.certificate, tls.key)
    while True:
        await asyncio.sleep(_RENEW_S)
        found = _version(tls.certificate, tls.key)
        if found == version:
            continue
        try:
            server_context(tls)  # a half written pair must not reach the context in use
            context.load_cert_chain(tls.certificate, tls.key, password=lambda: "")
        except (SettingsError, OSError, ValueError) as error:
            _logger.warning("a changed certificate cannot be used yet: %s", type(error).__name__)
        else:
            version = found
            _logger.warning("the certificate was read again")


def _version(*paths: Path) -> list[tuple[int, int]]:
    found = []
    for path in paths:
        with suppress(OSError):
            state = os.stat(path)
            found.append((state.st_mtime_ns, state.st_ino))
    return found


def _addresses(options: GatewayOptions, sockets: list[Any]) -> str:
    scheme = "https" if options.tls else "http"
    names = [f"{scheme}://{_host_port(sockets[0])}"]
    names += [f"monitor http://{_host_port(each)}" for each in sockets[1:]]
    return ", ".join(names)


def _host_port(opened: Any) -> str:
    host, port = opened.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _log_fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log the type of an error alone: the report of asyncio could show arguments."""
    error = context.get("exception")
    _logger.debug("the event loop reports %s", type(error).__name__ if error else "a fault")

"""Find out at once why a server cannot be reached: wrong address, unknown name, refused TLS or another server.

gRPC reports all of these as UNAVAILABLE and keeps trying. So after a failed call, :func:`diagnose` opens its own
connection as the client would, sends the first bytes of HTTP/2 and checks what comes back. No note is
sent.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from time import monotonic
from typing import Final

from deid_client.addresses import Address, look_up
from deid_client.settings import ServerSettings, is_loopback, split_endpoint
from deid_runtime.errors import ModelError, SettingsError

_CONNECT_S: Final = 3.0
_ANSWER_S: Final = 2.0
_PAUSE_S: Final = 0.5  # between two attempts to reach a server
#: The beginning of every HTTP/2 connection (RFC 9113, section 3.4), with an empty SETTINGS frame.
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
_SETTINGS_FRAME: Final = 4
_TLS_RECORDS: Final = (0x15, 0x16)  # alert, handshake
_PROXIES: Final = ("grpc_proxy", "https_proxy", "http_proxy", "all_proxy")


class Cause(Enum):
    """Why a server cannot be used."""

    NAME_NOT_FOUND = "name not found"
    WRONG_ADDRESS = "wrong address"
    TLS_REFUSED = "TLS refused"
    NOT_OUR_SERVER = "not our server"
    SILENT = "silent"


#: Causes that only a person can remove. With the others, a server may still be starting: a cluster knows the name of a
#: service only while one of its servers is ready.
LASTING: Final = frozenset((Cause.TLS_REFUSED, Cause.NOT_OUR_SERVER))


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The cause, and one line of text: what happened and what to do."""

    cause: Cause
    message: str

    @property
    def is_lasting(self) -> bool:
        """Whether another attempt cannot help."""
        return self.cause in LASTING


async def diagnose(address: Address, settings: ServerSettings) -> Diagnosis | None:
    """Return why the server at ``address`` cannot be reached; None when it looks like a gRPC server.

    None also when a proxy is set in the environment, because gRPC then connects in another way. Raises SettingsError
    for a TLS file that cannot be used.
    """
    if not is_loopback(address.endpoint) and any(os.environ.get(name) for name in _named(_PROXIES)):
        return None
    host, port = split_endpoint(address.endpoint)
    ip = address.ip
    if ip is None:
        try:
            ip = await _resolve(host, port)
        except socket.gaierror as error:
            return _name_fault(address, error)
        except (OSError, UnicodeError, TimeoutError):
            return Diagnosis(
                Cause.NAME_NOT_FOUND,
                f"{address}: the name {host} cannot be resolved in time; check that the DNS server can be reached",
            )
    try:
        return await (_look_in_plain(address, ip, port) if settings.tls is None else _look(address, ip, port, settings))
    except TimeoutError:
        return Diagnosis(
            Cause.WRONG_ADDRESS,
            f"{address}: no connection within {_CONNECT_S:g} s (wrong address, or blocked by a firewall); check host, "
            "port and network policy",
        )
    except ConnectionRefusedError:
        return Diagnosis(
            Cause.WRONG_ADDRESS,
            f"{address}: nothing listens there (connection refused); check that `deid serve` is running and that the "
            "port is the gRPC port (8001 unless set)",
        )
    except OSError as error:
        return Diagnosis(
            Cause.WRONG_ADDRESS,
            f"{address}: no connection ({error.strerror or type(error).__name__}); check host and port",
        )


def _named(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        yield name
        yield name.upper()


async def _resolve(host: str, port: int) -> str:
    async with asyncio.timeout(_CONNECT_S):
        places = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return str(places[0][4][0])


def _name_fault(address: Address, error: socket.gaierror) -> Diagnosis:
    host, _ = split_endpoint(address.endpoint)
    if error.errno == socket.EAI_AGAIN:
        return Diagnosis(
            Cause.NAME_NOT_FOUND,
            f"{address}: the name {host} cannot be resolved now; check that the DNS server of this machine can be "
            "reached",
        )
    return Diagnosis(
        Cause.NAME_NOT_FOUND, f"{address}: the name {host} is not found; check its spelling, or give an IP address"
    )


@asynccontextmanager
async def _connection(
    ip: str, port: int, context: ssl.SSLContext | None = None, name: str | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a connection, with TLS when there is a ``context``; ``name`` is the name in the certificate."""
    async with asyncio.timeout(_CONNECT_S):
        reader, writer = await asyncio.open_connection(ip, port, ssl=context, server_hostname=name)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def _first_bytes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
    """Send an HTTP/2 greeting; return the first bytes of the answer, b"" when the server hangs up, None for silence."""
    writer.write(_PREFACE)
    try:
        async with asyncio.timeout(_ANSWER_S):
            await writer.drain()
            return await reader.read(64)
    except TimeoutError:
        return None
    except ConnectionError:
        return b""


async def _look_in_plain(address: Address, ip: str, port: int) -> Diagnosis | None:
    """Diagnose a server without TLS. Raises OSError or TimeoutError when there is no connection."""
    async with _connection(ip, port) as (reader, writer):
        first = await _first_bytes(reader, writer)
    if first is not None and _is_http2(first):
        return None
    if (first and first[0] in _TLS_RECORDS) or (first == b"" and await _speaks_tls(ip, port)):
        return Diagnosis(
            Cause.TLS_REFUSED,
            f"{address}: the server requires TLS, but this client does not use it; give --tls-ca FILE with the "
            "authority of its certificate (and --tls-cert and --tls-key when it requires a client certificate)",
        )
    return _other_server(address, first)


async def _look(address: Address, ip: str, port: int, settings: ServerSettings) -> Diagnosis | None:
    """Diagnose a server with the TLS of the settings. Raises OSError or TimeoutError when there is no connection."""
    tls = settings.tls
    assert tls is not None
    context = _tls_context(settings)
    try:
        async with _connection(ip, port, context, tls.server_name or address.host.strip("[]")) as (reader, writer):
            has_sent = tls.certificate is not None
            first = await _first_bytes(reader, writer)
    except ssl.SSLCertVerificationError as error:
        return Diagnosis(Cause.TLS_REFUSED, f"{address}: {_certificate_fault(error, address)}")
    except ssl.SSLError as error:
        return await _handshake_fault(address, ip, port, error.reason or "")
    except ConnectionError:
        return await _handshake_fault(address, ip, port, "")
    if first is not None and _is_http2(first):
        return None
    if not first and first is not None:
        return Diagnosis(Cause.TLS_REFUSED, f"{address}: {_client_certificate_fault(has_sent)}")
    return _other_server(address, first)


def _tls_context(settings: ServerSettings) -> ssl.SSLContext:
    tls = settings.tls
    assert tls is not None
    try:
        context = ssl.create_default_context(cafile=str(tls.roots) if tls.roots else None)
        context.set_alpn_protocols(["h2"])
        if tls.certificate is not None:
            context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"the files for TLS cannot be used ({type(error).__name__}); expected PEM files: an authority (--tls-ca), "
            "a certificate (--tls-cert) and its key (--tls-key)"
        ) from None
    return context


#: OpenSSL's codes of X509_verify_cert(3) and what they mean here.
_VERIFY: Final = {
    9: "the certificate is not valid yet; check the clocks",
    10: "the certificate of the server has expired; renew it",
    18: "the certificate of the server is not from an authority that you trust; give that authority as --tls-ca",
    19: "the certificate of the server is not from an authority that you trust; give that authority as --tls-ca",
    20: "the certificate of the server is not from an authority that you trust; give that authority as --tls-ca",
    62: "the certificate of the server is for another name; use a name that the certificate contains",
    64: "the certificate of the server is for another address; use a name or address that the certificate contains",
}


def _certificate_fault(error: ssl.SSLCertVerificationError, address: Address) -> str:
    meaning = _VERIFY.get(error.verify_code, f"the certificate of the server is not valid (code {error.verify_code})")
    return f"TLS refused: {meaning}"


def _client_certificate_fault(has_sent: bool) -> str:
    if has_sent:
        return (
            "TLS refused: the server does not accept the client certificate of --tls-cert; check that it is signed by "
            "the server's authority (--tls-client-ca) and still valid"
        )
    return "TLS refused: the server requires a client certificate; give --tls-cert and --tls-key"


async def _handshake_fault(address: Address, ip: str, port: int, reason: str) -> Diagnosis:
    """Return why a handshake failed, apart from the server's certificate; ``reason`` is OpenSSL's name for it."""
    if "ALERT" in reason:
        return Diagnosis(Cause.TLS_REFUSED, f"{address}: {_client_certificate_fault('REQUIRED' not in reason)}")
    plain = None
    with suppress(OSError, TimeoutError):
        async with _connection(ip, port) as (reader, writer):
            plain = await _first_bytes(reader, writer)
    if plain and _is_http2(plain):
        return Diagnosis(
            Cause.TLS_REFUSED,
            f"{address}: the server does not use TLS, but this client does; leave out --tls and --tls-ca if the "
            "server is on this machine, otherwise give the server a certificate",
        )
    if plain:
        return _other_server(address, plain)
    return Diagnosis(Cause.TLS_REFUSED, f"{address}: TLS refused: the server broke off the handshake; see its log")


def _other_server(address: Address, first: bytes | None) -> Diagnosis:
    """Return the diagnosis of a server that did not answer with HTTP/2, given its first bytes, None for silence."""
    if first is None:
        return Diagnosis(
            Cause.SILENT,
            f"{address}: the server accepts connections but sends nothing; it hangs, is stopped, or is another server; "
            "restart it, and check the port",
        )
    if first and first.startswith((b"HTTP/1", b"<")):  # some send only an error page
        what = "an HTTP/1 server answers, not a gRPC server"
    else:
        what = "it does not speak gRPC"
    return Diagnosis(
        Cause.NOT_OUR_SERVER,
        f"{address}: not our server: {what}; give the port for gRPC (8001 unless set), not the port for HTTP or "
        "metrics",
    )


def _is_http2(first: bytes) -> bool:
    """Return whether the bytes begin with a SETTINGS frame, as every HTTP/2 server sends first."""
    return len(first) >= 9 and first[3] == _SETTINGS_FRAME


async def _speaks_tls(ip: str, port: int) -> bool:
    """Return whether a server answers a TLS handshake, with any certificate. No data is sent after it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        async with _connection(ip, port, context, ""):
            return True
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except (OSError, TimeoutError):
        return False


def wait_reachable(settings: ServerSettings, tell: Callable[[str], object]) -> None:
    """Wait until a server of ``settings`` can be reached, at most ``connect_seconds``.

    For a cause that only a person can remove, raises at once. For any other cause, calls ``tell`` with it once and
    waits. Raises ModelError when no server can be reached, SettingsError for a TLS file that cannot be used.
    """
    try:
        import tritonclient  # noqa: F401
    except ImportError:
        return  # loading the pipeline reports what is missing
    asyncio.run(_wait_reachable(settings, tell))


async def _wait_reachable(settings: ServerSettings, tell: Callable[[str], object]) -> None:
    until = monotonic() + settings.connect_seconds
    has_told = False
    while True:
        found = await _diagnose_all(settings)
        if None in found:
            return
        faults = [diagnosis for diagnosis in found if diagnosis is not None]
        message = "; ".join(diagnosis.message for diagnosis in faults)
        if all(diagnosis.is_lasting for diagnosis in faults):
            raise ModelError(message)
        left_s = until - monotonic()
        if left_s <= 0:
            raise ModelError(f"no server was reached in {settings.connect_seconds:g} s: {message}")
        if not has_told:
            tell(f"{message}; trying for {settings.connect_seconds:g} s")
            has_told = True
        await asyncio.sleep(min(_PAUSE_S, left_s))


async def _diagnose_all(settings: ServerSettings) -> list[Diagnosis | None]:
    found = await asyncio.gather(*map(look_up, settings.endpoints))
    addresses = [
        address
        for endpoint, several in zip(settings.endpoints, found, strict=True)
        for address in several or [Address(endpoint)]
    ]
    return await asyncio.gather(*(diagnose(address, settings) for address in addresses))

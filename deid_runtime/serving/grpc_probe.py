"""Check whether the gRPC endpoint of a server answers, without a client certificate."""

import socket
import ssl
from contextlib import suppress
from typing import Final

from deid_runtime.serving.server_options import LOOPBACK, ServerOptions

_SERVER_READY: Final = "/inference.GRPCInferenceService/ServerReady"
_READY: Final = b"\x08\x01"  # the message ServerReadyResponse with ready: true


def answers_grpc(options: ServerOptions, timeout_s: float) -> bool:
    """Return whether the server reports over gRPC that it is ready; with TLS, whether it answers the handshake.

    With TLS no request is possible, because the caller has no client certificate.
    """
    # A server can listen on 0.0.0.0 (all interfaces), but a client cannot always connect to it.
    host = LOOPBACK if options.host == "0.0.0.0" else options.host
    if options.tls:
        return _answers_handshake(host, options.grpc_port, timeout_s)
    return _says_ready(f"{host}:{options.grpc_port}", timeout_s)


def _says_ready(address: str, timeout_s: float) -> bool:
    import grpc

    # A new, direct connection: proxy settings of the environment are ignored.
    channel_options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
    with grpc.insecure_channel(address, channel_options) as channel:
        ask = channel.unary_unary(_SERVER_READY, request_serializer=bytes, response_deserializer=bytes)
        try:
            return bool(ask(b"", timeout=timeout_s) == _READY)
        except grpc.RpcError:
            return False


def _answers_handshake(host: str, port: int, timeout_s: float) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The certificate need not be valid for this address: no data is sent after the handshake.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    outgoing = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    try:
        with socket.create_connection((host, port), timeout_s) as connection:
            connection.sendall(outgoing.read())
            # Stop after the first byte: for a complete handshake without a certificate the server would log an error.
            return bool(connection.recv(1))
    except OSError:
        return False

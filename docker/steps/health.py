"""Health check of a container: exit code 0 when the server, page or gateway of this container answers, else 1.

``health.py server``: ``/ready`` on the port of the metrics answers 200. Where there is no ``/ready``, the gRPC port
answers that the server is ready or, with TLS, answers a handshake. ``health.py page``: the page of ``deid demo`` or
``deid review open`` answers. ``health.py gateway``: ``/healthz`` on the port of the monitor answers 200; whether
servers answer is no matter of this container. DEID_HEALTH_PORT is the port of the metrics, of the page or of the
monitor where it is not 8002, 8765 or 8444, and DEID_HEALTH_GRPC_PORT that of gRPC where it is not 8001.
"""

import http.client
import os
import sys
from pathlib import Path
from typing import Final

_TIMEOUT_S: Final = 4.0


def server_answers(port: int, grpc_port: int) -> bool:
    """Return whether the server of this container is ready: by ``/ready`` on ``port`` or, without that, by gRPC."""
    status = _status(port, "/ready")
    if status in (http.client.OK, http.client.SERVICE_UNAVAILABLE):
        return status == http.client.OK
    from deid_runtime.serving.grpc_probe import answers_grpc
    from deid_runtime.serving.server_options import ServerOptions, ServerTls

    nowhere = Path("/nonexistent")  # the probe reads no file
    options = ServerOptions(repository=nowhere, grpc_port=grpc_port)
    with_tls = ServerOptions(repository=nowhere, grpc_port=grpc_port, tls=ServerTls(nowhere, nowhere))
    return answers_grpc(with_tls, _TIMEOUT_S) or answers_grpc(options, _TIMEOUT_S)


def gateway_answers(port: int) -> bool:
    """Return whether the gateway answers on ``port``, its monitor."""
    return _status(port, "/healthz") == http.client.OK


def page_answers(port: int) -> bool:
    """Return whether a page answers on ``port``; it refuses a caller without a link, and that is an answer."""
    status = _status(port, "/")
    return status is not None and status < http.client.INTERNAL_SERVER_ERROR


def _status(port: int, path: str) -> int | None:
    """Return the status of a GET from this machine; None without an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def main(what: str) -> int:
    """Return the exit code of the check ``server``, ``page`` or ``gateway``."""
    if what == "page":
        is_healthy = page_answers(_port("DEID_HEALTH_PORT", 8765))
    elif what == "gateway":
        is_healthy = gateway_answers(_port("DEID_HEALTH_PORT", 8444))
    else:
        is_healthy = server_answers(_port("DEID_HEALTH_PORT", 8002), _port("DEID_HEALTH_GRPC_PORT", 8001))
    return 0 if is_healthy else 1


def _port(variable: str, usual: int) -> int:
    return int(os.environ.get(variable, usual))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""Recognise and report Triton versions with a known vulnerability."""

import re
from typing import Final

from tritonclient.grpc import service_pb2

_VERSION: Final = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})(?![0-9])")
_SAFE: Final = (2, 59)  # in the container 25.07


def old_version(metadata: service_pb2.ServerMetadataResponse) -> str | None:
    """Return the version of a Triton older than 2.59, as ``2.51``; None for a newer one and for other servers."""
    found = _VERSION.match(metadata.version)
    if metadata.name != "triton" or found is None:
        return None
    version = int(found[1]), int(found[2])
    return f"{version[0]}.{version[1]}" if version < _SAFE else None


def warning_of(endpoint: str, version: str) -> str:
    """Return the warning for an endpoint on another machine that runs an old ``version``."""
    return (
        f"{endpoint} runs Triton {version}; anyone who can reach a version older than "
        "2.59 (container 25.07) can crash it. Update the server, or let only its clients reach it"
    )

"""The first checks of every python model: the version of its server, and the request parts common to all models."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from deid_runtime.errors import SettingsError
from deid_runtime.serving.refusals import RefusedError

#: NVIDIA's images set this variable to their version, such as 25.07. The wheel's server, which `deid serve` runs, does
#: not set it.
VERSION_VARIABLE: Final = "NVIDIA_TRITON_SERVER_VERSION"
#: According to NVIDIA's bulletin of August 2025, anyone who can reach an earlier server can take it over.
LEAST_VERSION: Final = (25, 7)

#: Most characters of a request's id, and of its parameters as JSON.
MAX_ID_CHARS: Final = 1024
MAX_PARAMETERS_CHARS: Final = 4096


def check_version(environment: Mapping[str, str]) -> None:
    """Raise SettingsError in an NVIDIA image before :data:`LEAST_VERSION`. A server without the variable passes."""
    version = environment.get(VERSION_VARIABLE, "")
    if not version:
        return
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < LEAST_VERSION:
        raise SettingsError(
            f"this is Triton {version} ({VERSION_VARIABLE}), in which clients can run code; use image "
            f"{LEAST_VERSION[0]}.{LEAST_VERSION[1]:02} or newer"
        )


def check_request(request: Any) -> None:
    """Raise RefusedError when the id or the parameters of a request are too large."""
    if len(request.request_id()) > MAX_ID_CHARS:
        raise RefusedError(
            f"the id of the request is too long; expected at most {MAX_ID_CHARS:,} characters", "request_size"
        )
    if len(request.parameters()) > MAX_PARAMETERS_CHARS:
        raise RefusedError(
            f"the parameters of the request are too large; expected at most {MAX_PARAMETERS_CHARS:,} characters",
            "request_size",
        )


def request_parameters(request: Any) -> dict[str, Any]:
    """Return the parameters of a request that has passed :func:`check_request`."""
    found: dict[str, Any] = json.loads(request.parameters() or "{}")
    return found

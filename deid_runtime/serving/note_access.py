"""Tokens of clients that reach the server without a gateway: which key names each client may use.

Triton passes the header ``authorization`` on as a request parameter of that name, because ``deid serve --access`` asks
for it (``--grpc-header-forward-pattern``). Without an access file, every client may use every key.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from deid_runtime.access.access_file import AccessFile
from deid_runtime.access.projects import Project
from deid_runtime.access.tokens import token_of_header
from deid_runtime.serving.refusals import RefusedError

#: The environment variable with the path of the access file.
ACCESS_VARIABLE: Final = "DEID_SERVE_ACCESS"
#: The header of the token, and the request parameter that Triton makes of it.
AUTHORIZATION: Final = "authorization"


class NoteAccess:
    """The clients of the models for whole notes."""

    def __init__(self, file: Path | None, *, allow_shared: bool = False) -> None:
        """Read the access file; None: every client may use every key. Raises SettingsError."""
        self._file = AccessFile(file, allow_shared=allow_shared) if file else None

    def check_key(self, parameters: Mapping[str, Any], key: bytes) -> None:
        """Raise RefusedError unless the client of a request may use the key of this name.

        The message is the same for a forbidden and for an unknown name.
        """
        project = self._project(parameters)
        if project is not None and not project.may_use(key.decode("utf-8", "replace")):
            raise RefusedError(
                "this client cannot use a key of that name; ask the operator of the server for the names of its "
                "project",
                "unknown_key",
                stage="surrogates",
            )

    def check_detect(self, parameters: Mapping[str, Any]) -> None:
        """Raise RefusedError unless the client of a request may detect identifiers without a key."""
        project = self._project(parameters)
        if project is not None and not project.may_detect:
            raise RefusedError("this client may not detect without a key (`detect` in the access file)", "no_access")

    def _project(self, parameters: Mapping[str, Any]) -> Project | None:
        """Return the project of the token; None when tokens are not required. Raises RefusedError."""
        if self._file is None:
            return None
        header = parameters.get(AUTHORIZATION)
        token = token_of_header(header) if isinstance(header, str) else None
        known = self._file.now().project_of_token(token or "")
        if known is None:
            raise RefusedError(
                "this server requires a token: send the header `authorization: Bearer TOKEN` with a token that is "
                "known and not expired",
                "no_access",
            )
        return known[0]

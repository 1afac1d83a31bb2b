"""Identify the client: the project of a token, or of the client certificate of the connection."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from deid_runtime.access.access_file import AccessFile
from deid_runtime.access.projects import Project
from deid_runtime.access.tokens import token_of_header
from deid_runtime.gateway.problems import NO_ACCESS, ProblemError

#: Python's names of the attributes of a subject, and their short names (RFC 4514, section 3; RFC 4519).
_SHORT: Final[Mapping[str, str]] = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "domainComponent": "DC",
    "userId": "UID",
}
_ESCAPED: Final = frozenset('"+,;<>\\')

Subject = Iterable[Iterable[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Client:
    """The project of a request, and how it was identified: ``token ID`` or ``certificate``."""

    project: Project
    shown: str


def identify(request: Request, file: AccessFile, subject: str | None) -> Client:
    """Return the client of a request. ``subject`` is that of the client certificate, in the form of RFC 4514.

    None without one.
    Raises ProblemError, the same for a missing, wrong, unknown or expired token.
    """
    access = file.now()
    by_certificate = access.project_of_certificate(subject) if subject else None
    header = request.headers.get("authorization")
    if header is None:
        if by_certificate is not None:
            return Client(by_certificate, "certificate")
    else:
        known = access.project_of_token(token_of_header(header) or "")
        # The certificate must not belong to another project than the token.
        if known is not None and (by_certificate is None or by_certificate.name == known[0].name):
            return Client(known[0], f"token {known[1].id}")
    raise ProblemError(
        NO_ACCESS,
        "send the header `authorization: Bearer TOKEN` with a token that is known and not expired, or use a client "
        "certificate of a project",
    )


def subject_text(subject: Subject) -> str:
    """Return a subject, as :meth:`ssl.SSLSocket.getpeercert` gives it, in the form of RFC 4514.

    ``openssl x509 -noout -subject -nameopt RFC2253,utf8,-esc_msb`` prints the same.
    """
    parts = [
        "+".join(f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in reversed([*part])) for part in subject
    ]
    return ",".join(reversed(parts))


def _escaped(value: str) -> str:
    text = "".join("\\00" if char == "\0" else f"\\{char}" if char in _ESCAPED else char for char in value)
    if text.startswith(("#", " ")):
        text = "\\" + text
    if text.endswith(" ") and len(value) > 1:
        text = text[:-1] + "\\ "
    return text

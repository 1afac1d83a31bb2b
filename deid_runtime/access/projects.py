"""Projects: what each group of clients may do, read from one TOML file that only its owner can open.

::

    [projects.cardiology]
    keys = ["study-a", "study-b"]       # names of keys on the servers
    notes_per_minute = 600
    certificates = ["CN=etl,OU=Cardiology,O=Hospital"]

    [[projects.cardiology.tokens]]      # `deid gateway token new` prints both lines
    id = "3f9a0c2b7d11"
    sha256 = "..."
    expires = 2027-11-01
"""

import hashlib
import hmac
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from deid_runtime.access.tokens import has_digest, id_of, is_digest, new_token
from deid_runtime.errors import SettingsError
from deid_runtime.system.secret_files import check_secret_file

_MOST_FILE_BYTES: Final = 4 * 2**20
_PROJECT_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
_KEY_NAME: Final = _PROJECT_NAME
_TOKEN_ID: Final = re.compile(r"[0-9a-f]{12}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one project. Sizes are bytes of UTF-8. The rates hold for each process of a gateway."""

    notes_per_minute: int = 600  # a request without notes counts as one
    bytes_per_minute: int = 64 * 2**20  # of requests
    requests_at_once: int = 4
    note_bytes: int = 2**20
    notes_per_request: int = 256  # of a JSON request; a stream may have any number
    request_bytes: int = 8 * 2**20  # of a JSON request, and of one line of a stream

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if type(value) is not int or not 1 <= value <= 2**40:
                raise SettingsError(f"{each.name} is {value!r:.40}; expected a whole number of 1 or more")
        for small, large in (
            ("notes_per_request", "notes_per_minute"),
            ("request_bytes", "bytes_per_minute"),
            ("note_bytes", "request_bytes"),
        ):
            if getattr(self, small) > getattr(self, large):
                raise SettingsError(
                    f"{small} is {getattr(self, small):,}, more than {large}, {getattr(self, large):,}: such a request "
                    f"could never be served; lower {small} or raise {large}"
                )


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a project. It is valid until the day before ``expires``, in UTC; None: without limit."""

    id: str
    sha256: str = field(repr=False)
    expires: date | None = None

    def is_valid(self, now: datetime) -> bool:
        """Return whether the token can be used at the time ``now``."""
        return self.expires is None or now.astimezone(UTC).date() < self.expires


@dataclass(frozen=True, slots=True)
class Project:
    """One group of clients. ``certificates`` are subjects in the form of RFC 4514."""

    name: str
    keys: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    tokens: tuple[Token, ...] = field(default=(), repr=False)
    certificates: tuple[str, ...] = ()
    may_detect: bool = True
    may_read_metrics: bool = False

    def may_use(self, key: str) -> bool:
        """Return whether the project may use the key of this name.

        A forbidden and an unknown name take the same time, and so do all names of the same length.
        """
        asked = _hashed(key)
        found = False
        for name in self.keys:
            found |= hmac.compare_digest(_hashed(name), asked)
        return found


class Access:
    """All projects. Finds the project of a token or of a certificate."""

    def __init__(self, projects: Iterable[Project]) -> None:
        self.projects: Mapping[str, Project] = {project.name: project for project in projects}
        self._by_token = {token.id: (project, token) for project in self.projects.values() for token in project.tokens}
        self._by_certificate = {
            subject: project for project in self.projects.values() for subject in project.certificates
        }
        #: Compared with tokens of unknown ids, so that these take as long as known ones.
        self._nobodys = new_token().sha256

    def project_of_token(self, token: str, now: datetime | None = None) -> tuple[Project, Token] | None:
        """Return the project of a token, and its entry; None for an unknown or expired one."""
        known = self._by_token.get(id_of(token) or "")
        is_same = has_digest(token, known[1].sha256 if known else self._nobodys)
        if known is None or not is_same or not known[1].is_valid(now or datetime.now(UTC)):
            return None
        return known

    def project_of_certificate(self, subject: str) -> Project | None:
        """Return the project of a certificate's subject in the form of RFC 4514; None for an unknown one."""
        return self._by_certificate.get(subject)


def read_access(path: Path, *, allow_shared: bool = False) -> Access:
    """Read the access file. Raises SettingsError when it is wrong, or when other users can open it."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            check_secret_file(path, status, allow_shared=allow_shared)
            content = file.read(_MOST_FILE_BYTES + 1)
    except OSError as error:
        raise SettingsError(
            f"the access file {path} cannot be read ({error.strerror or type(error).__name__})"
        ) from None
    if len(content) > _MOST_FILE_BYTES:
        raise SettingsError(f"the access file {path} has more than {_MOST_FILE_BYTES:,} bytes")
    try:
        found = tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        place = str(error) if isinstance(error, tomllib.TOMLDecodeError) else type(error).__name__
        raise SettingsError(f"the access file {path} is not TOML in UTF-8: {place}") from None
    try:
        return parse_access(found)
    except SettingsError as error:
        raise SettingsError(f"the access file {path} is wrong: {error}") from None


def parse_access(content: Mapping[str, Any]) -> Access:
    """Return the projects of the parsed file. Raises SettingsError."""
    _only(content, "the file", {"projects"})
    projects = [_project(name, table) for name, table in _table(content.get("projects", {}), "projects").items()]
    if not projects:
        raise SettingsError("no project; add one as `[projects.NAME]`")
    _check_unique("token id", [token.id for project in projects for token in project.tokens])
    _check_unique("certificate", [subject for project in projects for subject in project.certificates])
    return Access(projects)


def _project(name: str, content: object) -> Project:
    where = f"project {name!r:.80}"
    table = _table(content, where)
    limits = {each.name for each in fields(Limits)}
    _only(table, where, {"keys", "tokens", "certificates", "detect", "metrics", *limits})
    if not _PROJECT_NAME.fullmatch(name):
        raise SettingsError(f"{where}: expected a name of 1 to 64 letters, digits, _ and -")
    keys = _texts(table.get("keys", []), f"{where}: keys")
    for key in keys:
        if not _KEY_NAME.fullmatch(key):
            raise SettingsError(f"{where}: keys has an invalid key name; expected 1 to 64 letters, digits, _ and -")
    try:
        project = Project(
            name,
            keys=keys,
            limits=Limits(**{each: table[each] for each in limits & table.keys()}),
            tokens=tuple(_token(each, where) for each in _list(table.get("tokens", []), f"{where}: tokens")),
            certificates=_texts(table.get("certificates", []), f"{where}: certificates"),
            may_detect=_flag(table.get("detect", True), f"{where}: detect"),
            may_read_metrics=_flag(table.get("metrics", False), f"{where}: metrics"),
        )
    except SettingsError as error:
        message = str(error)
        raise SettingsError(message if message.startswith(where) else f"{where}: {message}") from None
    _check_unique(f"key name in {where}", list(project.keys))
    return project


def _token(content: object, where: str) -> Token:
    table = _table(content, f"{where}: a token")
    _only(table, f"{where}: a token", {"id", "sha256", "expires"})
    token_id, sha256, expires = (table.get(name) for name in ("id", "sha256", "expires"))
    if not isinstance(token_id, str) or not _TOKEN_ID.fullmatch(token_id) or not is_digest(sha256):
        # The value is not quoted: somebody may have put the token itself here.
        raise SettingsError(
            f"{where}: a token needs id, 12 hexadecimal digits, and sha256, 64 of them, as `deid gateway token new` "
            "prints them; never write the token itself into the file"
        )
    if expires is not None and type(expires) is not date:
        raise SettingsError(
            f"{where}: expires of token {token_id} is not a date; expected a form like 2027-11-01, without quotes"
        )
    return Token(token_id, str(sha256), expires)


def _hashed(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()


def _only(table: Mapping[str, object], where: str, known: set[str]) -> None:
    unknown = sorted(table.keys() - known)
    if unknown:
        raise SettingsError(
            f"{where} has the unknown name {unknown[0]!r:.40}; expected only {', '.join(sorted(known))}"
        )


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise SettingsError(f"{where} must be a table")
    return value


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise SettingsError(f"{where} must be a list")
    return value


def _texts(value: object, where: str) -> tuple[str, ...]:
    found = _list(value, where)
    if not all(isinstance(each, str) and each for each in found):
        raise SettingsError(f"{where} must have only texts that are not empty")
    return tuple(found)


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(f"{where} must be true or false")
    return value


def _check_unique(what: str, values: list[str]) -> None:
    twice = sorted(value for value in set(values) if values.count(value) > 1)
    if twice:
        raise SettingsError(f"{what} {twice[0]:.120} is given twice; give each only once")

"""The registry of head versions: the origin, data and grade of each version, and the versions that serve.

The registry is one JSON file, ``registry.json``, in a folder with the weights it names::

    registry.json   shared.pt   tokenizer.json   heads/<head>.<version>.pt   dev/<head>.<version>.npz   rounds/<n>.jsonl

The file is replaced as a whole: a killed process leaves either the old or the new file. It contains ids, digests,
counts and scores, never note text.
"""

import dataclasses
import json
import os
import types
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from deid_runtime.errors import ModelError, OutputError

REGISTRY: Final = "registry.json"
FORMAT: Final = 1
#: How many versions of each head are chosen to serve.
SERVED: Final = 2

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file below the registry's folder.

    ``sha256`` is the digest of its weights, or of its bytes if it has no weights.
    """

    file: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """The figures of one version on the words of the dev split, without rules and other heads.

    ``merit`` is its best F-beta with beta 2 (:data:`deid_export.adapt.grading.BETA`). ``threshold``, ``precision`` and
    ``recall`` belong to that best value. ``dev_sha256`` is the digest of the dev notes and their windows. ``words``
    names the file with the score of every word.
    """

    dev_sha256: str
    gold_words: int
    threshold: float
    precision: float
    recall: float
    merit: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One set of weights of one head; ``parent`` is the version from which it was trained, or None."""

    head: str
    name: str
    parent: str | None
    round: int
    weights: StoredFile
    grade: Grade | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCounts:
    """The errors of one head: words by the head alone, tokens by the whole ensemble, and sentences with either."""

    missed: int = 0
    wrong: int = 0
    ensemble_missed: int = 0
    ensemble_wrong: int = 0
    sentences: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsFound:
    """The error space of one round, without text in ``file``.

    ``ruled_wrong`` counts wrong tokens that only rules found.
    """

    file: StoredFile
    by_head: Mapping[str, ErrorCounts]
    ruled_wrong: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: the digests of its data, its settings, the errors from which it learnt, and whether it is done."""

    number: int
    heads: tuple[str, ...]
    settings: Mapping[str, str | int | float | bool]
    notes_sha256: str
    notes: int
    searched_sha256: str
    searched: int
    errors: ErrorsFound | None = None
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """All versions of all heads of one shared encoder.

    ``chosen`` maps each head to the versions that serve, best first. ``thresholds`` maps each head to the threshold
    with the best F-beta on dev for their combined scores.
    """

    shared: StoredFile
    tokenizer: StoredFile
    versions: tuple[Version, ...]
    chosen: Mapping[str, tuple[str, ...]]
    thresholds: Mapping[str, float]
    rounds: tuple[Round, ...] = ()

    @property
    def heads(self) -> tuple[str, ...]:
        """Return the heads, in the order of the model from which they were split."""
        return tuple(dict.fromkeys(version.head for version in self.versions))

    def of_head(self, head: str) -> tuple[Version, ...]:
        """Return the versions of one head, oldest first."""
        return tuple(version for version in self.versions if version.head == head)

    def find(self, head: str, name: str) -> Version:
        """Return one version. Raises ModelError when there is none with that name."""
        for version in self.of_head(head):
            if version.name == name:
                return version
        known = ", ".join(f"{version.head}={version.name}" for version in self.versions)
        raise ModelError(f"the registry has no version {head}={name}; it has {known}")

    def with_version(self, version: Version) -> "Registry":
        """Return the registry with ``version`` added; it replaces a version of the same head and name."""
        key = (version.head, version.name)
        if any((known.head, known.name) == key for known in self.versions):
            kept = tuple(version if (known.head, known.name) == key else known for known in self.versions)
        else:
            kept = (*self.versions, version)
        return dataclasses.replace(self, versions=kept)

    def with_round(self, round_: Round) -> "Registry":
        """Return the registry with ``round_`` added; it replaces a round of the same number."""
        others = tuple(known for known in self.rounds if known.number != round_.number)
        return dataclasses.replace(self, rounds=(*others, round_))


def folder_of(path: Path) -> Path:
    """Return the registry's folder, given the folder or the registry file."""
    return path.parent if path.name == REGISTRY else path


def read_registry(path: Path) -> Registry:
    """Read a registry, given its folder or file.

    Raises ModelError that names the first entry with a wrong form.
    """
    path = folder_of(path) / REGISTRY
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path.parent} has no {REGISTRY}; start one with --trained heads.pt") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as JSON ({type(error).__name__}); restore it from a copy") from error
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise ModelError(f"{path} is not a registry of format {FORMAT}; use one from the same version of deid-export")
    return _decode(Registry, content, str(path))


def write_registry(path: Path, registry: Registry) -> None:
    """Write a registry into its folder, completely or not at all."""
    path = folder_of(path) / REGISTRY
    content = {"format": FORMAT, **dataclasses.asdict(registry)}
    replace_file(path, (json.dumps(content, indent=1) + "\n").encode())


def replace_file(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Replace the content of ``path`` by ``data`` in one step that survives a crash. Raises OutputError on failure."""
    temporary = path.with_name(f".{path.name}.partial")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or type(error).__name__}") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the registry of ``folder`` for this process. Raises OutputError when another process holds the lock."""
    import fcntl

    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"{folder}: another iteration works on this registry; wait until it is done") from None
        yield


def _decode(kind: type[_T], value: Any, where: str) -> _T:
    """Convert parsed JSON to the dataclass ``kind``; check every field against its declared type."""
    decoded: _T = _decode_any(kind, value, where)
    return decoded


def _decode_any(kind: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        if not isinstance(value, dict) or set(value) != set(hints):
            found = sorted(value) if isinstance(value, dict) else type(value).__name__
            raise ModelError(f"{where} has {found}; expected {sorted(hints)}")
        return kind(**{name: _decode_any(hints[name], item, f"{where}: {name}") for name, item in value.items()})
    if origin is tuple and isinstance(value, list):
        return tuple(_decode_any(arguments[0], item, f"{where}[{at}]") for at, item in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {name: _decode_any(arguments[1], item, f"{where}[{name!r}]") for name, item in value.items()}
    if origin is types.UnionType:
        if value is None and types.NoneType in arguments:
            return None
        simple = [argument for argument in arguments if argument in (bool, int, float, str)]
        if not simple:
            return _decode_any(next(a for a in arguments if a is not types.NoneType), value, where)
        if type(value) in simple:
            return value
    if kind is origin is None or type(value) is kind:
        return value
    if kind is float and type(value) is int:
        return float(value)
    raise ModelError(f"{where} is {type(value).__name__}; expected {kind if origin else kind.__name__}")

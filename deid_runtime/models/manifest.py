"""Read and check the model manifest, ``manifest.json``: what a model repository promises to its users."""

import hashlib
import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from deid_runtime.errors import InstallationError, ModelError, SettingsError
from deid_runtime.labels import HEADS
from deid_runtime.text.windows import WINDOW_TOKENS, WordEncoder
from deid_runtime.text.words import SHAPE_TYPE_COUNT, TYPE_COUNT

#: Version of what a manifest promises: its fields, and the tensors of its graphs.
INTERFACE_VERSION: Final = 2
#: Inputs of every graph, int32 ``(batch, tokens)``.
INPUTS: Final = ("input_ids", "token_type_ids", "attention_mask")
#: Output of an encoder that runs separately from its heads, float32 ``(batch, tokens, hidden size)``.
HIDDEN: Final = "hidden"
MANIFEST: Final = "manifest.json"
_MANIFEST_LIMIT_BYTES: Final = 2**24
_VERSION_HEX: Final = 15  # hexadecimal digits of a digest in a version number, 60 bits

#: Device, inode, size and change times of a file. They change when the file or its content changes.
FileState = tuple[int, ...]

OutputType = Literal["UINT8", "FP16"]

#: How the versions of a head are combined.
Vote = Literal["mean", "any"]


def head_outputs(output: str) -> tuple[tuple[str, OutputType], tuple[str, OutputType]]:
    """Return name and KServe v2 data type of both outputs of a head, ``(batch, tokens)`` each.

    ``output`` is that of its :class:`HeadVersion`. The first output is the index of a tag, the second 1 - P(O).
    """
    return (f"{output}_label", "UINT8"), (f"{output}_score", "FP16")


@dataclass(frozen=True)
class HeadVersion:
    """One version of the head of one entity class.

    ``output`` is the prefix of its output names in the graph, see :func:`head_outputs`. ``tags`` are ``B-LABEL`` and
    ``I-LABEL`` in output order. ``weight`` is the weight of its log odds among other versions, greater than 0.
    """

    head: str
    version: str
    output: str
    tags: tuple[str, ...]
    weight: float = 1.0


@dataclass(frozen=True)
class KnownAnswer:
    """The scores of a graph for an invented text of one narrow window, for :mod:`deid_runtime.models.self_test`.

    ``scores`` is 1 - P(O) by the output of each head and the index of the word. Missing words have the score 0.
    """

    text: str
    scores: Mapping[str, Mapping[int, float]]


@dataclass(frozen=True)
class Graph:
    """One graph file: an encoder and the versions of heads on top of it. ``sha256`` is the digest of the file."""

    name: str
    file: Path
    heads: tuple[HeadVersion, ...]
    known_answer: KnownAnswer | None = None  # None: an old export without known answers
    sha256: str = ""


@dataclass(frozen=True)
class Profile:
    """The graphs to run, and the score from which a word counts as found.

    ``thresholds`` is the minimum 1 - P(O) by head, for all versions of the head combined. ``high_thresholds`` is the
    same for high recall, at the cost of more false positives. ``vote`` is how versions are combined. With ``any``,
    the highest score counts, so no version can veto another. With ``mean``, the weighted mean of log odds counts.
    """

    name: str
    graphs: tuple[Graph, ...]
    thresholds: Mapping[str, float]
    vote: Vote = "mean"
    high_thresholds: Mapping[str, float] = field(default_factory=dict)

    def thresholds_for(self, recall: Literal["balanced", "high"]) -> Mapping[str, float]:
        """Return the thresholds by head; ``high`` recall uses the balanced ones when the profile has no others."""
        return {**self.thresholds, **self.high_thresholds} if recall == "high" else self.thresholds


@dataclass(frozen=True)
class Manifest:
    """The checked manifest of one model repository.

    ``content`` is the parsed ``raw``, the bytes of ``manifest.json``. ``states`` are the file states from when the
    digests were computed.
    """

    folder: Path
    tokenizer: Path
    graphs: Mapping[str, Graph]
    profiles: Mapping[str, Profile]
    content: Mapping[str, object] = field(repr=False)
    raw: bytes = field(default=b"", repr=False)
    states: Mapping[Path, FileState] = field(default_factory=dict, repr=False)

    @property
    def tokenizer_sha256(self) -> str:
        """The SHA-256 of the tokenizer file."""
        content: Any = self.content
        return str(content["tokenizer"]["sha256"])

    def word_encoder(self) -> WordEncoder:
        """Return a new encoder for these models, with word classes if they know them."""
        return WordEncoder.from_file(self.tokenizer, word_classes=self.content["token_types"] == TYPE_COUNT)

    def only(self, profile: str) -> "Manifest":
        """Return the manifest with only the graphs of ``profile``, and the profiles that need no other graphs.

        Raises SettingsError when there is no such profile.
        """
        if profile not in self.profiles:
            raise SettingsError(f"these models have no profile {profile!r}, only {', '.join(self.profiles)}")
        names = {graph.name for graph in self.profiles[profile].graphs}
        profiles = {
            name: each for name, each in self.profiles.items() if {graph.name for graph in each.graphs} <= names
        }
        content: Any = self.content
        return replace(
            self,
            graphs={name: graph for name, graph in self.graphs.items() if name in names},
            profiles=profiles,
            content={
                **content,
                "graphs": {name: entry for name, entry in content["graphs"].items() if name in names},
                "profiles": {name: entry for name, entry in content["profiles"].items() if name in profiles},
            },
        )

    def profile_sha256(self, profile: str) -> str:
        """Return the SHA-256 that names the models of a profile: all that affects its answers except the engine.

        That is the interface version, the tokenizer, the graphs with their heads and weights, the thresholds and the
        vote. Names of files, dates and other profiles change nothing.

        Raises SettingsError when there is no such profile.
        """
        if profile not in self.profiles:
            raise SettingsError(f"these models have no profile {profile!r}, only {', '.join(self.profiles)}")
        content: Any = self.content
        chosen = self.profiles[profile]
        named = {
            "contract": content["interface_version"],  # the name is hashed: another one would change every digest
            **{name: content[name] for name in ("window_tokens", "token_types")},
            "tokenizer": self.tokenizer_sha256,
            "graphs": [
                [graph.sha256, [[head.head, head.version, head.output, head.tags, head.weight] for head in graph.heads]]
                for graph in chosen.graphs
            ],
            "thresholds": dict(chosen.thresholds),
            "high_thresholds": dict(chosen.high_thresholds),
            "vote": chosen.vote,
        }
        return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()

    def check_unchanged(self) -> None:
        """Check the files again after reading them. Raises ModelError for a file that changed since the first check."""
        for path, state in self.states.items():
            try:
                now = _state(os.stat(path))
            except OSError:
                now = ()
            if now != state:
                raise ModelError(f"{path} was changed or replaced while the models were loaded; load them again")


def served_version(*digests: str) -> str:
    """Return the version number under which a server serves what these SHA-256 digests name, in decimal.

    It is the first 60 bits of the digest, or of the digest of several in sorted order: positive, and it fits the signed
    64 bits of a version in the KServe v2 protocol. Every answer of a server carries it, so an answer can be traced to
    the models that made it.
    """
    [joined] = digests if len(digests) == 1 else [hashlib.sha256(",".join(sorted(digests)).encode()).hexdigest()]
    return str(max(int(joined[:_VERSION_HEX], 16), 1))


def find_models(folder: Path | None) -> Path:
    """Return the folder of the models: ``folder``, the one installed with the package, or that of the source tree.

    Raises ModelError when ``folder`` has no models, InstallationError when none are installed.
    """
    package = Path(sys.modules["deid_runtime"].__path__[0])
    places = [folder] if folder is not None else [package / "model_repository", package.parent / "model_repository"]
    for place in places:
        if (place / MANIFEST).is_file():
            return place
    raise (InstallationError if folder is None else ModelError)(
        f"there is no {MANIFEST} in {' or '.join(map(str, places))}; install the deid-runtime wheel, name a folder "
        "that `deid-export models onnx` wrote, or run without models"
    )


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest: version, window, token types, labels, profiles, digests of graphs and tokenizer.

    Trust is checked separately: :mod:`deid_runtime.models.trust`.

    Raises ModelError that names the found and the expected value of the first mismatch.
    """
    path = folder / MANIFEST
    states: dict[Path, FileState] = {}
    try:
        with path.open("rb") as file:
            raw = file.read(_MANIFEST_LIMIT_BYTES + 1)
        if len(raw) > _MANIFEST_LIMIT_BYTES:
            raise ModelError(f"{path} has more than {_MANIFEST_LIMIT_BYTES:,} bytes; expected a model manifest")
        content = json.loads(raw.decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read as JSON ({type(error).__name__}); export the models again") from error
    try:
        for name, *expected in (
            ("interface_version", INTERFACE_VERSION),
            ("window_tokens", WINDOW_TOKENS),
            ("token_types", TYPE_COUNT, SHAPE_TYPE_COUNT),
        ):
            if content[name] not in expected:
                needed = " or ".join(map(repr, expected))
                raise ModelError(
                    f"{path}: {name} is {content[name]!r}, this version needs {needed}; use models exported by the "
                    "same version of deid-runtime"
                )
        graphs = {name: _graph(folder, name, entry, states) for name, entry in content["graphs"].items()}
        profiles = {name: _profile(name, entry, graphs) for name, entry in content["profiles"].items()}
        tokenizer = _checked_file(folder, content["tokenizer"], states)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path} lacks or misstates {error}; export the models again") from error
    for graph in graphs.values():
        for version in graph.heads:
            labels = {tag.partition("-")[2] for tag in version.tags}
            if labels != set(HEADS.get(version.head, ())):
                raise ModelError(
                    f"{path}: head {version.head!r} tags {sorted(labels)}, this version needs "
                    f"{sorted(HEADS.get(version.head, ()))}"
                )
    for profile in profiles.values():
        missing = set(HEADS) - {version.head for graph in profile.graphs for version in graph.heads}
        if missing:
            raise ModelError(
                f"{path}: profile {profile.name!r} has no head for {sorted(missing)}; every entity class needs one"
            )
        both = (profile.thresholds, {**profile.thresholds, **profile.high_thresholds})
        wrong = [head for head in HEADS if not all(0 < thresholds.get(head, 0) < 1 for thresholds in both)]
        if wrong:
            raise ModelError(
                f"{path}: profile {profile.name!r} has no threshold between 0 and 1 for {', '.join(wrong)}"
            )
    return Manifest(folder, tokenizer, graphs, profiles, content, raw, states)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _graph(folder: Path, name: str, entry: Mapping[str, Any], states: dict[Path, FileState]) -> Graph:
    weight = float(entry.get("weight", 1.0))
    if not 0 < weight < math.inf:
        raise ValueError(f"graphs/{name}/weight")
    heads = tuple(
        HeadVersion(row["head"], str(row["version"]), row["output"], tuple(row["tags"]), weight)
        for row in entry["heads"]
    )
    answer = _known_answer(heads, entry.get("known_answer"))
    return Graph(name, _checked_file(folder, entry, states), heads, answer, entry["sha256"])


def _known_answer(heads: tuple[HeadVersion, ...], entry: Mapping[str, Any] | None) -> KnownAnswer | None:
    if entry is None:
        return None
    scores = {
        version.output: {int(word): float(score) for word, score in entry["scores"][version.output].items()}
        for version in heads
    }
    return KnownAnswer(str(entry["text"]), scores)


def _profile(name: str, entry: Mapping[str, Any], graphs: Mapping[str, Graph]) -> Profile:
    thresholds = {head: float(value) for head, value in entry["thresholds"].items()}
    high = {head: float(value) for head, value in entry.get("high_thresholds", {}).items()}
    vote: Vote = entry.get("vote", "mean")
    if vote not in get_args(Vote):
        raise ValueError(f"profiles/{name}/vote")
    if entry.get("title_case"):  # a second pass for text in capitals, which this version does not support
        raise ValueError(f"profiles/{name}/title_case")
    of_profile = tuple(graphs[graph] for graph in entry["graphs"])
    return Profile(name, of_profile, thresholds, vote, high)


def _checked_file(folder: Path, entry: Mapping[str, str], states: dict[Path, FileState]) -> Path:
    path = folder / entry["file"]
    if not path.is_file():
        raise ModelError(f"{path} is missing; the manifest beside it requires it; download or export the models again")
    with path.open("rb") as file:
        states[path] = _state(os.fstat(file.fileno()))
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != entry["sha256"]:
        raise ModelError(
            f"{path} has SHA-256 {digest[:16]}..., the manifest has {entry['sha256'][:16]}...; the files are "
            "not from one export; download or export the models again"
        )
    return path


def _state(status: os.stat_result) -> FileState:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

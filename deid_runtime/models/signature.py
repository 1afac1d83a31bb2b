"""Signed releases of models: every file of a folder by its digest, and an Ed25519 signature of that list.

``release.json`` lists all files and folders below the folder of the models: graphs, tokenizer, model manifest, and also
configurations and programs of a repository for a server. ``release.json.sig`` is the signature of its bytes, 64 bytes.
Keys are PEM files (PKCS 8 and SubjectPublicKeyInfo), so openssl can create and check the same signatures: ``openssl
pkeyutl -verify -pubin -inkey KEY.pub -rawin -in release.json -sigfile release.json.sig``.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from deid_runtime.errors import ModelError, OutputError
from deid_runtime.models.folder_listing import FileEntry, Listing, list_folder
from deid_runtime.models.manifest import MANIFEST, Manifest, read_manifest
from deid_runtime.system.signatures import SIGNATURE_BYTES, is_signed, sign

RELEASE: Final = "release.json"
SIGNATURE: Final = f"{RELEASE}.sig"

#: Folders of compiled programs: Python may run them instead of the source files beside them, so they are not signed.
COMPILED: Final = "__pycache__"
_KIND: Final = "deid-runtime models"  # so that no other signed file can pass as a release
_FORMAT: Final = 1
_LIMIT_BYTES: Final = 2**24
_MOST_SHOWN: Final = 3


class UnsignedError(ModelError):
    """A release with a signature that is not by the expected key, or not of these bytes."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What the maker of a release says about it. ``card`` is the path of the model card below the folder."""

    version: str = ""
    card: str = ""
    recipes: Mapping[str, str] = field(default_factory=dict)  # SHA-256 by file name


@dataclass(frozen=True)
class Release:
    """A release whose signature was checked: its parsed ``content``, and the files and folders that it lists."""

    content: Mapping[str, Any] = field(repr=False)
    listing: Listing = field(repr=False)

    @property
    def version(self) -> str:
        """The version that the maker gave, empty for none."""
        return str(self.content["version"])


def sign_models(folder: Path, key: Path, *, origin: Origin = Origin(), allow_shared_key: bool = False) -> Path:
    """Check the models in ``folder``, list and sign all files and return the path of the signature.

    An existing release in ``folder`` is replaced.

    Raises ModelError for models that do not match their manifest and for a folder with links or special files,
    SettingsError for an unusable key or one that other users can open, OutputError when a file cannot be written.
    """
    manifest = read_manifest(folder)
    listing, problems = _list(folder)
    problems += [f"{name}/: compiled programs" for name in listing.folders if name.rpartition("/")[2] == COMPILED]
    if problems:
        raise ModelError(
            f"{folder} cannot be signed: {'; '.join(problems[:_MOST_SHOWN])}; delete them, or replace them by plain "
            "files"
        )
    content = _content(manifest, listing, origin)
    data = (json.dumps(content, indent=1, sort_keys=True) + "\n").encode("ascii")
    check_covers(manifest, Release(content, listing))
    signature = sign(data, key, allow_shared_key=allow_shared_key)
    _write(folder / RELEASE, data)
    _write(folder / SIGNATURE, signature)
    return folder / SIGNATURE


def read_release(folder: Path, key: Path) -> Release:
    """Return the release in ``folder`` if its signature is by the public key in the file ``key``.

    Raises UnsignedError when the signature is not by that key, ModelError when release or signature is missing or of
    another format, SettingsError when the file has no such key.
    """
    data, signature = (_read(folder / name) for name in (RELEASE, SIGNATURE))
    if len(signature) != SIGNATURE_BYTES or not is_signed(data, signature, key):
        raise UnsignedError(
            f"{folder / SIGNATURE} does not match the {RELEASE} beside it and the key in {key}; the models were "
            "changed, or signed by somebody else; do not use them"
        )
    try:
        content = json.loads(data)
        if (content["kind"], content["format"]) != (_KIND, _FORMAT):
            raise ValueError("kind")
        files = {name: FileEntry(int(row["bytes"]), str(row["sha256"])) for name, row in content["files"].items()}
        return Release(content, Listing(files, frozenset(content["folders"])))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise ModelError(
            f"{folder / RELEASE} is signed, but is not a release of models that this version can read; sign the models "
            "again with `deid models sign`"
        ) from None


def differences(folder: Path, release: Release) -> list[str]:
    """Return what differs between ``folder`` and its release, one line each, sorted by path.

    Empty when nothing differs.
    A file of another size is not read, so the time is bounded by the sizes in the release.
    """
    found, problems = _list(folder, release.listing)
    listed = release.listing
    lines = [*problems]
    lines += [f"{name}: missing" for name in listed.files.keys() - found.files.keys()]
    lines += [f"{name}/: missing folder" for name in listed.folders - found.folders]
    lines += [f"{name}: not part of the release" for name in found.files.keys() - listed.files.keys()]
    lines += [f"{name}/: folder, not part of the release" for name in found.folders - listed.folders]
    for name in listed.files.keys() & found.files.keys():
        expected, has = listed.files[name], found.files[name]
        if has.size_bytes != expected.size_bytes:
            lines.append(f"{name}: {has.size_bytes:,} bytes, expected {expected.size_bytes:,}")
        elif has.sha256 != expected.sha256:
            lines.append(f"{name}: SHA-256 {has.sha256[:16]}..., expected {expected.sha256[:16]}...")
    return sorted(lines)


def check_signature(manifest: Manifest, key: Path) -> Release:
    """Check that the folder of ``manifest`` is as it was signed with the private key of ``key``; return the release.

    Raises ModelError when the signature is missing or wrong, or when any file or folder differs; SettingsError when the
    file ``key`` has no public key.
    """
    folder = manifest.folder
    release = read_release(folder, key)
    lines = differences(folder, release)
    if lines:
        more = f"; and {len(lines) - _MOST_SHOWN:,} more" if len(lines) > _MOST_SHOWN else ""
        raise ModelError(
            f"{folder} differs from its signed release: {'; '.join(lines[:_MOST_SHOWN])}{more}; do not use these models"
        )
    check_covers(manifest, release)
    return release


def check_covers(manifest: Manifest, release: Release) -> None:
    """Raise ModelError unless the manifest that was read, and every file that it names, are those of the release."""
    content: Any = manifest.content
    entries = [content["tokenizer"], *content["graphs"].values()]
    named = {entry["file"]: entry["sha256"] for entry in entries}
    named[MANIFEST] = hashlib.sha256(manifest.raw).hexdigest()
    for name, digest in named.items():
        entry = release.listing.files.get(name)
        if entry is None or entry.sha256 != digest:
            raise ModelError(
                f"{manifest.folder}: {MANIFEST} names {name!r:.200}, which is not a file of the release with that "
                "digest; do not use these models"
            )


def _content(manifest: Manifest, listing: Listing, origin: Origin) -> dict[str, object]:
    return {
        "kind": _KIND,
        "format": _FORMAT,
        "version": origin.version,
        "made": datetime.now(UTC).date().isoformat(),
        "models": {profile: manifest.profile_sha256(profile) for profile in manifest.profiles},
        "graphs": {name: graph.sha256 for name, graph in manifest.graphs.items()},
        "corpus_sha256": manifest.content.get("corpus_sha256"),
        "recipes": dict(origin.recipes),
        "card": origin.card or None,
        "files": {
            name: {"bytes": entry.size_bytes, "sha256": entry.sha256} for name, entry in sorted(listing.files.items())
        },
        "folders": sorted(listing.folders),
    }


def _list(folder: Path, expected: Listing | None = None) -> tuple[Listing, list[str]]:
    return list_folder(folder, leave_out=frozenset((RELEASE, SIGNATURE)), expected=expected)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_LIMIT_BYTES + 1)
    except OSError as error:
        raise ModelError(
            f"{path}: the signature cannot be read ({error.strerror}); the provider of the models must sign them with "
            "`deid-export release` or `deid models sign`"
        ) from error
    if len(data) > _LIMIT_BYTES:
        raise ModelError(f"{path} has more than {_LIMIT_BYTES:,} bytes; expected a release of models")
    return data


def _write(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise OutputError(f"cannot write {path}: {error.strerror}") from error

"""The run bundle: a signed record, without text, of what a run read, did and wrote, for people who decide on a release.

A bundle is a folder with ``bundle.json``, its Ed25519 signature ``bundle.json.sig`` and ``report.html``, which explains
the same in words. Two bundles of one run by one program differ only in the field ``made`` and the times of the
manifest.
"""

import hmac
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple

from deid_runtime.errors import OutputError, SettingsError, SourceError
from deid_runtime.formats.jsonl import read_objects
from deid_runtime.formats.records import RECORD_LIMIT_BYTES, Meter, Source
from deid_runtime.formats.sources import find_inputs
from deid_runtime.release.page import bundle_page
from deid_runtime.run.report import deid_version
from deid_runtime.run.staging import quarantine_path
from deid_runtime.run.verify import read_manifest, verify_output
from deid_runtime.system.digests import DigestSum, digest_file
from deid_runtime.system.signatures import SIGNATURE_BYTES, is_signed, sign

BUNDLE: Final = "bundle.json"
SIGNATURE: Final = f"{BUNDLE}.sig"
PAGE: Final = "report.html"

_FORMAT: Final = 1
_KEY_ID_CHARS: Final = 16
_LIMIT_BYTES: Final = 2**28
_MOST_REASONS: Final = 50


class Category(NamedTuple):
    """One of the 18 identifiers of Safe Harbor, and the labels that cover it; ``labels`` is empty for none."""

    letter: str
    name: str
    labels: tuple[str, ...]
    note: str


@cache
def safe_harbor_categories() -> tuple[Category, ...]:
    """Return the identifiers of 45 CFR 164.514(b)(2)(i) in their order."""
    text = resources.files("deid_runtime").joinpath("data/release/safe_harbor.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(
        Category(letter, name, tuple(filter(None, labels.split(","))), note) for letter, name, labels, note in rows
    )


def key_id(key: bytes) -> str:
    """Return a name for a key that is the same in every run and reveals nothing about the key (HMAC-SHA256)."""
    return hmac.digest(key, b"deid-runtime key id", "sha256").hex()[:_KEY_ID_CHARS]


def make_bundle(
    folder: Path,
    inputs: Sequence[Path],
    out: Path,
    *,
    signing_key: Path,
    key: bytes | None,
    look: Mapping[str, object] | None,
    allow_shared_key: bool = False,
) -> None:
    """Write the bundle of the run that wrote ``out`` into the new ``folder``.

    ``look`` is the summary of the second look at the notes, None when there was none.

    Raises OutputError when ``folder`` exists or cannot be written; SettingsError when the output differs from its
    manifest, or the signing key cannot be used; SourceError for an input that cannot be read.
    """
    verified = verify_output(out)
    if verified.differences:
        raise SettingsError(f"{out} differs from its run report ({verified.differences[0]}); run again")
    content = {
        "format": _FORMAT,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "made_by": f"deid-runtime {deid_version()}",
        "key_id": key_id(key) if key else None,
        "inputs": _input_digest(inputs),
        "run": _shortened(read_manifest(out)),
        "quarantine_reasons": _quarantine_reasons(out),
        "safe_harbor": _coverage(read_manifest(out)),
        "second_look": look,
    }
    data = (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
    signature = sign(data, signing_key, allow_shared_key=allow_shared_key)
    try:
        folder.mkdir(mode=0o755)
        (folder / PAGE).write_text(bundle_page(json.loads(data)), encoding="utf-8")
        (folder / SIGNATURE).write_bytes(signature)
        (folder / BUNDLE).write_bytes(data)  # last: without it the folder is not a bundle
    except FileExistsError:
        raise OutputError(f"{folder}: already exists, and a bundle is never overwritten; choose another name") from None
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror}") from error


def verify_bundle(folder: Path, signer: Path, *, out: Path | None = None, inputs: Sequence[Path] = ()) -> list[str]:
    """Return what differs, one line each: the signature, the page, and ``out`` and ``inputs`` when given.

    ``signer`` is the file of the public key. Raises SourceError when the folder is not a bundle.
    """
    data, signature = _read(folder / BUNDLE), _read(folder / SIGNATURE)
    if len(signature) != SIGNATURE_BYTES or not is_signed(data, signature, signer):
        return [f"{SIGNATURE}: not a signature of {BUNDLE} by this key; do not rely on anything in the bundle"]
    try:
        content = json.loads(data)
        differences = []
        if bundle_page(content).encode() != _read(folder / PAGE):
            differences.append(f"{PAGE}: not the page of {BUNDLE}")
        if inputs and _input_digest(inputs) != content["inputs"]:
            differences.append("inputs: they differ from those of the run")
        if out is not None:
            differences += verify_output(out).differences
            if _shortened(read_manifest(out)) != content["run"]:
                differences.append("output: its run report differs from that of the bundle")
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SourceError(f"{folder}: not a bundle of this version; use the version of deid that wrote it") from None
    return differences


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_LIMIT_BYTES + 1)
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read ({error.strerror}); expected a bundle from `deid bundle make`"
        ) from error
    if len(data) > _LIMIT_BYTES:
        raise SourceError(f"{path}: too large for a bundle; expected a bundle from `deid bundle make`")
    return data


def _input_digest(inputs: Sequence[Path]) -> dict[str, object]:
    """Return number, size and digest of all input files.

    The names of the files are part of the digest, but are not shown.
    """
    found, _ = find_inputs(inputs)
    total = DigestSum()
    for source in found:
        try:
            total.add(source.name, digest_file(source.path))
        except OSError as error:
            raise SourceError(f"an input cannot be read again: {error.strerror}") from error
    return total.to_json()


def _shortened(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest without names of input files and without the self-test of the models."""
    short = json.loads(json.dumps(manifest))
    short["inputs"].pop("names", None)
    pipeline = short["pipeline"]
    for models in (pipeline.get("models"), pipeline.get("gate", {}).get("models")):
        for graph in ((models or {}).get("graphs") or {}).values():
            graph.pop("known_answer", None)
            graph.pop("heads", None)
    return dict(short)


def _quarantine_reasons(out: Path) -> dict[str, int]:
    """Return how many notes were held back for each stage and kind of reason; numbers in reasons are removed."""
    path = quarantine_path(out)
    if not path.exists():
        return {}
    reasons: Counter[str] = Counter()
    for _, row in read_objects(Source(path, path.name, "jsonl", 0), RECORD_LIMIT_BYTES, Meter()):
        if isinstance(row, dict):
            words = "".join("#" if char.isdigit() else char for char in str(row.get("reason", "")))
            reasons[f"{row.get('stage', '')}: {words}"] += 1
    return dict(sorted(reasons.most_common(_MOST_REASONS)))


def _coverage(manifest: Mapping[str, Any]) -> list[dict[str, object]]:
    counts = manifest["notes"]["spans_by_label"]
    return [
        {
            "letter": each.letter,
            "identifier": each.name,
            "labels": list(each.labels),
            "replaced": sum(counts.get(label, 0) for label in each.labels),
            "is_covered": bool(each.labels),
            "note": each.note,
        }
        for each in safe_harbor_categories()
    ]

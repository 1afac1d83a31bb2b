"""Write what an image was made from, as a statement of in-toto with the predicate of SLSA provenance, version 1.

It is not signed: sign the image by its digest with the tool of your registry. Environment variables tell what the build
cannot see: BASE_IMAGE, BASE_DIGEST, SOURCE_COMMIT, and SOURCE_CHANGED, not empty when the tree had changes beside.
"""

import argparse
import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def statement(image: str, source: Path, wheel: Path, locks: Sequence[Path], told: Mapping[str, str]) -> dict[str, Any]:
    """Return the statement; ``told`` are the environment variables of this module."""
    base: dict[str, Any] = {"name": "base image", "uri": told.get("BASE_IMAGE") or "unknown"}
    if digest := told.get("BASE_DIGEST"):
        algorithm, _, value = digest.rpartition(":")
        base["digest"] = {algorithm or "sha256": value}
    tree: dict[str, Any] = {"name": "source", "annotations": {"changed": bool(told.get("SOURCE_CHANGED"))}}
    if commit := told.get("SOURCE_COMMIT"):
        tree["digest"] = {"gitCommit": commit}
    files = [*locks, source / "docker" / "Dockerfile", source / "model_repository" / "manifest.json"]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": wheel.name, "digest": {"sha256": sha256(wheel)}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:deid-runtime:dockerfile:1",
                "externalParameters": {"image": image},
                "internalParameters": {"python": platform.python_version(), "machine": platform.machine()},
                "resolvedDependencies": [
                    tree,
                    base,
                    *({"name": str(file.relative_to(source)), "digest": {"sha256": sha256(file)}} for file in files),
                ],
            },
            "runDetails": {"builder": {"id": "urn:deid-runtime:scripts/images.sh"}},
        },
    }


def main() -> None:
    """Write the statement of the image named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", required=True)
    for name in ("source", "wheel", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--lock", type=Path, action="append", required=True)
    given = parser.parse_args()
    written = statement(given.image, given.source, given.wheel, given.lock, os.environ)
    given.out.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

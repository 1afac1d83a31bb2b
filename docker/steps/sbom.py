"""Write the bill of materials of an image, CycloneDX 1.6 in JSON.

cyclonedx-py lists the libraries of Python. This adds the digest of the archive that each was installed from, the
packages of the system, the models and the jars. The result is checked against the schema of CycloneDX.
"""

import argparse
import hashlib
import json
import re
import shlex
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

Component = dict[str, Any]

_ARCHIVE: Final = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*?)(?:-[^-].*\.whl|\.tar\.gz|\.zip)")
_JAR: Final = re.compile(r"(?P<name>.+?)-(?P<version>\d[\w.+-]*)\.jar")
_COORDINATE: Final = re.compile(r"^(groupId|artifactId|version)=(.+?)\s*$", re.MULTILINE)


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def normal(name: str) -> str:
    """Return the name of a package of Python in its normal form (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def archive_digests(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Return the SHA-256 of the archives in ``folder``, by name and version of their package."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(folder.iterdir()):
        if match := _ARCHIVE.fullmatch(path.name):
            found.setdefault((normal(match["name"]), match["version"]), []).append(sha256(path))
    return found


def with_digests(components: Iterable[Component], digests: dict[tuple[str, str], list[str]]) -> list[Component]:
    """Return the components of Python with the digest of their archive, where exactly one archive fits."""
    result = []
    for component in components:
        known = digests.get((normal(component["name"]), component.get("version", "")), [])
        hashes = {"hashes": [{"alg": "SHA-256", "content": known[0]}]} if len(known) == 1 else {}
        result.append({**component, **hashes})
    return result


def system_components(rows: str, system: dict[str, str]) -> Iterator[Component]:
    """Yield a component for each line of ``dpkg-query``: package, version, architecture, source, with tabs between."""
    for line in rows.splitlines():
        package, version, architecture, source = line.split("\t")
        name = package.partition(":")[0]
        release = f"{system['ID']}-{system.get('VERSION_ID', 'unstable')}"
        purl = f"pkg:deb/{system['ID']}/{name}@{quote(version, safe='')}?arch={architecture}&distro={release}"
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
            "properties": [{"name": "deid:source-package", "value": source}],
        }


def model_components(models: Path) -> Iterator[Component]:
    """Yield a component for each graph of the model manifest in ``models``, and one for the tokenizer."""
    manifest = json.loads((models / "manifest.json").read_text(encoding="utf-8"))
    for name, entry in [*manifest["graphs"].items(), ("tokenizer", manifest["tokenizer"])]:
        yield {
            "type": "machine-learning-model" if name != "tokenizer" else "data",
            "bom-ref": f"deid-model-{name}",
            "name": f"deid-{name}",
            "version": manifest["exported"],
            "hashes": [{"alg": "SHA-256", "content": entry["sha256"]}],
        }


def jar_components(folder: Path) -> Iterator[Component]:
    """Yield a component for each jar in ``folder``, with the coordinates that Maven wrote into it."""
    for path in sorted(folder.glob("*.jar")):
        match = _JAR.fullmatch(path.name)
        name, version = (match["name"], match["version"]) if match else (path.stem, "")
        group = _group(path, name)
        purl = (
            f"pkg:maven/{quote(group)}/{quote(name)}@{quote(version)}" if group else f"pkg:generic/{quote(path.name)}"
        )
        yield {
            "type": "library",
            "bom-ref": f"{purl}#{path.name}",
            **({"group": group} if group else {}),
            "name": name,
            "version": version,
            "purl": purl,
            "hashes": [{"alg": "SHA-256", "content": sha256(path)}],
        }


def _group(jar: Path, artifact: str) -> str:
    """Return the group of a jar's artifact; "" where the jar does not say."""
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            if entry.startswith("META-INF/maven/") and entry.endswith("/pom.properties"):
                found: dict[str, str] = dict(_COORDINATE.findall(archive.read(entry).decode("utf-8", "replace")))
                if found.get("artifactId") == artifact:
                    return found.get("groupId", "")
    return ""


def read_system(file: Path) -> dict[str, str]:
    """Return the variables of an os-release file."""
    words = shlex.split(file.read_text(encoding="utf-8"), comments=True)
    return dict(word.split("=", 1) for word in words if "=" in word)


def complain(bill: str) -> str:
    """Return what CycloneDX's schema says against a bill; "" when nothing."""
    from cyclonedx.schema import SchemaVersion  # type: ignore[import-not-found, unused-ignore]
    from cyclonedx.validation.json import JsonStrictValidator  # type: ignore[import-not-found, unused-ignore]

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill)
    return "" if error is None else str(error)


def main() -> None:
    """Merge the parts named on the command line and write the bill."""
    parser = argparse.ArgumentParser()
    for name in ("python-bill", "system-packages", "os-release", "archives", "site-packages", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--image", required=True)
    given = parser.parse_args()
    bill = json.loads(given.python_bill.read_text(encoding="utf-8"))
    system = read_system(given.os_release)
    bill["components"] = [
        *with_digests(bill.get("components", []), archive_digests(given.archives)),
        *system_components(given.system_packages.read_text(encoding="utf-8"), system),
        *model_components(given.site_packages / "deid_runtime" / "model_repository"),
        *jar_components(given.site_packages / "pyspark" / "jars"),
    ]
    bill["metadata"].setdefault("properties", []).append({"name": "deid:image", "value": given.image})
    text = json.dumps(bill, indent=1, sort_keys=True) + "\n"
    if error := complain(text):
        sys.exit(f"sbom.py: the bill does not follow CycloneDX 1.6: {error[:2000]}")
    given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

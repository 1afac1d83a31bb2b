"""Test the programs that run inside the build of an image."""

import hashlib
import importlib.util
import json
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType

import pytest

from tests.running_server import free_ports

STEPS = Path(__file__).resolve().parents[2] / "docker" / "steps"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"steps_{name}", STEPS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


health, provenance, prune, sbom = (load(name) for name in ("health", "provenance", "prune", "sbom"))


def test_pruning_takes_files_out_of_the_record_too(tmp_path: Path) -> None:
    (tmp_path / "a" / "tests").mkdir(parents=True)
    (tmp_path / "a" / "tests" / "test_x.py").write_text("")
    (tmp_path / "a" / "kept.py").write_text("")
    info = tmp_path / "a-1.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("a/kept.py,sha256=x,0\na/tests/test_x.py,sha256=y,0\na-1.dist-info/RECORD,,\n")

    idle = prune.prune(tmp_path, ["a/tests", "a/missing*", "b/tests"])

    assert idle == ["a/missing*"]  # b is not installed
    assert not (tmp_path / "a" / "tests").exists()
    assert (info / "RECORD").read_text() == "a/kept.py,sha256=x,0\na-1.dist-info/RECORD,,\n"


def test_the_patterns_stay_inside_packages() -> None:
    patterns = prune.read_patterns(STEPS / "prune.txt")

    assert patterns
    assert not [each for each in patterns if each.startswith(("/", "*", ".")) or ".." in each]


def test_a_library_of_python_has_the_digest_of_its_archive(tmp_path: Path) -> None:
    (tmp_path / "Some_Lib-1.2-py3-none-any.whl").write_bytes(b"wheel")
    (tmp_path / "pyspark-4.3.0.tar.gz").write_bytes(b"source")
    (tmp_path / "numpy-1.26.4-cp311-cp311-manylinux_2_17_x86_64.whl").write_bytes(b"one")
    (tmp_path / "numpy-1.26.4-cp312-cp312-manylinux_2_17_x86_64.whl").write_bytes(b"other")
    found = sbom.with_digests(
        [{"name": name, "version": version} for name, version in
         (("some.lib", "1.2"), ("pyspark", "4.3.0"), ("numpy", "1.26.4"), ("deid-runtime", "0.1.0"))],
        sbom.archive_digests(tmp_path),
    )  # fmt: skip

    assert found[0]["purl"] == "pkg:pypi/some-lib@1.2"
    digests = {each["name"]: each.get("hashes", [{}])[0].get("content") for each in found}
    assert digests["some.lib"] == hashlib.sha256(b"wheel").hexdigest()
    assert digests["pyspark"] == hashlib.sha256(b"source").hexdigest()
    assert digests["numpy"] is None  # two archives fit
    assert digests["deid-runtime"] is None


def test_packages_of_the_system_are_named_as_scanners_know_them() -> None:
    system = {"ID": "debian", "VERSION_ID": "12"}
    [found] = sbom.system_components("libssl3:amd64\t3.0.17-1~deb12u2\tamd64\topenssl\n", system)

    assert found["purl"] == "pkg:deb/debian/libssl3@3.0.17-1~deb12u2?arch=amd64&distro=debian-12"
    assert found["version"] == "3.0.17-1~deb12u2"


def test_models_are_components_with_their_digest() -> None:
    models = STEPS.parents[1] / "model_repository"
    if not (models / "manifest.json").exists():
        pytest.skip("this checkout has no models")
    found = {each["name"]: each for each in sbom.model_components(models)}

    assert set(found) == {"deid-v0", "deid-v1", "deid-tokenizer"}
    for name in ("v0", "v1"):
        content = (models / name / "1" / "model.onnx").read_bytes()
        assert found[f"deid-{name}"]["hashes"][0]["content"] == hashlib.sha256(content).hexdigest()


def test_a_jar_has_the_coordinates_that_it_holds(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "tool-core-2.0.1.jar", "w") as jar:
        jar.writestr("META-INF/maven/org.other/shaded/pom.properties", "groupId=org.other\nartifactId=shaded\n")
        jar.writestr(
            "META-INF/maven/org.tool/tool-core/pom.properties",
            "version=2.0.1\ngroupId=org.tool\nartifactId=tool-core\n",
        )
    zipfile.ZipFile(tmp_path / "odd.jar", "w").close()

    odd, tool = sbom.jar_components(tmp_path)

    assert tool["purl"] == "pkg:maven/org.tool/tool-core@2.0.1"
    assert odd["purl"] == "pkg:generic/odd.jar"


def test_the_provenance_names_commit_base_and_locks(tmp_path: Path) -> None:
    for name in ("docker/Dockerfile", "model_repository/manifest.json", "requirements/cli.txt", "own.whl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    told = {"BASE_IMAGE": "base", "BASE_DIGEST": "sha256:ab", "SOURCE_COMMIT": "c0ffee", "SOURCE_CHANGED": ""}

    made = provenance.statement(
        "deid-cli", tmp_path, tmp_path / "own.whl", [tmp_path / "requirements" / "cli.txt"], told
    )

    needed = {each["name"]: each for each in made["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert needed["source"] == {"name": "source", "annotations": {"changed": False}, "digest": {"gitCommit": "c0ffee"}}
    assert needed["base image"] == {"name": "base image", "uri": "base", "digest": {"sha256": "ab"}}
    assert needed["requirements/cli.txt"]["digest"]["sha256"] == hashlib.sha256(b"requirements/cli.txt").hexdigest()
    assert made["subject"][0]["digest"]["sha256"] == hashlib.sha256(b"own.whl").hexdigest()
    json.dumps(made)


class Answers(BaseHTTPRequestHandler):
    """Answers every path with the status of its server."""

    def do_GET(self) -> None:
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    """Start a server on the loopback whose port the health check asks; no gRPC is there."""
    [nobody] = free_ports(1)
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        monkeypatch.setenv("DEID_HEALTH_PORT", str(server.server_port))
        monkeypatch.setenv("DEID_HEALTH_GRPC_PORT", str(nobody))
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("status", "codes"), [(200, (0, 0, 0)), (503, (1, 1, 1)), (404, (1, 0, 1)), (403, (1, 0, 1))])
def test_a_container_is_healthy_when_it_says_so(answering: HTTPServer, status: int, codes: tuple[int, ...]) -> None:
    answering.status = status  # type: ignore[attr-defined]

    assert (health.main("server"), health.main("page"), health.main("gateway")) == codes


def test_a_container_without_a_server_is_not_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, port in zip(("DEID_HEALTH_PORT", "DEID_HEALTH_GRPC_PORT"), free_ports(2), strict=True):
        monkeypatch.setenv(name, str(port))

    assert (health.main("server"), health.main("page"), health.main("gateway")) == (1, 1, 1)

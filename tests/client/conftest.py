"""Fixtures of the client tests: engines, notes, and the answers of the embedded engine."""

import shutil
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from deid_client.server import TritonServer
from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.models.tagger import ModelTagger, choose_profile
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, Sentence, Span
from deid_runtime.text.sentences import split_sentences
from tests.client.fault_server import FaultServer, Models

ROOT = Path(__file__).resolve().parents[2]
NAME = "triton.test"
_TEXTS = (
    "Ms. Halvorsen, 87, seen 3/11/2019 by Dr. Lindqvist in Dundas.\nCall 507-882-4417 if the cough is back.\n",
    "PATIENT: IMOGEN THACKERAY\nMRN 8841207\nAdmitted from Lakeview Regional Medical Center with chest pain.\n" * 3,
    "BP 120/80, no fever.",
    "Daughter Priya Raman works at Harmon Steel. Lives on 22 Alder Court, Millbrook, WI 53119. Seen with Dr. Osei.\n"
    * 4,
    "",
)


@pytest.fixture(scope="session")
def models() -> Models:
    return Models(read_manifest(find_models(None)))


@pytest.fixture(scope="session")
def texts() -> Sequence[str]:
    return _TEXTS


@pytest.fixture(scope="session")
def sentences() -> Sequence[Sequence[Sentence]]:
    return [split_sentences(text) for text in _TEXTS]


@pytest.fixture(scope="session")
def notes() -> list[Note]:
    return [Note(f"n{number}", text, f"p{number % 2}") for number, text in enumerate(_TEXTS)]


@pytest.fixture(scope="session")
def expected(models: Models, sentences: Sequence[Sequence[Sentence]]) -> dict[str, list[list[Span]]]:
    """Return the spans that the embedded engine finds, by profile."""
    found = {profile: embedded(models, Settings(profile=profile))(_TEXTS, sentences) for profile in ("fast", "full")}
    assert any(found["fast"])
    return found


@pytest.fixture(scope="session")
def asking() -> Callable[..., TritonServer]:
    """Return a function that makes settings for small requests and short waits."""

    def make(*servers: FaultServer, **changes: Any) -> TritonServer:
        settings: dict[str, Any] = {
            "request_tokens": 256,
            "call_seconds": 20.0,
            "batch_seconds": 120.0,
            "connect_seconds": 20.0,
            "first_pause_seconds": 0.02,
            "longest_pause_seconds": 0.2,
            **changes,
        }
        return TritonServer(endpoints=tuple(server.address for server in servers), **settings)

    return make


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Replace the name server; return the addresses of :data:`NAME`, which a test may change."""
    addresses = {NAME: ["127.0.0.1", "127.0.0.2"]}
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *arguments: Any, **options: Any) -> list[Any]:
        if host != NAME:
            return real(host, port, *arguments, **options)
        if not addresses[NAME]:
            raise socket.gaierror(socket.EAI_NONAME, "not known")
        return [place for ip in addresses[NAME] for place in real(ip, port, *arguments, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return addresses


def embedded(models: Models, settings: Settings) -> ModelTagger:
    """Return the tagger that runs the engines in this process; do not close it, because the engines are shared."""
    manifest, profile = choose_profile(settings)
    engines = [(graph, models.locked(graph)) for graph in profile.graphs]
    encoder = manifest.word_encoder()
    return ModelTagger(
        engines,
        profile,
        settings.thresholds,
        encoder,
        16,
        manifest.content,
        end_at_blank_lines=settings.window_borders == "blocks",
    )


def make_certificate(folder: Path, subject: str) -> tuple[Path, Path]:
    """Write a self-signed certificate for ``subject`` and its key; return both paths."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made with openssl")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", f"subjectAltName={subject}", "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder / "cert.pem", folder / "key.pem"

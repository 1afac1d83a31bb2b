"""Test certificates on both sides, made by the recipe of the page, and tokens that the server itself checks."""

import queue
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deid_runtime.access.tokens import new_token
from deid_runtime.serving.server import Server
from deid_runtime.serving.server_options import ServerTls
from deid_runtime.surrogates import write_key
from tests.deid_runtime.gateway.running_gateway import ROOT, RunningGateway, gateway
from tests.deid_runtime.serving.requests import grpc, note_inputs
from tests.running_server import ServedFolder, started

InferenceServerException: Any = pytest.importorskip("tritonclient.utils").InferenceServerException

PAGE = ROOT / "docs" / "how-to" / "mutual-tls.md"
SUBJECT = "CN=etl,OU=Cardiology,O=Hospital"
TEXT = "Seen by Dr. Jane Doe on 01/02/2003."
OWN, GATEWAYS = new_token(), new_token()
ACCESS = f"""
[projects.heart]
keys = ["study"]
detect = false
[[projects.heart.tokens]]
id = "{OWN.id}"
sha256 = "{OWN.sha256}"
[projects.gateway]
keys = ["study", "other"]
[[projects.gateway.tokens]]
id = "{GATEWAYS.id}"
sha256 = "{GATEWAYS.sha256}"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the recipe of the page, and return the folder with the certificates."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made with openssl")
    found = re.search(r"```bash\n(mkdir -p certificates\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    folder = tmp_path_factory.mktemp("mutual")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", found[1]], cwd=folder, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip().endswith(SUBJECT)
    return folder / "certificates"


@pytest.fixture(scope="module")
def server(made: Path, served_folder: ServedFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server that asks for certificates and tokens, with two keys."""
    folder = tmp_path_factory.mktemp("strict")
    (folder / "keys").mkdir()
    for name in ("study", "other"):
        write_key(folder / "keys" / f"{name}.key")
    (folder / "access.toml").touch(mode=0o600)
    (folder / "access.toml").write_text(ACCESS)
    options = replace(
        served_folder.options(),
        tls=ServerTls(made / "server.pem", made / "server.key", made / "ca.pem"),
        has_tokens=True,
        environment={"DEID_SERVE_KEYS": str(folder / "keys"), "DEID_SERVE_ACCESS": str(folder / "access.toml")},
    )
    with started(options) as running:
        yield running


@pytest.fixture(scope="module")
def strict(made: Path, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """Start a gateway with certificates to both sides, and a token of its own for the server."""
    folder = tmp_path_factory.mktemp("front")
    (folder / "token").touch(mode=0o600)
    (folder / "token").write_text(f"Bearer {GATEWAYS.text}")
    arguments = (
        "--tls-cert", made / "gateway.pem", "--tls-key", made / "gateway.key", "--tls-client-ca", made / "ca.pem",
        "--server-ca", made / "ca.pem", "--server-cert", made / "gateway.pem", "--server-key", made / "gateway.key",
        "--authorization-file", folder / "token",
    )  # fmt: skip
    with gateway(
        folder, server.options.grpc, *arguments, keys='"study", "other"', more=f'certificates = ["{SUBJECT}"]'
    ) as running:
        running.tls = context(made, "client")
        yield running


def context(made: Path, name: str | None) -> ssl.SSLContext:
    found = ssl.create_default_context(cafile=str(made / "ca.pem"))
    if name is not None:
        found.load_cert_chain(made / f"{name}.pem", made / f"{name}.key")
    return found


def test_a_note_passes_both_connections_by_certificate(strict: RunningGateway) -> None:
    for key in ("study", "other"):
        answer = strict.ask(body={"id": "n1", "text": TEXT, "key": key}, token=None)
        assert answer.status == 200
        assert "Jane Doe" not in answer.json["text"]
    assert strict.ask("/v1/detect", {"id": "n1", "text": TEXT}, token=None).status == 200
    assert strict.audited()[-1]["shown"] == "certificate"


def test_without_a_certificate_there_is_no_connection(strict: RunningGateway, made: Path) -> None:
    own = strict.tls
    try:
        strict.tls = context(made, None)
        with pytest.raises((ssl.SSLError, ConnectionError, BrokenPipeError)):
            strict.get("/healthz")
    finally:
        strict.tls = own


def test_a_certificate_without_a_project_needs_a_token(strict: RunningGateway, made: Path) -> None:
    own = strict.tls
    try:
        strict.tls = context(made, "gateway")
        assert strict.ask(body={"id": "n1", "text": TEXT, "key": "study"}, token=None).status == 401
        assert strict.ask(body={"id": "n1", "text": TEXT, "key": "study"}).status == 200
    finally:
        strict.tls = own


def asked(server: Server, made: Path, key: str, token: str | None, **parameters: Any) -> str:
    """Ask the server itself; return the text, or what it says when it refuses."""
    with grpc.InferenceServerClient(
        server.options.grpc, ssl=True, root_certificates=str(made / "ca.pem"), private_key=str(made / "client.key"),
        certificate_chain=str(made / "client.pem"),
    ) as client:  # fmt: skip
        headers = {"authorization": f"Bearer {token}"} if token else None
        inputs = note_inputs(text=[TEXT], note_id=["1"], patient=[""], key=[key])
        try:
            found = client.infer("deidentify", inputs, headers=headers, parameters=parameters or None)
        except InferenceServerException as error:
            return str(error)
        return str(found.as_numpy("text").item().decode())


def test_the_server_itself_asks_for_tokens_and_limits_keys(server: Server, made: Path) -> None:
    assert "Jane" not in asked(server, made, "study", OWN.text)
    assert "Seen by Dr. " in asked(server, made, "study", OWN.text)
    for token in (None, "x", new_token().text):
        assert "requires a token" in asked(server, made, "study", token)
    forbidden, unknown, odd = (asked(server, made, key, OWN.text) for key in ("other", "nobody", "../other"))
    assert "cannot use a key of that name" in forbidden
    assert forbidden == unknown == odd
    assert "Seen by Dr. " in asked(server, made, "other", GATEWAYS.text)
    assert "may not detect" in asked(server, made, "", OWN.text, detect=True)
    assert asked(server, made, "", GATEWAYS.text, detect=True) == ""
    # The text of a parameter is as good as a header, and no better.
    assert "requires a token" in asked(server, made, "study", None, authorization="Bearer x")


def test_a_stream_of_notes_takes_the_token_along(server: Server, made: Path) -> None:
    answers: queue.Queue[Any] = queue.Queue()
    for token, good in ((OWN.text, True), (new_token().text, False)):
        with grpc.InferenceServerClient(
            server.options.grpc, ssl=True, root_certificates=str(made / "ca.pem"), private_key=str(made / "client.key"),
            certificate_chain=str(made / "client.pem"),
        ) as client:  # fmt: skip
            client.start_stream(
                lambda result, error: answers.put((result, error)), headers={"authorization": f"Bearer {token}"}
            )
            client.async_stream_infer(
                "deidentify_stream", note_inputs(text=[TEXT], note_id=["1"], patient=[""], key=["study"])
            )
            result, error = answers.get(timeout=60)
            client.stop_stream()
        assert (error is None) == good, error
        assert good or "requires a token" in str(error)
        assert not good or "Jane" not in result.as_numpy("text").item().decode()

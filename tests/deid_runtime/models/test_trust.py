"""Test that models from elsewhere are accepted only with a signature, or when the user allows it."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.models.signature import sign_models
from deid_runtime.models.tagger import load_tagger
from deid_runtime.models.trust import read_trusted
from deid_runtime.serving.graph_models import ServingOptions
from deid_runtime.serving.note_models import NoteOptions
from deid_runtime.serving.repository import write_repository
from deid_runtime.settings import Settings
from deid_runtime.system.signatures import write_signing_pair
from tests.commands import deid
from tests.running_server import changed_models, fast_alone

pytest.importorskip("cryptography")

Content = dict[str, Any]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Return the paths of a private key and its public key."""
    return tmp_path / "maker.pem", write_signing_pair(tmp_path / "maker.pem")


def own_models(folder: Path, change: Callable[[Content], None]) -> Path:
    """Write the packaged models with a changed manifest to ``folder``, as plain files: links cannot be signed."""
    shutil.copytree(find_models(None), folder, dirs_exist_ok=True)
    content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    change(content)
    (folder / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def deafened(content: Content) -> None:
    """Change thresholds so that nothing is found, as an attacker would."""
    for profile in content["profiles"].values():
        profile["thresholds"] = dict.fromkeys(profile["thresholds"], 0.999999)


def unweighted(content: Content) -> None:
    content["graphs"]["v0"]["weight"] = 0.001


def outvoted(content: Content) -> None:
    content["profiles"]["full"]["vote"] = "mean"


def deafened_at_high_recall(content: Content) -> None:
    for profile in content["profiles"].values():
        profile["high_thresholds"] = dict.fromkeys(profile["high_thresholds"], 0.999999)


def renumbered(content: Content) -> None:
    content["profiles"]["full"]["graphs"] = ["v0"]


def renamed(content: Content) -> None:
    content["graphs"]["other"] = content["graphs"]["v0"]


def swapped(content: Content) -> None:
    content["graphs"]["v0"], content["graphs"]["v1"] = (
        content["graphs"]["v1"] | {"heads": content["graphs"]["v0"]["heads"]},
        content["graphs"]["v0"] | {"heads": content["graphs"]["v1"]["heads"]},
    )


def detagged(content: Content) -> None:
    tags = content["graphs"]["v0"]["heads"][0]["tags"]
    tags[0], tags[1] = tags[1], tags[0]


def test_the_models_of_the_package_are_trusted() -> None:
    assert read_trusted(None).folder == find_models(None)
    assert read_trusted(find_models(None)).folder == find_models(None)


def test_a_copy_of_the_models_of_the_package_is_trusted(folder: Path, tmp_path: Path) -> None:
    write_repository(read_manifest(find_models(None)), tmp_path / "served", ServingOptions(), NoteOptions())

    assert read_trusted(tmp_path / "served").profiles.keys() == {"fast", "full"}
    assert read_trusted(changed_models(folder, fast_alone)).profiles.keys() == {"fast"}


@pytest.mark.parametrize(
    "change",
    [deafened, deafened_at_high_recall, unweighted, outvoted, renumbered, renamed, swapped, detagged],
    ids=lambda each: each.__name__,
)
def test_other_models_are_refused_unless_trusted(folder: Path, change: Callable[[Content], None]) -> None:
    changed_models(folder, change)

    with pytest.raises(ModelError, match=r"find nothing.*deid models sign.*--models-key.*--trust-models"):
        read_trusted(folder)
    with pytest.raises(ModelError, match="--trust-models"):
        load_tagger(Settings(models=folder))
    assert read_trusted(folder, trust=True).folder == folder


def test_another_tokenizer_is_refused(folder: Path) -> None:
    shutil.copytree(find_models(None), folder, dirs_exist_ok=True)
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text() + "\n")
    content = json.loads((folder / "manifest.json").read_text())
    content["tokenizer"]["sha256"] = hashlib.sha256(tokenizer.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(content))

    with pytest.raises(ModelError, match="--trust-models"):
        read_trusted(folder)


def test_signed_models_are_taken_with_the_key_of_the_signer(folder: Path, pair: tuple[Path, Path]) -> None:
    own_models(folder, deafened)
    private, public = pair

    sign_models(folder, private)

    assert read_trusted(folder, key=public).folder == folder
    with load_tagger(Settings(models=folder, models_key=public, engine="onnxruntime")) as tagger:
        assert tagger.manifest["profile"] == "fast"
    with pytest.raises(ModelError, match=r"give the public key of the signer"):
        read_trusted(folder)


def test_models_that_somebody_else_signed_are_refused(folder: Path, pair: tuple[Path, Path], tmp_path: Path) -> None:
    own_models(folder, deafened)
    write_signing_pair(tmp_path / "attacker.pem")
    sign_models(folder, tmp_path / "attacker.pem")

    with pytest.raises(ModelError, match=r"maker\.pem\.pub.*do not use them"):
        read_trusted(folder, key=pair[1])


def test_models_that_were_changed_after_signing_are_refused(folder: Path, pair: tuple[Path, Path]) -> None:
    own_models(folder, lambda content: None)
    private, public = pair
    signature = sign_models(folder, private)
    release = folder / "release.json"

    release.write_text(release.read_text() + " ")
    with pytest.raises(ModelError, match="do not use them"):
        read_trusted(folder, key=public)

    sign_models(folder, private)
    read_trusted(folder, key=public)
    for wrong in (b"", signature.read_bytes()[:-1], signature.read_bytes() + b"\0", bytes(64)):
        signature.write_bytes(wrong)
        with pytest.raises(ModelError, match="do not use them"):
            read_trusted(folder, key=public)
    signature.unlink()
    with pytest.raises(ModelError, match="signature cannot be read"):
        read_trusted(folder, key=public)


def test_a_graph_that_was_replaced_after_signing_is_refused(folder: Path, pair: tuple[Path, Path]) -> None:
    shutil.copytree(find_models(None), folder, dirs_exist_ok=True)
    sign_models(folder, pair[0])
    graph = read_manifest(folder).graphs["v0"].file
    graph.write_bytes(graph.read_bytes() + b"\0")

    with pytest.raises(ModelError, match=r"model\.onnx has SHA-256"):
        read_trusted(folder, key=pair[1])
    with pytest.raises(ModelError, match=r"model\.onnx has SHA-256"):
        sign_models(folder, pair[0])


def test_with_a_key_a_copy_of_the_models_of_the_package_needs_a_signature_too(
    folder: Path, pair: tuple[Path, Path]
) -> None:
    own_models(folder, lambda content: None)

    with pytest.raises(ModelError, match="signature cannot be read"):
        read_trusted(folder, key=pair[1])


@pytest.mark.parametrize("settings", [{"models_key": "k"}, {"models_key": "k", "trust_models": True, "models": "m"}])
def test_a_key_that_would_check_nothing_is_refused(settings: Content) -> None:
    with pytest.raises(SettingsError, match="omit --trust-models"):
        load_tagger(Settings(**{name: Path(value) if value is not True else True for name, value in settings.items()}))


def pem(kind: str, content: bytes) -> str:
    return f"-----BEGIN {kind} KEY-----\n{base64.b64encode(content).decode()}\n-----END {kind} KEY-----\n"


def seeded(seed: bytes) -> str:
    """Return a private key with the given 32 bytes, PKCS 8."""
    return pem("PRIVATE", bytes.fromhex("302e020100300506032b657004220420") + seed)


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        pytest.param(seeded(os.urandom(32)), 0o644, "chmod 600", id="shared"),
        pytest.param(seeded(bytes(32)), 0o600, "not random", id="zeros"),
        pytest.param("no key", 0o600, "not a private key for signatures", id="no-key"),
        pytest.param(pem("PRIVATE", b"damaged"), 0o600, "not a private key for signatures", id="damaged"),
        pytest.param(pem("PUBLIC", bytes.fromhex("302a300506032b6570032100") + os.urandom(32)), 0o600,
                     "not a private key for signatures", id="public"),
    ],
)  # fmt: skip
def test_a_private_key_that_will_not_do_is_refused(
    folder: Path, tmp_path: Path, content: str, mode: int, message: str
) -> None:
    own_models(folder, lambda content: None)
    key = tmp_path / "key.pem"
    key.touch(mode=0o600)
    key.write_text(content)
    key.chmod(mode)

    with pytest.raises(SettingsError, match=message):
        sign_models(folder, key)
    assert not (folder / "release.json.sig").exists()


def test_a_random_private_key_written_by_hand_is_taken(folder: Path, tmp_path: Path) -> None:
    """Test that the refused keys are refused for their content, not for their form."""
    own_models(folder, lambda content: None)
    key = tmp_path / "key.pem"
    key.touch(mode=0o600)
    key.write_text(seeded(os.urandom(32)))

    assert sign_models(folder, key).exists()


def test_a_wrong_public_key_is_told_apart(folder: Path, pair: tuple[Path, Path], tmp_path: Path) -> None:
    own_models(folder, lambda content: None)
    sign_models(folder, pair[0])
    (tmp_path / "none.pub").write_text("age1abc\n")

    for key, message in (
        (pair[0], "this is the private key"),
        (tmp_path / "none.pub", "not a public key for signatures"),
        (tmp_path / "gone.pub", "cannot read the key"),
    ):
        with pytest.raises(SettingsError, match=message):
            read_trusted(folder, key=key)


def test_openssl_checks_our_signatures(folder: Path, pair: tuple[Path, Path]) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    own_models(folder, lambda content: None)
    sign_models(folder, pair[0])
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(pair[1]), "-rawin", "-in", "release.json"]

    done = subprocess.run([*command, "-sigfile", "release.json.sig"], cwd=folder, check=False, capture_output=True)

    assert done.returncode == 0, done.stderr


def test_the_commands_make_keys_sign_and_check(folder: Path, tmp_path: Path) -> None:
    own_models(folder, outvoted)
    notes = tmp_path / "notes.jsonl"
    notes.write_text(json.dumps({"id": "1", "text": "Seen by Dr. Marcus Oyelaran."}) + "\n")
    run = ("detect", notes, "--models", folder, "--workers", 1, "--quiet", "-o")

    made = deid("key", "signing-pair", tmp_path / "k.pem")
    signed = deid("models", "sign", folder, "--key", tmp_path / "k.pem")
    refused = deid(*run, tmp_path / "a.jsonl")
    checked = deid(*run, tmp_path / "b.jsonl", "--models-key", tmp_path / "k.pem.pub")
    trusted = deid(*run, tmp_path / "c.jsonl", "--trust-models")

    assert (made.exit_code, signed.exit_code, refused.exit_code) == (0, 0, 2), (made.output, signed.output)
    assert (tmp_path / "k.pem").stat().st_mode & 0o777 == 0o600
    assert "--trust-models" in refused.stderr
    assert not (tmp_path / "a.jsonl").exists()
    assert (checked.exit_code, trusted.exit_code) == (0, 0), (checked.output, trusted.output)
    assert (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()


def test_the_server_is_not_started_on_models_that_are_not_trusted(folder: Path) -> None:
    own_models(folder, deafened)

    for option in ("--models", "--repository"):
        result = deid("serve", option, folder)

        assert result.exit_code == 2
        assert "--trust-models" in result.stderr


def test_workers_do_not_take_models_that_are_not_trusted(folder: Path, tmp_path: Path) -> None:
    own_models(folder, deafened)
    notes = tmp_path / "notes.jsonl"
    notes.write_text(json.dumps({"id": "1", "text": "Seen by Dr. Marcus Oyelaran."}) + "\n")

    result = deid("detect", notes, "--models", folder, "--workers", 2, "--quiet", "-o", tmp_path / "out.jsonl")

    assert result.exit_code == 2
    assert "--trust-models" in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("how", ["replaced", "rewritten", "gone"])
def test_a_file_that_changes_between_check_and_load_is_seen(folder: Path, how: str) -> None:
    shutil.copytree(find_models(None), folder, dirs_exist_ok=True)
    manifest = read_manifest(folder)
    manifest.check_unchanged()
    graph = manifest.graphs["v0"].file
    times = graph.stat()

    if how == "replaced":
        shutil.copy2(graph, folder / "other")
        (folder / "other").replace(graph)
    elif how == "rewritten":
        with graph.open("r+b") as file:
            file.seek(1000)
            file.write(b"\0")
        os.utime(graph, ns=(times.st_atime_ns, times.st_mtime_ns))
    else:
        graph.unlink()

    with pytest.raises(ModelError, match=r"model\.onnx was changed or replaced while"):
        manifest.check_unchanged()


def test_a_manifest_of_any_size_or_depth_is_told_of(folder: Path) -> None:
    for content in ("[" * 200_000, " " * (2**24 + 1)):
        (folder / "manifest.json").write_text(content)
        with pytest.raises(ModelError, match=r"manifest\.json"):
            read_manifest(folder)

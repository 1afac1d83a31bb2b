"""Test signed releases: any changed byte, any added or removed file or folder is refused, with what differs."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deid_runtime.cli.main import main
from deid_runtime.errors import ModelError
from deid_runtime.models.manifest import find_models, read_manifest, served_version
from deid_runtime.models.signature import Origin, differences, read_release, sign_models
from deid_runtime.models.trust import read_trusted
from deid_runtime.serving.graph_models import ServingOptions
from deid_runtime.serving.note_models import NoteOptions
from deid_runtime.serving.repository import write_repository
from deid_runtime.system.signatures import sign, write_signing_pair

pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a signed repository for a server in ``served``, and the keys ``maker.pem`` and ``.pub``."""
    folder = tmp_path_factory.mktemp("release")
    write_signing_pair(folder / "maker.pem")
    manifest = read_manifest(find_models(None)).only("fast")
    write_repository(manifest, folder / "served", ServingOptions(), NoteOptions())
    (folder / "served" / "deid_v0" / "1").mkdir(parents=True)  # the version folder of an ensemble stays empty
    sign_models(folder / "served", folder / "maker.pem", origin=Origin(version="1.2.0"))
    return folder


@pytest.fixture
def served(signed: Path, tmp_path: Path) -> Path:
    """Return a copy of the signed repository that a test may change."""
    return Path(shutil.copytree(signed / "served", tmp_path / "served"))


def found(served: Path, signed: Path) -> list[str]:
    return differences(served, read_release(served, signed / "maker.pem.pub"))


def verify(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["models", "verify", *map(str, arguments)])


def test_a_release_that_nobody_changed_has_no_differences(served: Path, signed: Path) -> None:
    manifest = read_trusted(served, key=signed / "maker.pem.pub")
    result = verify(served, "--key", signed / "maker.pem.pub", "--release", "1.2.0")

    assert found(served, signed) == []
    assert result.exit_code == 0, result.output
    assert manifest.profile_sha256("fast") in result.stdout
    assert served_version(manifest.graphs["v0"].sha256) in result.stdout


def test_a_changed_byte_of_any_file_is_seen(served: Path, signed: Path) -> None:
    """Test a byte in the middle of each file, with size and times as before; the file is named."""
    names = [path.relative_to(served).as_posix() for path in served.rglob("*") if path.is_file()]
    names = [name for name in names if not name.startswith("release.json")]
    assert any(name.endswith("model.py") for name in names)
    assert any(name.endswith("config.pbtxt") for name in names)
    choose = random.Random(1)

    for name in names:
        path = served / name
        whole, times = path.read_bytes(), path.stat()
        place = choose.randrange(len(whole)) if whole else 0
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] if whole else b"1")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert [line.partition(":")[0] for line in found(served, signed)] == [name]
        path.write_bytes(whole)
    assert found(served, signed) == []


def add_program(folder: Path) -> str:
    (folder / "deidentify" / "sitecustomize.py").write_text("")
    return "deidentify/sitecustomize.py: not part"


def add_bytecode(folder: Path) -> str:
    [program] = folder.glob("v0/*/model.py")
    program.with_name("__pycache__").unlink()
    program.with_name("__pycache__").mkdir()
    (program.with_name("__pycache__") / "model.cpython-311.pyc").write_bytes(b"")
    return f"v0/{program.parent.name}/__pycache__/model.cpython-311.pyc: not part"


def add_version(folder: Path) -> str:
    (folder / "v0" / "9").mkdir()
    return "v0/9/: folder, not part"


def remove_config(folder: Path) -> str:
    (folder / "v0" / "config.pbtxt").unlink()
    return "v0/config.pbtxt: missing"


def remove_empty_folder(folder: Path) -> str:
    (folder / "deid_v0" / "1").rmdir()
    return "deid_v0/1/: missing folder"


def link_to_same_content(folder: Path) -> str:
    path = folder / "v0" / "config.pbtxt"
    path.rename(folder.parent / "elsewhere")
    path.symlink_to(folder.parent / "elsewhere")
    return "v0/config.pbtxt: a link"


def replace_by_pipe(folder: Path) -> str:
    (folder / "tokenizer.json").unlink()
    os.mkfifo(folder / "tokenizer.json")
    return "tokenizer.json: neither a file nor a folder"


def lengthen(folder: Path) -> str:
    with (folder / "v0" / "config.pbtxt").open("a") as file:
        file.write("\n")
    return "v0/config.pbtxt: "


CHANGES = [
    add_program, add_bytecode, add_version, remove_config, remove_empty_folder, link_to_same_content, replace_by_pipe,
    lengthen,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.__name__)
def test_what_was_added_removed_or_replaced_is_named(served: Path, signed: Path, change: Callable[[Path], str]) -> None:
    expected = change(served)
    result = verify(served, "--key", signed / "maker.pem.pub")

    assert any(line.startswith(expected) for line in found(served, signed))
    assert result.exit_code == 1
    assert any(line.startswith(expected) for line in result.stdout.splitlines())
    assert "not the signed release" in result.stderr
    with pytest.raises(ModelError):
        read_trusted(served, key=signed / "maker.pem.pub")


def test_the_server_does_not_start_on_a_changed_program(served: Path, signed: Path) -> None:
    add_program(served)

    result = CliRunner().invoke(
        main, ["serve", "--repository", str(served), "--models-key", str(signed / "maker.pem.pub")]
    )

    assert result.exit_code == 2
    assert "sitecustomize.py: not part of the release" in result.stderr


def test_another_signer_another_version_and_no_release_have_their_exit_codes(
    served: Path, signed: Path, tmp_path: Path
) -> None:
    other = write_signing_pair(tmp_path / "other.pem")
    by_other = verify(served, "--key", other)
    other_version = verify(served, "--key", signed / "maker.pem.pub", "--release", "1.3.0")
    (served / "release.json.sig").unlink()
    unsigned = verify(served, "--key", signed / "maker.pem.pub")

    assert (by_other.exit_code, other_version.exit_code, unsigned.exit_code) == (1, 1, 2)
    assert "do not use them" in by_other.stdout
    assert other_version.stdout == "version '1.2.0', expected '1.3.0'\n"
    assert "deid-export release" in unsigned.stderr


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"format": 1, "run": {}}, id="a-run-bundle"),
        pytest.param([], id="no-object"),
        pytest.param({"kind": "deid-runtime models", "format": 2}, id="another-format"),
        pytest.param({"kind": "deid-runtime models", "format": 1, "files": {"a": {}}, "folders": []}, id="no-digest"),
    ],
)
def test_other_signed_content_is_no_release(served: Path, signed: Path, content: object) -> None:
    data = json.dumps(content).encode()
    (served / "release.json").write_bytes(data)
    (served / "release.json.sig").write_bytes(sign(data, signed / "maker.pem"))

    with pytest.raises(ModelError, match="not a release of models that this version can read"):
        read_release(served, signed / "maker.pem.pub")


def test_a_manifest_that_names_files_outside_is_refused(served: Path, signed: Path, tmp_path: Path) -> None:
    graph = next(iter(read_manifest(served).graphs.values())).file
    graph.rename(tmp_path / "model.onnx")
    manifest = served / "manifest.json"
    content = json.loads(manifest.read_text())
    content["graphs"]["v0"]["file"] = "../model.onnx"
    manifest.write_text(json.dumps(content))

    with pytest.raises(ModelError, match=r"'\.\./model\.onnx', which is not a file of the release"):
        sign_models(served, signed / "maker.pem")


def test_links_and_compiled_programs_are_not_signed(signed: Path, served: Path) -> None:
    (served / "link").symlink_to(served / "manifest.json")
    with pytest.raises(ModelError, match="link: a link; only plain files can be signed"):
        sign_models(served, signed / "maker.pem")

    (served / "link").unlink()
    add_bytecode(served)
    with pytest.raises(ModelError, match="__pycache__/: compiled programs"):
        sign_models(served, signed / "maker.pem")


def test_the_digest_of_a_profile_names_what_its_answers_depend_on(tmp_path: Path) -> None:
    ours = read_manifest(find_models(None))
    digests = {profile: ours.profile_sha256(profile) for profile in ours.profiles}
    write_repository(ours.only("fast"), tmp_path / "served", ServingOptions(), NoteOptions())
    served = read_manifest(tmp_path / "served")
    content = json.loads((tmp_path / "served" / "manifest.json").read_text())
    content["profiles"]["fast"]["thresholds"]["name"] = 0.26
    (tmp_path / "served" / "manifest.json").write_text(json.dumps(content))
    changed = read_manifest(tmp_path / "served")

    assert len(set(digests.values())) == 2
    assert served.profile_sha256("fast") == digests["fast"]
    assert changed.profile_sha256("fast") != digests["fast"]
    assert 0 < int(served_version(digests["fast"])) < 2**63
    assert served_version(*digests.values()) == served_version(*reversed(digests.values()))

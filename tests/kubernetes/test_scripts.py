"""Test the scripts that run inside the pods, with the real commands."""

import shutil
import subprocess
from pathlib import Path

import pytest

from deid_runtime.surrogates import write_key
from tests.kubernetes.manifests import FOLDER, ROOT

RUN_FOLDER = FOLDER / "batch" / "run_folder.sh"
INSTALL_MODELS = FOLDER / "models" / "install_models.sh"

#: Held back, because it is spelled with letters of another encoding.
UNREADABLE = '{"id": "n9", "text": "JosÃ© GarcÃ\xada PeÃ±a visto por la Dra. MuÃ±oz IbÃ¡Ã±ez en MÃ¡laga."}\n'
READABLE = '{"id": "n1", "text": "Seen by Dr. Marcus Oyelaran on March 3, 2019."}\n'


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Return folders for notes and output, and a key."""
    notes, output = tmp_path / "notes", tmp_path / "output"
    notes.mkdir()
    output.mkdir()
    key = tmp_path / "study.key"
    write_key(key)
    return notes, output, key


def run_folder(folders: tuple[Path, Path, Path], commands: dict[str, str]) -> int:
    notes, output, key = folders
    options = ["--key", str(key), "--no-models", "--workers", "1", "--quiet"]
    line = ["sh", str(RUN_FOLDER), str(notes), str(output), *options]
    return subprocess.run(line, env=commands, capture_output=True, timeout=120).returncode


def test_what_a_person_must_mend_does_not_stop_the_other_tables(folders, commands) -> None:
    notes, output, _ = folders
    (notes / "a.csv").write_text("no,columns\n1,2\n", encoding="utf-8")
    (notes / "b.jsonl").write_text(READABLE, encoding="utf-8")

    assert run_folder(folders, commands) == 2
    assert (output / "b.jsonl").exists()
    assert not (output / "a.csv").exists()
    (notes / "a.csv").unlink()
    assert run_folder(folders, commands) == 0


def test_a_failure_comes_before_all_else_and_quarantine_is_reported_later(folders, commands, tmp_path) -> None:
    """A command that is ended by a signal must be tried again; a stand-in for ``deid`` ends so for one table, once."""
    notes, output, _ = folders
    (notes / "a.jsonl").write_text(READABLE + UNREADABLE, encoding="utf-8")
    (notes / "b.jsonl").write_text(READABLE, encoding="utf-8")
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    killed = tmp_path / "killed"
    deid = subprocess.run(["which", "deid"], env=commands, capture_output=True, text=True, check=True).stdout.strip()
    once = f'case $2 in *b.jsonl) [ -e "{killed}" ] || {{ : > "{killed}"; exit 137; }} ;; esac'
    (shadow / "deid").write_text(f'#!/bin/sh\n{once}\nexec "{deid}" "$@"\n')
    (shadow / "deid").chmod(0o755)
    environment = {**commands, "PATH": f"{shadow}:{commands['PATH']}"}

    assert run_folder(folders, environment) == 3
    assert "n9" in (output / "a.jsonl.quarantine.jsonl").read_text(encoding="utf-8")
    before = (output / "a.jsonl").stat().st_mtime_ns
    assert run_folder(folders, environment) == 1  # a.jsonl had been finished by the try that failed
    assert "Oyelaran" not in (output / "b.jsonl").read_text(encoding="utf-8")
    assert run_folder(folders, environment) == 0
    assert (output / "a.jsonl").stat().st_mtime_ns == before


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory, commands: dict[str, str]) -> tuple[Path, Path]:
    """Return models with a signature, and the public key."""
    pytest.importorskip("cryptography", reason="needs the extra signing")
    if not (ROOT / "model_repository" / "manifest.json").exists():
        pytest.skip("this checkout has no models")
    folder = tmp_path_factory.mktemp("signed")
    key = folder / "maker.pem"
    shutil.copytree(ROOT / "model_repository", folder / "models")
    for line in (["key", "signing-pair", str(key)], ["models", "sign", str(folder / "models"), "--key", str(key)]):
        subprocess.run(["deid", *line], env=commands, check=True, capture_output=True)
    return folder / "models", folder / "maker.pem.pub"


def install_models(models: Path, key: Path, folder: Path, commands: dict[str, str]) -> int:
    line = ["sh", str(INSTALL_MODELS), str(models), str(key), str(folder)]
    return subprocess.run(line, env=commands, capture_output=True, timeout=120).returncode


def test_signed_models_are_installed_whole(signed, commands, tmp_path) -> None:
    models, key = signed
    (tmp_path / "current.partial").mkdir()  # left by a pod that was ended

    assert install_models(models, key, tmp_path / "current", commands) == 0
    copied = {str(file.relative_to(tmp_path / "current")) for file in (tmp_path / "current").rglob("*")}
    assert copied == {str(file.relative_to(models)) for file in models.rglob("*")}
    assert [file.name for file in tmp_path.iterdir()] == ["current"]
    (tmp_path / "current" / "tokenizer.json").write_text("{}")
    assert install_models(models, key, tmp_path / "current", commands) != 0  # what is there is checked too


def test_changed_models_are_not_installed(signed, commands, tmp_path) -> None:
    models, key = signed
    changed = tmp_path / "changed"
    shutil.copytree(models, changed)
    (changed / "tokenizer.json").write_text("{}")

    assert install_models(changed, key, tmp_path / "current", commands) != 0
    assert not (tmp_path / "current").exists()

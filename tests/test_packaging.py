"""Test what is installed and shipped: locks, metadata and the wheel."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.deid_runtime.audit.notes import annotated, write_notes

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
_PINNED = re.compile(r"([a-z0-9][a-z0-9.-]*)==(\S+?)(?: ; .+)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def pins(lock: Path) -> dict[str, str]:
    return {name: version for name, version, _ in _PINNED.findall(lock.read_text(encoding="utf-8"))}


def names(requirements: list[str]) -> set[str]:
    found = (re.match(r"[\w.-]+", requirement) for requirement in requirements)
    return {re.sub(r"[._]+", "-", match[0]).lower() for match in found if match}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_is_nothing_but_pins_with_hashes(lock):
    text = lock.read_text(encoding="utf-8")

    assert _PINNED.sub("", text) == ""
    assert pins(lock)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_no_lock_holds_torch_or_gpu_libraries(lock):
    held = pins(lock).keys() - {"nvidia-pytriton"}  # the server, without GPU libraries

    assert not [name for name in held if name in ("torch", "triton") or name.startswith(("nvidia-", "cuda-"))]


def test_locks_agree_and_hold_each_other():
    locks = {lock.stem: pins(lock) for lock in LOCKS}

    # The server needs numpy 1, which has no wheels for Python 3.13; locks without the server have numpy 2.
    numpy = {name: lock.pop("numpy").partition(".")[0] for name, lock in locks.items() if "numpy" in lock}

    two = dict.fromkeys(("runtime", "dev", "cli", "review", "gateway"), "2")
    assert numpy == two | dict.fromkeys(("serve", "image", "export", "spark", "ray", "worker"), "1")
    assert locks["runtime"].items() <= locks["dev"].items() <= locks["export"].items()
    assert locks["cli"].items() <= locks["dev"].items()
    assert locks["runtime"].items() <= locks["review"].items() <= locks["dev"].items()
    assert locks["runtime"].items() <= locks["gateway"].items() <= locks["dev"].items()
    assert locks["runtime"].items() <= locks["worker"].items()
    assert locks["runtime"].items() <= locks["image"].items() <= locks["serve"].items() <= locks["export"].items()
    assert all(locks["export"].get(name, version) == version for name, version in locks["build"].items())


def test_locks_hold_what_the_project_needs():
    extras = PROJECT["optional-dependencies"]
    locks = {lock.stem: set(pins(lock)) for lock in LOCKS}

    assert names(PROJECT["dependencies"]) <= locks["runtime"]
    assert names(extras["dev"]) <= locks["dev"]
    assert names(extras["serve"] + extras["client"] + extras["signing"]) <= locks["serve"]
    assert names(extras["signing"]) <= locks["image"]
    assert names(extras["gateway"] + extras["client"]) <= locks["gateway"]
    assert not {"nvidia-pytriton", "pyspark"} & (locks["image"] | locks["gateway"])
    assert names(extras["export"] + extras["audit"] + extras["report"]) - {"torch"} <= locks["export"]


def test_gpus_are_an_extra_and_never_installed_by_default():
    extras = PROJECT["optional-dependencies"]

    assert names(extras["gpu"]) == {"onnxruntime-gpu"}
    assert "onnxruntime-gpu" not in names(PROJECT["dependencies"])


def test_the_runtime_needs_no_training_library():
    assert not pins(ROOT / "requirements" / "runtime.txt").keys() & {
        "transformers",
        "tritonclient",
        "onnx",
        "nncf",
        "optimum",
    }


@pytest.mark.parametrize("path", ["docs/how-to/server.md", "scripts/demo.sh", "scripts/images.sh", "scripts/test.sh"])
def test_what_is_installed_is_pinned_by_hashes(path):
    """Test that hashes pin every package except torch, whose builds differ in their hashes."""
    installs = re.findall(r"pip install [^\n]*", (ROOT / path).read_text(encoding="utf-8"))

    assert installs
    assert [
        each
        for each in installs
        if "--require-hashes" not in each and "--no-deps" not in each and "torch==" not in each
    ] == []


@pytest.mark.parametrize(
    "path", ["README.md", "pyproject.toml", ".ci/run", *(f"requirements/{lock.name}" for lock in LOCKS)]
)
def test_nothing_names_a_registry(path):
    assert "pypi" not in (ROOT / path).read_text(encoding="utf-8").lower()


def test_hints_name_extras_that_can_be_installed_from_a_clone():
    sources = [path for folder in ("deid_runtime", "client", "examples") for path in (ROOT / folder).rglob("*.py")]
    hints = {path: path.read_text(encoding="utf-8") for path in sources}
    named = {
        extra
        for text in hints.values()
        for extra in re.findall(r"install_extra\([\"'](\w+)[\"']\)|'\.\[(\w+)\]'", text)
    }

    assert {a or b for a, b in named} == {
        "audit", "client", "crosswalk", "delta", "gateway", "metrics", "otel", "report", "review", "serve", "signing",
        "spark", "sql",
    }  # fmt: skip
    assert {a or b for a, b in named} <= PROJECT["optional-dependencies"].keys()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="building needs hatchling (requirements/build.txt)")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_packages_their_data_and_the_licence(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    data = [path for path in (ROOT / "deid_runtime" / "data").rglob("*") if path.is_file()]

    assert {f"{package}/py.typed" for package in ("deid_runtime", "deid_client", "deid_export")} <= held
    assert {str(path.relative_to(ROOT)) for path in data} <= held
    assert any(name.endswith("/licenses/LICENSE") for name in held)
    assert not [
        name for name in held if name.startswith(("tests/", "examples/", "benchmarks/")) or "__pycache__" in name
    ]


def test_the_wheel_holds_no_notes(wheel):
    held = zipfile.ZipFile(wheel).namelist()

    assert not [name for name in held if "corpus/" in name or name.endswith("/T1.txt")]


def test_the_wheel_holds_the_models(wheel):
    shipped = [
        path for path in (ROOT / "model_repository").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    if not shipped:
        pytest.skip("this checkout has no models")

    held = set(zipfile.ZipFile(wheel).namelist())

    assert {f"deid_runtime/{path.relative_to(ROOT)}" for path in shipped} <= held


def test_the_audit_needs_nothing_but_the_wheel_and_its_extra(wheel, tmp_path):
    """Test with only the libraries of this environment: our packages other than ``deid_runtime`` cannot be imported."""
    pytest.importorskip("pycrfsuite", reason="the attack trains a CRF")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed", [name for name in archive.namelist() if "deid_runtime/" in name])
    code = (
        "import sys; sys.modules['deid_export'] = None; from deid_runtime.cli.main import main; "
        "main(['audit', 'parrot', 'notes.jsonl', '--leaks', '20', '--iterations', '1'])"
    )
    write_notes(tmp_path / "notes.jsonl", annotated(8))

    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "installed"), "PATH": ""},
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode in (0, 1), done.stderr  # 1: the gate is not passed
    assert "verdict" in done.stdout
    assert "20.0% parrot" in done.stdout


def test_the_wheel_runs_where_there_is_no_checkout(wheel, tmp_path):
    """Test with our files from the wheel only; the libraries are those of this environment."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    code = (
        "import deid_runtime; from deid_runtime.cli.main import main; print(deid_runtime.__file__); "
        "main(['key', 'new', 'site.key'])"
    )
    environment = {"PYTHONPATH": str(tmp_path / "installed"), "PATH": ""}

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )

    assert done.stdout.startswith(str(tmp_path / "installed"))
    assert (tmp_path / "site.key").exists()


def test_examples_hold_the_same_notes_twice():
    lines = (ROOT / "examples" / "notes.jsonl").read_text(encoding="utf-8").splitlines()
    notes = {note["id"]: note for note in map(json.loads, lines)}
    files = {path.stem: path.read_bytes().decode("utf-8") for path in (ROOT / "examples" / "notes").glob("*.txt")}
    records = (ROOT / "examples" / "patients.jsonl").read_text(encoding="utf-8").splitlines()

    assert {name: note["text"] for name, note in notes.items()} == files
    assert {note["patient"] for note in notes.values()} == {json.loads(record)["id"] for record in records}

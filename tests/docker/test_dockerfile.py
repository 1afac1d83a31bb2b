"""Test how the images are built, without a builder: Dockerfile, locks, and what goes into a build."""

import fnmatch
import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.test_packaging import PROJECT, names, pins

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
IMAGES = ("cli", "server-cpu", "server-gpu", "gateway", "worker", "review")
SERVERS = ("server-cpu", "server-gpu", "gateway", "review")


def instructions() -> dict[str, list[tuple[str, str]]]:
    """Return the instructions of each stage of the Dockerfile by its name, after those of the stage it is made from."""
    text = re.sub(r"^#.*\n", "", (DOCKER / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    stages: dict[str, list[tuple[str, str]]] = {}
    current: list[tuple[str, str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        if not word:
            continue
        if word == "FROM":
            parent, _, name = rest.partition(" AS ")
            current = stages[name] = [*stages.get(parent, []), (word, parent)]
        else:
            current.append((word, rest.strip()))
    return stages


STAGES = instructions()


def values(image: str, word: str) -> list[str]:
    """Return what stands behind an instruction in the stage of an image, in order."""
    return [rest for each, rest in STAGES[image] if each == word]


def lock_of(image: str) -> str:
    command = f'source docker/steps/locks.sh && lock_of "{image}"'
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_has_what_a_platform_asks_for(image: str) -> None:
    assert values(image, "USER")[-1] == "1000:1000"
    assert [STAGES[image][-1][0], STAGES[image][-2][0]] != ["USER", "RUN"]
    [check] = values(image, "HEALTHCHECK")
    assert ("CMD" in check) == (image in SERVERS)
    assert (check == "NONE") == (image not in SERVERS)
    labels = " ".join(values(image, "LABEL"))
    assert f'title="deid-{image}"' in labels
    for label in ("description", "version", "revision", "licenses", "vendor", "base.name", "base.digest"):
        assert f"org.opencontainers.image.{label}=" in labels
    assert values(image, "CMD")


@pytest.mark.parametrize("image", IMAGES)
def test_nothing_runs_as_root_after_the_user_is_set(image: str) -> None:
    words = [word for word, _ in STAGES[image]]
    last_user = len(words) - 1 - words[::-1].index("USER")

    assert not {"RUN", "COPY", "ADD"} & set(words[last_user:])


@pytest.mark.parametrize("stage", STAGES)
def test_a_build_fetches_nothing(stage: str) -> None:
    assert values(stage, "ADD") == []
    for base in values(stage, "FROM"):
        assert base == "${BASE_IMAGE}" or base in STAGES
    for command in values(stage, "RUN"):
        assert not re.search(r"https?:|\b(curl|wget|apt|apt-get|apk|dnf|git)\b", command)
        assert "pip" not in command or "--no-index" in command


def test_pip_takes_what_the_locks_name_and_nothing_else() -> None:
    scripts = "".join(path.read_text(encoding="utf-8") for path in sorted((DOCKER / "steps").glob("*.sh")))
    calls = re.findall(r"(?:^pip|/pip\").* (install|wheel) ((?:.*\\\n)*.*)", scripts, re.MULTILINE)

    assert sorted(verb for verb, _ in calls) == ["install", "install", "wheel"]
    assert all("--no-index" in options and "--no-deps" in options for _, options in calls)
    # The one without takes the files that the one before it has compared with their hashes.
    assert ["/opt/checked/*.whl" in options for _, options in calls if "--require-hashes" not in options] == [True]


@pytest.mark.parametrize("image", IMAGES)
def test_the_lock_of_an_image_exists_and_holds_what_it_needs(image: str) -> None:
    extras = PROJECT["optional-dependencies"]
    wanted = {
        "cli": [*extras["signing"], *extras["crosswalk"]],
        "server-cpu": [*extras["serve"], *extras["client"], *extras["signing"]],
        "server-gpu": [*extras["client"], *extras["signing"]],
        "gateway": [*extras["client"], *extras["gateway"]],
        "worker": [*extras["client"], *extras["spark"], *extras["signing"], *extras["crosswalk"]],
        "review": extras["review"],
    }
    held = set(pins(ROOT / "requirements" / f"{lock_of(image)}.txt"))
    left_out = {"openvino"} if image == "cli" else set()

    assert names([*PROJECT["dependencies"], *wanted[image]]) - left_out <= held


def test_the_smallest_image_has_no_library_that_opens_connections() -> None:
    held = pins(ROOT / "requirements" / "cli.txt").keys()

    assert not held & {
        "requests",
        "urllib3",
        "huggingface-hub",
        "grpcio",
        "tritonclient",
        "uvicorn",
        "openvino-telemetry",
    }


def test_no_image_is_unknown_to_the_scripts() -> None:
    assert {image for image in IMAGES if f" AS installed-{image}\n" in (DOCKER / "Dockerfile").read_text()} == set(
        IMAGES
    )
    with pytest.raises(subprocess.CalledProcessError):
        lock_of("nothing")


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for path in (*DOCKER.rglob("*"), *ROOT.glob("scripts/*image*.sh"))
        if path.is_file() and path.suffix != ".pyc"
    ),
    ids=str,
)
def test_no_file_names_a_registry(path: Path) -> None:
    text = path.read_text(encoding="utf-8").lower()

    assert not re.search(r"pypi\.|pythonhosted|docker\.io|ghcr\.io|quay\.io|nvcr\.io|deb\.debian\.org|\bgcr\.io", text)


def is_in_context(path: str) -> bool:
    """Return whether a file goes into a build: the last pattern that fits it, or its folder, decides."""
    taken = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        keeps = pattern.startswith("!")
        parts = path.split("/")
        folders = ["/".join(parts[: length + 1]) for length in range(len(parts))]
        wanted = pattern.lstrip("!")
        if any(_fits(folder, wanted) for folder in folders):
            taken = keeps
    return taken


def _fits(path: str, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatch.fnmatch(path.rpartition("/")[2], pattern[3:])
    return fnmatch.fnmatch(path, pattern) and path.count("/") == pattern.count("/")


def test_a_build_sees_the_sources_and_no_secret() -> None:
    inside = """deid_runtime/pipeline/__init__.py client/deid_client/__init__.py docker/steps/install.sh pyproject.toml
        model_repository/v0/1/model.onnx requirements/cli.txt dist/wheels/click.whl""".split()
    outside = """.git/config site.key deid_runtime/site.key deid_runtime/data/tls/server.pem .venv/bin/python .env
        client/deid_client/.venv-dev/x keys/study.key out/notes.jsonl export/corpus/notes/train/x.txt client/.env
        examples/notes.jsonl tests/conftest.py docker/README.md requirements/.netrc deid_runtime/__pycache__/a.pyc
        dist/other.whl benchmarks/results/x.json""".split()

    assert [path for path in inside if not is_in_context(path)] == []
    assert [path for path in outside if is_in_context(path)] == []


def test_the_gpu_server_closes_what_clients_must_not_reach() -> None:
    [entry] = values("server-gpu", "ENTRYPOINT")
    arguments = json.loads(entry)

    [closed] = [each for each in arguments if each.startswith("--grpc-restricted-protocol=")]
    interfaces, _, header = closed.partition("=")[2].partition(":")
    assert set(interfaces.split(",")) == {"shared-memory", "model-repository", "trace", "logging"}
    assert "\n" in header
    assert "--allow-http=false" in arguments

"""Build and start the images for their tests, with buildah, podman and runc, as root."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from deid_runtime.surrogates import write_key
from tests.running_server import free_ports

ROOT: Final = Path(__file__).resolve().parents[2]
EXAMPLES: Final = ROOT / "examples"
#: Largest size of each image, all layers unpacked, in millions of bytes.
BUDGETS: Final = {"cli": 450, "server-cpu": 900, "gateway": 650, "worker": 1500, "review": 650}
IMAGES: Final = tuple(BUDGETS)
TAG: Final = "test"
PLAIN_BASE: Final = ("deid-test-base", ())
BASES: Final = {"worker": ("deid-test-base-java", ("openjdk-17-jre-headless",))}
TOOLS: Final = ("buildah", "podman", "runc", "debootstrap")
IS_WANTED: Final = bool(os.environ.get("DEID_TEST_IMAGES"))
KEEPS: Final = bool(os.environ.get("DEID_TEST_IMAGES_KEEP"))
HAS_TOOLS: Final = all(shutil.which(tool) for tool in TOOLS)

#: As a cluster would start them: no capability, a read-only root, no new privileges, few files and processes.
LIMITS: Final = (
    "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges",
    "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024",
)  # fmt: skip
#: Without a timer of systemd for the health check: the tests ask it themselves.
DETACHED: Final = ("--detach", "--network", "host", "--health-interval", "disable")
PODMAN: Final = ("podman", "--runtime", "runc")
#: The command of this checkout, outside of any container.
DEID: Final = (sys.executable, "-m", "deid_runtime")
_USER: Final = 1000

Done = subprocess.CompletedProcess[str]


def run(*command: str, timeout_s: float = 900, environment: dict[str, str] | None = None) -> Done:
    """Run a command in the checkout and return what it wrote; fail with its last lines when it fails."""
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False, env=environment
    )
    assert done.returncode == 0, f"{' '.join(command[:12])} ...\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def is_done(*command: str) -> bool:
    """Run a command and return whether it succeeded."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def tell(figure: str) -> None:
    """Print a figure for the documentation; ``pytest -rP`` shows it."""
    sys.stdout.write(f"\n{figure}\n")


def exists(name: str) -> bool:
    return is_done("buildah", "inspect", "--type", "image", name)


def download() -> None:
    """Fill dist/wheels with what the locks of all images name, unless an earlier run that keeps things has done so."""
    if not (KEEPS and (ROOT / "dist" / "wheels").exists()):
        environment = {**os.environ, "PYTHON": sys.executable}
        run("bash", "scripts/images.sh", "wheels", *IMAGES, environment=environment)


def build(image: str) -> str:
    """Build an image in a network namespace without a network, unless it is there to be used again; return its name."""
    name = f"localhost/deid-{image}:{TAG}"
    if image in _built or (KEEPS and exists(name)):
        return name
    base, packages = BASES.get(image, PLAIN_BASE)
    if not exists(base):
        run("bash", "scripts/base_image.sh", base, *packages, timeout_s=1800)
    environment = {**os.environ, "BASE_IMAGE": f"localhost/{base}", "TAG": TAG, "BUILD_OPTIONS": "--isolation chroot"}
    started = time.monotonic()
    run("unshare", "--net", "bash", "scripts/images.sh", "build", image, timeout_s=1800, environment=environment)
    _built.add(image)
    tell(f"deid-{image}: built in {time.monotonic() - started:.0f} s, {size_mb(image):.0f} MB")
    return name


_built: set[str] = set()


def size_mb(image: str) -> float:
    """Return the size of all layers of an image, unpacked, in millions of bytes."""
    told = run("podman", "image", "inspect", "--format", "{{.Size}}", f"localhost/deid-{image}:{TAG}").stdout
    return int(told) / 1e6


def podman(image: str, *command: str, options: tuple[str, ...] = (), timeout_s: float = 300) -> Done:
    """Run a command in a new container of an image, within :data:`LIMITS`, and return what it wrote."""
    return subprocess.run(
        [*PODMAN, "run", "--rm", "--no-healthcheck", *LIMITS, *options, build(image), *command],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def is_healthy(container: str) -> bool:
    """Return the result of the health check of a container's image."""
    return is_done(*PODMAN, "healthcheck", "run", container)


def rows(file: Path) -> list[dict[str, object]]:
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


class Mounted:
    """Folders of the host that belong to the user of the container: keys, certificates, and a place for results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("keys", "tls", "out"):
            (folder / name).mkdir()
        write_key(folder / "keys" / "study.key")
        _make_certificates(folder / "tls")
        self.give()

    @property
    def key(self) -> Path:
        return self.folder / "keys" / "study.key"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def give(self) -> None:
        """Give all files to the user of the container."""
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, _USER, _USER)

    def options(self, *names: str) -> tuple[str, ...]:
        """Return the options that mount these folders, and the examples, read-only but for ``out``."""
        mounts = [f"{EXAMPLES}:/examples:ro"]
        mounts += [f"{self.folder / name}:/{name}{'' if name == 'out' else ':ro'}" for name in names]
        return tuple(each for mount in mounts for each in ("--volume", mount))

    def deidentified(self, out: Path, *options: str) -> list[dict[str, object]]:
        """Return the sample notes as this checkout de-identifies them, outside of any container."""
        given = ("--key", str(self.key), "--allow-shared-key", "--workers", "1", *options)
        run(*DEID, "run", str(EXAMPLES / "notes.jsonl"), "-o", str(out), *given)
        return rows(out)


def _make_certificates(folder: Path) -> None:
    """Write a throw-away authority, and a certificate of a server and one of a client that it signed."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "rsa:2048", "-nodes")
    openssl(*new, "-x509", "-days", "2", "-subj", "/CN=test authority", "-keyout", "ca.pem", "-out", "ca.crt")
    for name, subject in (("tls", "localhost"), ("client", "client")):
        openssl(*new, "-subj", f"/CN={subject}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (folder / "names").write_text(f"subjectAltName=DNS:{subject}\n")
        signed = ("-CA", "ca.crt", "-CAkey", "ca.pem", "-CAcreateserial", "-extfile", "names", "-days", "2")
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signed)
    for path in folder.glob("*.key"):
        path.chmod(0o600)


class Served:
    """A container of ``server-cpu`` on ports of the loopback, for clients with a certificate alone."""

    def __init__(self, mounted: Mounted) -> None:
        self.name = f"deid-test-{os.getpid()}"
        self.port, metrics = free_ports(2)
        network = ("--host", "127.0.0.1", "--grpc-port", str(self.port), "--metrics-port", str(metrics))
        tls = ("--tls-cert", "/tls/tls.crt", "--tls-key", "/tls/tls.key", "--tls-client-ca", "/tls/ca.crt")
        ports = ("--env", f"DEID_HEALTH_PORT={metrics}", "--env", f"DEID_HEALTH_GRPC_PORT={self.port}")
        options = (*DETACHED, "--name", self.name, "--shm-size", "1g", *ports, *mounted.options("keys", "tls"))
        command = ("serve", "--keys", "/keys", "--instances", "1", *network, *tls)
        run(*PODMAN, "run", *LIMITS, *options, build("server-cpu"), *command)

    def wait_healthy(self, timeout_s: float = 240) -> float:
        """Wait until the container is healthy; return the seconds that took."""
        started = time.monotonic()
        while not is_healthy(self.name):
            assert time.monotonic() - started < timeout_s, self.log()
            time.sleep(1)
        return time.monotonic() - started

    def log(self) -> str:
        """Return all that the container has written."""
        done = subprocess.run(["podman", "logs", self.name], capture_output=True, text=True, check=False)
        return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)

    def stop(self) -> int:
        """Stop the container as a cluster does, and return its exit code."""
        run(*PODMAN, "stop", "--time", "60", self.name)
        return int(run("podman", "inspect", "--format", "{{.State.ExitCode}}", self.name).stdout)

    def remove(self) -> None:
        """Remove the container."""
        is_done("podman", "rm", "--force", "--time", "0", self.name)

"""Build the images, start them, and de-identify the sample notes in them. Only with DEID_TEST_IMAGES=1: it takes long.

    apt-get install buildah podman runc debootstrap
    DEID_TEST_IMAGES=1 pytest tests/docker/test_images.py

It runs as root, makes a base image of packages of Debian 12 (scripts/base_image.sh), and builds on it. What it needs of
Python is downloaded once; the builds have no network. DEID_TEST_IMAGES_KEEP=1 keeps the images, and a second run then takes
them as they are.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deid_runtime.surrogates import write_key
from tests.running_server import free_ports

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
USER = 1000
#: Largest size of each image, all layers unpacked, in millions of bytes.
BUDGETS = {"cli": 450, "server-cpu": 900, "worker": 1500, "review": 650}
IMAGES = tuple(BUDGETS)
TAG = "test"
BASES = {"worker": ("deid-test-base-java", ["openjdk-17-jre-headless"])}
PLAIN_BASE = ("deid-test-base", [])
KEEP = bool(os.environ.get("DEID_TEST_IMAGES_KEEP"))

pytestmark = [
    pytest.mark.skipif(not os.environ.get("DEID_TEST_IMAGES"), reason="takes minutes; DEID_TEST_IMAGES=1 runs it"),
    pytest.mark.skipif(
        any(shutil.which(tool) is None for tool in ("buildah", "podman", "runc", "debootstrap")),
        reason="needs buildah, podman, runc and debootstrap",
    ),
]

#: A private key or a file of credentials: text that only such files hold.
SECRETS = re.compile(
    rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40}|AGE-SECRET-KEY-1[A-Z0-9]{50}|^[0-9a-f]{64}\n?\Z"
    rb"|machine \S+ login \S+ password|AKIA[0-9A-Z]{16}[^A-Za-z0-9+/]|://[^/\s:@]{1,64}:[^/\s:@]{1,64}@[a-z]"
)
SECRET_NAMES = re.compile(r"(^|/)(\.git|\.netrc|\.env|\.ssh|id_rsa|id_ed25519|pip\.conf|auth\.json|[^/]*\.(key|p12|pfx))$")


def run(*command: str, timeout: float = 900, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it wrote; fail with its last lines when it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{' '.join(command[:12])} ...\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def exists(name: str) -> bool:
    return subprocess.run(["buildah", "inspect", "--type", "image", name], capture_output=True, check=False).returncode == 0


def podman(image: str, *command: str, options: tuple[str, ...] = (), timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Run a container of an image as a cluster would: no capability, a read-only root, no new privileges, few files."""
    return subprocess.run(
        ["podman", "--runtime", "runc", "run", "--rm", *LIMITS, *options, f"localhost/deid-{image}:{TAG}", *command],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


LIMITS = (
    "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges",
    "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024",
)  # fmt: skip


@pytest.fixture(scope="session")
def wheels() -> None:
    """Fill dist/wheels with what the locks of all images name."""
    run("bash", "scripts/images.sh", "wheels", *IMAGES, env={**os.environ, "PYTHON": sys.executable})


@pytest.fixture(scope="session", params=IMAGES)
def built(request: pytest.FixtureRequest, wheels: None) -> Iterator[str]:
    """Build an image without a network and return its name."""
    yield build(request.param)


def build(image: str) -> str:
    if KEEP and exists(f"deid-{image}:{TAG}"):
        return image
    base, packages = BASES.get(image, PLAIN_BASE)
    if not exists(base):
        run("bash", "scripts/base_image.sh", base, *packages, timeout=1800)
    environment = {**os.environ, "BASE_IMAGE": f"localhost/{base}", "TAG": TAG, "BUILD_OPTIONS": "--isolation chroot"}
    started = time.monotonic()
    run("unshare", "--net", "bash", "scripts/images.sh", "build", image, timeout=1800, env=environment)
    print(f"\ndeid-{image}: built in {time.monotonic() - started:.0f} s, {size_mb(image):.0f} MB")
    return image


def size_mb(image: str) -> float:
    told = run("podman", "image", "inspect", "--format", "{{.Size}}", f"localhost/deid-{image}:{TAG}").stdout
    return int(told) / 1e6


class Mounted:
    """Folders of the host that belong to the user of the container: keys, certificates, and a place for results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("keys", "tls", "out"):
            (folder / name).mkdir()
        write_key(folder / "keys" / "study.key")
        make_certificates(folder / "tls")
        for path in (folder, *folder.rglob("*")):
            os.chown(path, USER, USER)

    @property
    def key(self) -> Path:
        return self.folder / "keys" / "study.key"

    def options(self, *names: str) -> tuple[str, ...]:
        """Return the options that mount these folders, and the examples, read-only but for ``out``."""
        mounts = [f"{EXAMPLES}:/examples:ro"]
        mounts += [f"{self.folder / name}:/{name}{'' if name == 'out' else ':ro'}" for name in names]
        return tuple(each for mount in mounts for each in ("--volume", mount))


def make_certificates(folder: Path) -> None:
    """Write a throw-away authority, and a certificate of a server and one of a client that it signed."""
    quiet = {"cwd": folder, "check": True, "capture_output": True}
    authority = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test authority"]
    subprocess.run([*authority, "-keyout", "ca.pem", "-out", "ca.crt"], **quiet)  # type: ignore[call-overload]
    for name, subject in (("tls", "localhost"), ("client", "client")):
        request = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={subject}", "-keyout", f"{name}.key"]
        (folder / "names").write_text(f"subjectAltName=DNS:{subject}\n")
        subprocess.run([*request, "-out", f"{name}.csr"], **quiet)  # type: ignore[call-overload]
        sign = ["openssl", "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.pem", "-CAcreateserial"]
        subprocess.run([*sign, "-days", "2", "-extfile", "names", "-out", f"{name}.crt"], **quiet)  # type: ignore[call-overload]
    for path in folder.glob("*.key"):
        path.chmod(0o600)


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Mounted:
    return Mounted(tmp_path_factory.mktemp("mounted"))


def deidentified(mounted: Mounted, folder: Path, engine: str) -> list[dict[str, object]]:
    """Return the sample notes as this checkout de-identifies them, outside of any container."""
    out = folder / f"{engine}.jsonl"
    command = (sys.executable, "-m", "deid_runtime", "run", str(EXAMPLES / "notes.jsonl"), "-o", str(out), "--workers", "1")
    options = ("--patients", str(EXAMPLES / "patients.jsonl"), "--key", str(mounted.key), "--allow-shared-key")
    run(*command, *options, "--engine", engine)
    return rows(out)


def rows(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_the_size_stays_within_its_budget(built: str) -> None:
    assert size_mb(built) < BUDGETS[built]


def test_a_container_has_no_rights(built: str) -> None:
    look = "cat /proc/self/status; touch /x /opt/deid/x /usr/share/deid/x /work/x; find / -xdev -perm /6000 -type f"
    done = podman(built, "-c", look, options=("--entrypoint", "/bin/sh", "--network", "none"))

    assert re.search(r"^Uid:\s+1000\s+1000", done.stdout, re.MULTILINE)
    assert re.search(r"^Gid:\s+1000\s+1000", done.stdout, re.MULTILINE)
    for rights in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert re.search(rf"^{rights}:\s+0+$", done.stdout, re.MULTILINE)
    assert done.stderr.count("Read-only file system") == 4
    assert not [line for line in done.stdout.splitlines() if line.startswith("/")]  # files that give others' rights


def test_the_image_says_what_it_is(built: str) -> None:
    [about] = json.loads(run("podman", "image", "inspect", f"localhost/deid-{built}:{TAG}").stdout)
    labels, config = about["Labels"], about["Config"]
    commit = run("git", "rev-parse", "HEAD").stdout.strip()

    assert labels["org.opencontainers.image.title"] == f"deid-{built}"
    assert re.fullmatch("[0-9a-f]{40}", labels["org.opencontainers.image.revision"])
    assert KEEP or labels["org.opencontainers.image.revision"] == commit
    assert re.fullmatch("sha256:[0-9a-f]{64}", labels["org.opencontainers.image.base.digest"])
    assert config["User"] == "1000:1000"
    assert not [line for line in config["Env"] if re.search("(?i)secret|token|password|key=.", line)]


LISTING = """
import importlib.metadata, json, pathlib, re, sys
share = pathlib.Path("/usr/share/deid")
normal = lambda name: re.sub(r"[-_.]+", "-", name).lower()
jars = pathlib.Path("/opt/deid/packages/pyspark/jars")
packages = re.findall(r"^Package: (.+)\\nStatus: install ok installed\\n(?:.+\\n)*?Version: (.+)$",
    pathlib.Path("/var/lib/dpkg/status").read_text(), re.M)
print(json.dumps({
    "sbom": json.loads((share / "sbom.cdx.json").read_text()),
    "provenance": json.loads((share / "provenance.json").read_text()),
    "files": sorted(path.name for path in share.iterdir()),
    "python": sorted([normal(each.name), each.version] for each in importlib.metadata.distributions()),
    "system": packages, "jars": len(list(jars.glob("*.jar"))),
}))
"""


def test_the_bill_of_materials_lists_all_that_is_installed(built: str) -> None:
    done = podman(built, "-I", "-c", LISTING, options=("--entrypoint", "/opt/deid/bin/python", "--network", "none"))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    components = told["sbom"]["components"]
    own = told["sbom"]["metadata"]["component"]

    assert told["sbom"]["bomFormat"] == "CycloneDX"
    listed = {(re.sub(r"[-_.]+", "-", each["name"]).lower(), each.get("version")) for each in [*components, own]}
    assert [each for each in told["python"] if tuple(each) not in listed] == []
    assert len(told["system"]) > 50
    assert [each for each in told["system"] if (re.sub(r"[-_.]+", "-", each[0]), each[1]) not in listed] == []
    assert sum(each.get("purl", "").startswith(("pkg:maven/", "pkg:generic/")) for each in components) == told["jars"]
    assert (told["jars"] > 200) == (built == "worker")
    assert {"deid-v0", "deid-v1", "deid-tokenizer"} <= {each["name"] for each in components}
    unhashed = [each["name"] for each in components if each.get("purl", "").startswith("pkg:pypi/") and not each.get("hashes")]
    assert unhashed in ([], ["deid-runtime"])
    assert {"LICENSE", "NOTICE", "sbom.cdx.json", "provenance.json"} <= set(told["files"])

    needed = {each["name"]: each for each in told["provenance"]["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert re.fullmatch("[0-9a-f]{40}", needed["source"]["digest"]["gitCommit"])
    assert re.fullmatch("[0-9a-f]{64}", needed["base image"]["digest"]["sha256"])
    assert sum(name.startswith("requirements/") for name in needed) == 3


def test_nothing_in_the_image_looks_like_a_key(built: str) -> None:
    container = run("podman", "create", f"localhost/deid-{built}:{TAG}").stdout.strip()
    names, texts = [], []
    try:
        with subprocess.Popen(["podman", "export", container], stdout=subprocess.PIPE) as export:
            assert export.stdout is not None
            with tarfile.open(fileobj=export.stdout, mode="r|") as archive:
                for member in archive:
                    if SECRET_NAMES.search(member.name):
                        names.append(member.name)
                    content = archive.extractfile(member) if member.isfile() and member.size < 2**20 else None
                    if content is not None and (found := SECRETS.search(content.read())):
                        texts.append(f"{member.name}: {len(found[0])} bytes")
    finally:
        run("podman", "rm", container)

    assert names == []
    assert texts == []


def test_the_command_de_identifies_without_a_network(mounted: Mounted, tmp_path: Path, wheels: None) -> None:
    build("cli")
    options = ("--network", "none", *mounted.options("keys", "out"))
    command = ("run", "/examples/notes.jsonl", "--patients", "/examples/patients.jsonl", "--key", "/keys/study.key")

    done = podman("cli", *command, "-o", "/out/cli.jsonl", options=options)

    assert done.returncode == 0, done.stderr
    written = rows(mounted.folder / "out" / "cli.jsonl")
    assert len(written) == len(rows(EXAMPLES / "notes.jsonl"))
    assert written == deidentified(mounted, tmp_path, "onnxruntime")
    assert podman("cli", "verify", "/out/cli.jsonl", options=options).returncode == 0


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_writes_the_formats_of_tables(suffix: str, mounted: Mounted, wheels: None) -> None:
    build("cli")
    options = ("--network", "none", *mounted.options("keys", "out"))

    done = podman(
        "cli", "run", "/examples/notes.jsonl", "--key", "/keys/study.key", "-o", f"/out/table.{suffix}", options=options
    )

    assert done.returncode == 0, done.stderr
    assert (mounted.folder / "out" / f"table.{suffix}").stat().st_size > 1000


class Served:
    """A container of `server-cpu` on ports of the loopback, for clients with a certificate alone."""

    def __init__(self, mounted: Mounted) -> None:
        self.name = f"deid-test-{os.getpid()}"
        self.port, self.metrics_port = free_ports(2)
        network = ("--host", "127.0.0.1", "--grpc-port", str(self.port), "--metrics-port", str(self.metrics_port))
        tls = ("--tls-cert", "/tls/tls.crt", "--tls-key", "/tls/tls.key", "--tls-client-ca", "/tls/ca.crt")
        options = ("--detach", "--name", self.name, "--network", "host", "--shm-size", "1g", *self.ports())
        command = ("serve", "--keys", "/keys", "--instances", "1", *network, *tls)
        run("podman", "--runtime", "runc", "run", *LIMITS, *options, *mounted.options("keys", "tls"),
            f"localhost/deid-server-cpu:{TAG}", *command)  # fmt: skip

    def ports(self) -> tuple[str, ...]:
        """Return the options that tell the health check about the ports."""
        ports = {"DEID_HEALTH_PORT": self.metrics_port, "DEID_HEALTH_GRPC_PORT": self.port}
        return tuple(each for name, port in ports.items() for each in ("--env", f"{name}={port}"))

    def is_healthy(self) -> bool:
        """Return the result of the image's health check."""
        return subprocess.run(["podman", "--runtime", "runc", "healthcheck", "run", self.name], capture_output=True, check=False).returncode == 0

    def wait_healthy(self, timeout_s: float = 240) -> float:
        """Wait until the container is healthy; return the seconds that took."""
        started = time.monotonic()
        while not self.is_healthy():
            assert time.monotonic() - started < timeout_s, self.log()
            time.sleep(1)
        return time.monotonic() - started

    def log(self) -> str:
        done = subprocess.run(["podman", "logs", self.name], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def served(mounted: Mounted, wheels: None) -> Iterator[Served]:
    build("server-cpu")
    server = Served(mounted)
    try:
        print(f"\nhealthy after {server.wait_healthy():.0f} s")
        yield server
    finally:
        subprocess.run(["podman", "rm", "--force", "--time", "40", server.name], capture_output=True, check=False)


def asked(served: Served, mounted: Mounted, out: str, *tls: str) -> subprocess.CompletedProcess[str]:
    """De-identify the sample notes in a container of `worker` with the models of the served container."""
    build("worker")
    command = ("deid", "run", "/examples/notes.jsonl", "--patients", "/examples/patients.jsonl", "--key", "/keys/study.key")
    server = ("--server", f"localhost:{served.port}", "--workers", "1", "--deadline", "20")
    return podman("worker", *command, "-o", f"/out/{out}", *server, *tls,
                  options=("--network", "host", *mounted.options("keys", "tls", "out")))  # fmt: skip


CLIENT = ("--tls-ca", "/tls/ca.crt", "--tls-cert", "/tls/client.crt", "--tls-key", "/tls/client.key")


def test_a_worker_asks_a_server_and_gets_the_same_bytes(served: Served, mounted: Mounted, tmp_path: Path) -> None:
    done = asked(served, mounted, "served.jsonl", *CLIENT)

    assert done.returncode == 0, done.stderr
    assert rows(mounted.folder / "out" / "served.jsonl") == deidentified(mounted, tmp_path, "auto")
    originals = {note["text"] for note in rows(EXAMPLES / "notes.jsonl")}
    assert not [line for text in originals for line in str(text).splitlines() if len(line) > 20 and line in served.log()]


def test_a_worker_without_a_certificate_is_refused(served: Served, mounted: Mounted) -> None:
    assert asked(served, mounted, "refused.jsonl", "--tls-ca", "/tls/ca.crt").returncode != 0
    assert served.is_healthy()


def test_a_container_is_healthy_again_after_its_server_was_killed(served: Served, mounted: Mounted) -> None:
    kill = "import os, pathlib, signal; [os.kill(int(each.parent.name), signal.SIGKILL) for each in pathlib.Path('/proc').glob('[0-9]*/cmdline') if each.read_bytes().partition(b'\\0')[0].endswith(b'/tritonserver')]"
    run("podman", "--runtime", "runc", "exec", served.name, "/opt/deid/bin/python", "-c", kill)

    assert not served.is_healthy()
    print(f"\nhealthy again after {served.wait_healthy():.0f} s")
    assert asked(served, mounted, "again.jsonl", *CLIENT).returncode == 0


def test_spark_de_identifies_a_table_in_a_worker(mounted: Mounted, tmp_path: Path, wheels: None) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    build("worker")
    notes = rows(EXAMPLES / "notes.jsonl")
    columns = {name: [str(note[name]) for note in notes] for name in ("id", "text", "patient")}
    parquet.write_table(pyarrow.table(columns), mounted.folder / "out" / "notes.parquet")
    command = ("deid-spark", "table", "/out/notes.parquet", "/out/spark", "--key", "file:/keys/study.key")
    master = ("--env", "SPARK_LOCAL_IP=127.0.0.1", "--env", "PYSPARK_SUBMIT_ARGS=--master local[1] pyspark-shell")

    done = podman("worker", *command, options=("--network", "none", *master, *mounted.options("keys", "out")))

    assert done.returncode == 0, done.stderr[-3000:]
    found = parquet.read_table(mounted.folder / "out" / "spark" / "held_back=false").to_pydict()
    assert len(found["text"]) == len(notes)
    plain = tmp_path / "plain.jsonl"
    run(sys.executable, "-m", "deid_runtime", "run", str(EXAMPLES / "notes.jsonl"), "-o", str(plain), "--workers", "1",
        "--key", str(mounted.key), "--allow-shared-key")  # fmt: skip
    assert sorted(found["text"]) == sorted(str(note["text"]) for note in rows(plain))


def test_the_pages_open_on_this_machine(wheels: None) -> None:
    build("review")
    [port] = free_ports(1)
    name = f"deid-test-review-{os.getpid()}"
    options = ("--detach", "--name", name, "--network", "host", "--env", f"DEID_HEALTH_PORT={port}")
    run("podman", "--runtime", "runc", "run", *LIMITS, *options, f"localhost/deid-review:{TAG}", "demo", "--port", str(port))
    try:
        deadline = time.monotonic() + 60
        while subprocess.run(["podman", "--runtime", "runc", "healthcheck", "run", name], capture_output=True, check=False).returncode:
            assert time.monotonic() < deadline
            time.sleep(0.5)
        assert f"http://127.0.0.1:{port}/enter?token=" in run("podman", "logs", name).stdout
    finally:
        run("podman", "rm", "--force", name)


@pytest.fixture(scope="session", autouse=True)
def removed_at_the_end() -> Iterator[None]:
    """Remove the images, unless they are to be kept."""
    yield
    if KEEP or not os.environ.get("DEID_TEST_IMAGES"):
        return
    names = [f"localhost/deid-{image}:{TAG}" for image in IMAGES] + [f"localhost/{base}" for base, _ in (PLAIN_BASE, *BASES.values())]
    subprocess.run(["buildah", "rmi", "--force", *names], capture_output=True, check=False)

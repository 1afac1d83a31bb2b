"""Build the images, start them, and de-identify the sample notes in them. Only with DEID_TEST_IMAGES=1: it takes long.

    apt-get install buildah podman runc debootstrap
    DEID_TEST_IMAGES=1 pytest tests/docker/test_images.py

It runs as root, makes a base image of packages of Debian 12 (scripts/base_image.sh), and builds on it. What it needs of
Python is downloaded once; the builds have no network. With DEID_TEST_IMAGES_KEEP=1 the images stay, and a second run
takes them as they are.
"""

import json
import os
import re
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deid_runtime.access.tokens import new_token
from tests.docker.containers import (
    BASES,
    BUDGETS,
    DETACHED,
    EXAMPLES,
    HAS_TOOLS,
    IMAGES,
    IS_WANTED,
    KEEPS,
    LIMITS,
    PLAIN_BASE,
    PODMAN,
    TAG,
    TOOLS,
    Done,
    Mounted,
    Served,
    build,
    download,
    is_done,
    is_healthy,
    podman,
    rows,
    run,
    size_mb,
    tell,
)
from tests.running_server import free_ports

pytestmark = [
    pytest.mark.skipif(not IS_WANTED, reason="takes minutes; DEID_TEST_IMAGES=1 runs it"),
    pytest.mark.skipif(not HAS_TOOLS, reason=f"needs {', '.join(TOOLS)}"),
]

PATIENTS = ("--patients", "/examples/patients.jsonl")
KEY = ("--key", "/keys/study.key")
AUTHORITY = ("--tls-ca", "/tls/ca.crt")
CLIENT = (*AUTHORITY, "--tls-cert", "/tls/client.crt", "--tls-key", "/tls/client.key")

#: A private key or a file of credentials: text that only such files hold.
SECRETS = re.compile(
    rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40}|AGE-SECRET-KEY-1[A-Z0-9]{50}|^[0-9a-f]{64}\n?\Z"
    rb"|machine \S+ login \S+ password|AKIA[0-9A-Z]{16}[^A-Za-z0-9+/]"
)
SECRET_NAMES = re.compile(
    r"(^|/)(\.git|\.netrc|\.env|\.ssh|id_rsa|id_ed25519|pip\.conf|auth\.json|[^/]*\.(key|p12|pfx))$"
)


@pytest.fixture(scope="session", autouse=True)
def _downloaded() -> Iterator[None]:
    """Download what the images need, and remove the images at the end unless they are to be kept."""
    if not (IS_WANTED and HAS_TOOLS):
        yield
        return
    download()
    yield
    if not KEEPS:
        names = [f"deid-{image}:{TAG}" for image in IMAGES] + [base for base, _ in (PLAIN_BASE, *BASES.values())]
        is_done("buildah", "rmi", "--force", *(f"localhost/{name}" for name in names))


@pytest.fixture(scope="session", params=IMAGES)
def built(request: pytest.FixtureRequest) -> str:
    """Build an image and return what it is called here."""
    build(request.param)
    return str(request.param)


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Mounted:
    return Mounted(tmp_path_factory.mktemp("mounted"))


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
    assert KEEPS or labels["org.opencontainers.image.revision"] == commit
    assert re.fullmatch("sha256:[0-9a-f]{64}", labels["org.opencontainers.image.base.digest"])
    assert config["User"] == "1000:1000"
    assert not [line for line in config["Env"] if re.search("(?i)secret|token|password|key=.", line)]


LISTING = """
import importlib.metadata, json, pathlib, re
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
    libraries = [each for each in components if each.get("purl", "").startswith("pkg:pypi/")]
    assert len(libraries) > 15
    assert [each["name"] for each in libraries if not each.get("hashes")] in ([], ["deid-runtime"])
    assert {"LICENSE", "NOTICE", "sbom.cdx.json", "provenance.json"} <= set(told["files"])

    needed = {each["name"]: each for each in told["provenance"]["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert re.fullmatch("[0-9a-f]{40}", needed["source"]["digest"]["gitCommit"])
    assert re.fullmatch("[0-9a-f]{64}", needed["base image"]["digest"]["sha256"])
    assert sum(name.startswith("requirements/") for name in needed) == 3
    tell(f"deid-{built}: {len(components)} components in the bill")


def test_nothing_in_the_image_looks_like_a_key(built: str) -> None:
    container = run("podman", "create", "--no-healthcheck", f"localhost/deid-{built}:{TAG}").stdout.strip()
    names, texts = [], []
    try:
        with subprocess.Popen(["podman", "export", container], stdout=subprocess.PIPE) as export:
            assert export.stdout is not None
            with tarfile.open(fileobj=export.stdout, mode="r|") as archive:
                for member in archive:
                    if SECRET_NAMES.search(member.name):
                        names.append(member.name)
                    file = archive.extractfile(member) if member.isfile() and member.size < 2**20 else None
                    content = file.read() if file else b""
                    # Keys are text. Compiled libraries hold examples of addresses.
                    if b"\0" not in content and (found := SECRETS.search(content)):
                        texts.append(f"{member.name}: {len(found[0])} bytes")
    finally:
        run("podman", "rm", container)

    assert names == []
    assert texts == []


def test_the_command_de_identifies_without_a_network(mounted: Mounted, tmp_path: Path) -> None:
    options = ("--network", "none", *mounted.options("keys", "out"))

    started = time.monotonic()
    done = podman("cli", "run", "/examples/notes.jsonl", *PATIENTS, *KEY, "-o", "/out/cli.jsonl", options=options)
    tell(f"cli: the sample notes in {time.monotonic() - started:.1f} s")

    assert done.returncode == 0, done.stderr
    written = rows(mounted.out / "cli.jsonl")
    assert len(written) == len(rows(EXAMPLES / "notes.jsonl"))
    patients = ("--patients", str(EXAMPLES / "patients.jsonl"))
    assert written == mounted.deidentified(tmp_path / "plain.jsonl", *patients, "--engine", "onnxruntime")
    assert podman("cli", "verify", "/out/cli.jsonl", options=options).returncode == 0


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_reads_and_writes_tables(suffix: str, mounted: Mounted) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import csv, parquet

    notes = rows(EXAMPLES / "notes.jsonl")
    table = pyarrow.table({name: [str(note[name]) for note in notes] for name in ("id", "text", "patient")})
    (csv.write_csv if suffix == "csv" else parquet.write_table)(table, mounted.out / f"notes.{suffix}")
    command = ("run", f"/out/notes.{suffix}", *KEY, "-o", f"/out/table.{suffix}")

    done = podman("cli", *command, options=("--network", "none", *mounted.options("keys", "out")))

    assert done.returncode == 0, done.stderr
    assert (mounted.out / f"table.{suffix}").stat().st_size > 1000


@pytest.fixture(scope="module")
def served(mounted: Mounted) -> Iterator[Served]:
    server = Served(mounted)
    try:
        tell(f"server-cpu: healthy after {server.wait_healthy():.0f} s")
        yield server
    finally:
        server.remove()


def asked(served: Served, mounted: Mounted, out: str, *tls: str) -> Done:
    """De-identify the sample notes in a container of `worker` with the models of the served container."""
    server = ("--server", f"localhost:{served.port}", "--workers", "1", "--deadline", "20")
    command = ("deid", "run", "/examples/notes.jsonl", *PATIENTS, *KEY, "-o", f"/out/{out}", *server, *tls)
    return podman("worker", *command, options=("--network", "host", *mounted.options("keys", "tls", "out")))


def test_a_worker_asks_a_server_and_gets_the_same_bytes(served: Served, mounted: Mounted, tmp_path: Path) -> None:
    done = asked(served, mounted, "served.jsonl", *CLIENT)

    assert done.returncode == 0, done.stderr
    patients = ("--patients", str(EXAMPLES / "patients.jsonl"))
    assert rows(mounted.out / "served.jsonl") == mounted.deidentified(tmp_path / "plain.jsonl", *patients)
    lines = {line for note in rows(EXAMPLES / "notes.jsonl") for line in str(note["text"]).splitlines()}
    assert not [line for line in lines if len(line) > 20 and line in served.log()]


def test_a_worker_without_a_certificate_is_refused(served: Served, mounted: Mounted) -> None:
    assert asked(served, mounted, "refused.jsonl", *AUTHORITY).returncode != 0
    assert is_healthy(served.name)


def test_a_gateway_asks_a_server_and_answers_applications(served: Served, mounted: Mounted) -> None:
    port, monitor = free_ports(2)
    name = f"deid-test-gateway-{os.getpid()}"
    token = new_token()
    access = mounted.folder / "keys" / "access.toml"
    access.touch(mode=0o600)
    access.write_text(
        f'[projects.heart]\nkeys = ["study"]\n[[projects.heart.tokens]]\nid = "{token.id}"\nsha256 = "{token.sha256}"\n'
    )
    mounted.give()
    options = (*LIMITS, *DETACHED, "--name", name, "--env", f"DEID_HEALTH_PORT={monitor}")
    command = (
        "gateway", "serve", "--access", "/keys/access.toml", "--audit-log", "-", "--port", str(port), "--monitor-port",
        str(monitor), "--tls-cert", "/tls/tls.crt", "--tls-key", "/tls/tls.key", "--server", f"localhost:{served.port}",
        "--server-ca", "/tls/ca.crt", "--server-cert", "/tls/client.crt", "--server-key", "/tls/client.key",
    )  # fmt: skip
    run(*PODMAN, "run", *options, *mounted.options("keys", "tls"), build("gateway"), *command)
    try:
        deadline = time.monotonic() + 60
        while not is_done("curl", "--silent", "--fail", f"http://127.0.0.1:{monitor}/readyz"):
            assert time.monotonic() < deadline, run("podman", "logs", name)
            time.sleep(0.5)
        assert is_healthy(name)
        body = {"key": "study", "id": "n1", "text": "Seen by Dr. Marcus Oyelaran on March 3, 2019."}
        asked = ("--header", f"authorization: Bearer {token.text}", "--header", "content-type: application/json")
        url = f"https://localhost:{port}/v1/deidentify"
        answer = run(
            "curl", "--silent", "--cacert", str(mounted.folder / "tls/ca.crt"), *asked, "--data", json.dumps(body), url
        )
        assert "Oyelaran" not in json.loads(answer.stdout)["text"]
        logged = run("podman", "logs", name)
        [row] = [json.loads(line) for line in logged.stdout.splitlines()]
        assert (row["project"], row["outcome"], row["done"]) == ("heart", "ok", 1)
        assert "Oyelaran" not in logged.stdout + logged.stderr
    finally:
        run("podman", "rm", "--force", "--time", "10", name)


KILL_SERVER = """
import os, pathlib, signal
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    if path.read_bytes().partition(b"\\0")[0].endswith(b"/tritonserver"):
        os.kill(int(path.parent.name), signal.SIGKILL)
"""


def test_a_container_is_healthy_again_after_its_server_was_killed(served: Served, mounted: Mounted) -> None:
    run(*PODMAN, "exec", served.name, "/opt/deid/bin/python", "-c", KILL_SERVER)

    deadline = time.monotonic() + 5
    while is_healthy(served.name):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    tell(f"server-cpu: healthy again after {served.wait_healthy():.0f} s")
    assert asked(served, mounted, "again.jsonl", *CLIENT).returncode == 0


def test_a_container_stops_when_it_is_told_to(served: Served) -> None:
    started = time.monotonic()

    assert served.stop() == 0
    tell(f"server-cpu: stopped after {time.monotonic() - started:.0f} s")


def test_spark_de_identifies_a_table_in_a_worker(mounted: Mounted, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    notes = rows(EXAMPLES / "notes.jsonl")
    table = pyarrow.table({name: [str(note[name]) for note in notes] for name in ("id", "text", "patient")})
    parquet.write_table(table, mounted.out / "notes.parquet")
    command = ("deid-spark", "table", "/out/notes.parquet", "/out/spark", "--key", "file:/keys/study.key")
    spark = ("--env", "SPARK_LOCAL_IP=127.0.0.1", "--env", "PYSPARK_SUBMIT_ARGS=--master local[1] pyspark-shell")

    done = podman("worker", *command, options=("--network", "none", *spark, *mounted.options("keys", "out")))

    assert done.returncode == 0, done.stderr[-3000:]
    found = parquet.read_table(mounted.out / "spark" / "held_back=false").to_pydict()
    plain = mounted.deidentified(tmp_path / "plain.jsonl")
    assert sorted(found["text"]) == sorted(str(note["text"]) for note in plain)


def test_the_pages_open_on_this_machine() -> None:
    [port] = free_ports(1)
    name = f"deid-test-review-{os.getpid()}"
    options = (*LIMITS, *DETACHED, "--name", name, "--env", f"DEID_HEALTH_PORT={port}")
    run(*PODMAN, "run", *options, build("review"), "demo", "--port", str(port))
    try:
        deadline = time.monotonic() + 60
        while not is_healthy(name):
            assert time.monotonic() < deadline
            time.sleep(0.5)
        assert f"http://127.0.0.1:{port}/enter?token=" in run("podman", "logs", name).stdout
    finally:
        run("podman", "rm", "--force", "--time", "10", name)

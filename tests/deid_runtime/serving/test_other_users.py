"""Test that other users of the machine get no notes from a server and no right to administer it."""

import os
import re
import resource
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from deid_runtime.serving.confined import confined_command
from deid_runtime.serving.server import Server
from tests.deid_runtime.serving.raw_http2 import call
from tests.deid_runtime.serving.requests import grpc, note_inputs
from tests.running_server import KEY_NAME, processes, shared_memory

ROOT = Path(__file__).resolve().parents[3]

#: Code that becomes another user, tries to read each of its arguments, and prints how that failed.
READ_AS_NOBODY = """
import os, sys
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        print(f"{path}: {error.strerror}")
"""

#: One method of each interface that is closed to clients.
RESTRICTED_METHODS = ("LogSettings", "TraceSetting", "SystemSharedMemoryStatus", "RepositoryIndex")


def arguments(server: Server) -> list[str]:
    return Path(f"/proc/{server.pid}/cmdline").read_bytes().decode().split("\0")


def administration_headers(server: Server) -> list[tuple[str, str]]:
    """Return names and values of the headers that open the restricted interfaces, as the process list shows them."""
    found = [argument for argument in arguments(server) if "-restricted-" in argument.partition("=")[0]]
    matches = [re.fullmatch(r"--[a-z-]+=[a-z,-]+:(.*?)=(.*)", argument, re.DOTALL) for argument in found]
    headers = [(match[1], match[2]) for match in matches if match]
    assert len(headers) == 2
    return headers


def folder(server: Server) -> Path:
    return Path(os.readlink(f"/proc/{server.pid}/cwd"))


def test_only_the_owner_can_open_shared_memory_and_files(triton: Server) -> None:
    regions = [Path("/dev/shm") / name for name in shared_memory(os.getpid())]
    top = folder(triton)

    assert regions
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in [*regions, top]} == {0}


def test_another_user_reads_no_note(triton: Server) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can be another user")
    name = "Zebulonsky"
    with grpc.InferenceServerClient(triton.options.grpc) as client:
        note = {"text": [f"Mr. {name} was seen."], "note_id": ["n"], "patient": ["p"], "key": [KEY_NAME]}
        client.infer("deidentify", note_inputs(**note))
    regions = [f"/dev/shm/{name}" for name in shared_memory(os.getpid())]
    assert any(name.encode() in Path(region).read_bytes() for region in regions)  # the regions are not empty

    memory = [f"/proc/{process.pid}/mem" for process in processes(triton)]
    paths = [*regions, *memory, f"/proc/{triton.pid}/environ", str(folder(triton))]
    # A process of its own changes the user: subprocess would fork for that, beside threads of gRPC (see confined.py).
    tried = subprocess.run([sys.executable, "-c", READ_AS_NOBODY, *paths], capture_output=True, text=True)
    assert tried.stdout.splitlines() == [f"{path}: Permission denied" for path in paths], tried.stderr


def test_no_client_can_send_what_the_process_list_shows_over_grpc(triton: Server) -> None:
    address = ("127.0.0.1", triton.options.grpc_port)
    for name, value in administration_headers(triton):
        for sent in (name, name.lower()):
            header = {f"triton-grpc-protocol-{sent}".encode(): value.encode()}
            for method in RESTRICTED_METHODS:
                answer = call(address, f"/inference.GRPCInferenceService/{method}", header)
                assert b"grpc-status\x010" not in answer
                assert b"grpc-status\x012" in answer  # the server treats the header as a broken request

    answer = call(address, "/inference.GRPCInferenceService/LogSettings", {b"other": b"value"})
    assert b"This protocol is restricted" in answer  # the same request is valid otherwise


@pytest.mark.parametrize("path", ["/v2/logging", "/v2/trace/setting", "/v2/systemsharedmemory/status"])
@pytest.mark.parametrize("fold", ["", " "])
def test_nor_over_http(triton: Server, path: str, fold: str) -> None:
    for name, value in administration_headers(triton):
        header = f"{name}: {value}".replace("\n", f"\n{fold}")
        with socket.create_connection(("127.0.0.1", triton.options.http_port or 0), timeout=5) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n".encode())
            answer = connection.recv(1000)
        assert not answer or b" 403 " in answer or b" 400 " in answer


def test_no_process_leaves_a_core_dump(triton: Server) -> None:
    limits = [resource.prlimit(process.pid, resource.RLIMIT_CORE) for process in processes(triton)]

    # With 1 byte no dump fits, and the kernel also pipes none to a program; with 0 it does.
    assert set(limits) == {(1, 1)}


def test_a_user_who_may_not_raise_limits_can_serve() -> None:
    """Test a core dump limit of 0, as many systems have it, which is below that of the server."""
    drop = ["setpriv", "--bounding-set=-sys_resource"] if os.getuid() == 0 else []
    if drop and shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    code = (
        "import resource, subprocess\n"
        "from deid_runtime.serving.confined import confined_command\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))\n"
        "subprocess.run(confined_command('/bin/cat', '/proc/self/limits'), check=True)\n"
    )

    told = subprocess.run([*drop, sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert told.returncode == 0, told.stderr
    assert re.search(r"Max core file size +0 +0 ", told.stdout)
    assert re.search(r"Max file size +1048576 +1048576 ", told.stdout)


def test_a_confined_process_gives_others_no_right_to_its_files(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o666)\n"
        "os.fchmod(file, 0o700)\n"
        "try: os.fchmod(file, 0o644)\n"
        "except PermissionError: print('refused')\n"
    )

    told = subprocess.run(
        confined_command(sys.executable, "-c", code, str(tmp_path / "file")),
        capture_output=True,
        text=True,
        check=True,
    )

    assert told.stdout == "refused\n"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o700

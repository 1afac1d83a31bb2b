"""Test the server of the wheel: on the loopback only, started again when killed, stopped without traces."""

import dataclasses
import http.client
import ipaddress
import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from deid_runtime.cli.main import main
from deid_runtime.errors import ModelError, SettingsError
from deid_runtime.serving.grpc_probe import answers_grpc
from deid_runtime.serving.server import Server, whole_lines
from deid_runtime.serving.server_options import ServerTls
from deid_runtime.serving.supervisor import RestartPolicy
from deid_runtime.surrogates import write_key
from tests.deid_runtime.serving.requests import grpc, note_inputs, token_inputs, tokens, windows
from tests.running_server import (
    KEY_NAME,
    ServedFolder,
    free_ports,
    installation,
    processes,
    shared_memory,
    started,
    supervised,
)

ROOT = Path(__file__).resolve().parents[3]


def listening(process: psutil.Process) -> set[tuple[str, int]]:
    """Return the addresses where a process listens.

    Empty where only root may see them, as for the processes of the models.
    """
    try:
        connections = process.net_connections(kind="inet")
    except psutil.AccessDenied:
        return set()
    return {(each.laddr.ip, each.laddr.port) for each in connections if each.status == psutil.CONN_LISTEN}


def test_it_listens_on_the_loopback_alone(triton: Server) -> None:
    found = set().union(*map(listening, processes(triton)))
    relayed = listening(psutil.Process())  # the HTTP relay of the server is part of this process

    options = triton.options
    assert all(ipaddress.ip_address(host.removeprefix("::ffff:")).is_loopback for host, _ in found | relayed)
    assert {port for _, port in found} == {options.grpc_port}
    assert {options.http_port, options.metrics_port} <= {port for _, port in relayed}


def test_http_has_no_port_unless_it_is_asked_for(small_folder: ServedFolder) -> None:
    options = small_folder.options()

    with started(options) as server:
        ports = {port for _, port in listening(psutil.Process(server.pid)) | listening(psutil.Process())}

    assert options.grpc_port in ports
    assert not {8000, options.http_port} & ports


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("POST", "/v2/logging", {"log_verbose_level": 1}, id="logging"),
        pytest.param("POST", "/v2/trace/setting", {"trace_level": ["TENSORS"]}, id="trace"),
        pytest.param("GET", "/v2/systemsharedmemory/status", None, id="shared-memory"),
        pytest.param("POST", "/v2/repository/models/v0/unload", None, id="model-repository"),
    ],
)
def test_no_client_may_have_it_log_tensors_read_memory_or_unload_a_model(
    triton: Server, method: str, path: str, body: object
) -> None:
    connection = http.client.HTTPConnection(triton.options.http, timeout=10)
    try:
        connection.request(method, path, json.dumps(body) if body else None)
        answer = connection.getresponse()
        assert answer.status == http.client.FORBIDDEN
        assert b"restricted" in answer.read()
    finally:
        connection.close()


def test_nor_over_grpc(triton: Server) -> None:
    with grpc.InferenceServerClient(triton.options.grpc) as client:
        for change in (
            lambda: client.update_log_settings({"log_verbose_level": 1}),
            lambda: client.update_trace_settings(settings={"trace_level": ["TENSORS"]}),
            client.get_system_shared_memory_status,
            lambda: client.unload_model("v0"),
        ):
            with pytest.raises(grpc.InferenceServerException, match="restricted"):
                change()


@pytest.mark.parametrize("host", ["::1", "localhost", "127.0.0.1:8001"])
def test_an_address_that_the_server_cannot_bind_to_is_told_before(host: str, small_folder: ServedFolder) -> None:
    result = CliRunner().invoke(main, ["serve", "--host", host, "--repository", str(small_folder.repository)])

    assert result.exit_code == 2
    assert "not an IPv4 address" in result.stderr


@pytest.mark.parametrize("options", [(), ("--tls-cert", "--tls-key")])
def test_a_server_that_others_could_use_without_a_certificate_is_refused(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "file.pem"
    file.touch()
    files = [part for option in options for part in (option, str(file))]

    result = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0", "--models", str(tmp_path), *files])

    assert result.exit_code == 2
    assert "can be reached from other machines" in result.stderr
    assert "Give --tls-cert, --tls-key and --tls-client-ca" in result.stderr


def test_nor_does_the_library_start_one(small_folder: ServedFolder) -> None:
    with pytest.raises(SettingsError, match="can be reached from other machines"):
        Server(installation(), dataclasses.replace(small_folder.options(), host="0.0.0.0"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--operator", "tag"], "dates are not shifted"),
        (["--date-shift", "6"], "7 or more"),
        (["--repository", "."], "have no effect; omit them, or omit --repository"),
    ],
)
def test_whole_weeks_that_cannot_be_had_are_told_before(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["serve", "--date-shift-weeks", *arguments])

    assert result.exit_code == 2
    assert message in result.stderr


def test_a_server_that_cannot_be_run_is_told(small_folder: ServedFolder, tmp_path: Path) -> None:
    broken = dataclasses.replace(installation(), server=tmp_path / "tritonserver")

    with pytest.raises(ModelError, match="cannot be started"):
        Server(broken, small_folder.options())


def running(family: list[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that still run; a zombie does not."""
    return [each for each in family if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def test_a_killed_server_is_started_again_on_its_ports_and_a_stopped_one_leaves_nothing(
    small_folder: ServedFolder, caplog: pytest.LogCaptureFixture
) -> None:
    before = shared_memory(os.getpid())
    options = small_folder.options()

    with supervised(options, RestartPolicy(first_delay_s=0.1, poll_s=0.1)) as state:
        first = state.server
        family = processes(first)
        os.kill(first.pid, signal.SIGKILL)
        second = state.wait_started(2)
        assert second.pid != first.pid
        assert second.is_ready()
        assert not running(family)
        family = processes(second)

    assert "was ended by signal 9; restart in 0.1 s" in caplog.text
    assert second.exit_code() == 0
    assert not running(family)
    assert shared_memory(os.getpid()) == before


def test_a_server_that_lost_the_process_of_a_model_is_started_again(
    small_folder: ServedFolder, caplog: pytest.LogCaptureFixture
) -> None:
    with supervised(small_folder.options(), RestartPolicy(first_delay_s=0.1, poll_s=0.1)) as state:
        _, model = processes(state.server)
        model.kill()
        second = state.wait_started(2)
        with grpc.InferenceServerClient(second.options.grpc) as client:
            assert client.infer("v0", token_inputs(tokens(windows()[:1], 128)))

    assert "lost the process of a model; restart in" in caplog.text


def test_the_command_serves_until_it_is_told_to_stop(small_folder: ServedFolder) -> None:
    installation()
    options = small_folder.options()
    command = [sys.executable, "-m", "deid_runtime", "serve", "--repository", str(small_folder.repository)]
    command += ["--grpc-port", str(options.grpc_port), "--metrics-port", str(options.metrics_port)]

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stderr is not None
        ready = process.stderr.readline()
        family = psutil.Process(process.pid).children(recursive=True)
        held = shared_memory(process.pid)
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)

    assert f"ready: gRPC {options.grpc}, metrics {options.metrics}/metrics" in ready
    assert "the server is stopped" in rest
    assert process.returncode == 0
    assert len(family) == 2
    assert held
    assert not [child for child in family if child.is_running()]
    assert not shared_memory(process.pid)


def test_the_command_serves_notes_as_a_run_with_the_same_options_does(tmp_path: Path) -> None:
    installation()
    (tmp_path / "keys").mkdir()
    write_key(tmp_path / "keys" / f"{KEY_NAME}.key")
    (tmp_path / "inclusion.txt").write_text("The clinic of Wexley is open today.\n")
    text = "Ms. Halvorsen, 02139, was seen on March 4, 2014.\nThe clinic of Wexley is open today.\n"
    (tmp_path / "notes.jsonl").write_text(json.dumps({"id": "n1", "patient": "p1", "text": text}) + "\n")
    _, grpc_port, metrics_port = free_ports(3)
    deid = [sys.executable, "-m", "deid_runtime"]
    same = ["--safe-harbor", "--recall", "high", "--threshold", "name=0.3", "--operator", "tag"]
    same += ["--inclusion", str(tmp_path / "inclusion.txt")]
    ports = ["--grpc-port", str(grpc_port), "--metrics-port", str(metrics_port)]
    serve = [*deid, "serve", "--keys", str(tmp_path / "keys"), *ports, "--instances", "1", *same]

    with subprocess.Popen(serve, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stderr is not None
            assert "ready" in process.stderr.readline()
            with grpc.InferenceServerClient(f"127.0.0.1:{grpc_port}") as client:
                served = {name: client.is_model_ready(name) for name in ("v0", "v1")}
                values = {"text": [text], "note_id": ["n1"], "patient": ["p1"], "key": [KEY_NAME]}
                answer = client.infer("deidentify", note_inputs(**values)).as_numpy("text").item().decode()
        finally:
            process.terminate()  # not SIGINT, which a shell in the background has its children ignore
            process.communicate(timeout=60)
    key = str(tmp_path / "keys" / f"{KEY_NAME}.key")
    run = [*deid, "run", str(tmp_path / "notes.jsonl"), "-o", str(tmp_path / "out.jsonl"), "--key", key, *same]
    subprocess.run([*run, "--workers", "1"], check=True, cwd=ROOT, capture_output=True)

    assert process.returncode == 0
    assert served == {"v0": True, "v1": False}  # only the graphs of the profile
    assert answer == json.loads((tmp_path / "out.jsonl").read_text())["text"]
    assert "2014" in answer
    assert "Wexley" in answer
    assert "Halvorsen" not in answer


@pytest.mark.parametrize(
    "option",
    [["--safe-harbor"], ["--dates", "year"], ["--profile", "full"], ["--threshold", "name=0.2"], ["--recall", "high"]],
)
def test_an_option_that_the_repository_settles_is_refused_beside_it(option: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["serve", "--repository", str(tmp_path), *option])

    assert result.exit_code == 2
    assert f"--repository fixes {option[0]}" in result.stderr


def test_serve_takes_what_run_takes_of_finding_surrogates_and_speed() -> None:
    def options_of(command: str) -> set[str]:
        groups = main.commands[command].option_groups  # type: ignore[attr-defined]
        return {
            option.name
            for group in groups
            for option in group.options
            if group.title in ("Finding", "Surrogates", "Speed")
        }

    # A request with one note has no other notes of its patient, no batches, no worker, and no other output file.
    of_a_run = {"no_models", "key", "allow_shared_key", "whole_patients", "crosswalk", "crosswalk_key", "workers",
        "batch_size", "memory", "window_cache"}  # fmt: skip
    assert options_of("run") - of_a_run == options_of("serve") - {"instances"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--models", "{folder}"], "no manifest.json", id="models"),
        pytest.param(["--models", "{damaged}", "--trust-models"], "cannot be read as JSON", id="damaged-models"),
        pytest.param(["--repository", "{folder}"], "no manifest.json", id="repository"),
        pytest.param(["--keys", "{keys}"], "keys", id="keys"),
        pytest.param(["--patients", "{file}", "--grpc-port", "{port}"], "--grpc-port", id="port"),
        pytest.param(["--given-date-shifts", "{file}"], "expected the columns patient and days", id="date-shifts"),
        pytest.param(["--inclusion", "{short}"], "inclusion list", id="inclusion"),
        pytest.param(["--safe-harbor", "--allow-unreadable-forms"], "Safe Harbor does not allow", id="together"),
    ],
)
def test_what_cannot_be_served_is_told_in_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    installation()
    for name in ("keys", "damaged"):
        (tmp_path / name).mkdir()
    (tmp_path / "keys" / "a.key").write_text("no key")
    (tmp_path / "damaged" / "manifest.json").write_text("{")
    (tmp_path / "file.csv").write_text("a,b\n")
    (tmp_path / "short.txt").write_text("x\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        names = {
            "folder": tmp_path, "damaged": tmp_path / "damaged", "keys": tmp_path / "keys",
            "file": tmp_path / "file.csv", "short": tmp_path / "short.txt", "port": taken.getsockname()[1],
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "deid_runtime", "serve", *(each.format(**names) for each in arguments)],
            capture_output=True, text=True, check=False, cwd=ROOT, timeout=120,
        )  # fmt: skip

    assert done.returncode == 2
    [line] = [line for line in done.stderr.splitlines() if "WARNING" not in line]
    assert line.startswith("deid: ")
    assert message in line


def test_the_server_ends_with_a_command_that_is_killed(small_folder: ServedFolder) -> None:
    code = (
        "import sys, time; from tests.running_server import *; from pathlib import Path\n"
        "served = ServedFolder(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "with Server(installation(), served.options()) as server: print(server.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(small_folder.repository), str(small_folder.keys)]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        server = psutil.Process(int(process.stdout.readline()))
        process.kill()

    assert server.wait(timeout=60) is not None or not server.is_running()


def make_certificate(folder: Path) -> ServerTls:
    """Write a self-signed certificate for localhost, which is also its own authority."""
    openssl = shutil.which("openssl") or pytest.skip("openssl is not installed")
    tls = ServerTls(folder / "cert.pem", folder / "key.pem", folder / "cert.pem")
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    files = ("-keyout", str(tls.key), "-out", str(tls.certificate))
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *files]
    subprocess.run(command, check=True, capture_output=True)
    return tls


def test_with_mutual_tls_only_a_client_with_a_certificate_is_served(
    small_folder: ServedFolder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    tls = make_certificate(tmp_path)
    options = dataclasses.replace(small_folder.options(), tls=tls)
    files = {"root_certificates": str(tls.certificate)}
    own = {"private_key": str(tls.key), "certificate_chain": str(tls.certificate)}

    with started(options):
        assert answers_grpc(options, 5)
        assert "tritonserver:" not in caplog.text  # a request leaves no complaint in the log
        with grpc.InferenceServerClient(options.grpc, ssl=True, **files, **own) as client:
            assert client.is_model_ready("v0")
        for others in ({"ssl": True, **files}, {}):
            with (
                grpc.InferenceServerClient(options.grpc, **others) as client,
                pytest.raises(grpc.InferenceServerException, match="UNAVAILABLE"),
            ):
                client.is_model_ready("v0")


def test_the_series_that_the_cluster_watches_are_those_of_the_server(triton: Server) -> None:
    rules = (ROOT / "docker" / "kubernetes" / "common" / "rules.yaml").read_text()
    with urllib.request.urlopen(f"http://{triton.options.metrics}/metrics", timeout=10) as page:
        metrics = page.read().decode()

    named = set(re.findall(r"\bnv_\w+", rules))
    assert "nv_inference_queue_duration_us" in named
    assert {name for name in named if f"# TYPE {name} " not in metrics} == set()
    assert '{model="v0"' in metrics


@pytest.mark.parametrize("name", ["gRPC", "HTTP", "metrics"])
def test_a_taken_port_is_told_with_its_option(triton: Server, small_folder: ServedFolder, name: str) -> None:
    port = {"gRPC": triton.options.grpc_port, "HTTP": triton.options.http_port, "metrics": triton.options.metrics_port}
    options = dataclasses.replace(small_folder.options(), **{f"{name.lower()}_port": port[name]})

    with pytest.raises(SettingsError, match=rf"127.0.0.1:{port[name]} for {name} .*--{name.lower()}-port"):
        Server(installation(), options)


def test_a_model_that_cannot_be_loaded_is_told(small_folder: ServedFolder, tmp_path: Path) -> None:
    shutil.copytree(small_folder.repository, tmp_path / "repository")
    [graph] = (tmp_path / "repository" / "v0").glob("*/model.onnx")
    graph.write_bytes(b"not a graph")
    options = ServedFolder(tmp_path / "repository", tmp_path).options()

    with pytest.raises(ModelError, match="failed to load 'v0' .*export the models again"), started(options):
        pass


def test_lines_of_libraries_are_left_out_of_the_log_and_cut_no_line_of_triton() -> None:
    grpc_line = "E1124 19:05:32.123456789   12345 chttp2_server.cc:1045] UNKNOWN:No address added {created_time:1}\n"
    parser_line = 'E0000 00:00:1795549690.792616    8864 text_format.cc:417] Error parsing: no field named "not".\n'
    own = "E1124 19:05:32.123456 12345 model_lifecycle.cc:642] \"failed to load 'v0' version 1: Internal: export\"\n"
    log = [
        grpc_line,
        own,
        own[:60] + grpc_line,
        parser_line,
        own[60:],
        parser_line,
        "error: creating server\n",
        "| v0 |" + grpc_line,
    ]

    assert list(whole_lines(log)) == [own.rstrip(), own.rstrip(), "error: creating server", "| v0 |"]


def test_no_text_reaches_the_log(triton: Server, caplog: pytest.LogCaptureFixture) -> None:
    secret = "Zebulonsky"
    caplog.set_level(logging.DEBUG)

    with grpc.InferenceServerClient(triton.options.grpc) as client:
        good = {"note_id": [secret], "patient": [secret], "key": [KEY_NAME]}
        assert client.infer("deidentify", note_inputs(text=[f"Mr. {secret} was seen."], **good))
        for text, key in ((f"Mr. {secret}\0", KEY_NAME), (f"Mr. {secret}".encode() + b"\xff", KEY_NAME), ("x", secret)):
            with pytest.raises(grpc.InferenceServerException) as error:
                client.infer("deidentify", note_inputs(text=[text], note_id=[secret], patient=[secret], key=[key]))
            assert secret not in error.value.message()
        bad = tokens(windows()[:1], 128)
        bad[0][0, 1] = 987_654
        with pytest.raises(grpc.InferenceServerException) as error:
            client.infer("v0", token_inputs(bad))
        assert "987654" not in error.value.message()

    assert secret not in caplog.text
    assert "987654" not in caplog.text

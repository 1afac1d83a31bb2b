"""Test the parts of the gateway that need no connection: audit log, subjects, description, command line."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deid_runtime.access.projects import read_access
from deid_runtime.cli.main import main
from deid_runtime.errors import OutputError, SettingsError
from deid_runtime.gateway.audit_log import AuditLog, Digests
from deid_runtime.gateway.clients import subject_text
from deid_runtime.gateway.openapi import description, page
from deid_runtime.gateway.options import ListenTls, check_host, listen
from deid_runtime.gateway.problems import KINDS, ProblemError
from deid_runtime.gateway.serve import server_context
from deid_runtime.gateway.servers import NoteAnswer
from deid_runtime.spans import Note
from tests.deid_runtime.gateway.running_gateway import RunningGateway


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def test_the_audit_log_is_its_owners_and_survives_rotation(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    log.write({"request": "1", "key": "é\u2028\n"})
    path.rename(tmp_path / "audit.1")
    log.write({"request": "2"})
    log.close()

    assert [row["request"] for row in rows(tmp_path / "audit.1")] == ["1"]
    assert [row["request"] for row in rows(path)] == ["2"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="no modes here")
def test_an_audit_log_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").touch(mode=0o644)
    (tmp_path / "audit.jsonl").chmod(0o644)

    with pytest.raises(SettingsError, match="chmod 600"):
        AuditLog(tmp_path / "audit.jsonl")
    with pytest.raises(OutputError, match="cannot be written"):
        AuditLog(tmp_path / "none" / "audit.jsonl")


def test_the_audit_log_may_be_the_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    log = AuditLog(Path("-"))
    log.write({"request": "1"})
    log.write({"request": "2"})
    log.close()

    assert [json.loads(line)["request"] for line in capfd.readouterr().out.splitlines()] == ["1", "2"]
    with pytest.raises(ProblemError, match="no-audit"):  # a closed output is no log
        log.write({"request": "3"})


def test_what_cannot_be_logged_is_not_answered(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = AuditLog(folder / "audit.jsonl")
    shutil.rmtree(folder)

    with pytest.raises(ProblemError, match="no-audit"):
        log.write({"request": "1"})
    with pytest.raises(ProblemError, match="no-audit"):
        AuditLog(Path("/dev/full")).write({"request": "1"})


def test_requests_of_nobody_cannot_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("deid_runtime.gateway.audit_log.time.monotonic", lambda: now[0])
    log = AuditLog(tmp_path / "audit.jsonl")
    for number in range(100):
        log.write_refused({"request": str(number)})
    now[0] = 60.0
    log.write_refused({"request": "later"})
    log.close()

    found = rows(tmp_path / "audit.jsonl")
    assert len(found) == 61
    assert found[-1]["omitted"] == 40


def test_digests_are_keyed_and_differ_by_kind() -> None:
    digests, others = Digests(b"1" * 32), Digests(b"2" * 32)
    note = Note("8841207", "8841207")
    record = digests.record(note, NoteAnswer("x", [], {}))

    assert record == digests.record(note, NoteAnswer("x", [], {}))
    assert len({*record.values(), *others.record(note, None).values()}) == 5
    assert "8841207" not in str(record)
    assert all(re.fullmatch("[0-9a-f]{32}", value) for value in record.values())


SUBJECTS = [
    ("/O=Hospital/OU=Cardiology/CN=etl", "CN=etl,OU=Cardiology,O=Hospital"),
    ('/C=DE/ST=Hessen/L=Gießen/CN=a,b+c "d"', 'CN=a\\,b\\+c \\"d\\",L=Gießen,ST=Hessen,C=DE'),
    ("/DC=org/DC=clinic/UID=u1/CN=#x", "CN=\\#x,UID=u1,DC=clinic,DC=org"),
    ("/O=A+OU=B/CN=c;d<e>", "CN=c\\;d\\<e\\>,OU=B+O=A"),
]


def test_files_that_a_platform_mounts_are_taken_when_they_are_asked_for(tmp_path: Path) -> None:
    access, key = tmp_path / "access.toml", tmp_path / "key.pem"
    access.write_text("[projects.heart]\n")
    key.touch()
    for path in (access, key):
        path.chmod(0o640)  # as a secret of Kubernetes, for the group of the pod
    # The last option is wrong, and is told when all files before it were taken.
    arguments = ["gateway", "serve", "--access", str(access), "--audit-log", "none", "--monitor-host", "here"]

    refused = CliRunner().invoke(main, arguments)
    taken = CliRunner().invoke(main, [*arguments, "--allow-shared-key"])

    assert (refused.exit_code, taken.exit_code) == (2, 2)
    assert "access.toml contains a secret" in refused.stderr
    assert "--monitor-host 'here' is no IP address" in taken.stderr
    with pytest.raises(SettingsError, match="chmod 600"):
        server_context(ListenTls(key, key))
    with pytest.raises(SettingsError, match="PEM files"):
        server_context(ListenTls(key, key, allow_shared=True))


@pytest.mark.parametrize(("subject", "text"), SUBJECTS)
def test_subjects_have_the_form_that_openssl_prints(tmp_path: Path, subject: str, text: str) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made with openssl")
    multi = ["-multivalue-rdn"] if "+OU" in subject else []
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-utf8",
         *multi, "-subj", subject if multi else subject.replace("+", "\\+"), "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    printed = subprocess.run(
        ["openssl", "x509", "-in", "cert.pem", "-noout", "-subject", "-nameopt", "RFC2253,utf8,-esc_msb"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    ).stdout.strip().removeprefix("subject=")  # fmt: skip
    (tmp_path / "key.pem").chmod(0o600)
    context = server_context(ListenTls(tmp_path / "cert.pem", tmp_path / "key.pem", tmp_path / "cert.pem"))

    [found] = context.get_ca_certs()
    assert subject_text(found["subject"]) == printed == text  # type: ignore[arg-type]


def test_a_key_that_others_can_read_or_that_is_none_is_refused(tmp_path: Path) -> None:
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).touch(mode=0o600)
    with pytest.raises(SettingsError, match="PEM files"):
        server_context(ListenTls(tmp_path / "cert.pem", tmp_path / "key.pem"))
    (tmp_path / "key.pem").chmod(0o640)
    with pytest.raises(SettingsError, match="chmod 600"):
        server_context(ListenTls(tmp_path / "cert.pem", tmp_path / "key.pem"))


def test_only_the_loopback_needs_no_tls(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "127.9.9.9", "::1"):
        check_host(host, None)
    for host in ("0.0.0.0", "::", "10.0.0.1"):
        with pytest.raises(SettingsError, match="--tls-cert"):
            check_host(host, None)
        check_host(host, ListenTls(tmp_path, tmp_path))
    with pytest.raises(SettingsError, match="no IP address"):
        check_host("localhost", None)
    with listen("127.0.0.1", 0) as taken, pytest.raises(SettingsError, match="cannot listen"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_the_description_is_valid_and_has_all_kinds_of_problems() -> None:
    validator = pytest.importorskip("openapi_spec_validator")
    content = json.loads(description())

    validator.validate(content)
    told = {int(status) for status in content["paths"]["/v1/deidentify"]["post"]["responses"]}
    assert told == {200} | {kind.status for kind in KINDS.values()} - {404, 405}


def test_answers_are_as_the_description_says(front: RunningGateway) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    content = json.loads(description())

    def check(name: str, value: object) -> None:
        jsonschema.Draft202012Validator({**content, "$ref": f"#/components/schemas/{name}"}).validate(value)

    note = {"id": "n1", "text": "Seen by Dr. Jane Doe on 01/02/2003.", "patient": "p"}
    bad = {"id": "n2", "text": "a\0b"}
    check("Deidentified", front.ask(body={**note, "key": "study"}).json)
    check("DeidentifiedBatch", front.ask(body={"notes": [note, bad], "key": "study"}).json)
    check("Detected", front.ask("/v1/detect", note).json)
    check("DetectedBatch", front.ask("/v1/detect", {"notes": [note, bad]}).json)
    check("Problem", front.ask(body=b"{").json)
    check("Problem", front.ask(body={**bad, "key": "study"}).json)
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in (note, bad))
    answer = front.ask("/v1/deidentify?key=study", lines, headers={"content-type": "application/x-ndjson"})
    for line in answer.content.splitlines():
        check("DeidentifiedLine", json.loads(line))
    assert front.get("/openapi.json").json == content


def test_the_page_loads_nothing_from_elsewhere(front: RunningGateway) -> None:
    answer = front.get("/docs")

    assert answer.content == page()
    assert b"<script" not in answer.content
    assert set(re.findall(rb'(?:src|href)="([^"]*)"', answer.content)) == {b"/docs.css", b"/openapi.json"}
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert front.get("/docs.css").headers["content-type"].startswith("text/css")
    for path in json.loads(description())["paths"]:
        assert path.encode() in answer.content


def test_a_token_is_printed_once_with_its_entry(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["gateway", "token", "new", "--project", "heart", "--expires", "2099-01-31"])
    assert result.exit_code == 0, result.output
    token = result.stdout.strip()
    access = tmp_path / "access.toml"
    access.touch(mode=0o600)
    access.write_text(f'[projects.heart]\nkeys = ["a"]\n\n{result.stderr}')

    assert token not in result.stderr
    known = read_access(access).project_of_token(token)
    assert known is not None
    assert known[0].name == "heart"
    shown = CliRunner().invoke(main, ["gateway", "check", str(access)])
    assert shown.stdout == (
        f"heart: keys a; tokens {known[1].id} (until 2099-01-31); certificates 0; 600 notes a minute\n"
    )
    assert CliRunner().invoke(main, ["gateway", "token", "new", "--project", "a b"]).exit_code == 2
    wrong = ["gateway", "token", "new", "--project", "a", "--expires", "2020-01-01"]
    assert CliRunner().invoke(main, wrong).exit_code == 2


def test_a_gateway_for_other_machines_without_tls_does_not_start(tmp_path: Path) -> None:
    access = tmp_path / "access.toml"
    access.touch(mode=0o600)
    access.write_text("[projects.heart]\n")
    result = CliRunner().invoke(
        main, ["gateway", "serve", "--access", str(access), "--audit-log", "none", "--host", "0.0.0.0"]
    )

    assert result.exit_code == 2
    assert "--tls-cert" in result.stderr

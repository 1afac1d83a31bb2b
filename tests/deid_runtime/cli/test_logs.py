"""Test that ``--log-format json`` makes every line on stderr an object, without ids and text of notes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands import write_rows

ROOT = Path(__file__).resolve().parents[3]
TEXT = "Ms. Halvorsen was seen on 3/11/2019. Call 507-882-4417."


def run(folder: Path, *options: str) -> tuple[int, list[dict[str, Any]]]:
    source = folder / "notes.jsonl"
    rows = [{"id": f"secret-id-{number}", "patient": "secret-patient", "text": TEXT} for number in range(20)]
    rows.append({"id": "secret-id-null", "patient": "", "text": f"{TEXT}\0"})
    write_rows(source, rows)
    command = [sys.executable, "-m", "deid_runtime", "run", str(source), "-o", str(folder / "out.jsonl")]
    done = subprocess.run(
        [*command, "--no-models", "--workers", "2", "--log-format", "json", *options],
        capture_output=True, text=True, check=False, cwd=ROOT, timeout=120,
    )  # fmt: skip
    assert not any(word in done.stderr for word in ("secret", "Halvorsen", "507-882", "882-4417"))
    return done.returncode, [json.loads(line) for line in done.stderr.splitlines()]


def test_every_line_is_an_object_with_its_event(tmp_path: Path) -> None:
    code, lines = run(tmp_path)

    assert code == 1
    assert all({"time", "level", "event"} <= set(line) for line in lines)
    by_event = {line["event"]: line for line in lines}
    assert by_event["run_started"]["workers"] == 2
    assert by_event["progress"]["notes"] == 21
    finished = by_event["run_finished"]
    assert (finished["written"], finished["quarantined"]) == (20, 1)
    assert finished["quarantined_by_stage"] == {"read": 1}
    report = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    assert finished["run"] == report["run"]["id"]
    assert [line["level"] for line in lines if "no-models" in line.get("message", "")] == ["warning"]


def test_an_error_is_an_object_with_its_exit_code(tmp_path: Path) -> None:
    code, lines = run(tmp_path, "--id-column", "missing")

    assert code == 2
    assert (lines[-1]["event"], lines[-1]["level"], lines[-1]["exit_code"]) == ("failed", "error", 2)
    assert "missing" in lines[-1]["message"]


def test_a_file_may_set_it(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text('[run]\nlog-format = "json"\n')
    command = [sys.executable, "-m", "deid_runtime", "run", "--config", str(tmp_path / "site.toml")]
    (tmp_path / "notes.jsonl").write_text(json.dumps({"id": "n", "text": "BP 120/80."}) + "\n")
    done = subprocess.run(
        [*command, str(tmp_path / "notes.jsonl"), "-o", str(tmp_path / "out.jsonl"), "--no-models"],
        capture_output=True, text=True, check=False, cwd=ROOT, timeout=120,
    )  # fmt: skip

    assert done.returncode == 0
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()][-1] == "line"


def test_no_traceback_reaches_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    import logging

    from deid_runtime.system.json_logs import JsonHandler, JsonLines

    logger = logging.getLogger("deid_runtime.test_no_traceback")
    handler = JsonHandler(JsonLines(sys.stderr))
    logger.addHandler(handler)
    logger.propagate = False
    try:
        raise ValueError(TEXT)
    except ValueError:
        logger.exception("a batch failed", extra={"event": "batch_failed", "shard": 3})
    finally:
        logger.removeHandler(handler)

    [line] = capsys.readouterr().err.splitlines()
    assert "Halvorsen" not in line
    assert json.loads(line)["event"] == "batch_failed"
    assert json.loads(line)["shard"] == 3

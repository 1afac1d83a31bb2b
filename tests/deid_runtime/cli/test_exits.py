"""Test the exit codes as the calling process sees them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from deid_runtime.cli.exits import MEANINGS, ExitCode, reported
from deid_runtime.cli.main import main
from deid_runtime.system.stop_signals import STOP_SIGNALS

ROOT = Path(__file__).resolve().parents[3]
TEXT = "Seen on 03/04/2051, call 212-664-9182."
GOOD = json.dumps({"id": "n1", "patient": "p", "text": TEXT})


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    path.write_text(GOOD + "\n")
    return path


def ended(*arguments: object, path: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run the command in its own process, with the package in ``path``."""
    command = [sys.executable, "-m", "deid_runtime", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (path, ROOT / "client", ROOT / "export")))},
    )  # fmt: skip


def run(notes: Path, *more: object, path: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    return ended("run", notes, "-o", notes.with_name("out.jsonl"), "--workers", 1, *more, path=path)


def one_line(stderr: str) -> str:
    """Return the only error line of stderr; fail for a traceback or another number of errors."""
    assert "Traceback" not in stderr
    assert "Exception ignored" not in stderr
    [line] = [line for line in stderr.splitlines() if re.match(r"(deid|Error): (?!no --key|WARNING|NOTICE)", line)]
    return line


def test_every_code_has_a_meaning_and_the_help_shows_all() -> None:
    text = CliRunner().invoke(main, ["--help"]).output

    assert set(MEANINGS) == set(ExitCode)
    assert {128 + number for number in STOP_SIGNALS} < set(ExitCode)
    assert [
        code for code, meaning in MEANINGS.items() if not re.search(rf"^ +{code:d}  {re.escape(meaning)}$", text, re.M)
    ] == []


def test_0_for_notes_that_are_written(notes: Path) -> None:
    assert run(notes, "--no-models").returncode == 0


def test_1_for_notes_that_are_held_back_and_for_an_output_that_was_changed(notes: Path) -> None:
    notes.write_text(f'{GOOD}\n{{"id": "n2"}}\n')

    held_back = run(notes, "--no-models")
    (notes.with_name("out.jsonl")).write_text("{}\n")
    differs = ended("verify", notes.with_name("out.jsonl"))

    assert (held_back.returncode, differs.returncode) == (1, 1)
    assert "1 notes were held back" in held_back.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--no-such-option"], "No such option", id="option"),
        pytest.param(["--profile", "best"], "is not one of", id="value"),
        pytest.param(["--key", "{notes}"], "key", id="key"),
        pytest.param(["--models", "{folder}"], "no manifest.json in", id="models"),
        pytest.param(["--config", "{notes}"], "not TOML", id="config"),
        pytest.param(["--id-column", "note"], "no column", id="input"),
        pytest.param(["--crosswalk", "{folder}/x.age"], "--crosswalk-key", id="options-that-go-together"),
    ],
)
def test_2_for_wrong_use_and_input(notes: Path, arguments: list[str], message: str) -> None:
    done = run(notes, *(each.format(notes=notes, folder=notes.parent) for each in arguments))

    assert done.returncode == 2
    assert message in one_line(done.stderr)
    assert not notes.with_name("out.jsonl").exists()


def test_2_for_a_full_disk_behind_stdout(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(json.dumps({"id": "n1", "text": TEXT, "spans": []}) + "\n")
    command = [sys.executable, "-m", "deid_runtime", "evaluate"]

    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*command, "--gold", tmp_path / "gold.jsonl", "--found", tmp_path / "gold.jsonl"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip

    assert done.returncode == 2
    assert "No space left on device" in one_line(done.stderr)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the package without models, so that a test can remove files."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(ROOT / "deid_runtime", folder / "deid_runtime", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_3_for_models_that_are_not_installed(notes: Path, installed: Path) -> None:
    done = run(notes, path=installed)

    assert done.returncode == 3
    assert f"no manifest.json in {installed}" in one_line(done.stderr)


@pytest.mark.parametrize("file", ["inclusion.txt", "templates.txt", "lexicon/*.xz", "surrogates/us_cities.tsv"])
def test_3_for_a_file_of_the_installation_that_is_missing(notes: Path, installed: Path, file: str) -> None:
    missing = sorted((installed / "deid_runtime" / "data").glob(file))[0]
    kept = missing.rename(missing.with_suffix(".kept"))
    try:
        done = run(notes, "--no-models", path=installed)
    finally:
        kept.rename(missing)

    assert done.returncode == 3, done.stderr
    assert str(missing) in one_line(done.stderr)
    assert not notes.with_name("out.jsonl").exists()


def test_3_for_an_unexpected_error_which_shows_where_and_no_value() -> None:
    @click.command()
    @reported
    def command() -> None:
        raise ValueError("Ms. Quist, 87")

    result = CliRunner().invoke(command)

    assert result.exit_code == 3
    assert "unexpected ValueError" in result.stderr
    assert "Quist" not in result.output


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_128_and_the_number_of_a_signal(notes: Path, number: signal.Signals) -> None:
    notes.write_text("".join(GOOD.replace("n1", f"n{each}") + "\n" for each in range(20_000)))
    command = [sys.executable, "-m", "deid_runtime", "run", notes, "-o", notes.with_name("out.jsonl"), "--no-models"]

    with subprocess.Popen([*command, "--workers", "1"], stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        deadline = time.monotonic() + 60
        while not list(notes.parent.glob(".out.jsonl.partial-*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)

    assert process.returncode == 128 + number
    assert one_line(stderr) == f"deid: stopped by {number.name}; nothing was written"
    assert not notes.with_name("out.jsonl").exists()


def commands_to_a_closed_pipe(tmp_path: Path) -> Iterator[tuple[list[str], int]]:
    gold, found = tmp_path / "gold.jsonl", tmp_path / "found.jsonl"
    gold.write_text(json.dumps({"id": "n1", "text": TEXT, "spans": [{"start": 8, "end": 18, "label": "DATE"}]}) + "\n")
    found.write_text(json.dumps({"id": "n1", "spans": []}) + "\n")
    yield ["evaluate", "--gold", str(gold), "--found", str(found)], 141
    yield ["version"], 141
    yield ["--help"], 141
    yield ["run", "--help"], 141
    yield ["corpus", "resynthesize", str(gold), "-o", str(tmp_path / "corpus")], 141
    yield ["verify", str(tmp_path / "corpus")], 141
    yield ["run", str(gold), "-o", str(tmp_path / "out.jsonl"), "--no-models", "--workers", "1"], 0
    yield ["verify", str(tmp_path / "missing")], 2


def test_streams_that_are_closed_early_give_no_traceback_and_the_documented_code(tmp_path: Path) -> None:
    for arguments, code in commands_to_a_closed_pipe(tmp_path):
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-m", "deid_runtime", *arguments]
        if code == 141:
            done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
            assert "Traceback" not in done.stderr
            assert "Exception ignored" not in done.stderr
            assert "defect" not in done.stderr
        else:
            done = subprocess.run(command, stdout=writing, stderr=writing, check=False)
        os.close(writing)
        assert done.returncode == code, arguments
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 1
    assert ended("verify", tmp_path / "corpus").returncode == 0


def test_the_help_of_run_tells_the_exit_codes() -> None:
    text = " ".join(CliRunner().invoke(main, ["run", "--help"]).output.split())

    for told in ("129 SIGHUP", "130 Ctrl-C", "131 SIGQUIT", "143 SIGTERM", "deid verify OUT"):
        assert told in text

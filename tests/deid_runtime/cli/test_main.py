import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from deid_runtime.cli.main import main
from deid_runtime.formats import FORMATS
from tests.commands import deid, read_rows, write_rows

TEXT = "Seen on 03/04/2051, call 212-664-9182."


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps({"id": f"n{number}", "patient": "p", "text": TEXT}) + "\n" for number in (1, 2)))
    return path


def run(*arguments: object, **more: Any) -> Result:
    return deid("run", "--no-models", "--workers", 1, *arguments, **more)


def test_a_key_makes_runs_repeatable_and_is_not_shown(notes: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    assert deid("key", "new", key).exit_code == 0

    first = run(notes, "-o", tmp_path / "a.jsonl", "--key", key)
    second = run(notes, "-o", tmp_path / "b.jsonl", env={"DEID_RUN_KEY": str(key)})
    third = run(notes, "-o", tmp_path / "c.jsonl")

    assert [result.exit_code for result in (first, second, third)] == [0, 0, 0]
    assert read_rows(tmp_path / "a.jsonl") == read_rows(tmp_path / "b.jsonl") != read_rows(tmp_path / "c.jsonl")
    assert "no --key" in third.stderr
    assert "no --key" not in first.stderr
    secret = key.read_text().strip()
    assert secret not in first.output + (tmp_path / "a.jsonl.manifest.json").read_text()


def test_data_stays_off_stdout_and_a_missing_model_is_said_aloud(notes: Path, tmp_path: Path) -> None:
    result = run(notes, "-o", tmp_path / "out.jsonl")

    assert result.stdout == ""
    assert "WARNING: --no-models" in result.stderr
    assert "2 notes written, 0 quarantined" in result.stderr
    assert "2051" not in result.stderr


def test_quarantined_notes_give_exit_code_1(notes: Path, tmp_path: Path) -> None:
    with notes.open("a") as file:
        file.write('{"id": "n3"}\n')

    result = run(notes, "-o", tmp_path / "out.jsonl", "--quiet")

    assert result.exit_code == 1
    assert len(read_rows(tmp_path / "out.jsonl")) == 2
    assert read_rows(tmp_path / "out.jsonl.quarantine.jsonl") == [
        {"id": "n3", "stage": "read", "reason": "text is missing; expected a string"}
    ]
    assert "1 notes were held back" in result.stderr


def test_notes_of_patients_that_do_not_stand_together_are_told_of(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    rows = [{"id": number, "patient": patient, "text": TEXT} for number, patient in enumerate("aba")]
    write_rows(notes, rows)

    result = run(notes, "-o", tmp_path / "out.jsonl", "--whole-patients")

    assert result.exit_code == 1
    assert [row["id"] for row in read_rows(tmp_path / "out.jsonl.quarantine.jsonl")] == ["2"]
    assert "1 notes were held back because the notes of their patient are not consecutive" in result.stderr
    assert "run all notes of their patients again" not in result.stderr


def test_whole_patients_without_patients_are_told_of(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text(json.dumps({"id": 1, "text": TEXT}) + "\nno note\n")

    result = run(notes, "-o", tmp_path / "out.jsonl", "--whole-patients")

    assert "no note has a patient id" in result.stderr
    assert "run all notes of their patients again" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--id-column", "note"], "no column 'note'; found 3 columns, among them id, patient, text", id="column"
        ),
        pytest.param(
            ["--patient-column", "pid"],
            "no column 'pid'; found 3 columns, among them id, patient, text",
            id="patient-column",
        ),
        pytest.param(["--key", "{key}"], "key", id="key"),
        pytest.param(["--patients", "{key}"], "patient records are read only from", id="patients"),
        pytest.param(["--threshold", "nose=0.5"], "unknown head in 'nose=0.5'", id="head"),
        pytest.param(["--threshold", "name=1.5"], "between 0 and 1", id="threshold"),
        pytest.param(["--threshold", "name"], "between 0 and 1", id="threshold-without-value"),
        pytest.param(["--date-shift", "0"], "Invalid value for '--date-shift'", id="date-shift"),
        pytest.param(["--format", "docx"], "Invalid value for '--format'", id="format"),
        pytest.param(["--workers", "0"], "Invalid value for '--workers'", id="workers"),
        pytest.param(["--operator", "hide"], "Invalid value for '--operator'", id="operator"),
    ],
)
def test_wrong_usage_gives_exit_code_2_and_no_output(
    notes: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    key = tmp_path / "wrong.key"
    key.write_text("too short")

    result = run(notes, "-o", tmp_path / "out.jsonl", *(argument.format(key=key) for argument in arguments))

    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.jsonl", "wrong.key"]


def test_missing_inputs_and_existing_outputs_give_exit_code_2(notes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("mine")

    assert run(tmp_path / "gone.jsonl", "-o", out).exit_code == 2
    assert "--overwrite" in run(notes, "-o", out).stderr
    assert out.read_text() == "mine"
    assert run(notes, "-o", out, "--overwrite").exit_code == 0
    assert len(read_rows(out)) == 2


def test_patients_are_looked_up_and_no_match_is_said_aloud(notes: Path, tmp_path: Path) -> None:
    patients = tmp_path / "patients.csv"
    patients.write_text("id,given,family\nother,Ayodele,Brandtberg\n")

    result = run(notes, "-o", tmp_path / "out.jsonl", "--patients", patients)

    assert result.exit_code == 0
    assert "no note belongs to a patient of --patients" in result.stderr


def test_detect_and_evaluate(notes: Path, tmp_path: Path) -> None:
    spans = [{"start": 8, "end": 18, "label": "DATE"}, {"start": 25, "end": 37, "label": "PHONE"}]
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(json.dumps({"id": f"n{n}", "text": TEXT, "spans": spans}) + "\n" for n in (1, 2, 3)))
    with notes.open("a") as file:
        file.write('{"id": "n3", "text": null}\n')

    found = deid("detect", notes, "-o", tmp_path / "spans.jsonl", "--no-models", "--workers", 1)
    tables = deid("evaluate", "--gold", gold, "--found", tmp_path / "spans.jsonl")
    figures = deid("evaluate", "--gold", gold, "--found", tmp_path / "spans.jsonl", "--json")

    assert found.exit_code == 1
    assert [row["id"] for row in read_rows(tmp_path / "spans.jsonl")] == ["n1", "n2"]
    assert (tmp_path / "spans.jsonl").stat().st_mode & 0o077 == 0
    assert tables.exit_code == figures.exit_code == 0, tables.output
    assert "3 notes" in tables.stdout
    assert json.loads(figures.stdout)["quarantined"] == 1
    assert "2051" not in tables.output + figures.output


def test_evaluate_writes_errors_in_context_only_when_asked_and_says_so_aloud(tmp_path: Path) -> None:
    gold, found, errors = tmp_path / "gold.jsonl", tmp_path / "found.jsonl", tmp_path / "errors.jsonl"
    spans = [{"start": 8, "end": 18, "label": "DATE"}, {"start": 25, "end": 37, "label": "PHONE"}]
    gold.write_text(json.dumps({"id": "n1", "text": TEXT, "spans": spans}) + "\n")
    found.write_text(json.dumps({"id": "n1", "spans": spans[:1]}) + "\n")

    plain = deid("evaluate", "--gold", gold, "--found", found)
    asked = deid("evaluate", "--gold", gold, "--found", found, "--errors", errors, "--context-words", 1)
    again = deid("evaluate", "--gold", gold, "--found", found, "--errors", errors)
    to_terminal = deid("evaluate", "--gold", gold, "--found", found, "--errors", "/dev/stdout")

    assert plain.exit_code == asked.exit_code == 0
    assert "NOTICE" not in plain.stderr
    assert plain.stdout == asked.stdout
    assert "errors.jsonl has 1 errors with WORDS OF THE NOTES" in asked.stderr
    assert [row["context"] for row in read_rows(errors)] == ["call [[999-999-9999]]."]
    assert errors.stat().st_mode & 0o777 == 0o600
    assert again.exit_code == to_terminal.exit_code == 2
    assert "already exists" in to_terminal.stderr
    assert "9182" not in plain.output + asked.output + again.output + to_terminal.output


def test_evaluate_without_a_note_that_was_lost_is_an_error(notes: Path, tmp_path: Path) -> None:
    gold, found = tmp_path / "gold.jsonl", tmp_path / "found.jsonl"
    gold.write_text('{"id": "n1", "text": "a", "spans": []}\n')
    found.write_text("")

    result = deid("evaluate", "--gold", gold, "--found", found)

    assert result.exit_code == 2
    assert "n1" in result.stderr


def commands(group: click.Group = main, above: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield f"{above}{name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{above}{name} ")


def test_every_command_and_option_has_help() -> None:
    assert {name for name, _ in commands()} == {
        "run", "detect", "evaluate", "audit", "audit bound", "audit parrot", "audit sample", "evaluate agreement",
        "evaluate forms", "evaluate tune", "bundle", "bundle make", "bundle verify", "check",
        "completion", "config", "config check", "config show",
        "corpus", "corpus resynthesize", "crosswalk", "crosswalk read", "demo", "gateway", "gateway check",
        "gateway serve", "gateway token", "gateway token new", "jobs", "jobs status", "probe", "review",
        "review create", "review export", "review open", "key", "key new", "key pair",
        "key signing-pair", "models", "models sign", "models verify", "serve", "verify", "version",
    }  # fmt: skip
    for name, command in commands():
        assert command.help, name
        for parameter in command.params:
            assert isinstance(parameter, click.Argument) or parameter.to_info_dict().get("help"), (name, parameter.name)


@pytest.mark.parametrize(
    ("command", "sections"),
    [
        (
            "run",
            [
                "Input:",
                "Output:",
                "Finding:",
                "Surrogates:",
                "Release:",
                "Server:",
                "Speed:",
                "Resuming and progress:",
                "Watching:",
                "Other options:",
            ],
        ),
        (
            "detect",
            [
                "Input:",
                "Output:",
                "Finding:",
                "Server:",
                "Speed:",
                "Resuming and progress:",
                "Watching:",
                "Other options:",
            ],
        ),
        ("evaluate", ["Input:", "Output:", "Other options:", "Commands:"]),
        ("gateway serve", ["Access:", "Servers:", "Network:", "Limits:", "Other options:"]),
        ("serve", ["Service:", "Network:", "Finding:", "Surrogates:", "Speed:", "Other options:"]),
    ],
)
def test_the_help_shows_options_in_named_sections(command: str, sections: list[str]) -> None:
    lines = deid(*command.split(), "--help").output.splitlines()

    assert [line for line in lines if line.endswith(":") and not line.startswith(" ")] == sections


def test_the_help_shows_commands_in_named_sections() -> None:
    lines = deid("--help").output.splitlines()

    sections = {line.strip(": ") for line in lines if line.endswith(":") and not line.startswith(" ")}
    assert {"Notes", "Service", "Keys, models and settings", "Corpora and releases", "This program"} < sections
    assert {name for name in main.commands if any(line.startswith(f"  {name} ") for line in lines)} == set(
        main.commands
    )


def test_the_environment_variable_of_an_option_is_called_as_the_option() -> None:
    for name, command in commands():
        for option in (parameter for parameter in command.params if isinstance(parameter, click.Option)):
            assert f"--{str(option.name).replace('_', '-')}" in option.opts, (name, option.name)


def test_every_format_can_be_named() -> None:
    [option] = [parameter for parameter in main.commands["run"].params if parameter.name == "format"]

    assert isinstance(option.type, click.Choice)
    assert set(option.type.choices) == set(FORMATS)


def test_version() -> None:
    assert deid("version").stdout == deid("--version").stdout
    assert deid("version").stdout.startswith("deid ")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['deid', 'run', '--help']\n"
        "from deid_runtime.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('numpy', 'openvino', 'onnxruntime', 'pyarrow', 'regex', 'rich', 'tokenizers')"
        " if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ}
    )

    assert result.stdout.splitlines()[-1] == "[]"


def test_the_module_is_the_command() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "deid_runtime", "version"], capture_output=True, text=True, check=True
    )

    assert result.stdout == deid("version").stdout


@pytest.mark.skipif(os.name != "posix", reason="no modes here")
def test_a_key_that_others_can_read_is_refused_unless_allowed(notes: Path, tmp_path: Path) -> None:
    key = tmp_path / "site.key"
    CliRunner().invoke(main, ["key", "new", str(key)])
    key.chmod(0o644)

    refused = run(notes, "-o", tmp_path / "out.jsonl", "--key", key)
    allowed = run(notes, "-o", tmp_path / "out.jsonl", "--key", key, "--allow-shared-key")

    assert refused.exit_code == 2
    assert f"chmod 600 {key}" in refused.stderr
    assert allowed.exit_code == 0


def test_a_key_of_zeros_is_refused_also_where_sharing_is_allowed(notes: Path, tmp_path: Path) -> None:
    key = tmp_path / "site.key"
    key.touch(mode=0o600)
    key.write_text("00" * 32)

    result = run(notes, "-o", tmp_path / "out.jsonl", "--key", key, "--allow-shared-key")

    assert result.exit_code == 2
    assert "not random" in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.skipif(os.name != "posix", reason="no modes here")
@pytest.mark.parametrize("command", ["corpus resynthesize", "audit parrot"])
def test_every_command_with_a_key_refuses_one_that_others_can_read(tmp_path: Path, command: str) -> None:
    pytest.importorskip("pycrfsuite")
    key = tmp_path / "site.key"
    CliRunner().invoke(main, ["key", "new", str(key)])
    key.chmod(0o640)
    annotated = tmp_path / "annotated.jsonl"
    annotated.write_text(json.dumps({"id": "1", "patient": "p", "text": "x", "spans": []}) + "\n")
    more = ["-o", str(tmp_path / "out")] if command.startswith("corpus") else []

    result = CliRunner().invoke(main, [*command.split(), str(annotated), "--key", str(key), *more])

    assert result.exit_code == 2
    assert "chmod 600" in result.stderr


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_run_without_standard_streams_mixes_nothing_into_its_output(notes: Path, tmp_path: Path, closed: str) -> None:
    command = f"{sys.executable} -m deid_runtime run {notes} -o {tmp_path}/out.jsonl --no-models --workers 2 {closed}"

    done = subprocess.run(["sh", "-c", command], check=False)

    assert done.returncode == 0
    assert len(read_rows(tmp_path / "out.jsonl")) == 2
    assert deid("verify", tmp_path / "out.jsonl").exit_code == 0


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("command", ["run", "detect"])
def test_a_pipe_is_read_once_and_whole(notes: Path, tmp_path: Path, command: str, compress: bool) -> None:
    data = notes.read_bytes()
    arguments = [sys.executable, "-m", "deid_runtime", command, "/dev/stdin", "--format", "jsonl", "--no-models"]

    done = subprocess.run(
        [*arguments, "-o", tmp_path / "out.jsonl"],
        input=gzip.compress(data) if compress else data,
        capture_output=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert len(read_rows(tmp_path / "out.jsonl")) == 2


def test_pipes_in_folders_are_left_alone_with_a_notice(notes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    notes.rename(folder / "notes.jsonl")
    os.mkfifo(folder / "pipe.jsonl")

    result = run(folder, "-o", tmp_path / "out", "--quiet")

    assert result.exit_code == 0
    assert "NOTICE: 1 pipes, sockets or devices in the input folders were not read" in result.stderr
    assert json.loads((tmp_path / "out.manifest.json").read_text())["inputs"]["special_files_skipped"] == 1

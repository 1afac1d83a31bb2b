"""Test configuration files: what they set, what overrides them, and their errors."""

import json
import tomllib
from pathlib import Path

import click
import pytest

from deid_runtime.cli.config_file import AMBIGUOUS, COMMANDS, options_of, read_config
from deid_runtime.cli.main import main
from deid_runtime.errors import SettingsError
from tests.commands import deid

#: The commands that read a configuration file.
CONFIGURED = {command: main.commands[command] for command in COMMANDS}
TEXT = "Seen on 03/04/2051, call 212-664-9182."


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "site.key").touch()
    path = tmp_path / "site.toml"
    path.write_text(
        'profile = "full"\nno-models = true\n'
        '[run]\nkey = "site.key"\noperator = "tag"\nbatch-size = 8\ndeadline = 5\nkeep-column = ["ward", "unit"]\n'
        "threshold = {name = 0.2, age = 0.3}\n[serve]\ngrpc-port = 9001\n"
    )
    return path


def shown(*arguments: object, **more: object) -> dict[str, tuple[object, str]]:
    """Return the output of `deid config show`: values and sources, by name."""
    result = deid("config", "show", *arguments, **more)  # type: ignore[arg-type]
    assert result.exit_code == 0, result.output
    table = result.output.splitlines()[1:]
    values = next(iter(tomllib.loads(result.output).values()))
    sources = {line.split()[1] if line[0] == "#" else line.split()[0]: line.rpartition("# ")[2] for line in table}
    return {name: (values.get(name), source) for name, source in sources.items()}


def test_a_file_sets_options_of_all_commands_and_of_one(config: Path) -> None:
    found = shown("run", "--config", config)

    assert found["profile"] == ("full", "file")
    assert found["no-models"] == (True, "file")
    assert found["key"] == (str(config.parent / "site.key"), "file")
    assert found["deadline"] == (5, "file")
    assert found["keep-column"] == (["ward", "unit"], "file")
    assert found["threshold"] == ({"name": 0.2, "age": 0.3}, "file")
    assert found["recall"] == ("balanced", "default")
    assert found["patients"] == (None, "default")
    assert shown("detect", "--config", config)["profile"] == ("full", "file")
    assert shown("serve", "--config", config)["grpc-port"] == (9001, "file")
    assert "key" not in shown("evaluate", "--config", config)


def test_the_command_line_goes_before_the_environment_and_that_before_the_file(config: Path) -> None:
    env = {"DEID_RUN_OPERATOR": "redact", "DEID_RUN_BATCH_SIZE": "9", "DEID_CONFIG": str(config)}

    found = shown("run", "--batch-size", 10, "--use-models", "--threshold", "name=0.9", env=env)

    assert found["operator"] == ("redact", "environment")
    assert found["batch-size"] == (10, "command line")
    assert found["no-models"] == (False, "command line")
    assert found["threshold"] == ({"name": 0.9}, "command line")
    assert found["profile"] == ("full", "file")


def test_what_is_shown_is_a_table_of_a_file(config: Path) -> None:
    first = deid("config", "show", "run", "--config", config).output
    again = config.with_name("again.toml")
    again.write_text(first)

    assert {name: value for name, (value, _) in shown("run", "--config", again).items()} == {
        name: value for name, (value, _) in shown("run", "--config", config).items()
    }


def test_a_run_does_what_the_file_says_and_the_command_line_wins(tmp_path: Path) -> None:
    notes, config = tmp_path / "notes.jsonl", tmp_path / "site.toml"
    notes.write_text(json.dumps({"id": "n1", "text": TEXT}) + "\n")
    config.write_text('no-models = true\nworkers = 1\nquiet = true\n[run]\noperator = "tag"\nkeep-ids = true\n')

    by_file = deid("run", notes, "-o", tmp_path / "a.jsonl", "--config", config)
    by_both = deid("run", notes, "-o", tmp_path / "b.jsonl", "--config", config, "--operator", "redact", "--no-quiet")
    undone = deid("run", notes, "-o", tmp_path / "c.jsonl", "--config", config, "--no-keep-ids")

    assert (by_file.exit_code, by_both.exit_code, undone.exit_code) == (0, 0, 0), by_file.output + by_both.output
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {"id": "n1", "text": "Seen on [DATE-1], call [PHONE-1]."}
    assert "[DATE" not in (tmp_path / "b.jsonl").read_text()
    assert "1 notes written" not in by_file.stderr
    assert "1 notes written" in by_both.stderr
    assert json.loads((tmp_path / "c.jsonl").read_text())["id"] != "n1"


@pytest.mark.parametrize(
    ("content", "key", "expectation"),
    [
        pytest.param("profil = 'full'", "profil", "not an option of any command; did you mean profile?", id="name"),
        pytest.param("[run]\ndate_shift = 5", "run.date_shift", "did you mean date-shift?", id="underscore"),
        pytest.param("[detect]\nkey = 'a'", "detect.key", "not an option of `deid detect`", id="command"),
        pytest.param("[runs]\nkey = 'a'", "runs", "unknown table; expected one of [run], [detect]", id="table"),
        pytest.param("run = 5", "run", "expected a table", id="no-table"),
        pytest.param("profile = 'best'", "profile", "expected one of fast, full", id="choice"),
        pytest.param("profile = true", "profile", "expected one of fast, full", id="choice-type"),
        pytest.param("safe-harbor = 'yes'", "safe-harbor", "expected true or false", id="flag"),
        pytest.param("[run]\nworkers = '4'", "run.workers", "expected a whole number from 1", id="number"),
        pytest.param("[run]\nworkers = 1.5", "run.workers", "expected a whole number from 1", id="fraction"),
        pytest.param("[run]\nworkers = true", "run.workers", "expected a whole number from 1", id="number-flag"),
        pytest.param("[run]\nworkers = 0", "run.workers", "expected a whole number from 1", id="range"),
        pytest.param("[serve]\nhttp-port = 70000", "serve.http-port", "from 1 to 65535", id="port"),
        pytest.param("[run]\ndeadline = 0", "run.deadline", "expected a number over 0", id="open-range"),
        pytest.param("[run]\nkey = 'gone.key'", "run.key", "the path of a file that exists", id="path"),
        pytest.param("[run]\nkeep-column = 'a'", "run.keep-column", "expected a list of strings", id="list"),
        pytest.param("[run]\nkeep-column = [1]", "run.keep-column", "a list, each a string", id="entry"),
        pytest.param("threshold = {nose = 0.5}", "threshold", "heads of the models", id="head"),
        pytest.param("threshold = {name = 2}", "threshold", "a number between 0 and 1", id="threshold"),
        pytest.param("metrics-port = 9000", "metrics-port", "into a table: [run], [detect], [serve]", id="ambiguous"),
        pytest.param("config = 'other.toml'", "config", "not an option of any command", id="config"),
    ],
)  # fmt: skip
def test_a_fault_names_file_key_and_expectation(tmp_path: Path, content: str, key: str, expectation: str) -> None:
    config = tmp_path / "site.toml"
    config.write_text(content + "\n")

    for arguments in (("config", "check", config), ("run", config, "-o", tmp_path / "out", "--config", config)):
        result = deid(*arguments)

        assert result.exit_code == 2, result.output
        [line] = result.stderr.splitlines()
        assert line.startswith(f"deid: {config}: {key}: ")
        assert expectation in line


def test_all_faults_are_told_and_no_value_is_repeated(tmp_path: Path) -> None:
    config = tmp_path / "site.toml"
    secret = "5f" * 32
    config.write_text(f'profile = "{secret}"\n[run]\nkey = "{secret}"\nworkers = "{secret}"\n')

    result = deid("config", "check", config)

    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 3
    assert secret not in result.output


@pytest.mark.parametrize("content", [b"profile = full", b"\xff", b"a = 1\na = 2", b"[" * 9_000, b"x = 1\n" * 500_000])
def test_a_file_that_is_not_toml_is_told(tmp_path: Path, content: bytes) -> None:
    config = tmp_path / "site.toml"
    config.write_bytes(content)

    result = deid("config", "check", config)

    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "site.toml" in result.stderr


def test_a_good_file_is_told_to_be_good(config: Path) -> None:
    result = deid("config", "check", config)

    assert result.exit_code == 0
    assert "deid run: " in result.stdout
    assert f"{config}: no mistakes found" in result.stdout


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    env = {"DEID_AUTHORIZATION": "Bearer hush", "DEID_RUN_CROSSWALK_KEY": "AGE-SECRET-KEY-1HUSH"}

    result = deid("config", "show", "run", "--id-column", "5f" * 32, env=env)

    assert result.exit_code == 0
    assert "hush" not in result.output.lower()
    assert "5f5f" not in result.output
    assert "DEID_AUTHORIZATION is set" in result.output


def test_options_that_differ_between_commands_are_those_that_need_a_table() -> None:
    def meaning(option: click.Option) -> str:
        return str(option.help)

    known = {command: options_of(main.commands[command]) for command in COMMANDS}
    shared = {name for name in known["serve"] if name in known["run"]}
    types = {name for name in shared if type(known["serve"][name].type) is not type(known["run"][name].type)}

    assert set(AMBIGUOUS) <= shared
    assert not types
    # The help of these options differs between the two commands, with the same meaning.
    reworded = {
        "engine",
        "threshold",
        "patients",
        "operator",
        "date-shift",
        "date-shift-weeks",
        "dates",
        "safe-harbor",
        "profile",
        "window-borders",
    }
    assert {name for name in shared if meaning(known["serve"][name]) != meaning(known["run"][name])} <= {
        *AMBIGUOUS,
        *reworded,
    }


def test_every_option_can_stand_in_a_file(tmp_path: Path) -> None:
    for name in ("file", "folder.d"):
        (tmp_path / name).mkdir() if name.endswith(".d") else (tmp_path / name).touch()
    lines = []
    for command in COMMANDS:
        lines.append(f"[{command}]")
        for name, option in options_of(main.commands[command]).items():
            lines.append(f"{name} = {example(option)}")
    config = tmp_path / "site.toml"
    config.write_text("\n".join(lines) + "\n")

    found = read_config(config, CONFIGURED)

    for command in COMMANDS:
        assert found[command].keys() == {option.name for option in options_of(main.commands[command]).values()}


def example(option: click.Option) -> str:
    """Return a valid value for an option, as TOML."""
    if option.is_flag:
        return "true"
    if option.name == "threshold":
        return "{name = 0.5}"
    if option.multiple:
        return '["a"]'
    if isinstance(option.type, click.Choice):
        return f'"{option.type.choices[-1]}"'
    if isinstance(option.type, click.IntRange | click.FloatRange):
        return "2"
    if isinstance(option.type, click.Path):
        return '"file"' if option.type.file_okay else '"folder.d"'
    return '"a"'


def test_the_example_is_right_and_each_of_its_lines_is_one_setting() -> None:
    path = Path(__file__).resolve().parents[3] / "examples" / "site.toml"

    found = read_config(path, CONFIGURED)

    assert found["run"] == {
        "profile": "full", "patient_column": "mrn", "keep_column": ["ward"], "date_shift_weeks": True,
        "threshold": ["name=0.2"],
    }  # fmt: skip
    assert found["serve"] == {"profile": "full", "grpc_port": 9001}
    assert found["evaluate"] == {}


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_config(tmp_path, CONFIGURED)

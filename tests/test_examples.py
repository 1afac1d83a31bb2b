"""Test the examples for schedulers: neither Airflow nor cron is needed."""

import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from deid_runtime.cli.main import main
from deid_runtime.cli.run import run

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def dag(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the names of the DAG file, read with a surrogate for the few names of Airflow that it takes."""

    class FailError(Exception):
        pass

    def decorator(*args: Any, **settings: Any) -> Any:
        return args[0] if args else lambda function: function

    def task(function: Any) -> Any:
        found[function.__name__] = function
        return lambda *_: None

    found: dict[str, Any] = {"fail": FailError}
    names: dict[str, dict[str, Any]] = {
        "airflow": {},
        "airflow.decorators": {"dag": decorator, "task": task},
        "airflow.exceptions": {"AirflowException": OSError, "AirflowFailException": FailError},
        "airflow.models": {"Variable": {"deid_in": "/in", "deid_out": "/out", "deid_key": "/key"}},
    }
    for name, values in names.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
    return {**runpy.run_path(str(EXAMPLES / "airflow_dag.py")), **found}


def test_the_airflow_example_gives_options_that_the_command_has(dag: dict[str, Any]) -> None:
    command = dag["run_command"]("2026-11-24", "/in", "/out", "/key")
    options = {option for parameter in run.params for option in parameter.opts}

    assert command[:3] == ["deid", "run", "/in/2026-11-24"]
    assert {part for part in command if part.startswith("--")} <= options
    assert dag["say_progress"]('{"notes": 7, "quarantined": 1, "left_s": 60}\n') == "7 notes, 1 quarantined, 60 s left"
    assert dag["say_progress"]("deid: note\n") == "deid: note"


@pytest.mark.parametrize(("code", "error"), [(0, None), (1, None), (2, "fail"), (3, OSError), (137, OSError)])
def test_the_airflow_example_repeats_what_can_be_repeated(
    dag: dict[str, Any], command_that_ends: Callable[..., None], code: int, error: Any
) -> None:
    command_that_ends(code)
    if error is None:
        assert dag["deidentify"]("2026-11-24") == "/out/2026-11-24"
    else:
        with pytest.raises(dag["fail"] if error == "fail" else error):
            dag["deidentify"]("2026-11-24")


@pytest.fixture
def command_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that puts a ``deid`` into the path that ends with the given codes, one after the other."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def make(*codes: int) -> None:
        script = tmp_path / "bin" / "deid"
        cases = "".join(f"  {number}) exit {code} ;;\n" for number, code in enumerate(codes, 1))
        count = tmp_path / "count"
        script.write_text(
            f'#!/bin/bash\necho "$@" >> {tmp_path}/calls\nn=$(($(cat {count} 2>/dev/null) + 1))\necho $n > {count}\n'
            f"case $n in\n{cases}esac\nexit {codes[-1]}\n"
        )
        script.chmod(0o755)

    return make


@pytest.mark.parametrize(
    ("codes", "code", "calls"), [((0,), 0, 1), ((1,), 1, 1), ((2,), 2, 1), ((3, 143, 0), 0, 3), ((137,), 3, 5)]
)
def test_the_cron_example_goes_by_exit_codes(
    tmp_path: Path, command_that_ends: Callable[..., None], codes: tuple[int, ...], code: int, calls: int
) -> None:
    command_that_ends(*codes)
    (tmp_path / "in" / "2026-11-24").mkdir(parents=True)

    done = subprocess.run(
        [EXAMPLES / "nightly.sh", tmp_path / "in", tmp_path / "out", "/key"],
        env={**os.environ, "DEID_PAUSE_S": "0"},
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == code, done.stderr
    called = (tmp_path / "calls").read_text().splitlines()
    assert len(called) == calls
    assert all("--resume" in line for line in called)


def test_the_cron_example_runs_the_real_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "deid"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deid_runtime "$@" --no-models --workers 1\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    key = tmp_path / "k.key"
    assert CliRunner().invoke(main, ["key", "new", str(key)]).exit_code == 0
    (tmp_path / "in" / "day").mkdir(parents=True)
    (tmp_path / "in" / "day" / "n.txt").write_text("Call 212-664-9182.\n")

    done = subprocess.run([EXAMPLES / "nightly.sh", tmp_path / "in", tmp_path / "out", key], check=False)

    assert done.returncode == 0
    assert len(list((tmp_path / "out" / "day").iterdir())) == 1

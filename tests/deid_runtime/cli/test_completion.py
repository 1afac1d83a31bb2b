"""Test that the shells complete the arguments of the command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from deid_runtime.cli.main import main

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment with `deid` on its path."""
    deid = tmp_path / "deid"
    deid.write_text(f"#!{sys.executable}\nfrom deid_runtime.cli.main import main\n\nmain()\n")
    deid.chmod(0o755)
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "client", ROOT / "export")))
    return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": paths}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("det", {"detect"}, id="command"),
        pytest.param("config s", {"show"}, id="subcommand"),
        pytest.param("run --safe", {"--safe-harbor"}, id="option"),
        pytest.param("run --profile f", {"fast", "full"}, id="value"),
    ],
)
def test_bash_completes(environment: dict[str, str], line: str, expected: set[str]) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    words = ["deid", *line.split()]
    code = (
        'eval "$(deid completion bash)"; COMP_WORDS=(' + " ".join(words) + f"); COMP_CWORD={len(words) - 1}; "
        '_deid_completion deid; printf "%s\\n" "${COMPREPLY[@]}"'
    )

    done = subprocess.run(
        ["bash", "--norc", "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=60
    )

    assert set(done.stdout.split()) == expected, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_every_shell_asks_the_command(environment: dict[str, str], shell: str) -> None:
    script = CliRunner().invoke(main, ["completion", shell])
    answer = subprocess.run(
        ["deid"],
        env={**environment, "_DEID_COMPLETE": f"{shell}_complete", "COMP_WORDS": "deid eval", "COMP_CWORD": "1"}
        if shell != "fish"
        else {**environment, "_DEID_COMPLETE": "fish_complete", "COMP_WORDS": "deid eval", "COMP_CWORD": "eval"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert script.exit_code == 0
    assert f"_DEID_COMPLETE={shell}_complete" in script.stdout
    assert "evaluate" in answer.stdout


def test_the_help_says_how_to_install_it() -> None:
    text = CliRunner().invoke(main, ["completion", "--help"]).output

    for line in ('eval "$(deid completion bash)"\' >> ~/.bashrc', "~/.zshrc", "~/.config/fish/completions/deid.fish"):
        assert line in text

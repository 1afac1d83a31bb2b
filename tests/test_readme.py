"""Test that the commands and the code in the README run unchanged."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = {
    "README.md": "".join(re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)),
    "python_api.py": (ROOT / "examples" / "python_api.py").read_text(encoding="utf-8"),
}


@pytest.mark.skipif(not (ROOT / "model_repository" / "manifest.json").exists(), reason="this checkout has no models")
@pytest.mark.parametrize("name", EXAMPLES)
def test_python_example(name, tmp_path):
    script = tmp_path / "example.py"
    script.write_text(EXAMPLES[name], encoding="utf-8")

    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)

    first = done.stdout.splitlines()[0]
    assert first.startswith("Ms. ")
    assert not [name for name in ("Halvorsen", "3/11/2019", "Lindqvist", "Dundas") if name in first]


@pytest.mark.skipif(not (ROOT / "model_repository" / "manifest.json").exists(), reason="this checkout has no models")
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this folder is no clone")
def test_its_commands_install_a_fresh_clone_and_use_it(tmp_path):
    install, use = re.findall(r"^```bash\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    lines = (ROOT / "examples" / "patients.jsonl").read_text(encoding="utf-8").splitlines()
    with (tmp_path / "patients.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, fieldnames=list(json.loads(lines[0])))
        table.writeheader()
        table.writerows(map(json.loads, lines))
    install = install.replace("REPOSITORY", f"file://{ROOT}")
    script = f"{install}\ncp examples/notes.jsonl ../patients.csv .\n{use}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip

    if "after connection broken by" in done.stderr:
        pytest.skip("pip reaches no index of packages")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    for name in ("out/notes.jsonl", "deidentified.jsonl"):
        written = (tmp_path / "deid-runtime" / name).read_text(encoding="utf-8")
        assert len(written.splitlines()) == len((ROOT / "examples" / "notes.jsonl").read_text("utf-8").splitlines())
        assert "Halvorsen" not in written


def test_ten_lines():
    assert 5 <= len(EXAMPLES["README.md"].splitlines()) <= 12


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)|bash ([\w./]+)", README), ids=str)
def test_what_is_named_exists(path):
    assert (ROOT / (path[0] or path[1])).exists()


def test_figures_are_those_of_the_committed_results():
    figures = README.partition("<!-- FIGURES")[2].partition("<!-- END OF FIGURES")[0]
    results = {
        profile: {
            "test": read(f"accuracy_{profile}_test")["report"],
            "forms": read(f"outside_{profile}")["report"]["forms"],
            "facts": read("clinical_facts")["profiles"][profile]["files"]["lines_test.tsv"]["single"]["all"],
        }
        for profile in ("fast", "full")
    }

    def row(question, value):
        cells = " | ".join(f"{100 * value(measured):.1f}" for measured in results.values())
        assert f"{question} | {cells} |" in figures, "run `python scripts/figures.py`"

    row(" invented test notes)", lambda each: each["test"]["groups"]["C"]["tokens"]["recall"])
    row("how many identify? (the same notes)", lambda each: each["test"]["groups"]["C"]["tokens"]["precision"])
    row("one full name in public clinical prose found?", lambda each: each["forms"]["full"]["share"])
    row("the same name in lower case found?", lambda each: each["forms"]["lower case"]["share"])
    row("the family name alone found?", lambda each: each["forms"]["family alone"]["share"])
    row("that is in no list found?", lambda each: each["forms"]["given alone, in no list"]["share"])
    row("made to mislead, how many are changed?", lambda each: each["facts"]["lines_changed_share"])
    assert f"({results['fast']['test']['notes']:,} invented" in figures
    assert len(re.findall(r"^\|", figures, re.MULTILINE)) == 2 + 7  # the header, and the rows above


def read(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def test_its_test_notes_are_called_what_they_are():
    assert "a language model wrote them" in README
    assert not re.search(r"eight (?:other )?(?:authors|hands)", README)

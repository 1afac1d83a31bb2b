"""What the README shows runs as it stands there."""

import json
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


def test_ten_lines():
    assert 5 <= len(EXAMPLES["README.md"].splitlines()) <= 12


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)|bash (\S+)", README), ids=str)
def test_what_is_named_exists(path):
    assert (ROOT / (path[0] or path[1])).exists()


def test_figures_are_those_of_the_committed_results():
    results = ROOT / "benchmarks" / "results"
    processors = [
        json.loads((results / f"throughput{processor}.json").read_text(encoding="utf-8"))["sizes"]
        for processor in ("", "_avx512", "_avx2")
    ]
    figures = README.partition("<!-- FIGURES")[2].partition("<!-- END OF FIGURES")[0]

    for profile in ("fast", "full"):
        report = json.loads((results / f"accuracy_{profile}.json").read_text(encoding="utf-8"))["report"]
        for ratio in ("recall", "precision"):
            ratios = " / ".join(f"{report['groups'][group]['tokens'][ratio]:.3f}" for group in "ABC")
            assert f"{ratio}, group A / B / C, `{profile}` | {ratios} |" in figures
        test = json.loads((results / f"accuracy_{profile}_test.json").read_text(encoding="utf-8"))["report"]
        for ratio in ("recall", "precision"):
            ratios = " / ".join(f"{test['groups'][group]['tokens'][ratio]:.3f}" for group in "ABC")
            assert f"{ratio}, A / B / C, `{profile}`, test | {ratios} |" in figures
    rates = [size["distinct_sentences_per_second"] for sizes in processors for size in sizes if size["notes"] == 2000]
    assert len(rates) == len(processors)
    assert f"| {' / '.join(f'{rate:.0f}' for rate in rates)} |" in figures
    peaks = [max(size["peak_memory_bytes"] for size in sizes) / 2**20 for sizes in processors]
    assert f"| {' / '.join(f'{peak:.0f}' for peak in peaks)} MiB |" in figures


def test_the_ablation_table_is_that_of_the_committed_results():
    rows = json.loads((ROOT / "benchmarks" / "results" / "ablation.json").read_text(encoding="utf-8"))["rows"]
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    table = text.partition("<!-- ABLATION")[2].partition("<!-- END OF ABLATION")[0]

    for row in rows:
        scores = " | ".join(f"{row[name]:.3f}" for name in ("precision", "recall", "recall_at_floor"))
        cost = row["dev_seconds"] / rows[0]["dev_seconds"]
        assert f"| {row['name']} | {scores} | {row['average_precision']:.4f} | {cost:.1f} |" in table

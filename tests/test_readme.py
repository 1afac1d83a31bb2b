"""What the README shows runs as it stands there."""

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

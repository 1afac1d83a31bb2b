"""Follow the tutorial of the platform engineer: certificates, server, gateway, a note, Prometheus, a failure."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.running_server import free_ports, installation
from tests.test_docs import ROOT, has_models

_PAGE = ROOT / "docs" / "tutorials" / "platform-engineer.md"
_AUTHORITY = ROOT / "docs" / "how-to" / "mutual-tls.md"
_OWN = "<!-- not run: tests/test_platform_page.py runs the commands of this page -->\n```bash\n"
_PORTS = ("8001", "8002", "8443", "8444", "9090")
#: Whatever happens, nothing that the page has started stays.
_START = "set -euo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"


def commands_of_the_page() -> str:
    """Return the commands in their order, those of the authority behind the key, with free ports."""
    blocks = [part.partition("```")[0] for part in _PAGE.read_text(encoding="utf-8").split(_OWN)[1:]]
    authority = re.search(r"```bash\n(mkdir -p certificates\n.*?)```", _AUTHORITY.read_text("utf-8"), re.DOTALL)
    assert authority is not None
    script = "\n".join([blocks[0], authority[1], "cd ..", *blocks[1:]])
    for port, free in zip(_PORTS, free_ports(len(_PORTS)), strict=True):
        script = script.replace(port, str(free))
    return _START + script


@has_models
def test_the_page_leads_to_a_service_that_recovers(commands: dict[str, str], tmp_path: Path) -> None:
    installation()
    for program in ("openssl", "curl", "prometheus", "promtool", "pkill"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    (tmp_path / "docker").symlink_to(ROOT / "docker")

    done = subprocess.run(
        ["bash", "-c", commands_of_the_page()], cwd=tmp_path, env=commands, capture_output=True, text=True, timeout=400,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip

    logs = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.log")}
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:] + str(logs)[-3000:]
    answers = [json.loads(line) for line in re.findall(r'\{"id": ?"n1".*?\}(?=\{|\n|$)', done.stdout)]
    assert len(answers) == 2
    assert answers[0] == answers[1]
    assert answers[0]["text"].startswith("Seen by Dr. ")
    assert "after the kill: 503" in done.stdout
    assert "Halvorsen" not in done.stdout + done.stderr + str(logs) + (tmp_path / "audit.jsonl").read_text("utf-8")

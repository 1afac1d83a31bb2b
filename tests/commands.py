"""Run ``deid`` in the process of the tests, and read the JSON Lines that it writes."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from deid_runtime.cli.main import main


def deid(*arguments: object, env: dict[str, str] | None = None) -> Result:
    """Run the command with these arguments, and with further environment variables."""
    return CliRunner(env=env).invoke(main, [str(argument) for argument in arguments])


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write the objects as a file of JSON Lines, and return its path."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path

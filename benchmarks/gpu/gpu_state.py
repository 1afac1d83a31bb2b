"""The results of one step: written to its file after every part, so that a machine that goes away leaves them."""

import argparse
import json
import time
from pathlib import Path
from typing import Any


class State:
    """What one step measured so far, and how much time is left. ``result`` is ``running`` until :meth:`end`."""

    def __init__(self, path: Path, options: argparse.Namespace, until: float) -> None:
        self.options = options
        self.out: Path = options.out
        self.device: str = options.device
        self.result = "running"
        self._path = path
        self._until = until
        self._began = time.monotonic()
        self._content: dict[str, Any] = {}

    @property
    def is_over(self) -> bool:
        """Whether the time of the whole script is over."""
        return time.monotonic() >= self._until

    @property
    def left_s(self) -> float:
        """Seconds that are left."""
        return max(self._until - time.monotonic(), 0.0)

    def add(self, **parts: Any) -> None:
        """Add or replace parts of the results and write them."""
        self._content |= parts
        self._write()

    def add_row(self, name: str, row: dict[str, Any]) -> None:
        """Add a row to a list of the results and write them."""
        self._content.setdefault(name, []).append(row)
        print(json.dumps(row), flush=True)
        self._write()

    def end(self, result: str) -> None:
        """Say how the step ended: ``done``, ``left out``, ``cut off``, ``not passed`` or ``failed``."""
        self.result = result
        self._write()

    def _write(self) -> None:
        content = {
            "state": self.result,
            "device": self.device,
            "measured": time.strftime("%Y-%m-%d %H:%M"),
            "seconds": round(time.monotonic() - self._began, 1),
            **self._content,
        }
        partial = self._path.with_suffix(".partial")
        partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        partial.replace(self._path)

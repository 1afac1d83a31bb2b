"""Import benchmark scripts as modules; they import their neighbours, as scripts do."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def load_script(name: str) -> ModuleType:
    """Import ``benchmarks/<name>.py`` with its folder and ``benchmarks`` on the path, then remove both."""
    script = FOLDER / name
    before = list(sys.path)
    sys.path[:0] = dict.fromkeys([str(script.parent), str(FOLDER)])
    try:
        return importlib.import_module(script.name)
    finally:
        sys.path[:] = before

"""The benchmark scripts as modules: they import their neighbours, as scripts do."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def load_script(name: str) -> ModuleType:
    """Import ``benchmarks/<name>.py`` with its folder on the path, and take that off again."""
    before = list(sys.path)
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module(name)
    finally:
        sys.path[:] = before

"""Test that no function of the three packages is longer than a reader can hold in mind."""

import ast
from collections.abc import Iterator

from tests.test_imports import modules

LONGEST_LINES = 60


def long_functions(source: str, most: int = LONGEST_LINES) -> Iterator[tuple[int, str, int]]:
    """Yield (line, name, lines) of each function with more than ``most`` lines, from ``def`` to its last line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > most:
                yield node.lineno, node.name, lines


def test_functions_are_short() -> None:
    found = [
        f"{path}:{line}: {name} has {lines} lines"
        for _, path in modules()
        for line, name, lines in long_functions(path.read_text(encoding="utf-8"))
    ]

    assert not found, f"at most {LONGEST_LINES} lines; split at what a name can say: {'; '.join(found)}"


def test_a_long_function_is_seen() -> None:
    source = "@cache\ndef short():\n    pass\n\nclass A:\n    async def long(self):\n        a = 1\n        return a\n"

    assert list(long_functions(source, most=2)) == [(6, "long", 3)]

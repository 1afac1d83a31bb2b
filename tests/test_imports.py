"""Test which packages import which. Reads the source, so imports in functions and of missing packages count too."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {"deid_runtime": ROOT, "deid_client": ROOT / "client", "deid_export": ROOT / "export"}

#: Maps a package to our packages that it may import.
ALLOWED = {
    "deid_runtime": {"deid_runtime"},
    "deid_client": {"deid_client", "deid_runtime"},
    "deid_export": {"deid_export", "deid_runtime"},
    "model_repository": {"deid_runtime"},
}
#: The only other imports: from a module to the given package, only inside a function.
LAZY = {
    "deid_runtime.cli.gateway": {"deid_client"},
    "deid_runtime.cli.probe": {"deid_client"},
    "deid_runtime.cli.remote": {"deid_client"},
    "deid_runtime.spark.dataframe": {"deid_client"},
}

#: Maps a library to the only package that may import it.
OWNED = {
    "torch": "deid_export",
    "transformers": "deid_export",
    "optimum": "deid_export",
    "nncf": "deid_export",
    "pycrfsuite": "deid_runtime",
    "tritonclient": "deid_client",
}

#: The rooms of each package, lowest first: its folders and the modules beside them. A module imports only from its own
#: room and from rooms further down. Every room is in a ladder. Imports inside functions and under ``TYPE_CHECKING``
#: count like all others.
LADDERS = {
    "deid_runtime": (
        ("errors",),
        ("labels", "stages"),
        ("spans", "system"),
        ("lexicon",),
        ("access", "settings", "text", "rewrite", "formats"),
        ("dates", "records", "annotations"),
        ("detectors", "merging", "surrogates", "evaluation"),
        ("models",),
        ("pipeline",),
        ("run",),
        ("release", "resynthesis", "review", "serving"),
        ("audit", "gateway"),
        ("cli",),
        ("spark",),
        ("__main__",),
    ),
    "deid_client": (
        ("refusals", "settings", "agreement", "server_version"),
        ("errors", "metrics", "addresses"),
        ("tensors", "diagnosis", "stream"),
        ("probe", "routes"),
        ("endpoint",),
        ("service", "canary"),
        ("connection", "whole_notes"),
        ("tagger",),
        ("notes", "server"),
    ),
    "deid_export": (("data",), ("model",), ("onnx",), ("train",), ("adapt",), ("cli",)),
}
RUNGS = {
    package: {room: rung for rung, rooms in enumerate(ladder) for room in rooms} for package, ladder in LADDERS.items()
}


def modules() -> Iterator[tuple[str, Path]]:
    """Yield (dotted name, file) for every module of the three packages and every Python backend."""
    for package, folder in SOURCES.items():
        for path in sorted((folder / package).rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path
    for path in sorted((ROOT / "model_repository").rglob("*.py")):
        yield "model_repository." + ".".join(path.relative_to(ROOT / "model_repository").with_suffix("").parts), path


NAMES = {name for name, _ in modules()}


def imports(name: str, path: Path) -> Iterator[tuple[str, bool, int]]:
    """Yield (dotted target, whether it runs at import time, line) of all imports, including those in functions."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]

    def walk(node: ast.AST, at_import: bool) -> Iterator[tuple[str, bool, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, at_import, child.lineno) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = child.module or ""
                if child.level:
                    above = package.split(".")[: len(package.split(".")) - child.level + 1]
                    base = ".".join([*above, base]).strip(".")
                for alias in child.names:
                    # In `from package import name`, the name is a module or a member of the package's __init__.
                    inner = f"{base}.{alias.name}"
                    yield inner if inner in NAMES else base, at_import, child.lineno
            is_late = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) or (
                isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            )
            yield from walk(child, at_import and not is_late)

    return walk(ast.parse(path.read_text(encoding="utf-8")), True)


def package_of(name: str) -> str:
    return name.partition(".")[0]


def problem(name: str, target: str, at_import: bool) -> str | None:
    """Return what is wrong with the import of ``target`` by the module ``name``; None when nothing is."""
    here, there = package_of(name), package_of(target)
    if there in ALLOWED and there not in ALLOWED[here]:
        if there not in LAZY.get(name, set()):
            return f"{here} must not import {there}"
        if at_import:
            return f"{there} may only be imported inside the function that needs it"
    if OWNED.get(there, here) != here:
        return f"only {OWNED[there]} may import {there}"
    if target == here and name != here:
        return "submodules must not import from the package root"
    rungs = RUNGS.get(here)
    if rungs is not None and here == there and "." in name:
        own, other = name.split(".")[1], target.split(".")[1]
        if own not in rungs or other not in rungs:
            return f"{own} or {other} has no rung"
        if own != other and rungs[other] >= rungs[own]:
            return f"{own} must not import {other}, which does not stand below it"
    return None


@pytest.mark.parametrize(("name", "path"), [pytest.param(name, path, id=name) for name, path in modules()])
def test_arrows(name: str, path: Path) -> None:
    found = [(line, target, problem(name, target, at_import)) for target, at_import, line in imports(name, path)]

    assert [arrow for arrow in found if arrow[2]] == []


@pytest.mark.parametrize(
    ("name", "target", "at_import"),
    [
        ("deid_runtime.cli.remote", "deid_client.tagger", True),
        ("deid_runtime.pipeline", "deid_client.tagger", False),
        ("deid_client.tagger", "deid_export.train.training", True),
        ("deid_export.train.training", "deid_client.tagger", True),
        ("deid_runtime.text.windows", "torch", False),
        ("deid_runtime.text.windows", "tritonclient.grpc", False),
        ("deid_export.train.training", "tritonclient.grpc", True),
        ("model_repository.tagger.1.model", "deid_export.model.tagger", True),
        ("deid_runtime.merging.fusion", "deid_runtime", True),
        ("deid_runtime.merging.fusion", "deid_runtime.surrogates.names", True),
        ("deid_runtime.evaluation.report", "deid_runtime.pipeline", True),
        ("deid_runtime.models.tagger", "deid_runtime.pipeline", True),
        ("deid_runtime.pipeline", "deid_runtime.run.job", True),
        ("deid_runtime.spans", "deid_runtime.text.sentences", True),
        ("deid_runtime.labels", "deid_runtime.spans", False),
        ("deid_client.endpoint", "deid_client.service", False),
        ("deid_client.stream", "deid_client.diagnosis", True),
    ],
)
def test_a_forbidden_arrow_is_seen(name: str, target: str, at_import: bool) -> None:
    assert problem(name, target, at_import) is not None


def test_no_import_cycle() -> None:
    files = dict(modules())
    graph = {
        name: {target for target, _, _ in imports(name, path) if target in files} - {name}
        for name, path in files.items()
    }
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, f"import cycle: {' -> '.join([*above[above.index(name) :], name])}"
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*above, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


@pytest.mark.parametrize("module", ["deid_runtime", "deid_runtime.cli.main", "deid_runtime.pipeline"])
def test_importing_is_light(module: str) -> None:
    heavy = ("torch", "transformers", "tritonclient", "pyarrow", "openvino", "onnxruntime")
    code = f"import sys, {module}; print(*[name for name in {heavy!r} if name in sys.modules])"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)

    assert loaded.stdout.split() == []

"""Test that every stage named in the source is in the one list of stages."""

import ast
from collections.abc import Iterator
from pathlib import Path

from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.settings import Settings
from deid_runtime.stages import PIPELINE_STAGES, STAGES

ROOT = Path(__file__).resolve().parents[2]


def named_stages() -> Iterator[tuple[str, str]]:
    """Yield (file, stage) for every text given as a stage to an error, an outcome or a timer."""
    for folder in ("deid_runtime", "client/deid_client"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call):
                    continue
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                given = [each.value for each in node.keywords if each.arg == "stage"]
                if name == "measure":
                    given += node.args[:1]
                elif name == "Quarantined":
                    given += node.args[1:2]
                yield from ((path.name, each.value) for each in given if isinstance(each, ast.Constant))


def test_every_stage_that_is_named_is_in_the_list() -> None:
    found = set(named_stages())

    assert len(found) > 15
    assert [each for each in found if each[1] not in STAGES] == []


def test_the_list_is_that_of_the_pipeline_and_of_the_run() -> None:
    with load_pipeline(Settings(use_models=False), key=None, records={}) as pipeline:
        assert tuple(pipeline.stage_seconds) == PIPELINE_STAGES
    assert len(set(STAGES)) == len(STAGES)

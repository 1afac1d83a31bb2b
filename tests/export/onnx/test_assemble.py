"""Test a model repository made from trained models."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which the runtime does without")
pytest.importorskip("transformers", reason="training needs transformers, which the runtime does without")
pytest.importorskip("nncf", reason="quantising needs nncf")

from click.testing import CliRunner

from deid_export.cli.main import main
from deid_runtime.models.manifest import read_manifest
from tests.export.tiny_model import write_base, write_trained


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """Return the command that assembles two small models, without what it writes."""
    (tmp_path / "base").mkdir()
    base = write_base(tmp_path / "base")
    trained = [str(write_trained(tmp_path / f"{name}.pt", base, joint=True)) for name in "ab"]
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "T1-001.txt").write_text(
        "%% patient id=T1-001 given=Ann family=Poe sex=F\n%% note id=T1-001-1 type=Note\nSeen.\n", encoding="utf-8"
    )
    return ["models", "onnx", *trained, "--notes", str(tmp_path / "notes"), "--base", str(base), "--float32"]


def test_each_model_counts_as_told(asked: list[str], tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [*asked, "-o", str(tmp_path / "out"), "--weight", "1", "--weight", "2.5"])
    assert done.exit_code == 0, done.output
    graphs = read_manifest(tmp_path / "out").graphs
    assert [{head.weight for head in graph.heads} for graph in graphs.values()] == [{1.0}, {2.5}]

    done = CliRunner().invoke(main, [*asked, "-o", str(tmp_path / "other"), "--weight", "1"])
    assert done.exit_code != 0
    assert "1 weights for 2 models" in done.output
    assert not (tmp_path / "other").exists()


def test_profiles_are_settled_as_told(asked: list[str], tmp_path: Path) -> None:
    heads = ("name", "location", "organization", "age", "identifier")
    settled = {"full": {"thresholds": dict.fromkeys(heads, 0.3), "high_thresholds": {"name": 0.1}, "vote": "any"}}
    (tmp_path / "profiles.json").write_text(json.dumps(settled), encoding="utf-8")

    done = CliRunner().invoke(
        main, [*asked, "-o", str(tmp_path / "out"), "--profiles", str(tmp_path / "profiles.json")]
    )

    assert done.exit_code == 0, done.output
    full = read_manifest(tmp_path / "out").profiles["full"]
    assert full.vote == "any"
    assert full.thresholds_for("balanced")["name"] == 0.3
    assert full.thresholds_for("high") == {**dict.fromkeys(heads, 0.3), "name": 0.1}

"""Test the script for a GPU on a processor: its steps, what is kept when it stops, and the refusal without a GPU."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.benchmarks.scripts import FOLDER, load_script

pytest.importorskip("torch")
pytest.importorskip("nncf")
pytest.importorskip("onnxruntime.transformers.float16")

ROOT = FOLDER.parent
STEPS = ("machine", "graphs", "cuda", "tensorrt", "parity", "rows", "sweep")


@pytest.fixture(scope="module")
def gpu():
    return load_script("gpu/gpu")


@pytest.fixture(scope="module")
def out(gpu, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run all steps but the clients on the processor, with a tiny model."""
    from deid_export.cli.main import main
    from tests.export.tiny_model import write_base, write_trained

    folder = tmp_path_factory.mktemp("gpu")
    (folder / "base").mkdir()
    base = write_base(folder / "base")
    heads = write_trained(folder / "joint.pt", base, joint=True)
    notes = ROOT / "export" / "corpus" / "notes" / "train"
    made = CliRunner().invoke(
        main,
        ["models", "onnx", str(heads), "--notes", str(sorted(notes.iterdir())[0]), "-o", str(folder / "float32"),
         "--float32", "--base", str(base)],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    code = gpu.main(
        ["--device", "cpu", "--out", str(folder / "out"), "--float32", str(folder / "float32"), "--steps", *STEPS,
         "--notes", str(sorted(notes.iterdir())[0]), "--most-notes", "3", "--profile", "fast", "--batches", "1", "4",
         "--threads", "1", "2", "--cell-seconds", "0.05"]
    )  # fmt: skip
    assert code == 0
    return folder / "out"


def result(out: Path, step: str) -> dict:
    return json.loads((out / f"{step}.json").read_text())


def test_without_a_gpu_it_refuses_and_says_what_is_missing(gpu, tmp_path: Path, capsys) -> None:
    if not gpu.provider_of("cuda", "cuda")[1]:
        pytest.skip("this machine has a GPU")

    assert gpu.main(["--out", str(tmp_path / "out")]) == 2
    assert "onnxruntime-gpu" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_every_step_leaves_its_result(out: Path) -> None:
    states = {step: result(out, step)["state"] for step in STEPS}

    assert states == dict.fromkeys(STEPS, "done") | {"tensorrt": "left out"}
    assert all(result(out, step)["device"] == "cpu" for step in STEPS)
    assert len(result(out, "cuda")["rows"]) == 7  # the whole graph, its encoder and five heads
    assert {row["provider"] for row in result(out, "cuda")["rows"]} == {"CPUExecutionProvider"}
    assert len(result(out, "sweep")["cells"]) == 4
    assert result(out, "parity")["cuda"]["passed"]
    assert all(row["same_batch_twice_is_equal"] for row in result(out, "rows")["rows"])


def test_the_half_graphs_are_half_as_large_and_run(out: Path, gpu) -> None:
    import onnxruntime

    rows = result(out, "graphs")["graphs"]["v0"]
    [graph] = (out / "models-float16").rglob("model.onnx")

    assert rows["float16_bytes"] < 0.7 * rows["float32_bytes"]
    session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
    from gpu_graphs import _feeds

    assert len(session.run(None, _feeds(session))) == 10


def test_what_was_done_is_not_done_again_and_what_failed_is(out: Path, gpu, capsys) -> None:
    path = out / "rows.json"
    path.write_text(json.dumps({"state": "failed", "device": "cpu"}))
    asked = ["--device", "cpu", "--out", str(out), "--steps", "machine", "rows"]

    assert gpu.main(asked) == 0
    assert capsys.readouterr().out.splitlines()[0] == "machine: done before"
    assert json.loads(path.read_text())["state"] == "done"


def test_no_step_begins_after_the_time(gpu, tmp_path: Path) -> None:
    assert gpu.main(["--device", "cpu", "--out", str(tmp_path), "--minutes", "0", "--steps", "machine"]) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_fails_says_where_and_the_next_one_runs(gpu, tmp_path: Path) -> None:
    asked = ["--device", "cpu", "--out", str(tmp_path), "--steps", "machine", "parity", "--profile", "fast"]

    assert gpu.main(asked) == 1
    assert result(tmp_path, "machine")["state"] == "done"
    failed = result(tmp_path, "parity")
    assert failed["state"] == "failed"
    assert "manifest.json" in failed["error"]

"""Test the metrics file of a run, as the node exporter reads it."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deid_runtime.cli.main import main
from deid_runtime.errors import SettingsError
from deid_runtime.run.metrics import MetricsFile
from deid_runtime.run.report import Counts
from tests.commands import write_rows

parser: Any = pytest.importorskip("prometheus_client.parser")

NOTES = (
    {"id": "secret-id-1", "text": "Call 507-882-4417 about MRN: 8841207, seen 3/11/2019."},
    {"id": "secret-id-2", "text": "null \0 character"},
)


def read(path: Path) -> dict[tuple[str, ...], float]:
    """Return the samples by name and values of labels, without the label ``run``."""
    samples = {}
    for family in parser.text_string_to_metric_families(path.read_text(encoding="utf-8")):
        assert family.documentation
        for sample in family.samples:
            assert sample.labels.pop("run") == path.stem
            samples[(sample.name, *sample.labels.values())] = sample.value
    return samples


def run(folder: Path, *options: str) -> tuple[int, dict[tuple[str, ...], float]]:
    source = folder / "notes.jsonl"
    write_rows(source, NOTES)
    arguments = ["run", str(source), "-o", str(folder / "out.jsonl"), "--no-models", "--workers", "1", "--overwrite"]
    path = folder / "nightly.prom"
    result = CliRunner().invoke(main, [*arguments, "--metrics-file", str(path), *options])
    return result.exit_code, read(path)


def test_the_metrics_of_a_run_are_those_of_its_report(tmp_path: Path) -> None:
    begun = time.time()
    code, found = run(tmp_path)
    report = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())

    assert code == 1
    assert found["deid_run_notes_total", "written"] == found["deid_run_notes_total", "quarantined"] == 1
    assert found["deid_run_quarantined_total", "read"] == 1
    assert found["deid_run_characters_total",] == len(NOTES[0]["text"])  # the other could not be read
    labels = {labels[0]: value for (name, *labels), value in found.items() if name == "deid_run_spans_total" and value}
    assert labels == report["notes"]["spans_by_label"]
    assert {"PHONE", "DATE"} <= set(labels)
    assert found["deid_run_stage_seconds_total", "patterns"] == report["seconds_by_stage"]["patterns"]
    assert (found["deid_run_running",], found["deid_run_succeeded",]) == (0, 1)
    assert begun <= found["deid_run_start_timestamp_seconds",] <= found["deid_run_last_success_timestamp_seconds",]
    text = (tmp_path / "nightly.prom").read_text()
    assert not any(word in text for word in ("secret", "507", "8841207", "notes.jsonl", "out.jsonl"))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("nightly.prom.")]


def test_a_run_that_fails_says_so_and_keeps_the_last_success(tmp_path: Path) -> None:
    _, before = run(tmp_path)
    code, after = run(tmp_path, "--id-column", "missing")

    assert code == 2
    assert (after["deid_run_running",], after["deid_run_succeeded",]) == (0, 0)
    key = ("deid_run_last_success_timestamp_seconds",)
    assert after[key] == before[key]


def test_a_run_that_goes_on_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deid_runtime.run.metrics.EVERY_S", 0.0)
    file = MetricsFile(tmp_path / "long.prom")
    assert read(file._path)["deid_run_running",] == 1

    counts = Counts(read=5, written=4, chars=100)
    counts.quarantined["models"] = 1
    file.update(counts)

    found = read(file._path)
    assert (found["deid_run_notes_total", "written"], found["deid_run_quarantined_total", "models"]) == (4, 1)
    assert found["deid_run_running",] == 1


@pytest.mark.parametrize("name", ["nightly.txt", "nightly", "a b.prom", "ä.prom", ".prom"])
def test_a_name_that_the_node_exporter_does_not_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=r"expected NAME\.prom"):
        MetricsFile(tmp_path / name)


def test_a_folder_that_is_not_there_is_told_before_the_run(tmp_path: Path) -> None:
    source = tmp_path / "notes.jsonl"
    source.write_text(json.dumps(NOTES[0]) + "\n")
    arguments = ["run", str(source), "-o", str(tmp_path / "out.jsonl"), "--no-models"]

    result = CliRunner().invoke(main, [*arguments, "--metrics-file", str(tmp_path / "none" / "a.prom")])

    assert result.exit_code == 2
    assert "a.prom: cannot be written" in result.stderr
    assert not (tmp_path / "out.jsonl").exists()

"""Test Ray Data on this machine: the outcomes of the pipeline, and rows that are held back."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")

from deid_runtime.errors import SettingsError  # noqa: E402
from deid_runtime.pipeline.loading import load_pipeline  # noqa: E402
from deid_runtime.pipeline.outcomes import Deidentified  # noqa: E402
from deid_runtime.settings import Settings  # noqa: E402
from deid_runtime.spans import Note  # noqa: E402
from deid_runtime.spark.ray_data import deidentify_dataset  # noqa: E402
from deid_runtime.surrogates import load_key, write_key  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Ray
RULES = Settings(use_models=False)


@pytest.fixture(scope="module")
def started() -> Iterator[Any]:
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    yield ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.shutdown()


def test_bytes_are_those_of_the_pipeline(started: Any, tmp_path: Path) -> None:
    write_key(tmp_path / "site.key")
    notes = [Note(f"n{number}", f"Seen by Dr. Ada Quist on 03/{number + 1:02}/2019.", "p") for number in range(9)]
    with load_pipeline(RULES, key=load_key(tmp_path / "site.key"), records={}) as pipeline:
        outcomes = pipeline.deidentify(notes)
    rows = [{"id": note.id, "patient": note.patient, "text": note.text} for note in notes]
    # Two blocks: with one for each row, most of the time would go into starting processes.
    dataset = ray.data.from_items([*rows, {"id": "bad", "patient": "p", "text": "Hartman\0"}], override_num_blocks=2)

    found = deidentify_dataset(dataset, key=tmp_path / "site.key", settings=RULES).take_all()

    good = [row for row in found if not row["quarantine"]]
    assert {(row["id"], row["text"]) for row in good} == {
        (outcome.note_pseudonym, outcome.text) for outcome in outcomes if isinstance(outcome, Deidentified)
    }
    [bad] = [row for row in found if row["quarantine"]]
    assert (bad["quarantine"]["id"], bad["text"]) == ("bad", None)


def test_files_of_spark_are_refused(started: Any) -> None:
    with pytest.raises(SettingsError, match="sparkfile: is only for Spark"):
        deidentify_dataset(ray.data.range(1), key="sparkfile:site.key")

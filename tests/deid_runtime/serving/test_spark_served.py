"""Test Spark with the models on a real server: the bytes are those of the embedded pipeline."""

import gc
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra [spark] is not installed")

from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified
from deid_runtime.serving.server import Server
from deid_runtime.settings import Settings
from deid_runtime.spans import Note
from deid_runtime.spark.dataframe import deidentify
from deid_runtime.surrogates import load_key, write_key

pytestmark = pytest.mark.filterwarnings("ignore")  # those of PySpark

TEXTS = [
    f"Day {number}. Rosalind Achterberg of Tarrytown was seen by Dr. Ada Quist on 03/{number + 1:02}/2019."
    for number in range(8)
]


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "512m")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
        gc.collect()  # PySpark leaves sockets open; whoever collects them gets its warnings


def test_served_models_give_the_same_bytes(triton: Server, spark: Any, tmp_path: Path) -> None:
    key = tmp_path / "site.key"
    write_key(key)
    notes = [Note(f"n{number}", text, f"p{number % 2}") for number, text in enumerate(TEXTS)]
    with load_pipeline(Settings(), key=load_key(key), records={}) as pipeline:
        expected = sorted(each.text for each in pipeline.deidentify(notes) if isinstance(each, Deidentified))
    table = spark.createDataFrame(
        [(note.id, note.patient, note.text) for note in notes], "id string, patient string, text string"
    )

    rows = deidentify(table.repartition(4), key=f"file:{os.fspath(key)}", server=triton.options.grpc).collect()

    assert [row.quarantine for row in rows] == [None] * len(notes)
    assert sorted(row.text for row in rows) == expected
    assert not any("Achterberg" in row.text or "Tarrytown" in row.text for row in rows)

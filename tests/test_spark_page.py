"""Follow the page about Spark and Ray with a real local session of each, in processes of their own."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest
from pyarrow import json, parquet

from deid_runtime.surrogates import new_key, write_key
from tests.test_docs import ROOT, all_blocks, has_models

_PAGE = ROOT / "docs" / "how-to" / "spark.md"
#: What a reader has before the blocks for Spark, and what makes the stream end.
_SPARK = """
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "512m")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .getOrCreate()
)
schema = "id string, patient string, text string"
"""
_END_OF_STREAM = """
for query in spark.streams.active:
    query.processAllAvailable()
    query.stop()
spark.stop()
"""
_RAY = """
import ray

ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
"""
_END_OF_RAY = """
assert len([row for row in result.take_all() if not row["quarantine"]]) == ray.data.read_parquet("note").count()
"""


def python_blocks(word: str) -> list[str]:
    """Return the blocks of Python that contain ``word``."""
    return [code for language, code in all_blocks(_PAGE) if language == "python" and word in code]


def write_tables(folder: Path) -> int:
    """Write the sample notes as the table ``note`` and as the first file of a stream; return their number."""
    notes = json.read_json(ROOT / "examples" / "notes.jsonl").select(["id", "patient", "text"])
    for name in ("note", "incoming"):
        (folder / name).mkdir()
    parquet.write_table(notes.rename_columns(["note_id", "person_id", "note_text"]), folder / "note" / "1.parquet")
    parquet.write_table(notes, folder / "incoming" / "1.parquet")
    return int(notes.num_rows)


def follow(script: str, folder: Path, environment: dict[str, str]) -> None:
    (folder / "page.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        ["python", "page.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=400,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@has_models
@pytest.mark.skipif(not importlib.util.find_spec("pyspark"), reason="the extra [spark] is not installed")
@pytest.mark.skipif(not shutil.which("java"), reason="Spark needs Java")
def test_a_table_and_a_stream_give_the_same_texts(commands: dict[str, str], tmp_path: Path) -> None:
    count = write_tables(tmp_path)
    table, stream = python_blocks("spark.read")
    environment = commands | {"DEID_SECRET_KEY": new_key().hex(), "PYSPARK_PYTHON": "python"}

    follow(
        _SPARK + table.replace("repartition(400)", "repartition(2)") + stream + _END_OF_STREAM, tmp_path, environment
    )

    of_table, of_stream = (
        parquet.read_table(tmp_path / "note_deid" / part, columns=[column])[column].to_pylist()
        for part, column in (("held_back=false", "note_text"), ("batch=0/held_back=false", "text"))
    )
    assert len(of_table) == count
    assert sorted(of_table) == sorted(of_stream)


@has_models
@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="the extra [ray] is not installed")
def test_a_dataset_of_ray_is_de_identified(commands: dict[str, str], tmp_path: Path) -> None:
    write_tables(tmp_path)
    write_key(tmp_path / "site.key")
    [code] = python_blocks("ray.data")
    environment = commands | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}

    follow(_RAY + code.replace("/etc/deid", str(tmp_path)) + _END_OF_RAY, tmp_path, environment)

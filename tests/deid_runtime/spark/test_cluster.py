"""Test Spark on a real small cluster: two executors, each a process of its own, one of which is killed at work."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from deid_runtime.surrogates import new_key

pytest.importorskip("pyspark", reason="the extra [spark] is not installed")

#: A process has one session, so the cluster has a process of its own. It prints what came of it as JSON.
_PROGRAM = """
    import json, os, threading, time, warnings
    from contextlib import suppress
    import psutil
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession
    from deid_runtime.settings import Settings
    from deid_runtime.spark.dataframe import deidentify

    builder = SparkSession.builder.master("local-cluster[2,1,512]")
    for name, value in {
        "spark.ui.enabled": "false", "spark.driver.memory": "512m", "spark.executor.memory": "512m",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.executorEnv.DEID_SECRET_KEY": os.environ["DEID_SECRET_KEY"],
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rows = [(f"n{n}", f"p{n % 3}", f"Day {n}. Seen by Dr. Ada Quist on 03/{n % 28 + 1:02}/2019.") for n in range(120)]
    table = spark.createDataFrame(rows, "id string, patient string, text string").repartition(8)
    killed = []

    def below(process, words):
        found = []
        for each in process.children(recursive=True):
            with suppress(psutil.Error):  # processes come and go
                if words in " ".join(each.cmdline()):
                    found.append(each)
        return found

    def kill():
        while not killed:
            for each in below(psutil.Process(), "CoarseGrainedExecutorBackend"):
                with suppress(psutil.Error):
                    if below(each, "spawn_main"):
                        time.sleep(0.3)  # its pipeline is at work
                        each.kill()
                        killed.append(each.pid)
                        return
            time.sleep(0.01)

    def texts():
        found = deidentify(table, key="env:DEID_SECRET_KEY", settings=Settings(use_models=False), batch_size=2)
        return sorted((row.id, row.text) for row in found.collect())

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    disturbed = texts()
    before = len(killed)
    in_peace = texts()
    print(json.dumps({"killed": before, "notes": len(disturbed), "is_same": disturbed == in_peace,
                      "left": sum("Quist" in text for _, text in disturbed)}))
    spark.stop()
"""


def test_an_executor_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    import pyspark

    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(_PROGRAM), encoding="utf-8")
    environment = {
        **os.environ,
        "DEID_SECRET_KEY": new_key().hex(),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }

    done = subprocess.run(
        [sys.executable, str(program)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr[-2_000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"killed": 1, "notes": 120, "is_same": True, "left": 0}

"""Test Spark with a real local session of two Python workers: bytes of `deid run`, quarantine, secrets, retries."""

import base64
import gc
import json
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

pyspark = pytest.importorskip("pyspark", reason="the extra [spark] is not installed")

from deid_runtime.errors import SettingsError  # noqa: E402
from deid_runtime.formats.records import ReadOptions  # noqa: E402
from deid_runtime.run.job import RunOptions, deidentify_files  # noqa: E402
from deid_runtime.settings import Settings  # noqa: E402
from deid_runtime.spark.dataframe import deidentify, repeated_ids  # noqa: E402
from deid_runtime.spark.submit import main  # noqa: E402
from deid_runtime.spark.writing import to_batches  # noqa: E402
from deid_runtime.surrogates import load_key, new_key, write_key  # noqa: E402

RULES = Settings(use_models=False)
KEY = "env:DEID_SECRET_KEY"
SCHEMA = "id string, patient string, text string, ward string"


def rows(count: int) -> list[tuple[str, str, str, str]]:
    return [
        (
            f"n{number}",
            f"p{number % 3}",
            f"Day {number}. Seen by Dr. Ada Quist on 03/{number % 28 + 1:02}/2019.\nCall 617-555-0{number:03}.",
            "icu",
        )
        for number in range(count)
    ]


class Session:
    """A session with the folder of its event log, and the secret in the environment of its workers."""

    def __init__(self, folder: Path) -> None:
        from pyspark.sql import SparkSession

        self.folder = folder
        self.key = new_key()
        (folder / "events").mkdir()
        os.environ["DEID_SECRET_KEY"] = self.key.hex()
        os.environ["PYSPARK_PYTHON"] = sys.executable
        self.spark = (
            SparkSession.builder.master("local[2,4]")  # two workers; a task is tried up to four times
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "512m")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.eventLog.enabled", "true")
            .config("spark.eventLog.dir", f"file://{folder}/events")
            .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
            .getOrCreate()
        )
        self.spark.sparkContext.setLogLevel("OFF")

    def table(self, count: int, partitions: int = 4) -> Any:
        return self.spark.createDataFrame(rows(count), SCHEMA).repartition(partitions)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = Session(tmp_path_factory.mktemp("spark"))
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.spark.stop()
        del os.environ["DEID_SECRET_KEY"]
        gc.collect()  # PySpark leaves sockets open; whoever collects them gets its warnings


pytestmark = pytest.mark.filterwarnings("ignore")  # those of PySpark


def test_bytes_are_those_of_deid_run(session: Session, tmp_path: Path) -> None:
    notes = [{"id": name, "patient": patient, "text": text, "ward": ward} for name, patient, text, ward in rows(12)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    options = RunOptions(read=ReadOptions(unchecked_columns=("ward",)), quiet=True)
    deidentify_files([tmp_path / "in.jsonl"], tmp_path / "out.jsonl", Settings(), options, key=session.key)
    expected = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]

    found = deidentify(session.table(12), key=KEY, keep=("ward",), batch_size=2).collect()

    assert sorted((row.id, row.patient, row.text, row.ward) for row in found) == sorted(
        (row["id"], row["patient"], row["text"], row["ward"]) for row in expected
    )
    assert {row.quarantine for row in found} == {None}
    assert {span.label for row in found for span in row.spans} >= {"DOCTOR", "DATE", "PHONE"}


def test_a_note_that_is_held_back_is_a_row_with_a_reason_and_nothing_else(session: Session) -> None:
    bad = [("secret note", "p", "Hartman\0", "icu"), (None, "p", "Hartman", "icu"), ("n2", "p", None, "icu")]
    table = session.spark.createDataFrame(bad, SCHEMA).union(session.table(1))

    found = deidentify(table, key=KEY, settings=RULES, keep=("ward",)).collect()

    held_back = [row for row in found if row.quarantine]
    assert len(found) == 4
    assert sorted(str(row.quarantine.id) for row in held_back) == ["None", "n2", "sha256:63b6c174f9ef6a45"]
    for row in held_back:
        assert (row.id, row.patient, row.text, row.spans, row.ward) == (None,) * 5
        assert row.quarantine.stage == "read"
        assert "Hartman" not in str(row)


def test_a_worker_that_is_killed_changes_nothing(session: Session) -> None:
    table = session.table(160)
    expected = sorted(row.text for row in deidentify(table, key=KEY, settings=RULES).collect())
    killed: list[int] = []

    def kill() -> None:
        for _ in range(2_000):
            for process in psutil.Process().children(recursive=True):
                try:
                    parent = process.parent()
                    if (
                        parent
                        and "spawn_main" in " ".join(process.cmdline())
                        and "daemon" in " ".join(parent.cmdline())
                    ):
                        parent.kill()
                        killed.append(parent.pid)
                        return
                except psutil.Error:
                    continue
            time.sleep(0.005)

    thread = threading.Thread(target=kill)
    thread.start()
    found = sorted(
        row.text for row in deidentify(table, key=KEY, settings=Settings(use_models=False, batch_windows=9)).collect()
    )
    thread.join()

    assert killed
    assert found == expected


def test_a_stream_writes_each_batch_once(session: Session, tmp_path: Path) -> None:
    source, out, state = (str(tmp_path / name) for name in ("in", "out", "state"))

    def run() -> None:
        stream = session.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(source)
        writer = stream.writeStream.foreachBatch(to_batches(out, key=KEY, settings=RULES))
        writer.option("checkpointLocation", state).trigger(availableNow=True).start().awaitTermination()

    for number in range(2):
        part = session.table(6).where(f"int(substr(id, 2)) % 2 = {number}").coalesce(1)
        part.write.mode("append").parquet(source)
    run()
    first = session.spark.read.parquet(out).collect()
    stamps = {path: path.stat().st_mtime_ns for path in Path(out).rglob("*.parquet")}
    # A crash after the last batch was written and before Spark noted it; and one while it was being written.
    (tmp_path / "state/commits/1").unlink()
    (tmp_path / "state/commits/.1.crc").unlink(missing_ok=True)
    run()
    assert {path: path.stat().st_mtime_ns for path in Path(out).rglob("*.parquet")} == stamps
    (tmp_path / "out/batch=1/_SUCCESS").unlink()
    (tmp_path / "state/commits/1").unlink()
    (tmp_path / "state/commits/.1.crc").unlink(missing_ok=True)
    run()

    again = session.spark.read.parquet(out).collect()
    assert len(first) == 6
    assert sorted((row.batch, row.text) for row in first) == sorted((row.batch, row.text) for row in again)


def test_the_command_writes_omop_notes(session: Session, tmp_path: Path) -> None:
    names = "note_id bigint, person_id bigint, note_date date, note_type_concept_id int, note_title string, "
    names += "note_text string"
    notes = [(1, 7, None, 44814637, "Quist", "Seen by Dr. Ada Quist."), (2, 7, None, 44814637, "Quist", "Hartman\0")]
    session.spark.createDataFrame(notes, names).write.parquet(str(tmp_path / "note"))
    arguments = ["omop-note", str(tmp_path / "note"), str(tmp_path / "out"), "--key", KEY, "--no-models"]

    done = CliRunner().invoke(main, arguments)

    assert (done.exit_code, "1 notes written, 1 held back" in done.output) == (1, True), done.output
    written = session.spark.read.parquet(str(tmp_path / "out"))
    assert set(written.columns) == {
        "note_id", "person_id", "note_text", "spans", "note_type_concept_id", "quarantine", "held_back",
    }  # fmt: skip
    [good] = written.where("not held_back").collect()
    assert (good.note_id[:2], good.person_id[:2], good.note_type_concept_id) == ("N-", "P-", 44814637)
    assert "Quist" not in good.note_text
    assert CliRunner().invoke(main, arguments).exit_code == 2  # OUT exists


def test_the_command_writes_new_fhir_resources(session: Session, tmp_path: Path) -> None:
    data = base64.b64encode(b"Seen by Dr. Ada Quist.").decode()
    document = {
        "resourceType": "DocumentReference", "id": "d1", "status": "current", "subject": {"reference": "Patient/p1"},
        "content": [{"attachment": {"contentType": "text/plain", "data": data}}],
    }  # fmt: skip
    (tmp_path / "in.ndjson").write_text(json.dumps(document) + '\n{"resourceType": "Patient"}\n', encoding="utf-8")

    out = str(tmp_path / "out")
    done = CliRunner().invoke(main, ["fhir-ndjson", str(tmp_path / "in.ndjson"), out, "--key", KEY, "--no-models"])

    assert done.exit_code == 1, done.output
    [line] = [row.value for row in session.spark.read.text(f"{out}/held_back=false").collect()]
    written = json.loads(line)
    assert re.fullmatch(r"Patient/P-\w+", written["subject"]["reference"])
    assert "Quist" not in base64.b64decode(written["content"][0]["attachment"]["data"]).decode()
    assert "another type" in session.spark.read.text(f"{out}/held_back=true").collect()[0].value


def test_wrong_use_is_refused_before_anything_runs(session: Session, tmp_path: Path) -> None:
    table = session.table(2)

    with pytest.raises(SettingsError, match="no column 'note_text'"):
        deidentify(table, key=KEY, text="note_text")
    with pytest.raises(SettingsError, match="given by its place"):
        deidentify(table, key=new_key().hex())
    with pytest.raises(SettingsError, match="must have different names"):
        deidentify(table, key=KEY, keep=("text",))
    with pytest.raises(SettingsError, match="takes only a key and the options of deidentify"):
        to_batches("out", text="text")
    table.union(table).write.parquet(str(tmp_path / "in"))
    done = CliRunner().invoke(main, ["table", str(tmp_path / "in"), str(tmp_path / "out"), "--key", KEY, "--no-models"])
    assert (done.exit_code, "2 note ids occur in several rows" in done.output) == (2, True), done.output
    assert repeated_ids(table) == 0


def test_delta_tables_are_told_from_parquet(session: Session, tmp_path: Path) -> None:
    session.table(2).write.parquet(str(tmp_path / "in"))
    (tmp_path / "in" / "_delta_log").mkdir()
    arguments = ["table", str(tmp_path / "in"), str(tmp_path / "out"), "--key", KEY, "--no-models"]

    for more, message in (([], "IN is a Delta table"), (["--format", "delta"], "this Spark has no Delta Lake")):
        done = CliRunner().invoke(main, [*arguments, *more])
        assert (done.exit_code, message in done.output) == (2, True), done.output
    gone = CliRunner().invoke(main, ["table", str(tmp_path / "gone"), str(tmp_path / "out"), "--key", KEY])
    assert (gone.exit_code, "PATH_NOT_FOUND" in gone.output) == (2, True), gone.output


def test_a_key_that_workers_lack_fails_the_job_with_the_reason(session: Session, tmp_path: Path) -> None:
    session.table(2).write.parquet(str(tmp_path / "in"))
    arguments = ["table", str(tmp_path / "in"), str(tmp_path / "out"), "--no-models"]

    done = CliRunner().invoke(main, [*arguments, "--key", f"file:{tmp_path / 'none.key'}"])

    assert done.exit_code == 2
    assert "no key file" in done.output


def test_files_that_spark_sends_and_the_silence_of_plans_and_logs(session: Session, tmp_path: Path) -> None:
    write_key(tmp_path / "sent.key")
    session.spark.sparkContext.addFile(str(tmp_path / "sent.key"))
    sent = deidentify(session.table(3), key="sparkfile:sent.key", settings=RULES)
    by_path = deidentify(session.table(3), key=tmp_path / "sent.key", settings=RULES)
    assert sorted(row.text for row in sent.collect()) == sorted(row.text for row in by_path.collect())
    plan = sent._jdf.queryExecution().toString()
    session.spark.stop()
    logs = [path.read_bytes() for path in (session.folder / "events").rglob("*") if path.is_file()]

    assert sum(map(len, logs)) > 10_000
    for secret in (session.key, load_key(tmp_path / "sent.key")):
        for form in (secret, secret.hex().encode(), base64.b64encode(secret)):
            assert form not in plan.encode()
            assert not any(form in log for log in logs)
    assert not any(b"Quist" in log for log in logs)

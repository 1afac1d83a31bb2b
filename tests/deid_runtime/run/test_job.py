"""Test whole runs from files to files, with rules only, so that no model is needed."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pyarrow
import pytest
from pyarrow import parquet

from deid_runtime.errors import OutputError, SettingsError, SourceError
from deid_runtime.formats.records import ReadOptions
from deid_runtime.run.job import RunOptions, Summary, deidentify_files, detect_files
from deid_runtime.run.verify import verify_output
from deid_runtime.settings import Settings
from deid_runtime.spans import PatientRecord
from tests.commands import read_rows, write_rows

SETTINGS = Settings(use_models=False)
KEY = bytes(range(32))
TEXT = "Seen on 03/04/2051 by the team.\r\nCall 212-664-9182.\tMRN: 4471902\n"


def options(**changes: Any) -> RunOptions:
    return RunOptions(**{"quiet": True, **changes})


def deidentify(paths: list[Path] | Path, out: Path, **changes: Any) -> Summary:
    return deidentify_files([paths] if isinstance(paths, Path) else paths, out, SETTINGS, options(**changes), key=KEY)


def is_deidentified(text: str) -> bool:
    """Return whether a variant of TEXT has other values at the same places."""
    return (
        "03/04/2051" not in text
        and "664-9182" not in text
        and text.startswith("Seen on ")
        and " by the team.\r\nCall " in text
        and text.endswith("\n")
    )


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Make a folder with two notes and one bad record in every format."""
    folder = tmp_path / "mixed"
    (folder / "sub").mkdir(parents=True)
    row = {"patient": "p1", "type": "Consult", "text": TEXT, "secret": "Ingeborg"}
    write_rows(folder / "a.jsonl", [{"id": "j1", **row}, {"id": "j2", **row, "text": 5}, {"id": "j3", **row}])
    line = json.dumps({"id": "g1", **row}) + "\n"
    (folder / "b.jsonl.gz").write_bytes(gzip.compress((line + line + line.replace("g1", "g2")).encode()))
    (folder / "c.csv").write_bytes(f'id,text\nc1,"{TEXT}"\nc2\nc3,"{TEXT}"\n'.encode())
    table = pyarrow.table({"id": ["q1", None, "q2"], "text": [TEXT] * 3, "n": [1, 2, 3]})
    parquet.write_table(table, folder / "d.parquet")
    for name, data in (("t1", TEXT.encode()), ("t2", b"\xff"), ("sub/t3", TEXT.encode())):
        (folder / f"{name}.txt").write_bytes(data)
    xml = "<deIdi2b2><TEXT><![CDATA[{}]]></TEXT><TAGS><DATE start='8' end='18' text='03/04/2051'/></TAGS></deIdi2b2>"
    for name, text in (("110-01", xml.format(TEXT)), ("110-02", "<no"), ("111-01", xml.format(TEXT))):
        (folder / f"{name}.xml").write_bytes(text.encode())
    return folder


BAD = {"j2", "g1", "c.csv:5", "d.parquet:2", "t2", "110-02"}
GOOD = {"j1", "j3", "g1", "g2", "c1", "c3", "q1", "q2", "t1", "sub/t3", "110-01", "111-01"}


def test_every_record_of_every_format_ends_in_one_place(mixed: Path, tmp_path: Path) -> None:
    summary = deidentify(mixed, tmp_path / "out", keep_ids=True)

    out = tmp_path / "out"
    files = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert files == [
        "110-01.xml", "111-01.xml", "a.jsonl", "b.jsonl.gz", "c.csv", "d.parquet", "sub/t3.txt", "t1.txt",
    ]  # fmt: skip
    held_back = read_rows(summary.quarantine)
    assert {row["id"] for row in held_back} == BAD
    assert len(held_back) == len(BAD)
    assert all(row.keys() == {"id", "stage", "reason"} for row in held_back)
    found = {note["id"] for note in detected(mixed, tmp_path)}
    assert found == GOOD
    assert (summary.counts.read, summary.counts.written) == (len(BAD) + len(GOOD), len(GOOD))


def detected(paths: Path, tmp_path: Path) -> list[dict[str, Any]]:
    detect_files([paths], tmp_path / "spans.jsonl", SETTINGS, options())
    return read_rows(tmp_path / "spans.jsonl")


def test_texts_are_replaced_and_nothing_else_is_passed_on(mixed: Path, tmp_path: Path) -> None:
    deidentify(mixed, tmp_path / "out")

    out = tmp_path / "out"
    [first, second] = read_rows(out / "a.jsonl")
    assert first.keys() == {"id", "patient", "text"}
    assert is_deidentified(first["text"])
    assert first["patient"] == second["patient"] != "p1"
    assert first["text"] == second["text"], "one patient, one surrogate"
    assert first["id"] not in ("j1", second["id"])
    assert all(is_deidentified(row["text"]) for row in parquet.read_table(out / "d.parquet").to_pylist())
    names = [path.stem for path in out.rglob("*.txt")] + [path.stem for path in out.rglob("*.xml")]
    assert len(names) == 4
    assert not {"t1", "t3", "110-01", "111-01"} & set(names)
    everything = b"".join(
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.suffix != ".parquet"
    )
    for original in (b"03/04/2051", b"212-664-9182", b"4471902", b"Ingeborg", b"TAGS"):
        assert original not in everything


@pytest.mark.parametrize(("workers", "batch_size"), [(1, 7), (1, 256), (2, 7)])
def test_output_is_the_same_for_any_number_of_workers_and_any_batch_size(
    mixed: Path, tmp_path: Path, workers: int, batch_size: int
) -> None:
    more = [{"id": number, "text": f"{TEXT} {number}/{number}/2049"} for number in range(1, 30)]
    write_rows(mixed / "more.jsonl", more)
    trees = []
    for name, changes in (("one", {"batch_size": 1}), ("other", {"workers": workers, "batch_size": batch_size})):
        summary = deidentify(mixed, tmp_path / name, **changes)
        paths = [*sorted(path for path in (tmp_path / name).rglob("*") if path.is_file()), summary.quarantine]
        trees.append([(path.name.removeprefix(name), path.read_bytes()) for path in paths])

    assert trees[0] == trees[1]


def test_found_spans_have_original_ids_and_offsets_and_no_text(mixed: Path, tmp_path: Path) -> None:
    rows = detected(mixed, tmp_path)

    assert [row["id"] for row in rows if row["id"].startswith("j")] == ["j1", "j3"]
    spans = rows[2]["spans"]
    assert [TEXT[span["start"] : span["end"]] for span in spans][:2] == ["03/04/2051", "212-664-9182"]
    assert all(span.keys() == {"start", "end", "label", "score", "sources"} for span in spans)
    assert "2051" not in (tmp_path / "spans.jsonl").read_text()


def test_the_manifest_adds_up_and_holds_no_ids_text_or_key(mixed: Path, tmp_path: Path) -> None:
    summary = deidentify(mixed, tmp_path / "out")

    manifest = json.loads(summary.manifest.read_text())
    notes = manifest["notes"]
    assert notes["read"] == notes["written"] + notes["quarantined"] == 18
    assert sum(notes["quarantined_by_stage"].values()) == notes["quarantined"]
    assert notes["spans_by_label"]["DATE"] >= 12
    assert all(manifest[part] for part in ("pipeline", "options", "seconds_by_stage", "libraries", "finished"))
    assert manifest["inputs"]["names"] == ["mixed"]
    assert manifest["inputs"]["formats"]["i2b2"]["files"] == 3
    text = summary.manifest.read_text()
    for absent in (KEY.hex(), "110-01", "j1", "2051"):
        assert absent not in text


def test_one_file_gives_one_file_in_the_compression_its_name_says(mixed: Path, tmp_path: Path) -> None:
    deidentify(mixed / "a.jsonl", tmp_path / "a.jsonl.gz")
    deidentify(mixed / "b.jsonl.gz", tmp_path / "b.jsonl")
    deidentify(mixed / "t1.txt", tmp_path / "t.txt")
    deidentify([mixed / "t1.txt", mixed / "c.csv"], tmp_path / "two")

    assert len(gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).splitlines()) == 2
    assert len(read_rows(tmp_path / "b.jsonl")) == 2
    assert is_deidentified((tmp_path / "t.txt").read_bytes().decode())
    assert {path.suffix for path in (tmp_path / "two").iterdir()} == {".txt", ".csv"}


def test_kept_columns_and_ids_are_kept(mixed: Path, tmp_path: Path) -> None:
    deidentify(mixed / "d.parquet", tmp_path / "d.parquet", keep_ids=True, read=ReadOptions(unchecked_columns=("n",)))

    rows = parquet.read_table(tmp_path / "d.parquet").to_pylist()
    assert [(row["id"], row["n"]) for row in rows] == [("q1", 1), ("q2", 3)]


def test_tables_without_good_notes_come_out_empty_but_whole(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("id,text\n")
    (folder / "b.jsonl").write_text("")
    parquet.write_table(pyarrow.table({"id": ["x"], "text": ["a\0"]}), folder / "c.parquet")

    summary = deidentify(folder, tmp_path / "out")

    assert (tmp_path / "out" / "a.csv").read_bytes() == b"id,text\r\n"
    assert (tmp_path / "out" / "b.jsonl").read_bytes() == b""
    assert parquet.read_table(tmp_path / "out" / "c.parquet").num_rows == 0
    assert summary.counts.quarantined == {"read": 1}


def test_a_note_without_text_passes_as_it_is_and_is_counted(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "in.jsonl", [{"id": "a", "text": ""}, {"id": "b", "text": TEXT}])

    summary = deidentify(path, tmp_path / "out.jsonl")

    assert [row["text"] == "" for row in read_rows(tmp_path / "out.jsonl")] == [True, False]
    assert (summary.counts.empty, summary.counts.quarantined.total()) == (1, 0)


def test_records_of_patients_are_used_and_counted(mixed: Path, tmp_path: Path) -> None:
    records = {"p1": PatientRecord("p1", {"given": "Ayodele", "family": "Brandtberg"})}
    path = write_rows(
        tmp_path / "in.jsonl",
        [{"id": number, "patient": f"p{number}", "text": "Then Ayodele Brandtberg spoke."} for number in (1, 2)],
    )

    summary = detect_files([path], tmp_path / "spans.jsonl", SETTINGS, options(), records=records)

    first, second = read_rows(tmp_path / "spans.jsonl")
    assert [span["label"] for span in first["spans"]] == ["PATIENT"]
    assert len(second["spans"]) < 2
    assert summary.counts.with_record == 1


def test_errors_leave_nothing_behind(mixed: Path, tmp_path: Path) -> None:
    (mixed / "z.csv").write_text('id,text\n1,"open\n')
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(SourceError, match="broken CSV"):
        deidentify(mixed, tmp_path / "out")
    with pytest.raises(OutputError, match="overlaps the input"):
        deidentify(mixed, mixed / "out")
    with pytest.raises(OutputError, match="overlaps the input"):
        deidentify(mixed / "a.jsonl", mixed / "a.jsonl", overwrite=True)
    with pytest.raises(SettingsError, match="give the output the suffix of the input"):
        deidentify(mixed / "a.jsonl", tmp_path / "a.csv")
    with pytest.raises(SettingsError, match="--keep-column"):
        deidentify(mixed / "t1.txt", tmp_path / "t.txt", read=ReadOptions(keep_columns=("n",)))

    assert sorted(tmp_path.rglob("*")) == before


class LongRun:
    """``deid run`` in its own process group, interrupted while it works."""

    def __init__(self, folder: Path, *, workers: int = 2, notes_count: int = 600) -> None:
        self.folder = folder
        notes = ({"id": str(number), "text": TEXT * 200} for number in range(notes_count))
        write_rows(folder / "in.jsonl", list(notes))
        command = [
            # The tests may run in the background or under nohup, where these signals are ignored; a run respects that.
            "env",
            "--default-signal=INT,QUIT,HUP,TERM",
            sys.executable,
            "-m",
            "deid_runtime",
            "run",
            str(folder / "in.jsonl"),
            "-o",
            str(folder / "out.jsonl"),
        ]
        self.process = subprocess.Popen(
            [*command, "--no-models", "--workers", str(workers), "--batch-size", "2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        deadline = time.monotonic() + 300
        while not any(path.stat().st_size for path in folder.glob(".out.jsonl.job/open/tables/0")):
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        self.children = psutil.Process(self.process.pid).children(recursive=True)
        assert self.children

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def wait_for_children(self) -> None:
        _, alive = psutil.wait_procs(self.children, timeout=120)
        assert not alive


@pytest.mark.parametrize(
    # The signals of Ctrl-C, Ctrl-\\ and a closing terminal, and of service managers.
    ("number", "to_all", "code"),
    [
        (signal.SIGINT, True, 130),
        (signal.SIGQUIT, True, 131),
        (signal.SIGHUP, True, 129),
        (signal.SIGTERM, False, 143),
        (signal.SIGTERM, True, 143),
    ],
)
def test_a_stopped_run_ends_with_128_plus_the_signal_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals, to_all: bool, code: int
) -> None:
    run = LongRun(tmp_path)

    (os.killpg if to_all else os.kill)(run.process.pid, number)
    out, err = run.process.communicate(timeout=120)

    assert run.process.returncode == code
    assert run.files() == ["in.jsonl"]
    run.wait_for_children()
    assert out == b""
    assert f"stopped by {number.name}; nothing was written".encode() in err
    assert b"Traceback" not in err


def test_a_killed_run_leaves_no_output_and_no_workers_and_the_next_removes_the_rest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = LongRun(tmp_path)

    with pytest.raises(OutputError, match=f"another run .process {run.process.pid} on"):
        deidentify(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    run.process.kill()
    run.process.communicate(timeout=120)

    assert "out.jsonl" not in run.files()
    assert "out.jsonl.manifest.json" not in run.files()
    run.wait_for_children()
    [partial] = tmp_path.glob(".out.jsonl.partial-*")
    job = tmp_path / ".out.jsonl.job"
    assert partial.stat().st_mode & 0o777 == job.stat().st_mode & 0o777 == 0o700
    write_rows(tmp_path / "in.jsonl", [{"id": "1", "text": TEXT}])
    deidentify(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert run.files() == ["in.jsonl", "out.jsonl", "out.jsonl.manifest.json", "out.jsonl.quarantine.jsonl"]
    assert f"{partial} was left by a killed run and is removed now" in caplog.text
    assert f"{job} was left by a killed run and is removed now" in caplog.text


def test_a_run_whose_stderr_is_closed_goes_on(tmp_path: Path) -> None:
    run = LongRun(tmp_path, notes_count=20)
    assert run.process.stderr
    assert run.process.stdout
    run.process.stderr.close()
    run.process.stdout.close()

    assert run.process.wait(timeout=300) == 0
    assert len(read_rows(tmp_path / "out.jsonl")) == 20
    assert verify_output(tmp_path / "out.jsonl").differences == []


LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.executable, [sys.executable, "-m", "deid_runtime", "run", *sys.argv[2:]])
"""


@pytest.mark.parametrize(
    "name", ["out.jsonl", "out.jsonl.gz", "out.csv", "out.parquet", "out", "manifest", "quarantine"]
)
def test_a_disk_that_is_full_stops_the_run_with_nothing_left(tmp_path: Path, name: str) -> None:
    folder, limit_bytes = tmp_path / "in", 20_000
    folder.mkdir()
    rows = [{"id": str(number), "text": os.urandom(600).hex()} for number in range(60)]
    if name.endswith(".csv"):
        lines = [f"{row['id']},{row['text']}\n" for row in rows]
        (folder / "in.csv").write_text("id,text\n" + "".join(lines))
    elif name.endswith(".parquet"):
        parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "in.parquet")
    elif name == "out":
        (folder / "a.txt").write_text("x" * 30_000)
        (folder / "b.txt").write_text("x")
    elif name == "quarantine":
        write_rows(folder / "in.jsonl", [{"id": "1", "text": 5, "pad": "x" * 30} for _ in range(400)])
    elif name == "manifest":
        write_rows(folder / "in.jsonl", [{"id": "1", "text": "fine"}])
        limit_bytes = 500
    else:
        write_rows(folder / "in.jsonl", rows)
    source = folder if name == "out" else next(folder.iterdir())
    out = tmp_path / "there" / (name if "." in name or name == "out" else "out.jsonl")
    out.parent.mkdir()

    given = [str(limit_bytes), str(source), "-o", str(out), "--no-models", "--workers", "1", "--quiet"]
    done = subprocess.run([sys.executable, "-c", LIMITED, *given], capture_output=True, text=True, check=False)

    assert done.returncode == 2, done.stderr
    assert f"{out}: cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert list(out.parent.iterdir()) == []


def test_the_command_outlives_its_only_worker(tmp_path: Path) -> None:
    run = LongRun(tmp_path, workers=1, notes_count=100)
    [worker] = [process for process in run.children if "spawn_main" in " ".join(process.cmdline())]

    worker.kill()
    _, err = run.process.communicate(timeout=300)

    assert run.process.returncode == 0, err
    assert [is_deidentified(row["text"][: len(TEXT)]) for row in read_rows(tmp_path / "out.jsonl")] == [True] * 100
    assert read_rows(tmp_path / "out.jsonl.quarantine.jsonl") == []


def test_an_id_that_looks_like_text_is_held_back_by_digest_and_position(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    first_line = "Ayodele was seen by Dr. Brandt."
    write_rows(folder / "a b.jsonl", [{"id": "n1", "text": 5}, {"id": first_line, "text": 5}, {"text": "x"}])
    write_rows(folder / "b.jsonl", [{"id": first_line, "text": "a"}, {"id": first_line, "text": "b"}])
    (folder / "c.csv").write_text(f"id,text\n{first_line},a\n")
    (folder / "ward a").mkdir()
    (folder / "ward a" / "t.txt").write_bytes(b"\xff")

    summary = deidentify(folder, tmp_path / "out")

    digest = "sha256:e5c7147f5a01df07"
    held_back = read_rows(summary.quarantine)
    assert [(row["id"], row.get("position")) for row in held_back] == [
        ("n1", None),
        (digest, "a b.jsonl:2"),
        ("a b.jsonl:3", None),
        (digest, "b.jsonl:2"),
        (digest, "c.csv:2"),
        ("ward a/t", None),
    ]
    assert "Ayodele" not in summary.quarantine.read_text()


def test_reasons_do_not_quote_an_id_that_looks_like_text(tmp_path: Path) -> None:
    notes = write_rows(tmp_path / "notes.jsonl", [{"id": "Ayodele was seen", "patient": "p", "text": TEXT}])
    (tmp_path / "shifts.csv").write_text("patient,days\nq,3\n")
    settings = Settings(use_models=False, given_date_shifts=tmp_path / "shifts.csv")

    summary = deidentify_files([notes], tmp_path / "out.jsonl", settings, options(), key=KEY)

    [row] = read_rows(summary.quarantine)
    assert "has no row in the table of date shifts" in row["reason"]
    assert "Ayodele" not in str(row)

"""Test that a run that was stopped goes on behind its finished shards, to the same bytes as a run in one piece."""

import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from deid_runtime.cli.main import main
from deid_runtime.errors import OutputError, SettingsError
from deid_runtime.formats.records import ReadOptions
from deid_runtime.run import job_folder
from deid_runtime.run.crosswalk import read_crosswalk, write_key_pair
from deid_runtime.run.job import RunOptions, Summary, deidentify_files, detect_files
from deid_runtime.run.job_folder import LEDGER, JobFolder, job_path, read_state
from deid_runtime.run.job_status import job_status
from deid_runtime.run.verify import verify_output
from deid_runtime.settings import Settings
from deid_runtime.surrogates import load_key

SETTINGS = Settings(use_models=False)
KEY = bytes(range(32))
SHARD = 1_000  # characters, with 256 for each record: three notes


def notes(count: int, text: str = "Seen on 03/04/2051, call 212-664-9182, note {}.") -> list[dict[str, Any]]:
    return [
        {"id": f"n{number}", "patient": f"p{number // 3}", "kind": "ward", "text": text.format(number)}
        for number in range(count)
    ]


def with_faults(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with an id that comes again much later, and a text that is none."""
    rows[-2] = {**rows[-2], "id": rows[1]["id"]}
    rows[4] = {**rows[4], "text": 5}
    return rows


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_input(path: Path) -> Path:
    """Write an input in the format of its name; a folder has tables and single notes."""
    rows = notes(20)
    if path.suffix == ".csv":
        lines = "".join(f'{row["id"]},{row["patient"]},"{row["text"]}\n\n"\n' for row in rows)
        path.write_text(f"\ufeffid,patient,text\n{lines}", encoding="utf-8")
    elif path.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=4)
    elif path.suffix:
        write_lines(path, with_faults(rows))
    else:
        (path / "sub").mkdir(parents=True)
        for name in ("a.jsonl", "b.csv", "d.jsonl.gz", "sub/e.parquet"):
            write_input(path / name)
        (path / "c.csv").write_text("id,text\n")  # without notes
        for number in range(12):
            (path / f"m{number}.txt").write_text(f"Call 212-664-9182 in case {number}.\n")
    return path


class StopError(Exception):
    """Stands for a crash at a certain point."""


def run(source: Path, out: Path, **changes: Any) -> Summary:
    options = RunOptions(**{"quiet": True, "batch_size": 1, **changes})
    return deidentify_files([source], out, SETTINGS, options, key=KEY)


def detect(source: Path, out: Path, **changes: Any) -> Summary:
    options = RunOptions(**{"quiet": True, "batch_size": 1, **changes})
    return detect_files([source], out, SETTINGS, options)


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Return a function that makes runs stop when so many shards are committed; None: never again."""
    commit = JobFolder.commit

    def stop_after(count: int | None) -> None:
        def counted(job: JobFolder, *args: Any, **kwargs: Any) -> None:
            if len(job.state.shards) == count:
                raise StopError
            commit(job, *args, **kwargs)

        monkeypatch.setattr(JobFolder, "commit", counted)

    return stop_after


def contents(out: Path) -> dict[str, bytes]:
    """Return what a run wrote, without its report."""
    files = [path for path in out.rglob("*") if path.is_file()] if out.is_dir() else [out]
    files.append(out.with_name(f"{out.name}.quarantine.jsonl"))
    return {str(path.relative_to(out.parent)).replace(out.name, "OUT", 1): path.read_bytes() for path in files}


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz", "in.csv", "in.parquet", "in"])
@pytest.mark.parametrize("work", [run, detect])
def test_a_stopped_run_goes_on_to_the_same_bytes(
    tmp_path: Path, name: str, work: Callable[..., Summary], stop_after: Callable[[int | None], None]
) -> None:
    source = write_input(tmp_path / name)
    suffix = ".jsonl" if work is detect else "".join(source.suffixes)
    whole, out = tmp_path / f"whole{suffix}", tmp_path / f"out{suffix}"
    expected = work(source, whole)
    for count in (2, 3, 5):
        stop_after(count)
        with pytest.raises(StopError):
            work(source, out, shard_chars=SHARD, resume=True)
        assert not out.exists()
        assert job_path(out).stat().st_mode & 0o777 == 0o700
    stop_after(None)

    summary = work(source, out, shard_chars=SHARD, resume=True, batch_size=7)

    assert contents(out) == contents(whole)
    assert (summary.counts.read, summary.counts.written) == (expected.counts.read, expected.counts.written)
    assert summary.counts.labels == expected.counts.labels
    assert not job_path(out).exists()
    assert verify_output(out).differences == []
    manifest = json.loads(summary.manifest.read_text())
    assert manifest["run"]["resumed"] == 3
    assert manifest["outputs"]["body"] == json.loads(expected.manifest.read_text())["outputs"]["body"]


def test_a_finished_shard_is_not_done_again(tmp_path: Path, stop_after: Callable[[int | None], None]) -> None:
    source, out = write_input(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    stop_after(3)
    with pytest.raises(StopError):
        run(source, out, shard_chars=SHARD)
    before = read_state(job_path(out) / LEDGER)
    stop_after(5)
    with pytest.raises(StopError):
        run(source, out, shard_chars=SHARD, resume=True)

    after = read_state(job_path(out) / LEDGER)

    assert len(before.shards) == 3
    assert [shard.to_json() for shard in after.in_order()][:3] == [shard.to_json() for shard in before.in_order()]
    assert after.in_order()[3].start == before.in_order()[-1].end


def damage_ledger(job: Path) -> None:
    lines = (job / LEDGER).read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"e", b"f", 1)  # the second shard
    (job / LEDGER).write_bytes(b"".join(lines)[:-9])  # the last line is torn


def damage_shard(job: Path) -> None:
    path = job / "1" / "tables" / "0"
    path.write_bytes(path.read_bytes().replace(b"note", b"Note", 1))


def lose_shard(job: Path) -> None:
    os.rename(job / "2", job.parent / "elsewhere")
    (job / "open").mkdir()
    (job / "17").mkdir()


@pytest.mark.parametrize("damage", [damage_ledger, damage_shard, lose_shard])
@pytest.mark.parametrize("name", ["in.jsonl", "in.parquet"])
def test_what_was_damaged_is_done_again(
    tmp_path: Path, name: str, damage: Callable[[Path], None], stop_after: Callable[[int | None], None]
) -> None:
    source = write_input(tmp_path / name)
    whole, out = tmp_path / f"whole{source.suffix}", tmp_path / f"out{source.suffix}"
    run(source, whole)
    stop_after(4)
    with pytest.raises(StopError):
        run(source, out, shard_chars=SHARD)
    stop_after(None)
    damage(job_path(out))

    run(source, out, shard_chars=SHARD, resume=True)

    assert contents(out) == contents(whole)


def test_a_damaged_beginning_of_the_ledger_is_refused(tmp_path: Path, stop_after: Callable[[int | None], None]) -> None:
    source, out = write_input(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    stop_after(2)
    with pytest.raises(StopError):
        run(source, out, shard_chars=SHARD)
    stop_after(None)
    ledger = job_path(out) / LEDGER
    ledger.write_bytes(b"x" + ledger.read_bytes())

    with pytest.raises(OutputError, match="beginning of its ledger is damaged; start again with --restart"):
        run(source, out, resume=True)
    run(source, out, restart=True)

    assert not job_path(out).exists()


def test_an_unfinished_run_is_neither_lost_nor_mixed_up(
    tmp_path: Path, stop_after: Callable[[int | None], None]
) -> None:
    source, out = write_input(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    stop_after(2)
    with pytest.raises(StopError):
        run(source, out, shard_chars=SHARD)
    stop_after(None)

    with pytest.raises(
        OutputError,
        match=r"an unfinished run has finished 7 notes in 2 shards .*; continue with --resume, or start again with",
    ):
        run(source, out)
    with pytest.raises(SettingsError, match="this changed: the option keep_ids, the option read; run it as before"):
        run(source, out, resume=True, keep_ids=True, read=ReadOptions(unchecked_columns=("kind",)))
    with pytest.raises(SettingsError, match="this changed: the key;"):
        deidentify_files([source], out, SETTINGS, RunOptions(quiet=True, resume=True), key=KEY[::-1])
    other = Settings(use_models=False, date_shift_days=9)
    with pytest.raises(SettingsError, match="this changed: the setting date_shift_days;"):
        deidentify_files([source], out, other, RunOptions(quiet=True, resume=True), key=KEY)
    with pytest.raises(SettingsError, match="--resume needs --key"):
        run(source, out, resume=True, can_resume=False)
    with pytest.raises(SettingsError, match="give only one of them"):
        run(source, out, resume=True, restart=True)
    assert len(read_state(job_path(out) / LEDGER).shards) == 2
    source.write_bytes(source.read_bytes().replace(b"note 7", b"note 8"))
    with pytest.raises(SettingsError, match=r"this changed: the input in\.jsonl;"):
        run(source, out, resume=True)

    assert run(source, out, restart=True).counts.read == 20


def test_resuming_begins_where_there_is_nothing_and_leaves_a_finished_output(tmp_path: Path) -> None:
    source, out = write_input(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"

    first = run(source, out, shard_chars=SHARD, resume=True)
    before = out.stat()
    again = run(source, out, resume=True)

    assert (first.is_done_before, again.is_done_before) == (False, True)
    assert again.counts.written == first.counts.written
    assert again.counts.quarantined == first.counts.quarantined
    assert out.stat() == before
    with pytest.raises(OutputError, match="exists"):
        run(source, out, resume=True, keep_ids=True)


def test_a_run_killed_behind_its_output_is_cleaned_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = write_input(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    with monkeypatch.context() as kept:
        kept.setattr(job_folder, "_discard", lambda path, out: None)  # as if it were killed there
        run(source, out, shard_chars=SHARD)
    assert job_path(out).is_dir()

    assert run(source, out, resume=True).is_done_before

    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_whole_patients_and_the_crosswalk_are_right_over_a_stop(
    tmp_path: Path, stop_after: Callable[[int | None], None]
) -> None:
    rows = notes(18)
    rows.insert(12, {**rows[0], "id": "again"})  # a patient who comes again
    rows.insert(3, {"id": "bad"})
    source = write_lines(tmp_path / "in.jsonl", rows)
    key = tmp_path / "broker.key"
    public = write_key_pair(key).read_text().strip()
    given = {"whole_patients": True, "crosswalk_keys": (public,)}
    run(source, tmp_path / "whole.jsonl", crosswalk=tmp_path / "whole.age", **given)
    out, crosswalk = tmp_path / "out.jsonl", tmp_path / "out.age"
    for count in (1, 3):
        stop_after(count)
        with pytest.raises(StopError):
            run(source, out, crosswalk=crosswalk, shard_chars=SHARD, resume=True, **given)
        assert not crosswalk.exists()
    stop_after(None)

    run(source, out, crosswalk=crosswalk, shard_chars=SHARD, resume=True, **given)

    assert contents(out) == contents(tmp_path / "whole.jsonl")
    assert b"its patient occurred earlier" in contents(out)["OUT.quarantine.jsonl"]
    found: list[list[bytes]] = [[], []]
    for lines, path in zip(found, (crosswalk, tmp_path / "whole.age"), strict=True):
        read_crosswalk(path, key, lines.append)
    assert found[0] == found[1]
    assert len(found[0]) == 18


def test_kept_columns_are_checked_as_in_one_run(tmp_path: Path, stop_after: Callable[[int | None], None]) -> None:
    rows = notes(20)
    rows[9]["kind"] = "bed 9"
    source = write_lines(tmp_path / "in.jsonl", rows)
    read = ReadOptions(keep_columns=("kind",))
    run(source, tmp_path / "whole.jsonl", read=read)
    stop_after(2)
    with pytest.raises(StopError):
        run(source, tmp_path / "out.jsonl", read=read, shard_chars=SHARD)
    stop_after(None)

    run(source, tmp_path / "out.jsonl", read=read, shard_chars=SHARD, resume=True)

    assert contents(tmp_path / "out.jsonl") == contents(tmp_path / "whole.jsonl")
    assert b"a value with digits" in contents(tmp_path / "out.jsonl")["OUT.quarantine.jsonl"]


def test_the_status_says_how_far_a_run_is(tmp_path: Path, stop_after: Callable[[int | None], None]) -> None:
    source, out = write_input(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    with pytest.raises(SettingsError, match="there is no run to it"):
        job_status(out)
    stop_after(3)
    with pytest.raises(StopError):
        run(source, out, shard_chars=SHARD)
    stop_after(None)

    said = CliRunner().invoke(main, ["jobs", "status", str(out), "--json"])
    status = json.loads(said.stdout)

    assert said.exit_code == 0
    assert (status["state"], status["shards"], status["notes"], status["quarantined"]) == ("stopped", 3, 11, 1)
    assert 0.4 < status["share"] < 0.6
    assert status["notes_per_s"] > 0
    text = CliRunner().invoke(main, ["jobs", "status", str(out)]).stdout
    assert text.startswith("stopped; continue with `deid run ... --resume`\nbegan ")
    assert "\n3 shards finished, " in text
    run(source, out, resume=True)
    assert job_status(out).state == "finished"


def test_a_killed_command_goes_on_where_it_ended(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    write_lines(source, notes(30, "Note {}. " + "Seen on 03/04/2051 by the team, call 212-664-9182. " * 60))
    key = tmp_path / "k.key"
    assert CliRunner().invoke(main, ["key", "new", str(key)]).exit_code == 0
    given = [str(source), "--key", str(key), "--no-models", "--workers", "2", "--batch-size", "2"]
    command = [sys.executable, "-m", "deid_runtime", "run", *given, "--shard-chars", "9000"]
    process = subprocess.Popen([*command, "-o", str(out)], stderr=subprocess.DEVNULL, start_new_session=True)
    while job_status_of(out) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = job_status_of(out)

    resumed = subprocess.run([*command, "-o", str(out), "--resume"], capture_output=True, text=True, check=False)

    assert resumed.returncode == 0, resumed.stderr
    whole = tmp_path / "whole.jsonl"
    options = RunOptions(quiet=True)
    deidentify_files([source], whole, SETTINGS, options, key=load_key(key))
    assert contents(out) == contents(whole)
    assert before >= 2
    assert json.loads((tmp_path / "out.jsonl.manifest.json").read_text())["run"]["resumed"] == 1
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def job_status_of(out: Path) -> int:
    """Return the number of finished shards; 0 before there is a ledger."""
    try:
        return len(read_state(job_path(out) / LEDGER).shards)
    except OSError:
        return 0

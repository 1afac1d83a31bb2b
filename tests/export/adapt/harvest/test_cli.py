"""Test ``deid-export adapt harvest`` and ``review`` as a user runs them, and the use of the result by ``deid``."""

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from deid_export.adapt.harvest.candidates import read_review
from deid_export.cli.main import main
from deid_runtime.cli.main import main as deid
from tests.commands import read_rows
from tests.export.adapt.harvest.marked import ward_rows, write_jsonl

ROOT = Path(__file__).resolve().parents[4]


def run(*arguments, keys=None, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=keys)
    assert result.exit_code == code, result.output
    return result.output


def statuses(path):
    return {candidate.line: candidate.status for candidate in read_review(path)}


@pytest.fixture
def notes(tmp_path):
    return write_jsonl(tmp_path / "notes.jsonl", ward_rows())


@pytest.fixture
def harvested(tmp_path, notes):
    run("adapt", "harvest", notes, "-o", tmp_path / "out", "--gold", "--no-models", "--min-patients", 3)
    return tmp_path / "out"


def test_harvest_writes_review_files_and_a_summary_without_text(harvested):
    assert statuses(harvested / "inclusion.review.jsonl") == {
        "Breath sounds equal on both sides": "pending",
        "Warfarin held": "pending",
    }
    assert len(statuses(harvested / "templates.review.jsonl")) == 3
    summary = json.loads((harvested / "harvest.json").read_text(encoding="utf-8"))
    assert summary["counts"]["patients"] == 5
    assert summary["candidates"] == {"inclusion": 2, "templates": 3}
    assert "Warfarin" not in (harvested / "harvest.json").read_text(encoding="utf-8")


def test_notes_that_cannot_be_used_are_named_and_change_the_exit_code(tmp_path, notes):
    rows = notes.read_text(encoding="utf-8")
    notes.write_text(rows + '{"id": "numeric", "text": 7, "spans": []}\n{broken\n', encoding="utf-8")

    output = run(
        "adapt", "harvest", notes, "-o", tmp_path / "out", "--gold", "--no-models", "--min-patients", 3, code=1
    )

    assert "numeric: " in output
    assert "2 notes could not be used" in output
    assert json.loads((tmp_path / "out" / "harvest.json").read_text(encoding="utf-8"))["notes_left_out"] == 2
    assert len(statuses(tmp_path / "out" / "inclusion.review.jsonl")) == 2


def test_decisions_are_made_kept_and_written(tmp_path, harvested):
    file = harvested / "templates.review.jsonl"
    first, second, third = statuses(file)

    output = run("adapt", "review", file, keys="axrq")  # x is no valid key and is ignored
    assert list(statuses(file).values()) == ["accepted", "rejected", "pending"]
    assert "1 accepted, 1 rejected, 1 pending" in output
    assert first in output

    output = run("adapt", "review", file, keys="s")
    assert "1 of 1 pending" in output
    assert first not in output

    run("adapt", "review", file, "--write", tmp_path / "templates.txt")
    written = (tmp_path / "templates.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in written if not line.startswith("#")] == [first]
    assert second not in written
    assert third not in written


def test_a_decision_can_be_taken_back(harvested):
    file = harvested / "inclusion.review.jsonl"

    run("adapt", "review", file, keys="abr")

    assert list(statuses(file).values()) == ["rejected", "pending"]


def test_the_end_of_input_keeps_what_was_decided(harvested):
    file = harvested / "inclusion.review.jsonl"

    run("adapt", "review", file, keys="a")

    assert list(statuses(file).values()) == ["accepted", "pending"]


def test_accepting_in_bulk_asks_first_and_is_marked(harvested):
    file = harvested / "inclusion.review.jsonl"

    output = run("adapt", "review", file, "--accept-all-above", 5, keys="\n", code=1)
    assert "2 lines with 5 patients or more will be accepted without anyone having read them" in output
    assert set(statuses(file).values()) == {"pending"}

    run("adapt", "review", file, "--accept-all-above", 5, keys="y\n")
    assert {(c.status, c.decided) for c in read_review(file)} == {("accepted", "bulk")}
    assert "nothing was changed" in run("adapt", "review", file, "--accept-all-above", 1)


def test_a_new_harvest_keeps_decisions_only_when_asked(tmp_path, notes, harvested):
    file = harvested / "inclusion.review.jsonl"
    run("adapt", "review", file, keys="aq")
    again = ("adapt", "harvest", notes, "-o", harvested, "--gold", "--no-models", "--min-patients", 3)

    assert "--update" in run(*again, code=2)
    run(*again, "--update")
    assert sorted(statuses(file).values()) == ["accepted", "pending"]

    run("adapt", "review", file, "--write", tmp_path / "list.txt")
    run(*again, "--update", "--inclusion", tmp_path / "list.txt")
    assert sorted(statuses(file).values()) == ["accepted", "pending"]


def test_deid_uses_what_was_accepted(tmp_path, harvested):
    for name in ("inclusion", "templates"):
        file = harvested / f"{name}.review.jsonl"
        run("adapt", "review", file, keys="aaa")
        run("adapt", "review", file, "--write", tmp_path / f"{name}.txt", "--with-packaged")
    text = "Ordered via Zephyr by Una Tern, MD on 3/4/2031 at 10:41\nRass score 3\n"
    write_jsonl(tmp_path / "new.jsonl", [("p9", text)], with_spans=False)

    lists = [f"--{name}={tmp_path / name}.txt" for name in ("inclusion", "templates")]
    arguments = ["detect", str(tmp_path / "new.jsonl"), "-o", str(tmp_path / "f.jsonl"), "--no-models", *lists]
    result = CliRunner().invoke(deid, [*arguments, "--workers=1"])

    assert result.exit_code == 0, result.output
    [row] = map(json.loads, (tmp_path / "f.jsonl").read_text(encoding="utf-8").splitlines())
    found = [(text[span["start"] : span["end"]], span["sources"][0]) for span in row["spans"]]
    assert found == [("Una Tern", "template"), ("3/4/2031", "template")]


def test_harvest_from_what_deid_detect_found(tmp_path, notes):
    found = tmp_path / "found.jsonl"
    rows = read_rows(notes)
    found.write_text(
        "".join(json.dumps({"id": row["id"], "spans": row["spans"]}) + "\n" for row in rows), encoding="utf-8"
    )

    run("adapt", "harvest", notes, "-o", tmp_path / "out", "--found", found, "--no-models", "--min-patients", 3)

    assert len(statuses(tmp_path / "out" / "templates.review.jsonl")) == 3


def test_harvest_with_the_ensemble(tmp_path):
    rows = [("", f"Breath sounds equal on both sides.\nRass score {i}\n") for i in range(1, 5)]
    notes = write_jsonl(tmp_path / "notes.jsonl", rows, with_spans=False)

    output = run("adapt", "harvest", notes, "-o", tmp_path / "out", "--min-patients", 3, "--profile", "fast")

    assert "4 of 4 notes have no patient" in output
    assert "Breath sounds equal on both sides" in statuses(tmp_path / "out" / "inclusion.review.jsonl")
    summary = json.loads((tmp_path / "out" / "harvest.json").read_text(encoding="utf-8"))
    assert (summary["identifiers"], summary["pipeline"]["profile"]) == ("detected", "fast")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gold", "--found", "f"], "--gold and --found"),
        (["--no-models"], "--no-models needs"),
        (["--min-patients", "1"], "min-patients"),
        (["--agreement", "0.5"], "agreement"),
    ],
)
def test_wrong_usage_is_refused(tmp_path, notes, arguments, message):
    (tmp_path / "f").write_text("", encoding="utf-8")
    arguments = [str(tmp_path / "f") if argument == "f" else argument for argument in arguments]

    assert message in run("adapt", "harvest", notes, "-o", tmp_path / "out", *arguments, code=2)


def test_errors_are_one_line(tmp_path):
    (tmp_path / "r.jsonl").write_text("{}\n", encoding="utf-8")

    assert run("adapt", "review", tmp_path / "r.jsonl", code=2).startswith("deid-export: review file ")
    assert "--write" in run("adapt", "review", tmp_path / "r.jsonl", "--with-packaged", code=2)


def test_a_review_file_cannot_steer_the_terminal(harvested):
    file = harvested / "inclusion.review.jsonl"
    file.write_text(
        file.read_text(encoding="utf-8").replace("Warfarin held", r"[red]Warf\u001b[2Jarin"), encoding="utf-8"
    )

    output = run("adapt", "review", file, keys="ss")

    assert "\x1b[2J" not in output
    assert "[red]Warf\ufffd[2Jarin" in output


def test_review_without_a_terminal_is_refused_in_one_line(harvested):
    path = os.pathsep.join([str(ROOT), str(ROOT / "export")])
    done = subprocess.run(
        [sys.executable, "-m", "deid_export.cli.main", "adapt", "review", str(harvested / "templates.review.jsonl")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # so that it cannot open a terminal either
    )

    assert done.returncode == 2
    assert "there is no terminal to ask in" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_review_in_a_real_terminal(harvested):
    """Test that keys work without Enter, and that an interrupted review has saved every decision."""
    file = harvested / "templates.review.jsonl"
    terminal, its_end = pty.openpty()
    path = os.pathsep.join([str(ROOT), str(ROOT / "export")])
    process = subprocess.Popen(
        [sys.executable, "-m", "deid_export.cli.main", "adapt", "review", str(file)],
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        env={**os.environ, "PYTHONPATH": path, "TERM": "xterm"},
    )
    try:
        os.close(its_end)
        assert "Rass score" in _press(terminal, b"", until="q quit")
        _press(terminal, b"a", until="2 of 3 pending")
        _press(terminal, b"\x03", until="stopped")
        assert process.wait(timeout=60) == 130
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert [*statuses(file).values()][::2] == ["accepted", "pending"]


def _press(terminal, key, *, until):
    """Press a key until the terminal shows ``until``: input before the question appears is discarded."""
    seen = ""
    for _ in range(40):
        os.write(terminal, key)
        while select.select([terminal], [], [], 1.5)[0] and until not in seen:
            seen += os.read(terminal, 4096).decode("utf-8", "replace")
        if until in seen:
            return seen
    pytest.fail(f"never shown: {until!r}")

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from deid_runtime.errors import OutputError
from deid_runtime.run.quarantine import Quarantine, read_quarantine
from deid_runtime.run.staging import Staging, manifest_path, quarantine_path


def fill(staging: Staging, text: str, *, is_folder: bool) -> None:
    (staging.body / "note.txt" if is_folder else staging.body).write_text(text)
    with Quarantine(staging.quarantine) as quarantine:
        quarantine.add("n1", "read", "why")


def put(out: Path, text: str, *, is_folder: bool, overwrite: bool = False) -> None:
    with Staging(out, [], is_folder=is_folder, overwrite=overwrite) as staging:
        fill(staging, text, is_folder=is_folder)
        staging.commit({"notes": text})


def content(out: Path) -> str:
    return (out / "note.txt" if out.is_dir() else out).read_text()


@pytest.mark.parametrize("is_folder", [False, True])
def test_nothing_is_there_until_commit_and_then_everything(tmp_path: Path, is_folder: bool) -> None:
    out = tmp_path / "out"
    with Staging(out, [], is_folder=is_folder, overwrite=False) as staging:
        fill(staging, "new", is_folder=is_folder)
        [lock, partial] = sorted(tmp_path.iterdir())
        assert lock.name == ".out.lock"
        assert partial.name.startswith(".out.partial-")
        assert partial.stat().st_mode & 0o777 == 0o700
        staging.commit({"a": 1})

    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.manifest.json", "out.quarantine.jsonl"]
    assert content(out) == "new"
    assert json.loads(manifest_path(out).read_text()) == {"a": 1}
    assert read_quarantine(quarantine_path(out)) == {"n1"}
    assert quarantine_path(out).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_run_that_ends_early_leaves_things_as_they_were(tmp_path: Path, is_folder: bool) -> None:
    out = tmp_path / "out"
    put(out, "old", is_folder=is_folder)
    before = sorted(tmp_path.rglob("*"))

    with Staging(out, [], is_folder=is_folder, overwrite=True) as staging:
        fill(staging, "new", is_folder=is_folder)

    assert sorted(tmp_path.rglob("*")) == before
    assert content(out) == "old"


@pytest.mark.parametrize("is_folder", [False, True])
def test_an_output_is_replaced_only_on_request(tmp_path: Path, is_folder: bool) -> None:
    out = tmp_path / "out"
    put(out, "old", is_folder=is_folder)

    with pytest.raises(OutputError, match="out: exists; .*--overwrite"):
        put(out, "new", is_folder=is_folder)
    put(out, "new", is_folder=is_folder, overwrite=True)

    assert content(out) == "new"
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("name", ["out.manifest.json", "out.quarantine.jsonl"])
def test_what_lies_beside_the_output_is_not_replaced_unasked(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")

    with pytest.raises(OutputError, match=f"{name}: exists"):
        put(tmp_path / "out", "new", is_folder=False)


def test_a_folder_that_is_none_of_ours_is_never_replaced(tmp_path: Path) -> None:
    out = tmp_path / "home"
    out.mkdir()
    put(out, "new", is_folder=True, overwrite=True)  # an empty one is replaced
    manifest_path(out).unlink()

    with pytest.raises(OutputError, match="was not written by this program"):
        put(out, "newer", is_folder=True, overwrite=True)
    assert content(out) == "new"


def test_an_output_of_the_other_kind_is_never_replaced(tmp_path: Path) -> None:
    put(tmp_path / "folder", "old", is_folder=True)
    put(tmp_path / "file", "old", is_folder=False)
    (tmp_path / "link").symlink_to(tmp_path / "file")

    for name, is_folder in (("folder", False), ("file", True), ("link", False)):
        with pytest.raises(OutputError, match="exists and is not a"):
            put(tmp_path / name, "new", is_folder=is_folder, overwrite=True)


@pytest.mark.parametrize("name", ["in", "in/out", "."])
def test_an_output_never_overlaps_an_input(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()

    with pytest.raises(OutputError, match="overlaps the input"):
        Staging(tmp_path / name, [tmp_path / "in"], is_folder=True, overwrite=True)


@pytest.mark.parametrize("name", [".", "..", "/"])
def test_an_output_needs_a_name(name: str) -> None:
    with pytest.raises(OutputError, match="needs a file or folder name"):
        Staging(Path(name), [], is_folder=True, overwrite=True)


def test_a_missing_parent_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="this folder does not exist; create it first"):
        put(tmp_path / "gone" / "out", "new", is_folder=False)


def test_a_single_note_in_quarantine_leaves_no_output(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    put(out, "old", is_folder=False)

    with Staging(out, [], is_folder=False, overwrite=True) as staging:
        with Quarantine(staging.quarantine) as quarantine:
            quarantine.add("n1", "read", "why")
        staging.commit({})

    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.txt.manifest.json", "out.txt.quarantine.jsonl"]


@pytest.mark.parametrize("is_folder", [False, True])
def test_what_came_into_the_way_during_the_run_is_not_replaced(tmp_path: Path, is_folder: bool) -> None:
    out = tmp_path / "out"
    with Staging(out, [], is_folder=is_folder, overwrite=False) as staging:
        fill(staging, "new", is_folder=is_folder)
        if is_folder:
            out.mkdir()
        (out / "note.txt" if is_folder else out).write_text("mine")
        with pytest.raises(OutputError, match="out: exists"):
            staging.commit({})

    assert content(out) == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("failing", range(1, 7))
def test_a_rename_that_fails_leaves_things_as_they_were(
    tmp_path: Path, is_folder: bool, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    put(out, "old", is_folder=is_folder)
    names = sorted(path.name for path in tmp_path.iterdir())
    moves, calls = {"rename": os.rename, "link": os.link}, []

    def fail_once(move: str) -> Callable[..., None]:
        def moved(*paths: Path, **options: bool) -> None:
            calls.append(paths)
            if len(calls) == failing:
                raise OSError(28, "No space left on device")
            moves[move](*paths, **options)  # type: ignore[operator]

        return moved

    with Staging(out, [], is_folder=is_folder, overwrite=True) as staging:
        fill(staging, "new", is_folder=is_folder)
        with monkeypatch.context() as patched:
            for move in moves:
                patched.setattr(os, move, fail_once(move))
            with pytest.raises(OutputError, match="No space left"):
                staging.commit({"notes": "new"})

    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert content(out) == "old"
    assert json.loads(manifest_path(out).read_text()) == {"notes": "old"}


def test_a_folder_where_the_quarantine_goes_is_told_before_the_run(tmp_path: Path) -> None:
    quarantine_path(tmp_path / "out").mkdir()

    with (
        pytest.raises(OutputError, match="is not a file"),
        Staging(tmp_path / "out", [], is_folder=False, overwrite=True),
    ):
        pytest.fail("the run has begun")


def _idle(until: threading.Event) -> None:
    while not until.wait(0.001):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_stop_signal_during_the_renames_comes_too_late(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    put(out, "old", is_folder=False)
    rename, busy, handler = os.rename, threading.Event(), signal.getsignal(number)
    thread = threading.Thread(target=_idle, args=(busy,))  # a signal mask of the main thread does not apply here
    thread.start()

    def stopped(path: Path, target: Path) -> None:
        assert thread.ident is not None
        signal.pthread_kill(thread.ident, number)
        time.sleep(0.1)
        rename(path, target)

    try:
        with monkeypatch.context() as patched:
            patched.setattr(os, "rename", stopped)
            put(out, "new", is_folder=False, overwrite=True)
    finally:
        busy.set()
        thread.join()

    assert content(out) == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.manifest.json", "out.quarantine.jsonl"]
    assert signal.getsignal(number) is handler


def test_a_stop_signal_after_the_commit_changes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Staging(out, [], is_folder=False, overwrite=False) as staging:
        fill(staging, "new", is_folder=False)
        staging.commit({})
        raise KeyboardInterrupt

    assert content(out) == "new"


@pytest.mark.parametrize("is_folder", [False, True])
def test_the_finished_output_has_the_mode_that_the_umask_says(tmp_path: Path, is_folder: bool) -> None:
    before = os.umask(0o027)
    try:
        put(tmp_path / "out", "new", is_folder=is_folder)
    finally:
        os.umask(before)

    modes = {path.relative_to(tmp_path).as_posix(): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    body = {"out": 0o750, "out/note.txt": 0o640} if is_folder else {"out": 0o640}
    assert modes == {**body, "out.manifest.json": 0o640, "out.quarantine.jsonl": 0o600}


def test_one_output_is_written_by_one_run_at_a_time(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Staging(out, [], is_folder=False, overwrite=False) as staging:
        with (
            pytest.raises(OutputError, match=rf"out: another run \(process {os.getpid()} on .*\).*wait until it ends"),
            Staging(out, [], is_folder=False, overwrite=True),
        ):
            pytest.fail("the other run has begun")
        put(tmp_path / "other", "other", is_folder=False)
        fill(staging, "new", is_folder=False)
        staging.commit({})

    assert content(out) == "new"
    assert not list(tmp_path.glob(".*"))


def test_one_crosswalk_is_written_by_one_run_at_a_time(tmp_path: Path) -> None:
    crosswalk = tmp_path / "way.age"
    with (
        Staging(tmp_path / "a", [], is_folder=False, overwrite=False, crosswalk=crosswalk),
        pytest.raises(OutputError, match="way.age: another run"),
        Staging(tmp_path / "b", [], is_folder=False, overwrite=True, crosswalk=crosswalk),
    ):
        pytest.fail("the other run has begun")

    assert list(tmp_path.iterdir()) == []


def test_the_lock_file_of_a_dead_run_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / ".out.lock").write_text("process 1 on elsewhere\n")

    put(tmp_path / "out", "new", is_folder=False)

    assert not list(tmp_path.glob(".*"))


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / ".out.lock").symlink_to(tmp_path / "mine")

    with pytest.raises(OutputError, match="lock"):
        put(tmp_path / "out", "new", is_folder=False)
    assert (tmp_path / "mine").read_text() == "mine"


#: Replaces the old output in each folder of the arguments, and dies one move later each time.
DYING = """
import os, sys
from pathlib import Path
from deid_runtime.run.staging import Staging
from deid_runtime.run.quarantine import Quarantine

def counted(move):
    def moved(*given, **options):
        global left
        left -= 1
        if left == 0:
            os._exit(9)
        return move(*given, **options)
    return moved

for left, folder in enumerate(map(Path, sys.argv[1:]), start=1):
    out, is_folder = folder / "out", (folder / "out").is_dir()
    if os.fork():
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        continue
    with Staging(out, [], is_folder=is_folder, overwrite=True, crosswalk=folder / "way.age") as staging:
        (staging.body / "note.txt" if is_folder else staging.body).write_text("new")
        with Quarantine(staging.quarantine):
            pass
        staging.crosswalk.write_text("new")
        for name in ("rename", "link", "unlink"):
            setattr(os, name, counted(getattr(os, name)))
        staging.commit({"notes": "new"})
    os._exit(0)
"""


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_run_that_is_killed_while_it_gives_names_is_undone_or_done(
    tmp_path: Path, is_folder: bool, caplog: pytest.LogCaptureFixture
) -> None:
    folders = [tmp_path / str(number) for number in range(20)]
    for folder in folders:
        folder.mkdir()
        put(folder / "out", "old", is_folder=is_folder)
        (folder / "way.age").write_text("old")

    died = subprocess.run([sys.executable, "-c", DYING, *map(str, folders)], capture_output=True, text=True, check=True)

    codes = died.stdout.split()
    assert set(codes) == {"0", "9"}, "the last have come to the end"
    assert codes.count("9") >= 12
    states = []
    for folder, code in zip(folders, codes, strict=True):
        caplog.clear()
        is_left = bool(list(folder.glob(".out.partial-*")))
        assert code == "9" or not is_left
        with pytest.raises(OutputError, match="exists; choose another name or replace it"):
            put(folder / "out", "newer", is_folder=is_folder)
        manifest = json.loads(manifest_path(folder / "out").read_text())
        [state] = {content(folder / "out"), (folder / "way.age").read_text(), manifest["notes"]}
        states.append(state)
        assert ("was left by a killed run and is removed now" in caplog.text) == is_left
        names = {"out", "out.manifest.json", "out.quarantine.jsonl", "way.age"}
        # A lock without a holder has no effect; the next run with the crosswalk takes it.
        assert {path.name for path in folder.iterdir()} - {".way.age.lock"} == names
    assert states == sorted(states, reverse=True), "old up to the last move, new after it"
    assert {"old", "new"} == set(states)


def test_only_private_folders_of_our_pattern_are_removed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = [".out.partial-0123456", ".out.partial-0123456x", "x.out.partial-01234567", ".other.partial-01234567"]
    for name in [*kept, ".out.partial-01234567", ".out.partial-89abcdef"]:
        (tmp_path / name).mkdir(0o700)
        (tmp_path / name / "body").write_text("text")
    (tmp_path / ".out.partial-89abcdef").chmod(0o755)
    (tmp_path / ".out.partial-00000000").symlink_to(tmp_path / ".other.partial-01234567")

    put(tmp_path / "out", "new", is_folder=False)

    left = {path.name for path in tmp_path.iterdir()} - {"out", "out.manifest.json", "out.quarantine.jsonl"}
    assert left == {*kept, ".out.partial-89abcdef", ".out.partial-00000000"}
    assert ".out.partial-01234567 was left by a killed run and is removed now" in caplog.text
    assert ".out.partial-89abcdef is not private to this user" in caplog.text


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_private_folder_that_is_swapped_gets_nothing(tmp_path: Path, is_folder: bool) -> None:
    out, others = tmp_path / "out", tmp_path / "others"
    others.mkdir()
    with Staging(out, [], is_folder=is_folder, overwrite=False) as staging:
        [partial] = tmp_path.glob(".out.partial-*")
        partial.rename(tmp_path / "away")
        partial.symlink_to(others)
        fill(staging, "new", is_folder=is_folder)
        staging.commit({})

    assert list(others.iterdir()) == []
    assert content(out) == "new"
    assert not (tmp_path / "away" / "body").exists()


def test_a_parent_folder_that_is_swapped_gets_nothing(tmp_path: Path) -> None:
    parent, others = tmp_path / "parent", tmp_path / "others"
    parent.mkdir()
    others.mkdir()
    with Staging(parent / "out", [], is_folder=False, overwrite=False) as staging:
        fill(staging, "new", is_folder=False)
        parent.rename(tmp_path / "away")
        parent.symlink_to(others)
        staging.commit({})

    assert list(others.iterdir()) == []
    assert content(tmp_path / "away" / "out") == "new"


def test_a_file_that_comes_between_the_last_look_and_the_move_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, link = tmp_path / "out", os.link

    def late(source: Path, target: Path, **options: bool) -> None:
        if target.name == "out":
            out.write_text("mine")
        link(source, target, **options)

    with Staging(out, [], is_folder=False, overwrite=False) as staging:
        fill(staging, "new", is_folder=False)
        monkeypatch.setattr(os, "link", late)
        with pytest.raises(OutputError, match="File exists"):
            staging.commit({})

    assert content(out) == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_cannot_be_removed_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Staging(tmp_path / "out", [], is_folder=True, overwrite=False) as staging:
        [partial] = tmp_path.glob(".out.partial-*")
        (staging.body / "sub").mkdir()
        (staging.body / "sub" / "note.txt").write_text("text")
        (partial / "body.replaced").write_text("an earlier output that could not be put back")

    assert f"{partial} cannot be removed" in caplog.text
    assert [path.name for path in partial.iterdir()] == ["body.replaced"]

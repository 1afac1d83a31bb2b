import json
import signal
import threading
import time
from pathlib import Path

import pytest

from deid_runtime.errors import OutputError
from deid_runtime.quarantine import Quarantine, read_quarantine
from deid_runtime.staging import Staging, manifest_path, quarantine_path


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
        assert all(path.name.startswith(".out.partial-") for path in tmp_path.iterdir())
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
    put(out, "new", is_folder=True, overwrite=True)  # an empty one is
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
    with pytest.raises(OutputError, match="a name of its own"):
        Staging(Path(name), [], is_folder=True, overwrite=True)


def test_a_missing_parent_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no such folder; create it first"):
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
    rename, calls = Path.rename, []

    def fail_once(path: Path, target: Path) -> Path:
        calls.append(path)
        if len(calls) == failing:
            raise OSError(28, "No space left on device")
        return rename(path, target)

    with Staging(out, [], is_folder=is_folder, overwrite=True) as staging:
        fill(staging, "new", is_folder=is_folder)
        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", fail_once)
            with pytest.raises(OutputError, match="No space left"):
                staging.commit({"notes": "new"})

    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert content(out) == "old"
    assert json.loads(manifest_path(out).read_text()) == {"notes": "old"}


def test_a_folder_where_the_quarantine_goes_is_told_before_the_run(tmp_path: Path) -> None:
    quarantine_path(tmp_path / "out").mkdir()

    with pytest.raises(OutputError, match="is not a file"):
        Staging(tmp_path / "out", [], is_folder=False, overwrite=True)


def _idle(until: threading.Event) -> None:
    while not until.wait(0.001):
        pass


def test_a_stop_signal_during_the_renames_comes_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    put(out, "old", is_folder=False)
    rename, busy, handler = Path.rename, threading.Event(), signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=_idle, args=(busy,))  # a mask of the main thread does not hold for it
    thread.start()

    def stopped(path: Path, target: Path) -> Path:
        assert thread.ident is not None
        signal.pthread_kill(thread.ident, signal.SIGINT)
        time.sleep(0.1)
        return rename(path, target)

    try:
        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", stopped)
            put(out, "new", is_folder=False, overwrite=True)
    finally:
        busy.set()
        thread.join()

    assert content(out) == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.manifest.json", "out.quarantine.jsonl"]
    assert signal.getsignal(signal.SIGINT) is handler

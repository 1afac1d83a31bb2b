import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from deid_runtime.errors import OutputError
from deid_runtime.system.owner_only import write_owner_only


def test_nobody_else_may_read_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "places.jsonl"

    write_owner_only(path, ["a\n", "ü\n"])

    assert path.read_text(encoding="utf-8") == "a\nü\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["-", "there", "missing/places"])
def test_a_file_that_is_there_a_terminal_and_no_folder_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "there").write_text("before")

    with pytest.raises(OutputError):
        write_owner_only(tmp_path / name, ["a\n"])

    assert (tmp_path / "there").read_text() == "before"


def test_a_file_that_could_not_be_finished_is_not_left(tmp_path: Path) -> None:
    def lines() -> Iterator[str]:
        yield "a\n" * 100_000
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left"):
        write_owner_only(tmp_path / "places", lines())

    assert list(tmp_path.iterdir()) == []

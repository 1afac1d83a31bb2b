import os
import socket
import subprocess
from pathlib import Path

import pytest

from deid_runtime.errors import SourceError
from deid_runtime.formats import FORMATS, format_of
from deid_runtime.formats.sources import FileCount, find_inputs


def touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"abc")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.jsonl", "jsonl"), ("a.JSONL.GZ", "jsonl"), ("a.csv", "csv"), ("a.parquet", "parquet"), ("a.b.txt", "txt"),
        ("110-01.xml", "i2b2"), ("a.gz", None), ("a.txt.gz", None), ("a.docx", None), ("a", None),
    ],
)  # fmt: skip
def test_formats_go_by_suffix(name: str, expected: str | None) -> None:
    assert format_of(name) == expected


def test_folders_are_listed_in_one_order_with_hidden_files_left_out(tmp_path: Path) -> None:
    touch(tmp_path, "b.txt", "a/z.xml", "a/b/c.csv", "a.txt", ".DS_Store", ".git/x", "a/10.txt", "a/9.txt")

    inputs, counts = find_inputs([tmp_path])

    names = [source.name for source in inputs]
    assert names == ["a/10.txt", "a/9.txt", "a/b/c.csv", "a/z.xml", "a.txt", "b.txt"]
    assert [source.name for source in inputs] == names
    assert counts == {"txt": FileCount(4, 12), "csv": FileCount(1, 3), "i2b2": FileCount(1, 3)}


def test_no_file_is_passed_over_in_silence(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", *(f"{number}.docx" for number in range(5)))

    with pytest.raises(SourceError, match=r"unknown format: 0\.docx, 1\.docx, 2\.docx and 2 more; .*--format"):
        find_inputs([tmp_path])
    assert find_inputs([tmp_path], "txt")[1] == {"txt": FileCount(6, 18)}


def test_an_annotation_without_its_text_is_not_passed_over(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "a.ann", "b.ann")

    with pytest.raises(SourceError, match=r"unknown format: b\.ann;"):
        find_inputs([tmp_path])


def test_missing_empty_and_ambiguous_inputs_are_errors(tmp_path: Path) -> None:
    touch(tmp_path, "x/notes.csv", "y/notes.csv", "z/.hidden")

    with pytest.raises(SourceError, match="no such file"):
        find_inputs([tmp_path / "gone.txt"])
    with pytest.raises(SourceError, match="no notes found"):
        find_inputs([tmp_path / "z"])
    with pytest.raises(SourceError, match="two inputs have the name"):
        find_inputs([tmp_path / "x" / "notes.csv", tmp_path / "y" / "notes.csv"])


def test_a_pipe_is_read_as_json_lines_or_not_at_all(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert find_inputs([tmp_path / "pipe"], "jsonl")[1] == {"jsonl": FileCount(1, 0)}
    with pytest.raises(SourceError, match="a pipe can only be read as JSON Lines"):
        find_inputs([tmp_path / "pipe"], "csv")


def test_special_files_in_folders_are_counted_and_not_opened(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "b/c.txt")
    os.mkfifo(tmp_path / "pipe.jsonl")
    os.mkfifo(tmp_path / "b" / "pipe.txt")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listener:
        # The path of a socket may have at most 107 bytes.
        listener.bind(os.path.relpath(tmp_path / "socket"))

        inputs, counts = find_inputs([tmp_path])

    assert [source.name for source in inputs] == ["a.txt", "b/c.txt"]
    assert counts == {"txt": FileCount(2, 6)}
    assert inputs.special_files == 4


def test_a_device_is_no_input() -> None:
    with pytest.raises(SourceError, match="a device or socket"):
        find_inputs([Path("/dev/zero")], "jsonl")


def test_a_link_back_to_a_folder_above_is_an_error(tmp_path: Path) -> None:
    touch(tmp_path, "a/b/c.txt")
    (tmp_path / "a" / "b" / "again").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "b" / "once more").symlink_to(tmp_path)

    with pytest.raises(SourceError, match="again: a link to a folder that contains it"):
        find_inputs([tmp_path])


def test_folders_may_be_nested_deeper_than_calls(tmp_path: Path) -> None:
    depth = 1_100
    path = tmp_path
    handle = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    with os.fdopen(os.open("n.txt", os.O_WRONLY | os.O_CREAT, dir_fd=handle), "w") as file:
        file.write("abc")
    os.close(handle)

    try:
        names = [source.name for source in find_inputs([tmp_path])[0]]
    finally:
        subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # the Python function is recursive

    assert names == ["d/" * depth + "n.txt"]


def test_every_format_has_a_row() -> None:
    assert set(FORMATS) == {"jsonl", "csv", "parquet", "database", "txt", "i2b2", "brat"}

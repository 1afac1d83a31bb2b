"""Test the digests of files computed while they are written, and the digest of a set of files."""

import hashlib
import os
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.system.digests import (
    BodyDigests,
    DigestSum,
    FileDigest,
    create_file,
    digest_file,
    files_below,
    open_regular,
)

NAMED = st.dictionaries(st.text(min_size=1), st.binary(), max_size=6)


def total(files: list[tuple[str, bytes]]) -> dict[str, object]:
    digests = DigestSum()
    for name, content in files:
        digests.add(name, FileDigest(len(content), hashlib.sha256(content).hexdigest()))
    return digests.to_json()


@given(NAMED, st.randoms())
def test_the_order_of_files_does_not_matter(files: dict[str, bytes], random: Random) -> None:
    shuffled = list(files.items())
    random.shuffle(shuffled)

    assert total(list(files.items())) == total(shuffled)


@given(NAMED, NAMED)
def test_other_files_have_another_digest(one: dict[str, bytes], other: dict[str, bytes]) -> None:
    assert (total(list(one.items())) == total(list(other.items()))) == (one == other)


def test_two_files_with_their_contents_swapped_have_another_digest() -> None:
    assert total([("a", b"1"), ("b", b"2")]) != total([("a", b"2"), ("b", b"1")])
    assert total([("a", b"1"), ("a", b"1")])["sha256_of_all"] != total([])["sha256_of_all"]


@given(st.lists(st.binary(max_size=100_000), max_size=5))
def test_the_digest_is_that_of_the_file(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    path, found = tmp_path_factory.mktemp("digest") / "file", []

    with create_file(path, found.append) as file:
        for part in parts:
            file.write(part)

    assert (
        found == [digest_file(path)] == [FileDigest(path.stat().st_size, hashlib.sha256(b"".join(parts)).hexdigest())]
    )


def test_a_new_file_is_its_owners_and_never_another(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")

    for name in ("there", "link"):
        with pytest.raises(FileExistsError):
            create_file(tmp_path / name)
    create_file(tmp_path / "new").close()

    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "elsewhere").exists()


def test_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")

    for name in ("link", "pipe", "."):
        with pytest.raises(OSError, match="not a file|symbolic links"):
            open_regular(tmp_path / name)
    assert {path.name for path in files_below(tmp_path)} == {"file", "link", "pipe"}


def test_tables_are_named_and_single_notes_are_summed(tmp_path: Path) -> None:
    digests = BodyDigests(tmp_path)
    for name, is_table in (("a.jsonl", True), ("n1.txt", False), ("n2.txt", False)):
        with digests.create(tmp_path / name, "any", is_table=is_table) as file:
            file.write(b"12")

    found = digests.to_json(is_folder=True)

    assert [table["name"] for table in found["tables"]] == ["a.jsonl"]  # type: ignore[attr-defined]
    assert found["notes"] == total([("n2.txt", b"12"), ("n1.txt", b"12")])
    assert "n1" not in str(found)

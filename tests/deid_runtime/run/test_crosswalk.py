import json
import os
import resource
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from deid_runtime.errors import DeidError, OutputError, SettingsError, SourceError
from deid_runtime.run.crosswalk import CrosswalkWriter, public_key, read_crosswalk, write_key_pair
from deid_runtime.run.job import RunOptions, deidentify_files
from deid_runtime.settings import Settings
from tests.commands import deid, read_rows

pyrage = pytest.importorskip("pyrage")

TEXT = "Seen on 03/04/2051 by the team.\r\nCall 212-664-9182.\tMRN: 4471902\n"
ORIGINALS = ("03/04/2051", "212-664-9182", "4471902")


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    private = tmp_path / "broker"
    return private, write_key_pair(private)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    rows = [{"id": f"n{number}", "patient": f"p{number % 2}", "text": TEXT} for number in range(6)]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"id": "bad", "text": 5}]))
    return path


def run(notes: Path, out: Path, crosswalk: Path, public: Path, *more: object) -> Result:
    options = ("--crosswalk", crosswalk, "--crosswalk-key", public, "--no-models", "--workers", 1, "--quiet")
    return deid("run", notes, "-o", out, *options, *more)


def rows_of(crosswalk: Path, private: Path, only: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    lines: list[bytes] = []
    read_crosswalk(crosswalk, private, lines.append, only)
    return [json.loads(line) for line in lines]


def encrypted(path: Path, keys: tuple[Path, Path], lines: list[bytes]) -> Path:
    with CrosswalkWriter(path, [public_key(str(keys[1]))]) as writer:
        for line in lines:
            writer.add(line)
    return path


def test_a_pair_of_keys_is_for_its_owner_and_never_overwritten(keys: tuple[Path, Path], tmp_path: Path) -> None:
    private, public = keys

    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert public.name == "broker.pub"
    assert public_key(str(public)) == public_key(public.read_text())
    with pytest.raises(SettingsError, match="never overwritten"):
        write_key_pair(private)
    public.rename(tmp_path / "other.pub")
    with pytest.raises(SettingsError, match="never overwritten"):
        write_key_pair(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_crosswalk_leads_from_every_surrogate_to_its_original(
    notes: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    out, crosswalk = tmp_path / "out.jsonl", tmp_path / "way.age"

    result = run(notes, out, crosswalk, keys[1])

    assert result.exit_code == 1  # one bad note
    written = read_rows(out)
    rows = rows_of(crosswalk, keys[0])
    assert [row["note"] for row in rows] == [f"n{number}" for number in range(6)]
    for note, row in zip(written, rows, strict=True):
        assert (note["id"], note["patient"]) == (row["note_pseudonym"], row["patient_pseudonym"])
        assert {span["original"] for span in row["spans"]} >= set(ORIGINALS)
        for span in row["spans"]:
            assert TEXT[span["start"] : span["end"]] == span["original"]
            assert note["text"][span["surrogate_start"] : span["surrogate_end"]] == span["surrogate"]


def test_workers_write_the_same_crosswalk(notes: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    made = []
    for workers in (1, 2):
        options = RunOptions(
            workers=workers,
            batch_size=2,
            quiet=True,
            crosswalk=tmp_path / f"way{workers}.age",
            crosswalk_keys=(public_key(str(keys[1])),),
        )
        out = tmp_path / f"out{workers}.jsonl"
        deidentify_files([notes], out, Settings(use_models=False), options, key=bytes(range(32)))
        made.append(rows_of(tmp_path / f"way{workers}.age", keys[0]))

    assert made[0] == made[1]


def test_no_original_is_on_disk_in_clear_while_a_crosswalk_is_written(keys: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "way.age"
    line = json.dumps({"original": "Ingeborg"}).encode() + b"\n"
    with CrosswalkWriter(path, [public_key(str(keys[1]))]) as writer:
        for _ in range(20_000):
            writer.add(line)
        deadline = time.monotonic() + 10
        while path.stat().st_size < 100_000 and time.monotonic() < deadline:
            time.sleep(0.01)
        half_way = path.read_bytes()

    assert len(half_way) >= 100_000
    assert b"Ingeborg" not in half_way
    assert b"Ingeborg" not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_run_leaves_nothing_of_it_in_clear_and_none_without_being_asked(
    notes: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "o").mkdir()
    run(notes, tmp_path / "o" / "a.jsonl", tmp_path / "o" / "way.age", keys[1])
    deid("run", notes, "-o", tmp_path / "o" / "b.jsonl", "--no-models", "--workers", 1, "--quiet")

    names = {path.name for path in (tmp_path / "o").iterdir()}
    beside = {f"{name}.jsonl{kind}" for name in "ab" for kind in ("", ".manifest.json", ".quarantine.jsonl")}
    assert names == {"way.age", *beside}
    for path in (tmp_path / "o").iterdir():
        assert not any(original.encode() in path.read_bytes() for original in ORIGINALS)


@pytest.mark.parametrize("size", ["empty", "one chunk", "many chunks"])
@pytest.mark.parametrize("place", [0.001, 0.3, 0.9, 0.9999])
def test_a_changed_crosswalk_is_refused(size: str, place: float, keys: tuple[Path, Path], tmp_path: Path) -> None:
    lines = {"empty": 0, "one chunk": 10, "many chunks": 20_000}[size]
    path = encrypted(tmp_path / "way.age", keys, [b'{"n": %d}\n' % number for number in range(lines)])
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1
    path.write_bytes(data)

    with pytest.raises(DeidError, match="changed|no crosswalk"):
        read_crosswalk(path, keys[0], len)


@pytest.mark.parametrize("kept", [0, 50, 300, -70_000, -1])
def test_a_cut_crosswalk_is_refused(kept: int, keys: tuple[Path, Path], tmp_path: Path) -> None:
    path = encrypted(tmp_path / "way.age", keys, [b'{"n": %d}\n' % number for number in range(20_000)])
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(SourceError, match=r"changed|no crosswalk"):
        read_crosswalk(path, keys[0], len)


def test_another_key_does_not_read_it(keys: tuple[Path, Path], tmp_path: Path) -> None:
    path = encrypted(tmp_path / "way.age", keys, [b"{}\n"])
    write_key_pair(tmp_path / "stranger")

    with pytest.raises(SettingsError, match="not encrypted for the key"):
        read_crosswalk(path, tmp_path / "stranger", len)


def test_each_of_several_keys_reads_it(keys: tuple[Path, Path], tmp_path: Path) -> None:
    other = write_key_pair(tmp_path / "second")
    path = tmp_path / "way.age"
    with CrosswalkWriter(path, [public_key(str(keys[1])), public_key(str(other))]) as writer:
        writer.add(b"{}\n")

    assert rows_of(path, keys[0]) == rows_of(path, tmp_path / "second") == [{}]


def test_one_note_or_patient_is_found_by_id_or_pseudonym(notes: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    run(notes, tmp_path / "out.jsonl", tmp_path / "way.age", keys[1])
    every = rows_of(tmp_path / "way.age", keys[0])

    assert [row["note"] for row in rows_of(tmp_path / "way.age", keys[0], ("n3",))] == ["n3"]
    found = rows_of(tmp_path / "way.age", keys[0], (every[0]["patient_pseudonym"],))
    assert [row["note"] for row in found] == ["n0", "n2", "n4"]


def test_the_command_reads_to_stdout_or_to_a_private_file(notes: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    run(notes, tmp_path / "out.jsonl", tmp_path / "way.age", keys[1])

    shown = deid("crosswalk", "read", tmp_path / "way.age", "--key", keys[0], "--id", "n1")
    filed = deid("crosswalk", "read", tmp_path / "way.age", "--key", keys[0], "-o", tmp_path / "clear.jsonl")
    again = deid("crosswalk", "read", tmp_path / "way.age", "--key", keys[0], "-o", tmp_path / "clear.jsonl")

    assert json.loads(shown.stdout)["note"] == "n1"
    assert filed.exit_code == 0
    assert len((tmp_path / "clear.jsonl").read_text().splitlines()) == 6
    assert stat.S_IMODE((tmp_path / "clear.jsonl").stat().st_mode) == 0o600
    assert again.exit_code == 2
    assert "exists" in again.stderr


def test_a_reader_that_closes_stdout_ends_the_command_without_a_word(keys: tuple[Path, Path], tmp_path: Path) -> None:
    row = json.dumps(dict.fromkeys(("note", "note_pseudonym", "patient", "patient_pseudonym"), "x" * 100)) + "\n"
    with CrosswalkWriter(tmp_path / "x.age", [keys[1].read_text().strip()]) as crosswalk:
        for _ in range(5_000):  # more than a pipe holds
            crosswalk.add(row.encode())
    command = [sys.executable, "-m", "deid_runtime", "crosswalk", "read", tmp_path / "x.age", "--key", keys[0]]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        told = process.stderr.read()

    assert first.decode() == row
    assert (process.returncode, told) == (141, b"")


def test_no_file_is_left_when_reading_fails_half_way(keys: tuple[Path, Path], tmp_path: Path) -> None:
    path = encrypted(tmp_path / "way.age", keys, [b'{"n": %d}\n' % number for number in range(20_000)])
    path.write_bytes(path.read_bytes()[:-1])
    before = set(tmp_path.iterdir())

    result = deid("crosswalk", "read", path, "--key", keys[0], "-o", tmp_path / "clear.jsonl")

    assert result.exit_code == 2
    assert "changed or truncated" in result.stderr
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read"),
        ("", "found 0"),
        ("age1abc\n", "not a public key"),
        ("# public key: age1x\nAGE-SECRET-KEY-1ABC\n", "private key"),
        ("é" * 10, "not a public key"),
        ("x" * 100_000, "not a public key"),
    ],
)
def test_a_wrong_public_key_is_told_before_the_run(
    content: str | None, message: str, notes: Path, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "k.pub").write_text(content)

    result = run(notes, tmp_path / "out.jsonl", tmp_path / "way.age", tmp_path / "k.pub")

    assert result.exit_code == 2
    assert message in result.stderr
    assert "AGE-SECRET-KEY-1ABC" not in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_a_wrong_private_key_is_told_apart(keys: tuple[Path, Path], tmp_path: Path) -> None:
    path = encrypted(tmp_path / "way.age", keys, [b"{}\n"])
    (tmp_path / "none").write_text("# nothing\n")

    for key, message in ((keys[1], "not a private key as"), (tmp_path / "none", "the file has no private key")):
        with pytest.raises(SettingsError, match=message):
            read_crosswalk(path, key, len)


@pytest.mark.parametrize("missing", ["--crosswalk", "--crosswalk-key"])
def test_file_and_key_go_together(missing: str, notes: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    given = ("--crosswalk-key", keys[1]) if missing == "--crosswalk" else ("--crosswalk", tmp_path / "way.age")

    result = deid("run", notes, "-o", tmp_path / "out.jsonl", "--no-models", "--workers", 1, *given)

    assert result.exit_code == 2
    assert "--crosswalk and --crosswalk-key" in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out", "must not be the output or be inside it"),
        ("out/way.age", "must not be the output or be inside it"),
        ("out.manifest.json", "must not be the output or be inside it"),
        ("notes/way.age", "overlaps the input"),
        ("none/way.age", "this folder does not exist"),
        ("there", "exists and is not a file"),
    ],
)
def test_a_crosswalk_is_kept_apart_from_what_is_handed_on(
    name: str, message: str, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    for folder in ("notes", "out"):
        (tmp_path / folder).mkdir()
    (tmp_path / "notes" / "a.txt").write_text(TEXT)
    (tmp_path / "there").mkdir()

    result = run(tmp_path / "notes", tmp_path / "out", tmp_path / name, keys[1], "--overwrite")

    assert result.exit_code == 2
    assert message in result.stderr


def test_an_earlier_crosswalk_is_not_replaced_unasked(notes: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "way.age").write_text("earlier")

    result = run(notes, tmp_path / "out.jsonl", tmp_path / "way.age", keys[1])

    assert result.exit_code == 2
    assert "--overwrite" in result.stderr
    assert (tmp_path / "way.age").read_text() == "earlier"


def test_an_earlier_crosswalk_is_replaced_on_request_and_only_by_a_whole_one(
    notes: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    out, crosswalk = tmp_path / "out.jsonl", tmp_path / "way.age"
    run(notes, out, crosswalk, keys[1])
    first = crosswalk.read_bytes()
    broken = tmp_path / "broken.csv"
    broken.write_text("id\nn1\n")

    failed = run(broken, tmp_path / "out.csv", crosswalk, keys[1], "--overwrite")
    unchanged = crosswalk.read_bytes()
    replaced = run(notes, out, crosswalk, keys[1], "--overwrite")

    assert failed.exit_code == 2
    assert unchanged == first
    assert replaced.exit_code == 1
    assert crosswalk.read_bytes() != first
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]


def test_a_full_disk_stops_the_run_with_nothing_written(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    code = """
import resource, signal, sys
from pathlib import Path
from deid_runtime.run.crosswalk import CrosswalkWriter, public_key
from deid_runtime.errors import OutputError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    with CrosswalkWriter(Path(sys.argv[1]), [public_key(sys.argv[2])]) as writer:
        for _ in range(100_000):
            writer.add(b"x" * 99 + b"\\n")
except OutputError as error:
    print(error)
"""
    arguments = [sys.executable, "-c", code, str(tmp_path / "way.age"), str(keys[1])]

    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=True)

    assert "the crosswalk cannot be written" in done.stdout
    assert "File too large" in done.stdout


def test_memory_stays_bounded(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    line = os.urandom(50_000).hex().encode() + b"\n"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    path = encrypted(tmp_path / "way.age", keys, [line] * 1_000)
    count = read_crosswalk(path, keys[0], len)

    assert count == 1_000
    assert path.stat().st_size > 100_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


def test_no_thread_is_left_when_a_run_fails(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    def fail() -> None:
        with CrosswalkWriter(tmp_path / "way.age", [public_key(str(keys[1]))]) as writer:
            writer.add(b"{}\n")
            raise OutputError("something else")

    with pytest.raises(OutputError, match="something else"):
        fail()

    assert not [thread for thread in threading.enumerate() if thread.name == "crosswalk"]


def age_identity(secret: bytes) -> str:
    """Encode 32 bytes as a private key of age, in Bech32."""
    digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    prefix = "age-secret-key-"
    number = int.from_bytes(secret, "big") << 4  # 52 digits of 5 bits
    data = [number >> 5 * place & 31 for place in reversed(range(52))]
    check = 1
    for value in [*(ord(each) >> 5 for each in prefix), 0, *(ord(each) & 31 for each in prefix), *data, *[0] * 6]:
        top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ value
        for bit, factor in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= factor if top >> bit & 1 else 0
    data += [(check ^ 1) >> 5 * place & 31 for place in reversed(range(6))]
    return (prefix + "1" + "".join(digits[each] for each in data)).upper()


@pytest.mark.parametrize("secret", [b"\x07" * 32, b"\x01\x02\x03\x04" * 8, bytes(range(32))])
def test_a_private_key_that_is_not_random_is_refused(keys: tuple[Path, Path], tmp_path: Path, secret: bytes) -> None:
    path = encrypted(tmp_path / "way.age", keys, [b"{}\n"])
    weak = tmp_path / "weak"
    weak.touch(mode=0o600)
    weak.write_text(age_identity(secret))

    with pytest.raises(SettingsError, match="weak: the private key is not random.*deid key pair"):
        read_crosswalk(path, weak, len)


def test_a_random_private_key_written_by_hand_is_taken(tmp_path: Path) -> None:
    """Test that the refused keys are refused for their content, not for their form."""
    own = tmp_path / "own"
    own.touch(mode=0o600)
    own.write_text(age_identity(os.urandom(32)))
    public = tmp_path / "own.pub"
    public.write_text(str(pyrage.x25519.Identity.from_str(own.read_text()).to_public()))

    assert rows_of(encrypted(tmp_path / "way.age", (own, public), [b"{}\n"]), own) == [{}]


def test_a_private_key_that_others_can_read_is_refused_unless_allowed(keys: tuple[Path, Path], tmp_path: Path) -> None:
    path = encrypted(tmp_path / "way.age", keys, [b"{}\n"])
    keys[0].chmod(0o644)

    refused = deid("crosswalk", "read", path, "--key", keys[0])
    allowed = deid("crosswalk", "read", path, "--key", keys[0], "--allow-shared-key")

    assert refused.exit_code == 2
    assert "chmod 600" in refused.stderr
    assert refused.stdout == ""
    assert (allowed.exit_code, allowed.stdout) == (0, "{}\n")

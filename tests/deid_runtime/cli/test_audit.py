import json
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.cli.main import main
from deid_runtime.spans import Span
from tests.deid_runtime.audit.notes import annotated, write_notes

# Fixed, since what an attacker finds depends on the surrogates that a key draws.
KEY = "3f1c9a07d5be62480e7f43a1c86d2b95f0a4e8137c5d96b2418fe03a7d9c5b61"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "site.key"
    path.touch(mode=0o600)
    path.write_text(f"{KEY}\n")
    return path


def parrot(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["audit", "parrot", *map(str, arguments)])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_notes(tmp_path / "notes.jsonl", annotated(16))


def test_each_share_of_leaks_is_planted_and_judged(notes: Path, key: Path) -> None:
    pytest.importorskip("pycrfsuite", reason="the attackers learn with CRFsuite")

    leaks = ("--leaks", 10, "--leaks", 10, "--leaks", 20)
    result = parrot(notes, *leaks, "--iterations", 2, "--draws", 2, "--key", key, "--json")

    told = json.loads(result.stdout)
    assert [(row["attacker"], row["share"]) for row in told["gate"]] == [
        (attacker, share) for attacker in ("parrot", "list", "code", "frequency") for share in (0.1, 0.2)
    ]
    assert list(told["attacks"]) == ["10.0% parrot", "20.0% parrot"]
    assert 0 < told["attacks"]["10.0% parrot"]["leaks"] < told["attacks"]["20.0% parrot"]["leaks"]
    assert [row["draws"] for row in told["gate"]] == [1, 1, *[2] * 6]
    is_passed = all(row["verdict"] == "pass" for row in told["gate"])
    assert (told["verdict"] == "pass") == is_passed == (result.exit_code == 0)


def names_in_no_list(folder: Path, label: str) -> Path:
    """Write 80 notes, each of its own patient with one name that no list has, and return their path."""
    spelt = [
        f"{'Bdgkp'[number % 5]}r{'aeou'[number // 5 % 4]}zhol{'aeio'[number // 20]}sky".title() for number in range(80)
    ]
    made = [
        AnnotatedNote(f"n{number}", f"p{number}", "", f"Seen: {name} today", (Span(6, 6 + len(name), label),))
        for number, name in enumerate(spelt)
    ]
    return write_notes(folder / "odd.jsonl", made)


def test_a_release_whose_leaks_stand_out_does_not_pass(tmp_path: Path, key: Path) -> None:
    pytest.importorskip("pycrfsuite", reason="the attackers learn with CRFsuite")
    # Countries always get listed surrogates, so a country in no list stands out.
    release = names_in_no_list(tmp_path, "COUNTRY")

    result = parrot(release, "--attacker", "list", "--leaks", 20, "--key", key)

    assert result.exit_code == 1
    assert "verdict: FAIL" in result.stdout
    assert "list at 20.0%: fail" in result.stderr
    assert "Brazholasky" not in result.output + result.stderr


def test_a_gain_that_is_allowed_passes(tmp_path: Path, key: Path) -> None:
    pytest.importorskip("pycrfsuite", reason="the attackers learn with CRFsuite")
    # A name in no list gets one in no list, so that no leak stands out.
    notes = names_in_no_list(tmp_path, "PATIENT")

    result = parrot(notes, "--attacker", "list", "--leaks", 20, "--draws", 8, "--max-gain", 2, "--key", key)

    assert result.exit_code == 0, result.output
    assert "verdict: PASS" in result.stdout


def test_the_insider_is_no_part_of_the_gate(notes: Path, key: Path) -> None:
    pytest.importorskip("pycrfsuite", reason="the attackers learn with CRFsuite")

    result = parrot(notes, "--leaks", 10, "--attacker", "insider", "--iterations", 1, "--key", key)

    assert result.exit_code == 0, result.stderr
    assert "10.0% insider" in result.stdout
    assert "verdict" not in result.stdout
    assert "Alma" not in result.output


def test_a_release_is_searched_for_candidates(notes: Path, tmp_path: Path) -> None:
    pytest.importorskip("pycrfsuite", reason="the attack trains a CRF")
    release = annotated(24)
    # One surrogate of every eighth note counts as a leak.
    leaks = {note.id: note.spans[0] for note in release[::8]}
    marked = [replace(n, spans=n.spans[1:] if n.id in leaks else n.spans) for n in release]
    path, known = write_notes(tmp_path / "release.jsonl", marked), tmp_path / "known.jsonl"
    known.write_text(
        "".join(
            json.dumps({"id": note, "spans": [{"start": s.start, "end": s.end, "label": s.label}]}) + "\n"
            for note, s in leaks.items()
        )
    )
    out = tmp_path / "candidates.jsonl"

    result = parrot(path, "--released", "--known", known, "--candidates", out, "--iterations", 30)

    assert result.exit_code == 0, result.stderr
    found = {row["id"]: row["candidates"] for row in map(json.loads, out.read_text().splitlines())}
    hit = [
        note
        for note, span in leaks.items()
        if any(c["start"] < span.end and span.start < c["end"] for c in found.get(note, []))
    ]
    assert len(hit) >= 2
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "Alma" not in result.output + out.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--known", "notes.jsonl"], "need --released"),
        (["--released", "--attacker", "list"], "the only possible attacker is insider"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    notes: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes.parent)

    result = parrot(notes, *arguments)

    assert result.exit_code == 2
    assert message in result.stderr


def test_a_leak_on_a_surrogate_is_refused_by_the_note(notes: Path) -> None:
    pytest.importorskip("pycrfsuite", reason="the attack trains a CRF")

    result = parrot(notes, "--released", "--known", notes)

    assert result.exit_code == 2
    assert "note n0: the leak" in result.stderr


def test_without_crfsuite_the_extra_is_named(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycrfsuite", None)

    result = parrot(notes)

    assert result.exit_code == 2
    assert "pip install '.[audit]'" in result.stderr

import json
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deid_runtime.cli.main import main
from tests.deid_runtime.audit.notes import annotated, write_notes


def parrot(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["audit", "parrot", *map(str, arguments)])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_notes(tmp_path / "notes.jsonl", annotated(16))


def test_each_share_of_leaks_is_planted_and_attacked(notes: Path) -> None:
    pytest.importorskip("pycrfsuite", reason="the attack trains a CRF")

    result = parrot(notes, "--leaks", 10, "--leaks", 10, "--leaks", 20, "--iterations", 2, "--json")

    assert result.exit_code == 0, result.stderr
    attacks = json.loads(result.stdout)["attacks"]
    assert list(attacks) == ["10.0% insider", "20.0% insider"]
    assert 0 < attacks["10.0% insider"]["leaks"] < attacks["20.0% insider"]["leaks"]


def test_both_attackers_can_be_asked_for(notes: Path) -> None:
    pytest.importorskip("pycrfsuite", reason="the attack trains a CRF")

    result = parrot(notes, "--leaks", 10, "--attacker", "both", "--iterations", 1)

    assert result.exit_code == 0, result.stderr
    assert all(f"10.0% {attacker}" in result.stdout for attacker in ("insider", "parrot"))
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
        (["--known", "notes.jsonl"], "say --released"),
        (["--released", "--attacker", "both"], "planted for"),
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

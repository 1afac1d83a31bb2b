"""Test ``deid check`` and ``deid bundle`` on real runs, with leaks planted in their outputs."""

import json
from pathlib import Path

import pytest
from click.testing import Result

from deid_runtime.release.bundle import key_id, safe_harbor_categories
from tests.commands import deid, read_rows, write_rows

NOTES = [
    {"id": "n1", "patient": "p1", "text": "Patient: Rosalind Achterberg\nMRN: 4471902\nSeen on 03/14/2024 for cough."},
    {"id": "n2", "patient": "p1", "text": "Achterberg denies chest pain. She moved here from Tarrytown."},
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with ``notes.jsonl``, ``key``, the output ``out.jsonl`` and a pair of signing keys."""
    folder = tmp_path_factory.mktemp("run")
    write_rows(folder / "notes.jsonl", NOTES)
    deid("key", "new", folder / "key")
    deid("key", "signing-pair", folder / "sign")
    done = deid(
        "run", folder / "notes.jsonl", "-o", folder / "out.jsonl", "--key", folder / "key", "--trust-models",
        "--workers", 1, "--quiet",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return folder


def look(folder: Path, out: Path, *more: object) -> Result:
    return deid("check", out, folder / "notes.jsonl", "--key", folder / "key", "--trust-models", *more)


def test_a_clean_run_passes(run: Path, tmp_path: Path) -> None:
    done = look(run, run / "out.jsonl", "--gate", "-o", tmp_path / "verdicts.jsonl")

    assert done.exit_code == 0, done.output
    assert "PASS: 2 notes" in done.output
    rows = read_rows(tmp_path / "verdicts.jsonl")
    assert rows == [{"id": note["id"], "verdict": "PASS", "reasons": {}} for note in NOTES]
    assert (tmp_path / "verdicts.jsonl").stat().st_mode & 0o777 == 0o600


def test_changed_and_added_notes_fail(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    rows = read_rows(run / "out.jsonl")
    rows[0]["text"] += " Rosalind Achterberg"
    rows.append({"id": "N-OTHER", "patient": "P", "text": "Not of this run."})
    write_rows(out, rows)
    (tmp_path / "out.jsonl.manifest.json").write_bytes((run / "out.jsonl.manifest.json").read_bytes())

    done = look(run, out, "--json")

    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["verdict"] == "FAIL"
    assert told["notes"] == {"PASS": 1, "REVIEW": 0, "FAIL": 1}
    assert told["released_notes_without_input"] == 1
    assert "Achterberg" not in done.output


def test_what_a_run_without_models_left_is_found(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "weak.jsonl"
    deid("run", run / "notes.jsonl", "-o", out, "--key", run / "key", "--no-models", "--workers", 1, "--quiet")
    assert "Tarrytown" in out.read_text()

    done = look(run, out, "--gate")

    assert done.exit_code == 1
    assert "other models find an identifier" in done.output or "still there" in done.output


def test_a_gate_holds_back_what_a_second_look_finds(run: Path, tmp_path: Path) -> None:
    """Without models a place in plain prose is left; the models of the second look find it."""

    def gated(gate: str) -> tuple[Path, Result]:
        out = tmp_path / f"{gate}.jsonl"
        done = deid(
            "run", run / "notes.jsonl", "-o", out, "--key", run / "key", "--no-models", "--trust-models", "--gate",
            gate, "--workers", 1, "--quiet", "--bundle", tmp_path / gate, "--signing-key", run / "sign",
        )  # fmt: skip
        return out, done

    (open_, all_out), (some, some_out), (strict, strict_out) = gated("none"), gated("fail"), gated("review")

    assert (all_out.exit_code, some_out.exit_code, strict_out.exit_code) == (0, 0, 1), strict_out.output
    assert open_.read_bytes() == some.read_bytes()
    assert strict.read_text() == open_.read_text().splitlines(keepends=True)[0]
    [held] = read_rows(strict.with_name("review.jsonl.quarantine.jsonl"))
    assert (held["id"], held["stage"]) == ("n2", "gate")
    assert held["reason"].startswith("REVIEW in the second look: other models find an identifier")
    manifest = json.loads(strict.with_name("review.jsonl.manifest.json").read_text())
    assert manifest["options"]["gate"] == "review"
    assert manifest["pipeline"]["gate"]["models"]["profile"] == "full"
    assert "all notes in which something was found were held back" in (tmp_path / "review" / "report.html").read_text()
    assert deid("check", strict, run / "notes.jsonl", "--key", run / "key", "--trust-models", "--gate").exit_code == 0


def test_another_key_or_list_is_refused_or_fails(run: Path, tmp_path: Path) -> None:
    deid("key", "new", tmp_path / "other")
    records = tmp_path / "patients.jsonl"
    records.write_text('{"id": "p1", "family": "Achterberg"}\n')

    other_key = deid("check", run / "out.jsonl", run / "notes.jsonl", "--key", tmp_path / "other", "--trust-models")
    other_records = look(run, run / "out.jsonl", "--patients", records)
    no_key = deid("check", run / "out.jsonl", run / "notes.jsonl", "--trust-models")

    assert other_key.exit_code == 1
    assert "released notes that are not in the inputs" in other_key.output
    assert other_records.exit_code == no_key.exit_code == 2
    assert "give the same --patients as in the run" in other_records.output


def test_a_bundle_is_signed_and_each_change_is_seen(run: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    made = deid(
        "bundle", "make", bundle, run / "out.jsonl", run / "notes.jsonl", "--key", run / "key", "--trust-models",
        "--signing-key", run / "sign", "--look-again",
    )  # fmt: skip
    assert made.exit_code == 0, made.output

    def verified() -> Result:
        return deid(
            "bundle", "verify", bundle, "--signer", run / "sign.pub", "--out", run / "out.jsonl", "--inputs",
            run / "notes.jsonl",
        )  # fmt: skip

    assert verified().exit_code == 0, verified().output
    content = json.loads((bundle / "bundle.json").read_text())
    assert content["second_look"]["verdict"] == "PASS"
    assert content["inputs"]["files"] == 1
    assert content["key_id"] not in (run / "key").read_text()
    assert {row["letter"]: row["is_covered"] for row in content["safe_harbor"]}["Q"] is False
    page = (bundle / "report.html").read_text()
    assert "2 notes were read, 2 written and 0 held back" in page
    for text in ("Achterberg", "4471902", "notes.jsonl", "n1"):
        assert text not in page + (bundle / "bundle.json").read_text()
    again = deid("bundle", "make", bundle, run / "out.jsonl", run / "notes.jsonl", "--signing-key", run / "sign")
    assert again.exit_code == 2
    (bundle / "report.html").write_text(page.replace("2 notes were read", "9 notes were read"))
    assert "not the page" in verified().output
    (bundle / "report.html").write_text(page)
    notes = run / "notes.jsonl"
    before = notes.read_bytes()
    notes.write_bytes(before + b"\n")
    assert "inputs: they differ from those of the run" in verified().output
    notes.write_bytes(before)
    (bundle / "bundle.json").write_text(json.dumps(content | {"key_id": "x"}))
    assert "not a signature of bundle.json" in verified().output
    assert verified().exit_code == 1


def test_a_run_writes_its_own_bundle(run: Path, tmp_path: Path) -> None:
    arguments = ("run", run / "notes.jsonl", "-o", tmp_path / "out.jsonl", "--key", run / "key", "--no-models")
    bundle = tmp_path / "bundle"

    done = deid(*arguments, "--workers", 1, "--quiet", "--bundle", bundle, "--signing-key", run / "sign")
    without_key = deid(*arguments, "--overwrite", "--bundle", tmp_path / "other")
    again = deid(*arguments, "--overwrite", "--bundle", bundle, "--signing-key", run / "sign")

    assert done.exit_code == 0, done.output
    verified = deid("bundle", "verify", bundle, "--signer", run / "sign.pub", "--out", tmp_path / "out.jsonl")
    assert verified.exit_code == 0, verified.output
    assert without_key.exit_code == again.exit_code == 2


def test_every_label_is_in_one_safe_harbor_category_but_countries_and_states() -> None:
    from deid_runtime.labels import LABELS

    covered = [label for each in safe_harbor_categories() for label in each.labels]
    assert len(safe_harbor_categories()) == 18
    assert sorted([*covered, "COUNTRY", "STATE"]) == sorted(LABELS)
    assert key_id(b"1" * 32) != key_id(b"2" * 32)

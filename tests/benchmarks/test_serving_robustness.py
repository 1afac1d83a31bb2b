"""Test what the robustness benchmark counts as lost, duplicated, changed and flat."""

import json
import random

import pytest

from tests.benchmarks.scripts import FOLDER, load_script

pytest.importorskip("tritonclient.grpc")


@pytest.fixture(scope="module")
def runs():
    return load_script("deid_runs")


@pytest.fixture(scope="module")
def memory():
    return load_script("robustness_memory")


def write_run(out, lines, held_back=()):
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    held = [{"id": each, "reason": "the service is down"} for each in held_back]
    out.with_name(f"{out.name}.quarantine.jsonl").write_text("".join(json.dumps(each) + "\n" for each in held))
    notes = {"read": 3, "written": len(lines), "quarantined": len(held), "quarantined_by_stage": {}}
    out.with_name(f"{out.name}.manifest.json").write_text(json.dumps({"notes": notes}))


NOTES = [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}, {"id": "c", "text": "z"}]


@pytest.mark.parametrize(
    ("lines", "held_back", "wrong"),
    [
        pytest.param(NOTES, (), {}, id="all-equal"),
        pytest.param(NOTES[:2], ("c",), {"held_back": 1}, id="one-held-back"),
        pytest.param(NOTES[:2], (), {"lost": 1}, id="one-lost"),
        pytest.param([*NOTES, NOTES[0]], (), {"doubled": 1}, id="one-twice"),
        pytest.param(NOTES, ("c",), {"doubled": 1, "held_back": 1}, id="written-and-held-back"),
        pytest.param([*NOTES[:2], {"id": "c", "text": "original"}], (), {"different": 1}, id="one-not-processed"),
        pytest.param([*NOTES, {"id": "d", "text": ""}], (), {"different": 1, "unknown": 1}, id="one-made-up"),
    ],
)
def test_a_run_passes_when_every_note_came_out_once_or_was_held_back(tmp_path, runs, lines, held_back, wrong):
    write_run(tmp_path / "embedded.jsonl", NOTES)
    write_run(tmp_path / "served.jsonl", lines, held_back)

    outcomes = [runs.read_outcome(tmp_path / f"{name}.jsonl") for name in ("embedded", "served")]
    comparison = runs.compare("abc", *outcomes)

    found = {name: value for name, value in comparison.to_json().items() if value and name not in ("notes", "equal")}
    assert found == wrong
    assert comparison.passed == (not wrong.keys() - {"held_back"})


def test_kills_are_the_same_for_a_seed_and_fit_into_the_run():
    script = load_script("robustness_kills")

    gaps = list(script.kill_gaps(10, 60.0, seed=3))

    assert gaps == list(script.kill_gaps(10, 60.0, seed=3))
    assert len(set(gaps)) == 10
    assert sum(gaps) < 1.3 * 60 * 10 / 12
    assert min(gaps) > 0


def test_short_notes_come_to_just_so_many_sentences(memory):
    split_sentences = memory.split_sentences
    batches = list(memory.short_notes(["fever", "cough"], 1_234, random.Random(0)))

    texts = [text for batch in batches for text in batch]
    assert sum(len(split_sentences(text)) for text in texts) == 1_234
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("sizes", "passed"),
    [
        pytest.param([100, 300, 280, 310], True, id="level"),
        pytest.param([100, 300, 320, 340], False, id="growing"),
        pytest.param([50, 60, 60, 75], True, id="growing-less-than-an-allocator-may"),
        pytest.param([100], True, id="one-sample"),
    ],
)
def test_memory_is_flat_when_the_second_half_stays_near_the_first(memory, sizes, passed):
    assert memory.describe_growth([size * 2**20 for size in sizes])["passed"] == passed


def test_thinning_keeps_the_peaks(memory):
    samples = [(float(number), number, number % 7) for number in range(70)]

    thin = memory.thinned(samples, 10)

    assert len(thin) == 10
    assert {size for _, _, size in thin} == {6}


def test_the_committed_run_is_of_full_size_and_what_the_page_says():
    run = json.loads((FOLDER / "results" / "serving_robustness.json").read_text(encoding="utf-8"))
    page = (FOLDER / "README.md").read_text(encoding="utf-8").partition("## What a killed server costs")[2]
    kills, memory, identity = run["kills"], run["memory"], run["identity"]

    assert kills["passed"]
    assert len(kills["kills"]) == 10
    assert kills["whole_output_equal"]
    assert kills["notes"] == {
        "notes": 5000, "equal": 5000, "different": 0, "held_back": 0, "lost": 0, "doubled": 0, "unknown": 0,
    }  # fmt: skip
    assert memory["passed"]
    assert memory["sentences"] == 1_000_000
    assert f"{memory['peak_bytes_first_half'] / 2**20:.0f} MiB in the first half" in page
    assert f"{memory['growth_bytes'] / 2**10:.0f} KiB more" in page
    assert identity["passed"]
    assert sorted(each["counts"]["served"]["written"] for each in identity["runs"]) == [
        76,
        76,
        2000,
        2000,
    ]

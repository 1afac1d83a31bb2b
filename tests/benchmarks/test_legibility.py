"""Test the counting of the benchmark, and that its committed results fit the present signs."""

import json
from pathlib import Path

import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.spans import Span
from deid_runtime.text.legibility import SIGNS, illegible
from tests.benchmarks.scripts import load_script

ROOT = Path(__file__).resolve().parents[2]
RESULTS = json.loads((ROOT / "benchmarks" / "results" / "legibility.json").read_text(encoding="utf-8"))
NOTE = AnnotatedNote("n1", "p1", "", "Seen by José Quist.\nfine", (Span(8, 12, "DOCTOR"), Span(13, 18, "DOCTOR")))


@pytest.fixture(scope="module")
def benchmark():
    return load_script("legibility")


def test_what_an_attack_hides_is_counted_in_offsets_of_the_new_text(benchmark):
    attack = benchmark.ATTACKS["tags: <b> around words"]

    attacked = benchmark.rewritten(NOTE, attack, "identifiers", NOTE.spans)

    assert attacked.text == "Seen by <b>José</b> <b>Quist</b>.\nfine"
    assert "".join(attacked.text[start:end] for start, end in attacked.wanted) == "JoséQuist"
    assert benchmark.missed(attacked, []) == 9
    assert benchmark.missed(attacked, [Span(8, 19, "DOCTOR")]) == 5
    assert benchmark.missed(attacked, [Span(8, 14, "DOCTOR"), Span(20, 32, "DOCTOR")]) == 1


def test_one_identifier_is_written_anew_and_counted(benchmark):
    attack = benchmark.ATTACKS["invisible: soft hyphen mid-word"]

    [attacked] = benchmark.attacks_on([NOTE], attack, "one identifier")

    assert attacked.text in ("Seen by Jo\xadsé Quist.\nfine", "Seen by José Qu\xadist.\nfine")
    assert len(attacked.wanted) in (4, 5)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("invisible: words backwards behind an override", "Seen by \u202eésoJ\u202c \u202etsiuQ\u202c.\nfine"),
        ("spaced: three spaces between words", "Seen by J o s é Q u i s t.\nfine"),
        ("lookalikes: Cyrillic letters", "Seen by Jоsé Quist.\nfine"),
        ("escapes: quoted-printable", "Seen by Jos=C3=A9 Quist.\nfine"),
    ],
)
def test_an_attack_changes_the_identifiers_alone(benchmark, name, text):
    assert benchmark.rewritten(NOTE, benchmark.ATTACKS[name], "identifiers", NOTE.spans).text == text


def test_every_form_in_a_whole_note_is_held_back_unless_the_detectors_read_it(benchmark):
    rows = {row["form"]: row for row in RESULTS["rows"] if row["dose"] == "note"}

    assert list(rows) == list(benchmark.ATTACKS)
    # Notes that pass leak little more than the plain note, except in these forms, which the page names.
    leaking = {form for form, row in rows.items() if row["held_back"] < 1 and row["leak_of_passed"] > 0.01}
    assert leaking == {
        "hyphenated: words broken over line ends",
        "invisible: zero-width space around words",
        "invisible: zero-width space mid-word",
        "lookalikes: letters for digits",
        "spaces: tabs",
        "spaces: underscores",
    } - {form for form, row in rows.items() if row["held_back"] == 1}


def test_the_results_are_those_of_the_present_signs_and_hold_back_no_clean_note():
    signs = [(sign["form"], sign["least"], sign["share"]) for sign in RESULTS["clean"]["signs"]]

    assert signs == [(sign.form, sign.least, sign.share) for sign in SIGNS]
    assert RESULTS["clean"]["held_back"] == 0
    assert max(sign["nearest_clean"] for sign in RESULTS["clean"]["signs"]) <= 1 / 1.5
    assert RESULTS["speed"]["share_of_pipeline"] < 0.05
    assert illegible(NOTE.text) == ""


def test_the_table_is_that_of_the_committed_results(benchmark):
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    table = text.partition("<!-- LEGIBILITY")[2].partition("-->")[2].partition("<!-- END OF LEGIBILITY")[0]

    assert table.strip() == benchmark.render(RESULTS["rows"])
    assert f"{RESULTS['clean']['of']:,} clean notes" in text
    assert f"{100 * RESULTS['speed']['share_of_pipeline']:.2f} % of the time" in text

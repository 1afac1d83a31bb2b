"""Test that the tables of the benchmarks page equal the committed results."""

import json

import pytest

from tests.benchmarks.scripts import FOLDER, load_script


@pytest.mark.parametrize(
    "script",
    [
        "baselines/baselines",
        "date_shift_attack",
        "harvest",
        "research/learning_curve",
        "research/precision_versions",
        "research/transfer",
    ],
)
def test_the_page_has_the_committed_table(script: str) -> None:
    name = script.rpartition("/")[2]
    results = json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))
    mark = name.replace("_", " ").upper()
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    table = page.partition(f"<!-- {mark}")[2].partition(f"<!-- END OF {mark}")[0]

    rows = [line for line in load_script(script).render(results).splitlines() if not line.startswith("| ---")]
    assert len(rows) >= 6
    assert [row for row in rows if row not in table] == []


def test_the_model_card_has_the_heads_of_the_committed_graphs() -> None:
    models = FOLDER.parent / "model_repository"
    results = json.loads((FOLDER / "results" / "heads.json").read_text(encoding="utf-8"))
    graphs = json.loads((models / "manifest.json").read_text(encoding="utf-8"))["graphs"]
    card = (models / "MODEL_CARD.md").read_text(encoding="utf-8")

    assert {row["graph"] for row in results["rows"]} == set(graphs)
    assert load_script("heads").render(results) in card.partition("<!-- GRAPHS")[2].partition("<!-- END OF GRAPHS")[0]


def test_the_page_has_the_round_of_the_committed_registry() -> None:
    registry = json.loads((FOLDER / "results" / "iterate_registry.json").read_text(encoding="utf-8"))
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    table = page.partition("<!-- ITERATE")[2].partition("<!-- END OF ITERATE")[0]
    rows = {row.split(" | ")[0].removeprefix("| "): row for row in table.splitlines() if row.startswith("| ")}

    [found] = [each["errors"]["by_head"] for each in registry["rounds"]]
    assert len(registry["versions"]) == 2 * len(found)
    for version in registry["versions"]:
        grade, row = version["grade"], rows[version["head"]]
        assert f"| {grade['precision']:.3f}, {grade['recall']:.3f} |" in row
        assert f"{grade['merit']:.3f}" in row
        errors = found[version["head"]]
        assert f"| {errors['missed']:,} / {errors['wrong']:,} | {errors['sentences']:,} |" in row


@pytest.mark.parametrize("mark", ["TEST", "LONG", "OUTSIDE", "FACTS"])
def test_the_page_has_what_is_found_and_left_alone(mark: str) -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")

    assert load_script("render_tables").tables()[mark] in page.partition(f"<!-- {mark}")[2].partition("<!-- END")[0]

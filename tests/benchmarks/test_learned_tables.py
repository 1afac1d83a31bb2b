"""Test that the tables of the benchmarks page equal the committed results."""

import json

import pytest

from tests.benchmarks.scripts import FOLDER, load_script


@pytest.mark.parametrize("script", ["baselines/baselines", "date_shift_attack"])
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


@pytest.mark.parametrize("mark", ["TEST", "LONG", "OUTSIDE", "NAME SETS", "FACTS", "OTHER AUTHORS"])
def test_the_page_has_what_is_found_and_left_alone(mark: str) -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")

    assert load_script("render_tables").tables()[mark] in page.partition(f"<!-- {mark}")[2].partition("<!-- END")[0]

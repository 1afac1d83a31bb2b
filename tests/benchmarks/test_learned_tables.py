"""Tables of the benchmarks page are those of the committed results."""

import json

import pytest

from tests.benchmarks.scripts import FOLDER, load_script


@pytest.mark.parametrize("name", ["baselines", "learning_curve", "transfer"])
def test_the_page_has_the_committed_table(name: str) -> None:
    results = json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))
    mark = name.replace("_", " ").upper()
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    table = page.partition(f"<!-- {mark}")[2].partition(f"<!-- END OF {mark}")[0]

    rows = [line for line in load_script(name).render(results).splitlines() if not line.startswith("| ---")]
    assert len(rows) >= 6
    assert [row for row in rows if row not in table] == []

"""Test the simulation of the bound: its releases, and that it is the bound of the program."""

import json
from types import ModuleType

import numpy as np
import pytest

from deid_runtime.audit.leak_bound import upper_bound
from tests.benchmarks.scripts import FOLDER, load_script

pytest.importorskip("scipy")


@pytest.fixture(scope="module", name="leak_bound")
def leak_bound_script() -> ModuleType:
    return load_script("leak_bound")


def test_the_simulated_bound_is_that_of_the_program(leak_bound: ModuleType) -> None:
    for leaks, draws in ((0.0, 30), (2.5, 100), (30.0, 30)):
        assert leak_bound.upper(np.array([leaks]), np.array([draws]))[0] == upper_bound(leaks, draws, 0.95)


@pytest.mark.parametrize("likeness", [0.0, 0.3, 1.0, "large patients"])
@pytest.mark.parametrize("sizes", ["equal", "unequal"])
def test_releases_have_the_wanted_share_of_leaks(leak_bound: ModuleType, sizes: str, likeness: float | str) -> None:
    notes, leaks = leak_bound.release(sizes, 0.05, likeness, np.random.default_rng(1))

    assert (leaks <= notes).all()
    assert leaks.sum() / notes.sum() == pytest.approx(0.05, abs=0.03)


def test_a_short_simulation_covers(leak_bound: ModuleType) -> None:
    rng = np.random.default_rng(2)
    notes, leaks = leak_bound.release("unequal", 0.05, 1.0, rng)

    row = leak_bound.cover(leak_bound.Case("unequal", notes, leaks, 100, 3), 1_000, rng)
    assert row["coverage"]["draws"] >= 0.95 - 3 * (0.95 * 0.05 / 1_000) ** 0.5
    assert row["coverage"]["notes"] < 0.9


def test_the_page_quotes_the_committed_result() -> None:
    report = json.loads((FOLDER / "results" / "leak_bound.json").read_text())["report"]
    page = (FOLDER.parent / "docs" / "how-to" / "leak-bound.md").read_text()

    quoted = [*report["lowest"].values(), report["lowest_settled"]]
    assert all(f"{100 * value:.1f} %" in page for value in quoted)
    assert f"{len(report['cases'])} cases" in page
    assert min(row["coverage"] for row in report["strata"]) >= 0.95

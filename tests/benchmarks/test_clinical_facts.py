"""Test the counting of the benchmark, not its results."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.spans import Span
from tests.benchmarks.scripts import FOLDER, load_script

script = load_script("clinical_facts.clinical_facts")


def twos(texts: Sequence[str]) -> list[list[Span]]:
    """Find every "2" of each text."""
    return [[Span(at, at + 1, "AGE") for at, char in enumerate(text) if char == "2"] for text in texts]


def test_lines_and_words_count_in_their_category_alone_and_joined() -> None:
    lines = [script.Line("a", "one 2 three"), script.Line("b", "four five"), script.Line("a", "2 2")]

    measured = script.measure(twos, lines, seed=1)

    for table in measured.values():
        assert (table["a"].lines, table["a"].lines_changed, table["a"].words, table["a"].words_changed) == (2, 2, 5, 3)
        assert table["a"].lines_rewritten == 0  # an age of 2 stays
        assert (table["b"].lines, table["b"].lines_changed, table["b"].words_changed) == (1, 0, 0)
        assert list(table) == ["a", "b", "all"]
        assert (table["all"].lines, table["all"].words_changed) == (3, 3)


def test_a_line_is_rewritten_where_the_surrogate_is_another_text() -> None:
    def all_words(texts: Sequence[str]) -> list[list[Span]]:
        return [[Span(0, len(text), "PATIENT" if text.isalpha() else "AGE")] for text in texts]

    measured = script.measure(all_words, [script.Line("a", "Petersen"), script.Line("a", "71")], seed=1)

    assert (measured["single"]["a"].lines_changed, measured["single"]["a"].lines_rewritten) == (2, 1)


def test_wilson_agrees_with_published_values() -> None:
    assert [round(bound, 4) for bound in script.wilson(0, 10)] == [0.0, 0.2775]
    assert [round(bound, 4) for bound in script.wilson(81, 263)] == [0.2553, 0.3662]  # Newcombe 1998, table I


@given(st.integers(0, 300), st.integers(0, 300))
def test_an_interval_holds_its_share(hits: int, others: int) -> None:
    of = hits + others
    low, high = script.wilson(hits, of)

    assert 0 <= low <= high <= 1
    assert not of or (low <= hits / of + 1e-9 and hits / of <= high + 1e-9)


def test_a_row_without_a_category_is_refused(tmp_path: Path) -> None:
    rows = tmp_path / "lines.tsv"
    rows.write_text("# a comment\nlab\tNa 138\n\nNa 139\n", encoding="utf-8")

    with pytest.raises(SystemExit, match="lines.tsv:4"):
        script.read_lines(rows)


def test_every_kind_of_fact_is_in_both_files_of_hard_lines() -> None:
    dev, test, ordinary = (
        {line.category for line in script.read_lines(FOLDER / "clinical_facts" / name)} for name in script.FILES
    )

    assert dev == test
    assert ordinary == {"ordinary"}

"""Test Markdown tables between markers."""

import pytest

from deid_export.data.marked_tables import markdown_table, with_tables
from deid_runtime.errors import InputError


def test_a_table_goes_between_its_marks_alone() -> None:
    card = "a\n<!-- size-card: size -->\nold\n<!-- /size-card: size -->\nb\n"

    assert with_tables(card, {"size": "| x |"}, "size-card") == card.replace("old", "| x |")


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("nothing", "has places for no table; expected one for each of size"),
        ("<!-- size-card: seize -->", "has places for seize"),
        ("<!-- size-card: size -->" * 2, "has places for size, size"),
        ("<!-- size-card: size -->", "lacks <!-- /size-card: size -->"),
    ],
)
def test_a_card_without_the_places_is_refused(card: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_tables(card, {"size": "| x |"}, "size-card")


def test_columns_of_figures_are_set_to_the_right() -> None:
    assert (
        markdown_table(["name", "n"], [["a", 1234], ["b", "–"]])
        == "| name | n |\n| --- | ---: |\n| a | 1,234 |\n| b | – |"
    )

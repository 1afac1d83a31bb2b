"""Test which of two numbers is the day, where no date of the note tells."""

import pytest

from deid_runtime.dates.forms import read_style


@pytest.mark.parametrize(
    ("values", "locale", "is_day_first"),
    [
        (["12/3/1931"], "GB", True),
        (["12/3/1931"], "IE", True),
        (["12/3/1931"], "US", False),
        (["12/3/1931"], "CA", False),
        (["12/3/1931", "3/25/2020"], "GB", False),  # a date of the note tells more than its country
        (["12/3/1931", "25/3/2020"], "US", True),
    ],
)
def test_dates_tell_and_else_the_country(values: list[str], locale: str, is_day_first: bool) -> None:
    assert read_style(values, 2020, locale=locale).day_first is is_day_first

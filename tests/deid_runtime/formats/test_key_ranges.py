"""Test how the rows of a table are cut into ranges, and how values of a database are read."""

from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.errors import SourceError
from deid_runtime.formats import key_ranges
from deid_runtime.formats.key_ranges import KeyRange, KindsSeen, TablePlan, cut_ranges, digest_rows, plain_value


@given(st.lists(st.integers(0, 5_000_000), max_size=40))
def test_ranges_hold_every_row_once_and_are_bounded(sizes: list[int]) -> None:
    ranges = list(cut_ranges((((number,), size) for number, size in enumerate(sizes)), "n"))

    assert [number for each in ranges for number in range(each.before, each.before + each.rows)] == [*range(len(sizes))]
    assert [each.after for each in ranges] == [None, *(each.last for each in ranges[:-1])][: len(ranges)]
    for each in ranges:
        held = sizes[each.before : each.before + each.rows]
        assert len(held) == 1 or sum(held) <= key_ranges.RANGE_BYTES


def test_ranges_have_a_limited_number_of_rows() -> None:
    ranges = list(cut_ranges((((number,), 1) for number in range(25_000)), "n"))

    assert [(each.before, each.rows) for each in ranges] == [(0, 10_000), (10_000, 10_000), (20_000, 5_000)]
    plan = TablePlan({"id": "integer"}, tuple(ranges), 0)
    assert [each.before for each in plan.ranges_from(10_000)] == [10_000, 20_000]
    assert [each.before for each in plan.ranges_from(10_001)] == [10_000, 20_000]
    assert plan.ranges_from(25_000) == ()
    assert plan.rows == 25_000


def test_a_repeated_key_is_refused_without_its_value() -> None:
    with pytest.raises(SourceError, match=r"^n: the key has a value twice; name columns of unique values as key$"):
        list(cut_ranges([(("MRN7",), 1), (("MRN7",), 1)], "n"))


def test_keys_are_not_shown() -> None:
    assert "MRN7" not in repr(KeyRange(("MRN6",), ("MRN7",), 0, 1))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("17"), 17),
        (Decimal("17.50"), "17.50"),
        (Decimal("1E+3"), "1E+3"),
        (date(2026, 3, 4), "2026-03-04"),
        (datetime(2026, 3, 4, 5, tzinfo=UTC), "2026-03-04T05:00:00+00:00"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        ({"a": [1]}, '{"a": [1]}'),
        (memoryview(b"x"), b"x"),
        (True, True),
    ],
)
def test_plain_values(value: object, expected: object) -> None:
    assert plain_value(value) == expected


@given(st.lists(st.lists(st.none() | st.integers() | st.text() | st.binary(), min_size=2, max_size=2), max_size=3))
def test_digests_tell_rows_apart(rows: list[list[object]]) -> None:
    assert digest_rows(rows) == digest_rows([list(row) for row in rows])
    assert digest_rows([*rows, ["a", "b"]]) != digest_rows(rows)
    assert digest_rows([[b"a"]]) != digest_rows([["a"]]) != digest_rows([["a\udc80"]])


def test_kinds_of_columns() -> None:
    kinds = KindsSeen(["a", "b", "c", "d", "e", "f"])
    kinds.add([[1, 1, True, None, 2**63, 1], [None, 0.5, False, None, 1, "x"]])

    assert kinds.kinds() == {"a": "integer", "b": "real", "c": "boolean", "d": "text", "e": "text", "f": "text"}

"""Test what is derived from the patterns ahead: it is that of the tables, and of changed patterns it is made anew."""

from importlib.resources import files

import pytest

from deid_runtime.detectors.patterns.anchors import Offsets, anchor_words, group_names
from deid_runtime.detectors.patterns.derived import FILE, check_bounds, derive, digest, render
from deid_runtime.detectors.patterns.table import load_table


def test_the_file_is_that_of_the_tables() -> None:
    text = files("deid_runtime").joinpath(FILE).read_text(encoding="utf-8")

    assert text == render((row.pattern, row.has_place) for row in load_table().rows), (
        "run python scripts/derive_patterns.py"
    )


def test_rows_have_the_words_and_groups_of_their_patterns() -> None:
    for row in load_table().rows:
        assert dict(row.words) == ({} if row.has_place else dict(anchor_words(row.pattern))), row.name
        assert row.groups == tuple(name for name in group_names(row.pattern) if name.startswith("value")), row.name


def test_a_pattern_that_the_file_lacks_is_parsed() -> None:
    one = derive(r"zebra(?P<value>\d{1,3})", has_place=False)

    assert one.groups == ("value",)
    assert one.words == {"zebra": Offsets(0, 0)}
    assert derive(r"zebra(?P<value>\d{1,3})", has_place=True).words == {}


@pytest.mark.parametrize(
    ("pattern", "message"), [(r"zebra\d*", "unbounded repeat"), (r"zebra[\s]{0,4}x", "blank lines")]
)
def test_a_pattern_that_the_file_lacks_is_checked(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_bounds(pattern)


def test_a_digest_depends_on_the_pattern_and_on_the_place() -> None:
    keys = {digest(pattern, has_place=has_place) for pattern in ("a", "b", "0a") for has_place in (False, True)}

    assert len(keys) == 6

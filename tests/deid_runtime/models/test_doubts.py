"""Test weak patterns against models that have read the same words."""

import pytest

from deid_runtime.detectors.patterns.rows import BARE_SCORE
from deid_runtime.models.doubts import settle_doubts
from deid_runtime.spans import Sentence, Span

WEAK = Span(10, 13, "DATE", 0.5, ("pattern:weak",))


def of(source: str, start: int, end: int) -> Span:
    return Span(start, end, "IDNUM", 0.6, (source,))


@pytest.mark.parametrize(
    ("others", "told", "read", "stands"),
    [
        ([], [], [(0, 20)], False),
        ([], [], [(0, 12), (12, 20)], False),
        ([], [], [], True),
        ([], [], [(0, 11)], True),
        ([], [], [(0, 11), (12, 20)], True),
        ([], [("model:trace", 12, 15)], [(0, 20)], True),
        ([], [("model:name", 5, 11)], [(0, 20)], True),
        ([], [("model:trace", 13, 15), ("model:age", 2, 10)], [(0, 20)], False),
        ([("record", 10, 13)], [], [(0, 20)], True),
        ([("pattern:weak", 11, 16)], [], [(0, 20)], False),
    ],
    ids=["denied", "denied-in-two", "unread", "half-read", "gap", "traced", "found", "beside", "recorded", "two-weak"],
)
def test_a_weak_pattern_stands_unless_the_models_deny_it(
    others: list[tuple[str, int, int]],
    told: list[tuple[str, int, int]],
    read: list[tuple[int, int]],
    stands: bool,
) -> None:
    found = [WEAK, *(of(*each) for each in others)]

    settled = settle_doubts(found, [of(*each) for each in told], [Sentence(*each) for each in read])

    assert (WEAK in settled) is stands


def test_nothing_else_is_dropped_and_no_trace_is_left() -> None:
    found = [of("pattern", 0, 4), of("template", 30, 34), of("record", 40, 44)]
    told = [of("model:identifier", 20, 24), of("model:trace", 26, 28)]

    assert settle_doubts([*found, WEAK], told, [Sentence(0, 50)]) == [*found, told[0]]
    assert settle_doubts(found, told, [Sentence(0, 50)]) == [*found, told[0]]


@pytest.mark.parametrize(
    ("others", "told", "read", "stands"),
    [
        ([], [], [], True),
        ([], [("model:trace", 10, 13)], [(0, 20)], False),
        ([], [("model:identifier", 10, 13)], [(0, 20)], True),
        ([("record", 10, 13)], [], [(0, 20)], True),
    ],
    ids=["unread", "traced", "found", "recorded"],
)
def test_a_bare_form_wants_a_finder_beside_it(
    others: list[tuple[str, int, int]],
    told: list[tuple[str, int, int]],
    read: list[tuple[int, int]],
    stands: bool,
) -> None:
    bare = Span(10, 13, "DATE", BARE_SCORE, ("pattern:weak",))

    settled = settle_doubts(
        [bare, *(of(*each) for each in others)], [of(*each) for each in told], [Sentence(*each) for each in read]
    )

    assert (bare in settled) is stands

"""Test rows of many requests: each runs at the width of its own length and gets its own answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.errors import DeidError, InputError, ModelError
from deid_runtime.models.engines import Array
from deid_runtime.serving.rows import WIDTHS, TokenLimits, join_hidden, join_tokens, run_rows
from deid_runtime.serving.token_model import TokenGraph
from deid_runtime.settings import Precision

PAD = 9


class Session:
    """A session that answers ids times 2 and counts shapes; it fails on the id 666."""

    name = "test"
    precision: Precision = "float32"

    def __init__(self) -> None:
        self.calls: list[tuple[int, ...]] = []

    def __call__(self, *arrays: Array) -> list[Array]:
        ids, types, mask = arrays
        if (ids == 666).any():
            raise RuntimeError("a message that may hold a value")
        self.calls.append(ids.shape)
        assert (ids[mask == 0] == PAD).all()
        assert (types[mask == 0] == 0).all()
        return [ids * 2, mask.astype(np.float16)]

    def close(self) -> None:
        pass


def request(lengths: list[int], width: int, value: int = 5) -> list[Array]:
    mask = (np.arange(width) < np.array(lengths)[:, None]).astype(np.int32)
    return [np.full(mask.shape, value, np.int32), np.full(mask.shape, 3, np.int32), mask]


@given(
    st.lists(
        st.integers(1, 128).flatmap(
            lambda width: st.lists(st.integers(0, width), min_size=1, max_size=4).map(lambda rows: (rows, width))
        ),
        min_size=1,
        max_size=8,
    )
)
def test_every_row_gets_its_own_answer_at_the_width_of_its_own_length(shapes: list[tuple[list[int], int]]) -> None:
    session = Session()
    requests = [request(lengths, width, number) for number, (lengths, width) in enumerate(shapes)]

    answers = run_rows(session, join_tokens(requests, PAD), PAD, 4)

    for number, ((lengths, width), (doubled, kept)) in enumerate(zip(shapes, answers, strict=True)):
        assert doubled.shape == kept.shape == (len(lengths), width)
        for row, length in enumerate(lengths):
            assert (doubled[row, :length] == 2 * number).all()
            assert (kept[row] == (np.arange(width) < length)).all()
    assert all(rows in (1, 2, 4) and width in WIDTHS for rows, width in session.calls)
    assert sum(rows for rows, _ in session.calls) == sum(len(lengths) for lengths, _ in shapes)  # no row is padding


def test_a_narrow_row_in_a_wide_request_costs_its_own_width() -> None:
    session = Session()

    run_rows(session, join_tokens([request([20, 100], 128), request([30], 64)], PAD), PAD, 16)

    assert session.calls == [(2, 32), (1, 112)]


def test_hidden_states_keep_the_width_of_their_request() -> None:
    rows = join_hidden([[np.ones((2, 40, 3), np.float32)], [np.ones((1, 7, 3), np.float32)]])

    [[wide], [narrow]] = run_rows(lambda hidden: [hidden.sum(axis=2)], rows, PAD, 16)

    assert (wide.shape, narrow.shape) == ((2, 40), (1, 7))
    assert (wide == 3).all()


def test_an_engine_that_fails_on_one_request_serves_the_others() -> None:
    graph = TokenGraph(Session, ("input_ids", "token_type_ids", "attention_mask"), TokenLimits(1000, 18), 0, PAD, 16)

    first, poison, bad, last = graph.answer([request([3], 8), request([3], 8, 666), request([3], 129), request([4], 9)])

    assert not isinstance(first, DeidError)
    assert not isinstance(last, DeidError)
    assert last[0][0, :4].tolist() == [10] * 4
    assert isinstance(bad, InputError)
    assert isinstance(poison, ModelError)
    assert str(poison) == "the engine failed with RuntimeError"


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        pytest.param([np.ones((1, 4, 3), np.float64)], "hidden is float64, expected float32", id="type"),
        pytest.param([np.ones((1, 4, 2), np.float32)], "expected 3 values per token", id="size"),
        pytest.param([np.ones((4, 3), np.float32)], "expected 3 dimensions", id="dimensions"),
    ],
)
def test_hidden_states_that_do_not_fit_are_refused(arrays: list[Array], said: str) -> None:
    graph = TokenGraph(Session, ("hidden",), TokenLimits(1, 1), 3, PAD, 16)

    [answer] = graph.answer([arrays])

    assert isinstance(answer, InputError)
    assert said in str(answer)

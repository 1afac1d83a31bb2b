import hmac

from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.surrogates.hashing import Keyed

KEYED = Keyed(b"k" * 32)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 300), st.text(max_size=5))
def test_permute_takes_each_index_to_another(size, purpose):
    assert sorted(KEYED.permute(index, size, purpose) for index in range(size)) == list(range(size))


@settings(deadline=None, max_examples=30)
@given(st.text(), st.text())
def test_choices_depend_on_value_and_secret(left, right):
    assert (KEYED.digest("p", left) == KEYED.digest("p", right)) is (left == right)
    assert KEYED.digest("p", left) != Keyed(b"l" * 32).digest("p", left)
    assert KEYED.digest("p", left) != KEYED.digest("q", left)


@settings(deadline=None, max_examples=30)
@given(st.binary(min_size=1, max_size=150), st.text(st.characters(codec="utf-8"), max_size=90))
def test_the_digest_is_that_of_the_standard_library(secret, value):
    assert Keyed(secret).digest("p", value) == hmac.digest(secret, b"p\0" + value.encode(), "sha256")


def test_lone_surrogates_are_hashed_like_any_character():
    assert KEYED.digest("p", "\ud800") != KEYED.digest("p", "\ud801")


def test_a_stream_is_as_long_as_asked():
    assert [len(KEYED.stream(size, "p", "v")) for size in (0, 1, 32, 33, 100_000)] == [0, 1, 32, 33, 100_000]

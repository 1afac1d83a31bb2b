"""Test the new names that names in no list get."""

import pytest

from deid_runtime.lexicon.word_codes import load_lexicon
from deid_runtime.surrogates.coined import coin
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.unlisted import likely_key, nearest

UNLISTED = ("achterberg", "zdzieblowski", "castleberrie", "hollingsheade", "fogliuccia", "thackerays")


@pytest.mark.parametrize("form", UNLISTED)
def test_a_new_name_is_in_no_list_and_no_misspelling(form: str) -> None:
    made = [coin(Keyed(bytes([number]) * 32), likely_key(form), form, 0) for number in range(12)]

    assert sum(map(bool, made)) >= 10
    for name in filter(None, made):
        new = normal_form(name)
        assert names().listed(new) is None
        assert new not in load_lexicon()
        assert not nearest(new)
        assert abs(len(new) - len(form)) <= 2
        assert name[0].isupper()
        assert name[1:].islower()
    assert len(set(made)) >= 8  # keys give different names


def test_the_same_key_gives_the_same_name() -> None:
    key = likely_key("achterberg")

    assert coin(Keyed(b"k" * 32), key, "achterberg", 0) == coin(Keyed(b"k" * 32), key, "achterberg", 0)
    assert coin(Keyed(b"k" * 32), key, "achterberg", 0) != coin(Keyed(b"k" * 32), key, "achterberg", 1)


def test_a_small_pool_gives_no_new_name() -> None:
    small = min(names().pools, key=lambda key: len(names().pools[key]))

    assert coin(Keyed(b"k" * 32), small, "achterberg", 0) == ""

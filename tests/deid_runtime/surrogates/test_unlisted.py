"""Test names that are in no list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.unlisted import likely_pool, nearest


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("jhon", "john"),
        ("cathreine", "catherine"),
        ("hernadez", "hernandez"),
        ("nguyenh", "nguyen"),
        ("zqvorblatt", ""),
        ("bux", ""),
        ("李偉", ""),
    ],
)
def test_the_nearest_listed_name(form, name):
    assert nearest(form) == name


@given(st.sampled_from(sorted(name for name in names().family if len(name) > 6 and name.isascii())), st.data())
def test_a_swap_within_a_long_name_leads_to_a_listed_name_one_swap_away(form, data):
    place = data.draw(st.integers(1, len(form) - 2))
    swapped = form[:place] + form[place + 1] + form[place] + form[place + 2 :]

    found = nearest(swapped)

    assert sorted(found) == sorted(swapped) or swapped in names().family or swapped in names().given


@pytest.mark.parametrize(
    ("form", "culture"),
    [
        ("petrossian", "armenian"),
        ("oluwaseyi", "yoruba"),
        ("martinescu", "romanian"),
        ("venkataraghavan", "indian"),
        ("xiomarita", "spanish"),
        ("wojciechowska", "polish"),
    ],
)
def test_letters_tell_the_culture(form, culture):
    pool = likely_pool(form)

    assert pool in {known for key, known in names().pools.items() if key[0] == culture}


def test_a_sex_that_is_told_is_kept():
    assert likely_pool("braxleighton", "M") in {pool for (_, sex), pool in names().pools.items() if sex == "M"}

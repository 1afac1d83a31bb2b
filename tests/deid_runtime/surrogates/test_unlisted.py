"""Test names that are in no list."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.unlisted import draw, is_one_slip, likely_key, nearest, same_slip


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


_FREQUENT = sorted(
    form for form, name in names().family.items() if name.level >= 5 and len(form) > 6 and form.isascii()
)


@given(st.sampled_from(_FREQUENT), st.data())
def test_a_swap_within_a_frequent_name_leads_to_a_listed_name_one_swap_away(form, data):
    place = data.draw(st.integers(1, len(form) - 2))
    swapped = form[:place] + form[place + 1] + form[place] + form[place + 2 :]

    found = nearest(swapped)

    assert sorted(found) == sorted(swapped) or swapped in names().family or swapped in names().given


@pytest.mark.parametrize("form", ["tallchief", "adebisi", "coates", "evensen", "mogensen"])
def test_an_ordinary_name_is_no_misspelling(form):
    assert nearest(form) in ("", form)


@pytest.mark.parametrize(
    ("right", "wrong", "name", "made"),
    [
        ("catherine", "cathreine", "Margaret", "Margraet"),
        ("hernandez", "hernadez", "Gonzalez", "Gonzaez"),
        ("collins", "colins", "Jackson", "Jacson"),
        ("nguyen", "nguuyen", "Pham", "Phham"),
        ("whitlock", "whitlack", "Sutcliffe", "Sutclifhe"),
    ],
)
def test_a_slip_is_made_again_at_a_like_place(right, wrong, name, made):
    again = same_slip(right, wrong, name, 0)

    assert is_one_slip(again.lower(), name.lower())
    assert len(again) - len(name) == len(made) - len(name)


def test_frequent_names_are_drawn_more_often_than_rare_ones_but_none_for_many():
    keyed = Keyed(b"k" * 32)
    drawn = Counter(draw(keyed, ("english", ""), "test", str(number)) for number in range(4000))

    bands = names().bands["english", ""]
    per_name = [sum(drawn[name] for name in band.names) / len(band.names) for band in (bands[0], bands[-2])]
    assert per_name[0] > 5 * per_name[1]
    assert max(drawn.values()) < 100


@pytest.mark.parametrize(
    ("form", "culture"),
    [
        ("petrossian", "armenian"),
        ("oluwaseyi", "yoruba"),
        ("martinescu", "romanian"),
        ("venkataraghavan", "south indian"),
        ("xiomarita", "spanish"),
        ("wojciechowska", "polish"),
    ],
)
def test_letters_tell_the_culture(form, culture):
    assert likely_key(form)[0] == culture


def test_a_sex_that_is_told_is_kept():
    assert likely_key("braxleighton", "M")[1] == "M"


@pytest.mark.parametrize(
    ("form", "culture"),
    [
        ("pennywhistle", "english"),
        ("marblethorpe", "english"),
        ("zdzieblowski", "polish"),
        ("papadakopoulou", "greek"),
        ("nkosinathini", "zulu"),
        ("petrosianyan", "armenian"),
    ],
)
def test_letters_of_many_cultures_mean_the_largest_of_them(form, culture):
    assert likely_key(form)[0] == culture


@pytest.mark.parametrize(("plain", "culture"), [("gudmundur", "nordic"), ("lukasz", "polish"), ("doan", "vietnamese")])
def test_a_name_without_its_special_letters_is_a_listed_name(plain, culture):
    assert names().listed(plain).culture == culture

"""Test that the lists are consistent."""

from collections import Counter
from functools import cache
from itertools import chain

import pytest

from deid_export.data.hand_lists import corrected_rows, further_rows, sex_rows
from deid_runtime.surrogates.forms import normal_form
from deid_runtime.surrogates.lists import read_rows
from deid_runtime.surrogates.name_pools import form_of_name, names


@cache
def every_pool():
    known = names()
    # By identity: the hash of a pool takes as long as reading all of it.
    pools = {id(listed.pool): listed.pool for listed in chain(known.given.values(), known.family.values())}
    return list(pools.values())


def test_a_name_stands_in_one_pool_only():
    seen = [normal_form(name) for pool in every_pool() for name in pool]

    assert len(seen) == len(set(seen))


def test_every_pool_has_enough_to_hide_among():
    assert min(map(len, every_pool())) >= 8


def test_names_of_a_pool_have_one_form():
    for pool in every_pool():
        assert len({form_of_name(name) for name in pool}) == 1


def test_the_lists_are_long():
    known = names()

    assert sum(form.isascii() for form in known.family) >= 180_000
    assert sum(form.isascii() for form in known.given) >= 60_000


def test_the_packed_list_has_the_lists_by_hand():
    known = names()

    for kind, name, culture, _ in read_rows("own_names.tsv"):
        listed = (known.given if kind == "given" else known.family).get(normal_form(name))
        assert listed is not None, f"{name}: run python -m deid_export.data.surrogate_pools"
        assert listed.culture == culture or kind == "given"


def test_a_pool_has_names_of_like_frequency():
    known = names()
    bands = known.bands["english", ""]

    assert [band.level for band in bands] == sorted((band.level for band in bands), reverse=True)
    assert len(bands) > 4
    assert known.family["jackson"].pool is bands[0].names


def test_what_must_not_stand_in_is_known_but_in_no_pool():
    offered = {normal_form(name) for pool in every_pool() for name in pool}
    known = names()

    for [form] in read_rows("not_offered.txt"):
        assert form not in offered
    assert known.listed("foster") is not None


@cache
def counts():
    """Return how many family names each culture has, and how many given names each (culture, sex)."""
    known = names()
    given = Counter((listed.culture, listed.sex) for listed in known.given.values())
    return Counter(listed.culture for listed in known.family.values()), given


@pytest.mark.parametrize(
    ("culture", "least"),
    [(culture, 25) for culture in (
        "english", "spanish", "chinese", "vietnamese", "indian", "punjabi", "bengali", "arabic", "persian", "yoruba",
        "east african", "somali", "ethiopian", "polish", "russian", "korean", "hmong", "haitian", "filipino",
        "armenian", "pacific", "german", "italian", "french", "portuguese", "greek", "turkish",
    )] + [("japanese", 15), ("igbo", 10), ("native", 15), ("nepali", 20)],
)  # fmt: skip
def test_a_culture_has_family_names_and_given_names_of_both_sexes(culture, least):
    family, given = counts()

    assert family[culture] >= least
    assert {"F", "M"} <= {sex for of, sex in given if of == culture}
    assert sum(number for (of, _), number in given.items() if of == culture) >= least


def test_nicknames_stay_with_names_that_have_nicknames():
    known = names()

    for form in known.nicknames:
        assert all(normal_form(name) in known.nicknames for name in known.given[form].pool)


def test_the_packed_list_has_the_further_names():
    known = names()
    given, family = known.given, known.family

    for kind, name, _, _ in further_rows():
        listed = normal_form(name) in (given if kind == "given" else family)
        assert listed or known.listed(normal_form(name)), f"{name}: run python -m deid_export.data.surrogate_pools"


def test_the_packed_list_has_the_corrected_cultures():
    known = names()

    for kind, name, culture in corrected_rows():
        listed = (known.given if kind == "given" else known.family).get(normal_form(name))
        assert listed is None or listed.culture == culture, f"{name}: run python -m deid_export.data.surrogate_pools"


def test_the_packed_list_has_the_told_sexes():
    known = names()
    formal = known.nicknames.keys()  # their sex is that of nicknames.tsv

    for name, sex in sex_rows():
        listed = known.given.get(normal_form(name))
        assert listed is None or normal_form(name) in formal or listed.sex == sex, (
            f"{name}: run python -m deid_export.data.surrogate_pools"
        )


@pytest.mark.parametrize(
    ("name", "sex"),
    [("Tunde", "M"), ("Babatunde", "M"), ("Sipho", "M"), ("Thandeka", "F"), ("Aditya", "M"), ("Tesfaye", "M")],
)
def test_a_name_has_the_sex_of_its_bearers(name, sex):
    assert names().given[normal_form(name)].sex == sex


@pytest.mark.parametrize(
    ("name", "culture"),
    [
        ("Agnieszka", "polish"),
        ("Fatma", "turkish"),
        ("Giovanni", "italian"),
        ("Ingrid", "nordic"),
        ("Konstantinos", "greek"),
        ("Sergei", "russian"),
        ("Tunde", "yoruba"),
        ("Zoran", "croatian"),
    ],
)
def test_a_name_has_the_culture_of_its_language(name, culture):
    assert names().given[normal_form(name)].culture == culture


def test_further_names_are_as_frequent_as_the_census_says():
    levels = names().levels({normal_form(name) for _, name, _, _ in further_rows()})

    assert sum(level == 0 for level in levels.values()) > 20_000  # in no census, or with few bearers
    assert levels["wiseman"] == 4


@pytest.mark.parametrize(
    "name", ["Venkatasubramanian", "Ogunlesi", "Chukwuemeka", "Mokgosi", "Stockbridge", "Keaweamahi"]
)
def test_a_name_of_a_culture_with_few_listed_names_is_known(name):
    assert names().listed(normal_form(name)) is not None

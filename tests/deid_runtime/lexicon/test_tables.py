"""Test tables of words: what is read, and which errors are reported."""

import pytest

from deid_runtime.errors import SettingsError
from deid_runtime.lexicon.calendar_words import MONTH_OF, MONTHS, WEEKDAY_OF, WEEKDAYS, month_words
from deid_runtime.lexicon.numbers import NUMBER_WORDS, ORDINAL_WORDS, cardinal, ordinal
from deid_runtime.lexicon.states import other_states, states, us_states
from deid_runtime.lexicon.tables import listed_lines, listed_words, parse_sections, parse_table, table, words_for
from deid_runtime.lexicon.vocabulary import alternation, credential_keys, dotted_credentials, kin, with_stops

COLUMNS = ("word", "uses")


def test_a_table_has_comments_a_header_and_rows_in_order():
    text = "# words\nword\tuses\nzeta\tcue age\nalpha\t\n\n"

    assert parse_table("x.tsv", text, COLUMNS) == (("zeta", "cue age"), ("alpha", ""))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("word uses\n", r"x\.tsv:1: the header is word uses; expected word, uses", id="no-tabs"),
        pytest.param("word\tuses\nzeta\n", r"x\.tsv:2: 1 fields; expected word, uses", id="too-few"),
        pytest.param("word\tuses\n\tcue\n", r"x\.tsv:2: no word", id="no-word"),
        pytest.param("# nothing\n", r"x\.tsv: no words in the file", id="empty"),
    ],
)
def test_what_is_wrong_is_named_by_line(text, message):
    with pytest.raises(SettingsError, match=message):
        parse_table("x.tsv", text, COLUMNS)


def test_a_use_that_no_word_has_is_an_error():
    with pytest.raises(SettingsError, match=r"kin\.tsv: no word has the use 'cues'"):
        words_for("kin", "cues")


def test_a_list_has_sections_of_words() -> None:
    text = "# about the list\n\n# [first] what they do\nzeta alpha\n# a comment\nbeta\n\n# [second]\ntwo words\n"

    assert parse_sections("x.txt", text) == {"first": ("zeta alpha", "beta"), "second": ("two words",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("zeta\n# [a]\n", r"x\.txt:1: words above the first section", id="no-section"),
        pytest.param("# [a]\nzeta\n# [a]\n", r"x\.txt:3: a second section \[a\]", id="twice"),
    ],
)
def test_what_is_wrong_in_a_list_is_named_by_line(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_sections("x.txt", text)


def test_a_section_that_no_list_has_is_an_error() -> None:
    assert "physician" in listed_words("person_cues", "staff")
    assert "mary jane" in listed_lines("person_cues", "no-people")
    with pytest.raises(SettingsError, match=r"person_cues\.txt: no words under # \[staffs\]"):
        listed_words("person_cues", "staffs")


@pytest.mark.parametrize("name", ["kin", "titles", "particles", "street_kinds", "unit_words"])
def test_every_word_stands_once_with_a_use(name):
    rows = table(name, *COLUMNS)

    assert len({word for word, _ in rows}) == len(rows)
    assert all(uses for _, uses in rows)


def test_a_table_is_read_once():
    table("kin", *COLUMNS)
    read = table.cache_info().misses
    kin("cue"), kin("age"), words_for("kin", "term")

    assert table.cache_info().misses == read


def test_the_first_writing_that_has_a_word_decides_how_it_is_written():
    assert MONTH_OF["jan"] == ("english short", 0)
    assert MONTH_OF["mars"] == ("french", 2)
    assert WEEKDAYS[WEEKDAY_OF["miercoles"][0]][2] == "Miércoles"
    assert all(len(words) == 12 for words in MONTHS.values())
    assert all(
        MONTH_OF[word] == number - 1 or MONTH_OF[word][1] == number - 1 for word, number in month_words("name").items()
    )


def test_numbers_in_words_read_back():
    assert all(ordinal(number) == word for word, number in ORDINAL_WORDS.items())
    assert all(cardinal(number) == word for word, number in NUMBER_WORDS.items())
    assert (cardinal(21), ordinal(42, " ")) == ("twenty-one", "forty second")


def test_states_have_one_name():
    assert us_states()["WA"].name == "Washington"
    assert us_states()["MA"].short == "Mass."
    assert {state.code for state in states("word")} >= {"MD", "OR", "IN"}
    assert other_states()["CA-ON"].name == "Ontario"
    assert other_states()["AU-WA"].name == "Western Australia"


def test_patterns_of_words_take_the_longest_first():
    assert alternation(["son", "sons", "son"]) == "sons|son"
    assert with_stops(["M.D.", "MPH"]) == r"M\.?D\.?|MPH"
    assert "M.D." in dotted_credentials("template")
    assert {"pac", "md"} <= credential_keys("cue")
    assert "mother-in-law" in kin("age")

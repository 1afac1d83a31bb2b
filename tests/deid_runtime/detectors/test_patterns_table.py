"""Test the reading of pattern tables: their content, and the errors for a wrong row."""

import re

import pytest

from deid_runtime.detectors.clinical.grammar import GRAMMAR
from deid_runtime.detectors.patterns.parts import expand, load_parts, read_parts, word_parts
from deid_runtime.detectors.patterns.rows import Row, Table
from deid_runtime.detectors.patterns.table import COLUMNS, FAMILIES, load_table, read_rows
from deid_runtime.errors import InputError, SettingsError
from deid_runtime.text.regexes import compiled

HEAD = "\t".join(COLUMNS)
PATTERN = r"tag (?P<value>\d{1,4})\b"


def rows(line: str, head: str = HEAD) -> list[Row]:
    return list(read_rows("numbers.tsv", f"{head}\n# a comment\n\n{line}\n", FAMILIES["numbers"], load_parts()))


def test_a_row_is_read_with_all_that_it_says() -> None:
    [row] = rows(
        "tag\tIDNUM\tweak\tlabel\tdigits 1-3,6; first [2-9]; next [ \\-]\\d|{letter}; before [ a-c]; back 8; rest x"
        "\t(?<!\\w)(?P<value>\\d{1,6})\tat_least 4\ta note"
    )

    assert (row.name, row.label, row.weak, row.labelled) == ("tag", "IDNUM", True, True)
    assert (row.digits, row.first, row.before, row.lookback) == (frozenset({1, 2, 3, 6}), "23456789", " abc", 8)
    assert row.next is not None
    assert row.next.pattern == r"[ \-]\d|[^\W\d_]"
    assert row.rest is not None
    assert row.words == {}
    assert row.check is not None
    verdicts = [row.check(match) for match in map(compiled(row.pattern).match, ("1234", "123")) if match is not None]
    assert verdicts == [True, False]


def test_a_row_that_says_no_place_is_tried_at_its_words() -> None:
    [row] = rows(f"tag\tIDNUM\tsure\tform\t\t{PATTERN}")

    assert list(row.words) == ["tag"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            f"tag\tID\tsure\tform\t\t{PATTERN}",
            "numbers.tsv, line 4, row tag: unknown label 'ID'; expected one of PATIENT",
        ),
        (f"tag\tIDNUM\tsafe\tform\t\t{PATTERN}", "row tag: unknown kind 'safe'; expected one of sure, weak"),
        (f"tag\tIDNUM\tsure\t\t\t{PATTERN}", "row tag: unknown by ''; expected one of label, form"),
        (
            "tag\tIDNUM\tsure\tform\t\ttag (?P<value>\\d",
            "row tag: .* is not a pattern .*; correct it there or in its parts",
        ),
        ("tag\tIDNUM\tsure\tform\t\ttag \\d", "row tag: the pattern has no group .*; write it as"),
        ("tag\tIDNUM\tsure\tform\t\ttag\\s{1,4}(?P<value>\\d)", "matches blank lines"),
        ("tag\tIDNUM\tsure\tform\t\ttag (?P<value>\\d+)", "has an unbounded repeat; write \\{0,20\\} for \\*"),
        ("tag\tIDNUM\tsure\tform\t\t{tags} (?P<value>\\d)", "there is no part \\{tags\\}; add it to parts.tsv"),
        ("tag\tIDNUM\tsure\tform\t\t(?P<value>\\d{3})", "no word is in every match; give the digits"),
        (
            f"tag\tIDNUM\tsure\tform\tback 4\t{PATTERN}",
            "the pattern shows how far before a word a match begins; omit `back`",
        ),
        (f"tag\tIDNUM\tsure\tform\tcode; char [.]\t{PATTERN}", "digits, codes or characters; choose only one"),
        (f"tag\tIDNUM\tsure\tform\tdigit 3\t{PATTERN}", "column at: unknown item 'digit 3'; .* README.md"),
        (f"tag\tIDNUM\tsure\tform\tdigits three\t{PATTERN}", "column at: .*'three'"),
        (f"tag\tIDNUM\tsure\tform\tchar [\\d]\t{PATTERN}", "column at: expected only single characters and ranges"),
        (f"tag\tIDNUM\tsure\tform\tnext [\t{PATTERN}", "row tag: '\\[' is not a pattern"),
        (f"tag\tIDNUM\tsure\tform\t\t{PATTERN}\tis_tag", "there is no check 'is_tag'; expected one of .*at_least 4"),
        (f"tag\tIDNUM\tsure\tform\t\t{PATTERN}\tat_least x", "there is no check 'at_least x'"),
        (f"tag\tIDNUM\tsure\tform\t\t{PATTERN}\t\t\tmore", "9 cells for 8 columns; write a tab within a cell"),
        (f'tag\tIDNUM\tsure\tform\t\t"{PATTERN}"\t\t', "row tag: a cell is in quotes; save the table as text without"),
    ],
)
def test_a_wrong_row_is_named_with_what_to_do(line: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        rows(line)


def test_wrong_columns_are_named() -> None:
    with pytest.raises(SettingsError, match="numbers.tsv, line 1: expected the columns name label kind by at"):
        rows("", head="name\tlabel")


def test_parts_may_name_those_above_them() -> None:
    parts = read_parts(
        "name\tkind\tvalue\tnotes\n"
        "ward\twords\tnorth,northeast,east\n"
        "of\tphrase\t{ward} side of\n"
        "place\tpattern\t{of} \\d{1,2}\n",
        {},
    )

    assert re.fullmatch(parts["ward"], "northeast") is not None
    assert re.fullmatch(parts["place"], "east  side of 12") is not None
    assert re.fullmatch(parts["place"], "east   side of 12") is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a\tpattern\t{b}", "parts.tsv, line 2, row a: there is no part \\{b\\}"),
        ("A\tpattern\tx", "row A: the name must be new"),
        ("letter\tpattern\tx", "row letter: the name must be new"),
        ("a\tregex\tx", "row a: unknown kind 'regex'; expected one of pattern, phrase, words"),
        ("a\tpattern\t(x", "row a: the value is not a pattern"),
    ],
)
def test_a_wrong_part_is_named_with_what_to_do(line: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        read_parts(f"name\tkind\tvalue\tnotes\n{line}\n", word_parts())


def test_repeats_in_braces_are_no_names() -> None:
    assert expand("a{2}{b}{,3}{1,2}", {"b": "c"}, "x") == "a{2}c{,3}{1,2}"


def test_every_check_and_part_is_named_by_some_row() -> None:
    from importlib.resources import files

    folder = files("deid_runtime") / "data" / "patterns"
    tables = {name: (folder / f"{name}.tsv").read_text(encoding="utf-8") for name in (*FAMILIES, "parts")}
    for family, checks in FAMILIES.items():
        lines = tables[family].splitlines()
        assert set(checks) <= {line.split("\t")[6] for line in lines if line.count("\t") > 5}
    everything = "\n".join(tables.values())
    assert [name for name in load_parts() if f"{{{name}}}" not in everything] == []


def test_every_pattern_compiles() -> None:
    for row in load_table().rows:
        assert compiled(row.pattern).groupindex.keys() >= set(row.groups), row.name
    for each in GRAMMAR.rows:
        assert compiled(each.pattern).match("") is None, each.name


def test_names_of_rows_differ() -> None:
    row = load_table().rows[0]

    with pytest.raises(ValueError, match="row names must differ"):
        Table([row, row])


def test_a_text_that_takes_too_long_is_stopped_without_a_word_of_it() -> None:
    slow = Row(
        name="slow",
        label="IDNUM",
        pattern=r"tag (?:a{1,5}){1,30}(?P<value>b)",
    )
    table = Table([slow], seconds_least=0.05, seconds_per_char=0.0)
    text = "tag aaaaaaaaaaaaaaaa " * 2_000

    with pytest.raises(InputError, match=r"took too long at offset \d+ of 42000 characters") as raised:
        table.find(text)

    assert "tag" not in str(raised.value)
    assert raised.value.stage == "patterns"
    assert Table([slow], seconds_least=60).find("tag aaaaaaaaaaaaaaaa " * 20) == []

"""Test the anchor words of pattern rows against texts made from the patterns themselves."""

import random
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import pytest

from deid_runtime.detectors.patterns.anchors import (
    WORD,
    Offsets,
    anchor_words,
    characters,
    has_unbounded_repeat,
    may_cross_blank_line,
)
from deid_runtime.detectors.patterns.rows import Row, Table
from deid_runtime.detectors.patterns.table import load_table
from deid_runtime.text.regexes import compiled
from tests.deid_runtime.detectors.patterns_cases import CASES

parser: Any = import_module("re._parser")
ops: Any = import_module("re._constants")
WORD_ROWS = {row.name: row for row in load_table().rows if row.words}


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"(?:pre-?)?auth(?:ori[sz]e)?\b", "auth authorise authorize pre preauth preauthorise preauthorize"),
        (r"(?i)log-?[io]n:", "log login logon"),
        (r"MRNs?(?![^\W\d_])", "mrn mrns"),
        (r"lot(?=[ :])", "lot"),
        (r"p\.?o\.?box", ""),  # the word may continue: "pobox" is in "poboxes"
        (r"p\.?o\.?box[ ]\d", "p po pobox"),
        (r"(?:mon|tue)s?(?!\w|-\d)", "mon mons tue tues"),
        (r"\w{2,5}: \d", ""),
        (r"\d{3}-\d{4}", ""),
        (r"(?:no|[A-Z]{1,3}) \d", ""),
        (r"(?:(?i:by)(?:(?![^\W\d_])|(?<=[a-z])(?=[A-Z])))[A-Za-z]{2}\d", "by"),
    ],
)  # fmt: skip
def test_words_that_open_a_match(pattern: str, words: str) -> None:
    assert anchor_words(pattern) == {word: Offsets(0, 0) for word in words.split()}


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"(?:the )?(?:fourth|4th) of july\b", {"july": Offsets(7, 14)}),
        (r"[A-Z][a-z]{1,9} (?:Street|Ave)\b", {"street": Offsets(3, 11), "ave": Offsets(3, 11)}),
        (r"[a-z]{1,5}[ ]?(?:\(at\)| at )[ ]?x\.org", {"at": Offsets(2, 7)}),
        (r"(?:will|['’]ll) be \d", {"will": Offsets(0, 0), "ll": Offsets(1, 1)}),
        (r"[A-Z][a-z]{1,9}Street\b", {}),
    ],
)
def test_words_later_in_a_match(pattern: str, words: dict[str, Offsets]) -> None:
    assert anchor_words(pattern) == words


def made(nodes: Sequence[Any], generator: random.Random) -> str:
    """Make a text from a parsed pattern, ignoring its assertions; so not every such text matches."""
    text = ""
    for op, argument in nodes:
        if op is ops.LITERAL:
            text += chr(argument)
        elif op is ops.IN:
            kind, value = generator.choice([item for item in argument if item[0] is not ops.NEGATE])
            if argument[0][0] is ops.NEGATE:
                text += generator.choice("ab1")
            elif kind is ops.RANGE:
                text += chr(generator.randint(*value))
            else:
                text += chr(value) if kind is ops.LITERAL else generator.choice("1234567890")
        elif op is ops.BRANCH:
            text += made(generator.choice(argument[1]), generator)
        elif op is ops.SUBPATTERN:
            text += made(argument[-1], generator)
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
            least, most, body = argument
            for _ in range(generator.randint(least, min(most, least + 2))):
                text += made(body, generator)
        elif op not in (ops.AT, ops.ASSERT, ops.ASSERT_NOT, ops.GROUPREF):
            raise AssertionError(f"unknown node {op}")
    return text


def matches(row: Row, *, tries: int) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield texts that the pattern of a row matches from their start: its own texts and ones made from it."""
    generator = random.Random(row.name)
    good, _ = CASES[row.name]
    texts = [re.sub("[«»]", "", text) for text in good]
    nodes = parser.parse(row.pattern)
    texts += [made(nodes, generator) for _ in range(tries)]
    texts += [text.upper() for text in texts] + [text.lower() for text in texts]
    for text in texts:
        # Assertions at the ends may need some text there, or none.
        for begin, end in (("", ""), ("", " x"), (" ", ", "), ("", ")"), ("x 1 ", "\n"), ("Reno, ", "  ")):
            match = compiled(row.pattern).search(begin + text + end)
            if match is not None:
                yield begin + text + end, match


def places(text: str) -> dict[str, set[int]]:
    """Return where the words of a text begin, whole and at each change of case, as a table searches them."""
    found: dict[str, set[int]] = {}
    for word in WORD.finditer(text):
        letters = word.group()
        found.setdefault(letters.lower(), set()).add(word.start())
        for part in re.finditer("[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[A-Z]+", letters):
            found.setdefault(part.group().lower(), set()).add(word.start() + part.start())
    return found


def begins_in_word(text: str, start: int) -> bool:
    return start > 0 and text[start - 1].isalpha() and text[start].isalpha()


@pytest.mark.parametrize("name", WORD_ROWS)
def test_every_match_of_a_row_has_one_of_its_words(name: str) -> None:
    row, seen = WORD_ROWS[name], 0
    for text, match in matches(row, tries=30):
        if begins_in_word(text, match.start()):
            continue  # no row is tried inside a word
        seen += 1
        found = places(text)
        assert any(
            match.start() + offsets.least <= place <= match.start() + offsets.most
            for word, offsets in row.words.items()
            for place in found.get(word, ())
        ), (text, match.span())

    assert seen


@pytest.mark.parametrize("name", ["record-patient-number", "user-name-labelled", "id-authorization", "age-turning"])
def test_every_word_of_a_row_opens_a_match(name: str) -> None:
    row = WORD_ROWS[name]
    unseen = set(row.words)
    for text, match in matches(row, tries=1_500):
        unseen -= {word for word, found in places(text).items() if found & set(range(match.start(), match.end()))}

    assert unseen == set()


def test_the_words_of_a_row_are_tried_whole_and_by_their_parts() -> None:
    table = Table([Row(name="tag", label="IDNUM", pattern=r"(?i)tag(?:id)?(?:no)?:(?P<value>\d)")])

    found = {text: [(hit.start, hit.end) for hit in table.hits(text)] for text in ("tagid:1", "TagId:1", "MyTagNo:1")}

    assert found == {"tagid:1": [(6, 7)], "TagId:1": [(6, 7)], "MyTagNo:1": [(8, 9)]}


def test_characters_of_a_class() -> None:
    assert characters(r"[a-c_\-]") == "abc_-"
    assert characters("[.]") == "."
    for wrong in (r"[\d]", "ab", "(?=a)"):
        with pytest.raises(ValueError, match="expected"):
            characters(wrong)


def test_repeats_without_bound_are_seen_everywhere() -> None:
    assert not has_unbounded_repeat(r"a{1,3}(?:b?|c{2})(?!d{0,4})")
    for pattern in ("a+", "(?:a|b*)", "(?=x{2,})y", "(?P<value>(?:a?b+){1,2})"):
        assert has_unbounded_repeat(pattern), pattern


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s{1,3}", r"[^a-z]{0,5}", r"\n[ ]?\n", r"(?:\n|x){2}", r"(?s:.){2}", r"(?>\s{2})", r"\W{2,4}+",
        r"(?:a|\s{2})", r"[\x00-\x20]{2}", r"(\s)\1", r"[^\d]\D",
    ],
)  # fmt: skip
def test_a_pattern_of_two_line_ends_may_cross_a_blank_line(pattern):
    assert may_cross_blank_line(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s",
        r"[ \t]{0,9}",
        r"[^\n]{0,9}",
        r".{0,9}",
        r"(?:\n|\s)",
        r"\w{1,9}[^\S\n]{2}",
        r"(-)\1\n",
        r"(?<=\s)\n(?!\s)",
    ],
)
def test_a_pattern_of_one_line_end_never_crosses_a_blank_line(pattern):
    assert not may_cross_blank_line(pattern)

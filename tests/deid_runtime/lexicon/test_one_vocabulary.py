"""Test that months, weekdays, states, credentials and kin words are only in ``data/lexicon``, in no second list.

The source is read, regular expressions included, and so are the other files of ``deid_runtime/data``.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from deid_runtime.lexicon.calendar_words import MONTH_NAMES, SHORT_MONTHS, WEEKDAY_NAMES, weekday_words
from deid_runtime.lexicon.states import states
from deid_runtime.lexicon.tables import table
from deid_runtime.lexicon.vocabulary import credential_keys, kin

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("deid_runtime", "client", "export/deid_export", "benchmarks", "model_repository", "scripts", "docker")
DATA = ROOT / "deid_runtime" / "data"
#: Maps data that is not read to the reason.
NOT_READ = {
    DATA / "lexicon": "the vocabulary itself",
    DATA / "ordinary_words.txt": "words of English that are also names, in any order",
    DATA / "patterns" / "derived.tsv": "derived from the patterns",
    DATA / "surrogates" / "us_towns.tsv": "towns, many of which are named after a state or a month",
}
#: The name, in findings and exceptions, of a list that has one word a line.
COLUMN = "first column"

#: This many words of a kind in one string or collection make a list of that kind.
LEAST = 3
WORDS = {
    "months": frozenset(MONTH_NAMES) | frozenset(SHORT_MONTHS),
    "weekdays": frozenset(WEEKDAY_NAMES) | weekday_words("short"),
    "states": frozenset(state.name.lower() for state in states("find") if " " not in state.name),
    "credentials": credential_keys("cue") - credential_keys("doubtful"),
    # Only relatives: the words with many uses in finding, and those that patterns use. The rest also means others.
    "kin": frozenset(word for word, uses in table("kin", "word", "uses") if len({*uses.split()} - {"address"}) > 5)
    | ({*kin("several"), *kin("subject"), *kin("origin")} - {"baby", "child", "infant", "boys", "girls", "kids"}),
}

#: Maps (file, name that the list is bound to, kind) to the reason for a separate list.
_FEASTS = "names of holidays (Ash Wednesday, Good Friday), none of which is a weekday of its own"
EXCEPTIONS = {
    ("benchmarks/date_shift_attack.py", "_HOLIDAYS", "weekdays"): _FEASTS,
    ("benchmarks/surrogate_date_forms.py", "_MONTHS", "months"): "a measure that shares no code with what it measures",
    (
        "benchmarks/surrogate_date_forms.py",
        "_WEEKDAY",
        "weekdays",
    ): "a measure that shares no code with what it measures",
    ("benchmarks/surrogate_date_forms.py", "length", "months"): "months without a short form, of the same measure",
    **{
        ("benchmarks/surrogate_time_reader.py", name, kind): "a measure that shares no code with what it measures"
        for name, kind in (
            ("_MONTH", "months"),
            ("_MONTHS", "months"),
            ("_WEEKDAY", "weekdays"),
            ("_WEEKDAYS", "weekdays"),
        )
    },
    ("deid_runtime/detectors/patterns/dates_named.py", "_grade_weekday", "weekdays"): "rules for sat, sun, mon, wed",
    ("benchmarks/surrogate_forms.py", "_GENERIC", "kin"): "a measure that shares no code with what it measures",
    ("deid_runtime/data/patterns/parts.tsv", "holidays", "weekdays"): _FEASTS,
    ("deid_runtime/data/patterns/parts.tsv", "holidays_with_day", "kin"): "Mother's Day, Father's Day, Children's Day",
    ("deid_runtime/data/surrogates/given_names.tsv", COLUMN, "months"): "given names: April, June",
    ("deid_runtime/data/surrogates/given_names.tsv", COLUMN, "states"): "given names: Georgia, Virginia",
    (
        "deid_runtime/data/surrogates/kept_facility.txt",
        COLUMN,
        "kin",
    ): "words in names, as in Children's Hospital",
    ("deid_runtime/data/surrogates/not_offered.txt", COLUMN, "months"): "names that are also words, in any order",
    ("deid_runtime/data/surrogates/not_offered.txt", COLUMN, "weekdays"): "names that are also words, in any order",
}


def literals(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (enclosing assignment, function or class, text) of strings and collections, without docstrings."""

    def walk(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            here = name
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                here = child.name
            elif isinstance(child, ast.Assign | ast.AnnAssign):
                target = child.targets[0] if isinstance(child, ast.Assign) else child.target
                here = target.id if isinstance(target, ast.Name) else name
            is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.Constant | ast.JoinedStr | ast.Tuple | ast.List | ast.Set | ast.Dict):
                yield here, " ".join(texts(child))
            if not is_docstring:
                yield from walk(child, here)

    yield from walk(tree, "")


def texts(node: ast.AST) -> Iterator[str]:
    """Yield the strings of a literal; of a collection only its own elements, not those of its calls."""
    if isinstance(node, ast.Constant):
        yield from [node.value] if isinstance(node.value, str) else []
    elif isinstance(node, ast.JoinedStr | ast.Tuple | ast.List | ast.Set | ast.Dict | ast.Starred):
        for child in ast.iter_child_nodes(node):
            yield from texts(child)


def lists_in(source: str) -> set[tuple[str, str]]:
    """Return (name, kind) of the vocabulary lists in Python source."""
    return {
        (name, kind)
        for name, text in literals(ast.parse(source))
        for kind in kinds_in(re.findall(r"[a-z]+", text.lower()))
    }


def kinds_in(words: Iterable[str]) -> set[str]:
    """Return the kinds of which ``words`` are a list."""
    found = set(words)
    return {kind for kind, listed in WORDS.items() if len(listed & found) >= LEAST}


def lists_in_data(text: str) -> set[tuple[str, str]]:
    """Return (first cell of the line, kind) of the lists in the lines of a file of data, without cells for notes.

    A list with one word a line has the name :data:`COLUMN`.
    """
    rows = [line.split("\t") for line in text.lower().splitlines() if line.strip() and not line.startswith("#")]
    last = rows[0].index("notes") if rows and "notes" in rows[0] else None
    found = {(row[0], kind) for row in rows for kind in kinds_in(re.findall(r"[a-z]+", " ".join(row[:last])))}
    return found | {(COLUMN, kind) for kind in kinds_in(row[0] for row in rows)}


@cache
def all_lists() -> set[tuple[str, str, str]]:
    sources = [path for source in SOURCES for path in sorted((ROOT / source).rglob("*.py"))]
    data = [
        path
        for path in sorted(DATA.rglob("*"))
        if path.suffix in (".tsv", ".txt") and not any(path.is_relative_to(each) for each in NOT_READ)
    ]
    return {
        (path.relative_to(ROOT).as_posix(), name, kind)
        for read, paths in ((lists_in, sources), (lists_in_data, data))
        for path in paths
        for name, kind in read(path.read_text(encoding="utf-8"))
    }


def test_no_list_of_the_vocabulary_stands_in_the_source() -> None:
    second = all_lists() - EXCEPTIONS.keys()

    assert not second, (
        f"{sorted(second)}: a second list; take the words from deid_runtime.lexicon (a use of its own in the table, "
        "where the words differ), or name and explain it in EXCEPTIONS"
    )


def test_every_exception_is_still_there() -> None:
    assert EXCEPTIONS.keys() <= all_lists()


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ('X = "jan feb mar apr".split()', "months"),
        ('X = frozenset({"monday", "tuesday", "friday"})', "weekdays"),
        ('X = {"TX": "Texas", "UT": "Utah", "VT": "Vermont"}', "states"),
        ('X = re.compile(rf"(?:MD|RN|NP){Y}")', "credentials"),
        ('X = re.compile(r"(?:mother|father" r"|uncle)")', "kin"),
        ('def X():\n    return word in ("wife", "husband", "son")', "kin"),
        ('X = rf"{Y}(?i:(?:man|woman|mother|father|" r"grandparents)(?!\\w))"', "kin"),
        ('X = re.compile(r"(?:jan(?:uary)?|feb|mar)\\.?")', "months"),
    ],
)
def test_a_second_list_is_seen(source: str, kind: str) -> None:
    assert ("X", kind) in lists_in(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""January, February and March."""',
        'X = (*MONTH_NAMES, "sept")',
        'X = "the mother of the patient"',
    ],
)
def test_sentences_and_single_words_are_none(source: str) -> None:
    assert not lists_in(source)


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("# jan feb mar apr\nmonths\tpattern\t(?:jan|feb|mar)(?!{letter})\n", "months", "months"),
        ("by-credential\tDOCTOR\t(?:RN|LPN|NP)#\n", "by-credential", "credentials"),
        ("age\tAGE\t(?i:sons?|daughter|wife|brother)\n", "age", "kin"),
        ("Ohio\nTexas\nUtah\n", COLUMN, "states"),
        ("name\tpattern\tnotes\nage\tmother|father|son\tmon, tue, wed\n", "age", "kin"),
    ],
)
def test_a_second_list_in_the_data_is_seen(text: str, name: str, kind: str) -> None:
    assert lists_in_data(text) == {(name, kind)}


def test_a_line_that_names_a_part_is_no_list() -> None:
    assert not lists_in_data("# mother, father, son\nage\tAGE\t(?i:{kin}|pt)\n")

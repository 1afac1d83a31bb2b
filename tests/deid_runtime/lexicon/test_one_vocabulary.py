"""Test that months, weekdays, states, credentials and kin words are only in ``data/lexicon``, in no second list."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from deid_runtime.lexicon.calendar_words import MONTH_NAMES, SHORT_MONTHS, WEEKDAY_NAMES, weekday_words
from deid_runtime.lexicon.states import states
from deid_runtime.lexicon.tables import table
from deid_runtime.lexicon.vocabulary import credential_keys

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("deid_runtime", "client", "export/deid_export", "benchmarks", "model_repository", "scripts", "docker")

#: This many words of a kind in one string or collection make a list of that kind.
LEAST = 3
WORDS = {
    "months": frozenset(MONTH_NAMES) | frozenset(SHORT_MONTHS),
    "weekdays": frozenset(WEEKDAY_NAMES) | weekday_words("short"),
    "states": frozenset(state.name.lower() for state in states("find") if " " not in state.name),
    "credentials": credential_keys("cue") - credential_keys("doubtful"),
    # Only relatives: the words with many uses in finding.
    "kin": frozenset(word for word, uses in table("kin", "word", "uses") if len({*uses.split()} - {"address"}) > 5),
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
        for kind, words in WORDS.items()
        if len(words & set(re.findall(r"[a-z]+", text.lower()))) >= LEAST
    }


@cache
def all_lists() -> set[tuple[str, str, str]]:
    return {
        (path.relative_to(ROOT).as_posix(), name, kind)
        for source in SOURCES
        for path in sorted((ROOT / source).rglob("*.py"))
        for name, kind in lists_in(path.read_text(encoding="utf-8"))
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

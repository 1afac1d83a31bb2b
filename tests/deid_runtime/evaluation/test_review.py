import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import OutputError
from deid_runtime.evaluation.errors import judge_tokens
from deid_runtime.evaluation.review import errors_in_context, mask, write_errors
from deid_runtime.evaluation.tokens import TOKEN
from deid_runtime.spans import Span
from tests.commands import read_rows
from tests.deid_runtime.evaluation.test_errors import note, spans_of
from tests.strategies import texts_with_spans

TEXT = "Seen 03/14/2051 by Dr. Okafor-Brill (Quarrybank).\nOKAFOR will call Foley back about the cough"
GOLD = note(TEXT, ("03/14/2051", "DATE"), ("Okafor-Brill", "DOCTOR"), ("Quarrybank", "HOSPITAL"), ("OKAFOR", "DOCTOR"))
FOUND = {"n": spans_of(TEXT, ("03/14/2051", "DATE"), ("Quarrybank", "HOSPITAL"), ("Foley", "PATIENT", "model:name"))}


def test_errors_in_masked_context():
    missed, again, wrong = errors_in_context([GOLD], FOUND, context_words=4)

    assert missed.context == "Seen 99/99/9999 by Dr. [[Xxxxxx-Xxxxx]] (Xxxxxxxxxx)."
    assert (missed.note, missed.error, missed.label, TEXT[missed.start : missed.end]) == (
        "n", "missed", "DOCTOR", "Okafor-Brill",
    )  # fmt: skip
    assert [kind.shape for kind in missed.kinds] == ["Title", "Title"]
    assert again.context == "[[XXXXXX]] will call Xxxxx back"
    assert (wrong.error, wrong.context) == ("wrong", "XXXXXX will call [[Xxxxx]] back about the cough")


def test_context_words_are_counted():
    contexts = [error.context for error in errors_in_context([GOLD], FOUND, context_words=0)]

    assert contexts == ["[[Xxxxxx-Xxxxx]]", "[[XXXXXX]]", "[[Xxxxx]]"]


def test_a_joined_word_counts_and_long_lines_are_cut():
    text = "x " * 1000 + "Age:39Sex:F" + " y" * 1000

    [error] = errors_in_context([note(text, ("39", "AGE"))], {}, context_words=2)

    assert error.context == "x Age:[[99]]Sex:F y"


def test_neighbouring_tokens_of_one_span_are_one_error():
    text = "Ilse Marie Vandermeer Thane"
    gold = note(text, ("Ilse Marie Vandermeer", "PATIENT"), ("Thane", "DOCTOR"))

    errors = list(errors_in_context([gold], {"n": spans_of(text, ("Marie", "PATIENT"))}))

    assert [text[error.start : error.end] for error in errors] == ["Ilse", "Vandermeer", "Thane"]


def test_a_span_over_a_line_end_is_an_error_for_each_line():
    text = "call Ilse\nVandermeer now"

    errors = list(errors_in_context([note(text)], {"n": [Span(5, 20, "PATIENT")]}))

    assert [error.context for error in errors] == ["call [[Xxxx]]", "[[Xxxxxxxxxx]] now"]


@pytest.mark.parametrize(
    ("text", "spans", "masked"),
    [
        ("Åsa Öst, o'Neil", [(0, 3), (9, 15)], "Xxx Öst, x'Xxxx"),
        ("kbw12@mail.example", [(0, 18)], "xxx99@xxxx.xxxxxxx"),
        ("half Lindqvist", [(5, 7)], "half Xxxxxxxxx"),
        ("Okafor and OKAFOR's okafors", [(0, 6)], "Xxxxxx and XXXXXX's okafors"),
        ("J. is not J or j", [(0, 2)], "X. is not J or j"),
        ("漢字 ٣٤ e\u0301", [(0, 8)], "xx 99 xx"),
        ("fever", [], "fever"),
    ],
)
def test_mask(text, spans, masked):
    assert mask(text, [Span(start, end, "PATIENT") for start, end in spans]) == masked


@given(texts_with_spans())
def test_a_mask_keeps_the_length_and_no_letter_of_what_is_touched(case):
    text, spans = case
    masked = mask(text, spans)

    assert len(masked) == len(text)
    for match in TOKEN.finditer(text):
        if any(span.start < match.end() and match.start() < span.end for span in spans):
            assert not set(masked[match.start() : match.end()]) - set("Xx9")


@given(texts_with_spans(), st.data())
def test_every_error_token_is_in_one_error(case, data):
    text, spans = case
    cut = data.draw(st.integers(0, len(spans)))
    gold, found = [AnnotatedNote("n", "", "", text, tuple(sorted(spans[:cut])))], {"n": spans[cut:]}

    errors = list(errors_in_context(gold, found))

    judged = [token for tokens in judge_tokens(gold, found) for token in tokens if token.is_error]
    assert sum(len(error.kinds) for error in errors) == len(judged)
    assert all("\n" not in error.context for error in errors)


def test_file_is_the_owners_alone_and_of_json_lines(tmp_path):
    path = tmp_path / "errors.jsonl"

    count = write_errors(path, errors_in_context([GOLD], FOUND))

    rows = read_rows(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert count == len(rows) == 3
    assert rows[0].keys() == {"note", "error", "start", "end", "label", "kinds", "context"}
    assert rows[0]["kinds"][0]["shape"] == "Title"
    assert not [word for word in ("Okafor", "2051", "Quarrybank", "Foley", "OKAFOR") if word in path.read_text()]


def test_repr_shows_no_context():
    assert "Seen" not in repr(list(errors_in_context([GOLD], FOUND)))


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/stderr", "/dev/null", "-"])
def test_never_to_a_terminal_or_pipe(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(OutputError, match="already exists|never to the terminal"):
        write_errors(type(tmp_path)(name), [])
    assert not list(tmp_path.iterdir())


def test_a_file_that_exists_stays(tmp_path):
    path = tmp_path / "errors.jsonl"
    path.write_text("mine")

    with pytest.raises(OutputError, match="exists"):
        write_errors(path, errors_in_context([GOLD], FOUND))
    with pytest.raises(OutputError, match="cannot be written"):
        write_errors(tmp_path / "gone" / "errors.jsonl", [])
    assert path.read_text() == "mine"

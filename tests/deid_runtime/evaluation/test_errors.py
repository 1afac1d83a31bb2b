import json

import pytest
from hypothesis import given

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.evaluation.errors import NO_SOURCE, Tally, count_errors, judge_tokens
from deid_runtime.evaluation.report import evaluate
from deid_runtime.evaluation.tables import render
from deid_runtime.evaluation.tokens import count_tokens
from deid_runtime.spans import Span
from tests.strategies import texts_with_spans


def spans_of(text, *marked):
    """Return a span for each ``(words, label)``, at the first occurrence of the words after the previous span."""
    spans, at = [], 0
    for words, label, *sources in marked:
        at = text.index(words, at)
        spans.append(Span(at, at + len(words), label, sources=tuple(sources)))
        at += len(words)
    return spans


def note(text, *marked, note_id="n", patient=""):
    return AnnotatedNote(note_id, patient, "", text, tuple(spans_of(text, *marked)))


def gold_kinds(*notes, found=None):
    """Return the kinds of all gold tokens by their text; without ``found`` nothing is found."""
    texts = {number: each.text for number, each in enumerate(notes)}
    tokens, _ = judge_tokens(notes, found or {})
    return [(texts[token.note][token.start : token.end], token.kind) for token in tokens]


@pytest.mark.parametrize(
    ("value", "shapes"),
    [
        ("J. Okafor", ["initial", "Title"]),
        ("okafor VANDERMEER", ["lower", "UPPER"]),
        ("McNair", ["mixed"]),
        ("x", ["lower"]),
        ("漢字", ["uncased"]),
        ("3/14/2051", ["1 digit", "2 digits", "4 digits"]),
        ("507 555", ["3 digits", "3 digits"]),
        ("55944-1234567", ["5-6 digits", "7+ digits"]),
        ("kbw12", ["code", "code"]),
        ("29th", ["code", "code"]),
    ],
)
def test_shape(value, shapes):
    assert [kind.shape for _, kind in gold_kinds(note(f"seen {value} today", (value, "IDNUM")))] == shapes


def test_a_run_with_words_outside_the_span_is_no_code():
    assert [kind.shape for _, kind in gold_kinds(note("Age:39Sex:F", ("39", "AGE")))] == ["2 digits"]


@pytest.mark.parametrize(
    ("found", "extents"),
    [
        ([], ["nothing found", "nothing found"]),
        ([("Ilse Vandermeer", "DOCTOR")], ["found whole", "found whole"]),
        ([("Ilse", "PATIENT")], ["found in part", "found in part"]),
        ([("Vandermeer", "CITY")], ["found in part as another label", "found in part as another label"]),
    ],
)
def test_how_much_of_a_gold_span_was_found(found, extents):
    text = "saw Ilse Vandermeer again"

    gold = gold_kinds(note(text, ("Ilse Vandermeer", "PATIENT")), found={"n": spans_of(text, *found)})

    assert [kind.span for _, kind in gold] == extents


def test_how_a_found_span_lies_to_gold():
    text = "at Quarrybank main entrance, Hope said"
    found = spans_of(text, ("Quarrybank main", "HOSPITAL", "model:organization"), ("Hope", "PATIENT"))

    _, tokens = judge_tokens([note(text, ("Quarrybank", "HOSPITAL"))], {"n": found})

    assert [(token.kind.span, token.is_error, token.kind.source) for token in tokens] == [
        ("in a gold span", False, "model:organization"),
        ("sticks out of a gold span", True, "model:organization"),
        ("no gold in it", True, NO_SOURCE),
    ]


def test_the_same_value_elsewhere_in_gold():
    first = "Okafor called. Lindqvist, ok. Okafor. Thane"
    second = "thane LINDQVIST Brill"
    notes = [
        note(first, *[(w, "DOCTOR") for w in ("Okafor", "Lindqvist", "Okafor", "Thane")], note_id="a", patient="p"),
        note(second, *[(w, "DOCTOR") for w in ("thane", "LINDQVIST", "Brill")], note_id="b", patient="p"),
        note("Brill", ("Brill", "DOCTOR"), note_id="c", patient="other"),
    ]
    found = {"a": spans_of(first, ("Okafor", "DOCTOR")), "b": spans_of(second, ("LINDQVIST", "DOCTOR"))}

    kinds = [kind.elsewhere for _, kind in gold_kinds(*notes, found=found)]

    assert kinds == [
        "missed each time",  # the found Okafor: its other mention was not found
        "found in the patient",
        "found in the note",
        "missed each time",
        "missed each time",
        "missed each time",
        "nowhere else",
        "nowhere else",
    ]


def test_what_says_little_alone_is_compared_by_the_whole_span():
    text = "J. Okafor, J. Thane, J. Okafor"
    marked = [("J. Okafor", "DOCTOR"), ("J. Thane", "DOCTOR"), ("J. Okafor", "DOCTOR")]

    kinds = gold_kinds(note(text, *marked), found={"n": spans_of(text, ("J. Okafor", "DOCTOR"))})

    assert [kind.elsewhere for token, kind in kinds if token == "J"] == [
        "missed each time", "nowhere else", "found in the note",
    ]  # fmt: skip


def test_the_same_value_elsewhere_of_found_tokens():
    first = "Dr. Glasgow: Glasgow score 6. Foley in. Babinski. Foley out"
    notes = [note(first, ("Glasgow", "DOCTOR"), note_id="a", patient="p"),
             note("Glasgow score", note_id="b", patient="p")]  # fmt: skip
    found = {
        "a": spans_of(
            first, ("Glasgow", "DOCTOR"), ("Glasgow", "DOCTOR"), ("Foley", "DEVICE"), ("Babinski", "DOCTOR"),
            ("Foley", "DEVICE"),
        ),
        "b": [Span(0, 7, "DOCTOR")],
    }  # fmt: skip

    _, tokens = judge_tokens(notes, found)

    assert [token.kind.elsewhere for token in tokens] == [
        "found again", "gold in the note", "found again", "nowhere else", "found again", "gold in the patient",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "value", "place"),
    [
        ("  ** Okafor **", "Okafor", "alone"),
        ("PCP: Okafor, clinic", "Okafor", "after a label"),
        ('MRN # "4417829" verified', "4417829", "after a label"),
        ("saw Okafor: improved", "Okafor", "running text"),
        ("a\tOkafor\tb", "Okafor", "table"),
        ("BP 120    Okafor    ok", "Okafor", "table"),
        ("1 | Okafor | ok", "Okafor", "table"),
        ("name   Okafor said", "Okafor", "running text"),
    ],
)
def test_place_in_the_line(line, value, place):
    [(_, kind), *_] = gold_kinds(note(f"first\n{line}\nlast", (value, "DOCTOR")))

    assert kind.line == place


@pytest.mark.parametrize(
    ("row", "rows", "part"),
    [
        (1, 3, "short note"),
        (4, 20, "first lines"),
        (5, 20, "body"),
        (14, 20, "body"),
        (15, 20, "last lines"),
    ],
)
def test_part_of_the_note_goes_by_lines_that_are_not_blank(row, rows, part):
    lines = [f"Okafor{row}" if number == row else "stable" for number in range(rows)]

    [(_, kind), *_] = gold_kinds(note("\r\n \n\t\r\n".join(lines), (f"Okafor{row}", "DOCTOR")))

    assert kind.part == part


@pytest.mark.parametrize(("filler", "length"), [(0, "1-20"), (20, "21-80"), (100, "81-200"), (300, "over 200")])
def test_length_of_the_line(filler, length):
    [(_, kind)] = gold_kinds(note("x\n" + "Okafor " + "." * filler, ("Okafor", "DOCTOR")))

    assert kind.length == length


def test_table():
    text = "Okafor, Thane and Brill saw Foley"
    gold = note(text, ("Okafor", "DOCTOR"), ("Thane", "DOCTOR"), ("Brill", "PATIENT"))
    found = spans_of(text, ("Brill", "DOCTOR"), ("Foley", "DOCTOR", "pattern", "model:name"))

    errors = count_errors([gold], {"n": found})

    assert errors.missed.total == Tally(2, 3)
    assert errors.missed.aspects["shape"] == {"Title": Tally(2, 3)}
    assert errors.missed.aspects["span"] == {"nothing found": Tally(2, 2), "found whole": Tally(0, 1)}
    assert "source" not in errors.missed.aspects
    assert errors.wrong.aspects["source"] == {"pattern + model:name": Tally(1, 1), NO_SOURCE: Tally(0, 1)}
    assert [(str(kind), count) for kind, count in errors.missed.kinds.items()] == [
        ("DOCTOR | Title | nothing found | nowhere else | running text | short note | 21-80", 2)
    ]
    assert errors.relabelled == {"PATIENT as DOCTOR": 1}


def test_kinds_come_most_frequent_first():
    text = "Okafor\n912\nThane"

    kinds = count_errors([note(text, ("Okafor", "CITY"), ("912", "ZIP"), ("Thane", "CITY"))], {}).missed.kinds

    assert list(kinds.values()) == [2, 1]


def test_a_found_span_behind_the_text_is_an_error():
    with pytest.raises(InputError, match="ends after a text of 4"):
        count_errors([AnnotatedNote("n", "", "", "abcd", ())], {"n": [Span(0, 5, "CITY")]})


@given(texts_with_spans(), texts_with_spans())
def test_totals_are_those_of_the_scores(marked, other):
    text, spans = marked
    found = [span for span in other[1] if span.end <= len(text)]
    gold = [AnnotatedNote("n", "", "", text, tuple(sorted(spans)))]

    counts, errors = count_tokens(gold, {"n": found}), count_errors(gold, {"n": found})

    assert errors.missed.total == Tally(counts.missed.sum(), counts.missed.sum() + counts.hit.sum())
    assert errors.wrong.total == Tally(counts.wrong.sum(), counts.wrong.sum() + counts.right.sum())
    for table in (errors.missed, errors.wrong):
        assert sum(table.kinds.values()) == table.total.errors
        for tallies in table.aspects.values():
            assert sum(tally.tokens for tally in tallies.values()) == table.total.tokens


def test_report_shows_kinds_without_text():
    text = "Okafor, 2051, seen with Thane"
    gold = [note(text, ("Okafor", "DOCTOR"), ("2051", "DATE"))]
    report = evaluate(gold, {"n": spans_of(text, ("Thane", "CITY", "model:location"))}, bootstrap_resamples=10)

    shown, value = render(report), json.loads(json.dumps(report.to_json()))

    assert "     1  DATE | 4 digits | nothing found | running text" in shown
    assert "     1  CITY | model:location | Title | no gold in it | running text" in shown
    assert value["errors"]["missed"]["aspects"]["shape"]["4 digits"] == {"errors": 1, "tokens": 1, "share": 1.0}
    assert value["errors"]["wrong"]["total"] == {"errors": 1, "tokens": 1, "share": 1.0}
    assert not [
        word for word in ("Okafor", "2051", "Thane", "seen") if word in shown + json.dumps(value) + repr(report)
    ]

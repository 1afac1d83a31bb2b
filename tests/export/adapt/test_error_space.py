"""Test which sentences are errors, of which heads, and which excerpts are learnt with them."""

from pathlib import Path

import pytest

from deid_export.adapt.error_space import ErrorSpace, excerpts, find_errors, read_errors, with_variants, write_errors
from deid_export.adapt.registry import ErrorCounts
from deid_export.data.gazetteers import load_gazetteers
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.tagged import parse_tagged
from deid_runtime.errors import InputError, SourceError
from deid_runtime.spans import Span
from tests.export.letters import letter_ensemble
from tests.export.lists import write_lists

MARKED = (
    "the patient slept well.\n"
    "<PATIENT>quist</PATIENT> and <DOCTOR>orr</DOCTOR> spoke for a while.\n"
    "seen on <DATE>3/14/2019</DATE> in the ward.\n"
    "works at <HOSPITAL>xylo</HOSPITAL> nowadays.\n"
    "zabu was given twice.\n"
    "all of it went well.\n"
)


def note(marked: str = MARKED, note_id: str = "n1") -> AnnotatedNote:
    text, spans = parse_tagged(marked)
    return AnnotatedNote(note_id, "p1", "", text, spans)


def errors_of(*notes: AnnotatedNote) -> ErrorSpace:
    # Finds quist and the hospital (as a name), misses orr and the date, and takes zabu for a name.
    with letter_ensemble({"name@v0": {"q": 0.9, "x": 0.9, "z": 0.9}}) as ensemble:
        return find_errors(ensemble, [(0, each) for each in notes])


def line_of(space: ErrorSpace, at: int) -> str:
    return note().text[space.sentences[at].start : space.sentences[at].end].strip()


def test_errors_of_the_heads_and_of_the_whole_are_told_apart() -> None:
    space = errors_of(note())

    assert space.by_head["name"] == ErrorCounts(missed=1, wrong=1, ensemble_missed=1, ensemble_wrong=1, sentences=2)
    # The rules find the date that its head misses: an error of the head only. The date has five words.
    assert space.by_head["identifier"] == ErrorCounts(missed=5, sentences=1)
    # The name head finds a word with a gold label of another head: no error of this head or of the ensemble.
    assert space.by_head["organization"] == ErrorCounts(missed=1, sentences=1)
    assert space.by_head["location"] == ErrorCounts()
    assert [(line_of(space, at).split()[0], s.heads, s.by_ensemble) for at, s in enumerate(space.sentences)] == [
        ("quist", ("name",), True),
        ("seen", ("identifier",), False),
        ("works", ("organization",), False),
        ("zabu", ("name",), True),
    ]


def test_what_rules_alone_get_wrong_is_counted_and_not_learnt() -> None:
    wrong = AnnotatedNote("n2", "", "", "seen on 3/14/2019.", ())  # not annotated, as if it were no identifier
    space = errors_of(wrong)

    assert space.ruled_wrong == 3
    assert space.sentences == ()


def test_a_note_that_cannot_be_processed_is_named_without_its_text() -> None:
    with pytest.raises(InputError, match="note bad: the text has a null character at offset 5"):
        errors_of(AnnotatedNote("bad", "", "", "quist\0", ()))


def test_the_file_of_an_error_space_holds_no_text(tmp_path: Path) -> None:
    space = errors_of(note())
    digest = write_errors(tmp_path / "rounds" / "1.jsonl", space.sentences)
    stored = (tmp_path / "rounds" / "1.jsonl").read_text()

    assert read_errors(tmp_path / "rounds" / "1.jsonl", digest) == list(space.sentences)
    assert not any(word in stored for word in ("quist", "orr", "zabu", "ward", "2019"))
    with pytest.raises(SourceError, match="not the file that the registry names"):
        read_errors(tmp_path / "rounds" / "1.jsonl", "0")


def taken(neighbours: int, heads: tuple[str, ...] = ("name",), **changes: int) -> list[AnnotatedNote]:
    times = {"repeat": 1, "ensemble_repeat": 1} | changes
    return excerpts([(0, note())], errors_of(note()).sentences, heads=heads, neighbours=neighbours, **times)


def test_excerpts_keep_their_neighbours_and_their_spans() -> None:
    first, second = taken(0)

    assert first.text == "quist and orr spoke for a while.\n"
    assert [(span.label, first.text[span.start : span.end]) for span in first.spans] == [
        ("PATIENT", "quist"), ("DOCTOR", "orr"),
    ]  # fmt: skip
    assert second.text == "zabu was given twice.\n"
    assert second.spans == ()


def test_excerpts_that_meet_are_one() -> None:
    [whole] = taken(2)

    assert (whole.text, whole.spans) == (note().text, note().spans)


def test_what_the_whole_ensemble_gets_wrong_comes_more_often() -> None:
    names = taken(0, repeat=2, ensemble_repeat=3)
    both = taken(0, ("name", "identifier"), repeat=2, ensemble_repeat=3)

    assert [excerpt.text.split()[0] for excerpt in names] == ["quist"] * 3 + ["zabu"] * 3
    assert [excerpt.text.split()[0] for excerpt in both] == ["quist"] * 3 + ["seen"] * 2 + ["zabu"] * 3


def test_no_span_is_cut() -> None:
    wide = AnnotatedNote("n", "", "", "it was quist\nand orr on the phone.\nfine.", (Span(7, 20, "ORGANIZATION"),))
    with letter_ensemble({"organization@v0": {"o": 0.9}}) as ensemble:  # misses only the first line
        space = find_errors(ensemble, [(0, wide)])
    [sentence] = (s for s in space.sentences if s.start == 0)
    [excerpt] = excerpts([(0, wide)], [sentence], heads=["organization"], neighbours=0, repeat=1, ensemble_repeat=1)

    assert excerpt.text == "it was quist\nand orr on the phone.\n"
    assert excerpt.spans == wide.spans


def test_no_span_is_cut_by_what_another_makes_longer() -> None:
    text = "seen at xylo\ngeneral, sent by dr. ann\nquist to the clinic.\nzabu helps."
    chained = AnnotatedNote("n", "", "", text, (Span(8, 20, "HOSPITAL"), Span(34, 43, "DOCTOR")))
    with letter_ensemble({"name@v0": {"z": 0.9}}) as ensemble:
        space = find_errors(ensemble, [(0, chained)])
    wrong = [sentence for sentence in space.sentences if text[sentence.start :].startswith("zabu")]
    [excerpt] = excerpts([(0, chained)], wrong, heads=["name"], neighbours=1, repeat=1, ensemble_repeat=1)

    assert excerpt.text == text
    assert excerpt.spans == chained.spans


def test_variants_are_drawn_again_alike_and_their_errors_are_found_in_them(tmp_path: Path) -> None:
    lists = load_gazetteers(write_lists(tmp_path / "lists"))
    drawn = list(with_variants([note()], 2, lists, seed=5))

    assert [number for number, _ in drawn] == [0, 1, 2]
    assert drawn[0][1] == note()
    assert drawn == list(with_variants([note()], 2, lists, seed=5))
    assert drawn[1][1].text != drawn[2][1].text
    with letter_ensemble({}) as ensemble:
        space = find_errors(ensemble, drawn)
    found = excerpts(drawn, space.sentences, heads=["name"], neighbours=0, repeat=1, ensemble_repeat=1)
    assert {sentence.variant for sentence in space.sentences} == {0, 1, 2}
    assert all({span.label for span in each.spans} == {"PATIENT", "DOCTOR"} for each in found)


def test_excerpts_of_texts_that_are_not_there_are_passed_over() -> None:
    assert excerpts([], errors_of(note()).sentences, heads=["name"], neighbours=1, repeat=1, ensemble_repeat=1) == []

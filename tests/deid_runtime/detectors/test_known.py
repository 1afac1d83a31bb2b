"""Test that additions of a site to the lists change nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from deid_runtime.detectors.inclusion import load_inclusion
from deid_runtime.detectors.known import KnownLines, sentences_to_read
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.templates import load_templates
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Detected
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, Span
from deid_runtime.text.sentences import split_sentences

PACKAGED = KnownLines(load_inclusion(None, screen=find_patterns), load_templates(None))
CLEAN = "The wound edges were dry and clean."
TEXT = (
    f"Katya Ostrowe was seen with her sister Wenda.\n{CLEAN}\nNo known drug allergies.\n"
    f"Dictated by Corin Halloway at Elm Grove Clinic.\n{CLEAN}\n"
) * 4


def found(text: str, settings: Settings) -> list[Span]:
    with load_pipeline(settings, key=None, records={}) as pipeline:
        [outcome] = pipeline.detect([Note("n", text)])
    assert isinstance(outcome, Detected)
    return list(outcome.spans)


@pytest.fixture
def with_line(tmp_path: Path) -> Settings:
    path = tmp_path / "inclusion.txt"
    path.write_text(f"No known drug allergies.\n{CLEAN}\n", encoding="utf-8")
    return Settings(inclusion=path)


def test_a_line_that_is_added_changes_nothing_around_it(with_line: Settings) -> None:
    spans = found(TEXT, with_line)

    assert spans == found(TEXT, Settings())
    assert {TEXT[span.start : span.end] for span in spans} >= {"Katya Ostrowe", "Corin Halloway"}


def test_models_read_what_a_site_explains_and_are_not_asked_of_it() -> None:
    sentences = split_sentences(TEXT)
    words = [TEXT[each.start : each.end].strip() for each in sentences]
    unexplained = [
        each for each, text in zip(sentences, words, strict=True) if text != CLEAN and not PACKAGED.explain(text)
    ]

    read = sentences_to_read(TEXT, sentences, unexplained, PACKAGED)

    assert [TEXT[each.start : each.end].strip() for each in read if each.is_known] == [CLEAN] * 8
    assert [each for each in read if not each.is_known] == unexplained
    assert len(read) == len(sentences) - words.count("No known drug allergies.")


def test_without_lines_of_a_site_the_unexplained_are_read() -> None:
    sentences = split_sentences(TEXT)

    assert sentences_to_read(TEXT, sentences, sentences[:2], None) == sentences[:2]
    assert sentences_to_read(TEXT, sentences, sentences, PACKAGED) == sentences
    assert [replace(each, is_known=False) for each in sentences] == sentences

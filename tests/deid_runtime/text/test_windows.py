"""Test that windows hold every word of every sentence, fit the model, and depend only on the text."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from deid_runtime.lexicon.word_codes import UNLISTED, word_class
from deid_runtime.spans import Sentence
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import WINDOW_TOKENS, Window, WordEncoder, make_windows
from deid_runtime.text.words import SHAPE_TYPE_COUNT, split_words, without_class
from tests.strategies import texts


def small_tokenizer() -> Tokenizer:
    """Return a real WordPiece tokenizer whose tokens are letters, so that long words make many tokens."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,:;/-()'#"
    names = ["[PAD]", "[unused1]", "[unused2]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{c}" for c in letters)]
    tokenizer = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


ENCODER = WordEncoder(small_tokenizer())


def windows_of(text: str, sentences: Sequence[Sentence] | None = None) -> list[Window]:
    chosen = split_sentences(text) if sentences is None else sentences
    return list(make_windows(text, chosen, ENCODER, end_at_blank_lines=True))


def test_a_word_of_more_pieces_than_a_window_holds_is_read_by_its_first() -> None:
    word = "q" * (WINDOW_TOKENS + 40)
    [sentence] = [Sentence(0, len(word))]

    windows = windows_of(word, [sentence])

    assert all(len(window.ids) <= WINDOW_TOKENS for window in windows)
    assert windows[0].starts[0] == 0


@given(texts.map(lambda text: text * 6))
def test_every_word_is_in_a_window_that_fits(text: str) -> None:
    windows = windows_of(text)

    words = {word for window in windows for word in zip(window.starts, window.ends, strict=True)}
    assert words == {
        (s.start + a, s.start + b) for s in split_sentences(text) for a, b in split_words(text[s.start : s.end])
    }
    for window in windows:
        assert 2 < len(window.ids) == len(window.types) <= WINDOW_TOKENS
        assert window.ids[0] == ENCODER.cls
        assert window.ids[-1] == ENCODER.sep
        assert len(window.positions) == len(window.starts) == len(window.ends) > 0
        assert window.starts == sorted(window.starts)


def test_neighbouring_lines_share_a_window_with_a_break_between_and_a_blank_line_ends_it() -> None:
    text = "ab\ncd\n\nef"
    first, second = windows_of(text)
    [packed] = make_windows(text, split_sentences(text), ENCODER)

    assert first.ids.count(ENCODER.line_break) == packed.ids.count(ENCODER.line_break) == 1
    assert packed.ids.count(ENCODER.blank_line) == 1
    assert [text[a:b] for a, b in zip(second.starts, second.ends, strict=True)] == ["ef"]
    assert second.ids == windows_of("ef")[0].ids


def test_sentences_left_out_are_not_in_the_windows() -> None:
    text = "one.\ntwo.\nthree."
    sentences = split_sentences(text)
    windows = windows_of(text, [sentences[0], sentences[2]])

    words = [[text[a:b] for a, b in zip(each.starts, each.ends, strict=True)] for each in windows]
    assert words == [["one", "."], ["three", "."]]  # the gap counts as a blank line


@given(texts.map(lambda text: text * 6), st.sets(st.integers(0, 60)))
@example("0" * 63 + "\n" + "0" * 63 + "\n", {0})
def test_what_is_known_changes_nothing_for_the_rest(text: str, known: set[int]) -> None:
    sentences = split_sentences(text)
    marked = [replace(each, is_known=number in known) for number, each in enumerate(sentences)]
    asked = {
        (each.start + a, each.start + b)
        for each in marked
        if not each.is_known
        for a, b in split_words(text[each.start : each.end])
    }

    def rows(windows: Sequence[Window]) -> list[tuple[list[int], list[int], list[tuple[int, int, int]]]]:
        found = [
            (
                each.ids,
                each.types,
                [row for row in zip(each.positions, each.starts, each.ends, strict=True) if row[1:] in asked],
            )
            for each in windows
        ]
        return [row for row in found if row[2]]

    windows = windows_of(text, marked)

    assert rows(windows) == rows(windows_of(text, sentences))
    assert {word for each in windows for word in zip(each.starts, each.ends, strict=True)} == asked


def test_a_window_of_known_sentences_alone_is_left_out() -> None:
    text = "one two.\n" * 80
    sentences = split_sentences(text)
    marked = [replace(each, is_known=number > 0) for number, each in enumerate(sentences)]

    [window] = windows_of(text, marked)

    assert [text[a:b] for a, b in zip(window.starts, window.ends, strict=True)] == ["one", "two", "."]
    assert window.ids == windows_of(text, sentences)[0].ids


def test_a_sentence_too_long_is_cut_into_windows_that_overlap() -> None:
    text = "word " * 200
    first, second, *rest = windows_of(text)

    assert rest
    shared = set(first.starts) & set(second.starts)
    assert len(shared) > 5
    assert {s for w in (first, second, *rest) for s in w.starts} == set(range(0, 1000, 5))


def test_a_note_of_a_megabyte_is_cut_in_bounded_time() -> None:
    text = "abc 12/3 " * 110_000

    assert sum(1 for _ in make_windows(text, split_sentences(text), ENCODER)) > 1_000


def test_words_the_tokenizer_drops_are_unknown_not_lost() -> None:
    [window] = windows_of("a \x01 b")  # a control character, which BERT's normaliser removes

    assert len(window.positions) == 3
    assert ENCODER.unknown in window.ids


@pytest.mark.parametrize("word", ["smith", "Smith"])
def test_encoding_is_cached_by_the_word_as_written(word: str) -> None:
    ids, shape, listed = ENCODER.encode(word)

    assert (ids, shape, listed) == ENCODER.encode(word)
    assert shape == (1 if word[0].isupper() else 0)
    assert listed == word_class("smith") != UNLISTED


def test_models_of_shapes_alone_are_told_of_no_list():
    plain = WordEncoder(small_tokenizer(), word_classes=False)
    [with_classes], [without] = (
        list(make_windows("Dr Smith, 80", split_sentences("Dr Smith, 80"), each)) for each in (ENCODER, plain)
    )

    assert max(without.types) < SHAPE_TYPE_COUNT <= max(with_classes.types)
    assert without.types == [without_class(kind) for kind in with_classes.types]


def test_encoder_from_file(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer = small_tokenizer()
    tokenizer.enable_padding(length=64)
    tokenizer.save(str(path))

    assert len(WordEncoder.from_file(path).encode("ab")[0]) == 2

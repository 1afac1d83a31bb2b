"""Test the CRF features of a word and its neighbours."""

from pathlib import Path

import pytest

from deid_runtime.audit.features import note_features
from deid_runtime.audit.gazetteer import Gazetteer, load_gazetteer, make_gazetteer, save_gazetteer
from deid_runtime.audit.word_tags import sentence_words
from deid_runtime.errors import SourceError


@pytest.fixture(scope="module")
def packaged() -> Gazetteer:
    return make_gazetteer()


def features_of(text: str, word: str, gazetteer: Gazetteer | None = None) -> set[str]:
    sentences = sentence_words(text)
    rows = note_features(text, sentences, gazetteer or Gazetteer({}, 0))
    for words, sentence in zip(sentences, rows, strict=True):
        for start, end, row in zip(words.starts, words.ends, sentence, strict=True):
            if text[start:end] == word:
                return set(row)
    raise AssertionError(word)


TEXT = "Seen 3/14 with\nDr. Orr in   Dell Rapids today"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("Orr", {"0w=orr", "-1w=.", "-2w=dr", "-3w=with", "-4w=00", "1w=in", "4w=today"}, id="unigrams"),
        pytest.param("Orr", {"02=00 with", "32=. orr", "42=orr in", "72=rapids today"}, id="bigrams"),
        pytest.param("Orr", {"33=. orr in", "03=00 with dr"}, id="trigrams"),
        pytest.param(
            "Rapids", {"p2=ra", "p3=rap", "p4=rapi", "s2=ds", "0s3=ids", "s4=pids", "plural"}, id="morphology"
        ),
        pytest.param("Orr", {"0o=title3", "-2o=title2", "before=space", "after=space"}, id="case-and-length"),
        pytest.param("14", {"0o=digits2", "run=0/0", "before=none", "0w=00"}, id="run-between-spaces"),
        pytest.param("Dr", {"before=line", "run=Aa."}, id="line-break"),
        pytest.param("Dell", {"before=gap"}, id="gap"),
        pytest.param("Seen", {"before=start", "32=| seen"}, id="begin-of-note"),
    ],
)
def test_families(word: str, expected: set[str]) -> None:
    assert expected <= features_of(TEXT, word)


def test_the_window_ends_after_four_words() -> None:
    told = features_of("a b c d e f g h i j k", "f")

    assert {"-4w=b", "4w=j"} <= told
    assert not any(feature.startswith(("-5", "5w")) for feature in told)


def test_lists_cover_every_word_of_an_entry(packaged: Gazetteer) -> None:
    told = features_of("from Sioux Falls, South Dakota", "Falls", packaged)

    assert {"0g=city", "2g=state", "3g=state"} <= told


@pytest.mark.parametrize(
    ("word", "kind"),
    [("Robert", "given"), ("Nguyen", "family"), ("MN", "state-code"), ("Walgreens", "brand"), ("May", "ordinary-word"),
     ("Tuesday", "calendar"), ("Dr", "title"), ("Norwegian", "demonym")],
)  # fmt: skip
def test_packaged_lists(packaged: Gazetteer, word: str, kind: str) -> None:
    assert f"0g={kind}" in features_of(f"with {word} now", word, packaged)


def test_further_lists_are_added() -> None:
    larger = make_gazetteer({"hospital-large": ["Elko General Hospital"]})

    assert "0g=hospital-large" in features_of("to Elko General Hospital", "General", larger)
    assert "0g=given" in features_of("with Robert", "Robert", larger)


def test_a_gazetteer_is_read_back_as_it_was(tmp_path: Path, packaged: Gazetteer) -> None:
    save_gazetteer(packaged, tmp_path / "lists.json.gz")

    assert load_gazetteer(tmp_path / "lists.json.gz") == packaged


def test_a_damaged_gazetteer_is_named(tmp_path: Path) -> None:
    (tmp_path / "lists.json.gz").write_bytes(b"no gzip")

    with pytest.raises(SourceError, match=r"lists\.json\.gz is not a saved gazetteer"):
        load_gazetteer(tmp_path / "lists.json.gz")


def test_an_empty_note_has_no_features(packaged: Gazetteer) -> None:
    assert note_features(" \n", sentence_words(" \n"), packaged) == []

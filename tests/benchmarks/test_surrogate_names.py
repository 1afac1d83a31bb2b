"""Test the counts of the benchmark: each must see the fault it exists for, and no other."""

import csv
import gzip
from pathlib import Path

import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.spans import Span
from tests.benchmarks.scripts import load_script

names = load_script("surrogate_names")
lists = load_script("name_lists")
replaced = load_script("surrogates").Replaced


def counted(value: str, made: str, *, public: set[str], abbreviations: set[str] = frozenset()) -> names.Counts:
    note = AnnotatedNote("n", "p", "", value, [Span(0, len(value), "PATIENT")])
    counts = names.Counts()
    listed = lists.Listed(frozenset(public), frozenset(), dict.fromkeys(public, "common"))
    names.count_names([replaced(note, [value], [made])], listed, abbreviations, counts)
    return counts


@pytest.mark.parametrize(
    ("value", "made", "words"),
    [
        ("Smith, John C", "Tucker, Robert M", ["Tucker", "Robert"]),
        ("Dr. Smith Jr.", "Dr. Tucker Jr.", ["Tucker"]),
        ("Anna van Dyk", "Mia van Smit", ["Mia", "Smit"]),
        ("J.S.", "R.T.", []),
        ("JS", "RT", []),
        ("JS Smith", "RT Tucker", ["Tucker"]),
        ("S-O-U-Z-A", "L-E-A-L-O", []),
        ("Mary Smith", "Mary Tucker", ["Tucker"]),
        ("SMITH", "TUCKER", ["TUCKER"]),
        ("mct", "cra", []),  # initials: the original has no vowel
        ("ann", "bea", ["bea"]),
    ],
)
def test_words_that_count(value, made, words):
    assert [word for _, word, _ in names.paired_words(value, made)] == words


def test_a_word_in_no_list_is_counted_by_what_the_original_was():
    counts = counted("John Smyth", "Robert Coattes", public={"john", "robert"})

    words = counts.to_json()["words"]
    assert (words["surrogates"]["count"], words["surrogates"]["of"]) == (1, 2)
    assert words["of listed originals"] == {"count": 0, "of": 1, "share": 0.0}
    assert words["of originals in no list"] == {"count": 1, "of": 1, "share": 1.0}
    assert words["originals"]["share"] == 0.5
    assert counts.to_json()["bands"]["surrogates"]["unlisted"] == 0.5


def test_a_word_of_a_listed_compound_is_listed():
    assert not counted("Min-ji", "Hui-Fen", public={"huifen"}).words["in no list"]
    assert counted("Min-ji", "Hui-Fen", public={"hui"}).words["in no list"] == 1


def test_initials_that_are_abbreviations_are_counted():
    assert counted("JS", "PA", public=set(), abbreviations={"PA"}).initials == {"pairs": 1, "abbreviations": 1}
    assert counted("J.S.", "P.A.", public=set(), abbreviations={"PA"}).initials == {"pairs": 1, "abbreviations": 1}
    assert counted("JS", "RT", public=set(), abbreviations={"PA"}).initials == {"pairs": 1}


def test_public_lists_are_read_with_their_frequency(tmp_path: Path):
    with gzip.open(tmp_path / "surnames_us.csv.gz", "wt", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "rank_1990", "rank_2010"])
        rows.writerows([["Rare", 50_000, ""], ["O'Brien", 400, 300], *([f"N{n}", n + 1_000, ""] for n in range(1_000))])

    listed = lists.read_listed(tmp_path)

    assert [listed.band(form) for form in ("obrien", "n999", "rare", "zqvorb")] == [
        "common",
        "usual",
        "usual",
        "unlisted",
    ]
    assert "first_names_us.csv.gz" in listed.missing
    assert listed.band("nguyen") == "rare"  # in our lists, of no known frequency


def test_the_abbreviations_are_pairs_of_capitals():
    found = lists.read_abbreviations()

    assert {"PA", "MS", "NP", "EP", "VT", "AF"} <= found
    assert not {"JB", "KW"} & found

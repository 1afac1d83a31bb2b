import gzip

import pytest

from deid_export.adapt.harvest.terms import TermList, read_terms
from deid_runtime.errors import SourceError


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("WARFARIN held", True),
        ("no heart-failure today", True),
        ("heart rate, no failure", False),
        ("warfarinised", False),
        ("on it", False),
    ],
)
def test_terms_are_whole_words_in_any_case(sentence, expected):
    assert TermList(["Warfarin", "heart failure", "it"]).is_in(sentence) is expected


def test_lists_are_read_plain_and_packed(tmp_path):
    (tmp_path / "drugs.txt").write_text("# drugs\nwarfarin\n\n", encoding="utf-8")
    (tmp_path / "more.txt.gz").write_bytes(gzip.compress(b"asthma\n"))

    assert len(read_terms([tmp_path / "drugs.txt", tmp_path / "more.txt.gz"])) == 2


@pytest.mark.parametrize(("name", "content"), [("a.txt", b"\xff"), ("a.txt.gz", b"no gzip")])
def test_a_list_that_cannot_be_read_is_named(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(SourceError, match=r"a\.txt"):
        read_terms([tmp_path / name])

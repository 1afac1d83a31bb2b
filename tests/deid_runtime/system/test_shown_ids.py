from hashlib import sha256

import pytest

from deid_runtime.system.shown_ids import looks_like_text, shown_id


@pytest.mark.parametrize(
    "usual",
    [
        "1", "n1", "110-01", "N-OHMJ7E5Q3G546H2S", "ward3/note_17", "a", "Consult", "deadbeef", "a-b", "f" * 64,
        "0f8fad5b-d9cb-469f-a165-70867728950e", "notes.jsonl:17", "2031-05-06T07:08:09Z", "é1",
    ],
)  # fmt: skip
def test_usual_ids_are_shown_as_they_are(usual: str) -> None:
    assert shown_id(usual) == usual


@pytest.mark.parametrize(
    "text",
    [
        "Seen by",
        "Seen\tby",
        "Seen 17",
        "a\u00a0b",
        "Seen_by_Ayodele",
        "Brandt-Ruiz",
        "Brandt,Jo",
        "x" * 65,
        "a\n",
        "a\x07",
        "\u200b1",
    ],
)
def test_ids_that_look_like_text_are_shown_as_a_digest(text: str) -> None:
    assert looks_like_text(text)
    assert shown_id(text) == f"sha256:{sha256(text.encode()).hexdigest()[:16]}"
    assert shown_id(shown_id(text)) == shown_id(text)


def test_an_id_that_cannot_be_written_as_utf8_has_a_digest() -> None:
    assert shown_id("a \ud800").startswith("sha256:")

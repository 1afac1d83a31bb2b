from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.corpus.tagged import parse_header, read_tagged, read_tagged_records, render_tagged
from deid_runtime.errors import InputError, SourceError
from deid_runtime.evaluation import GoldNote
from deid_runtime.spans import Span

_values = st.text("aZ 9.'\"\\é=%", min_size=1, max_size=8)


@given(st.lists(st.tuples(_values, st.sampled_from(["PATIENT", "LOCATION-OTHER", ""])), max_size=6), _values)
def test_what_is_rendered_reads_back(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[str, str]], family: str
) -> None:
    text, spans = "Note: ", []
    for value, label in pieces:
        if label:
            spans.append(Span(len(text), len(text) + len(value), label))
        text += f"{value}|\n-"
    note = GoldNote("P1-1", text, tuple(spans), "P1", "Phone note")
    path = tmp_path_factory.mktemp("tagged") / "P1.txt"

    path.write_text(render_tagged("P1", {"family": family}, [note, note]), encoding="utf-8")

    assert list(read_tagged(path)) == [note, note]
    [record] = read_tagged_records(path)
    assert (record.id, record.fields.get("family", "")) == ("P1", " ".join(family.split()))


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        pytest.param("Alma\nOrr", (Span(0, 8, "PATIENT"),), id="span-over-lines"),
        pytest.param("a\r\nb", (), id="line-end-of-windows"),
        pytest.param("a\n", (), id="empty-line-at-the-end"),
        pytest.param("%% note id=1", (), id="looks-like-a-header"),
        pytest.param("<DATE>x</DATE>", (), id="tags-in-the-text"),
        pytest.param("a\u2028b", (), id="line-separator"),
    ],
)
def test_a_note_that_would_not_read_back_is_refused(text: str, spans: tuple[Span, ...]) -> None:
    with pytest.raises(InputError, match="note n1: tagged text cannot hold it") as error:
        render_tagged("p", {}, [GoldNote("n1", text, spans)])

    assert "Alma" not in str(error.value)


def test_a_broken_header_is_named_by_its_line_without_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text('%% patient id=P1\n%% note id="Halvorsen\n')

    with pytest.raises(SourceError, match=r"a\.txt:2: unbalanced quotes") as error:
        list(read_tagged(tmp_path / "a.txt"))

    assert "Halvorsen" not in str(error.value)
    assert error.value.__cause__ is None


def test_a_header_has_a_kind_and_attributes() -> None:
    assert parse_header('%% note id=P1-1 type="H&P"') == ("note", {"id": "P1-1", "type": "H&P"})

"""Test lines in which identifiers stand beside clinical facts of the same form."""

import random
import re

from deid_export.data.contrasts import contrast_lines, contrast_note
from deid_export.data.negatives import carriers
from deid_runtime.labels import LABELS


def test_every_line_has_marks_that_are_well_formed() -> None:
    lines = contrast_lines()

    assert len(lines) > 3_000
    for text, spans in lines:
        assert spans, text
        assert not re.search(r"</?[A-Z-]+>", text), text
        assert all(span.label in LABELS and text[span.start : span.end].strip() for span in spans), text


def test_no_line_is_clean_and_marked() -> None:
    facts = set(carriers()["facts"])

    assert not facts & {text for text, _ in contrast_lines()}


def test_a_note_holds_its_lines_with_their_spans() -> None:
    known = {text: [text[span.start : span.end] for span in spans] for text, spans in contrast_lines()}
    rng = random.Random(3)
    for _ in range(50):
        note = contrast_note(rng)
        held = [line for line in known if line in note.text]
        marked = [note.text[span.start : span.end] for span in note.spans]

        assert held
        assert note.spans == tuple(sorted(note.spans))
        assert all(value in marked for line in held for value in known[line])

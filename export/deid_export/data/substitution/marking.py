"""Mark the identifiers in public prose with rules and models, so that training does not learn them as clean."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from deid_export.data.substitution.prose import is_test_document, read_texts
from deid_runtime.errors import InputError
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.settings import Settings
from deid_runtime.spans import Note

_NOTES_AT_ONCE: Final = 32


def mark(paths: Sequence[Path], out: Path, *, models: Path | None, half: Literal["train", "test"]) -> int:
    """Write one half of the texts of ``paths`` with the spans that the profile ``full`` finds; return their number.

    Texts that the pipeline quarantines are omitted. Raises InputError when all are.
    """
    texts = [text for text in read_texts(paths) if is_test_document(text) == (half == "test")]
    notes = [Note(str(number), text) for number, text in enumerate(texts)]
    count = 0
    with (
        load_pipeline(Settings(models=models, profile="full"), key=None, records={}) as pipeline,
        out.open("w") as file,
    ):
        for first in range(0, len(notes), _NOTES_AT_ONCE):
            part = notes[first : first + _NOTES_AT_ONCE]
            for note, outcome in zip(part, pipeline.detect(part), strict=True):
                if isinstance(outcome, Quarantined):
                    continue
                spans = [
                    {"start": s.start, "end": s.end, "label": s.label, "score": s.score, "sources": list(s.sources)}
                    for s in outcome.spans
                ]
                file.write(json.dumps({"text": note.text, "spans": spans}, ensure_ascii=False) + "\n")
                count += 1
    if not count:
        raise InputError("no text could be marked; expected .jsonl.gz with text or note")
    return count

"""Does a detector find surrogates as often as the originals that they replace?

    python benchmarks/surrogate_detection.py --notes train [--limit 1000] [--margin 0.01]

Method: the annotated notes get surrogates for their *gold* spans, note by note, as ``deid run`` makes them. The
embedded pipeline searches the originals and the new notes, without patient records. Recall is the share of the tokens
of gold spans that are found, under any label; ``equivalence.py`` tests whether both recalls differ by less than
``--margin``, paired by note, by a bootstrap over patients, for all labels together and for each. ``equivalent``: shown
at the level of 5 %; ``not shown``: the difference is too large, or the notes are too few.

Surrogates that are found less often make the output of a second run worse and teach models less; surrogates that are
found more often are easier than life, and a missed original stands out. Models that learnt the originals know them:
take notes that the models have not seen, such as dev, to judge surrogates alone. Ages over 89 become ``90+``, which is
no identifier any more and need not be found.

All notes of patients drawn at random are taken until there are ``--limit``. One thread; results hold counts alone.
"""

import time
from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from drawing import draw_patients, notes_parser
from equivalence import compare_recalls
from measuring import describe_machine, write_results
from surrogates import plain

from deid_export.data.corpus import corpus_digest
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.evaluation.tokens import label_tokens, token_offsets
from deid_runtime.labels import LABELS
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.resynthesis.notes import replace_spans
from deid_runtime.settings import Settings
from deid_runtime.spans import Span
from deid_runtime.surrogates import Surrogates

_KEY: Final = b"a fixed key: the notes are public"[:32]
_BATCH_NOTES: Final = 32
_ALL: Final = "all labels"

IntArray = npt.NDArray[np.int64]


def main() -> None:
    """Replace, search both, test, write the results."""
    parser = notes_parser(__doc__, "surrogate_detection.json")
    parser.add_argument("--limit", type=int, default=1_000, help="notes; 0 for all; time is linear")
    parser.add_argument("--margin", type=float, default=0.01, help="difference of recalls that is allowed")
    options = parser.parse_args()
    machine = describe_machine()
    notes, records = read_annotated(options.notes), read_records(options.notes)
    notes = draw_patients(notes, options.limit, options.seed) if options.limit else notes
    begun = time.process_time()
    surrogates = Surrogates(_KEY)
    made = [replace_spans(note, note.spans, surrogates, records.get(note.patient), ()) for note in notes]
    sides = [count_found(side, find(side, options.profile)) for side in (notes, made)]
    patients = [note.patient or f"\0{note.id}" for note in notes]
    rows: dict[str, Any] = {}
    for place, label in enumerate((_ALL, *LABELS)):
        first, second = (side[:, place] for side in sides)
        tested = compare_recalls(first, second, patients, margin=options.margin, seed=options.seed)
        if tested is not None:
            rows[label] = tested.to_json()
    report(rows)
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "settings": {name: getattr(options, name) for name in ("limit", "margin", "profile", "seed")},
            "notes": len(notes),
            "patients": len(set(patients)),
            "corpus_sha256": corpus_digest(notes),
            "processor_seconds": round(time.process_time() - begun, 1),
            "recall of originals and surrogates": rows,
        },
    )


def find(notes: Sequence[AnnotatedNote], profile: Literal["fast", "full"]) -> list[Sequence[Span]]:
    """Return what the pipeline finds in each note; exit when it holds one back."""
    found: list[Sequence[Span]] = []
    with load_pipeline(Settings(profile=profile), key=None, records={}) as pipeline:
        for start in range(0, len(notes), _BATCH_NOTES):
            for outcome in pipeline.detect([plain(note) for note in notes[start : start + _BATCH_NOTES]]):
                if isinstance(outcome, Quarantined):
                    raise SystemExit(f"a note was quarantined in {outcome.stage}: {outcome.reason}")
                found.append(outcome.spans)
    return found


def count_found(notes: Sequence[AnnotatedNote], found: Sequence[Sequence[Span]]) -> IntArray:
    """Return int64 (notes, 1 + labels, 2): gold tokens that are found, and all, of all labels and of each."""
    counts = np.zeros((len(notes), 1 + len(LABELS), 2), np.int64)
    for row, note, spans in zip(counts, notes, found, strict=True):
        offsets = token_offsets(note.text)
        gold = label_tokens(offsets, note.spans, [LABELS.index(span.label) for span in note.spans])
        is_found = label_tokens(offsets, spans, [0] * len(spans)) >= 0
        for place in range(len(LABELS)):
            is_gold = gold == place
            row[1 + place] = int((is_gold & is_found).sum()), int(is_gold.sum())
        row[0] = row[1:].sum(0)
    return counts


def report(rows: dict[str, Any]) -> None:
    """Print a line for each label."""
    print(f"{'':<17}{'tokens':>8}{'originals':>11}{'surrogates':>12}{'difference':>12}   90 % interval")
    for label, row in rows.items():
        recalls = f"{row['tokens']:>8,}{row['first']:>11.4f}{row['second']:>12.4f}{row['difference']:>+12.4f}"
        verdict = "equivalent" if row["is_equivalent"] else "not shown"
        print(f"{label:<17}{recalls}   {row['low']:+.4f} to {row['high']:+.4f}  {verdict}")


if __name__ == "__main__":
    main()

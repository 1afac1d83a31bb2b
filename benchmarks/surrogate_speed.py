"""How long do surrogates take, for 1,000 words, and as a share of a run?

    python benchmarks/surrogate_speed.py --notes train [--words-notes 1000] [--run-notes 100]

``seconds for 1,000 words``: processor time of ``Surrogates.replacements`` on the *gold* spans of ``--words-notes``
notes, after as many notes to load the lists, one thread. ``share of a run``: the stage ``surrogates`` in the wall-clock
time of all stages of the embedded pipeline, with what it finds by itself in ``--run-notes`` notes (0 skips it). The
share depends on how fast the machine runs the models; the seconds do not.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from drawing import draw_patients, notes_parser
from measuring import describe_machine, write_results
from surrogates import plain

from deid_export.data.corpus import corpus_digest
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.errors import SettingsError
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.records.patients import checked_records
from deid_runtime.settings import Settings
from deid_runtime.spans import PatientRecord
from deid_runtime.surrogates import Surrogates

_KEY: Final = b"a fixed key: the notes are public"[:32]
_BATCH_NOTES: Final = 32


def main() -> None:
    """Measure, print, write the results."""
    parser = notes_parser(__doc__, "surrogate_speed.json")
    parser.add_argument("--words-notes", type=int, default=1_000, help="notes for the seconds for 1,000 words")
    parser.add_argument("--run-notes", type=int, default=100, help="notes for the share of a run; 0 for none")
    options = parser.parse_args()
    machine = describe_machine()
    notes, records = read_annotated(options.notes), read_records(options.notes)
    drawn = draw_patients(notes, 2 * options.words_notes, options.seed)
    results: dict[str, Any] = {"alone": time_surrogates(drawn, records)}
    print(f"{results['alone']['seconds for 1,000 words']:.4f} s for 1,000 words")
    if options.run_notes:
        drawn = draw_patients(notes, options.run_notes, options.seed)
        results["run"] = time_pipeline(drawn, records, options.profile)
        print(f"surrogates take {results['run']['share']:.1%} of the time of {results['run']['notes']} notes")
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "settings": {name: getattr(options, name) for name in ("words_notes", "run_notes", "profile", "seed")},
            "corpus_sha256": corpus_digest(notes),
            "results": results,
        },
    )


def time_surrogates(notes: Sequence[AnnotatedNote], records: Mapping[str, PatientRecord]) -> dict[str, Any]:
    """Return the seconds for the second half of the notes; the first half loads lists and fills caches."""
    surrogates, half = Surrogates(_KEY), len(notes) // 2
    spent = 0.0
    for some in (notes[:half], notes[half:]):
        begun = time.process_time()
        for note in some:
            surrogates.replacements(plain(note), note.spans, records.get(note.patient))
        spent = time.process_time() - begun
    words = sum(len(note.text.split()) for note in notes[half:])
    return {
        "notes": len(notes) - half,
        "words": words,
        "spans": sum(len(note.spans) for note in notes[half:]),
        "seconds": round(spent, 3),
        "seconds for 1,000 words": round(1_000 * spent / words, 5),
    }


def time_pipeline(
    notes: Sequence[AnnotatedNote], records: Mapping[str, PatientRecord], profile: Literal["fast", "full"]
) -> dict[str, Any]:
    """Return the seconds of each stage of the embedded pipeline, and the share of the surrogates."""
    patients = {note.patient for note in notes}
    known = {patient: record for patient, record in records.items() if patient in patients and _is_usable(record)}
    with load_pipeline(Settings(profile=profile), key=_KEY, records=known) as pipeline:
        texts = [plain(note) for note in notes]
        pipeline.deidentify(texts[:_BATCH_NOTES])  # lists and models are loaded on first use
        before = dict(pipeline.stage_seconds)
        for start in range(0, len(texts), _BATCH_NOTES):
            for outcome in pipeline.deidentify(texts[start : start + _BATCH_NOTES]):
                if isinstance(outcome, Quarantined):
                    raise SystemExit(f"a note was quarantined in {outcome.stage}: {outcome.reason}")
        seconds = {stage: spent - before.get(stage, 0.0) for stage, spent in pipeline.stage_seconds.items()}
    return {
        "profile": profile,
        "notes": len(notes),
        "seconds_by_stage": {stage: round(spent, 3) for stage, spent in seconds.items()},
        "share": round(seconds["surrogates"] / sum(seconds.values()), 4),
    }


def _is_usable(record: PatientRecord) -> bool:
    """Say whether the pipeline takes a record: some of the corpus have half a date of birth, as a test of readers."""
    try:
        checked_records({record.id: record})
    except SettingsError:
        return False
    return True


if __name__ == "__main__":
    main()

"""Repeat a run and search each of its notes again (the second look)."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deid_runtime.errors import SettingsError
from deid_runtime.formats.records import Meter, ReadOptions
from deid_runtime.formats.sources import find_inputs
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified, Quarantined
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.run.batches import make_batches
from deid_runtime.run.second_look import Looked, Reason, Verdict, look_again, second_settings
from deid_runtime.run.verify import read_manifest
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, PatientRecord, Span

_BATCH_NOTES: Final = 32
#: Fields of the settings that the manifest of a run has under the same name.
_FROM_MANIFEST: Final = (
    "profile", "operator", "date_shift_days", "date_shift_whole_weeks", "dates", "safe_harbor", "hold_back_unreadable",
    "window_borders",
)  # fmt: skip


@dataclass(slots=True)
class ReleaseVerdicts:
    """The verdicts on the notes of a run. ``missing`` counts released notes that are not in the inputs."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    reasons: Counter[Reason] = field(default_factory=Counter)
    held_back: int = 0
    missing: int = 0

    def add(self, looked: Looked) -> None:
        """Count one note."""
        self.verdicts[looked.verdict] += 1
        self.reasons.update(looked.reasons)

    @property
    def verdict(self) -> Verdict:
        """Return the worst verdict; a released note that is not in the inputs is a FAIL."""
        if self.missing or self.verdicts[Verdict.FAIL]:
            return Verdict.FAIL
        return Verdict.REVIEW if self.verdicts[Verdict.REVIEW] else Verdict.PASS

    def to_json(self) -> dict[str, object]:
        """Return the counts as JSON values."""
        return {
            "verdict": str(self.verdict),
            "notes": {str(verdict): self.verdicts[verdict] for verdict in Verdict},
            "reasons": {str(reason): self.reasons[reason] for reason in Reason if self.reasons[reason]},
            "held_back_by_the_run": self.held_back,
            "released_notes_without_input": self.missing,
        }


def settings_of_run(out: Path, given: Settings) -> tuple[Settings, dict[str, Any]]:
    """Return the settings of the run that wrote ``out``, from its manifest, and the manifest.

    Models and files come from ``given``, because a manifest has only their digests. Raises SettingsError when they are
    not those of the run, and for an output without a manifest.
    """
    manifest = dict(read_manifest(out))
    run = manifest.get("pipeline")
    if manifest.get("task") != "deidentify" or not isinstance(run, dict):
        raise SettingsError(f"{out}: not an output of `deid run`; only de-identified notes can be checked again")
    values = {name: run[name] for name in _FROM_MANIFEST}
    models = run["models"]
    settings = Settings(
        models=given.models,
        models_key=given.models_key,
        trust_models=given.trust_models,
        use_models=models is not None,
        engine=models["engine"] if models else "auto",
        precision=models["precision"] if models else "float32",
        thresholds=models["thresholds"] if models else run["thresholds"],  # those of --recall high, too
        inclusion=given.inclusion,
        templates=given.templates,
        given_date_shifts=given.given_date_shifts,
        **values,
    )
    return settings, manifest


def look_at_run(
    inputs: Sequence[Path],
    out: Path,
    *,
    given: Settings,
    read: ReadOptions,
    key: bytes,
    records: Mapping[str, PatientRecord],
) -> Iterator[Looked | ReleaseVerdicts]:
    """Yield the verdict on each note that was released, and at the end the summary.

    Raises SettingsError when lists, models or records are not those of the run, or when its key is unknown.
    """
    settings, manifest = settings_of_run(out, given)
    released = _digests_by_id(out, read)
    options = manifest["options"]
    summary = ReleaseVerdicts()
    found, _ = find_inputs(inputs, options["format"])
    with (
        load_pipeline(settings, key=key, records=records) as first,
        load_pipeline(second_settings(given), key=None, records=records) as second,
    ):
        _check_same(first.describe(), manifest["pipeline"])
        batches = make_batches(found, read, Meter(), _BATCH_NOTES, whole_patients=options["whole_patients"])
        for batch in batches:
            outcomes = first.deidentify(batch.notes, whole_patients=options["whole_patients"])
            for looked in _look_at_batch(batch.notes, outcomes, second, released, keeps_ids=options["keep_ids"]):
                if looked is None:
                    summary.held_back += 1
                else:
                    summary.add(looked)
                    yield looked
    summary.missing = len(released)
    yield summary


def _look_at_batch(
    notes: Sequence[Note],
    outcomes: Sequence[Deidentified | Quarantined],
    second: Pipeline,
    released: dict[str, bytes],
    *,
    keeps_ids: bool,
) -> Iterator[Looked | None]:
    """Yield the verdict on each note of a batch, None for those that were not released. Empties ``released``."""
    done = [(note, outcome) for note, outcome in zip(notes, outcomes, strict=True) if isinstance(outcome, Deidentified)]
    seen = second.detect([Note(note.id, outcome.text, note.patient, note.type) for note, outcome in done])
    spans = {note.id: found for (note, _), found in zip(done, seen, strict=True)}
    for note, outcome in zip(notes, outcomes, strict=True):
        if isinstance(outcome, Quarantined):
            yield None
            continue
        digest = released.pop(note.id if keeps_ids else outcome.note_pseudonym, None)
        if digest is None:
            yield None  # held back by the run for a reason of its output, such as a kept column
            continue
        yield _looked(note, outcome, spans[note.id], digest)


def _looked(note: Note, outcome: Deidentified, found: object, digest: bytes) -> Looked:
    if digest != _digest(outcome.text):
        return Looked(note.id, {Reason.OTHER_TEXT: 1})
    if isinstance(found, Quarantined):
        return Looked(note.id, {Reason.HELD_BACK: 1})
    spans: Sequence[Span] = found.spans  # type: ignore[attr-defined]
    return look_again(note.text, outcome, spans)


def _digests_by_id(out: Path, read: ReadOptions) -> dict[str, bytes]:
    """Return the digest of each released text by its note id: 32 bytes per note, so that no text is kept."""
    found, _ = find_inputs([out])
    return {
        note.id: _digest(note.text)
        for batch in make_batches(found, read, Meter(), _BATCH_NOTES)
        for note in batch.notes
    }


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _check_same(now: Mapping[str, object], run: Mapping[str, object]) -> None:
    """Raise SettingsError when the lists, models, records or key versions are not those of the run."""
    if now["key_versions"] != run.get("key_versions"):
        raise SettingsError(
            "this version of deid derives other values from a key than the version that made the run (key_versions in "
            "its run report); check the run with the version of deid that made it"
        )
    for name, option in (
        ("inclusion", "--inclusion"),
        ("templates", "--templates"),
        ("patient_records", "--patients"),
        ("models", "--models"),
        ("given_date_shifts", "--given-date-shifts"),
    ):
        if json.dumps(now[name], sort_keys=True, default=str) != json.dumps(run[name], sort_keys=True, default=str):
            raise SettingsError(f"{name} are not those of the run; give the same {option} as in the run")

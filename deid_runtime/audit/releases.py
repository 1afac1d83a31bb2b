"""The audit from files to scores: with leaks planted in annotated notes, or of a release as it is."""

import json
from collections.abc import Sequence
from pathlib import Path

from deid_runtime.annotations.found import read_found
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.audit.attack import AttackSettings, Guesses, attack, candidates
from deid_runtime.audit.plant import Released, plant
from deid_runtime.audit.score import AttackScore, score
from deid_runtime.errors import InputError
from deid_runtime.surrogates import Surrogates
from deid_runtime.system.owner_only import write_owner_only


def audit_planted(
    paths: Sequence[Path], shares: Sequence[float], settings: Sequence[AttackSettings], *, key: bytes, seed: int
) -> list[tuple[str, AttackScore]]:
    """Plant each share of leaks in annotated originals, attack the release in each way, and score it, under a name."""
    notes, records = read_annotated(paths), read_records(paths)
    rows = []
    for share in shares:
        released = plant(notes, records, Surrogates(key), share=share, seed=seed)
        rows += [
            (f"{share:.1%} {each.attacker}", score(released, attack(released, each), seed=seed)) for each in settings
        ]
    return rows


def read_release(paths: Sequence[Path], known: Path | None) -> list[Released]:
    """Read de-identified notes whose spans are their surrogates, and by note id the spans ``known`` to be leaks.

    Raises InputError when a leak overlaps a surrogate or ends behind its text, SourceError for what cannot be read.
    """
    notes = read_annotated(paths)
    leaks = read_found(known) if known else {}
    unknown = leaks.keys() - {note.id for note in notes}
    if unknown:
        raise InputError(f"{len(unknown)} notes with known leaks are not in the release, {min(unknown)} among them")
    released = []
    for note in notes:
        own = tuple(sorted(leaks.get(note.id, ())))
        for leak in own:
            if leak.end > len(note.text) or any(leak.overlaps(span) for span in note.spans):
                raise InputError(
                    f"note {note.id}: the leak [{leak.start}, {leak.end}) overlaps a surrogate or ends behind its "
                    "text; offsets are code points of the released text"
                )
        released.append(Released(note.id, note.patient, note.text, note.spans, own, tuple(range(len(own)))))
    return released


def audit_release(
    released: Sequence[Released], settings: AttackSettings, *, seed: int
) -> tuple[AttackScore, list[Guesses]]:
    """Attack a release; what of the score tells of leaks means something only where some are known."""
    guesses = attack(released, settings)
    return score(released, guesses, seed=seed), guesses


def write_candidates(path: Path, released: Sequence[Released], guesses: Sequence[Guesses]) -> int:
    """Write where leaks are guessed to a new file that its owner alone may read; return how many.

    One JSON object a note that has any: its id, and the stretches as offsets, without text. Raises OutputError when
    there is something at ``path`` already.
    """
    lines, count = [], 0
    for note, made in zip(released, guesses, strict=True):
        found = [{"start": start, "end": end} for start, end in candidates(note, made)]
        if found:
            lines.append(json.dumps({"id": note.id, "candidates": found}, ensure_ascii=False) + "\n")
            count += len(found)
    write_owner_only(path, lines)
    return count

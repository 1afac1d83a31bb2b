"""The audit from files to scores: of annotated notes with planted leaks, or of an existing release."""

import json
from collections.abc import Sequence
from pathlib import Path

from deid_runtime.annotations.found import read_found
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.audit.attack import AttackSettings, Guesses, attack, candidates
from deid_runtime.audit.gate import GateSettings, JudgedAttack, judge
from deid_runtime.audit.plant import Released, plant
from deid_runtime.audit.score import AttackScore, score
from deid_runtime.errors import InputError
from deid_runtime.surrogates import Surrogates
from deid_runtime.system.owner_only import write_owner_only


def audit_planted(
    paths: Sequence[Path], shares: Sequence[float], gate: GateSettings, insider: AttackSettings | None, *, key: bytes
) -> tuple[list[JudgedAttack], list[tuple[str, AttackScore]]]:
    """Plant each share of leaks in annotated notes and attack them.

    Returns the verdicts of the gate, and named scores of the attackers with a tagger: the parrot of the gate, and the
    ``insider`` if it is given.
    """
    notes, records = read_annotated(paths), read_records(paths)
    judged = judge(notes, records, shares, gate, key=key) if gate.attackers else []
    rows = [(f"{each.share:.1%} {each.attacker}", each.score) for each in judged if each.score is not None]
    if insider is not None:
        for share in shares:
            released = plant(notes, records, Surrogates(key), share=share, seed=gate.seed)
            rows.append((f"{share:.1%} insider", score(released, attack(released, insider), seed=gate.seed)))
    return judged, rows


def read_release(paths: Sequence[Path], known: Path | None) -> list[Released]:
    """Read de-identified notes whose spans are their surrogates, and the file ``known`` of known leaks by note id.

    Raises InputError when a leak overlaps a surrogate, ends after the end of its text, or belongs to no note of the
    release. Raises SourceError for files that cannot be read.
    """
    notes = read_annotated(paths)
    leaks = read_found(known) if known else {}
    unknown = leaks.keys() - {note.id for note in notes}
    if unknown:
        raise InputError(f"{len(unknown)} notes with known leaks are not in the release, for example {min(unknown)}")
    released = []
    for note in notes:
        own = tuple(sorted(leaks.get(note.id, ())))
        for leak in own:
            if leak.end > len(note.text) or any(leak.overlaps(span) for span in note.spans):
                raise InputError(
                    f"note {note.id}: the leak [{leak.start}, {leak.end}) overlaps a surrogate or ends after its "
                    "text; offsets are code points of the released text"
                )
        released.append(Released(note.id, note.patient, note.text, note.spans, own, tuple(range(len(own)))))
    return released


def audit_release(
    released: Sequence[Released], settings: AttackSettings, *, seed: int
) -> tuple[AttackScore, list[Guesses]]:
    """Attack a release. The figures on leaks in the score are meaningful only if leaks are known."""
    guesses = attack(released, settings)
    return score(released, guesses, seed=seed), guesses


def write_candidates(path: Path, released: Sequence[Released], guesses: Sequence[Guesses]) -> int:
    """Write the offsets of guessed leaks to a new file that only its owner may read; return their number.

    Each line is a JSON object for a note with guesses: its id and the half-open offsets, without text. Raises
    OutputError when ``path`` exists.
    """
    lines, count = [], 0
    for note, made in zip(released, guesses, strict=True):
        found = [{"start": start, "end": end} for start, end in candidates(note, made)]
        if found:
            lines.append(json.dumps({"id": note.id, "candidates": found}, ensure_ascii=False) + "\n")
            count += len(found)
    write_owner_only(path, lines)
    return count

"""Draw whole patients at random from annotated notes."""

import random
from collections import Counter
from collections.abc import Sequence

from deid_runtime.annotations.note import AnnotatedNote


def draw_patients(notes: Sequence[AnnotatedNote], limit: int, seed: int) -> list[AnnotatedNote]:
    """Return all notes of patients drawn at random, in their order, until there are ``limit`` notes or more."""
    sizes = Counter(note.patient for note in notes)
    patients = sorted(sizes)
    random.Random(f"{seed}-patients").shuffle(patients)
    drawn: set[str] = set()
    total = 0
    for patient in patients:
        if total >= limit:
            break
        drawn.add(patient)
        total += sizes[patient]
    return [note for note in notes if note.patient in drawn]

"""Draw parts of a corpus by whole patients: the notes of one patient must not be in both training and test."""

import random
from collections import defaultdict
from collections.abc import Sequence

from deid_runtime.annotations.note import AnnotatedNote


def batch_of(note: AnnotatedNote) -> str:
    """Return the batch of a note: the part of its id before the first dash, ``T1`` for ``T1-007-2``."""
    return note.id.partition("-")[0]


def nested_subsets(notes: Sequence[AnnotatedNote], shares: Sequence[float], seed: int) -> list[list[AnnotatedNote]]:
    """Return, for each share in (0, 1], the notes of that share of the patients, in their order.

    A smaller subset is part of every larger one with the same ``seed``. Every batch contributes the same share, as far
    as whole patients allow.
    """
    rng = random.Random(f"{seed}-subsets")
    by_batch: defaultdict[str, list[str]] = defaultdict(list)
    for note in notes:
        if note.patient not in by_batch[batch_of(note)]:
            by_batch[batch_of(note)].append(note.patient)
    places: dict[str, float] = {}
    for patients in by_batch.values():
        rng.shuffle(patients)
        places |= {patient: (rank + rng.random()) / len(patients) for rank, patient in enumerate(patients)}
    order = sorted(places, key=places.__getitem__)
    subsets = []
    for share in shares:
        if not 0 < share <= 1:
            raise ValueError(f"share {share}; expected 0 < share <= 1")
        chosen = set(order[: max(1, round(share * len(order)))])
        subsets.append([note for note in notes if note.patient in chosen])
    return subsets


def halves(notes: Sequence[AnnotatedNote], seed: int) -> tuple[list[AnnotatedNote], list[AnnotatedNote]]:
    """Return the notes of half of the patients, drawn by ``seed``, and the notes of the others.

    With an odd number of patients the second half is larger. Raises ValueError for fewer than two patients.
    """
    patients = sorted({note.patient for note in notes})
    if len(patients) < 2:
        raise ValueError(f"{len(patients)} patients; two halves need at least two")
    first = set(random.Random(f"{seed}-halves").sample(patients, len(patients) // 2))
    return [note for note in notes if note.patient in first], [note for note in notes if note.patient not in first]

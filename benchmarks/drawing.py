"""Draw whole patients at random from annotated notes."""

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from measuring import RESULTS

from deid_runtime.annotations.note import AnnotatedNote


def notes_parser(description: str | None, results: str) -> argparse.ArgumentParser:
    """Return a parser with the options of a measurement on drawn notes. ``results`` is the default file name."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, nargs="+", required=True, help="annotated files, or folders of them")
    parser.add_argument("--profile", choices=("fast", "full"), default="fast")
    parser.add_argument("--seed", type=int, default=5, help="of the patients drawn and everything else at random")
    parser.add_argument("--results", type=Path, default=RESULTS / results)
    return parser


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

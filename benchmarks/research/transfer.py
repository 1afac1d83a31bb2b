"""What is lost on notes of another kind, and what does a site gain by adding its own?

    python benchmarks/research/transfer.py --learner crf --notes train --dev dev --work out
    python benchmarks/research/transfer.py --notes train --dev dev --lists lists --negatives clean.jsonl.gz --work out

Method, after Deleger et al. 2014, Table 6: the batches of the corpus, each written by another author for another
purpose, stand for sites. Half of the patients of each batch are held out; every figure of a batch is measured on that
half, so that the figures of one column can be compared. A learner (``learners.py``) is given, of the other halves:

``alone``            that of one batch: its row shows how far it carries to the others
``others``           those of all other batches: what a site gets from a model made elsewhere
``others and own``   all of them, one model for all batches: what annotating its own notes buys

The joint learner sees the same number of tokens each time. Scores are of the learner alone, without rules, over words:
precision, recall and F1 of the union of the heads at threshold 0.5, recall where precision is 0.95, and average
precision. All are measured on dev too. What was trained is kept in ``--work``, and results are written after every
row: run again to go on after an interruption.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learners import add_arguments, make_learner, require_sources

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import RESULTS, describe_machine, write_results
from scores import union_scores

from deid_export.data.corpus import corpus_digest
from deid_export.data.subsets import batch_of, halves
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated

DEV = "dev"
ALL = "all"  # stands for the batch of the model that learnt from all


@dataclass(frozen=True)
class Training:
    """One model to train: ``kind`` as said above, ``batch`` it is about, ``tests`` the names of what to score."""

    kind: str
    batch: str
    notes: list[AnnotatedNote]
    tests: tuple[str, ...]


def main() -> None:
    """Train what is not trained yet, score all, print the tables and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--notes", "--dev"):
        parser.add_argument(name, type=Path, action="append", required=True)
    add_arguments(parser, tokens=400_000)
    parser.add_argument("--batches", nargs="+", help="leave the notes of all others out; default: all there are")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS / "transfer.json")
    options = parser.parse_args()
    require_sources(parser, options)
    machine = describe_machine()
    notes = read_annotated(options.notes)
    found = sorted({batch_of(note) for note in notes}, key=_by_number)
    batches = options.batches or found
    if absent := set(batches) - set(found):
        parser.error(f"--notes hold no note of {', '.join(sorted(absent))}")
    if len(batches) < 2:
        parser.error("--batches: transfer needs at least two")
    notes = [note for note in notes if batch_of(note) in batches]
    own, held = {}, {}
    for batch in batches:
        own[batch], held[batch] = halves([note for note in notes if batch_of(note) == batch], options.seed)
    tests = held | {DEV: read_annotated(options.dev)}
    learner = make_learner(options)
    rows: list[dict[str, Any]] = []
    results = {
        "question": __doc__.splitlines()[0],
        "machine": machine,
        "learner": options.learner,
        "settings": {"batches": batches, "seed": options.seed, "threads": options.threads, **learner.settings},
        "corpus_sha256": {"train": corpus_digest(notes), DEV: corpus_digest(tests[DEV])},
        "tests": {test: size(tested) for test, tested in tests.items()},
        "rows": rows,
    }
    for training in trainings(batches, own):
        name = f"{training.kind}-{training.batch}".replace(" ", "-")
        chosen = {test: tests[test] for test in training.tests}
        words = learner.scores(name, training.notes, chosen, options.seed)
        scores = {test: union_scores(scored) for test, scored in words.items()}
        rows.append({"kind": training.kind, "batch": training.batch, **size(training.notes), "tests": scores})
        recalls = {test: score["recall"] for test, score in scores.items()}
        print(f"{training.kind} {training.batch}: recall {recalls}", flush=True)
        write_results(options.results, results)
    print(f"recall / precision of a model (row) on the held-out half of a batch (column):\n\n{matrix(rows)}\n")
    print(f"on the held-out half of each batch, by what was learnt:\n\n{render(results)}")


def trainings(batches: Sequence[str], own: Mapping[str, Sequence[AnnotatedNote]]) -> Iterator[Training]:
    """Yield all models to train, those that most can be read from first; ``own``: by batch, what is not held out."""
    yield Training("others and own", ALL, [note for batch in batches for note in own[batch]], (*batches, DEV))
    for batch in batches:
        yield Training("alone", batch, [*own[batch]], (*batches, DEV))
    for batch in batches:
        others = [note for other in batches if other != batch for note in own[other]]
        yield Training("others", batch, others, (batch, DEV))


def size(notes: Sequence[AnnotatedNote]) -> dict[str, int]:
    """Count patients, notes and spans."""
    return {
        "patients": len({note.patient for note in notes}),
        "notes": len(notes),
        "spans": sum(len(note.spans) for note in notes),
    }


def matrix(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return recall / precision from each batch to each and to dev, in Markdown."""
    alone = [row for row in rows if row["kind"] == "alone"]
    lines = [["trained on", *alone[0]["tests"]]]
    lines += [[row["batch"], *(_both(score) for score in row["tests"].values())] for row in alone]
    return _table(lines)


def render(results: Mapping[str, Any]) -> str:
    """Return recall / precision of each batch by what was learnt, in Markdown, with the mean over the batches.

    ``another alone`` is the mean over the models of all other batches alone. What an interrupted run has not come to
    is a dash, and so is the mean of its column: over fewer batches it could not be compared with the others.
    """
    by_kind: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in results["rows"]:
        by_kind.setdefault(row["kind"], {})[row["batch"]] = row
    batches = list(by_kind["alone"])
    columns: dict[str, list[Mapping[str, float] | None]] = {
        "another alone": [
            _mean([by_kind["alone"][other]["tests"][batch] for other in batches if other != batch]) for batch in batches
        ],
        "own alone": [by_kind["alone"][batch]["tests"][batch] for batch in batches],
        "others": [by_kind.get("others", {}).get(batch, {}).get("tests", {}).get(batch) for batch in batches],
        "others and own": [by_kind["others and own"][ALL]["tests"][batch] for batch in batches],
    }
    lines = [["batch", "own notes", *columns]]
    for number, batch in enumerate(batches):
        own_notes = str(by_kind["alone"][batch]["notes"])
        lines.append([batch, own_notes, *(_both(column[number]) for column in columns.values())])
    known = ([score for score in column if score] for column in columns.values())
    means = (_mean(scores) if len(scores) == len(batches) else None for scores in known)
    lines.append(["mean", "", *map(_both, means)])
    return _table(lines)


def _by_number(batch: str) -> tuple[str, int]:
    letters = batch.rstrip("0123456789")
    return letters, int(batch[len(letters) :] or 0)


def _both(score: Mapping[str, float] | None) -> str:
    return f"{score['recall']:.3f} / {score['precision']:.3f}" if score else "–"


def _mean(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: statistics.fmean(score[name] for score in scores) for name in ("recall", "precision")}


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:]))


if __name__ == "__main__":
    main()

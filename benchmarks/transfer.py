"""What do models lose on notes of another kind, and what does a site gain by adding its own?

    python benchmarks/transfer.py --notes train --dev dev --lists lists --negatives clean.jsonl.gz --work out

Method, after Deleger et al. 2014, Table 6: the batches of the corpus, each written by another author for another
purpose, stand for sites. Half of the patients of each batch are held out; every figure of a batch is measured on that
half, so that the figures of one column can be compared. Three kinds of models, all trained jointly for the same
number of tokens:

``alone``            the half of one batch that is not held out: its row shows how far it carries to the others
``others``           all notes of all other batches: what a site gets from a model made elsewhere
``others and own``   the same and its own half: what annotating its own notes buys

Scores are of the models alone, without rules, over words: precision, recall and F1 of the union of the heads at
threshold 0.5, and average precision. Every model is measured on dev too. Trained models are kept in ``--work``: run
again to go on after an interruption.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from joint_training import load_trainer
from measuring import RESULTS, describe_machine, write_results
from scores import union_scores

from deid_export.corpus import GoldNote, corpus_digest, read_corpus
from deid_export.scoring import score_words
from deid_export.subsets import batch_of, halves

BATCHES = ("T1", "T2", "T3", "T4", "T5", "T6", "T7")
DEV = "dev"

Score = dict[str, float]


@dataclass(frozen=True)
class Training:
    """One model to train: ``kind`` as said above, ``batch`` it is about, ``tests`` the names of what to score."""

    kind: str
    batch: str
    notes: list[GoldNote]
    tests: tuple[str, ...]


def main() -> None:
    """Train what is not trained yet, score all, print the tables and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--notes", "--dev", "--negatives"):
        parser.add_argument(name, type=Path, action="append", required=True)
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--batches", nargs="+", default=list(BATCHES), help="other notes are left out altogether")
    parser.add_argument("--tokens", type=int, default=400_000, help="of each of three trainings for every batch")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS / "transfer.json")
    options = parser.parse_args()
    if len(options.batches) < 2:
        parser.error("--batches: transfer needs at least two")
    machine = describe_machine()
    notes = [note for note in read_corpus(options.notes) if batch_of(note) in options.batches]
    absent = set(options.batches) - set(map(batch_of, notes))
    if absent:
        parser.error(f"--notes hold no note of {', '.join(sorted(absent))}")
    own, held = {}, {}
    for batch in options.batches:
        own[batch], held[batch] = halves([note for note in notes if batch_of(note) == batch], options.seed)
    tests = held | {DEV: read_corpus(options.dev)}
    trainer = load_trainer(options.work, options.tokens, options.threads, options.lists, options.negatives)
    rows = []
    for training in trainings(options.batches, notes, own):
        model = trainer.model(f"{training.kind}-{training.batch}".replace(" ", "-"), training.notes, options.seed)
        scores = {test: union_scores(score_words(model, tests[test], trainer.encoder)) for test in training.tests}
        rows.append({"kind": training.kind, "batch": training.batch, **size(training.notes), "tests": scores})
        recalls = {test: score["recall"] for test, score in scores.items()}
        print(f"{training.kind} {training.batch}: recall {recalls}", flush=True)
    print(render(rows, options.batches))
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "torch": torch.__version__,
            "settings": {name: getattr(options, name) for name in ("batches", "tokens", "seed", "threads")},
            "corpus_sha256": {"train": corpus_digest(notes), DEV: corpus_digest(tests[DEV])},
            "tests": {test: size(tested) for test, tested in tests.items()},
            "rows": rows,
        },
    )


def trainings(batches: Sequence[str], notes: Sequence[GoldNote], own: dict[str, list[GoldNote]]) -> Iterator[Training]:
    """Yield all models to train; ``own`` is, by batch, the half that is not held out."""
    for batch in batches:
        yield Training("alone", batch, own[batch], (*batches, DEV))
    for batch in batches:
        others = [note for note in notes if batch_of(note) != batch]
        yield Training("others", batch, others, (batch, DEV))
        yield Training("others and own", batch, others + own[batch], (batch, DEV))


def size(notes: Sequence[GoldNote]) -> dict[str, int]:
    """Count patients, notes and spans."""
    return {
        "patients": len({note.patient for note in notes}),
        "notes": len(notes),
        "spans": sum(len(note.spans) for note in notes),
    }


def render(rows: Sequence[dict[str, Any]], batches: Sequence[str]) -> str:
    """Return two tables in Markdown: recall and precision from batch to batch, and what own notes buy."""

    def cell(kind: str, batch: str, test: str) -> str:
        [score] = [row["tests"][test] for row in rows if (row["kind"], row["batch"]) == (kind, batch)]
        return f"{score['recall']:.3f} / {score['precision']:.3f}"

    columns = [*batches, DEV]
    transfer = [[f"{batch} alone", *(cell("alone", batch, test) for test in columns)] for batch in batches]
    gain = [[kind, *(cell(kind, batch, batch) for batch in batches)] for kind in ("alone", "others", "others and own")]
    return "\n\n".join(
        (
            "recall / precision of a model (row) on the held-out half of a batch (column):",
            _table(["trained on", *columns], transfer),
            "on the held-out half of each batch, by what the model was trained on:",
            _table(["trained on", *batches], gain),
        )
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


if __name__ == "__main__":
    main()

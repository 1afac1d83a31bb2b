"""How much does recall still gain from more annotated notes?

    python benchmarks/learning_curve.py --notes train --dev dev --lists lists --negatives clean.jsonl.gz --work out

Method: joint models learn the notes of 10, 25, 50, 75 and 100 % of the training patients, a smaller share being part
of every larger one and every batch giving the same share. All are trained for the same number of tokens from the same
base, with resampling: with fewer notes the model sees each more often, under ever new values. Scores are of the
models alone, without rules, over the words of dev: precision and recall of the union of the heads at
threshold 0.5, recall where precision is 0.95, and average precision. ``--seeds`` repeats all with other patients and
orders, and the plot shows the mean and the range. Trained models are kept in ``--work``: run again to go on after
an interruption.
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from joint_training import load_trainer
from measuring import RESULTS, describe_machine, write_results
from scores import head_scores, union_scores

from deid_export.corpus import corpus_digest, read_corpus
from deid_export.scoring import score_words
from deid_export.subsets import nested_subsets
from deid_runtime.labels import HEADS

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)


def main() -> None:
    """Train what is not trained yet, score all, write the results and the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--notes", "--dev", "--negatives"):
        parser.add_argument(name, type=Path, action="append", required=True)
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=800_000, help="of each training")
    parser.add_argument("--seeds", type=int, nargs="+", default=[5], help="each is one curve; time is linear")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS / "learning_curve.json")
    parser.add_argument("--plot", type=Path, help="picture to write, .svg, .png or .pdf; default: beside the results")
    options = parser.parse_args()
    machine = describe_machine()
    notes, dev = read_corpus(options.notes), read_corpus(options.dev)
    trainer = load_trainer(options.work, options.tokens, options.threads, options.lists, options.negatives)
    rows = []
    for seed in options.seeds:
        for share, subset in zip(SHARES, nested_subsets(notes, SHARES, seed), strict=True):
            words = score_words(trainer.model(f"{share:.2f}-{seed}", subset, seed), dev, trainer.encoder)
            row = {
                "share": share,
                "seed": seed,
                "patients": len({note.patient for note in subset}),
                "notes": len(subset),
                "words": sum(len(note.text.split()) for note in subset),
                "spans": sum(len(note.spans) for note in subset),
                **union_scores(words),
            }
            print(row, flush=True)
            rows.append(row | {"heads": {head: head_scores(words, head) for head in HEADS}})
    results = {
        "question": __doc__.splitlines()[0],
        "machine": machine,
        "torch": torch.__version__,
        "settings": {name: getattr(options, name) for name in ("tokens", "seeds", "threads")},
        "train": {"notes": len(notes), "sha256": corpus_digest(notes)},
        "dev": {"notes": len(dev), "sha256": corpus_digest(dev)},
        "rows": rows,
    }
    write_results(options.results, results)
    plot(rows, options.plot or options.results.with_suffix(".svg"))


def plot(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw scores against the number of training notes: the union of the heads, and the recall of each head."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "deid"  # the same picture for the same figures
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    shown = (("recall", "recall"), ("precision", "precision"), ("average_precision", "average precision"))
    for name, text in shown:
        _line(left, rows, text, [row[name] for row in rows])
    for head in HEADS:
        _line(right, rows, head, [row["heads"][head]["recall"] for row in rows])
    left.set_title("all identifiers, threshold 0.5")
    right.set_title("recall of each head, threshold 0.5")
    left.set_ylabel("on dev, by word, models alone")
    for axes in (left, right):
        axes.set_xlabel("annotated notes in training")
        axes.set_xlim(left=0)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
    print(f"written: {path}")


def _line(axes: Any, rows: Sequence[dict[str, Any]], text: str, values: Sequence[float]) -> None:
    by_share: dict[float, list[float]] = {}
    sizes: dict[float, list[int]] = {}
    for row, value in zip(rows, values, strict=True):
        by_share.setdefault(row["share"], []).append(value)
        sizes.setdefault(row["share"], []).append(row["notes"])
    x = [statistics.fmean(counts) for counts in sizes.values()]
    [line] = axes.plot(
        x, [statistics.fmean(found) for found in by_share.values()], marker="o", markersize=3, label=text
    )
    low, high = [min(found) for found in by_share.values()], [max(found) for found in by_share.values()]
    axes.fill_between(x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)


if __name__ == "__main__":
    main()

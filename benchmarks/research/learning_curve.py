"""How much does recall still gain from more annotated notes?

    python benchmarks/research/learning_curve.py --learner crf --notes train --dev dev --work out
    python benchmarks/research/learning_curve.py --notes train --dev dev --lists lists --negatives clean.gz --work out

Method: a learner (``learners.py``) is given the notes of 10, 25, 50, 75 and 100 % of the training patients, a smaller
share being part of every larger one and every batch giving the same share. ``joint`` learns the same number of tokens
each time, from the same base, with resampling: with fewer notes the model sees each more often, under ever new values.
``crf`` learns until more iterations would hardly change it. Scores are of the learner alone, without rules, over the
words of dev: precision and recall of the union of the heads at threshold 0.5, recall where precision is 0.95, and
average precision. ``--seeds`` repeats all with other patients, and for ``joint`` other orders; the plot shows the mean
and the range. What was trained is kept in ``--work``, and results are written after every row: run again to go on after
an interruption.
"""

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from learners import add_arguments, make_learner, require_sources

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import RESULTS, describe_machine, write_results
from scores import head_scores, union_scores

from deid_export.data.corpus import corpus_digest
from deid_export.data.subsets import nested_subsets
from deid_runtime.annotations.read import read_annotated
from deid_runtime.labels import HEADS

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)


def main() -> None:
    """Train what is not trained yet, score all, write the results and the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--notes", "--dev"):
        parser.add_argument(name, type=Path, action="append", required=True)
    add_arguments(parser, tokens=800_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[5], help="each is one curve; time is linear")
    parser.add_argument("--results", type=Path, default=RESULTS / "learning_curve.json")
    parser.add_argument("--plot", type=Path, help="picture to write, .svg, .png or .pdf; default: beside the results")
    options = parser.parse_args()
    require_sources(parser, options)
    machine = describe_machine()
    notes, dev = read_annotated(options.notes), read_annotated(options.dev)
    learner = make_learner(options)
    rows: list[dict[str, Any]] = []
    results = {
        "question": __doc__.splitlines()[0],
        "machine": machine,
        "learner": options.learner,
        "settings": {"seeds": options.seeds, "threads": options.threads, **learner.settings},
        "train": {"notes": len(notes), "sha256": corpus_digest(notes)},
        "dev": {"notes": len(dev), "sha256": corpus_digest(dev)},
        "rows": rows,
    }
    for seed in options.seeds:
        for share, subset in zip(SHARES, nested_subsets(notes, SHARES, seed), strict=True):
            words = learner.scores(f"{share:.2f}-{seed}", subset, {"dev": dev}, seed)["dev"]
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
            write_results(options.results, results)
    print(render(results))
    plot(rows, options.plot or options.results.with_suffix(".svg"))


def render(results: Mapping[str, Any]) -> str:
    """Return a table in Markdown: means over the seeds, and of recall and F1 the range where there are several."""

    def cell(of_share: Sequence[Mapping[str, Any]], name: str, *, ranged: bool) -> str:
        values = [row[name] for row in of_share]
        spread = f" ({min(values):.3f}-{max(values):.3f})" if ranged and len(set(values)) > 1 else ""
        return f"{statistics.fmean(values):.3f}{spread}"

    rows = results["rows"]
    lines = [
        "| patients | notes | precision | recall | F1 | recall at .95 | average precision |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for share in sorted({row["share"] for row in rows}):
        of_share = [row for row in rows if row["share"] == share]
        counts = [f"{statistics.fmean(row[name] for row in of_share):,.0f}" for name in ("patients", "notes")]
        cells = [
            cell(of_share, name, ranged=name in ("recall", "f1"))
            for name in ("precision", "recall", "f1", "recall_at_floor", "average_precision")
        ]
        lines.append(f"| {' | '.join([*counts, *cells])} |")
    return "\n".join(lines)


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
    left.set_ylabel("on dev, by word, without rules")
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

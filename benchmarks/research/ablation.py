"""What does each choice of the training buy, and what does it cost?

    python benchmarks/research/ablation.py --notes train --dev dev --lists lists --negatives clean.jsonl.gz --work out

Method: one joint model is the reference; every other row changes one thing and is trained with the same tokens and
seed. Rows of k start from the reference and give every head its own upper layers above k shared ones, trained on the
frozen rest. Scores are of the models alone, without rules, over the words of dev: precision and recall of the union of
the heads at threshold 0.5, recall where precision is 0.95, and average precision. Times are of this machine.
Trained models are kept in ``--work``: run again to go on after an interruption.
"""

import argparse
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import RESULTS, describe_machine, write_results
from scores import head_scores, union_scores

from deid_export.data.corpus import corpus_digest
from deid_export.data.gazetteers import load_gazetteers
from deid_export.data.negatives import screened_sentences
from deid_export.model.tagger import load, packaged_base
from deid_export.train.batches import StreamSettings
from deid_export.train.scoring import score_words
from deid_export.train.training import Data, TrainSettings, train
from deid_runtime.annotations.read import read_annotated
from deid_runtime.labels import HEADS
from deid_runtime.text.windows import WordEncoder

TIMED_RUNS = 3


@dataclass(frozen=True)
class Row:
    """One variant: what differs from the reference. ``shared_layers`` None: joint, all layers shared."""

    name: str
    stream: dict[str, Any] = field(default_factory=dict)
    shared_layers: int | None = None


ROWS = (
    Row("reference: joint, windows, shapes, resampling"),
    Row("without resampling", {"resample": False}),
    Row("without word shapes", {"shapes": False}),
    Row("lone sentences", {"lone_sentences": True}),
    Row("heads, k = 5", shared_layers=5),
    Row("heads, k = 4", shared_layers=4),
    Row("heads, k = 3", shared_layers=3),
    Row("heads, k = 0", shared_layers=0),
)


def main() -> None:
    """Train what is not trained yet, score all, write the table."""
    options = parse_arguments()
    machine = describe_machine()
    lists = load_gazetteers(options.lists)
    dev = read_annotated(options.dev)
    data = Data(read_annotated(options.notes), screened_sentences(options.negatives, lists), lists, [])
    encoder = WordEncoder.from_file(Path(packaged_base()) / "tokenizer.json")
    reference = options.work / "0" / "joint.pt"
    rows = []
    for number, row in enumerate(ROWS):
        stream = StreamSettings(seed=options.seed, **row.stream)
        separate = row.shared_layers is not None
        settings = TrainSettings(
            base=packaged_base(),
            joint_tokens=0 if separate else options.tokens,
            head_tokens=options.head_tokens if separate else 0,
            shared_layers=row.shared_layers if row.shared_layers is not None else 5,
            start=reference if separate else None,
            threads=options.threads,
            seed=options.seed,
        )
        out = options.work / str(number)
        trained = train(data, encoder, settings, stream, out)
        model = load(trained if separate else out / "joint.pt")
        times = []
        for _ in range(TIMED_RUNS):
            begun = time.perf_counter()
            words = score_words(model, dev, encoder, stream=stream)
            times.append(time.perf_counter() - begun)
        result = {
            "name": row.name,
            **union_scores(words),
            "heads": {head: head_scores(words, head) for head in HEADS},
            "trained_tokens": options.head_tokens if separate else options.tokens,
            "dev_seconds": round(statistics.median(times), 2),
        }
        rows.append(result)
        print({key: value for key, value in result.items() if key != "heads"}, flush=True)
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "torch": torch.__version__,
            "corpus_sha256": corpus_digest(data.notes),
            "settings": {name: getattr(options, name) for name in ("tokens", "head_tokens", "seed", "threads")},
            "dev_words": len(next(iter(words.gold.values()))),
            "rows": rows,
        },
    )


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--notes", "--dev", "--negatives"):
        parser.add_argument(name, type=Path, action="append", required=True)
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=2_000_000, help="of each joint training")
    parser.add_argument("--head-tokens", type=int, default=400_000, help="of each training of heads")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS / "ablation.json")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""What do int8 weights cost, and what do further versions of every head buy?

    python benchmarks/research/precision_versions.py first/joint.pt second/joint.pt ... --notes N --dev D --work out

Method: models that were trained apart are exported in float32 and in static int8. Each precision is scored with the
first model alone (as profile ``fast``), with the first two, and so on to all (as ``full``: log odds averaged). Scores
are of the models alone, without rules, over the words of dev, by the engine that serves: precision and recall of the
union of the heads at threshold 0.5, recall where precision is 0.95, and average precision. Times are of all dev windows
on one thread, the median of ``--repeats`` runs taken in turn; sizes are of the graphs.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import RESULTS, describe_machine, write_results
from scores import head_scores, score_words, serving_batches, union_scores

from deid_export.data.corpus import corpus_digest
from deid_export.model.tagger import packaged_base
from deid_export.onnx.assemble import assemble, write_manifest
from deid_runtime.annotations.read import read_annotated
from deid_runtime.labels import HEADS
from deid_runtime.models.manifest import read_manifest
from deid_runtime.models.tagger import load_tagger
from deid_runtime.settings import Profile, Settings
from deid_runtime.text.windows import WordEncoder

PRECISIONS = {"float32": False, "int8": True}


def main() -> None:
    """Export, score and time all four, write the table."""
    options = parse_arguments()
    machine = describe_machine()
    notes, dev = read_annotated(options.notes), read_annotated(options.dev)
    tokenizer = Path(packaged_base()) / "tokenizer.json"
    for name, int8 in PRECISIONS.items():
        if not (options.work / name / "manifest.json").is_file():
            assemble(options.trained, tokenizer, notes, options.work / name, int8=int8)
            _profile_each_count(options.work / name)
    counts = range(1, 1 + len(options.trained))
    batches = list(serving_batches(dev, WordEncoder.from_file(tokenizer)))
    taggers = {
        (name, count): load_tagger(
            Settings(models=options.work / name, trust_models=True, profile=cast(Profile, str(count)))
        )
        for name in PRECISIONS
        for count in counts
    }
    seconds: dict[tuple[str, int], list[float]] = {variant: [] for variant in taggers}
    words = {}
    for _ in range(options.repeats + 1):  # the first builds the engine's kernels
        for variant, tagger in taggers.items():
            begun = time.perf_counter()
            words[variant] = score_words(tagger, batches)
            seconds[variant].append(time.perf_counter() - begun)
    sizes = {
        name: [graph.file.stat().st_size for graph in read_manifest(options.work / name).graphs.values()]
        for name in PRECISIONS
    }
    rows = [
        {
            "weights": variant[0],
            "versions": variant[1],
            **union_scores(words[variant]),
            "heads": {head: head_scores(words[variant], head) for head in HEADS},
            "megabytes": round(sum(sizes[variant[0]][: variant[1]]) / 1e6, 1),
            "dev_seconds": round(statistics.median(spent[1:]), 3),
        }
        for variant, spent in seconds.items()
    ]
    for row in rows:
        print({key: value for key, value in row.items() if key != "heads"}, flush=True)
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "engine": next(iter(taggers.values())).manifest["engine"],
            "corpus_sha256": corpus_digest(notes),
            "settings": {"repeats": options.repeats},
            "dev_words": len(next(iter(words.values())).gold["name"]),
            "rows": rows,
        },
    )


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path, nargs="+", help="model files of several trainings")
    for name in ("--notes", "--dev"):
        parser.add_argument(name, type=Path, action="append", required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for the exported graphs")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS / "precision_versions.json")
    return parser.parse_args()


def render(results: Mapping[str, Any]) -> str:
    """Return the table of the results in Markdown; the last column is the time as a multiple of one int8 version's."""
    rows = results["rows"]
    least = next(row["dev_seconds"] for row in rows if row["weights"] == "int8" and row["versions"] == 1)
    lines = ["| weights | versions | precision | recall | recall at .95 | average precision | MB | time |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    lines += [
        f"| {row['weights']} | {row['versions']} | {row['precision']:.3f} | {row['recall']:.3f} "
        f"| {row['recall_at_floor']:.3f} | {row['average_precision']:.4f} | {row['megabytes']:.0f} "
        f"| {row['dev_seconds'] / least:.1f} |"
        for row in rows
    ]
    return "\n".join(lines)


def _profile_each_count(folder: Path) -> None:
    """Replace the profiles of a repository by one for each number of versions, named after it."""
    content = dict(read_manifest(folder).content)
    graphs = list(read_manifest(folder).graphs)
    plain = {"thresholds": dict.fromkeys(HEADS, 0.5)}
    content["profiles"] = {str(n): {"graphs": graphs[:n], **plain} for n in range(1, 1 + len(graphs))}
    write_manifest(folder, content)


if __name__ == "__main__":
    main()

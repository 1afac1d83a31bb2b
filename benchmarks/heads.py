"""What does each head of the graphs that ship say by itself?

    python benchmarks/heads.py --dev dev

Method: every graph of the model repository alone, as the engine serves it, without rules. Scores are over the words of
dev, each head at threshold 0.5: precision, recall, and average precision over all thresholds.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from measuring import RESULTS, describe_file, describe_machine, write_results
from scores import head_scores, score_words

from deid_export.data.corpus import corpus_digest
from deid_export.onnx.assemble import write_manifest
from deid_runtime.annotations.read import read_annotated
from deid_runtime.labels import HEADS
from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.models.tagger import load_tagger
from deid_runtime.settings import Profile, Settings


def main() -> None:
    """Score the heads of every graph, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dev", type=Path, action="append", required=True)
    parser.add_argument("--models", type=Path, help="model repository; default: the one of the package")
    parser.add_argument("--results", type=Path, default=RESULTS / "heads.json")
    options = parser.parse_args()
    machine = describe_machine()
    dev = read_annotated(options.dev)
    models = find_models(options.models)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        alone = _each_graph_alone(models, Path(folder) / "models")
        manifest = read_manifest(alone)
        for graph in manifest.graphs:
            with load_tagger(Settings(models=alone, trust_models=True, profile=cast(Profile, graph))) as tagger:
                words = score_words(tagger, dev)
                engine = tagger.manifest["engine"]
            rows += [{"graph": graph, "head": head, **head_scores(words, head)} for head in HEADS]
    results = {
        "question": __doc__.splitlines()[0],
        "machine": machine,
        "engine": engine,
        "models": describe_file(models / "manifest.json"),
        "dev": {"count": len(dev), "sha256": corpus_digest(dev)},
        "rows": rows,
    }
    print(render(results))
    write_results(options.results, results)


def render(results: Mapping[str, Any]) -> str:
    """Return the table of the results in Markdown: precision and recall by head and graph."""
    cells = {(row["head"], row["graph"]): f"{row['precision']:.3f}, {row['recall']:.3f}" for row in results["rows"]}
    graphs = list(dict.fromkeys(row["graph"] for row in results["rows"]))
    lines = [f"| head | {' | '.join(f'`{graph}`' for graph in graphs)} |", "| --- |" + " --- |" * len(graphs)]
    lines += [f"| {head} | {' | '.join(cells[head, graph] for graph in graphs)} |" for head in HEADS]
    return "\n".join(lines)


def _each_graph_alone(models: Path, copy: Path) -> Path:
    """Return a copy of a model repository in which every graph is a profile of its own."""
    shutil.copytree(models, copy)
    content = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    content["profiles"] = {
        graph: {"graphs": [graph], "thresholds": dict.fromkeys(HEADS, 0.5)} for graph in content["graphs"]
    }
    write_manifest(copy, content)
    return copy


if __name__ == "__main__":
    main()

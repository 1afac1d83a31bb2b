"""Which way from tags to spans: the threshold that serves, or the best sequence?

    python benchmarks/decoding.py --model joint.pt --notes train --dev dev

Method: one model in float32 scores every word of dev; each decoder turns the same scores into spans, head by head.
``threshold`` is what serves (``deid_runtime.models.decoding``), here at 0.5; ``viterbi`` takes the best tag sequence of
a window under the constraints of BIO, ``learned`` adds transition scores counted on the training notes. Token-binary
scores say what is found, strict entity scores whether borders and labels are right. No rules.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from measuring import RESULTS, describe_file, describe_machine, write_results
from numpy.typing import NDArray

from deid_export.model.tagger import load, packaged_base, tags_of
from deid_export.train.batches import window_targets
from deid_export.train.viterbi import constrained, learned, viterbi
from deid_runtime.annotations.read import read_annotated
from deid_runtime.evaluation import evaluate
from deid_runtime.labels import HEADS
from deid_runtime.merging.fusion import fuse_spans
from deid_runtime.models.decoding import decode_words
from deid_runtime.spans import Span
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, WordEncoder, make_windows

Decoder = Callable[
    [str, Window, str, NDArray[np.float32]], list[Span]
]  # text, window, head, probabilities (words, tags)


def main() -> None:
    """Score dev once, decode it in every way, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--notes", type=Path, action="append", required=True, help="to count transitions on")
    parser.add_argument("--dev", type=Path, action="append", required=True)
    parser.add_argument("--results", type=Path, default=RESULTS / "decoding.json")
    options = parser.parse_args()
    machine = describe_machine()
    encoder = WordEncoder.from_file(Path(packaged_base()) / "tokenizer.json")
    model = load(options.model).eval()
    dev = read_annotated(options.dev)
    sequences: dict[str, list[list[int]]] = {head: [] for head in HEADS}
    for note in read_annotated(options.notes):
        for window in make_windows(note.text, split_sentences(note.text), encoder):
            for head, tags in window_targets(window, note.spans, list(HEADS)).items():
                sequences[head].append(tags)
    strict = {head: constrained(tags_of(head)) for head in HEADS}
    counted = {head: learned(tags_of(head), sequences[head]) for head in HEADS}
    decoders: dict[str, Decoder] = {
        "threshold": _threshold,
        "viterbi": lambda text, window, head, values: _viterbi(text, window, head, values, strict[head]),
        "learned": lambda text, window, head, values: _viterbi(text, window, head, values, counted[head]),
    }
    scored = [(note.text, window, _probabilities(model, window)) for note in dev
              for window in make_windows(note.text, split_sentences(note.text), encoder)]  # fmt: skip
    owners = [note.id for note in dev for _ in make_windows(note.text, split_sentences(note.text), encoder)]
    rows = []
    for name, decode in decoders.items():
        begun = time.process_time()
        found: dict[str, list[Span]] = {note.id: [] for note in dev}
        for owner, (text, window, probabilities) in zip(owners, scored, strict=True):
            for head, values in probabilities.items():
                found[owner] += decode(text, window, head, values)
        seconds = time.process_time() - begun
        fused = {note.id: fuse_spans(note.text, found[note.id]) for note in dev}
        report = evaluate(dev, fused, bootstrap_resamples=0)
        tokens, entities = report.groups["C"].tokens, report.entities["strict"].micro
        row = {
            "decoder": name,
            "precision": tokens.precision,
            "recall": tokens.recall,
            "strict_precision": entities.precision,
            "strict_recall": entities.recall,
            "strict_f1": entities.f1,
            "milliseconds_per_window": round(1000 * seconds / len(scored), 3),
        }
        rows.append({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()})
        print(rows[-1])
    write_results(
        options.results,
        {"question": __doc__.splitlines()[0], "machine": machine, "model": describe_file(options.model), "rows": rows},
    )


def _probabilities(model: torch.nn.Module, window: Window) -> dict[str, NDArray[np.float32]]:
    inputs = (torch.tensor([row]) for row in (window.ids, window.types, [1] * len(window.ids)))
    with torch.inference_mode():
        logits = model(*inputs)
    return {head: torch.softmax(row[0].float(), -1).numpy()[window.positions] for head, row in logits.items()}


def _threshold(text: str, window: Window, head: str, values: NDArray[np.float32]) -> list[Span]:
    best, scores = values[:, 1:].argmax(axis=1).tolist(), (1 - values[:, 0]).tolist()
    names = tags_of(head)[1:]
    return decode_words(text, window.starts, window.ends, best, scores, names, 0.5, f"model:{head}")


def _viterbi(
    text: str, window: Window, head: str, values: NDArray[np.float32], transitions: NDArray[np.float64]
) -> list[Span]:
    path = viterbi(np.log(np.clip(values, 1e-9, 1)).astype(np.float64), transitions)
    scores = [float(1 - values[word, 0]) if tag else 0.0 for word, tag in enumerate(path)]
    tags = [max(0, tag - 1) for tag in path]
    names = tags_of(head)[1:]
    return decode_words(text, window.starts, window.ends, tags, scores, names, 1e-6, f"model:{head}")


if __name__ == "__main__":
    main()

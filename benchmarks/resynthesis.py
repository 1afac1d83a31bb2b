"""What does a detector lose that learnt from a resynthesised corpus in place of the originals?

    python benchmarks/resynthesis.py --notes train --dev dev --lists lists --negatives clean.jsonl.gz --work out
    python benchmarks/resynthesis.py --notes train --checks-only

Method, after Deleger et al. 2014: ``--notes`` are resynthesised as ``deid corpus resynthesize`` does it, one joint
model learns the originals and one the new corpus, with the same recipe, seed and number of tokens, and both search the
same untouched ``--dev``: models alone, threshold 0.5, no rules. Scores are token-binary, group C; the difference is
tested by paired approximate randomisation over notes. ``--seeds`` repeats all.

The recipe resamples: it puts fresh values into the spans in every pass, of the originals and of the new corpus alike,
so that little of either corpus's own values is learnt. ``--no-resampling`` learns the values as they stand.

Something of the originals that the checks find left in the new corpus is counted in the results, and hinders nothing
here. Trained models are kept in ``--work``: run again to go on after an interruption.

``--checks-only`` makes the new corpus and checks it, trains nothing, and puts the checks into the results in place of
the old ones. ``checks_of`` says when that was and of which corpus; all else stays as the last training left it, so
``corpus_sha256`` is what the models learnt.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joint_training import load_trainer
from measuring import RESULTS, describe_machine, write_results
from numpy.typing import NDArray

from deid_export.data.corpus import corpus_digest
from deid_export.model.tagger import BranchedTagger, tags_of
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.evaluation import compare, token_binary
from deid_runtime.merging.fusion import fuse_spans
from deid_runtime.models.decoding import decode_words
from deid_runtime.resynthesis.job import read_words
from deid_runtime.resynthesis.notes import resynthesize
from deid_runtime.resynthesis.report import render
from deid_runtime.spans import Span
from deid_runtime.surrogates import Surrogates
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, WordEncoder, make_windows

KEY = b"a fixed key: the notes are public"[:32]
THRESHOLD = 0.5
ALLOWED_LOSS = 0.01  # of F1


def main() -> None:
    """Resynthesise, train what is not trained yet, search dev with both, test the difference, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, action="append", required=True)
    parser.add_argument("--checks-only", action="store_true", help="train nothing, refresh the checks in --results")
    for name in ("--dev", "--negatives"):
        parser.add_argument(name, type=Path, action="append")
    parser.add_argument("--lists", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--ordinary-words", type=Path, help="as `deid corpus resynthesize` takes it")
    parser.add_argument("--tokens", type=int, default=1_500_000, help="of each training")
    parser.add_argument("--seeds", type=int, nargs="+", default=[5], help="time is linear")
    parser.add_argument("--no-resampling", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shuffles", type=int, default=9_999)
    parser.add_argument("--results", type=Path, default=RESULTS / "resynthesis.json")
    options = parser.parse_args()
    missing = [name for name in ("dev", "negatives", "lists", "work") if getattr(options, name) is None]
    if missing and not options.checks_only:
        parser.error(f"training needs {', '.join('--' + name for name in missing)}; or give --checks-only")
    machine = describe_machine()
    notes = read_annotated(options.notes)
    judged = read_words(options.ordinary_words) if options.ordinary_words else frozenset()
    made = resynthesize(notes, read_records(options.notes), Surrogates(KEY), judged=judged, keep_ids=True)
    print(render(made.checks))
    arms = {"originals": notes, "resynthesised": made.notes}
    checked = {
        "checks_of": {
            "measured": machine["measured"],
            "judged_words": len(judged),
            "corpus_sha256": {name: corpus_digest(arm) for name, arm in arms.items()},
        },
        "checks": made.checks.to_json(),
    }
    if options.checks_only:
        write_results(options.results, with_checks(options.results, checked))
        return
    dev = read_annotated(options.dev)
    trainer = load_trainer(options.work, options.tokens, options.threads, options.lists, options.negatives)
    trainer = replace(trainer, resample=not options.no_resampling)
    rows = []
    for seed in options.seeds:
        found = {
            arm: search(trainer.model(f"{arm}-{seed}", learnt, seed), dev, trainer.encoder)
            for arm, learnt in arms.items()
        }
        tested = compare(dev, found["originals"], found["resynthesised"], shuffles=options.shuffles, seed=seed)
        f1 = tested["f1"]
        loss = f1.first - f1.second if f1.first is not None and f1.second is not None else None
        row = {
            "seed": seed,
            "f1_loss": loss,
            "loses_less_than_allowed": loss is not None and loss < ALLOWED_LOSS,
            "originals_against_resynthesised": {name: asdict(difference) for name, difference in tested.items()},
            "counts": {arm: asdict(token_binary(dev, spans)["C"]) for arm, spans in found.items()},
        }
        print(row, flush=True)
        rows.append(row)
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "torch": torch.__version__,
            "settings": {name: getattr(options, name) for name in ("tokens", "seeds", "threads", "shuffles")}
            | {"resampling": not options.no_resampling, "judged_words": len(judged), "allowed_loss": ALLOWED_LOSS},
            "corpus_sha256": {name: corpus_digest(arm) for name, arm in (*arms.items(), ("dev", dev))},
            **checked,
            "rows": rows,
        },
    )


def with_checks(results: Path, checked: dict[str, Any]) -> dict[str, Any]:
    """Return what the file ``results`` holds, if there is one, with other checks."""
    known = (
        json.loads(results.read_text(encoding="utf-8")) if results.exists() else {"question": __doc__.splitlines()[0]}
    )
    return {**known, **checked}


def search(model: BranchedTagger, notes: Sequence[AnnotatedNote], encoder: WordEncoder) -> dict[str, list[Span]]:
    """Return by note id what any head finds."""
    model.eval()
    found = {}
    for note in notes:
        spans: list[Span] = []
        for window in make_windows(note.text, split_sentences(note.text), encoder):
            for head, values in _probabilities(model, window).items():
                best, scores = values[:, 1:].argmax(axis=1).tolist(), (1 - values[:, 0]).tolist()
                names = tags_of(head)[1:]
                spans += decode_words(
                    note.text, window.starts, window.ends, best, scores, names, THRESHOLD, f"model:{head}"
                )
        found[note.id] = fuse_spans(note.text, spans)
    return found


def _probabilities(model: BranchedTagger, window: Window) -> dict[str, NDArray[np.float32]]:
    inputs = (torch.tensor([row]) for row in (window.ids, window.types, [1] * len(window.ids)))
    with torch.inference_mode():
        logits = model(*inputs)
    return {head: torch.softmax(row[0].float(), -1).numpy()[window.positions] for head, row in logits.items()}


if __name__ == "__main__":
    main()

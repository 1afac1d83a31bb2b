"""How do our profiles compare with systems of the literature that learnt from the same notes?

    python benchmarks/baselines/baselines.py --notes train.jsonl --dev dev.jsonl --work out/baselines [--lists LISTS]

Method: the modules beside this one say what each system is. The baselines learn from all of ``--notes`` (neural ones
keep a tenth of the patients aside to stop in time; nothing is ever chosen on ``--dev``), each as its authors decode it,
at the best sum of precision and recall; ours are set for recall. A trained baseline stays in ``--work`` and is not
trained again with the same notes and settings, and what it finds in the same dev notes stays there with its speed, so
the benchmark can be stopped and started, and new models of ours are scored beside it in a minute. All systems see the
text alone, without patient records, in one process with one thread; speed is sentences in a second of processor time,
the best of ``--repeats`` after a first run that is not counted.

Scores are token-binary (``deid_runtime.evaluation``), intervals are bootstrapped over patients. Systems stand in the
order of their recall (group C). Each is tested against the next one and against ``full``, or the last of ours that was
asked for, by paired approximate randomisation over notes.

The rows named ``resampled`` learn fresh values in every pass, as our own models do, and so show what is due to the
data and what to the system; they need ``--lists``.
"""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from bert_bieso import BertSettings
from bilstm_crf import BilstmSettings
from crf_baseline import CrfSettings
from systems import load_union, train_baseline

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import RESULTS, describe_file, describe_machine, write_results

from deid_export.data.corpus import corpus_digest
from deid_export.model.tagger import packaged_base
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated
from deid_runtime.evaluation.significance import bootstrap, compare
from deid_runtime.evaluation.tokens import count_tokens, token_binary
from deid_runtime.merging.fusion import fuse_spans
from deid_runtime.models.doubts import TRACE
from deid_runtime.models.manifest import find_models
from deid_runtime.models.tagger import load_tagger
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.settings import Settings
from deid_runtime.spans import Detector, Note, Span
from deid_runtime.text.sentences import split_sentences

_RESAMPLES = 1_000
_KEPT_ARGUMENTS = (
    "systems", "crf_iterations", "bilstm_tokens", "bert_tokens", "minutes", "threads", "seed", "repeats", "shuffles",
)  # fmt: skip


@dataclass(frozen=True)
class Baseline:
    """A system of the literature: the folder it is trained into, which of the baselines it is, and its settings."""

    folder: str
    system: str
    settings: Callable[[argparse.Namespace], object]


def _crf(options: argparse.Namespace) -> CrfSettings:
    return CrfSettings(iterations=options.crf_iterations)


def _bilstm(options: argparse.Namespace) -> BilstmSettings:
    return BilstmSettings(
        tokens=options.bilstm_tokens,
        minutes=options.minutes,
        base=packaged_base(),
        threads=options.threads,
        seed=options.seed,
    )


def _bert(options: argparse.Namespace, *, resampled: bool = False) -> BertSettings:
    return BertSettings(
        tokens=options.bert_tokens,
        minutes=options.minutes,
        base=packaged_base(),
        resample_from=options.lists if resampled else None,
        threads=options.threads,
        seed=options.seed,
    )


CRF = Baseline("crf", "crf", _crf)
BILSTM = Baseline("bilstm-crf", "bilstm-crf", _bilstm)
BERT = Baseline("bert-bieso", "bert-bieso", _bert)
RESAMPLED_BERT = Baseline("bert-bieso-resampled", "bert-bieso", partial(_bert, resampled=True))

#: Systems that are trained here; several baselines are their union.
TRAINED = {
    "crf": (CRF,),
    "bilstm-crf": (BILSTM,),
    "crf + bilstm-crf": (CRF, BILSTM),
    "bert-bieso": (BERT,),
    "bert-bieso, resampled": (RESAMPLED_BERT,),
}
#: Our own: settings of the pipeline; None is the models of the fast profile without the pipeline.
OURS: Mapping[str, Settings | None] = {
    "rules alone": Settings(use_models=False),
    "models alone": None,
    "fast": Settings(profile="fast"),
    "full": Settings(profile="full"),
}


def main() -> None:
    """Train what is missing, measure all, print the table, write the results."""
    options = parse_arguments()
    machine = describe_machine()
    notes, dev = read_annotated(options.notes), read_annotated(options.dev)
    found: dict[str, dict[str, list[Span]]] = {}
    rows: dict[str, dict[str, Any]] = {}
    for name in options.systems:
        cards = []
        for baseline in TRAINED.get(name, ()):
            print(f"{name}: training or taking up {baseline.folder}", file=sys.stderr)
            folder = options.work / baseline.folder
            cards.append(train_baseline(baseline.system, notes, baseline.settings(options), folder))
        torch.set_num_threads(1)
        found[name], speed = measure_once(name, cards, dev, options)
        rows[name] = {
            "system": name,
            "training": cards,
            "training_seconds": round(sum(card["seconds"] for card in cards), 1) if cards else None,
            "sentences_per_cpu_second": round(speed, 1),
            **describe_scores(dev, found[name], options.seed),
        }
    ordered = sorted(rows, key=lambda name: rows[name]["groups"]["C"]["recall"] or 0.0)
    print_table([rows[name] for name in ordered])
    ours = [name for name in OURS if name in rows]
    pairs = list(pairwise(ordered))
    if ours:
        pairs += [(name, ours[-1]) for name in ordered if name != ours[-1] and (name, ours[-1]) not in pairs]
    comparisons = [describe_comparison(dev, found, pair, options) for pair in pairs]
    for row in comparisons:
        print(f"{row['first']} against {row['second']}: p = {row['recall']['p_value']:.4f} of recall, "
              f"{row['f1']['p_value']:.4f} of F1")  # fmt: skip
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "arguments": {name: getattr(options, name) for name in _KEPT_ARGUMENTS},
            "notes": {"count": len(notes), "sha256": corpus_digest(notes)},
            "dev": {"count": len(dev), "sha256": corpus_digest(dev)},
            "models": describe_file(find_models(options.models) / "manifest.json"),
            "systems": [rows[name] for name in ordered],
            "comparisons": comparisons,
        },
    )


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, nargs="+", required=True, help="annotated notes to learn from")
    parser.add_argument("--dev", type=Path, nargs="+", required=True, help="annotated notes to score on")
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps the trained baselines")
    parser.add_argument("--lists", type=Path, help="folder of lists to draw fresh values from, for the resampled rows")
    parser.add_argument("--models", type=Path, help="model repository of ours; default: the one of the package")
    parser.add_argument("--systems", nargs="+", choices=[*TRAINED, *OURS], help="default: all that can be had")
    parser.add_argument("--crf-iterations", type=int, default=100)
    parser.add_argument("--bilstm-tokens", type=int, default=5_000_000, help="words")
    parser.add_argument("--bert-tokens", type=int, default=2_000_000, help="word pieces, padding included")
    parser.add_argument(
        "--minutes", type=float, help="end each neural training by the clock, if the tokens last longer"
    )
    parser.add_argument("--threads", type=int, default=2, help="for training")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--repeats", type=int, default=3, help="timed runs over the dev notes")
    parser.add_argument("--shuffles", type=int, default=9_999)
    parser.add_argument("--results", type=Path, default=RESULTS / "baselines.json")
    options = parser.parse_args()
    needs_lists = [name for name, baselines in TRAINED.items() if RESAMPLED_BERT in baselines]
    if options.systems is None:
        options.systems = [name for name in (*TRAINED, *OURS) if options.lists or name not in needs_lists]
    elif options.lists is None and any(name in needs_lists for name in options.systems):
        parser.error(f"{' and '.join(needs_lists)} need --lists")
    return options


@contextmanager
def load_system(name: str, options: argparse.Namespace) -> Iterator[Detector]:
    """Load one system as a detector on whole notes; what it holds is freed at the end."""
    if name in TRAINED:
        yield load_union([options.work / baseline.folder for baseline in TRAINED[name]])
        return
    settings = OURS[name]
    # No answer may come from the cache: the timed runs read the same notes again.
    own: dict[str, Any] = {"models": options.models, "trust_models": True, "window_cache_bytes": 0}
    if settings is None:
        with load_tagger(Settings(**own)) as tagger:
            yield lambda texts: [
                fuse_spans(text, [span for span in row if TRACE not in span.sources])
                for text, row in zip(texts, tagger(texts, [split_sentences(text) for text in texts]), strict=True)
            ]
        return
    with load_pipeline(replace(settings, **own), key=None, records={}) as pipeline:
        yield partial(find_with_pipeline, pipeline.detect)


def find_with_pipeline(detect: Callable[[Sequence[Note]], Sequence[Any]], texts: Sequence[str]) -> list[list[Span]]:
    """Return the spans of every text; a quarantined note stops the benchmark."""
    outcomes = detect([Note(str(number), text) for number, text in enumerate(texts)])
    for outcome in outcomes:
        if isinstance(outcome, Quarantined):
            sys.exit(f"a note was quarantined in stage {outcome.stage}: {outcome.reason}")
    return [list(outcome.spans) for outcome in outcomes]


def measure_once(
    name: str, cards: Sequence[Mapping[str, Any]], dev: Sequence[AnnotatedNote], options: argparse.Namespace
) -> tuple[dict[str, list[Span]], float]:
    """Measure a system; what was trained here, and has not changed since, only the first time."""
    measured = json.dumps([cards, corpus_digest(dev), options.repeats])
    kept = options.work / f"found-{hashlib.sha256(measured.encode()).hexdigest()[:16]}.json"
    if cards and kept.is_file():
        answer = json.loads(kept.read_text(encoding="utf-8"))
        return {note: [_span(row) for row in rows] for note, rows in answer["found"].items()}, answer["speed"]
    with load_system(name, options) as detector:
        found, speed = measure(detector, dev, options.repeats)
    if cards:
        rows = {note: [asdict(span) for span in spans] for note, spans in found.items()}
        kept.write_text(json.dumps({"speed": speed, "found": rows}), encoding="utf-8")
    return found, speed


def _span(row: Mapping[str, Any]) -> Span:
    return Span(row["start"], row["end"], row["label"], row["score"], tuple(row["sources"]))


def measure(detector: Detector, dev: Sequence[AnnotatedNote], repeats: int) -> tuple[dict[str, list[Span]], float]:
    """Return what is found by note id, and sentences in a second of processor time."""
    texts = [note.text for note in dev]
    sentences = sum(
        bool(text[sentence.start : sentence.end].strip()) for text in texts for sentence in split_sentences(text)
    )
    rows = detector(texts)
    seconds = []
    for _ in range(repeats):
        begun = time.process_time()
        detector(texts)
        seconds.append(time.process_time() - begun)
    return {note.id: row for note, row in zip(dev, rows, strict=True)}, sentences / min(seconds)


def describe_scores(
    gold: Sequence[AnnotatedNote], found: Mapping[str, Sequence[Span]], seed: int
) -> dict[str, dict[str, Any]]:
    """Return precision, recall and F1 of every group with their counts, and 95 % intervals for group C."""
    scores = token_binary(gold, found)
    groups = {
        group: {
            "precision": score.precision,
            "recall": score.recall,
            "f1": score.f1,
            **asdict(score),
        }
        for group, score in scores.items()
    }
    counts = count_tokens(gold, found).by_note("C")
    intervals = bootstrap(counts, [note.patient for note in gold], resamples=_RESAMPLES, seed=seed)
    return {"groups": groups, "intervals_c": {name: [i.low, i.high] for name, i in intervals.items()}}


def describe_comparison(
    gold: Sequence[AnnotatedNote],
    found: Mapping[str, Mapping[str, Sequence[Span]]],
    pair: tuple[str, str],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Return the difference of two systems in group C with its p values."""
    first, second = pair
    differences = compare(gold, found[first], found[second], shuffles=options.shuffles, seed=options.seed)
    return {"first": first, "second": second, **{name: asdict(row) for name, row in differences.items()}}


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print one line a system."""
    print(
        f"{'system':24}{'training s':>11}{'sentences/s':>12}"
        + "".join(f"{f'{g}: P':>9}{'R':>7}{'F1':>7}" for g in "ABC")
    )
    for row in rows:
        trained = "" if row["training_seconds"] is None else f"{row['training_seconds']:.0f}"
        cells = "".join(
            f"{row['groups'][group]['precision'] or 0:9.4f}{row['groups'][group]['recall'] or 0:7.4f}"
            f"{row['groups'][group]['f1'] or 0:7.4f}"
            for group in "ABC"
        )
        print(f"{row['system']:24}{trained:>11}{row['sentences_per_cpu_second']:12.0f}{cells}")


def render(results: Mapping[str, Any]) -> str:
    """Return the table of the results in Markdown, group C; ``p`` is of recall and F1 against the row below."""
    lines = ["| system | precision | recall | F1 | recall, group A | sentences/s | p: recall, F1 |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    names = [row["system"] for row in results["systems"]]
    below = dict(pairwise(names))
    compared = {(row["first"], row["second"]): row for row in results["comparisons"]}
    for row in results["systems"]:
        of_c, of_a = row["groups"]["C"], row["groups"]["A"]
        found = compared.get((row["system"], below.get(row["system"], "")))
        values = "" if found is None else f"{found['recall']['p_value']:.4f}, {found['f1']['p_value']:.4f}"
        lines.append(
            f"| {row['system']} | {of_c['precision']:.3f} | {of_c['recall']:.3f} | {of_c['f1']:.3f} "
            f"| {of_a['recall']:.3f} | {row['sentences_per_cpu_second']:,.0f} | {values} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()

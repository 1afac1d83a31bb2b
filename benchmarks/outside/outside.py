"""Are people found in prose not written for this project, by form and culture, and is other text left alone?

    python benchmarks/outside/outside.py --prose reports.jsonl.gz [more.jsonl.gz] --profile fast

Method: the documents of the test half (``deid_export.data.substitution.prose.is_test_document``), on which nothing is
trained or chosen. In 64 to 120 words around *the patient*, *she*, *the surgeon* ... one name takes the place of the
words, or stands behind a cue: a name of one of sixteen cultures in one of ten forms, held out of training, too. The
detectors have these names in their lists; in three further forms the names are in no list: the beginning of one name of
the culture with the end of another. A note
is counted as *found* when every letter of the name is. Words found outside the name are counted per 1,000, whatever
they are: public reports hold dates, ages and places of their own, so this is an upper bound of false finds.
Intervals are Wilson's, of 95 %.
"""

import argparse
import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from cases import FORMS, Case, make_cases, read_name_set
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import RESULTS, describe_machine, describe_run, run_deid, write_results

from deid_export.data.substitution.persons import CULTURES
from deid_export.data.substitution.prose import is_test_document, read_texts

_WORD: Final = re.compile(r"[^\W_]+")


def main() -> None:
    """Measure, print the tables, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prose", type=Path, nargs="+", required=True, help="public reports, .jsonl.gz")
    parser.add_argument("--name-sets", type=Path, nargs="*", default=[], help="public sentences with PERSON spans")
    parser.add_argument("--profile", choices=("fast", "full"), default="fast")
    parser.add_argument("--per-cell", type=int, default=24, help="cases for each form and culture")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, help="default: outside_<profile>.json")
    parser.add_argument("extra", nargs="*", help="further options of deid detect, after --")
    options = parser.parse_args()
    documents = [text for text in read_texts(options.prose) if is_test_document(text)]
    cases = make_cases(documents, options.per_cell, options.seed)
    sets = [case for path in options.name_sets for case in read_name_set(path)]
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "cases.jsonl", Path(folder) / "found.jsonl"
        with source.open("w", encoding="utf-8") as file:
            for case in (*cases, *sets):
                file.write(json.dumps({"id": case.id, "text": case.text}) + "\n")
        run = run_deid(["detect", str(source), "--profile", options.profile, *options.extra, "--quiet"], out)
        found = {row["id"]: row["spans"] for row in map(json.loads, out.open(encoding="utf-8"))}
    report = {
        "forms": rates(cases, found, lambda case: case.form),
        "cultures": rates(cases, found, lambda case: case.culture),
        "cells": rates(cases, found, lambda case: f"{case.form} / {case.culture}"),
        "name_sets": rates(sets, found, lambda case: f"{case.source} / {case.form}"),
        "other_words_found_per_1000": other_words(cases, found),
    }
    print_report(report)
    write_results(
        options.results or RESULTS / f"outside_{options.profile}.json",
        {
            "question": __doc__.splitlines()[0],
            "machine": describe_machine(),
            "run": describe_run(run.manifest),
            "documents": len(documents),
            "notes": len(cases),
            "per_cell": options.per_cell,
            "seed": options.seed,
            "extra": options.extra,
            "report": report,
        },
    )


def is_found(case: Case, spans: Sequence[dict[str, Any]]) -> bool:
    """Say whether every word of the name is touched by a span."""
    words = [match.span() for match in _WORD.finditer(case.text, case.start, case.end)]
    return all(any(span["start"] < end and start < span["end"] for span in spans) for start, end in words)


def rates(cases: Iterable[Case], found: dict[str, Any], key: Any) -> dict[str, dict[str, float]]:
    """Return found notes, all notes, the share and its interval by ``key``."""
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    for case in cases:
        counts[key(case)][is_found(case, found[case.id])] += 1
    rows = {}
    for name, count in counts.items():
        total = count[True] + count[False]
        interval = binomtest(count[True], total).proportion_ci(method="wilson")
        rows[name] = {
            "found": count[True], "notes": total, "share": round(count[True] / total, 4),
            "low": round(interval.low, 4), "high": round(interval.high, 4),
        }  # fmt: skip
    return rows


def other_words(cases: Sequence[Case], found: dict[str, Any]) -> dict[str, float]:
    """Return words outside the names that spans touch, per 1,000, by label and together."""
    labels: Counter[str] = Counter()
    words = 0
    for case in cases:
        for match in _WORD.finditer(case.text):
            start, end = match.span()
            if start < case.end and case.start < end:
                continue
            words += 1
            label = next((s["label"] for s in found[case.id] if s["start"] < end and start < s["end"]), None)
            if label:
                labels[label] += 1
    rows = {label: round(1000 * count / words, 3) for label, count in labels.most_common()}
    return {"all": round(1000 * sum(labels.values()) / words, 3), **rows}


def print_report(report: dict[str, Any]) -> None:
    """Print the share of notes found by form, with the worst culture of each, and by culture."""
    print(f"{'form':20} found   95 % interval   worst culture")
    for form in FORMS:
        row = report["forms"][form]
        worst = min(CULTURES, key=lambda culture: report["cells"][f"{form} / {culture}"]["share"])
        share = report["cells"][f"{form} / {worst}"]["share"]
        print(f"{form:20} {row['share']:.4f}  {row['low']:.3f} to {row['high']:.3f}  {share:.3f} {worst}")
    for culture in CULTURES:
        row = report["cultures"][culture]
        print(f"{culture:24} {row['share']:.4f}  {row['low']:.3f} to {row['high']:.3f}")
    for name, row in report["name_sets"].items():
        print(f"{name:50} {row['share']:.4f}  of {row['notes']}")
    print("other words found per 1,000:", report["other_words_found_per_1000"])


if __name__ == "__main__":
    main()

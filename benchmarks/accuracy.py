"""How much of what a person marked does ``deid detect`` find, and how much else?

    python benchmarks/accuracy.py --gold gold.jsonl [--profile full] [--patients patients.jsonl] [--short]

Method: ``deid detect`` runs on the annotated notes as a user would run it, and ``deid_runtime.evaluation`` compares
what it wrote with the annotation; that package defines every figure. A quarantined note stops
the benchmark. Scores by note type are printed and not stored: a corpus has hundreds of types of a note or two.
"""

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from measuring import RESULTS, describe_file, describe_machine, describe_run, run_deid, write_results

from deid_runtime.annotations.found import read_found
from deid_runtime.annotations.read import read_gold
from deid_runtime.evaluation.report import evaluate
from deid_runtime.evaluation.tables import render


def main() -> None:
    """Measure, print the report, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gold", type=Path, required=True, help="JSON Lines with id, text, spans, and patient for the "
                        "intervals")  # fmt: skip
    parser.add_argument("--patients", type=Path, help="structured records; without them the text alone must do")
    parser.add_argument("--profile", choices=("fast", "full"), default="fast")
    parser.add_argument("--results", type=Path, help="default: accuracy_<profile>.json")
    parser.add_argument("--short", action="store_true", help="store no errors by kind, which `deid-export head-cards` "
                        "reads and nothing else")  # fmt: skip
    parser.add_argument("extra", nargs="*", help="further options of deid detect, after --")
    options = parser.parse_args()
    machine = describe_machine()
    records = ["--patients", str(options.patients)] if options.patients else []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.jsonl"
        profile = ["--profile", options.profile]
        measured = run_deid(["detect", str(options.gold), *profile, *records, *options.extra, "--quiet"], out)
        report = evaluate(read_gold(options.gold), read_found(out))
    print(render(report), end="")
    write_results(
        options.results or RESULTS / f"accuracy_{options.profile}.json",
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "run": describe_run(measured.manifest),
            "gold": describe_file(options.gold),
            "patients": describe_file(options.patients) if options.patients else None,
            "extra": options.extra,
            "report": stored(report.to_json(), is_short=options.short),
        },
    )


def stored(report: Mapping[str, Any], *, is_short: bool) -> dict[str, Any]:
    """Return what is kept of a report: no scores by note type and, if it ``is_short``, no errors by kind."""
    kept = {name: value for name, value in report.items() if name != "note_types"}
    if is_short:
        kept["errors"] = {
            side: {name: count for name, count in counts.items() if name != "kinds"}
            for side, counts in report["errors"].items()
        }
    return kept


if __name__ == "__main__":
    main()

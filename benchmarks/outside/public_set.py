"""How many of the identifying characters of a public set are found, and how many others are redacted?

    python benchmarks/outside/public_set.py --sets SET.jsonl.gz [MORE.jsonl.gz] [--profile full]

Method: the measures that other systems publish on such sets (``deid_runtime.evaluation.characters``). ``deid detect``
runs on every text of the set as on a note, without a patient record. A set is in the format of presidio-research: one
JSON object a line with ``full_text`` and ``spans`` (``entity_type``, ``start_position``, ``end_position``). Types that
do not identify a person (``TITLE``, ``PREFIX``, ``NRP``) do not count as identifiers. Texts in a form that the pipeline
holds back are counted and left out, because they are not released. The intervals are of a bootstrap over texts.
"""

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import RESULTS, describe_file, describe_machine, describe_run, run_deid, write_results

from deid_runtime.annotations.found import read_found
from deid_runtime.annotations.jsonl import render_jsonl
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.evaluation.characters import count_characters
from deid_runtime.spans import Span
from deid_runtime.text.legibility import illegible
from deid_runtime.text.reading.view import read_view

#: Entity type of the set -> our label. The label decides about ages alone; characters count whatever their label.
LABELS: Final = {
    "PERSON": "PATIENT", "LOCATION": "CITY", "GPE": "CITY", "ADDRESS": "STREET", "STREET_ADDRESS": "STREET",
    "ZIP_CODE": "ZIP", "ORGANIZATION": "ORGANIZATION", "PHONE_NUMBER": "PHONE", "EMAIL_ADDRESS": "EMAIL",
    "US_SSN": "SSN", "DATE_TIME": "DATE", "AGE": "AGE", "CREDIT_CARD": "ACCOUNT", "IBAN_CODE": "ACCOUNT",
    "DOMAIN_NAME": "URL", "IP_ADDRESS": "IPADDR", "US_DRIVER_LICENSE": "LICENSE",
}  # fmt: skip
#: Entity types that do not identify a person by themselves.
LEFT_OUT: Final = frozenset({"TITLE", "PREFIX", "NRP"})
_RESAMPLES: Final = 1_000


def main() -> None:
    """Measure every set, print its figures, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="public sets, .jsonl.gz")
    parser.add_argument("--profile", choices=("fast", "full"), default="fast")
    parser.add_argument("--results", type=Path, help="default: public_set_<profile>.json")
    parser.add_argument("extra", nargs="*", help="further options of deid detect, after --")
    options = parser.parse_args()
    machine, reports, run = describe_machine(), {}, {}
    for path in options.sets:
        notes, held_back = read_set(path)
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder) / "notes.jsonl", Path(folder) / "found.jsonl"
            source.write_bytes(b"".join(render_jsonl(note) for note in notes))
            measured = run_deid(["detect", str(source), "--profile", options.profile, *options.extra, "--quiet"], out)
            found, run = read_found(out), describe_run(measured.manifest)
        reports[path.name] = {**describe_file(path), **score(notes, found), "held_back": held_back}
        print_set(path.name, reports[path.name])
    write_results(
        options.results or RESULTS / f"public_set_{options.profile}.json",
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "run": run,
            "extra": options.extra,
            "report": reports,
        },
    )


def read_set(path: Path) -> tuple[list[AnnotatedNote], int]:
    """Return the texts of a set as annotated notes, and the number of texts that the pipeline would hold back."""
    notes, held_back = [], 0
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            row = json.loads(line)
            text = row["full_text"]
            spans = [
                Span(each["start_position"], each["end_position"], LABELS[each["entity_type"]])
                for each in row["spans"]
                if each["entity_type"] not in LEFT_OUT
            ]
            if illegible(read_view(text).text):
                held_back += 1
            else:
                notes.append(AnnotatedNote(str(number), "", "", text, tuple(sorted(spans))))
    return notes, held_back


def score(notes: Sequence[AnnotatedNote], found: dict[str, list[Span]]) -> dict[str, Any]:
    """Return the measures with and without ages under 90, each with 95 % intervals."""
    figures: dict[str, Any] = {"texts": len(notes)}
    for name, ages_under_90 in (("all_ages", True), ("without_ages_under_90", False)):
        rows = np.array(
            [list(asdict(count_characters([note], found, ages_under_90=ages_under_90)).values()) for note in notes]
        )
        draws = np.random.default_rng(0).multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=_RESAMPLES)
        sums, drawn = rows.sum(0), draws @ rows
        figures[name] = {
            "identifying_characters": int(sums[0]),
            "found": share(sums[1] / sums[0], drawn[:, 1] / drawn[:, 0]),
            "other_characters": int(sums[2]),
            "redacted": share(sums[3] / sums[2], drawn[:, 3] / drawn[:, 2]),
        }
    return figures


def share(value: float, drawn: Any) -> dict[str, float]:
    """Return a share and its interval."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"share": round(float(value), 4), "low": round(float(low), 4), "high": round(float(high), 4)}


def print_set(name: str, report: dict[str, Any]) -> None:
    """Print the figures of one set."""
    print(f"{name}: {report['texts']} texts, {report['held_back']} held back")
    for kind in ("all_ages", "without_ages_under_90"):
        row = report[kind]
        print(f"  {kind.replace('_', ' ')}: identifying characters found", *row["found"].values())
        print("    other characters redacted", *row["redacted"].values())


if __name__ == "__main__":
    main()

"""How much is missed, and how much else is changed, in texts whose authors did not write for the training?

    python benchmarks/other_authors/other_authors.py

Method: three language models wrote ``*_notes.txt``, with a tag around each identifier, and ``*_clean.txt``, lines
without any identifier. Written instructions told each of them which clinicians to imagine, which kinds of text to
write, and which labels the tags have. They had seen none of our notes, rules or figures.
Notes are separated by a line ``%%%``, clean lines are notes of their own. All go through the whole embedded pipeline of
each profile, without patient records. A word (:data:`deid_runtime.evaluation.tokens.TOKEN`) of a tagged identifier is
missed when no span touches it; any other word is changed when a span does. The intervals are Wilson's, at 95 %.

The models learnt none of these texts. Thresholds were chosen on other notes, but all three authors were counted before
the weights that ship were decided on, so the figures are a little better than for a fourth author. Nobody looked for
rules in them; a few lines were seen when their form was checked.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from finding import PROFILES, Finder, finder, wilson  # noqa: E402
from measuring import RESULTS, describe_file, describe_machine, write_results  # noqa: E402

from deid_runtime.annotations.tagged import parse_tagged  # noqa: E402
from deid_runtime.evaluation.tokens import token_offsets  # noqa: E402
from deid_runtime.pipeline.loading import load_pipeline  # noqa: E402
from deid_runtime.settings import Settings  # noqa: E402
from deid_runtime.spans import Span  # noqa: E402

SEPARATOR: Final = "\n%%%\n"


def main() -> None:
    """Measure, print the counts, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", nargs="+", default=list(PROFILES), choices=PROFILES)
    parser.add_argument("--models", type=Path, help="folder with other models")
    parser.add_argument("--results", type=Path, default=RESULTS / "other_authors.json")
    options = parser.parse_args()
    machine = describe_machine()
    paths = sorted(FOLDER.glob("*_notes.txt")) + sorted(FOLDER.glob("*_clean.txt"))
    profiles: dict[str, Any] = {}
    for profile in options.profiles:
        settings = Settings(models=options.models, trust_models=True, profile=profile)
        with load_pipeline(settings, key=None, records={}) as pipeline:
            find = finder(pipeline)
            measured = {path.stem: measure(find, read(path)) for path in paths}
            profiles[profile] = {"pipeline": pipeline.describe(), "texts": measured}
        for name, row in measured.items():
            print(profile, name, row)
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "texts": [describe_file(path) for path in paths],
            "profiles": profiles,
        },
    )


def read(path: Path) -> list[tuple[str, tuple[Span, ...]]]:
    """Return the text and the tagged spans of each note, or of each line of a file of clean lines."""
    content = path.read_text(encoding="utf-8").strip("\n")
    notes = content.split("\n" if path.stem.endswith("_clean") else SEPARATOR)
    return [parse_tagged(note.strip("\n")) for note in notes if note.strip()]


def measure(find: Finder, notes: Sequence[tuple[str, Sequence[Span]]]) -> dict[str, Any]:
    """Return what was missed and what was changed, in words and in notes."""
    missed: Counter[str] = Counter()
    of_label: Counter[str] = Counter()
    others = changed = leaking = touched = 0
    for (text, gold), found in zip(notes, find([text for text, _ in notes]), strict=True):
        leaks = changes = False
        for start, end in token_offsets(text).tolist():
            label = next((span.label for span in gold if span.start < end and start < span.end), "")
            is_found = any(span.start < end and start < span.end for span in found)
            if label:
                of_label[label] += 1
                missed[label] += not is_found
                leaks |= not is_found
            else:
                others += 1
                changed += is_found
                changes |= is_found
        leaking += leaks
        touched += changes
    return {
        "notes": len(notes),
        "notes_with_a_miss": share(leaking, len(notes)),
        "notes_with_a_change": share(touched, len(notes)),
        "words_missed": share(missed.total(), of_label.total()),
        "words_changed": share(changed, others),
        "missed_by_label": {label: [missed[label], of_label[label]] for label in sorted(of_label)},
    }


def share(hits: int, of: int) -> dict[str, Any]:
    """Return a count, what it is of, and the bounds of the share."""
    low, high = wilson(hits, of)
    return {"count": hits, "of": of, "low": round(low, 4), "high": round(high, 4)}


if __name__ == "__main__":
    main()

"""How often does the pipeline change a clinical fact that identifies no one?

    python benchmarks/clinical_facts/clinical_facts.py

Method: lines of clinical text without any identifier, written by hand by kind of fact (``lines_dev.tsv``, which rules
were written with, and ``lines_test.tsv``, which no one who wrote rules has seen), and ordinary lines of notes by a
language model (``lines_ordinary.tsv``, not seen either) go through the whole embedded
pipeline of each profile, without patient records: each line as a note of its own, and then ten lines of any categories
to a note, where windows and propagation have a note to work with. A line counts as changed when any span touches it; a
word (:data:`deid_runtime.evaluation.tokens.TOKEN`) when a span touches the word. A line counts as rewritten when a span
in it has another surrogate than its own text: ages below 90 are found, and stay. The intervals are Wilson's, at 95 %.

``--show N`` prints the first N spans of a file, with their finders; it is refused for the two unseen files.
"""

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from finding import PROFILES, Finder, finder, wilson  # noqa: E402
from measuring import RESULTS, describe_file, describe_machine, write_results  # noqa: E402

from deid_runtime.evaluation.tokens import TOKEN  # noqa: E402
from deid_runtime.pipeline.loading import load_pipeline  # noqa: E402
from deid_runtime.settings import Settings  # noqa: E402
from deid_runtime.spans import Note, Span  # noqa: E402
from deid_runtime.surrogates import Surrogates  # noqa: E402

LINES_PER_NOTE: Final = 10
FILES: Final = ("lines_dev.tsv", "lines_test.tsv", "lines_ordinary.tsv")
UNSEEN: Final = FILES[1:]
ALL: Final = "all"
_KEY: Final = b"a fixed key: the lines are public"[:32]


@dataclass(frozen=True, slots=True)
class Line:
    """One line that identifies no one, and the kind of fact in it."""

    category: str
    text: str = field(repr=False)


@dataclass(slots=True)
class Counts:
    """Lines and words of one category, those that spans touch, and lines with another text."""

    lines: int = 0
    lines_changed: int = 0
    lines_rewritten: int = 0
    words: int = 0
    words_changed: int = 0

    def add(self, words: int, changed: int, *, is_rewritten: bool) -> None:
        """Add one line: it has ``words`` words, and spans touch ``changed`` of them."""
        self.lines += 1
        self.lines_changed += changed > 0
        self.lines_rewritten += is_rewritten
        self.words += words
        self.words_changed += changed

    def to_json(self) -> dict[str, Any]:
        """Return counts, rates and intervals."""
        return {
            "lines": self.lines,
            "lines_changed": self.lines_changed,
            "lines_changed_share": _rounded(self.lines_changed, self.lines),
            "lines_changed_interval": [round(bound, 4) for bound in wilson(self.lines_changed, self.lines)],
            "lines_rewritten": self.lines_rewritten,
            "lines_rewritten_share": _rounded(self.lines_rewritten, self.lines),
            "words": self.words,
            "words_changed": self.words_changed,
            "words_changed_per_1000": round(1_000 * self.words_changed / self.words, 2) if self.words else None,
            "words_changed_per_1000_interval": [
                round(1_000 * bound, 2) for bound in wilson(self.words_changed, self.words)
            ],
        }


def main() -> None:
    """Measure, print a table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", default=list(FILES), help="names in this folder, or paths")
    parser.add_argument("--profiles", nargs="+", default=list(PROFILES), choices=PROFILES)
    parser.add_argument("--models", type=Path, help="folder with other models")
    parser.add_argument("--seed", type=int, default=0, help="of the order in which lines are joined to notes")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the first N spans of single lines")
    parser.add_argument("--results", type=Path, default=RESULTS / "clinical_facts.json")
    options = parser.parse_args()
    paths = [path if (path := Path(name)).exists() else FOLDER / name for name in options.files]
    if options.show and any(path.name in UNSEEN for path in paths):
        parser.error("--show is for lines that rules may be written with, not for a test file")
    machine = describe_machine()
    files = {path.name: read_lines(path) for path in paths}
    profiles: dict[str, Any] = {}
    for profile in options.profiles:
        with load_pipeline(
            Settings(models=options.models, trust_models=True, profile=profile), key=None, records={}
        ) as pipeline:
            find = finder(pipeline)
            measured = {name: measure(find, lines, options.seed) for name, lines in files.items()}
            for lines in files.values():
                show(find, lines, options.show)
            profiles[profile] = {
                "pipeline": pipeline.describe(),
                "files": {
                    name: {way: {key: each.to_json() for key, each in table.items()} for way, table in ways.items()}
                    for name, ways in measured.items()
                },
            }
        for name, ways in measured.items():
            print_table(f"{name}, {profile}", ways)
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "lines": [describe_file(path) for path in paths],
            "lines_per_note": LINES_PER_NOTE,
            "seed": options.seed,
            "profiles": profiles,
        },
    )


def read_lines(path: Path) -> list[Line]:
    """Read ``category<TAB>line`` rows; rows that are empty or start with ``#`` are skipped."""
    lines = []
    for number, row in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if row.strip() and not row.startswith("#"):
            category, tab, text = row.partition("\t")
            if not (tab and category.strip() and text.strip()):
                raise SystemExit(f"{path.name}:{number}: expected a category, a tab and a line")
            lines.append(Line(category.strip(), text.strip()))
    return lines


def measure(find: Finder, lines: Sequence[Line], seed: int) -> dict[str, dict[str, Counts]]:
    """Return the counts by category of lines each alone (``single``) and ten to a note (``joined``)."""
    shuffled = list(lines)
    random.Random(seed).shuffle(shuffled)
    joined = [shuffled[start : start + LINES_PER_NOTE] for start in range(0, len(shuffled), LINES_PER_NOTE)]
    return {"single": count(find, [[line] for line in lines]), "joined": count(find, joined)}


def count(find: Finder, notes: Sequence[Sequence[Line]]) -> dict[str, Counts]:
    """Return the counts by category, and of :data:`ALL`, of notes of one line or more."""
    table: dict[str, Counts] = defaultdict(Counts)
    texts = ["\n".join(line.text for line in note) for note in notes]
    surrogates = Surrogates(_KEY)
    for note, text, spans in zip(notes, texts, find(texts), strict=True):
        new = surrogates.replacements(Note("", text), spans, None)
        rewritten = [span for span, value in zip(spans, new, strict=True) if value != text[span.start : span.end]]
        start = 0
        for line in note:
            words, changed = words_changed(line.text, start, spans)
            is_rewritten = words_changed(line.text, start, rewritten)[1] > 0
            for key in (line.category, ALL):
                table[key].add(words, changed, is_rewritten=is_rewritten)
            start += len(line.text) + 1
    return {key: table[key] for key in sorted(table, key=lambda key: (key == ALL, key))}


def words_changed(line: str, start: int, spans: Sequence[Span]) -> tuple[int, int]:
    """Return how many words ``line`` has, which begins at ``start`` of its note, and how many a span touches."""
    words = [(start + word.start(), start + word.end()) for word in TOKEN.finditer(line)]
    return len(words), sum(any(span.start < end and first < span.end for span in spans) for first, end in words)


def print_table(title: str, ways: Mapping[str, Mapping[str, Counts]]) -> None:
    """Print one row per category: lines and words changed, alone and joined."""
    print(f"\n{title}\n{'':<46}{'single: lines, words/1,000':>34}{'joined: lines, words/1,000':>34}")
    for key in ways["single"]:
        print(f"{key:<46}" + "".join(f"{cell:>34}" for cell in _cells(ways, key)))


def _cells(ways: Mapping[str, Mapping[str, Counts]], key: str) -> Iterator[str]:
    for table in ways.values():
        counts = table[key]
        low, high = wilson(counts.lines_changed, counts.lines)
        yield (
            f"{counts.lines_changed}/{counts.lines} ({100 * low:.0f}-{100 * high:.0f} %), "
            f"{1_000 * counts.words_changed / counts.words:.1f}"
        )


def show(find: Finder, lines: Sequence[Line], most: int) -> None:
    """Print up to ``most`` spans of single lines."""
    for line, spans in zip(lines, find([line.text for line in lines]) if most else (), strict=False):
        for span in spans[:most]:
            most -= 1
            print(f"{line.category}: {line.text[span.start : span.end]!r} {span.label} {'+'.join(span.sources)}")


def _rounded(hits: int, of: int) -> float | None:
    return round(hits / of, 4) if of else None


if __name__ == "__main__":
    main()

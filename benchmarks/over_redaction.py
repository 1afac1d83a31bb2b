"""How much clinical text that identifies nobody does the ensemble tag?

    python benchmarks/over_redaction.py --lists LISTS --carriers reports.jsonl.gz [--carriers ...]

Method: the embedded pipeline, without patient records, searches two kinds of text in which nothing is to be found.

*Clinical text*: reports of public collections (gzipped JSON Lines with ``text`` or ``note``), of which only the
sentences are kept that the training system takes for clean, that is, whose words are all known and that hold nothing of
the form of an identifier. The sentences of one report, in their order, one a line, are one note. Counted are
the tokens that any span touches. Training draws on the same collections: where the models have seen these very
reports, the figure is too good, and collections that training did not have say more.

*Terms*: eponyms, scores, drugs and devices of ``LISTS/medical``, each in ten sentences written for this benchmark, a
note each. A term's occurrence is over-redacted when any span touches it; tokens of the sentences around it count too.
Lower-case names of drugs are capitalised in half of the sentences; of the ten sentences one is in capitals and one in
lower case. With ``--joined`` the sentences are searched ten a note as well, of ten different terms: there windows and
propagation have a note to work with.

``--show`` prints the strings that are tagged most often, with their finders, to mend them. They are not written to the
results: use it where the carriers are public.
"""

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from measuring import RESULTS, describe_file, describe_machine, write_results

from deid_export.data.gazetteers import Gazetteers, load_gazetteers
from deid_export.data.negatives import screened_sentences
from deid_runtime.evaluation.tokens import TOKEN
from deid_runtime.pipeline import Pipeline, Quarantined, load_pipeline
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, Span

BATCH_NOTES: Final = 64
JOINED_LINES: Final = 10
LISTS_READ: Final = ("hand_eponyms", "eponymous_terms", "hand_devices", "drug_brand_names_fda", "drug_ingredients_fda",
                     "drugs_nlm_portal")  # fmt: skip

_SCORE: Final = re.compile(r"\b(?:score|scale|index|criteria|classification|grade|stag(?:e|ing))\b", re.IGNORECASE)
#: Kind of term to ten sentences with a gap for it; the ninth is in lower case and the tenth in capitals. None is among
#: those of ``deid_export.data.negatives``, which the models are trained on.
SENTENCES: Final[Mapping[str, tuple[str, ...]]] = {
    "eponyms": (
        "We discussed that {x} could explain these findings.",
        "Imaging is not typical for {x}, and a biopsy is not needed now.",
        "Past history includes {x} with two prior admissions.",
        "{x}: unchanged since the last visit",
        "Neurologic: alert, {x} absent bilaterally, gait steady.",
        "The resident asked whether {x} had been excluded.",
        "Problem 3. {x}",
        "On examination there was {x} but no edema or rash.",
        "referred for possible {x}, symptoms x 3 wks",
        "PRE-OP DX: RULE OUT {x}",
    ),
    "scores": (
        "{x} on arrival was recorded by triage.",
        "Her {x} has improved since discharge.",
        "Risk by {x}: low",
        "Repeat {x} at each follow-up visit.",
        "{x} 14 today, 12 yesterday",
        "Based on the {x}, prophylaxis was continued.",
        "Flowsheet: {x} | pain 3 | sedation 1",
        "The {x} could not be completed because of drowsiness.",
        "documented {x} q shift per protocol",
        "ASSESSMENT TOOLS USED: {x}",
    ),
    "drugs": (
        "He tolerated {x} well and the dose was increased.",
        "Please refill {x}, one tablet twice a day.",
        "- {x} 5 mg by mouth at bedtime",
        "No interaction between {x} and warfarin is expected.",
        "She reports hives after {x} as a child.",
        "The pharmacy does not carry {x}; a substitute was offered.",
        "Current medications: {x}, insulin, vitamin D",
        "{x} was stopped on admission and resumed at discharge.",
        "took {x} last night, feels dizzy today",
        "GIVEN IN ED: {x} 1 G IV X1",
    ),
    "devices": (
        "A {x} was used throughout the case.",
        "The {x} was exchanged because of leakage.",
        "Wound closed in layers over a {x}.",
        "Patient ambulates with {x}, standby assist.",
        "Equipment: {x}; tray; suction",
        "After the {x} was positioned, counts were correct.",
        "Teaching on care of the {x} was given to the family.",
        "{x} intact, no redness at the site.",
        "needs new {x} before discharge",
        "REMOVED {x} WITHOUT COMPLICATION",
    ),
}
_LOWER, _UPPER = 8, 9


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence without identifiers; ``term`` says where in it the medical name stands."""

    text: str
    term: tuple[int, int] | None = None


@dataclass
class Tally:
    """Counts over notes; ``strings`` are the tagged stretches with label and source, never written to results."""

    notes: int = 0
    notes_touched: int = 0
    tokens: int = 0
    wrong: int = 0
    terms: int = 0
    terms_touched: int = 0
    sources: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    finders: Counter[str] = field(default_factory=Counter)
    strings: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    touched_terms: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        """Add the counts of ``other``."""
        for name, value in vars(other).items():
            if isinstance(value, Counter):
                getattr(self, name).update(value)
            else:
                setattr(self, name, getattr(self, name) + value)

    def to_json(self) -> dict[str, Any]:
        """Return the counts and rates, without any text."""
        result: dict[str, Any] = {
            "notes": self.notes,
            "notes_touched": self.notes_touched,
            "tokens": self.tokens,
            "wrong_tokens": self.wrong,
            "wrong_per_1000_tokens": round(1_000 * self.wrong / self.tokens, 3) if self.tokens else None,
            "by_finder": dict(self.finders.most_common()),
            "by_source": dict(self.sources.most_common()),
            "by_label": dict(self.labels.most_common()),
        }
        if self.terms:
            result |= {
                "occurrences": self.terms,
                "occurrences_touched": self.terms_touched,
                "over_redaction": round(self.terms_touched / self.terms, 5),
                "different_terms_touched": len(self.touched_terms),
            }
        return result


def main() -> None:
    """Measure, print a summary, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=Path, required=True, help="folder with gazetteers/ and medical/")
    parser.add_argument(
        "--carriers", type=Path, action="append", default=[], help="reports, .jsonl.gz; may be repeated"
    )
    parser.add_argument("--profiles", nargs="+", default=["fast", "full"], choices=("fast", "full"))
    parser.add_argument("--limit", type=int, help="use only so many reports of each file and terms of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the sample that --limit takes")
    parser.add_argument("--joined", action="store_true", help="search the sentences of terms ten a note as well")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the N strings tagged most often")
    parser.add_argument("--models", type=Path, help="folder with other models")
    parser.add_argument("--results", type=Path, default=RESULTS / "over_redaction.json")
    options = parser.parse_args()
    machine = describe_machine()
    lists = load_gazetteers(options.lists)
    texts = clinical_notes(options.carriers, lists, options.limit, options.seed)
    texts |= term_notes(terms_by_kind(lists), options.limit, options.seed, is_joined=options.joined)
    profiles = {}
    for profile in options.profiles:
        with load_pipeline(
            Settings(models=options.models, trust_models=True, profile=profile), key=None, records={}
        ) as pipeline:
            tallies = {name: measure(pipeline, notes) for name, notes in texts.items()}
            profiles[profile] = {
                "pipeline": pipeline.describe(),
                "texts": {name: tally.to_json() for name, tally in tallies.items()},
            }
        print_summary(profile, tallies, options.show)
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "carriers": [describe_file(path) for path in options.carriers],
            "lists": [describe_file(options.lists / "medical" / f"{name}.txt.gz") for name in LISTS_READ],
            "limit": options.limit,
            "seed": options.seed,
            "profiles": profiles,
        },
    )


def clinical_notes(
    paths: Sequence[Path], lists: Gazetteers, limit: int | None, seed: int
) -> dict[str, list[list[Line]]]:
    """Return the screened lines of every report by name of its file, all or ``limit`` reports of each."""
    return {
        f"clinical: {path.name}": [
            [Line(sentence) for sentence in report] for report in sample(screened_sentences([path], lists), limit, seed)
        ]
        for path in paths
    }


def terms_by_kind(lists: Gazetteers) -> dict[str, list[str]]:
    """Return the terms of each kind of :data:`SENTENCES`, each once, in the order of the lists."""
    eponyms = list(dict.fromkeys(lists.eponyms))
    return {
        "eponyms": [term for term in eponyms if not _SCORE.search(term)],
        "scores": [term for term in eponyms if _SCORE.search(term)],
        "drugs": list(dict.fromkeys(lists.drugs)),
        "devices": list(dict.fromkeys(lists.devices)),
    }


def term_notes(
    terms: Mapping[str, Sequence[str]], limit: int | None, seed: int, *, is_joined: bool
) -> dict[str, list[list[Line]]]:
    """Return, by kind, a note for each term and sentence, and where wanted also notes of :data:`JOINED_LINES` lines."""
    texts: dict[str, list[list[Line]]] = {}
    for kind, values in terms.items():
        lines = [line for term in sample(values, limit, seed) for line in term_lines(kind, term)]
        texts[f"terms: {kind}"] = [[line] for line in lines]
        if is_joined:
            shuffled = list(lines)
            random.Random(seed).shuffle(shuffled)
            starts = range(0, len(shuffled), JOINED_LINES)
            texts[f"terms, joined: {kind}"] = [shuffled[start : start + JOINED_LINES] for start in starts]
    return texts


def term_lines(kind: str, term: str) -> Iterator[Line]:
    """Yield the ten sentences of a kind with ``term`` in each."""
    for number, sentence in enumerate(SENTENCES[kind]):
        written = term[0].upper() + term[1:] if kind == "drugs" and number % 2 else term
        before, _, after = sentence.partition("{x}")
        if number in (_LOWER, _UPPER):
            before, written, after = (
                part.upper() if number == _UPPER else part.lower() for part in (before, written, after)
            )
        yield Line(before + written + after, (len(before), len(before) + len(written)))


def sample(values: Sequence[Any], limit: int | None, seed: int) -> list[Any]:
    """Return ``limit`` values drawn without replacement, in their order; all of them where there are no more."""
    if limit is None or limit >= len(values):
        return list(values)
    return [values[at] for at in sorted(random.Random(seed).sample(range(len(values)), limit))]


def measure(pipeline: Pipeline, notes: Iterable[Sequence[Line]]) -> Tally:
    """Search the notes and count what is tagged in them."""
    tally = Tally()
    rest = iter(notes)
    while batch := list(islice(rest, BATCH_NOTES)):
        texts = ["\n".join(line.text for line in lines) for lines in batch]
        outcomes = pipeline.detect([Note(str(number), text) for number, text in enumerate(texts)])
        for lines, text, outcome in zip(batch, texts, outcomes, strict=True):
            if isinstance(outcome, Quarantined):
                raise SystemExit(f"a note was quarantined in {outcome.stage}: {outcome.reason}")
            tally.add(count(lines, text, outcome.spans))
    return tally


def count(lines: Sequence[Line], text: str, spans: Sequence[Span]) -> Tally:
    """Count what ``spans``, sorted and disjoint, touch in the note ``text`` of ``lines``."""
    tally = Tally(notes=1, notes_touched=bool(spans))
    for span in spans:
        source = " + ".join(span.sources)
        tally.strings[text[span.start : span.end], span.label, source] += 1
    rest = list(spans)
    for match in TOKEN.finditer(text):
        tally.tokens += 1
        while rest and rest[0].end <= match.start():
            rest.pop(0)
        if rest and rest[0].start < match.end():
            tally.wrong += 1
            tally.labels[rest[0].label] += 1
            tally.sources[" + ".join(rest[0].sources)] += 1
            tally.finders[finder(rest[0].sources)] += 1
    start = 0
    for line in lines:
        if line.term is not None:
            tally.terms += 1
            first, last = start + line.term[0], start + line.term[1]
            if any(span.start < last and first < span.end for span in spans):
                tally.terms_touched += 1
                tally.touched_terms[text[first:last].casefold()] += 1
        start += len(line.text) + 1
    return tally


def finder(sources: Sequence[str]) -> str:
    """Say who is to be mended: rules alone, models alone, or both."""
    is_model = {source.startswith("model:") for source in sources if source != "propagation"}
    if not is_model:
        return "propagation alone"
    return "models and rules" if len(is_model) > 1 else "models" if is_model == {True} else "rules"


def print_summary(profile: str, tallies: Mapping[str, Tally], show: int) -> None:
    """Print the rates, and where asked for the strings that are tagged most often."""
    strings: Counter[tuple[str, str, str, str]] = Counter()
    for name, tally in tallies.items():
        strings.update({(name.partition(":")[0], *string): times for string, times in tally.strings.items()})
        figures = tally.to_json()
        print(
            f"{profile:<6}{name:<40}{tally.tokens:>9} tokens, {figures['wrong_per_1000_tokens']} wrong per 1,000"
            + (f", over-redaction {figures['over_redaction']:.4f} of {tally.terms}" if tally.terms else "")
        )
        print(f"      {figures['by_finder']}")
    for (kind, text, label, source), times in strings.most_common(show):
        print(f"{times:>6}  {kind:<15}{label:<15}{source:<40}{text!r}")


if __name__ == "__main__":
    main()

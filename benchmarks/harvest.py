"""What do harvested inclusion lines and templates cover, and do they ever cost precision or recall?

    python benchmarks/harvest.py --train train.jsonl --dev dev.jsonl [--terms drugs.txt.gz] [--plain reports.jsonl.gz]

Method: ``deid_export.adapt.harvest`` runs on the training notes, once with their annotation and once with what the
ensemble finds in them. For the measurement every candidate is accepted, which nobody should do with notes of patients:
the figures are those of the checks alone, without the person. The accepted lines go behind those of the package. Then
the embedded pipeline searches notes that were not harvested from, with and without them, and
``deid_runtime.evaluation`` compares both with the annotation: the dev notes, and as a larger set the other half of the
training notes, harvested from one half of the patients (the models have learnt those notes, so only the difference
tells).

So few sentences repeat in a corpus of some hundred patients that single tokens decide. ``cross_halves`` therefore
counts every sentence that a harvested line speaks for: the training patients are halved three times, each half is
harvested (checked by patterns alone) and the lines are held against the annotation of the other. ``same``: just the
identifiers and labels of the sentence; ``other_bounds_or_label``: the same letters and digits; ``over``: more than
those; ``leak``: an identifier is left, or an inclusion line holds one.

``--plain`` names notes without annotation or patients, each taken for a patient: harvested from one half with what the
ensemble finds, the other half shows coverage, and how many spans fewer are found in it.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from measuring import RESULTS, describe_file, describe_machine, write_results

from deid_export.adapt.harvest.candidates import Candidate, ListName, write_accepted
from deid_export.adapt.harvest.collect import HarvestSettings, harvest, screen_with
from deid_export.adapt.harvest.counting import digest
from deid_export.adapt.harvest.passages import MarkedNote, Passage, passages
from deid_export.adapt.harvest.sources import DetectedNotes, Pass
from deid_export.adapt.harvest.terms import TermList, read_terms
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.detectors.inclusion import load_inclusion, normalise
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.templates import Templates, compile_template, load_templates
from deid_runtime.evaluation import evaluate, read_gold
from deid_runtime.formats import read_notes
from deid_runtime.formats.records import ReadOptions, Source
from deid_runtime.pipeline import Detected, load_pipeline
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, Span
from deid_runtime.text.sentences import split_sentences

_BATCH_NOTES = 32
CROSS_HALVINGS = 3
CROSS_PATIENTS = (2, 3, 5)
#: Results to the row of the table.
_SEARCHED = {
    "train_to_dev_by_annotation": "training notes as annotated, dev",
    "train_to_dev_by_ensemble": "training notes as `fast` sees them, dev",
    "half_of_train_to_other_half": "one half of their patients, the other half",
}
_KINDS = {"templates": "templates", "inclusion": "sentence lines"}
PACKAGE = Path(load_templates.__code__.co_filename).parents[1] / "data"


def main() -> None:
    """Harvest, measure with and without, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path, required=True, help="annotated JSON Lines with id, patient, text, spans")
    parser.add_argument("--dev", type=Path, required=True, help="the same, of other patients")
    parser.add_argument("--plain", type=Path, help="JSON Lines with id and text")
    parser.add_argument("--terms", type=Path, nargs="*", default=[], help="lists of diseases and drugs")
    parser.add_argument("--min-patients", type=int, default=3, help="a corpus of some hundred patients repeats little")
    parser.add_argument("--profile", choices=("fast", "full"), default="fast")
    parser.add_argument("--notes", type=int, help="use only so many notes of each file, to try the script")
    parser.add_argument("--results", type=Path, default=RESULTS / "harvest.json")
    options = parser.parse_args()
    machine = describe_machine()
    settings = Settings(profile=options.profile)
    wanted = HarvestSettings(min_patients=options.min_patients)
    terms = read_terms(options.terms)
    train, dev = (read_gold(path)[: options.notes] for path in (options.train, options.dev))
    one_half = [note for note in train if digest(note.patient) % 2]
    other_half = [note for note in train if not digest(note.patient) % 2]
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for marks in ("annotation", "ensemble"):
            lists = accepted(train, marks, terms, settings, wanted, folder)
            results[f"train_to_dev_by_{marks}"] = lists.about | {
                "coverage_train": coverage(train, settings, lists.settings),
                "coverage_dev": coverage(dev, settings, lists.settings),
                "scores_dev": with_and_without(dev, lists),
            }
        lists = accepted(one_half, "annotation", terms, settings, wanted, folder)
        results["half_of_train_to_other_half"] = lists.about | {
            "coverage": coverage(other_half, settings, lists.settings),
            "scores": with_and_without(other_half, lists),
        }
        results["cross_halves"] = {
            f"from_{patients}_patients": cross_halves(train, terms, HarvestSettings(min_patients=patients), folder)
            for patients in CROSS_PATIENTS
        }
        if options.plain:
            notes = plain_notes(options.plain)[: options.notes]
            lists = accepted(notes[::2], "ensemble", terms, settings, wanted, folder)
            results["half_of_plain_to_other_half"] = lists.about | {
                "coverage": coverage(notes[1::2], settings, lists.settings),
                "spans_found": {
                    label: sum(len(spans) for spans in find(notes[1::2], chosen)[0].values())
                    for label, chosen in (("without", settings), ("with", lists.settings))
                },
            }
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "files": [describe_file(path) for path in (options.train, options.dev, options.plain) if path],
            "terms": len(terms),
            "profile": options.profile,
            "harvest": asdict(wanted),
            "results": results,
        },
    )


def render(results: Mapping[str, Any]) -> str:
    """Return two tables of the results in Markdown: what lines cover and cost, and how they agree with annotation."""
    found = results["results"]
    lines = _table(
        "harvested from, searched", "sentence lines, templates", "sentences", "explained by the package",
        "and by what was harvested", "missed, without to with", "wrong, without to with",
    )  # fmt: skip
    for key, name in _SEARCHED.items():
        row = found[key]
        covers = row.get("coverage_dev") or row["coverage"]
        scores = row.get("scores_dev") or row["scores"]
        before, after = (scores[which]["groups"]["C"] for which in ("without", "with"))
        lines.append(
            f"| {name} | {row['candidates']['frequent'] + row['candidates']['term']:,}, "
            f"{row['candidates']['templates']:,} | {covers['sentences']:,} "
            f"| {covers['packaged_inclusion'] + covers['packaged_templates']:,} "
            f"| {covers['harvested_inclusion'] + covers['harvested_templates']:,} "
            f"| {before['missed']:,} to {after['missed']:,} | {before['wrong']:,} to {after['wrong']:,} |"
        )
    lines += ["", *_table(
        "lines met in so many patients", "sentences with just the identifiers", "other borders or label",
        "more than the identifiers", "an identifier left",
    )]  # fmt: skip
    for patients in CROSS_PATIENTS:
        for kind, counts in found["cross_halves"][f"from_{patients}_patients"].items():
            cells = " | ".join(f"{counts.get(way, 0):,}" for way in ("same", "other_bounds_or_label", "over", "leak"))
            lines.append(f"| {patients}: {counts['lines']:,} {_KINDS[kind]} | {cells} |")
    return "\n".join(lines)


def _table(*columns: str) -> list[str]:
    """Return the head of a table, its first column to the left."""
    return [f"| {' | '.join(columns)} |", f"| --- |{' ---: |' * (len(columns) - 1)}"]


class Lists:
    """Settings that use the harvested lines: all of them, or those of one file."""

    def __init__(self, folder: Path, settings: Settings, candidates: Sequence[list[Candidate]], about: dict[str, Any]):
        names: tuple[ListName, ListName] = ("inclusion", "templates")
        paths = []
        for name, some in zip(names, candidates, strict=True):
            path = folder / f"{name}.txt"
            taken = [replace(candidate, status="accepted") for candidate in some]
            write_accepted(path, taken, name, before=(PACKAGE / path.name).read_bytes())
            paths.append(path)
        self.about = about
        self.templates = [candidate.line for candidate in candidates[1]]
        self.sentences = [candidate.line for candidate in candidates[0]]
        self.without = settings
        self.inclusion_only = replace(settings, inclusion=paths[0])
        self.templates_only = replace(settings, templates=paths[1])
        self.settings = replace(settings, inclusion=paths[0], templates=paths[1])


def accepted(
    notes: Sequence[AnnotatedNote],
    marks: str,
    terms: TermList,
    settings: Settings,
    wanted: HarvestSettings,
    folder: Path,
) -> Lists:
    """Harvest from ``notes`` and accept everything."""
    with load_pipeline(settings, key=None, records={}) as pipeline:
        plain = [Note(note.id, note.text, note.patient) for note in notes]
        with DetectedNotes(lambda: iter(plain), pipeline) as detected:
            source: Pass = detected if marks == "ensemble" else annotated(notes)
            result = harvest(
                source,
                inclusion=load_inclusion(None, screen=find_patterns),
                templates=load_templates(None),
                screen=screen_with(pipeline),
                terms=terms,
                settings=wanted,
            )
    kinds = ("frequent", "term")
    about = {
        "counts": dict(result.counts),
        "candidates": {kind: sum(c.kind == kind for c in result.inclusion) for kind in kinds}
        | {"templates": len(result.templates)},
        "templates_with_identifiers": sum(bool(c.evidence["fewest_values_of_a_slot"]) for c in result.templates),
        "dropped": dict(result.dropped),
    }
    return Lists(folder, settings, (result.inclusion, result.templates), about)


def annotated(notes: Sequence[AnnotatedNote]) -> Pass:
    """Return a pass over annotated notes."""
    return lambda: (MarkedNote(note.text, digest(note.patient), note.spans) for note in notes)


def coverage(notes: Sequence[AnnotatedNote], without: Settings, with_lines: Settings) -> dict[str, int]:
    """Count the sentences that the lists of the package explain, and those that the harvested lines explain besides."""
    counts = {"sentences": 0}
    known = [
        (name, load_inclusion(settings.inclusion, screen=find_patterns), load_templates(settings.templates))
        for name, settings in (("packaged", without), ("harvested", with_lines))
    ]
    for name, _, _ in known:
        counts |= {f"{name}_inclusion": 0, f"{name}_templates": 0}
    for note in notes:
        for sentence in split_sentences(note.text):
            text = note.text[sentence.start : sentence.end]
            if not text.strip():
                continue
            counts["sentences"] += 1
            for name, inclusion, templates in known:
                if text in inclusion:
                    counts[f"{name}_inclusion"] += 1
                elif templates.match(text) is not None:
                    counts[f"{name}_templates"] += 1
                else:
                    continue
                break
    return counts


def cross_halves(
    train: Sequence[AnnotatedNote], terms: TermList, wanted: HarvestSettings, folder: Path
) -> dict[str, dict[str, int]]:
    """Harvest from halves of the patients and count how the lines agree with the other halves."""
    totals: dict[str, Counter[str]] = {"templates": Counter(), "inclusion": Counter()}
    for salt in range(CROSS_HALVINGS):
        for side in (0, 1):
            here = [note for note in train if digest(f"{salt} {note.patient}") % 2 == side]
            there = [note for note in train if digest(f"{salt} {note.patient}") % 2 != side]
            lists = accepted(here, "annotation", terms, Settings(use_models=False), wanted, folder)
            templates = Templates([compile_template(line) for line in lists.templates])
            sentences = {normalise(line) for line in lists.sentences}
            for totalled, lines in (("templates", lists.templates), ("inclusion", lists.sentences)):
                totals[totalled]["lines"] += len(lines)
            for note in there:
                for passage in passages(MarkedNote(note.text, 0, note.spans)):
                    if normalise(passage.text) in sentences:
                        totals["inclusion"]["leak" if passage.spans else "same"] += 1
                    found = templates.match(passage.text)
                    if found is not None:
                        totals["templates"][agreement(passage, found)] += 1
    return {name: dict(counts) for name, counts in totals.items()}


def agreement(passage: Passage, found: Sequence[Span]) -> str:
    """Say how the slots of a template agree with the identifiers of a sentence."""
    if [(s.start, s.end, s.label) for s in found] == [(s.start, s.end, s.label) for s in passage.spans]:
        return "same"
    slots, marked = (
        {at for span in spans for at in range(span.start, span.end) if passage.text[at].isalnum()}
        for spans in (found, passage.spans)
    )
    return "leak" if marked - slots else "over" if slots - marked else "other_bounds_or_label"


def find(notes: Sequence[AnnotatedNote], settings: Settings) -> tuple[dict[str, Any], float]:
    """Return the spans found in each note, and the seconds that the models took."""
    found = {}
    with load_pipeline(settings, key=None, records={}) as pipeline:
        for first in range(0, len(notes), _BATCH_NOTES):
            batch = notes[first : first + _BATCH_NOTES]
            for outcome in pipeline.detect([Note(note.id, note.text, note.patient) for note in batch]):
                if not isinstance(outcome, Detected):
                    raise SystemExit(f"note {outcome.note_id} was quarantined; a benchmark needs a clean run")
                found[outcome.note_id] = outcome.spans
        return found, pipeline.stage_seconds["models"]


def with_and_without(notes: Sequence[AnnotatedNote], lists: Lists) -> dict[str, Any]:
    """Score the notes without the harvested lines, with those of each sort, and with all."""
    scores = {}
    for name, settings in (
        ("without", lists.without),
        ("inclusion_only", lists.inclusion_only),
        ("templates_only", lists.templates_only),
        ("with", lists.settings),
    ):
        found, model_seconds = find(notes, settings)
        report = evaluate(notes, found, bootstrap_resamples=1)
        groups = {
            group: {
                "missed": score.tokens.false_negatives,
                "wrong": score.tokens.false_positives,
                "precision": round(score.tokens.precision or 0.0, 5),
                "recall": round(score.tokens.recall or 0.0, 5),
            }
            for group, score in report.groups.items()
        }
        scores[name] = {"groups": groups, "model_seconds": round(model_seconds, 2)}
        print(name, groups["C"])
    return scores


def plain_notes(path: Path) -> list[AnnotatedNote]:
    """Read notes without annotation."""
    items = read_notes(Source(path, path.name, "jsonl", 0), ReadOptions())
    return [AnnotatedNote(item.id, item.patient, item.type, item.text, ()) for item in items if isinstance(item, Note)]


if __name__ == "__main__":
    main()

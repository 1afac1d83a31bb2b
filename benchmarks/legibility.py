"""How much leaks from notes in a form that hides text from detectors, and which of them are held back?

    python benchmarks/legibility.py --notes export/corpus/notes/train --clean export/corpus/notes/train \
        --clean examples/notes.jsonl --clean reports.jsonl.gz --work out

Method: annotated notes (``--count``) are written anew in every form of ``legibility_attacks.py``: the whole note, all
its identifiers, or one of them. The ``fast`` profile searches their views, with the check for illegible forms off. A
letter or digit of an identifier leaks when no span covers it. Counted are all notes that the form changes, and those of
them that the check lets pass; of notes with one rewritten identifier, only that identifier counts.

No clean note may be held back. Clean notes are tagged text, or JSON Lines in which the fields ``text``, ``note`` and
``dialogue`` are a note each. For every sign of the check the clean note that comes nearest is written: 1 would be held
back, 0.5 has half the marks that it takes. Speed is the processor time of the view and its check beside that of the
whole pipeline on 300 notes, and of the check on a mebibyte of each form. ``--work`` keeps what was searched:
run again to go on.
"""

import argparse
import gzip
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any, Final, Literal, get_args

from legibility_attacks import ATTACKS, Attack
from measuring import RESULTS, describe_machine, write_results

from deid_export.data.corpus import corpus_digest
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, Span
from deid_runtime.text.legibility import SIGNS, find_signs, illegible
from deid_runtime.text.reading.view import read_view

Row = dict[str, Any]
Dose = Literal["note", "identifiers", "one identifier"]

_FIELDS: Final = ("text", "note", "dialogue")


@dataclass(frozen=True, slots=True)
class Attacked:
    """A note in another form; ``wanted`` are the half-open offsets that stand for letters and digits of identifiers."""

    text: str = field(repr=False)
    wanted: tuple[tuple[int, int], ...]


def is_held_back(text: str) -> bool:
    """Say whether the pipeline holds a note of this text back, for what its view does not make plain."""
    return bool(illegible(read_view(text).text))


def rewritten(note: AnnotatedNote, attack: Attack, dose: Dose, chosen: Sequence[Span]) -> Attacked:
    """Return ``note`` with the attack on as much of it as ``dose`` says; the ``chosen`` identifiers are counted."""
    inside = {at for span in chosen for at in range(span.start, span.end)}
    parts: list[str] = []
    wanted: list[tuple[int, int]] = []
    length = 0
    for at, char in enumerate(note.text):
        before, instead, after = attack(note.text, at) if dose == "note" or at in inside else ("", char, "")
        parts += before, instead, after
        if at in inside and char.isalnum() and instead:
            wanted.append((length + len(before), length + len(before) + len(instead)))
        length += len(before) + len(instead) + len(after)
    return Attacked("".join(parts), tuple(wanted))


def missed(attacked: Attacked, spans: Sequence[Span]) -> int:
    """Count the wanted characters of which any letter or digit, or else any part, is in no span."""
    found = {at for span in spans for at in range(span.start, span.end)}
    count = 0
    for start, end in attacked.wanted:
        written = [at for at in range(start, end) if attacked.text[at].isalnum()] or range(start, end)
        count += any(at not in found for at in written)
    return count


def attacks_on(notes: Sequence[AnnotatedNote], attack: Attack, dose: Dose) -> list[Attacked]:
    """Return all notes in the form; of each note the same identifier is chosen every time."""
    rng = random.Random(7)
    return [
        rewritten(note, attack, dose, [rng.choice(note.spans)] if dose == "one identifier" else note.spans)
        for note in notes
    ]


def leaks(pipeline: Pipeline, name: str, dose: Dose, attacked: Sequence[Attacked], work: Path) -> list[int]:
    """Return for each note how many wanted characters no span covers. ``work`` keeps the answers."""
    path = work / f"{list(ATTACKS).index(name):02}-{dose.replace(' ', '-')}.json"
    told = {"form": name, "texts": text_digest(each.text for each in attacked)}
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["of"] == told:
            return [int(count) for count in kept["missed"]]
    outcomes = pipeline.detect([Note(str(number), each.text) for number, each in enumerate(attacked)])
    counts = []
    for each, outcome in zip(attacked, outcomes, strict=True):
        if isinstance(outcome, Quarantined):
            sys.exit(f"{name}: a note was held back in stage {outcome.stage}: {outcome.reason}")
        counts.append(missed(each, outcome.spans))
    path.write_text(json.dumps({"of": told, "missed": counts}), encoding="utf-8")
    return counts


def text_digest(texts: Iterable[str]) -> str:
    """Return a digest of all texts, in order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()


def row(name: str, dose: Dose, notes: Sequence[AnnotatedNote], attacked: Sequence[Attacked], counts: list[int]) -> Row:
    """Return the figures of one form in one dose, of the notes that it changes; a share of nothing is None."""
    changed = [
        (each, count, is_held_back(each.text))
        for note, each, count in zip(notes, attacked, counts, strict=True)
        if each.text != note.text or name.startswith("none")
    ]
    passed = [(each, count) for each, count, is_held in changed if not is_held]
    return {
        "form": name,
        "dose": dose,
        "notes": len(changed),
        "leak_before": _share(sum(count for _, count, _ in changed), sum(len(each.wanted) for each, _, _ in changed)),
        "held_back": _share(len(changed) - len(passed), len(changed)),
        "leak_of_passed": _share(sum(count for _, count in passed), sum(len(each.wanted) for each, _ in passed)),
        "leaked_after": _share(sum(count for _, count in passed), sum(len(each.wanted) for each, _, _ in changed)),
    }


def clean_texts(paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield (name of the source, text) of every clean note."""
    for path in paths:
        if path.suffix in (".jsonl", ".gz"):
            with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
                for record in map(json.loads, lines):
                    yield from ((path.name, record[name]) for name in _FIELDS if record.get(name))
        else:
            yield from ((f"corpus {path.name}", note.text) for note in read_annotated([path]))


def clean_figures(paths: Sequence[Path]) -> dict[str, Any]:
    """Count the clean notes, those held back, and how near the nearest comes to each sign."""
    notes: Counter[str] = Counter()
    held: Counter[str] = Counter()
    nearest = dict.fromkeys(range(len(SIGNS)), 0.0)
    for source, text in clean_texts(paths):
        notes[source] += 1
        view = read_view(text).text
        held[source] += bool(illegible(view))
        words = max(len(view.split()), 1)
        for sign, count in find_signs(view):
            near = min(count / sign.least, count / words / sign.share) if sign.share else count / sign.least
            number = SIGNS.index(sign)
            nearest[number] = max(nearest[number], near)
    signs = [
        {"form": sign.form, "least": sign.least, "share": sign.share, "nearest_clean": round(nearest[number], 3)}
        for number, sign in enumerate(SIGNS)
    ]
    return {"notes": dict(notes), "held_back": sum(held.values()), "of": notes.total(), "signs": signs}


def speed_figures(notes: Sequence[AnnotatedNote]) -> dict[str, Any]:
    """Return processor time of the check and of the whole pipeline on ``notes``, and of the check on long texts."""
    texts = [note.text for note in notes]
    with load_pipeline(Settings(profile="fast"), key=bytes(32), records={}) as pipeline:
        pipeline.deidentify([Note("warm", texts[0])])
        begun = process_time()
        pipeline.deidentify([Note(str(number), text) for number, text in enumerate(texts)])
        whole = process_time() - begun
    begun = process_time()
    for _ in range(10):
        for text in texts:
            is_held_back(text)
    check = (process_time() - begun) / 10
    slowest = 0.0
    for name, attack in ATTACKS.items():
        text = rewritten(AnnotatedNote("", "", "", texts[0], ()), attack, "note", []).text
        text = (text * (2**20 // len(text) + 1))[: 2**20]
        begun = process_time()
        for _ in find_signs(read_view(text).text):
            pass
        took = process_time() - begun
        if took > slowest:
            slowest, slowest_form = took, name
    return {
        "notes": len(texts),
        "characters": sum(map(len, texts)),
        "pipeline_cpu_seconds": round(whole, 3),
        "check_cpu_seconds": round(check, 5),
        "share_of_pipeline": round(check / whole, 5),
        "check_ns_per_character": round(1e9 * check / sum(map(len, texts)), 1),
        "mebibyte_slowest_cpu_seconds": round(slowest, 2),
        "mebibyte_slowest_form": slowest_form,
    }


def render(rows: Sequence[Row]) -> str:
    """Return the table: one line a form, in each cell the doses note / identifiers / one identifier, in percent."""
    lines = ["| form | leak before | notes held back | leak of those that pass |", "| --- | --- | --- | --- |"]
    for name in ATTACKS:
        cells = [
            " / ".join(
                "–" if each[column] is None else f"{100 * each[column]:.1f}" for each in rows if each["form"] == name
            )
            for column in ("leak_before", "held_back", "leak_of_passed")
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(count: int, of: int) -> float | None:
    return round(count / of, 4) if of else None


def main() -> None:
    """Measure, print the table and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, required=True, help="annotated notes to write anew")
    parser.add_argument("--clean", type=Path, action="append", required=True, help="clean notes; may be repeated")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=RESULTS / "legibility.json")
    parser.add_argument("--count", type=int, default=200, help="how many notes to write anew")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    machine = describe_machine()
    marked = [note for note in read_annotated([options.notes]) if note.spans]
    notes = random.Random(5).sample(marked, options.count)
    settings = Settings(profile="fast", hold_back_unreadable=False)
    rows: list[Row] = []
    with load_pipeline(settings, key=None, records={}) as pipeline:
        description = pipeline.describe()
        for name, attack in ATTACKS.items():
            for dose in get_args(Dose):
                attacked = attacks_on(notes, attack, dose)
                rows.append(row(name, dose, notes, attacked, leaks(pipeline, name, dose, attacked, options.work)))
    results = {
        "question": __doc__.splitlines()[0],
        "machine": machine,
        "pipeline": description,
        "corpus_sha256": corpus_digest(notes),
        "clean": clean_figures(options.clean),
        "speed": speed_figures(random.Random(6).sample(marked, 300)),
        "rows": rows,
    }
    print(render(rows))
    write_results(options.results, results)


if __name__ == "__main__":
    main()

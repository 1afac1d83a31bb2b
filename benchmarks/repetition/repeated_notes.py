"""Make notes that repeat each other as notes of a hospital do. The share of repeated sentences is a parameter.

    python benchmarks/repetition/repeated_notes.py --notes export/corpus/notes/train --count 2000 --out repeated.jsonl

In 3.1 billion sentences of a hospital 700 million were distinct, so 77 % of sentences repeat an earlier one. Three
habits make most of them, and this generator has all three:

- **Copy-forward.** Each stay is a row of daily notes. A section of a note (problem list, history, plan ...) is the
  section of the day before, unchanged, or with one line replaced by a new one, or it is new.
- **Boilerplate.** A note ends with some of the fixed paragraphs of its site: attestations, instructions, disclaimers. A
  few of them are in most notes, most are rare.
- **Headers.** A note begins with a title, its date, its day and its author. Half of these lines are new.

New text comes from the blocks of annotated notes, each used once, with their identifiers. All notes of a stay belong to
one patient. Nothing here looks at what a detector finds.

A feedback keeps the share of repeated sentences at ``share``: sections are copied more often while the share so far is
too low. A sentence counts as repeated when an equal one, without white space around it, stands earlier in the corpus.
"""

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deid_runtime.annotations.read import read_annotated
from deid_runtime.text.sentences import split_sentences

_BLANK_LINE: Final = re.compile(r"\n[ \t]*\n+")
_SECTIONS: Final = (
    "HISTORY OF PRESENT ILLNESS", "PAST MEDICAL HISTORY", "MEDICATIONS", "SOCIAL HISTORY", "EXAM", "RESULTS",
    "ASSESSMENT", "PLAN",
)  # fmt: skip
_BOILERPLATE: Final = (
    "I have seen and examined the patient and agree with the findings and plan of the resident as documented above.",
    "All systems were reviewed and are negative unless stated otherwise.",
    "Medications were reviewed and reconciled with the patient.",
    "The patient was told to return for fever, chest pain, shortness of breath or any new concern.",
    "Risks, benefits and alternatives were discussed, and all questions were answered.",
    "This note was dictated with speech recognition software and may hold errors of transcription.",
    "More than half of the time of this visit was spent on counseling and coordination of care.",
    "Code status was discussed and is full code.",
    "Fall precautions are in place. The bed is low and locked. The call light is within reach.",
    "Hand hygiene was performed before and after the visit.",
    "Diet: regular as tolerated. Activity: as tolerated with assistance.",
    "DVT prophylaxis: enoxaparin. GI prophylaxis: pantoprazole.",
)
_DAYS: Final = (4, 12)  # notes of a stay, at least and at most
_SECTIONS_OF_NOTE: Final = (4, 8)
_EDITED: Final = 0.2  # share of the copied sections in which one line is new
_CHANCES: Final = (0.95, 0.55)  # that a section is copied, while the share is too low, and while it is not


@dataclass(slots=True)
class _Counted:
    """The sentences so far."""

    seen: set[str] = field(default_factory=set)
    repeated: int = 0
    total: int = 0

    def add(self, text: str) -> None:
        for sentence in split_sentences(text):
            line = text[sentence.start : sentence.end].strip()
            if line:
                self.total += 1
                self.repeated += line in self.seen
                self.seen.add(line)

    @property
    def share(self) -> float:
        return self.repeated / self.total if self.total else 0.0


def repeated_notes(blocks: Sequence[str], count: int, share: float, seed: int = 0) -> Iterator[dict[str, str]]:
    """Yield ``count`` notes with ``id``, ``patient`` and ``text``; about ``share`` of their sentences are repeated.

    ``blocks`` are stretches of notes without a blank line, each used once. Raises ValueError when they do not suffice.
    """
    generator = random.Random(seed)
    fresh = list(blocks)
    generator.shuffle(fresh)
    counted = _Counted()
    stay = made = 0
    while made < count:
        stay += 1
        sections: dict[str, str] = {}
        names = sorted(generator.sample(_SECTIONS, generator.randint(*_SECTIONS_OF_NOTE)), key=_SECTIONS.index)
        start = generator.randrange(365 * 20)
        for day in range(min(generator.randint(*_DAYS), count - made)):
            made += 1
            chance = _CHANCES[counted.share >= share]
            for name in names:
                sections[name] = _section(sections.get(name), chance, fresh, generator)
            text = _note(sections, stay, start, day, generator)
            counted.add(text)
            yield {"id": f"stay-{stay}-day-{day}", "patient": f"patient-{stay}", "text": text}


def _section(before: str | None, chance: float, fresh: list[str], generator: random.Random) -> str:
    """Return the section of the day before, unchanged or with one new line, or a new block."""
    if len(fresh) < 2:
        raise ValueError("the notes have too few blocks; give more notes, or ask for fewer or for a larger share")
    if before is None or generator.random() >= chance:
        return fresh.pop()
    if generator.random() >= _EDITED:
        return before
    lines = before.split("\n")
    lines[generator.randrange(len(lines))] = generator.choice(fresh.pop().split("\n"))
    return "\n".join(lines)


def _note(sections: dict[str, str], stay: int, start: int, day: int, generator: random.Random) -> str:
    month, of_month = divmod((start + day) % 336, 28)
    header = (
        f"PROGRESS NOTE\nDate of service: {month + 1:02}/{of_month + 1:02}/{2001 + (start + day) // 365}\n"
        f"Hospital day {day + 1}\nAccount: {70_000_000 + 1_000 * stay + day}"
    )
    # The paragraph with number n is in 1 / (n + 1) of the notes.
    fixed = [line for rank, line in enumerate(_BOILERPLATE) if generator.random() < 1 / (rank + 1)]
    return "\n\n".join([header, *(f"{name}:\n{text}" for name, text in sections.items()), *fixed])


def blocks_of(notes: Path) -> list[str]:
    """Return the blocks of annotated notes, in order: stretches without a blank line, each once."""
    found = (
        block.strip() for note in read_annotated([notes]) for block in _BLANK_LINE.split(note.text) if block.strip()
    )
    return list(dict.fromkeys(found))


def share_of(texts: Sequence[str]) -> float:
    """Return the share of sentences that stand in an earlier text, or earlier in the same one."""
    counted = _Counted()
    for text in texts:
        counted.add(text)
    return counted.share


def main() -> None:
    """Write the notes as JSON Lines, and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, required=True, help="annotated notes to take new text from")
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--share", type=float, default=0.75, help="of sentences that repeat an earlier one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    notes = list(repeated_notes(blocks_of(options.notes), options.count, options.share, options.seed))
    with options.out.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(note, ensure_ascii=False) + "\n" for note in notes)
    texts = [note["text"] for note in notes]
    print(f"{len(notes)} notes, {sum(map(len, texts))} characters, {share_of(texts):.1%} of sentences are repeated")


if __name__ == "__main__":
    main()

"""Draw notes of a release for a blind review, whose result gives a bound for all notes.

The design makes the bound of :mod:`deid_runtime.audit.leak_bound` exact:

- **Strata** are the note types. Types that would get fewer than :data:`LEAST_DRAWS` draws form one stratum together.
  Draws are shared out in proportion to the notes of each stratum (largest remainders), so all notes have the same
  weight.
- **A draw** picks a patient of the stratum at random, with a chance in proportion to the patient's notes of the
  stratum, and then ``notes_per_patient`` of these notes at random (all, when there are fewer). Draws are independent: a
  patient can be drawn again, and a note that is drawn again is read once and counts each time. So the share of notes
  with a leak in one draw has the true share of the stratum as its mean, for any number of notes
  per patient and any similarity of these.

The same notes in any order, with the same seed, give the same sample. A note without a patient counts as a separate
patient.
"""

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from deid_runtime.errors import InputError, OutputError, SourceError
from deid_runtime.formats import read_notes
from deid_runtime.formats.records import ReadOptions, Unreadable
from deid_runtime.formats.sources import find_inputs
from deid_runtime.spans import Note
from deid_runtime.system.owner_only import write_owner_only
from deid_runtime.system.shown_ids import shown_id

#: Fewest draws of a note type that forms its own stratum.
LEAST_DRAWS: Final = 5
#: Names of the files in the folder of a sample.
DESIGN_FILE, NOTES_FILE = "sample.json", "notes.jsonl"
OTHER_TYPES: Final = "other types"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw: the stratum, and the ids of the notes to read, all of one patient."""

    stratum: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stratum:
    """A note type, or several rare ones together: the number of notes in the release, and the draws."""

    name: str
    notes: int
    patients: int
    draws: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A drawn sample and its design. ``strata`` by name; ``draws`` in a random order."""

    seed: int
    confidence: float
    notes_per_patient: int
    release_notes: int
    release_patients: int
    strata: tuple[Stratum, ...]
    draws: tuple[Draw, ...] = field(repr=False)

    @property
    def note_ids(self) -> list[str]:
        """The ids of the notes to read, each once, in the order of the draws."""
        return list(dict.fromkeys(note_id for draw in self.draws for note_id in draw.notes))


def read_release(paths: Sequence[Path], options: ReadOptions, format_name: str | None = None) -> list[Note]:
    """Return the notes of a release, in the formats of ``deid run``.

    Raises SourceError for a file that cannot be read, a record that is not a note, and an id that occurs twice.
    """
    inputs, _ = find_inputs(paths, format_name)
    notes: list[Note] = []
    seen: set[str] = set()
    for source in inputs:
        for item in read_notes(source, options):
            if isinstance(item, Unreadable):
                raise SourceError(
                    f"{item.position or source.name}: {item.reason}; a sample needs all notes, so correct this one"
                )
            if item.id in seen:
                raise SourceError(f"note id {shown_id(item.id)} occurs twice; a review needs unique ids")
            seen.add(item.id)
            notes.append(item)
    return notes


def draw_sample(
    notes: Sequence[Note], *, draws: int, notes_per_patient: int = 1, seed: int, confidence: float = 0.95
) -> Sample:
    """Draw a sample from all notes of a release. Raises InputError when there are none."""
    if not notes:
        raise InputError("there is no note to draw from; expected the output of `deid run`")
    by_type: defaultdict[str, list[Note]] = defaultdict(list)
    for note in sorted(notes, key=lambda note: note.id):
        by_type[note.type].append(note)
    members = _strata(by_type, draws)
    shares = _share_out({name: len(of) for name, of in members.items()}, draws)
    rng = random.Random(seed)
    drawn = [
        Draw(name, chosen)
        for name, of in members.items()
        for chosen in _draw_stratum(of, shares[name], notes_per_patient, rng)
    ]
    rng.shuffle(drawn)
    return Sample(
        seed=seed,
        confidence=confidence,
        notes_per_patient=notes_per_patient,
        release_notes=len(notes),
        release_patients=len({_patient(note) for note in notes}),
        strata=tuple(
            Stratum(name, len(of), len({_patient(note) for note in of}), shares[name]) for name, of in members.items()
        ),
        draws=tuple(drawn),
    )


def write_sample(folder: Path, sample: Sample, notes: Sequence[Note]) -> None:
    """Write the design and the notes to read into a new folder that only its owner may open.

    Raises OutputError when the folder exists or cannot be created.
    """
    by_id = {note.id: note for note in notes}
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created ({error.strerror}); expected a new folder") from None
    rows = (
        {"id": each.id, "patient": each.patient, "type": each.type, "text": each.text}
        for each in map(by_id.__getitem__, sample.note_ids)
    )
    write_owner_only(
        folder / NOTES_FILE, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows), what="notes to read"
    )
    design = {"version": _VERSION, **asdict(sample)}
    write_owner_only(
        folder / DESIGN_FILE, [json.dumps(design, ensure_ascii=False, indent=1) + "\n"], what="the design of the sample"
    )


def read_sample(folder: Path) -> tuple[Sample, dict[str, Note]]:
    """Return the sample that :func:`write_sample` wrote, and its notes by id.

    Raises SourceError when the files do not belong to the same sample.
    """
    path = folder / DESIGN_FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("version") != _VERSION:
            raise SourceError(f"{path}: written by another version of deid; expected format version {_VERSION}")
        content["strata"] = tuple(Stratum(**each) for each in content["strata"])
        content["draws"] = tuple(Draw(each["stratum"], tuple(each["notes"])) for each in content["draws"])
        sample = Sample(**content)
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read ({error.strerror}); expected a folder from `deid audit sample`"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SourceError(f"{path}: not the design of a sample; expected a folder from `deid audit sample`") from None
    notes = {note.id: note for note in read_release([folder / NOTES_FILE], ReadOptions())}
    if set(sample.note_ids) != notes.keys():
        raise SourceError(f"{folder}: {NOTES_FILE} does not match {DESIGN_FILE}; draw a new sample")
    return sample, notes


def _strata(by_type: Mapping[str, list[Note]], draws: int) -> dict[str, list[Note]]:
    """Return the notes by stratum: types with enough draws, and all others together."""
    total = sum(map(len, by_type.values()))
    large = {name: of for name, of in sorted(by_type.items()) if draws * len(of) >= LEAST_DRAWS * total}
    rest = [note for name, of in sorted(by_type.items()) if name not in large for note in of]
    members = {name or "(no type)": of for name, of in large.items()}
    if rest:
        members[OTHER_TYPES] = [*members.get(OTHER_TYPES, []), *rest]
    return members


def _share_out(sizes: Mapping[str, int], draws: int) -> dict[str, int]:
    """Return draws by stratum in proportion to its notes, at least one each, by largest remainders."""
    total = sum(sizes.values())
    shares = {name: max(1, draws * size // total) for name, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda name: (-(draws * sizes[name] % total), name))
    for name in by_remainder[: max(0, draws - sum(shares.values()))]:
        shares[name] += 1
    return shares


def _draw_stratum(
    notes: Sequence[Note], draws: int, notes_per_patient: int, rng: random.Random
) -> list[tuple[str, ...]]:
    by_patient: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for note in notes:
        by_patient[_patient(note)].append(note.id)
    chosen = []
    for _ in range(draws):
        # The patient of a note at random: a chance in proportion to the patient's notes.
        own = by_patient[_patient(rng.choice(notes))]
        chosen.append(tuple(sorted(rng.sample(own, min(notes_per_patient, len(own))))))
    return chosen


def _patient(note: Note) -> tuple[str, str]:
    return ("patient", note.patient) if note.patient else ("note", note.id)

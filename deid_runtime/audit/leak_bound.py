"""An upper bound on the share of notes with a leak, from a blind review of a sample.

A note *holds a leak* when a reader marked at least one identifier in it; for group A or B, an identifier of that group
(:mod:`deid_runtime.labels`). A note that no reader read completely counts as a note with a leak of every group, because
an unread note proves nothing.

The bound is Clopper and Pearson's (1934), one-sided: the share at which so few leaks would be seen with only a
probability of 1 - confidence. It counts **draws, not notes**: notes of one patient repeat the same leak, so several of
them prove little more than one. The draws of :mod:`deid_runtime.audit.sample` are independent, and the share of notes
with a leak in a draw lies in [0, 1] with the true share as its mean; among such variables, those that are 0 or 1 spread
most, so the binomial bound on the sum of shares over the number of draws holds for all of them. It was chosen by
simulation (``benchmarks/leak_bound.py``): it has the stated coverage for any number of notes per patient and any
similarity of these. The exact bound on notes, without correction, does not (its coverage is 52 to 95 %). That of Korn
and Graubard (1998), with an estimated design effect, does not where there are few leaks (89 to 95 %).

The bound covers what readers see. Readers also overlook identifiers, so let two people read a share of the notes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from math import ceil, log
from typing import Final

from deid_runtime.audit.blind_review import ReadNote
from deid_runtime.audit.sample import Sample
from deid_runtime.errors import SettingsError
from deid_runtime.evaluation.ages import age_years
from deid_runtime.labels import group_of
from deid_runtime.spans import Note, Span
from deid_runtime.system.extras import install_extra

GROUPS: Final = ("A", "B", "C")
#: Target shares of the table of sample sizes: what a clean sample must prove.
_TARGETS: Final = (0.05, 0.01, 0.005, 0.001)


@dataclass(frozen=True, slots=True)
class Bound:
    """The bound of one group in one stratum, or in all (``stratum`` is empty).

    ``leaks`` is the sum over the draws of the share of their notes with a leak. ``leaking_notes`` and ``read_notes``
    count distinct notes. ``upper`` bounds the share of the ``release_notes`` notes that hold a leak.
    """

    group: str
    stratum: str
    draws: int
    leaks: float
    leaking_notes: int
    read_notes: int
    release_notes: int
    upper: float


@dataclass(frozen=True, slots=True)
class LeakBounds:
    """All bounds of a review. ``marked`` notes have a mark; ``unread`` notes were not read whole and count as leaks.

    ``by_two`` notes were read whole by two people or more.

    ``leaking_by_two`` of these have a mark, and ``agreed`` of these have marks of two people or more.
    """

    confidence: float
    bounds: tuple[Bound, ...]
    marked: int
    unread: int
    by_two: int
    leaking_by_two: int
    agreed: int


def require_scipy() -> None:
    """Raise SettingsError when scipy, which computes the bound, is not installed."""
    if find_spec("scipy") is None:
        raise SettingsError(f"the bound needs scipy; {install_extra('audit')}")


def upper_bound(leaks: float, draws: int, confidence: float) -> float:
    """Return the one-sided Clopper-Pearson upper bound of a share, ``leaks`` of ``draws``; ``leaks`` may be a fraction.

    Raises SettingsError when scipy is not installed.
    """
    require_scipy()
    from scipy.stats import beta

    if leaks >= draws:
        return 1.0
    return float(beta.ppf(confidence, leaks + 1, draws - leaks))


def bound_leaks(sample: Sample, notes: Mapping[str, Note], read: Mapping[str, ReadNote]) -> LeakBounds:
    """Return the bounds over all notes and by stratum, for each group.

    ``notes`` and ``read`` have the notes of the sample by id.
    """
    groups = {note_id: _groups(notes[note_id], each) for note_id, each in read.items()}
    strata = {stratum.name: stratum for stratum in sample.strata}
    bounds = []
    for name in ("", *strata):
        drawn = [draw.notes for draw in sample.draws if name in ("", draw.stratum)]
        size = strata[name].notes if name else sample.release_notes
        ids = {note_id for draw in drawn for note_id in draw}
        for group in GROUPS:
            leaks = sum(sum(group in groups[note_id] for note_id in draw) / len(draw) for draw in drawn)
            bounds.append(
                Bound(
                    group=group,
                    stratum=name,
                    draws=len(drawn),
                    leaks=leaks,
                    leaking_notes=sum(group in groups[note_id] for note_id in ids),
                    read_notes=len(ids),
                    release_notes=size,
                    upper=upper_bound(leaks, len(drawn), sample.confidence),
                )
            )
    by_two = [each for each in read.values() if len(each.read_by) > 1]
    return LeakBounds(
        confidence=sample.confidence,
        bounds=tuple(bounds),
        marked=sum(bool(each.marks) for each in read.values()),
        unread=sum(not each.read_by for each in read.values()),
        by_two=len(by_two),
        leaking_by_two=sum(bool(each.marks) for each in by_two),
        agreed=sum(len(each.marked_by) > 1 for each in by_two),
    )


def draws_needed(share: float, confidence: float) -> int:
    """Return how many clean draws prove that at most ``share`` of the notes hold a leak."""
    return ceil(log(1 - confidence) / log(1 - share) - 1e-9)


def tell_beforehand(sample: Sample) -> list[str]:
    """Return text lines, for before the reading, on what the sample proves if it is clean and if it is not."""
    draws, notes = len(sample.draws), len(sample.note_ids)
    clean = upper_bound(0, draws, sample.confidence)
    drawn = (
        f"{notes:,} notes are to be read, in {draws:,} draws of patients from {sample.release_notes:,} notes of "
        f"{sample.release_patients:,} patients; seed {sample.seed}."
    )
    proof = (
        f"If nobody marks anything in them, then with {100 * sample.confidence:.4g} % confidence at most "
        f"{_share(clean)} of all notes hold a leak ({_notes(clean, sample.release_notes)})."
    )
    lines = [drawn, proof]
    for leaks in (1, 3, 10):
        if leaks < draws:
            upper = upper_bound(leaks, draws, sample.confidence)
            statement = f"at most {_share(upper)} ({_notes(upper, sample.release_notes)})"
            lines.append(f"If there is a leak in {leaks} of the draws: {statement}.")
    lines += ["", "By note type, if nobody marks anything:"]
    lines += [
        f"  {each.name}: {each.draws:,} draws, at most {_share(upper_bound(0, each.draws, sample.confidence))} of "
        f"{each.notes:,} notes"
        for each in sample.strata
    ]
    sizes = ", ".join(f"{_share(share)}: {draws_needed(share, sample.confidence):,}" for share in _TARGETS)
    return [*lines, "", f"Clean draws that prove a bound of {sizes}."]


def tell_bounds(found: LeakBounds) -> list[str]:
    """Return the bounds in words."""
    whole = {bound.group: bound for bound in found.bounds if not bound.stratum}
    all_of = whole["C"]
    upper = (
        f"With {100 * found.confidence:.4g} % confidence, at most {_share(all_of.upper)} of the "
        f"{all_of.release_notes:,} notes of the release hold one ({_notes(all_of.upper, all_of.release_notes)})."
    )
    lines = [f"{all_of.read_notes:,} notes were to be read. {_holding(found.marked)}", upper]
    if found.unread:
        lines.append(f"{found.unread:,} notes were not read whole. They count as if they held a leak of every group.")
    lines += ["", "By group (A: Safe Harbor; B: and doctors, user names; C: and places of care, states, ages):"]
    lines += [_row(f"group {group}", bound) for group, bound in whole.items()]
    lines += ["", "By note type, all groups:"]
    lines += [_row(bound.stratum, bound) for bound in found.bounds if bound.stratum and bound.group == "C"]
    lines += ["", "The confidence holds for each line separately, not for all of them together."]
    if found.by_two:
        lines.append(
            f"{found.by_two:,} notes were read by two people; of {found.leaking_by_two:,} with a mark, "
            f"{found.agreed:,} were marked by both. Both may have overlooked the same identifier."
        )
    else:
        lines.append(
            "The bound covers what readers see. No note was read by two people, so it is unknown how much they "
            "overlook."
        )
    return lines


def _groups(note: Note, read: ReadNote) -> frozenset[str]:
    """Return the groups for which a note holds a leak."""
    # A note that no reader read completely may hold anything.
    least = {_group(note, mark) for mark in read.marks} | (set() if read.read_by else {"A"})
    return frozenset(group for group in GROUPS if any(each <= group for each in least))


def _group(note: Note, mark: Span) -> str:
    years = age_years(note.text[mark.start : mark.end]) if mark.label == "AGE" else None
    return group_of(mark.label, age_years=years)


def _row(name: str, bound: Bound) -> str:
    return (
        f"  {name}: {bound.leaking_notes:,} of {bound.read_notes:,} notes, at most {_share(bound.upper)} of "
        f"{bound.release_notes:,} ({_notes(bound.upper, bound.release_notes)})"
    )


def _holding(notes: int) -> str:
    if not notes:
        return "No identifier that was left was marked in any of them."
    return f"An identifier that was left was marked in {notes:,} of them."


def _share(value: float) -> str:
    """Return a bound in percent, rounded up, so that it stays a bound."""
    return f"{ceil(value * 10_000 - 1e-9) / 100:.2f} %"


def _notes(upper: float, notes: int) -> str:
    count = int(upper * notes)
    return f"{count:,} note{'' if count == 1 else 's'}"

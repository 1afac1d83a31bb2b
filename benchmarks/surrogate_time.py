"""Do the dates of a note keep their intervals, order and weekdays, and do ages agree with years of birth?

    python benchmarks/surrogate_time.py --notes train [--keys 12] [--every 1]

Method: the dates and ages of the annotated notes (*gold* spans), and the places and telephone numbers that tell their
country, get surrogates, note by note, under ``--keys`` keys. The dates of the original and of the result are read by
``surrogate_time_reader.py``, which shares no code with what moves them and reads only plain forms. Where no figure over
12, no weekday and no date of birth on record tells whether the day is first, the country does; figures of a note
without an address that looks British, Irish, Australian or Indian are not read. A *timeline* is the dates of one note
under one key. Counted are timelines with any of:

``interval``: a full date that moved by other days than most full dates of the note; two months, or two years, that
moved by different numbers of months or years; a date without its year or month (``7/23``, ``the 3rd``, ``Christmas``)
that moved by other days. Such a date is *resolvable* when the recent full dates of the note lie within 90 days and
exactly one year puts it between 120 days before and 60 days after them; a day alone, when they lie within 31 days and
exactly one month puts it among them. Neither is when a date with a year is not read, or when a date stands right before
it.
``order``: a month or year that was wholly before a day or another period and is wholly behind it, or the reverse.
``range``: a mention of two dates that has another length.
``weekday``: a weekday beside its date that agreed with it and no longer does, or a lone weekday that moved by another
number of days modulo 7.

Dates 89 years and more before the latest of a note have no part in it: they would tell an age over 89, and get another
year on purpose. The year of birth moves with the date of birth, so it has no part in the intervals of years. Notes that
name a year after 2039 have no part in anything: their figures are misread or misspelt.

``outside``: pairs of a period and a full date within it, of which the date lies outside after the shift. Periods move
by whole periods and days by days, so no rule can keep all of these; they are told, not counted as broken.

``births``: dates and years of birth with an age below 90 that agrees with them and the latest date of the note, which
no longer agree within a day; years of birth that differ from the year of the full date in the note; and dates or years
of birth of a patient with several surrogates, in notes that do not tell an age over 89.
"""

import argparse
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

from measuring import RESULTS, describe_machine, write_results
from surrogate_places import Lists, country_of, read_lists
from surrogate_time_reader import Mention, is_day_first, latest_year, names_year, read_mentions

from deid_export.data.corpus import corpus_digest
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.spans import Note, PatientRecord
from deid_runtime.surrogates import Surrogates

#: Labels of times, and of what tells the country of a note.
_USED: Final = frozenset("DATE AGE ZIP STATE CITY COUNTRY PHONE FAX".split())
_CLOSE_DAYS: Final = 90
_BEFORE_DAYS: Final = 120
_AFTER_DAYS: Final = 60
_STAY_DAYS: Final = 31
_GAP_CHARS: Final = 12
_RECENT_DAYS: Final = 3 * 365
_OVER_89_YEARS: Final = 89
_OLDEST_PLAIN: Final = 89
_EARLIEST_NOTE: Final = 1990
_LATEST_YEAR: Final = 2039
_DAY_FIRST: Final = ("United Kingdom", "Ireland", "Australia", "New Zealand", "India")
_ABROAD: Final = re.compile(
    r"\b(?:NHS|GP|HSE|Centrelink|Eircode|ACC|DHB|Aadhaar)\b|\bCo\. [A-Z][a-z]|\+(?:44|353|61|64|91)\b"
)
_AMERICAN_PHONE: Final = re.compile(r"(?!\+)|\+1\b")
_BORN: Final = re.compile(r"(?:\bd\.?o\.?b\b\.?|\bborn|\bbirthdate|\bdate of birth)\W*(?:on|in)?\W*$", re.I)
_CUE_CHARS: Final = 20


@dataclass
class Counts:
    """Counts over all keys: timelines, those with a fault by kind, what was compared, and cases to show."""

    of: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    shown: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list), repr=False)

    def fault(self, kind: str, shown: str) -> None:
        """Count one case; ``shown`` is only for ``--show``."""
        self.faults[kind] += 1
        self.shown[kind].append(shown)


@dataclass(frozen=True)
class Pair:
    """A date of a note and its surrogate, and whether words of birth stand before it."""

    old: Mention = field(repr=False)
    new: Mention = field(repr=False)
    is_birth: bool
    is_plain: bool  # no date with a year is left unread in the note, and none stands right before this one
    shown: str = field(repr=False)


def main() -> None:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, required=True, help="annotated file, or folder of them")
    parser.add_argument("--keys", type=int, default=12, help="measure under so many keys")
    parser.add_argument("--every", type=int, default=1, help="take every n-th note")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N cases of each fault")
    parser.add_argument("--results", type=Path, default=RESULTS / "surrogate_time.json")
    options = parser.parse_args()
    machine = describe_machine()
    notes, records = read_annotated([options.notes])[:: options.every], read_records([options.notes])
    digest = corpus_digest(notes)
    notes = [replace(note, spans=tuple(span for span in note.spans if span.label in _USED)) for note in notes]
    counts = Counts()
    for number in range(options.keys):
        measure(notes, records, hashlib.sha256(f"benchmark {number}".encode()).digest(), counts)
    results = {
        "question": __doc__.splitlines()[0],
        "machine": machine,
        "keys": options.keys,
        "every": options.every,
        "notes": len(notes),
        "corpus_sha256": digest,
        "compared": dict(sorted(counts.of.items())),
        "faults": {kind: counts.faults[kind] for kind in sorted({*_FAULTS, *counts.faults})},
    }
    for kind, cases in counts.shown.items():
        for case in cases[: options.show]:
            print(f"{kind}: {case}")
    print(results["compared"])
    print(results["faults"])
    write_results(options.results, results)


_FAULTS: Final = (
    "timelines: interval",
    "timelines: order",
    "timelines: range",
    "timelines: weekday",
    "timelines: any",
    "births: age disagrees",
    "births: year disagrees",
    "births: several surrogates",
    "patients: several shifts",
)


def measure(notes: Sequence[AnnotatedNote], records: Mapping[str, PatientRecord], key: bytes, counts: Counts) -> None:
    """Add the faults of ``notes`` under one key."""
    surrogates, lists = Surrogates(key), read_lists()
    births: dict[tuple[str, str], set[str]] = defaultdict(set)
    shifts: dict[str, set[int]] = defaultdict(set)
    for note in notes:
        made = surrogates.replacements(Note(note.id, note.text, note.patient), note.spans, records.get(note.patient))
        dob = records[note.patient].fields.get("dob", "") if note.patient in records else ""
        pairs = _pairs(note, made, dob, counts, usual=usual_order(note, records.get(note.patient), lists))
        if any((pair.old.year or 0) > _LATEST_YEAR for pair in pairs):
            counts.of["notes with years to come"] += 1
            continue
        days = [pair for pair in pairs if pair.old.kind == "day"]
        latest = max((pair.old.day for pair in days if not pair.is_birth), default=None)
        if latest is None:
            continue
        # A birth after all other dates is one of the century before, by a year of two figures.
        pairs = [pair for pair in pairs if not (pair.is_birth and (pair.old.year or 0) > latest.year)]
        pairs = [pair for pair in pairs if not _is_of_old_age(pair.old, latest)]
        shift = _check_timeline(pairs, counts)
        if shift is None:
            continue
        shifts[note.patient or note.id].add(shift)
        _check_births(note, pairs, dob, shift, counts)
        for pair in pairs:
            if pair.is_birth:
                births[note.patient or note.id, pair.old.as_text()].add(pair.new.as_text())
    counts.of["patients"] += len(shifts)
    counts.of["births of patients"] += len(births)
    for (patient, _), found in births.items():
        if len(found) > 1:
            counts.fault("births: several surrogates", f"{patient} {sorted(found)}")
    for patient, moves in shifts.items():
        if len(moves) > 1:
            counts.fault("patients: several shifts", f"{patient} {sorted(moves)}")


def usual_order(note: AnnotatedNote, record: PatientRecord | None, lists: Lists) -> bool | None:
    """Return whether the country of a note has the day first; None for a note of no address with signs of another one.

    The country is that of the address on record or of a postal code in the note, as in ``surrogate_places.py``.
    """
    country = country_of(note, record, lists)
    fields = record.fields if record is not None else {}
    if country in _DAY_FIRST or fields.get("country") in _DAY_FIRST:
        return True
    if not country and fields.get("zip") and not re.fullmatch(r"\d{5}(?:-\d{4})?", fields["zip"]):
        return None
    if not country and _AMERICAN_PHONE.match(fields.get("phone", "")) is None:
        return None
    return None if not country and not _has_address(record) and _ABROAD.search(note.text) else False


def _has_address(record: PatientRecord | None) -> bool:
    return record is not None and any(record.fields.get(name) for name in ("zip", "state", "country"))


def _pairs(
    note: AnnotatedNote, made: Sequence[str], dob: str, counts: Counts, *, usual: bool | None = False
) -> list[Pair]:
    """Return the dates of a note that the reader reads, with their surrogates; ranges give two.

    ``dob`` is the date of birth in the patient's record, ``usual`` the order where no date tells it.
    """
    values = [note.text[span.start : span.end] for span in note.spans]
    dated = [value for value, span in zip(values, note.spans, strict=True) if span.label == "DATE"]
    day_first, latest = is_day_first(dated, usual=usual, dob=dob), latest_year(dated)
    unread = any(names_year(value) and not read_mentions(value, day_first, latest) for value in dated)
    pairs: list[Pair] = []
    end = -_GAP_CHARS
    for span, value, new in zip(note.spans, values, made, strict=True):
        if span.label != "DATE":
            continue
        is_plain, end = not unread and span.start - end > _GAP_CHARS, span.end
        old = [_as_born(each, dob) for each in read_mentions(value, day_first, latest)]
        if not old:
            continue
        read = read_mentions(new, day_first, latest, old)
        if [each.kind for each in read] != [each.kind for each in old]:
            counts.of["dates not read"] += 1
            continue
        counts.of["dates"] += 1
        is_birth = _BORN.search(note.text[max(0, span.start - _CUE_CHARS) : span.start]) is not None
        is_birth = is_birth or any(each.year is not None and str(each.year) in dob for each in old)
        shown = f"{note.id} {value!r} -> {new!r}"
        pairs += (Pair(first, second, is_birth, is_plain, shown) for first, second in zip(old, read, strict=True))
    return pairs


def _as_born(mention: Mention, dob: str) -> Mention:
    """Return a date with the day, month and last two figures of the year of ``dob`` with the year of ``dob``."""
    if mention.kind != "day" or not dob or mention.year is None:
        return mention
    born = date.fromisoformat(dob)
    is_born = (mention.month, mention.number, mention.year % 100) == (born.month, born.day, born.year % 100)
    return replace(mention, year=born.year) if is_born else mention


def _is_of_old_age(mention: Mention, latest: date) -> bool:
    return mention.year is not None and latest.year - mention.year >= _OVER_89_YEARS


def _check_timeline(pairs: Sequence[Pair], counts: Counts) -> int | None:
    """Count the faults of one note under one key; return the days by which its full dates moved."""
    full = [pair for pair in pairs if pair.old.kind == "day"]
    if not full:
        return None
    moves = Counter((pair.new.day - pair.old.day).days for pair in full)
    shift = moves.most_common(1)[0][0]
    counts.of["timelines"] += 1
    found: dict[str, list[str]] = {kind: [] for kind in ("interval", "order", "range", "weekday")}
    found["interval"] += [pair.shown for pair in full if (pair.new.day - pair.old.day).days != shift]
    resolved = _resolved(pairs, full, shift, found["interval"], counts)
    for first, second in pairwise(pairs):
        if first.old.place == 0 and second.old.place == 1:
            counts.of["ranges"] += 1
            start, end = resolved.get(id(first)), resolved.get(id(second))
            if start is not None and end is not None and end[0] - start[0] != end[1] - start[1]:
                found["range"].append(first.shown)
    _check_periods(pairs, found, counts)
    _check_order(pairs, resolved, found, counts)
    for pair in pairs:
        if pair.old.weekday is None or pair.new.weekday is None:
            continue
        counts.of["weekdays"] += 1
        days = resolved.get(id(pair))
        if (days is None and (pair.new.weekday - pair.old.weekday - shift) % 7) or (
            days is not None and days[0].weekday() == pair.old.weekday and days[1].weekday() != pair.new.weekday
        ):
            found["weekday"].append(pair.shown)
    for kind, cases in found.items():
        if cases:
            counts.fault(f"timelines: {kind}", f"shift {shift}: {cases[0]}")
    if any(found.values()):
        counts.faults["timelines: any"] += 1
    return shift


def _resolved(
    pairs: Sequence[Pair], full: Sequence[Pair], shift: int, broken: list[str], counts: Counts
) -> dict[int, tuple[date, date]]:
    """Return the old and new day of each date that is full or resolvable; add those that moved otherwise."""
    resolved = {id(pair): (pair.old.day, pair.new.day) for pair in full}
    visits = [pair.old.day for pair in full if not pair.is_birth and pair.old.day.year >= _EARLIEST_NOTE]
    if not visits:
        return resolved
    last = max(visits)
    recent = [day for day in visits if (last - day).days <= _RECENT_DAYS]
    first = min(recent)
    if (last - first).days > _CLOSE_DAYS:
        return resolved
    moved = timedelta(days=shift)
    for pair in pairs:
        if pair.old.kind not in ("day of year", "day of month") or not pair.is_plain:
            continue
        is_alone = pair.old.kind == "day of month"
        if is_alone and (last - first).days > _STAY_DAYS:
            continue
        start, end = (first, last) if is_alone else (first - timedelta(_BEFORE_DAYS), last + timedelta(_AFTER_DAYS))
        old = pair.old.days_in(start, end)
        if len(old) != 1:
            continue
        counts.of[f"resolvable: {pair.old.kind}"] += 1
        new = pair.new.days_in(start + moved, end + moved)
        if new != [old[0] + moved]:
            broken.append(pair.shown)
        if len(new) == 1:
            resolved[id(pair)] = (old[0], new[0])
    return resolved


def _check_periods(pairs: Sequence[Pair], found: Mapping[str, list[str]], counts: Counts) -> None:
    """Add months that moved by different numbers of months, and years by different numbers of years."""
    born = {pair.old.year for pair in pairs if pair.is_birth}
    for kind in ("month", "year"):
        moves: dict[int, str] = {}
        for pair in pairs:
            if pair.old.kind == kind and pair.old.year not in born:
                counts.of[f"periods: {kind}"] += 1
                moves[pair.new.months() - pair.old.months()] = pair.shown
        if len(moves) > 1:
            found["interval"].append(" / ".join(moves.values()))


def _check_order(
    pairs: Sequence[Pair], resolved: Mapping[int, tuple[date, date]], found: Mapping[str, list[str]], counts: Counts
) -> None:
    """Add periods that changed their order with a day or another period."""
    periods = [(pair.old.period(), pair.new.period(), pair.shown) for pair in pairs if pair.old.kind in _PERIODS]
    days = [((old, old), (new, new), f"{old} -> {new}") for old, new in set(resolved.values())]
    for place, (old, new, shown) in enumerate(periods):
        for other_old, other_new, other_shown in (*days, *periods[:place]):
            counts.of["pairs in order"] += 1
            is_before, is_behind = old[1] < other_old[0], other_old[1] < old[0]
            now_before, now_behind = new[1] < other_new[0], other_new[1] < new[0]
            if (is_before and now_behind) or (is_behind and now_before):
                found["order"].append(f"{shown} / {other_shown}")
            if other_old[0] == other_old[1] and not is_before and not is_behind:
                counts.of["days in a period"] += 1
                counts.of["days in a period: outside"] += now_before or now_behind


_PERIODS: Final = ("month", "year")


def _check_births(note: AnnotatedNote, pairs: Sequence[Pair], dob: str, shift: int, counts: Counts) -> None:
    """Add ages that no longer agree with the date or year of birth, and years that disagree with the date.

    Births of another year than the date of birth in the record, ``dob``, are not the patient's.
    """
    births = [pair for pair in pairs if pair.is_birth and (not dob or str(pair.old.year) in dob)]
    days = {pair.old.day.year: pair.new.day.year for pair in births if pair.old.kind == "day"}
    for pair in pairs:
        if pair.old.kind == "year" and pair.old.year in days:
            counts.of["births: years beside dates"] += 1
            if pair.new.year != days[pair.old.year]:
                counts.fault("births: year disagrees", pair.shown)
    now = max(pair.old.day for pair in pairs if pair.old.kind == "day")
    ages = [
        int(value)
        for span in note.spans
        if span.label == "AGE"
        if (value := note.text[span.start : span.end]).isdecimal() and len(value) < 3 and int(value) <= _OLDEST_PLAIN
    ]
    for pair in births:
        for age in ages:
            if not _is_age(pair.old, now, age, 0):
                continue
            counts.of["births: ages"] += 1
            if not _is_age(pair.new, now + timedelta(days=shift), age, 1):
                counts.fault("births: age disagrees", f"{pair.shown}, {age} at {now}, shift {shift}")


def _is_age(birth: Mention, now: date, age: int, spare_days: int) -> bool:
    """Return whether a person of ``birth`` can be ``age`` on the day ``now``, or ``spare_days`` from it."""
    if birth.kind == "year":
        return now.year - (birth.year or 0) in (age, age + 1)
    if birth.kind != "day":
        return False
    around = (now + timedelta(days=days) for days in range(-spare_days, spare_days + 1))
    born = birth.day
    return any(day.year - born.year - ((day.month, day.day) < (born.month, born.day)) == age for day in around)


if __name__ == "__main__":
    main()

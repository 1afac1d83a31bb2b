"""Do surrogates of places stay in the country of the note, differ from each other, and reach nobody by telephone?

    python benchmarks/surrogate_places.py --notes train [--keys 12]

Method: the annotated notes get surrogates for their *gold* spans under ``--keys`` keys. The country of a note is that
of its patient's address on record (postal code, country, state), else that of a postal code in the note; notes without
any of these have no part in the first measure. The rules for it are written here, and share no code with the runtime.
The lists of places are those of the package.

*another country*: notes of the United Kingdom, Ireland, Canada and Australia with a surrogate of a town, state, postal
code, country or telephone number of another country, in place of one that was not. A town counts as one of another
country when the lists have it there, and not in the country of the note.

*towns that meet*: pairs of different towns of one patient with the same surrogate, in one note and over all notes.

*telephone*: numbers of seven digits and more in a range that is reserved for drama or that no subscriber has: the
exchange 555, the ranges of ``phone_ranges.tsv``, national numbers that begin with 0, local numbers that begin with 1.

Measured twice, as in ``surrogates.py``: note by note and whole patients.
"""

import argparse
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from measuring import RESULTS, describe_machine, write_results
from surrogate_forms import bare
from surrogates import Replaced, replace_all

from deid_export.data.corpus import corpus_digest
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.lexicon.states import other_states, us_states
from deid_runtime.spans import PatientRecord

_MEASURED: Final = ("United Kingdom", "Ireland", "Canada", "Australia")
_POSTAL: Final = {
    "United Kingdom": re.compile(r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"),
    "Canada": re.compile(r"[A-Z]\d[A-Z][ -]?\d[A-Z]\d"),
    "Ireland": re.compile(r"(?:[A-Z]\d\d|D6W) ?[A-Z0-9]{4}"),
}
_AUSTRALIAN: Final = frozenset("NSW VIC QLD WA SA TAS NT ACT".split())
_COUNTRY_NAMES: Final = {
    "uk": "United Kingdom", "unitedkingdom": "United Kingdom", "greatbritain": "United Kingdom", "gb": "United Kingdom",
    "britain": "United Kingdom", "england": "United Kingdom", "scotland": "United Kingdom", "wales": "United Kingdom",
    "northernireland": "United Kingdom", "ireland": "Ireland", "republicofireland": "Ireland", "eire": "Ireland",
    "canada": "Canada", "can": "Canada", "australia": "Australia", "aus": "Australia",
}  # fmt: skip
#: National numbers of the ranges for drama, by country, with the trunk prefix.
_DRAMA: Final = {
    "United Kingdom": (
        r"07700900|01632960|0808157|030699|0909879|02079460|02896496|02920180|01(?:1[3-8]|[2-6]1)4960|01914980"
    ),
    "Ireland": r"02091|010",
    "Australia": r"0[2378](?:5550|7010)|0?4915|1800(?:160401|97570|97571)|130097570|130097571",
}


def main() -> None:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, nargs="+", required=True, help="annotated files, or folders of them")
    parser.add_argument("--keys", type=int, default=12, help="measure under so many keys")
    parser.add_argument("--every", type=int, default=1, help="measure towns and telephones in every so many patients")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N failing values of each measure")
    parser.add_argument("--results", type=Path, default=RESULTS / "surrogate_places.json")
    options = parser.parse_args()
    machine = describe_machine()
    keys = [hashlib.sha256(f"benchmark {number}".encode()).digest() for number in range(options.keys)]
    lists = read_lists()
    results: dict[str, Any] = {}
    for path in options.notes:
        notes, records = read_annotated([path]), read_records([path])
        homes = {note.id: country_of(note, records.get(note.patient), lists) for note in notes}
        patients = sorted({note.patient for note in notes})
        chosen = set(patients[:: options.every]) | {note.patient for note in notes if homes[note.id] in _MEASURED}
        kept = [note for note in notes if note.patient in chosen]
        results[path.name] = {
            "notes": len(kept),
            "notes_by_country": dict(sorted(Counter(homes[note.id] for note in kept if homes[note.id]).items())),
            "corpus_sha256": corpus_digest(kept),
        }
        for way in ("note by note", "whole patients"):
            counts, shown = Counter[str](), defaultdict[str, list[str]](list)
            for key in keys:
                rows = replace_all(kept, records, key, is_whole=way == "whole patients")
                measure(rows, homes, lists, counts, shown)
            results[path.name][way] = dict(sorted(counts.items()))
            report(f"{path.name}, {way}", counts, shown, options.show)
    write_results(
        options.results,
        {"question": __doc__.splitlines()[0], "machine": machine, "keys": options.keys, "results": results},
    )


class Lists:
    """The places of the package: country -> normal forms of its towns and of its states."""

    def __init__(self) -> None:
        self.towns: dict[str, set[str]] = defaultdict(set)
        self.states: dict[str, set[str]] = defaultdict(set)
        self.countries: set[str] = set()


def _rows(name: str) -> Iterator[list[str]]:
    text = resources.files("deid_runtime").joinpath(f"data/surrogates/{name}").read_text(encoding="utf-8")
    yield from (line.split("\t") for line in text.splitlines() if line)


def read_lists() -> Lists:
    """Read the places that travel with the package."""
    lists = Lists()
    for country, name, shorts, _, _, towns in _rows("provinces.tsv"):
        forms = other_states().get(name, (name,))
        lists.states[country].update(bare(form) for form in (*forms, *shorts.split(",")) if form)
        lists.towns[country].update(bare(town.split(" ")[0].replace("_", "")) for town in towns.split(","))
    for file in ("us_cities.tsv", "us_towns.tsv"):
        for _, towns in _rows(file):
            lists.towns["United States"].update(bare(town.rsplit(" ", 1)[0]) for town in towns.split(","))
    for code, state in us_states().items():
        lists.states["United States"].update(bare(form) for form in (code, state.name, state.short))
    for country, _, towns, _ in _rows("countries.tsv"):
        lists.countries.add(bare(country))
        lists.towns[country].update(map(bare, towns.split(",")))
    for country, towns in _rows("world_towns.tsv"):
        lists.towns[country].update(map(bare, towns.split(",")))
    return lists


def country_of(note: AnnotatedNote, record: PatientRecord | None, lists: Lists) -> str:
    """Return the country of the address on record, else of the postal codes in the note; empty if they do not tell."""
    fields = record.fields if record else {}
    told = _COUNTRY_NAMES.get(bare(fields.get("country", "")), "")
    told = told or _postal_country(fields.get("zip", "").strip())
    state = fields.get("state", "").strip()
    if not told and state in _AUSTRALIAN and re.fullmatch(r"\d{4}", fields.get("zip", "").strip()):
        told = "Australia"
    if not told and bare(state) and bare(state) not in lists.states["United States"]:
        found = [country for country in lists.states if bare(state) in lists.states[country]]
        told = found[0] if len(found) == 1 else ""
    if told or fields.get("zip") or fields.get("country"):
        return told
    codes = {_postal_country(note.text[s.start : s.end].strip()) for s in note.spans if s.label == "ZIP"}
    return codes.pop() if len(codes) == 1 else ""


def _postal_country(code: str) -> str:
    return next((country for country, form in _POSTAL.items() if form.fullmatch(code)), "")


def measure(
    rows: Sequence[Replaced],
    homes: Mapping[str, str],
    lists: Lists,
    counts: Counter[str],
    shown: dict[str, list[str]],
) -> None:
    """Add the counts of all measures over the notes made under one key."""
    by_patient: dict[str, list[Replaced]] = defaultdict(list)
    for row in rows:
        by_patient[row.note.patient or row.note.id].append(row)
        country = homes[row.note.id]
        if country in _MEASURED:
            abroad = _abroad(row, country, lists)
            foreign = [pair for pair in _pairs(row) if pair[1] not in abroad and is_foreign(*pair, country, lists)]
            counts[f"another country: notes of {country}"] += 1
            counts[f"another country: with one, {country}"] += bool(foreign)
            shown["another country"] += [" | ".join((row.note.id, *pair)) for pair in foreign]
        for label, value, made in _pairs(row):
            if label in ("PHONE", "FAX") and len(re.sub(r"\D", "", value)) >= 7 and value.isascii():
                counts["telephone: numbers"] += 1
                counts["telephone: reach nobody"] += reaches_nobody(made)
                if not reaches_nobody(made):
                    shown["telephone"].append(f"{value} | {made}")
        meeting = _meeting([row])
        counts["towns that meet: pairs of one note"] += len(meeting)
        shown["towns that meet in a note"] += [f"{row.note.id} | {pair}" for pair in meeting]
    for of_patient in by_patient.values():
        meeting = _meeting(of_patient)
        counts["towns that meet: pairs of one patient"] += len(meeting)
        counts["towns that meet: patients"] += 1
        shown["towns that meet"] += [f"{of_patient[0].note.id} | {pair}" for pair in meeting]


def _abroad(row: Replaced, country: str, lists: Lists) -> set[str]:
    """Return the values with a state or country of another country after them: they lie there."""
    found: set[str] = set()
    spans = row.note.spans
    for index in range(len(spans) - 2, -1, -1):
        gap, behind = row.note.text[spans[index].end : spans[index + 1].start], row.values[index + 1]
        if len(gap) <= 4 and not any(map(str.isalnum, gap)):
            is_elsewhere = spans[index + 1].label == "STATE" and _only_elsewhere(bare(behind), country, lists.states)
            other = spans[index + 1].label == "COUNTRY" and _COUNTRY_NAMES.get(bare(behind)) != country
            if is_elsewhere or other or behind in found:
                found.add(row.values[index])
    return found


def _pairs(row: Replaced) -> list[tuple[str, str, str]]:
    labels = [span.label for span in row.note.spans]
    return list(dict.fromkeys(zip(labels, row.values, row.made, strict=True)))


def _meeting(rows: Sequence[Replaced]) -> list[str]:
    """Return the pairs of different towns with the same surrogate."""
    towns: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for label, value, made in _pairs(row):
            if label == "CITY" and bare(value):
                towns[bare(made)].add(bare(value))
    return [
        f"{one}, {other} -> {made}" for made, values in towns.items() for one, other in combinations(sorted(values), 2)
    ]


def is_foreign(label: str, value: str, made: str, country: str, lists: Lists) -> bool:
    """Return whether a surrogate is of another country, and its original is not."""
    old, new = bare(value), bare(made)
    if label == "CITY":
        return _only_elsewhere(new, country, lists.towns) and not _only_elsewhere(old, country, lists.towns)
    if label == "STATE":
        return new not in lists.states[country] and not _only_elsewhere(old, country, lists.states)
    if label == "COUNTRY":
        return _COUNTRY_NAMES.get(old) == country and _COUNTRY_NAMES.get(new, new) != country and new in lists.countries
    if label == "ZIP" and country in _POSTAL:
        return bool(_POSTAL[country].fullmatch(value)) and not _POSTAL[country].fullmatch(made)
    if label in ("PHONE", "FAX") and country in _DRAMA:
        digits = re.sub(r"\D", "", value)
        is_home = digits.startswith("0") and 9 <= len(digits) <= 11 and not digits.startswith("00")
        return is_home and not re.match(_DRAMA[country], re.sub(r"\D", "", made))
    return False


def _only_elsewhere(form: str, country: str, listed: Mapping[str, set[str]]) -> bool:
    return form not in listed[country] and any(form in of for name, of in listed.items() if name != country)


def reaches_nobody(number: str) -> bool:
    """Return whether a number is of a range that no subscriber has."""
    digits = re.sub(r"\D", "", number.translate(str.maketrans("OoIlS", "00115")))  # as a scanner misreads them
    international = re.match(r"\s*(?:\+|00|011)", number)
    if re.search(r"555\d{4}", digits) and not digits.startswith("0"):
        return True
    if international:
        return True if re.match(_all_ranges(), digits) else bool(re.match(r"(?:00|011)?\d{1,3}?0?(?:0|1)", digits))
    if digits.startswith("0"):
        return bool(re.match(_all_national(), digits[1:])) or digits.startswith("000")
    return digits.startswith("1") or bool(re.match(r"55501", digits))


def _range_pattern(pattern: str) -> str:
    return pattern.rstrip("x") or pattern


def _all_national() -> str:
    found = [_range_pattern(each) for _, _, ranges, _ in _rows("phone_ranges.tsv") for each in ranges.split(",")]
    # An Indian number behind a dialling code begins with 1; a New Zealand one with 0.
    return "|".join(found) + r"|\d{2,4}1|\d0"


def _all_ranges() -> str:
    found = [
        code + "0?" + _range_pattern(each)
        for code, _, ranges, _ in _rows("phone_ranges.tsv")
        for each in ranges.split(",")
    ]
    return f"(?:00|011)?(?:{'|'.join(found)})"


def report(title: str, counts: Counter[str], shown: Mapping[str, list[str]], show: int) -> None:
    """Print the counts, and where asked for the values that fail."""
    print(title)
    for name, count in sorted(counts.items()):
        print(f"  {name:<46}{count:>9,}")
    for name, values in shown.items():
        for value in values[:show]:
            print("     ", name, "|", value)


if __name__ == "__main__":
    main()

"""Do surrogates of names look like names: are they in lists, as common as the originals, and never an abbreviation?

    python benchmarks/surrogate_names.py --notes train --lists lists [--keys 12] [--limit 4000]

Method: annotated notes get surrogates for their *gold* spans, note by note, as ``deid run`` makes them, under
``--keys`` keys. ``name_lists.py`` reads the lists: public ones (``--lists``: US census, social security, popular names
of 106 countries) and ours. Words of surrogates in spans PATIENT and DOCTOR are counted, each mention once. Not counted:
single letters, figures, particles, titles, suffixes, initials (two or three capitals alone, two or three letters of one
case where the original or the surrogate has no vowel), names spelt letter by letter, and words that are the original's.
A word of a compound is listed when the compound or the word is.

*words*: how many are in no list, for surrogates and, to compare, for originals; and by what the original was: in a list
(``listed``) or in none. *distinct* counts each spelling once. *bands*: the share of common, usual, rare and unlisted
words, by the frequencies of the US lists, for originals and surrogates: rare names that pile up give surrogates away.

*initials*: surrogates of two capitals, with or without full stops, that are clinical abbreviations
(``clinical_abbreviations.txt``, and ``--abbreviations``).

All notes of patients drawn at random are taken until there are ``--limit``. ``--show`` prints words in no list and
pairs, to mend them; nothing of them is written. Use it where the notes may be read.
"""

import argparse
import hashlib
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from drawing import draw_patients
from measuring import RESULTS, describe_machine, write_results
from name_lists import BANDS, Listed, read_abbreviations, read_listed
from surrogate_forms import SPELLED, bare, cut, stays
from surrogates import Replaced, replace_all

from deid_export.data.corpus import corpus_digest
from deid_runtime.annotations.read import read_annotated, read_records

_NAMES: Final = frozenset({"PATIENT", "DOCTOR"})
_ALLOWED: Final = 0.02  # of the words of surrogates in no list
_MOST_INITIALS: Final = 3
_VOWEL: Final = re.compile("[aeiouy]", re.IGNORECASE)
_TWO: Final = re.compile(r"[A-Z]\.? ?[A-Z]\.?")


@dataclass
class Counts:
    """What is counted over all notes and keys."""

    words: Counter[str] = field(default_factory=Counter)
    distinct: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set), repr=False)
    bands: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    initials: Counter[str] = field(default_factory=Counter)
    shown: defaultdict[str, Counter[tuple[str, str]]] = field(default_factory=lambda: defaultdict(Counter), repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return counts and shares."""
        of, made = self.words, len(self.distinct["surrogates"])
        return {
            "words": {
                "surrogates": _share(of["in no list"], of["surrogates"]),
                "surrogates in no public list": _share(of["in no public list"], of["surrogates"]),
                "of listed originals": _share(of["listed, in no list"], of["listed"]),
                "of originals in no list": _share(of["unlisted, in no list"], of["unlisted"]),
                "originals": _share(of["original in no list"], of["originals"]),
                "distinct surrogates": _share(len(self.distinct["in no list"]), made),
            },
            "bands": {
                side: {band: round(counts[band] / counts.total(), 4) for band in (*dict(BANDS), "rare", "unlisted")}
                for side, counts in sorted(self.bands.items())
            },
            "initials that are abbreviations": _share(self.initials["abbreviations"], self.initials["pairs"]),
            "other alphabets, not counted": of["other alphabet"],
        }


def main() -> None:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, nargs="+", required=True, help="annotated files, or folders of them")
    parser.add_argument("--lists", type=Path, help="folder of public lists of names")
    parser.add_argument("--abbreviations", type=Path, help="gzipped text file of further abbreviations, one a line")
    parser.add_argument("--keys", type=int, default=12, help="measure under so many keys")
    parser.add_argument("--limit", type=int, default=4_000, help="notes; 0 for all; time is linear")
    parser.add_argument("--seed", type=int, default=5, help="of the patients drawn")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N cases of each measure")
    parser.add_argument("--results", type=Path, default=RESULTS / "surrogate_names.json")
    options = parser.parse_args()
    machine = describe_machine()
    notes, records = read_annotated(options.notes), read_records(options.notes)
    notes = draw_patients(notes, options.limit, options.seed) if options.limit else notes
    listed, abbreviations = read_listed(options.lists), read_abbreviations(options.abbreviations)
    counts, begun = Counts(), time.process_time()
    for number in range(options.keys):
        key = hashlib.sha256(f"benchmark {number}".encode()).digest()
        count_names(replace_all(notes, records, key, is_whole=False), listed, abbreviations, counts)
    figures = counts.to_json()
    report(figures, counts, options.show)
    write_results(
        options.results,
        {
            "question": __doc__.splitlines()[0],
            "machine": machine,
            "processor_seconds": round(time.process_time() - begun, 1),
            "settings": {name: getattr(options, name) for name in ("keys", "limit", "seed")},
            "notes": len(notes),
            "patients": len({note.patient for note in notes}),
            "corpus_sha256": corpus_digest(notes),
            "lists": {"public": len(listed.public), "ours": len(listed.ours), "missing": listed.missing},
            "allowed share in no list": _ALLOWED,
            "results": figures,
        },
    )


def count_names(rows: Iterable[Replaced], listed: Listed, abbreviations: frozenset[str], counts: Counts) -> None:
    """Count the names of all notes, made under one key."""
    known = listed.public | listed.ours
    for row in rows:
        for _, value, made in row.of(_NAMES):
            if _TWO.fullmatch(value) and _TWO.fullmatch(made):
                _count_initials(value, made, abbreviations, counts)
                continue
            for old, new, compound in paired_words(value, made):
                if not new.isascii() and not _is_latin(new):
                    counts.words["other alphabet"] += 1
                    continue
                was = "listed" if bare(old) in known else "unlisted"
                is_listed, is_public = ({bare(new), bare(compound)} & some for some in (known, listed.public))
                _count_word(counts, "originals", bare(old), listed)
                counts.words["original in no list"] += was == "unlisted"
                _count_word(counts, "surrogates", bare(new) if bare(new) in known else bare(compound), listed)
                counts.words[was] += 1
                counts.words["in no public list"] += not is_public
                if not is_listed:
                    counts.words["in no list"] += 1
                    counts.words[f"{was}, in no list"] += 1
                    counts.distinct["in no list"].add(bare(new))
                    counts.shown[f"in no list, the original is {was}"][old, new] += 1


def _count_initials(value: str, made: str, abbreviations: frozenset[str], counts: Counts) -> None:
    counts.initials["pairs"] += 1
    if re.sub("[. ]", "", made) in abbreviations:
        counts.initials["abbreviations"] += 1
        counts.shown["initials that are abbreviations"][value, made] += 1


def _count_word(counts: Counts, side: str, form: str, listed: Listed) -> None:
    counts.words[side] += 1
    counts.distinct[side].add(form)
    counts.bands[side][listed.band(form)] += 1


def paired_words(value: str, made: str) -> Iterator[tuple[str, str, str]]:
    """Yield (word of the original, word of the surrogate, the surrogate's compound with it) for words that count.

    With another number of words than the original, the last word of the original stands for those that it lacks.
    """
    if SPELLED.fullmatch(made):
        return
    old, new = (list(cut(name)[0]) for name in (value, made))
    for place, word in enumerate(new):
        was = old[min(place, len(old) - 1)].text if old else ""
        is_letters = word.text.isupper() and len(word.text) <= _MOST_INITIALS
        is_small = word.text.islower() and len(word.text) <= _MOST_INITIALS
        if len(word.text) < 2 or word.text.isdecimal() or stays(word.text) or bare(word.text) == bare(was):
            continue
        if is_letters and len(new) == 1:
            continue
        if (is_letters or is_small) and not (_VOWEL.search(word.text) and _VOWEL.search(was)):
            continue
        yield was, word.text, _compound(new, place)


def _compound(words: Sequence[Any], place: int) -> str:
    """Return the words joined by hyphens around ``place``, without the hyphens."""
    first, last = place, place + 1
    while first > 0 and "-" in words[first].before:
        first -= 1
    while last < len(words) and "-" in words[last].before:
        last += 1
    return "".join(word.text for word in words[first:last])


def _is_latin(word: str) -> bool:
    return bare(word).isascii() or all(ord(char) < 0x250 or 0x1E00 <= ord(char) < 0x1F00 for char in bare(word))


def _share(count: int, of: int) -> dict[str, float]:
    return {"count": count, "of": of, "share": round(count / of, 5) if of else 0.0}


def report(figures: dict[str, Any], counts: Counts, show: int) -> None:
    """Print the shares, and where asked for what is behind them."""
    print("in no list:")
    for name, row in figures["words"].items():
        print(f"  {name:<32}{row['count']:>9} of {row['of']:>9}  {row['share']:.4f}")
    row = figures["initials that are abbreviations"]
    print(f"  {'initials that are abbreviations':<32}{row['count']:>9} of {row['of']:>9}  {row['share']:.4f}")
    for side, bands in figures["bands"].items():
        print(f"  {side:<32}" + "  ".join(f"{band} {share:.3f}" for band, share in bands.items()))
    is_reached = figures["words"]["surrogates"]["share"] < _ALLOWED and not row["count"]
    print(f"under {_ALLOWED:.0%} in no list and no abbreviation: {'yes' if is_reached else 'NO'}")
    for name, cases in counts.shown.items() if show else ():
        print(name)
        for (old, new), times in cases.most_common(show):
            print(f"    {old} -> {new}  {times}")


if __name__ == "__main__":
    main()

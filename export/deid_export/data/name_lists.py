"""Make the lists for finding people: names with their frequency class, and a vocabulary of other words.

Run ``python -m deid_export.data.name_lists DATA CORPUS WORDS CENSUS [FOLDER]``. The result is committed, so the runtime
reads two small files. ``DATA`` is the folder of public lists (``gazetteers/``, ``medical/``). ``CORPUS`` has annotated
training notes. ``WORDS`` has the lists of SCOWL (``english-words.10`` ...). ``CENSUS`` has the tables of
:mod:`deid_export.data.census`. NOTICE names every list with its licence.
The output files are:

``names.txt.xz``
    given and family names, with a frequency class from 1 to 3, and places that are names.
``vocabulary.txt.xz``
    words of English, medicine, drugs and other languages with a class for how common they are, and names of diseases
    and devices.

The format is that of :mod:`deid_runtime.lexicon.word_codes`.
"""

import csv
import gzip
import lzma
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from importlib.resources import files
from pathlib import Path

from deid_export.data.census import Census, read_census
from deid_export.data.corpus import batch_of
from deid_export.data.hand_lists import foreign_words, further_rows, hand_rows, world_rows
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.read import read_annotated
from deid_runtime.lexicon.calendar_words import MONTH_OF, WEEKDAY_OF
from deid_runtime.lexicon.name_cues import is_function_word
from deid_runtime.lexicon.states import other_states, us_states
from deid_runtime.lexicon.word_codes import EPONYM, FAMILY, FAMILY_SHIFT, GIVEN, PLACE, WORD, WORD_SHIFT, word_key

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_LATIN = re.compile(r"[a-zß-ɏḀ-ỿ]{2,24}")

#: Least number of births for a given name of the American list to be in class 2 and in class 3.
_GIVEN_BIRTHS = (5_000, 100_000)
#: Largest rank for a family name of the American lists to be in class 2 and in class 3.
_FAMILY_RANKS = (12_000, 2_000)
#: SCOWL sizes of the words of class 3, 2 and 1. Lists above size 60 are not read; other
#: sources decide on such words.
_SCOWL_SIZES = {3: (10,), 2: (20, 35, 40, 50), 1: (55, 60)}
#: Least number of corpus batches with the word outside identifiers: to be included, and to be in class 3.
_BATCHES = (2, 30)
#: Least number of corpus batches with the capitalised word outside identifiers, never in a name, to be a brand.
_BRAND_BATCHES = 2

#: Least letters of a name of a census or of the world alone to be in class 2: shorter ones may be abbreviations.
_LEAST_USUAL = 5

_LEAST_WORD = 4  # letters of a usual word that is no name just because it is in a list of names by hand

_MEDICAL_LISTS = (
    "drug_brand_names_fda", "drug_ingredients_fda", "drugs_nlm_portal", "diseases_symptoms", "hand_abbreviations",
    "hand_lab_tests", "hand_devices",
)  # fmt: skip


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _own_rows(*parts: str) -> list[list[str]]:
    path = files("deid_runtime").joinpath("data", *parts)
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def _own_words(name: str) -> set[str]:
    return {word for row in _own_rows("lexicon", name) for word in row[0].split()}


def _medical(data: Path, name: str) -> list[str]:
    with gzip.open(data / "medical" / f"{name}.txt.gz", "rt", encoding="utf-8") as lines:
        return lines.read().splitlines()


def _keys(name: str) -> Iterator[str]:
    """Yield the key of a name if it is a single word in Latin letters."""
    key = word_key(name.strip())
    if _LATIN.fullmatch(key):
        yield key


def _most(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return key to the highest class that any (name, class) pair gives it."""
    classes: dict[str, int] = {}
    for name, level in pairs:
        for key in _keys(name):
            classes[key] = max(classes.get(key, 0), level)
    return classes


def _above(value: float, bounds: tuple[float, float]) -> int:
    return 1 + (value >= bounds[0]) + (value >= bounds[1])


def _with_hand_names(classes: Mapping[str, int], kind: str, usual_words: Set[str]) -> dict[str, int]:
    """Return ``classes`` with the names by hand, without those that are ``usual_words`` and in no other list.

    English has surnames such as Nurse and Coffee. Shorter words are kept: An, Go and My are frequent names elsewhere.
    """
    by_hand = _most((name, 2) for each, name, *_ in (*hand_rows(), *further_rows()) if each == kind)
    return {
        **{key: level for key, level in by_hand.items() if len(key) < _LEAST_WORD or key not in usual_words},
        **{key: max(level, by_hand.get(key, 0)) for key, level in classes.items()},
    }


def given_names(data: Path, usual_words: Set[str]) -> dict[str, int]:
    """Return key to class of every given name in the public lists below ``data`` and in our lists."""
    folder = data / "gazetteers"
    pairs = [
        (row["name"], _above(float(row["count"]), _GIVEN_BIRTHS)) for row in _rows(folder / "first_names_us.csv.gz")
    ]
    pairs += [(row["name"], 2) for row in _rows(folder / "first_names_by_country.csv.gz")]
    pairs += [(row["name"], 1) for row in _rows(folder / "names_extra.csv.gz") if row["kind"] == "given"]
    pairs += [(row[0], 1 if row[1] == "english rare" else 2) for row in _own_rows("surrogates", "given_names.tsv")]
    pairs += [(row[1], 2) for row in _own_rows("surrogates", "own_names.tsv") if row[0] == "given"]
    return _with_hand_names(_most(pairs), "given", usual_words)


def family_names(data: Path, usual_words: Set[str]) -> dict[str, int]:
    """Return key to class of every family name in the public lists below ``data`` and in our lists."""
    folder = data / "gazetteers"
    bounds = (-_FAMILY_RANKS[0], -_FAMILY_RANKS[1])
    pairs = []
    for row in _rows(folder / "surnames_us.csv.gz"):
        ranks = [float(row[column]) for column in ("rank_1990", "rank_2010") if row[column]]
        pairs.append((row["name"], _above(-min(ranks), bounds) if ranks else 1))
    pairs += [(row["name"], 2) for row in _rows(folder / "surnames_by_country.csv.gz")]
    pairs += [(row["name"], 1) for row in _rows(folder / "names_extra.csv.gz") if row["kind"] == "family"]
    pairs += [(row[0], 1 if row[1] == "english rare" else 2) for row in _own_rows("surrogates", "family_names.tsv")]
    pairs += [(row[1], 2) for row in _own_rows("surrogates", "own_names.tsv") if row[0] == "family"]
    return _with_hand_names(_most(pairs), "family", usual_words)


def places() -> set[str]:
    """Return the keys of one-word towns, states, provinces and countries in our lists."""
    names = [row[0] for row in _own_rows("surrogates", "countries.tsv")]
    names += [town for row in _own_rows("surrogates", "countries.tsv") for town in row[2].split(",")]
    provinces = (row[1] for row in _own_rows("surrogates", "provinces.tsv"))
    names += [other_states()[name].name if name in other_states() else name for name in provinces]
    names += [us_states()[row[0]].name.split()[-1] for row in _own_rows("surrogates", "us_states.tsv")]  # Carolina
    for row in _own_rows("surrogates", "us_cities.tsv"):
        names += [town.rpartition(" ")[0] for town in row[1].split(",")]
    return {key for name in names for key in _keys(name)}


def _outside_words(note: AnnotatedNote) -> Iterator[str]:
    at = 0
    for span in [*note.spans, None]:
        end = span.start if span else len(note.text)
        yield from _WORD.findall(note.text[at:end])
        at = span.end if span else end


def corpus_words(folder: Path) -> tuple[dict[str, int], set[str]]:
    """Return key to class of the lower-case words outside identifiers, and the set of brands and eponyms."""
    lower: dict[str, set[str]] = defaultdict(set)
    capital: dict[str, set[str]] = defaultdict(set)
    in_names: Counter[str] = Counter()
    for note in read_annotated([folder]):
        batch = batch_of(note)
        for word in _outside_words(note):
            (lower if word.islower() else capital)[word_key(word)].add(batch)
        for span in note.spans:
            if span.label in {"PATIENT", "DOCTOR"}:
                in_names.update(map(word_key, _WORD.findall(note.text[span.start : span.end])))
    words = {key: 2 + (len(of) >= _BATCHES[1]) for key, of in lower.items() if len(of) >= _BATCHES[0]}
    brands = {
        key for key, of in capital.items() if len(of) >= _BRAND_BATCHES and key not in in_names and key not in words
    }
    return words, brands


def _scowl_words(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield (word, class) for the lower-case SCOWL words, American and British."""
    for level, sizes in _SCOWL_SIZES.items():
        for size in sizes:
            for kind in ("english-words", "american-words", "british-words"):
                path = folder / f"{kind}.{size}"
                if path.is_file():
                    yield from ((word, level) for word in path.read_text(encoding="latin-1").split())


def medical_words(data: Path) -> Iterator[str]:
    """Yield the words of drugs, tests, devices and abbreviations, and of diseases written in lower case."""
    for name in _MEDICAL_LISTS:
        for line in _medical(data, name):
            if line.islower() or name != "diseases_symptoms":
                yield from _WORD.findall(line)


def eponyms(data: Path) -> Iterator[str]:
    """Yield the capitalised words of our list of eponymous diseases, and the words of our list of eponyms."""
    for line in _medical(data, "hand_eponyms"):
        yield from (re.sub("['’]s$", "", word) for word in _WORD.findall(line) if word[0].isupper())
    yield from _own_words("vocabulary_eponyms.txt")


def vocabulary(data: Path, corpus: Path, scowl: Path) -> dict[str, int]:
    """Return key to the file code of every word of English, medicine and drugs."""
    used, brands = corpus_words(corpus)
    medical = [*medical_words(data), *_own_words("vocabulary_clinical.txt")]
    classes = _most([*_scowl_words(scowl), *used.items(), *((word, 2) for word in medical)])
    codes = {key: level << WORD_SHIFT for key, level in classes.items()}
    for key in _own_words("vocabulary_name_first.txt") & codes.keys():
        codes[key] = 1 << WORD_SHIFT
    for key in _own_words("vocabulary_rare_words.txt") - codes.keys():
        codes[key] = 1 << WORD_SHIFT
    for key in [key for word in (*brands, *eponyms(data)) for key in _keys(word)]:
        codes[key] = codes.get(key, 0) | EPONYM
    return codes


def rarer_names(census: Census, known: Set[str], words: Set[str]) -> Iterator[tuple[str, int, int]]:
    """Yield (key, class of a given name, class of a family name) of names of the whole world and of the censuses.

    None of them is one of ``words``, or a word of a list of the runtime. Those of the censuses are not ``known`` as
    names: some people have a common family name as their given name.
    """
    barred = words | _runtime_words()
    or_known = barred | known
    listed = [(kind, name, barred) for kind, name, _ in world_rows()]
    listed += [(kind, name, or_known) for kind in ("given", "family") for name in getattr(census, kind)]
    for kind, name, without in listed:
        for key in _keys(name):
            if key not in without and len(key) > 2 and not is_function_word(key):
                level = 1 + (len(key) >= _LEAST_USUAL)
                yield (key, level, 0) if kind == "given" else (key, 0, level)


def _runtime_words() -> set[str]:
    """Return the months, weekdays, titles, relatives, credentials and clinical terms of the runtime."""
    words = {word.lstrip("?") for row in _own_rows("lexicon", "clinical_terms.txt") for word in row[0].split()}
    words |= {row[0] for name in ("titles.tsv", "kin.tsv", "credentials.tsv") for row in _own_rows("lexicon", name)}
    return {word_key(word) for word in (*words, *MONTH_OF, *WEEKDAY_OF)}


def names(data: Path, census: Census, words: Mapping[str, int]) -> dict[str, int]:
    """Return key to the file code of every name and every place; ``words`` is the :func:`vocabulary`."""
    usual_words = {key for key, code in words.items() if code & WORD >= 2 << WORD_SHIFT}
    codes = dict(given_names(data, usual_words))
    for key, level in family_names(data, usual_words).items():
        codes[key] = codes.get(key, 0) | level << FAMILY_SHIFT
    for key in places():
        codes[key] = codes.get(key, 0) | PLACE
    for key, given, family in rarer_names(census, set(codes), words.keys()):
        code = codes.get(key, 0)
        if not code & PLACE:
            codes[key] = code | (0 if code & GIVEN else given) | (0 if code & FAMILY else family << FAMILY_SHIFT)
    return codes


def foreign_codes() -> dict[str, int]:
    """Return key to the file code of common words of other languages.

    They are not part of :func:`vocabulary`, because a rare name that is such a word stays a name.
    """
    return {key: 1 << WORD_SHIFT for key in map(word_key, foreign_words()) if len(key) > 1}


def pack(codes: Mapping[str, int]) -> bytes:
    """Return the bytes of a list file: one line per code, with its words sorted."""
    lines: dict[int, list[str]] = defaultdict(list)
    for key in sorted(codes):
        lines[codes[key]].append(key)
    text = "".join(f"{code}\t{' '.join(words)}\n" for code, words in sorted(lines.items()))
    return lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME)


def write_lists(data: Path, corpus: Path, scowl: Path, census: Path, folder: Path) -> None:
    """Write both files into ``folder``; the same input gives the same bytes."""
    words = vocabulary(data, corpus, scowl)
    (folder / "names.txt.xz").write_bytes(pack(names(data, read_census(census), words)))
    (folder / "vocabulary.txt.xz").write_bytes(pack(foreign_codes() | words))


if __name__ == "__main__":
    default = Path(__file__).parents[3] / "deid_runtime" / "data" / "lexicon"
    data, corpus, scowl, census, *folder = map(Path, sys.argv[1:])
    write_lists(data, corpus, scowl, census, folder[0] if folder else default)

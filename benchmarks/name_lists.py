"""Which names are in a list, public or ours, and how common they are; which pairs of letters mean something clinical.

Read as files, by no code that makes surrogates. The public lists are a folder of gzipped CSV files with the names of
``PUBLIC``, as far as they are there: a file that is missing is reported, because fewer lists make more names unlisted.
"""

import csv
import gzip
import lzma
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Final

from surrogate_forms import bare

#: File -> columns with names; then the column with the rank (low is common) or the count (high is common), if any.
PUBLIC: Final[Mapping[str, tuple[str, ...]]] = {
    "surnames_us.csv.gz": ("name",),
    "first_names_us.csv.gz": ("name",),
    "first_names_by_country.csv.gz": ("name", "localized"),
    "surnames_by_country.csv.gz": ("name", "localized"),
    "names_extra.csv.gz": ("name",),
}
#: The first so many names of a list are common, the next usual; all others are rare.
BANDS: Final = (("common", 1_000), ("usual", 10_000))
_OURS: Final = ("surrogates", "lexicon")
_OUR_FILES: Final = re.compile(r"names?(?:\.|_.*\.)(?:tsv|txt)(?:\.xz|\.gz)?$")
_PLAINLY: Final = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "æ": "ae",
     "Æ": "Ae", "ß": "ss", "ə": "a", "Ə": "A"}
)  # fmt: skip
_ABBREVIATIONS: Final = Path(__file__).with_name("clinical_abbreviations.txt")


@dataclass(frozen=True)
class Listed:
    """Bare forms (letters alone, case folded, no accents) of listed names, and the band of the common ones."""

    public: frozenset[str] = field(repr=False)
    ours: frozenset[str] = field(repr=False)
    bands: Mapping[str, str] = field(repr=False)
    missing: tuple[str, ...] = ()

    def band(self, form: str) -> str:
        """Return ``common``, ``usual``, ``rare`` (listed all the same) or ``unlisted``."""
        if form in self.bands:
            return self.bands[form]
        return "rare" if form in self.public or form in self.ours else "unlisted"


def read_listed(folder: Path | None) -> Listed:
    """Read the lists of names of ``folder`` (None: none) and those of the package."""
    public: set[str] = set()
    bands: dict[str, str] = {}
    missing = []
    for name, columns in PUBLIC.items():
        path = folder / name if folder else None
        if path is None or not path.exists():
            missing.append(name)
            continue
        rows = list(_csv_rows(path))
        public.update(form for row in rows for column in columns for form in _forms(row[column]))
        for place, form in enumerate(_by_frequency(rows)):
            band = next((band for band, limit in BANDS if place < limit), "rare")
            if bands.get(form, "rare") == "rare" or band == BANDS[0][0]:
                bands[form] = band
    return Listed(frozenset(public), _our_names(), bands, tuple(missing))


def read_abbreviations(further: Path | None = None) -> frozenset[str]:
    """Return the clinical abbreviations of two letters, in capitals; ``further`` is a text file, one a line."""
    words = set(_plain_words(_ABBREVIATIONS.read_text(encoding="utf-8")))
    if further:
        words.update(_plain_words(gzip.decompress(further.read_bytes()).decode("utf-8")))
    return frozenset(word for word in words if re.fullmatch("[A-Z]{2}", word))


def _plain_words(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if not line.startswith("#"):
            yield from line.split()


def _csv_rows(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


def _by_frequency(rows: list[dict[str, str]]) -> list[str]:
    """Return the bare forms of the US lists, the most common first; nothing for lists without a frequency."""
    if rows and "count_f" in rows[0]:
        rows = sorted(rows, key=lambda row: -int(row["count"]))
    elif rows and "rank_1990" in rows[0]:
        rows = sorted(rows, key=lambda row: int(row["rank_2010"] or row["rank_1990"] or 10**9))
    else:
        return []
    return list(dict.fromkeys(bare(row["name"]) for row in rows))


def _forms(name: str) -> Iterator[str]:
    """Yield a name without its marks, and each of its words: of ``Mei-Ling`` also ``mei`` and ``ling``.

    Letters that have no mark to lose are also written plainly: ``gudmundur`` for Guðmundur.
    """
    for word in {name, *re.split(r"[\s\-‐‑]+", name)} - {""}:
        yield bare(word)
        if not word.isascii():
            yield bare(word.translate(_PLAINLY))


def _our_names() -> frozenset[str]:
    """Return all words of the package's files of names; words for cultures and sexes among them do no harm."""
    found: set[str] = set()
    for folder in _OURS:
        for path in (resources.files("deid_runtime") / "data" / folder).iterdir():
            if _OUR_FILES.search(path.name):
                data = path.read_bytes()
                data = lzma.decompress(data) if path.name.endswith(".xz") else data
                data = gzip.decompress(data) if path.name.endswith(".gz") else data
                for entry in re.split(r"[\t\n, ]", data.decode("utf-8")):
                    found.update(_forms(entry))
    return frozenset(found - {""})

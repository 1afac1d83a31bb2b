"""The word lists in ``data/surrogates``, read once, on first use. ``SOURCES.md`` there states their sources."""

import re
import zlib
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final

from deid_runtime.surrogates.forms import normal_form

_FOLDER: Final = "data/surrogates"
_LEAST_POOL: Final = 8  # a smaller pool would not hide the original
_ENGLISH: Final = {"english rare": "any english", "english": "any english"}
#: For names in both kinds of lists, whose two cultures have too few such names: data to choose the more likely kind.
_RARE_AS_GIVEN: Final = frozenset({"english rare"})
_COMMON_GIVEN: Final = frozenset({"english", "spanish"})
_COMMON_FAMILIES: Final = frozenset({"english", "spanish"})
_SYLLABIC: Final = ("korean", "chinese")  # cultures with given names of two syllables, often joined by a hyphen
_OTHER_KIND: Final = {"given": "family", "family": "given"}
_NAME_FORM: Final = re.compile(r"[A-Z][a-z]?['’](?=[A-Z])|Ma?c(?=[A-Z])|St\.? (?=[A-Z])")


def read_rows(name: str) -> Iterator[list[str]]:
    """Yield the tab-separated fields of each line of a list in the package."""
    text = resources.files("deid_runtime").joinpath(f"{_FOLDER}/{name}").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line:
            yield line.split("\t")


@dataclass(frozen=True, slots=True)
class Listed:
    """A listed name: the pool of similar names that it belongs to, and its index there."""

    pool: tuple[str, ...] = field(repr=False)
    index: int
    culture: str
    sex: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """Given and family names by naming culture.

    ``given`` and ``family`` map a normal form to its place in a pool. A name of both kinds has the same pool in both,
    if enough other names are of both kinds for the same cultures. So it has one surrogate in either role. Pools are
    disjoint. The names of a pool share culture, sex and form (``O'``, ``Mc``, hyphen, two letters) as far as there are
    enough such names.
    ``pools`` is for names in no list: (culture, sex) -> given names, (culture, "") -> family names, (culture, "-F") and
    (culture, "-M") -> given names of two syllables.
    """

    given: Mapping[str, Listed]
    family: Mapping[str, Listed]
    pools: Mapping[tuple[str, str], tuple[str, ...]]
    rather_family: frozenset[str]  # names in both lists that are more likely family names
    syllables: Mapping[str, Mapping[str, Listed]]  # culture -> the parts of its hyphenated given names
    formal_of: Mapping[str, str]  # normal form of a nickname -> that of the formal name
    nicknames: Mapping[str, tuple[str, ...]]  # normal form of a formal name -> its nicknames

    def listed(self, form: str, *, is_family: bool | None = None) -> Listed | None:
        """Return the place of a name. The kind ``is_family`` (None: the more likely kind) is searched first."""
        if is_family is None:
            is_family = form in self.rather_family
        first, second = (self.family, self.given) if is_family else (self.given, self.family)
        return first.get(form) or second.get(form)


def _name_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield (kind, name, culture, sex). Our own lists come first: the first culture that has a name keeps it."""
    for kind, name, culture, sex in (row for row in read_rows("own_names.tsv")):
        yield kind, name, culture, sex
    for name, culture, sex in read_rows("given_names.tsv"):
        yield "given", name, culture, sex
    for name, culture in read_rows("family_names.tsv"):
        yield "family", name, culture, ""


def form_of_name(name: str) -> str:
    """Return the form that ``name`` and its surrogate share: prefix, hyphen, apostrophe, two letters, or empty."""
    found = _NAME_FORM.match(name)
    if found:
        return found[0].replace("’", "'").lower().replace("mac", "mc")
    return (
        "-" if "-" in name else "'" if "'" in name or "’" in name else "2" if len(name) == 2 and name.isascii() else ""
    )


@dataclass(frozen=True, slots=True)
class _Claimed:
    """A name with its culture and sex as a given name, and its culture as a family name."""

    name: str
    culture: str  # as a given name, or empty
    sex: str
    family_culture: str  # as a family name, or empty


def _claimed_names(nicknames: Mapping[str, tuple[str, str]]) -> dict[str, _Claimed]:
    given: dict[str, tuple[str, str, str]] = {}
    family: dict[str, tuple[str, str]] = {}
    # Names with nicknames share pools, so that the surrogate of a name has nicknames too.
    for form, (name, sex) in nicknames.items():
        given[form] = (name, "nicknamed", sex)
    for kind, name, culture, sex in _name_rows():
        if kind == "given":
            given.setdefault(normal_form(name), (name, culture, sex))
        else:
            family.setdefault(normal_form(name), (name, culture))
    claimed = {}
    for form in (*given, *(form for form in family if form not in given)):
        name, culture, sex = given.get(form, ("", "", ""))
        spellings = [spelling for spelling in (name, family.get(form, ("",))[0]) if spelling]
        # Dangelo is D'Angelo without its apostrophe: prefer the spelling that has a form to keep.
        spelling = next((spelling for spelling in spellings if form_of_name(spelling)), spellings[0])
        claimed[form] = _Claimed(spelling, culture, sex, family[form][1] if form in family else "")
    return claimed


def _pool_keys(claimed: _Claimed) -> Iterator[tuple[str, ...]]:
    """Yield the keys of possible pools of a name, from the most to the least similar names."""
    form, sex, given, family = form_of_name(claimed.name), claimed.sex, claimed.culture, claimed.family_culture
    if form == "2":
        # Names and initials of two letters look the same, so their surrogates have two letters too.
        yield "two letters", family, given, sex
        yield ("two letters", family) if family else ("two letters", given, sex)
        yield ("two letters", "family") if family else ("two letters", sex)
        yield ("two letters",)
    elif given and family:
        yield "either", given, sex, family, form
        yield "either", _ENGLISH.get(given, given), sex, _ENGLISH.get(family, family), form
        if given != "nicknamed":
            rare = given in _RARE_AS_GIVEN or sex == "U" or (family in _COMMON_FAMILIES and given not in _COMMON_GIVEN)
            yield ("family", family, form) if rare else ("given", given, sex, form)
        yield "either", given, sex, form
    if given:
        yield "given", given, sex, form
        if sex == "U":
            yield "given", given, "F", form
    else:
        yield "family", family, form
    if form not in ("", "2", "-"):
        yield "any culture", form, sex


@cache
def names() -> Names:
    """Return the name lists."""
    formal_of: dict[str, str] = {}
    nicknames: dict[str, tuple[str, ...]] = {}
    formal: dict[str, tuple[str, str]] = {}
    for name, sex, short in read_rows("nicknames.tsv"):
        nicknames[normal_form(name)] = tuple(short.split(","))
        formal[normal_form(name)] = (name, sex)
        for nickname in short.split(","):
            formal_of.setdefault(normal_form(nickname), normal_form(name))
    claimed = _claimed_names(formal)
    not_offered = frozenset(_column("not_offered.txt"))
    key_of = _pool_keys_of(claimed, not_offered)
    members: dict[tuple[str, ...], list[str]] = {}
    for form, key in key_of.items():
        if form not in not_offered:
            members.setdefault(key, []).append(claimed[form].name)
    every_pool = {key: tuple(sorted(together)) for key, together in members.items()}
    pools = _pools_by_culture(every_pool)
    given, family = _places_in_pools(claimed, key_of, every_pool, pools)
    syllables = {culture: _syllables(culture, pools) for culture in _SYLLABIC}
    rather_family = frozenset(form for form, key in key_of.items() if key[0] == "family" and claimed[form].culture)
    return Names(given, family, pools, rather_family, syllables, formal_of, nicknames)


def _syllables(culture: str, pools: Mapping[tuple[str, str], tuple[str, ...]]) -> dict[str, Listed]:
    """Return normal form -> place of the syllables of given names, in three pools: female, male and both.

    So Ying-Hsuan and her brother Ying-Kai still share a syllable, and each surrogate sounds like a name of that sex.
    """
    sexes: dict[str, set[str]] = {}
    for sex in ("F", "M"):
        for name in pools[culture, "-" + sex]:
            for part in name.split("-"):
                sexes.setdefault(part.capitalize(), set()).add(sex)
    found = {}
    for together in ({"F"}, {"M"}, {"F", "M"}):
        pool = tuple(sorted(part for part, told in sexes.items() if told == together))
        sex = "".join(together) if len(together) == 1 else "U"
        found.update({normal_form(part): Listed(pool, place, culture, sex) for place, part in enumerate(pool)})
    return found


def _pools_by_culture(every_pool: Mapping[tuple[str, ...], tuple[str, ...]]) -> dict[tuple[str, str], tuple[str, ...]]:
    pools: dict[tuple[str, str], tuple[str, ...]] = {}
    for key, pool in every_pool.items():
        if key[0] in ("given", "family") and key[-1] == "":
            pools[key[1], key[2] if key[0] == "given" else ""] = pool
        elif key[0] == "given" and key[1] in _SYLLABIC and key[-1] == "-":
            pools[key[1], "-" + key[2]] = pool
    return pools


def _places_in_pools(
    claimed: Mapping[str, _Claimed],
    key_of: Mapping[str, tuple[str, ...]],
    every_pool: Mapping[tuple[str, ...], tuple[str, ...]],
    pools: Mapping[tuple[str, str], tuple[str, ...]],
) -> tuple[dict[str, Listed], dict[str, Listed]]:
    """Return the places of given names and of family names.

    A hash chooses the place in the pool of its culture for a name in no pool, and for a name used as its less likely
    kind.
    """
    own_places = {name: place for pool in every_pool.values() for place, name in enumerate(pool)}
    given: dict[str, Listed] = {}
    family: dict[str, Listed] = {}
    for form, claim in claimed.items():
        key = key_of.get(form, ("",))
        for kind, places_of, culture, sex in (
            ("given", given, claim.culture, claim.sex),
            ("family", family, claim.family_culture, ""),
        ):
            if not culture:
                continue
            told = "F" if sex == "U" else sex  # a female name when too few names are of both sexes
            plain = pools.get((culture, sex)) or pools.get((culture, told)) or pools["english", told]
            pool = plain if key[0] in ("", _OTHER_KIND[kind]) else every_pool[key]
            place = own_places.get(claim.name, -1)
            if not (0 <= place < len(pool) and pool[place] == claim.name):
                place = zlib.crc32(form.encode()) % len(pool)
            places_of[form] = Listed(pool, place, culture, claim.sex)
    return given, family


def _pool_keys_of(claimed: Mapping[str, _Claimed], not_offered: Container[str]) -> dict[str, tuple[str, ...]]:
    """Return the key of the pool of each name: the most similar pool that has at least 8 offered names.

    A name whose pools are all too small has no key (hyphenated names in a culture with few of them).
    """
    key_of: dict[str, tuple[str, ...]] = {}
    left = {form: list(_pool_keys(name)) for form, name in claimed.items()}
    while left:
        sizes = Counter(key for form, key in key_of.items() if form not in not_offered)
        sizes.update(keys[0] for form, keys in left.items() if form not in not_offered)
        for form, keys in list(left.items()):
            if sizes[keys[0]] >= _LEAST_POOL:
                key_of[form] = keys[0]
                del left[form]
            else:
                del keys[0]
                if not keys:
                    del left[form]
    return key_of


@dataclass(frozen=True, slots=True)
class Phrases:
    """Words for the names of facilities, organisations, streets and places.

    ``kept`` maps ``"facility"``, ``"street"`` and ``"place"`` to the words for the kind of thing, which are kept.
    """

    kept: Mapping[str, frozenset[str]]
    firsts: tuple[str, ...]
    features: tuple[str, ...]
    singles: tuple[str, ...]
    streets: tuple[str, ...]
    saints: tuple[str, ...]


def _column(name: str) -> tuple[str, ...]:
    return tuple(row[0] for row in read_rows(name))


@cache
def phrases() -> Phrases:
    """Return the words that form names of places and facilities."""
    kept = {kind: frozenset(_column(f"kept_{kind}.txt")) for kind in ("facility", "street", "place")}
    return Phrases(
        kept, _column("place_firsts.txt"), _column("place_features.txt"), _column("place_singles.txt"),
        _column("streets.txt"), _column("saints.txt"),
    )  # fmt: skip

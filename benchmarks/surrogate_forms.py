"""What a surrogate must share with its original, told without any code that makes surrogates.

The measures of ``surrogates.py`` are only worth something when they do not share the mistakes of what they measure. So
names are cut, dates read and check digits computed anew here, in the plainest way, and the lists are read as files. A
name is looked up in every culture that lists it, where the runtime settles for the first.
"""

import lzma
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import resources
from itertools import pairwise
from typing import Final

_LETTERS: Final = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f]|['’ʻ](?=[^\W_]))*")
SPELLED: Final = re.compile(r"(?:[^\W\d_]([-. ])){3,}[^\W\d_]\.?")
_PARTICLES: Final = frozenset(
    (
        "de da do dos das del della di la los las le van von der den ten ter bin bint ibn ben al el du des zu af av y "
        "e nic st ste saint"
    ).split()
)
_SUFFIXES: Final = frozenset("jr sr jnr snr ii iii iv esq".split())
_TITLES: Final = frozenset("dr mr mrs ms miss prof rev sgt capt sra sir dame".split())
_ENGLISH: Final = frozenset({"english", "english rare", "nicknamed"})
_SYLLABLE_CHARS: Final = 5  # of Korean and Chinese given names at most, Hyung or less


def bare(value: str) -> str:
    """Return the letters and digits of ``value``, case folded, without accents; ``ı`` has the capital of ``i``."""
    decomposed = unicodedata.normalize("NFKD", value.casefold()).replace("ı", "i")
    return unicodedata.normalize("NFC", "".join(char for char in decomposed if char.isalnum()))


# Names ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Word:
    """A run of letters in a name, and what stands before it."""

    text: str = field(repr=False)
    before: str = field(repr=False)


def cut(name: str) -> tuple[list[Word], str]:
    """Return the words of a name and what follows the last; a possessive ending counts as what follows."""
    words, at = [], 0
    for match in _LETTERS.finditer(name):
        text = re.sub(r"(?<=[^\W_]{2})['’][sS]$", "", match[0])
        words.append(Word(text, name[at : match.start()]))
        at = match.start() + len(text)
    return words, name[at:]


def case_of(word: str) -> str:
    """Return ``lower``, ``upper`` or ``title``; nothing for scripts without case."""
    if word.islower():
        return "lower"
    if word.isupper():
        return "upper"
    return "title" if word.lower() != word else ""


def stays(word: str) -> bool:
    """Say whether a word may be a particle, suffix or title, which stays as it is where it is one."""
    return word.lower() in _PARTICLES | _SUFFIXES | _TITLES


def form_faults(original: str, made: str) -> set[str]:
    """Return in what a surrogate of a name is written otherwise: ``parts``, ``case``, ``kept`` words, ``initials``."""
    spelled = SPELLED.fullmatch(original)
    if spelled:  # letter by letter: as many letters as the other name has
        return set() if (again := SPELLED.fullmatch(made)) and again[1] == spelled[1] else {"parts"}
    old, old_end = cut(original)
    new, new_end = cut(made)
    if old_end != new_end or [word.before for word in old] != [word.before for word in new]:
        return {"parts"}
    faults = set()
    cased = {case_of(word.text) for word in old if len(word.text) > 1}
    for place, (left, right) in enumerate(zip((w.text for w in old), (w.text for w in new), strict=True)):
        form = left.lower()
        is_kept = (form in _PARTICLES and left.islower() and "title" in cased and place + 1 < len(old)) or (
            form in _SUFFIXES and place > 0
        )
        if is_kept:
            faults |= {"kept"} if left != right else set()
        elif [char for char in left if char in "'’ʻ"] != [char for char in right if char in "'’ʻ"]:
            faults.add("parts")
        elif (len(left) == 1) != (len(right) == 1):
            faults.add("initials")
        elif case_of(left) != case_of(right) and not (len(left) == 1 and left.isupper() and right.isupper()):
            faults.add("case")
        elif len(old) == 1 and len(left) <= 3 and left.isupper() and not re.search("[AEIOUY]", left):
            faults |= {"initials"} if len(left) != len(right) else set()
    return faults


@dataclass(frozen=True, slots=True)
class NameLists:
    """Every culture and sex under which a name is listed, by its bare form."""

    given: Mapping[str, frozenset[tuple[str, str]]]  # (culture, sex)
    family: Mapping[str, frozenset[str]]

    def sexes(self, form: str) -> frozenset[str]:
        """Return the sexes a given name is listed for; ``U`` is both."""
        found = {sex for _, sex in self.given.get(form, ())}
        return frozenset("FM" if "U" in found else found)

    def cultures(self, form: str, *, is_given: bool) -> frozenset[str]:
        """Return the cultures of a name, with all English ones as one."""
        found = {culture for culture, _ in self.given.get(form, ())} if is_given else set(self.family.get(form, ()))
        return frozenset("english" if culture in _ENGLISH else culture for culture in found)


def _rows(name: str, folder: str = "surrogates") -> Iterator[list[str]]:
    path = resources.files("deid_runtime") / "data" / folder / name
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def read_name_lists() -> NameLists:
    """Read the lists of names that travel with the package."""
    given: dict[str, set[tuple[str, str]]] = {}
    family: dict[str, set[str]] = {}
    for kind, name, culture, sex in _rows("own_names.tsv"):
        if kind == "given":
            given.setdefault(bare(name), set()).add((culture, sex))
        else:
            family.setdefault(bare(name), set()).add(culture)
    for name, culture, sex in _rows("given_names.tsv"):
        given.setdefault(bare(name), set()).add((culture, sex))
    for name, culture in _rows("family_names.tsv"):
        family.setdefault(bare(name), set()).add(culture)
    for name, sex, short in _rows("nicknames.tsv"):
        for each in (name, *short.split(",")):
            given.setdefault(bare(each), set()).add(("nicknamed", sex))
    packed = resources.files("deid_runtime").joinpath("data/surrogates/name_pools.txt.xz").read_bytes()
    for line in lzma.decompress(packed).decode("utf-8").splitlines():
        _, _, culture, sex, family_culture, listed = line.split("\t")
        for name in listed.split(","):
            if culture:
                given.setdefault(bare(name), set()).add((culture, sex))
            if family_culture:
                family.setdefault(bare(name), set()).add(family_culture)
    return NameLists(
        {form: frozenset(found) for form, found in given.items()},
        {form: frozenset(found) for form, found in family.items()},
    )


def roles(name: str, lists: NameLists) -> list[str]:
    """Return ``given``, ``family`` or nothing for each word of :func:`cut`: only where there is little doubt.

    Before a comma family, behind it given; else the first of several full words given and the last family. A word alone
    is what the lists have it for, if one list alone does. Words of one letter and particles are nothing, and so are two
    letters alone in lower case or capitals (``ko``, ``KO``), which are initials as a rule. Where the first word is no
    given name of the lists the family name may be first (``ABERNATHY TOBIAS``, ``Wu Guang-Li``): then a last word that
    may be a given name, in capitals or behind a hyphen, is nothing, nor is a syllable behind a hyphen.
    """
    words, _ = cut(name)
    full = [i for i, word in enumerate(words) if len(word.text) > 1 and word.text.lower() not in _PARTICLES | _SUFFIXES]
    found = [""] * len(words)
    comma = next((i for i, word in enumerate(words) if "," in word.before), None)
    if comma is not None:
        for i in full:
            found[i] = "family" if i < comma else "given"
    elif len(full) > 1:
        found[full[0]], found[full[-1]] = "given", "family"
    for i in full:
        form = bare(words[i].text)
        is_hyphened = any("-" in words[j].before for j in (i, i + 1) if j < len(words))
        if is_hyphened and found[i] != "family":
            found[i] = ""  # the parts of Maj-Britt and Min-ji are no names of their own
            continue
        is_given, is_family = form in lists.given, form in lists.family
        is_alone = len(words) == 1 and len(form) == 2 and case_of(words[i].text) in ("lower", "upper")
        is_doubted = (is_given and name.isupper()) or (is_hyphened and (is_given or len(form) <= _SYLLABLE_CHARS))
        may_be_given = comma is None and found[i] == "family" and is_doubted
        if is_alone or (may_be_given and not _begins_given(words, full, lists)):
            found[i] = ""
        elif len(full) == 1 and is_given != is_family and comma is None:
            found[i] = "given" if is_given else "family"
        elif (found[i] == "given" and not is_given) or (found[i] == "family" and not is_family):
            found[i] = ""  # Given Family and Family Given: the lists do not bear it out
    return found


def _begins_given(words: Sequence[Word], full: Sequence[int], lists: NameLists) -> bool:
    """Say whether the first full word is a given name of the lists, by itself or joined to what follows it."""
    first = full[0]
    end = first + 1
    while end < len(words) and "-" in words[end].before:
        end += 1
    joined = "".join(bare(word.text) for word in words[first:end])
    return end < len(words) and (bare(words[first].text) in lists.given or joined in lists.given)


# Dates ----------------------------------------------------------------------------------------------------------------

_MONTHS: Final = "january february march april may june july august september october november december".split()
_MONTH: Final = re.compile(rf"(?i)\b(?:{'|'.join(f'{m[:3]}(?:{m[3:]})?' for m in _MONTHS)}|sept)\b")
_WEEKDAY: Final = re.compile(r"(?i)\b(?:mon|tues?|wed(?:s|nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\b")
_FEAST_DAY: Final = re.compile(r"(?i)\b(?:ash|good|black|palm|easter|cyber) [a-z]+day\b")
_WORDS: Final = re.compile(r"[^\W\d_]+(?:(?:\. |['’ ])[^\W\d_]+)*")
_NUMERIC: Final = re.compile(r"(\d{1,4})([/.-])(\d{1,2})\2(\d{2,4})")
_TEXTUAL: Final = (
    re.compile(r"(?i)(?P<m>[a-z]{3,9})\.?\s+(?P<d>\d{1,2})(?:st|nd|rd|th)?\s*,?\s+(?P<y>\d{4})"),
    re.compile(r"(?i)(?P<d>\d{1,2})(?:st|nd|rd|th)?[ -](?:of )?(?P<m>[a-z]{3,9})\.?,?[ -](?P<y>\d{4})"),
)


def date_skeleton(value: str) -> str:
    """Return a date with its months, weekdays and ordinal endings named by kind and its figures by how many there are.

    Figures of one or two count alike (9 becomes 10), and so do months without a short form of their own (May, June,
    July). Names of feasts are left out, however many words they have: the nearest one is another.
    """

    def weekday(match: re.Match[str]) -> str:
        return f"\0W{'long' if match[0].lower().endswith('day') else 'short'} {case_of(match[0])}\0"

    def month(match: re.Match[str]) -> str:
        name = match[0].lower()
        length = "any" if name in ("may", "june", "july") else "short" if len(name) <= len("sept") else "long"
        return f"\0M{length} {case_of(match[0])}\0"

    parts = _WEEKDAY.sub(weekday, _FEAST_DAY.sub("", value)).split("\0")
    parts = _MONTH.sub(month, "\0".join(parts)).split("\0")
    parts = [part if part[:1] in "MW" else re.sub(r"(?<=\d)(st|nd|rd|th)\b", "'", part) for part in parts]
    plain = [part if part[:1] in "MW" else _WORDS.sub("", part) for part in parts]
    return re.sub(r"\d+", lambda match: "N" if len(match[0]) <= 2 else "N" * len(match[0]), "".join(plain))


def same_date_form(original: str, made: str) -> bool:
    """Say whether two dates are written alike: skeleton and padding with zeros."""
    left, right = date_skeleton(original), date_skeleton(made)
    if "Many" in left + right:
        left, right = (re.sub("M(?:any|short|long)", "M", skeleton) for skeleton in (left, right))
    if left != right:
        return False
    old, new = _days_and_months(original), _days_and_months(made)
    is_short, is_padded = any(len(number) == 1 for number in old), any(number[:1] == "0" for number in old)
    if is_short and not is_padded:
        return not any(number[:1] == "0" for number in new)
    return is_short or not is_padded or not any(len(number) == 1 for number in new)


def _days_and_months(value: str) -> list[str]:
    """Return the figures of a full date without its year, which alone may be ``04`` beside a ``3``.

    An O that a scanner read for a zero is one.
    """
    numbers = re.findall(r"\d+", re.sub(r"(?<![^\W_])O(?=\d)", "0", value))
    return numbers[1:] if numbers and len(numbers[0]) == 4 else numbers[:-1]


def full_dates(value: str) -> set[date]:
    """Return the days that a date with day, month and year may mean; none for what is partial or no day.

    Numbers may be month or day first; two figures of a year are in this century or the last.
    """
    found: set[date] = set()
    if match := _NUMERIC.search(value):
        a, _, b, c = match.groups()
        orders = [(a, b, c)] if len(a) == 4 else [(c, a, b), (c, b, a)] if len(a) <= 2 else []
        found.update(day for year, month, when in orders for day in _days(year, int(month), when))
    for pattern in _TEXTUAL:
        if (match := pattern.search(value)) and _MONTH.fullmatch(match["m"]):
            month = next(i for i, name in enumerate(_MONTHS, 1) if name[:3] == match["m"].lower()[:3])
            found.update(_days(match["y"], month, match["d"]))
    return found


def _days(year: str, month: int, day: str) -> Iterator[date]:
    for century in (1900, 2000) if len(year) == 2 else (0,):
        try:
            yield date(century + int(year), month, int(day))
        except ValueError:
            continue


# Numbers --------------------------------------------------------------------------------------------------------------


_SAID: Final = {
    word: kind
    for kind, words in (
        ("unit", "oh zero one two three four five six seven eight nine"),
        ("teen", "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"),
        ("tens", "twenty thirty forty fifty sixty seventy eighty ninety"),
    )
    for word in words.split()
}


def shape(value: str) -> str:
    """Return ``value`` with 9 for a digit, A and a for letters.

    A number said in words has the kinds of the words for its shape: ``sixty seventeen`` that of ``forty fifteen``.
    """
    words = re.findall(r"[^\W\d_]+", value.lower())
    if len(words) > 2 and all(word in _SAID for word in words):
        return re.sub(r"[^\W\d_]+", lambda match: _SAID[match[0].lower()], re.sub(r"\d", "9", value))
    return "".join(
        "9" if char.isdigit() else ("a" if char.islower() else "A") if char.isalpha() else char for char in value
    )


def passes_luhn(digits: str) -> bool:
    """Say whether the last of the digits is the Luhn check digit of the others."""
    doubled = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def check_kinds(value: str) -> set[str]:
    """Return which check digits hold in an identifier: ``npi``, ``nhs``, ``dea``, ``luhn``; one of ten by chance."""
    code = re.sub(r"[\s-]", "", value).upper()
    kinds = set()
    if re.fullmatch(r"[12]\d{9}", code) and passes_luhn("80840" + code):
        kinds.add("npi")
    if (
        re.fullmatch(r"\d{10}", code)
        and sum(int(d) * w for d, w in zip(code, (*range(10, 1, -1), 1), strict=True)) % 11 == 0
    ):
        kinds.add("nhs")
    if re.fullmatch(r"[A-Z][A-Z9]\d{7}", code):
        d = [int(char) for char in code[2:]]
        if (d[0] + d[2] + d[4] + 2 * (d[1] + d[3] + d[5])) % 10 == d[6]:
            kinds.add("dea")
    if re.fullmatch(r"\d{12,19}", code) and passes_luhn(code):
        kinds.add("luhn")
    return kinds


# Places ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """US states by every spelling, and what lies in each: towns, ZIP3 from and to, area codes."""

    states: Mapping[str, str]
    towns: Mapping[str, frozenset[str]]
    zips: Mapping[str, tuple[int, int]]
    area_codes: Mapping[str, frozenset[str]]


def read_gazetteer() -> Gazetteer:
    """Read the places that travel with the package."""
    states, zips, codes = {}, {}, {}
    named = {code: (name, short) for code, name, country, short, _ in _rows("states.tsv", "lexicon") if country == "US"}
    for code, span, area in _rows("us_states.tsv"):
        name, short = named[code]
        states.update(dict.fromkeys((bare(code), bare(name), bare(short)), code))
        first, last = span.split("-")
        zips[code] = (int(first), int(last))
        codes[code] = frozenset(area.split(","))
    towns: dict[str, frozenset[str]] = {}
    for name in ("us_cities.tsv", "us_towns.tsv"):
        for code, listed in _rows(name):
            here = frozenset(bare(town.rsplit(" ", 1)[0]) for town in listed.split(","))
            towns[code] = towns.get(code, frozenset()) | here
    return Gazetteer(states, towns, zips, codes)


COUNTY: Final = re.compile(r"(?i)\b(?:county|co|parish|township|twp)\b")
_FACILITY_KINDS: Final = frozenset(
    """hospital clinic center centre pharmacy hospice church school university college elementary rehab nursing home
    dialysis laboratory lab imaging associates group institute medical surgical department police bank company inc
    llc""".split()
)
_STREET_KINDS: Final = frozenset(
    """street st avenue ave road rd lane ln drive dr court ct blvd boulevard way highway hwy apt unit room rm bed floor
    ward building wing suite ste""".split()
)


def kind_word(value: str, *, is_facility: bool) -> str:
    """Return the last word, not the first, that says of what kind a place is: the clinic of ``King Road Clinic``."""
    words = re.findall(r"(?<!\d)[^\W\d_]+", value.lower())
    kinds = _FACILITY_KINDS if is_facility else _STREET_KINDS
    return next((word for word in reversed(words[1:] if is_facility else words) if word in kinds), "")


def acronym(name: str) -> str:
    """Return the first letters of the words of a name, ``of``, ``the`` and their like left out."""
    words = [word for word in re.findall(r"[^\W\d_]+", name) if word.lower() not in ("of", "the", "and", "at", "for")]
    return "".join(word[0] for word in words).upper()


def area_code(number: str) -> str:
    """Return the area code of a North American telephone number, or nothing."""
    digits = re.sub(r"\D", "", number)
    digits = digits[1:] if len(digits) == 11 and digits[0] == "1" else digits
    return digits[:3] if len(digits) == 10 and not number.startswith("+") else ""


def neighbours(spans: list[tuple[int, int]], text: str) -> Iterator[tuple[int, int]]:
    """Yield the indices of spans ``[start, end)`` with at most four characters, no letter or digit, between them."""
    for left, right in pairwise(range(len(spans))):
        gap = text[spans[left][1] : spans[right][0]]
        if len(gap) <= 4 and not any(map(str.isalnum, gap)):
            yield left, right

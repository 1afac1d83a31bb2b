"""What a surrogate of a name must share with its original, told without any code that makes surrogates.

The measures of ``surrogates.py`` are only worth something when they do not share the mistakes of what they measure. So
names are cut anew here, in the plainest way, and the lists are read as files; ``surrogate_date_forms.py`` and
``surrogate_code_forms.py`` do the same for dates, and for numbers and places. A name is looked up in every culture that
lists it, where the runtime settles for the first.
"""

import lzma
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
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
#: Words in names that hospitals give to unknown patients, and words for relatives before a name. They are no names.
_GENERIC: Final = frozenset(
    "trauma unknown unk unidentified male female baby boy girl aunt auntie aunty uncle grandma grandpa granny".split()
)
_ENGLISH: Final = frozenset({"english", "english rare", "nicknamed"})
_SYLLABLE_CHARS: Final = 5  # of Korean and Chinese given names at most, Hyung or less


def bare(value: str) -> str:
    """Return the letters and digits of ``value``, case folded, without accents; ``ı`` has the capital of ``i``."""
    decomposed = unicodedata.normalize("NFKD", value.casefold()).replace("ı", "i")
    return unicodedata.normalize("NFC", "".join(char for char in decomposed if char.isalnum()))


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
    """Say whether a word may stay unchanged in a surrogate: a particle, suffix, title or generic word."""
    return word.lower() in _PARTICLES | _SUFFIXES | _TITLES | _GENERIC


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


def rows(name: str, folder: str = "surrogates") -> Iterator[list[str]]:
    """Yield the fields of each line of a list that travels with the package."""
    path = resources.files("deid_runtime") / "data" / folder / name
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def read_name_lists() -> NameLists:
    """Read the lists of names that travel with the package."""
    given: dict[str, set[tuple[str, str]]] = {}
    family: dict[str, set[str]] = {}
    for kind, name, culture, sex in rows("own_names.tsv"):
        if kind == "given":
            given.setdefault(bare(name), set()).add((culture, sex))
        else:
            family.setdefault(bare(name), set()).add(culture)
    for name, culture, sex in rows("given_names.tsv"):
        given.setdefault(bare(name), set()).add((culture, sex))
    for name, culture in rows("family_names.tsv"):
        family.setdefault(bare(name), set()).add(culture)
    for name, sex, short in rows("nicknames.tsv"):
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

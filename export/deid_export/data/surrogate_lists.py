"""Regenerate the name lists under ``deid_runtime/data/surrogates`` from Faker's provider data (MIT licence).

Run ``python -m deid_export.data.surrogate_lists [FOLDER]`` after an update of Faker. The result is committed, so the
runtime reads plain files and never imports Faker. Two files are written:

``given_names.tsv``
    ``name``, ``culture``, ``sex`` (``F``, ``M`` or ``U`` for both), one name per line.
``family_names.tsv``
    ``name``, ``culture``.

A name is listed once, under the first culture of :data:`CULTURES` that has it. So one list both recognises a name and
offers surrogates of the same origin. The lists written by hand are not changed: ``own_names.tsv``, and
``not_offered.txt`` with names that are recognised but never used as surrogates.
"""

import importlib
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

#: Maps a culture to (Faker locale, most names of each kind), in order of precedence: a name found in two cultures
#: belongs to the first. A culture comes before the English lists if these contain its names (Garcia, Patel).
CULTURES: dict[str, tuple[tuple[str, int], ...]] = {
    "indian": (("en_IN", 600),),
    "spanish": (("es_MX", 700), ("es_CO", 300), ("es_ES", 600), ("es_CL", 500)),
    "english": (("en_US", 1000), ("en_GB", 500), ("en_NZ", 600)),
    "irish": (("en_IE", 2400),),
    "pakistani": (("en_PK", 250),),
    "arabic": (("fr_DZ", 250),),
    "french": (("fr_FR", 250), ("fr_CA", 200)),
    "german": (("de_DE", 450), ("de_AT", 300)),
    "italian": (("it_IT", 600),),
    "portuguese": (("pt_PT", 200), ("pt_BR", 200)),
    "dutch": (("nl_NL", 350),),
    "nordic": (("sv_SE", 300), ("no_NO", 150), ("da_DK", 200)),
    "finnish": (("fi_FI", 250),),
    "icelandic": (("is_IS", 150),),
    "polish": (("pl_PL", 600),),
    "czech": (("cs_CZ", 150), ("sk_SK", 150)),
    "hungarian": (("hu_HU", 150),),
    "croatian": (("hr_HR", 200), ("sl_SI", 150)),
    "romanian": (("ro_RO", 200),),
    "russian": (("ru_RU", 250), ("uk_UA", 250), ("bg_BG", 100)),
    "greek": (("el_GR", 200),),
    "baltic": (("lv_LV", 150), ("et_EE", 150)),
    "turkish": (("tr_TR", 250),),
    "azeri": (("az_AZ", 120),),
    "chinese": (("zh_CN", 150), ("zh_TW", 150)),
    "japanese": (("ja_JP", 100),),
    "thai": (("en_TH", 80),),
    "indonesian": (("id_ID", 200),),
    "yoruba": (("yo_NG", 150),),
    "igbo": (("ig_NG", 60),),
    "hausa": (("ha_NG", 60),),
    "ghanaian": (("tw_GH", 200),),
    "east african": (("en_KE", 1000), ("sw", 150)),
    "zulu": (("zu_ZA", 250),),
    "english rare": (("en", 4000),),
    "han": (("zh_CN:native", 120),),
    "kana": (("ja_JP:native", 60),),
    "hangul": (("ko_KR:native", 70),),
    "cyrillic": (("ru_RU:native", 120),),
    "arabic script": (("ar_AA:native", 120),),
    "hebrew script": (("he_IL:native", 80),),
    "greek script": (("el_GR:native", 80),),
    "devanagari": (("hi_IN:native", 80),),
    "thai script": (("th_TH:native", 60),),
    "armenian script": (("hy_AM:native", 80),),
    "georgian script": (("ka_GE:native", 60),),
}

#: These cultures win over the American list, not over the British: Jose and Garcia are Spanish, David and Thomas
#: English.
_BEFORE_ENGLISH = frozenset({"indian", "spanish"})

#: Faker's attributes for each kind of name, best first; `_UNKNOWN` has both sexes.
_FEMALE = ("first_romanized_names_female", "first_names_female")
_MALE = ("first_romanized_names_male", "first_names_male")
_UNKNOWN = ("first_romanized_names", "first_names")
_FAMILY = ("last_romanized_names", "unisex_last_names", "last_names_without_suffix", "last_names")

_CYRILLIC = dict(
    zip("абвгдезийклмнопрстуфцыэіўґ", "a b v g d e z i y k l m n o p r s t u f ts y e i w g".split(), strict=True)
) | {
    "ё": "yo", "ж": "zh", "х": "kh", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "", "ь": "", "ю": "yu", "я": "ya",
    "є": "ye", "ї": "yi", "'": "", "’": "",
}  # fmt: skip
_GREEK = dict(
    zip("αβγδεζηικλμνξοπρσςτυφω", "a v g d e z i i k l m n x o p r s s t y f o".split(), strict=True)
) | {"θ": "th", "χ": "ch", "ψ": "ps"}  # fmt: skip
#: A part of one letter needs an apostrophe (O'Brien): after a hyphen it would look like an initial (Yueh-O).
_LATIN_NAME = re.compile(
    r"(?:[A-Z][a-zA-ZÀ-ɏḀ-ỿ]*['’])?[A-Z][a-zA-ZÀ-ɏḀ-ỿ]+(?:(?:['’][A-Za-zÀ-ɏḀ-ỿ]+)|(?:-[A-Za-zÀ-ɏḀ-ỿ]{2,}))*"
)


def romanise(name: str) -> str:
    """Return a Cyrillic or Greek name in Latin letters; other names unchanged."""
    bare = "".join(c for c in unicodedata.normalize("NFD", name.lower()) if not unicodedata.combining(c) or c == "̆")
    bare = unicodedata.normalize("NFC", bare)
    for table in (_CYRILLIC, _GREEK):
        if any(c in table for c in bare if c.isalpha()):
            return "".join(table.get(c, c) for c in bare).title()
    return name


def _provider_names(locale: str, attributes: Iterable[str]) -> list[str]:
    provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
    for attribute in attributes:
        values = getattr(provider, attribute, None)
        if values:
            return [value if isinstance(value, str) else value[0] for value in values]
    return []


def _clean(names: Iterable[str], *, native: bool) -> Iterator[str]:
    for name in names:
        name = unicodedata.normalize("NFC", name.strip())
        if native:
            if name and not name.isascii() and " " not in name:
                yield name
            continue
        name = romanise(name)
        name = name.title() if name.isupper() else name
        if len(name) > 1 and _LATIN_NAME.fullmatch(name):
            yield name


def _pick(locale: str, attributes: Iterable[str], limit: int) -> list[str]:
    locale, _, native = locale.partition(":")
    if native:
        attributes = [attribute for attribute in attributes if "romanized" not in attribute]
    names = list(dict.fromkeys(_clean(_provider_names(locale, attributes), native=bool(native))))
    rising = sum(left <= right for left, right in pairwise(names))
    if rising > 0.8 * len(names):  # alphabetical order, not by frequency: the first names begin with A and B
        return names[:: -(-len(names) // limit)] if names else []
    return names[:limit]


def given_names() -> dict[str, tuple[str, str]]:
    """Return name to (culture, sex).

    Faker's order decides which names are cut; it is by frequency where the source has frequencies.
    """
    rows: dict[str, tuple[str, str]] = {}
    british = {name for kinds in (_FEMALE, _MALE) for name in _pick("en_GB", kinds, 1000)}
    for culture, locales in CULTURES.items():
        sexes: dict[str, set[str]] = {}
        for locale, limit in locales:
            found = {"F": _pick(locale, _FEMALE, limit), "M": _pick(locale, _MALE, limit)}
            if not found["F"] and not found["M"]:
                found = {"U": _pick(locale, _UNKNOWN, limit)}
            for sex, names in found.items():
                for name in names:
                    if culture in _BEFORE_ENGLISH and name in british:
                        continue
                    sexes.setdefault(name, set()).add(sex)
        for name, of in sexes.items():
            rows.setdefault(name, (culture, next(iter(of)) if len(of) == 1 else "U"))
    return rows


def family_names() -> dict[str, str]:
    """Return family name to culture; a spelling without accents (Lopez) gets the culture of the accented (López)."""
    rows: dict[str, str] = {}
    claimed: dict[str, str] = {}
    british = set(_pick("en_GB", _FAMILY, 1000))
    for culture, locales in CULTURES.items():
        for locale, limit in locales:
            for name in _pick(locale, _FAMILY, limit):
                if culture in _BEFORE_ENGLISH and name in british and not name.endswith("ez"):
                    continue
                bare = "".join(c for c in unicodedata.normalize("NFD", name) if not unicodedata.combining(c))
                rows.setdefault(name, claimed.setdefault(bare, culture))
    return rows


def all_given_names() -> dict[str, tuple[str, str]]:
    """Return every given name of Faker in Latin letters with (culture, sex), also those that the lists above cut."""
    rows: dict[str, tuple[str, str]] = {}
    for culture, locales in CULTURES.items():
        for locale, _ in locales:
            for sex, attributes in (("F", _FEMALE), ("M", _MALE)) if ":" not in locale else ():
                for name in _clean(_provider_names(locale, attributes), native=False):
                    told = rows.setdefault(name, (culture, sex))
                    if told[0] == culture and told[1] != sex:
                        rows[name] = culture, "U"
    return rows


def all_family_names() -> dict[str, str]:
    """Return every family name of Faker in Latin letters with its culture, including those that the lists above cut."""
    rows: dict[str, str] = {}
    for culture, locales in CULTURES.items():
        for locale, _ in locales:
            if ":" not in locale:
                for name in _clean(_provider_names(locale, _FAMILY), native=False):
                    rows.setdefault(name, culture)
    return rows


def write_lists(folder: Path) -> None:
    """Write both files into ``folder``, sorted by culture and name so that a change gives a small diff."""
    given = sorted((culture, sex, name) for name, (culture, sex) in given_names().items())
    family = sorted((culture, name) for name, culture in family_names().items())
    lines = [f"{name}\t{culture}\t{sex}\n" for culture, sex, name in given]
    (folder / "given_names.tsv").write_text("".join(lines), encoding="utf-8")
    (folder / "family_names.tsv").write_text("".join(f"{n}\t{c}\n" for c, n in family), encoding="utf-8")


if __name__ == "__main__":
    default = Path(__file__).parents[3] / "deid_runtime" / "data" / "surrogates"
    write_lists(Path(sys.argv[1]) if len(sys.argv) > 1 else default)

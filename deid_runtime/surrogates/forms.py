"""The written form of a value: its normal form, and functions that change its letters and digits but not its shape."""

import re
import unicodedata
from string import ascii_lowercase
from typing import Final

from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.system.word_caches import cached_by_word

_DROP_ASCII: Final = {code: None for code in range(128) if not chr(code).isalnum()}

#: Letters that replace letters of the same script. Upper case follows from lower case if the script has both.
_SCRIPTS: Final = (
    (0x0370, 0x03FF, "αβγδεζηθικλμνξοπρστυφχψω"),
    (0x0400, 0x04FF, "абвгдежзиклмнопрстуфхцчшщэюя"),
    (0x0530, 0x058F, "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ"),
    (0x0590, 0x05FF, "אבגדהוזחטיכלמנסעפצקרשת"),
    (0x0600, 0x06FF, "ابتثجحخدذرزسشصضطظعغفقكلمنهوي"),
    (0x0900, 0x097F, "कखगघचछजझटठडढणतथदधनपफबभमयरलवशषसह"),
    (0x0E00, 0x0E7F, "กขคงจชซดตถทนบปพฟมยรลวสหอ"),
    (0x10A0, 0x10FF, "აბგდევზთიკლმნოპრსტუფქღყშჩცძწჭხჯჰ"),
    (0x3040, 0x309F, "あいうえおかきくけこさしすせそたちつてとなにのはひふへほまみもやゆよらりるれろわ"),
    (0x30A0, 0x30FF, "アイウエオカキクケコサシスセソタチツテトナニノハヒフヘホマミモヤユヨラリルレロワ"),
    (0x3400, 0x9FFF, "安北成春东芳光海和红华建金军来丽林龙梅明南宁平青清秋山生石水松天文武西小新雪阳英永玉远云中"),
    (0xAC00, 0xD7AF, (
        "가강경고구기나남노다대도동라로마모무미민바박보부사상서선성소수신아안영"
        "우원유윤은이인장재정조주준지진찬창하한현호홍희"
    )),
)  # fmt: skip
_APOSTROPHE_LETTERS: Final = "ʻʼ"  # punctuation to readers, although Unicode classes them as letters
_LOWER: Final = "abcdefghjklmnpqrstuvwxyz"  # without i and o, which look like digits in identifiers


def normal_form(value: str) -> str:
    """Return the normal form: letters and digits only, case folded, without accents.

    Two mentions are the same when their normal forms are equal. Empty when ``value`` has no letter or digit.
    """
    return _short_normal_form(value) if len(value) <= 64 else _normal_form(value)


def _normal_form(value: str) -> str:
    if value.isascii():
        return value.lower().translate(_DROP_ASCII)
    # The Turkish dotless i and i have the same capital I, so both letters get one form.
    decomposed = unicodedata.normalize("NFKD", value).casefold().replace("ı", "i")
    kept = (char for char in decomposed if char.isalnum() and char not in _APOSTROPHE_LETTERS)
    return unicodedata.normalize("NFC", "".join(kept))


# Each value is normalised several times. Only short values are cached, to limit the cache to some megabytes.
_short_normal_form = cached_by_word(16_384)(_normal_form)


#: Letters whose plain form is not part of their Unicode decomposition.
_PLAIN_LETTERS: Final = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ı": "i", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th",
     "æ": "ae", "Æ": "Ae", "ß": "ss", "ə": "a", "Ə": "A", "ʻ": "'", "’": "'"}
)  # fmt: skip


def without_accents(name: str) -> str:
    """Return ``name`` without accents, as notes write names of other languages; other scripts stay unchanged."""
    if name.isascii():
        return name
    bare = "".join(char for char in unicodedata.normalize("NFD", name) if not unicodedata.combining(char))
    bare = bare.translate(_PLAIN_LETTERS)
    return bare if bare.isascii() else name


def one_slip_from(form: str) -> set[str]:
    """Return what one slip makes of a normal form: a letter changed, left out or added, or two swapped.

    The first letter stays.
    """
    found: set[str] = set()
    for at in range(1, len(form) + 1):
        head, tail = form[:at], form[at:]
        found |= {head + tail[1:], head + tail[1:2] + tail[:1] + tail[2:]}
        found.update(head + letter + rest for letter in ascii_lowercase for rest in (tail, tail[1:]))
    return found - {form}


def holds_text(value: str) -> bool:
    """Return whether ``value`` has a letter or digit of any script. An okina alone is not a letter."""
    return any(char.isalnum() and char not in _APOSTROPHE_LETTERS for char in value)


def _letter_like(char: str, number: int) -> str:
    if char.isascii():
        letter = _LOWER[number % len(_LOWER)]
        if letter == char.lower():
            letter = _LOWER[(number + 1) % len(_LOWER)]
        return letter.upper() if char.isupper() else letter
    code = ord(char)
    for first, last, letters in _SCRIPTS:
        if first <= code <= last:
            # The lists have base letters without accents, so an accented original always differs.
            letter = letters[number % len(letters)]
            if letter == char.lower():
                letter = letters[(number + 1) % len(letters)]
            return letter.upper() if char.isupper() and len(letter.upper()) == 1 else letter
    letter = _LOWER[number % len(_LOWER)]
    return letter.upper() if char.isupper() else letter


def scramble(keyed: Keyed, purpose: str, value: str, *, identity: str | None = None) -> str:
    """Return ``value`` with each letter replaced by a letter and each digit by a digit; keep all other characters.

    The choice depends on ``identity`` (by default the normal form of ``value``), so spacing and letter case do not
    change it. The first digit is 0 only if the original is; leading zeros stay, because they are padding. Takes time
    linear in the length of ``value``.
    """
    identity = normal_form(value) if identity is None else identity
    stream = keyed.stream(len(value), purpose, identity)
    out: list[str] = []
    index = 0
    started = False
    for char in value:
        if not char.isalnum():
            out.append(char)
            continue
        number = stream[index]
        index += 1
        if char.isdecimal() or char.isdigit() or char.isnumeric():
            if not started and char == "0":
                out.append("0")
                continue
            out.append(str(number % 10) if started else str(1 + number % 9))
            started = True
        else:
            out.append(_letter_like(char, number))
    return "".join(out)


def changed(value: str) -> str:
    """Return ``value`` with each letter and digit moved to the next one: the last resort if all others are taken."""
    out: list[str] = []
    for char in value:
        if char.isdecimal():
            out.append(str((int(char) + 1) % 10))
        elif char.isalnum():
            if char.isascii():
                base = "A" if char.isupper() else "a"
                out.append(chr((ord(char) - ord(base) + 1) % 26 + ord(base)))
            else:
                out.append(_letter_like(char, 7))
        else:
            out.append(char)
    return "".join(out)


#: Brackets and quotation marks that open and close, each pair in one entry.
_PAIRS: Final = ("()", "[]", "{}", '""', "“”", "''", "‘’", "«»")


def loose_marks(value: str) -> tuple[str, str]:
    """Return the brackets, quotation marks and spaces at the start and the end of ``value`` that belong to its context.

    They have no counterpart inside: the bracket of ``Oliver (`` belongs to the note, those of ``Oliver (Ollie)`` do
    not.
    """
    marks = "".join(_PAIRS) + " "
    start, end = 0, len(value)

    def is_loose(mark: str) -> bool:
        inside = value[start:end]
        return mark == " " or any(
            mark in pair and inside.count(pair[0]) + inside.count(pair[1]) * (pair[0] != pair[1]) == 1
            for pair in _PAIRS
        )

    while start < end and value[start] in marks and is_loose(value[start]):
        start += 1
    while end > start and value[end - 1] in marks and is_loose(value[end - 1]):
        end -= 1
    return (value[:start], value[end:]) if start < end else ("", "")


def misspell(word: str, number: int) -> str:
    """Return ``word`` with one misspelling inside: two letters swapped, or one omitted."""
    places = [i for i in range(1, len(word) - 1) if word[i].isalpha() and word[i + 1].isalpha()]
    places = [i for i in places if word[i].lower() != word[i + 1].lower()]
    if len(word) < 4 or not places:
        return vary(word, number)
    place = places[number % len(places)]
    if number // 64 % 2 and len(word) > 5:
        return word[:place] + word[place + 1 :]
    return word[:place] + word[place + 1].lower() + word[place].lower() + word[place + 2 :]


#: Plausible spelling variants of names: (pattern, replacement).
_VARIANTS: Final = tuple(
    (re.compile(pattern, re.I), new)
    for pattern, new in (
        (r"(?<=[a-z])([bcdfglmnprst])\1(?=[a-z])", r"\1"),
        (r"(?<=[aeiou])([lnrt])(?=[aeiouy])", r"\1\1"),
        (r"(?<=[a-z])([lnt])$", r"\1\1"),
        (r"(?<=[bcdfghklmnprstv])i(?=[a-z])", "y"),
        (r"(?<=[a-z])y(?=[a-z])", "i"),
        (r"(?<=[a-z])ck(?=[a-z])", "k"),
        (r"(?<=[a-z])k(?=[aeiou])", "ck"),
        (r"(?<=[a-z])ph", "f"),
        (r"(?<=[a-z])f(?=[aeiou])", "ph"),
        (r"(?<=[a-z])ei", "ie"),
        (r"(?<=[a-z])ie(?=[a-z])", "ei"),
        (r"(?<=[a-z])er$", "ar"),
        (r"(?<=[a-z])en$", "in"),
        (r"(?<=[a-z])on$", "en"),
        (r"(?<=[a-z])s(?=[aeiou])", "z"),
        (r"(?<=[a-z]{2})e$", ""),
        (r"(?<=[bdfgklmnprtv])$", "e"),
        (r"(?<=[a-z])a$", "ah"),
    )
)


def vary(word: str, number: int) -> str:
    """Return ``word`` in another plausible spelling (Sheppard, Shepard), or with one more letter when there is none."""
    found = [variant for pattern, new in _VARIANTS if (variant := pattern.sub(new, word, count=1)) != word]
    return found[number % len(found)] if found else word + "aeio"[number % 4]

"""Replace letters, digits and spaces in unusual forms by the usual ones.

The rules use only the Unicode properties and the look of a character, never its meaning.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from deid_runtime.text.reading.edits import Edit

_ASCII_DASHES: Final = dict.fromkeys("\u2010\u2011\u2012\u2212\ufe63\uff0d", "-")
_ASCII_QUOTES: Final = {**dict.fromkeys("\u201b\u2032\u02bc\u02b9\uff07", "'"), "\u2033": '"', "\uff02": '"'}
_SPACES: Final = dict.fromkeys(
    "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
)
_LINE_ENDS: Final = dict.fromkeys("\x85\u2028\u2029", "\n")
_SMALL_CAPITALS: Final = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz", strict=True))
#: Full-width ASCII, mathematical letters and digits, circled and squared letters, modifier letters.
_STYLED_RANGES: Final = (
    (0xFF01, 0xFF5F), (0x1D400, 0x1D800), (0x24B6, 0x24EA), (0x2460, 0x2469), (0x1F130, 0x1F14A), (0x1F150, 0x1F16A),
    (0x1F170, 0x1F18A), (0x1D2C, 0x1D6B), (0x210A, 0x2132),
)  # fmt: skip
_NEGATIVE: Final = {base + n: chr(ord("A") + n) for base in (0x1F150, 0x1F170) for n in range(26)}


def _styled() -> Iterator[tuple[str, str]]:
    for first, end in _STYLED_RANGES:
        for point in range(first, end):
            plain = _NEGATIVE.get(point) or unicodedata.normalize("NFKC", chr(point))
            if len(plain) == 1 and plain != chr(point) and (plain.isascii() or plain.isalpha()):
                yield chr(point), plain


#: Unusual character to the usual one, for forms of one character each.
_ONE_TO_ONE: Final = (
    dict(_styled())
    | _ASCII_DASHES | _ASCII_QUOTES | _SPACES | _LINE_ENDS | _SMALL_CAPITALS
)  # fmt: skip
_TRANSLATION: Final = str.maketrans(_ONE_TO_ONE)
_LIGATURES: Final = {chr(point): unicodedata.normalize("NFKC", chr(point)) for point in range(0xFB00, 0xFB07)}

# Invisible characters. Joiners and marks of other scripts and emoji stay when a letter or symbol of these is next to
# them. An override (U+202E) shows letters backwards. If a text has one, it stays, with the characters listed here.
_HIDDEN: Final = (
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufff8"
    "\U0001d173-\U0001d17a\U000e0100-\U000e0fff"
)
_DIRECTION: Final = "\u202a-\u202d"
_JOINING: Final = "\u061c\u200c-\u200f\u2066-\u2069\ufe00-\ufe0f\U000e0000-\U000e007f"
_JOINED: Final = (
    "\u0590-\u109f\u1780-\u1aff\ufb1d-\ufdff\ufe70-\ufefc\u203c-\u303d\U0001f000-\U0001faff\u200c-\u200f\u2066-\u2069"
    "\ufe0f\U000e0020-\U000e007f"
)
_OVERRIDE: Final = "\u202e"
_ZERO_WIDTH_SPACE: Final = "\u200b"
_FEW: Final = 2  # up to this number, zero-width spaces are too few to show that they separate words
_MARKS: Final = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"

#: All characters except ASCII, accented letters and marks common in notes. Every match of :data:`_ODD` contains one.
_UNUSUAL: Final = re.compile(
    "[^\x00-\x7f\xa1-\xac\xae-\u02b8\u2013\u2014\u2018-\u201a\u201c-\u201f\u2020-\u2022\u2026\u2190-\u2211\u2213-\u22ff"
    "\u2500-\u27bf]"
)
_ODD: Final = re.compile(
    r"(?=[^\x00-\x7f])(?:"
    rf"(?P<styled>[{re.escape(''.join(_ONE_TO_ONE))}]+)"
    r"|(?P<digits>(?:(?![0-9])\d)+)"
    r"|(?P<hyphen>\xad(?=[ \t]{0,8}\r?\n))"
    rf"|(?P<hidden>[{_HIDDEN}]+|(?<![{_JOINED}])[{_JOINING}](?![{_JOINED}]))"
    rf"|(?P<direction>[{_DIRECTION}])"
    rf"|(?P<space>{_ZERO_WIDTH_SPACE})"
    rf"|(?P<ligature>[{''.join(_LIGATURES)}]))"
)
_CASE_CHANGE: Final = re.compile(rf"[^\W\d_A-Z]{_ZERO_WIDTH_SPACE}[A-Z]")
_MARK: Final = re.compile(f"[{_MARKS}]")
_COMPOSED: Final = re.compile(rf"[^\W_][{_MARKS}]+")

# Letters of other scripts that look like Latin ones.
_LOOKALIKES: Final = {
    foreign: latin
    for row, plain in (
        ("асеорхуѕіјһԁԛԝкмтАВЕКМНОРСТХУЅІЈԚԜҮ", "aceopxysijhdqwkmtABEKMHOPCTXYSIJQWY"),  # Cyrillic
        ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονικρυχ", "ABEZHIKMNOPTYXovikpux"),  # Greek
        ("օսհոցՏՍՕ", "ouhngSUO"),  # Armenian
        ("ᎠᎡᎢᎪᎫᎬᎷᎳᎻᎶᏃᏒᏚᏙᏞᏟᏢᏦᏴ", "DRTAJEMWHGZRSVLCPKB"),  # Cherokee
    )
    for foreign, latin in zip(row, plain, strict=True)
}
_FROM_LOOKALIKES: Final = str.maketrans(_LOOKALIKES)
_LOOKALIKE: Final = re.compile(f"[{''.join(_LOOKALIKES)}]")
_LATIN: Final = re.compile("[A-Za-zÀ-ÖØ-öø-ɏ]")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_GREEK_SMALL: Final = re.compile("[α-ω]")  # a symbol when it stands alone
_SCRIPTS: Final = ("\u0370-\u03ff", "\u0400-\u052f", "\u0531-\u0587", "\u13a0-\u13ff")
#: Evidence that a text is really written in a script: a word has a letter unlike any Latin letter.
_WRITTEN: Final = tuple(
    (
        re.compile(f"[{script}]"),
        re.compile(
            rf"(?<=[{script}])(?!{_LOOKALIKE.pattern})[{script}]|(?!{_LOOKALIKE.pattern})[{script}](?=[{script}])"
        ),
    )
    for script in _SCRIPTS
)


def read_styles(text: str) -> list[Edit]:
    """Return the edits that replace styled letters, digits, spaces and ligatures and drop invisible characters.

    A zero-width space becomes a space when the text has more of them than spaces, or between a lower-case letter and a
    capital. Anywhere else it is dropped.
    """
    if text.isascii() or not _UNUSUAL.search(text):
        return []
    are_spaces = text.count(_ZERO_WIDTH_SPACE) > max(text.count(" "), _FEW)
    is_turned = _OVERRIDE in text
    edits: list[Edit] = []
    for match in _ODD.finditer(text):
        form, found = match.lastgroup, match[0]
        if form == "styled":
            instead = found.translate(_TRANSLATION)
        elif form == "digits":
            instead = "".join(str(unicodedata.decimal(char)) for char in found)
        elif form == "ligature":
            instead = _LIGATURES[found]
        elif form == "hyphen":
            instead = "-"
        elif form == "space":
            instead = " " if are_spaces or _CASE_CHANGE.match(text, match.start() - 1 if match.start() else 0) else ""
        elif is_turned:
            continue
        else:
            instead = ""
        edits.append(Edit(*match.span(), instead))
    return edits


def read_composed(text: str) -> list[Edit]:
    """Return the edits that combine each letter of ``text`` with the accents after it into one character (NFC).

    A mark for which there is no combined character is dropped after a Latin letter, and stays after any other letter.
    """
    if text.isascii():
        return []
    composed = ((match.span(), match[0], _compose(match[0])) for match in _COMPOSED.finditer(text))
    return [Edit(*span, instead) for span, found, instead in composed if instead != found]


def _compose(letters: str) -> str:
    composed = unicodedata.normalize("NFC", letters)
    return _MARK.sub("", composed) if _LATIN.match(composed) else composed


def read_lookalikes(text: str) -> list[Edit]:
    """Return the edits that replace letters of other scripts in Latin words of ``text`` by the Latin look-alikes.

    A word of look-alikes only counts as Latin when no other word of the text is written in that script.
    """
    if text.isascii() or not _LOOKALIKE.search(text):
        return []
    foreign = [letters for letters, written in _WRITTEN if written.search(text)]
    edits: list[Edit] = []
    for match in _LETTERS.finditer(text):
        word = match[0]
        if word.isascii() or not _LOOKALIKE.search(word):
            continue
        read = word.translate(_FROM_LOOKALIKES)
        if any(letters.search(read) for letters, _ in _WRITTEN):
            continue  # some letter is unlike any Latin letter
        is_mixed = _LATIN.search(word) is not None
        is_symbol = len(word) == 1 and _GREEK_SMALL.match(word) is not None
        if is_mixed or not (is_symbol or any(letters.search(word) for letters in foreign)):
            edits.append(Edit(*match.span(), read))
    return edits

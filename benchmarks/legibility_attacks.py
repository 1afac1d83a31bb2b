"""Forms in which a text hides from detectors while a person still reads it.

Every attack answers, for one character of a text, what is written in its place: ``(before, instead, after)``. Only
``instead`` stands for the character itself, so that what it hid can be counted.
"""

import unicodedata
from collections.abc import Callable, Mapping
from html.entities import codepoint2name
from typing import Final

#: What stands before, in place of and behind the character at an offset of a text.
Written = tuple[str, str, str]
Attack = Callable[[str, int], Written]

_ACCENTS: Final = dict(zip("aeiounyAEIOUNY", "áéíöüñýÁÉÍÖÜÑÝ", strict=True))
_CYRILLIC: Final = dict(zip("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ", strict=True))
_GREEK: Final = dict(zip("ovABEHIKMNOPTXYZ", "ονΑΒΕΗΙΚΜΝΟΡΤΧΥΖ", strict=True))
_LETTERS_FOR_DIGITS: Final = dict(zip("015", "OlS", strict=True))
_SMALL_CAPITALS: Final = dict(zip("abcdefghijklmnoprtuvwyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢ", strict=True))


def _in_word(text: str, at: int) -> bool:
    """Say whether a letter or digit follows the one at ``at``."""
    return text[at].isalnum() and text[at + 1 : at + 2].isalnum()


def _word(text: str, at: int) -> tuple[int, int]:
    """Return the half-open offsets of the run of letters and digits around ``at``."""
    start, end = at, at + 1
    while start and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return start, end


def _is_middle(text: str, at: int) -> bool:
    """Say whether ``at`` is the last character of the first half of a word of four characters or more."""
    if not _in_word(text, at):
        return False
    start, end = _word(text, at)
    return end - start >= 4 and at == start + (end - start) // 2 - 1


def behind_each(mark: str) -> Attack:
    """Write ``mark`` between all letters and digits of a word."""
    return lambda text, at: ("", text[at], mark if _in_word(text, at) else "")


def mid_word(mark: str) -> Attack:
    """Write ``mark`` once in every word of four letters or more."""
    return lambda text, at: ("", text[at], mark if _is_middle(text, at) else "")


def around_words(before: str, after: str) -> Attack:
    """Write marks around every word."""

    def attack(text: str, at: int) -> Written:
        if not text[at].isalnum():
            return "", text[at], ""
        start, end = _word(text, at)
        return before if at == start else "", text[at], after if at == end - 1 else ""

    return attack


def half_words(before: str, after: str) -> Attack:
    """Write marks around the first half of every word of four letters or more."""

    def attack(text: str, at: int) -> Written:
        if not text[at].isalnum():
            return "", text[at], ""
        start, end = _word(text, at)
        is_long = end - start >= 4
        return before if is_long and at == start else "", text[at], after if _is_middle(text, at) else ""

    return attack


def instead(**written: str) -> Attack:
    """Write other characters for ``space`` and ``line_end``."""
    table = {" ": written.get("space", " "), "\n": written.get("line_end", "\n")}
    return lambda text, at: ("", table.get(text[at], text[at]), "")


def mapped(table: Mapping[str, str]) -> Attack:
    """Write what ``table`` says, every other character as it is."""
    return lambda text, at: ("", table.get(text[at], text[at]), "")


def spaced(separator: str, between_words: str) -> Attack:
    """Write words letter by letter, with ``separator`` between the letters and ``between_words`` for a space."""
    return lambda text, at: (
        "",
        between_words if text[at] == " " else text[at],
        separator if _in_word(text, at) else "",
    )


def accented(form: Callable[[str], str]) -> Attack:
    """Write every second vowel with an accent, in the form that ``form`` gives it."""

    def attack(text: str, at: int) -> Written:
        accent = _ACCENTS.get(text[at]) if at % 2 else None
        return "", form(accent) if accent else text[at], ""

    return attack


def numeric_entity(text: str, at: int) -> Written:
    """Write letters and digits as numeric entities of HTML."""
    return "", f"&#{ord(text[at])};" if text[at].isalnum() else text[at], ""


def first_letter_entity(text: str, at: int) -> Written:
    """Write the first letter of every word as a numeric entity."""
    is_first = text[at].isalpha() and not text[at - 1 : at].isalnum()
    return "", f"&#{ord(text[at])};" if is_first else text[at], ""


def shifted(base: Mapping[str, int]) -> Attack:
    """Write letters and digits from other blocks; ``base`` gives code points for ``A``, ``a`` and ``0``."""

    def attack(text: str, at: int) -> Written:
        char = text[at]
        for first, last in (("A", "Z"), ("a", "z"), ("0", "9")):
            if first <= char <= last and first in base:
                return "", chr(base[first] + ord(char) - ord(first)), ""
        return "", char, ""

    return attack


def backwards(text: str, at: int) -> Written:
    """Write words backwards between marks that make them look right (U+202E and U+202C)."""
    if not text[at].isalnum():
        return "", text[at], ""
    start, end = _word(text, at)
    return "\u202e" if at == start else "", text[start + end - 1 - at], "\u202c" if at == end - 1 else ""


def quoted_printable(text: str, at: int) -> Written:
    """Write all but letters and digits of ASCII, and line ends, as ``=20``."""
    char = text[at]
    plain = (char.isascii() and char.isalnum()) or char == "\n"
    return "", char if plain else "".join(f"={byte:02X}" for byte in char.encode()), ""


def percent_encoded(text: str, at: int) -> Written:
    """Write all but letters and digits of ASCII, and line ends, as ``%20``."""
    before, written, after = quoted_printable(text, at)
    return before, written if written == text[at] else written.replace("=", "%"), after


def ligatures(text: str, at: int) -> Written:
    """Write ``fi``, ``fl`` and ``ff`` as one character."""
    pair = text[at : at + 2]
    if pair in _LIGATURES and text[at - 1 : at] != "f":
        return "", _LIGATURES[pair], ""
    if text[at - 1 : at + 1] in _LIGATURES and at and text[at - 2 : at - 1] != "f":
        return "", "", ""
    return "", text[at], ""


_LIGATURES: Final = {"fi": "ﬁ", "fl": "ﬂ", "ff": "ﬀ"}


def _as_it_is(value: str) -> str:
    return value


def _decomposed(value: str) -> str:
    return unicodedata.normalize("NFD", value)


def _utf8_as(encoding: str) -> Callable[[str], str]:
    return lambda value: value.encode().decode(encoding, "replace")


#: Name to attack, in the order of the table. The word before the colon says which form it is.
ATTACKS: Final[Mapping[str, Attack]] = {
    "none: as it is": lambda text, at: ("", text[at], ""),
    "invisible: zero-width space mid-word": mid_word("\u200b"),
    "invisible: zero-width space around words": around_words("\u200b", "\u200b"),
    "invisible: zero-width space for a space": instead(space="\u200b"),
    "invisible: soft hyphen mid-word": mid_word("\xad"),
    "invisible: isolates around words": around_words("\u2068", "\u2069"),
    "invisible: words backwards behind an override": backwards,
    "invisible: tag character behind each letter": behind_each("\U000e0041"),
    "invisible: variation selector mid-word": mid_word("\ufe0f"),
    "invisible: C1 control mid-word": mid_word("\x92"),
    "entities: &nbsp; for spaces": instead(space="&nbsp;"),
    "entities: numeric for letters and digits": numeric_entity,
    "entities: numeric for first letters": first_letter_entity,
    "entities: named for accented letters": accented(lambda letter: f"&{codepoint2name[ord(letter)]};"),
    "tags: <b> around words": around_words("<b>", "</b>"),
    "tags: <b> around half a word": half_words("<b>", "</b>"),
    "tags: <span class> around words": around_words('<span class="c1">', "</span>"),
    "tags: <br> for line ends": instead(line_end="<br>"),
    "spaced: three spaces between words": spaced(" ", "   "),
    "spaced: one space between words": spaced(" ", " "),
    "spaced: no-break spaces": spaced("\xa0", "   "),
    "spaced: full stops": spaced(".", " "),
    "spaced: hyphens": spaced("-", " "),
    "spaced: underscores": spaced("_", " "),
    "accents: composed (a control)": accented(_as_it_is),
    "accents: decomposed (NFD)": accented(_decomposed),
    "mojibake: UTF-8 read as Windows-1252": accented(_utf8_as("cp1252")),
    "mojibake: UTF-8 read as Latin-1": accented(_utf8_as("latin-1")),
    "mojibake: UTF-8 read as Mac Roman": accented(_utf8_as("mac-roman")),
    "mojibake: replacement characters": accented(lambda letter: "\ufffd"),
    "mojibake: question marks": accented(lambda letter: "?"),
    "hyphenated: words broken over line ends": mid_word("-\n"),
    "lookalikes: Cyrillic letters": mapped(_CYRILLIC),
    "lookalikes: Greek letters": mapped(_GREEK),
    "lookalikes: full width": shifted({"A": 0xFF21, "a": 0xFF41, "0": 0xFF10}),
    "lookalikes: mathematical bold": shifted({"A": 0x1D400, "a": 0x1D41A, "0": 0x1D7CE}),
    "lookalikes: circled": shifted({"A": 0x24B6, "a": 0x24D0}),
    "lookalikes: small capitals": mapped(_SMALL_CAPITALS),
    "lookalikes: ligatures": ligatures,
    "lookalikes: full-width digits": shifted({"0": 0xFF10}),
    "lookalikes: Arabic digits": shifted({"0": 0x660}),
    "lookalikes: letters for digits": mapped(_LETTERS_FOR_DIGITS),
    "escapes: \\u for accented letters": accented(lambda letter: f"\\u{ord(letter):04x}"),
    "escapes: \\n for line ends": instead(line_end="\\n"),
    "escapes: quoted-printable": quoted_printable,
    "escapes: percent-encoded": percent_encoded,
    "spaces: no-break": instead(space="\xa0"),
    "spaces: thin": instead(space="\u2009"),
    "spaces: ideographic": instead(space="\u3000"),
    "spaces: tabs": instead(space="\t"),
    "spaces: underscores": instead(space="_"),
    "spaces: form feeds for line ends": instead(line_end="\f"),
    "spaces: line separators for line ends": instead(line_end="\u2028"),
}  # fmt: skip

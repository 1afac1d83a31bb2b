"""Detect forms of writing that hide text from the detectors. A note with too much of one form is quarantined.

Examples are ``JosÃ©``, ``n h o J`` after a mark that reverses it, or a name in capitals and underscores. A person
easily reads them, but patterns and models miss them. The pipeline must quarantine a note in such a form, because it
cannot read it.

The check reads the view of a note (:mod:`deid_runtime.text.reading.view`). A form that the view resolves leaves no sign
there; the remaining forms are counted. Every :class:`Sign` counts one form. Its thresholds are as strict as clean notes
allow: every clean note stays below them by a factor of at least 1.5. ``benchmarks/legibility.py`` measures this, and
how many identifiers each form leaks.

Forms that the detectors can read are not counted: what the view resolves, XML elements around whole values, emoji, and
the joiners and direction marks of scripts that need them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sign:
    """The sign of one form. A note shows it when it has at least ``least`` marks, and ``share`` marks per word.

    ``pattern`` finds the marks. Each match counts as one mark; with ``by_letter``, as its number of letters and digits.
    ``gate`` is a faster pattern that matches in every text in which ``pattern`` matches.
    """

    form: str
    gate: re.Pattern[str]
    pattern: re.Pattern[str]
    least: int
    share: float
    remedy: str
    by_letter: bool = False

    def count(self, text: str) -> int:
        """Return the number of marks in ``text``."""
        if self.by_letter:
            return sum(sum(map(str.isalnum, match[0])) for match in self.pattern.finditer(text))
        return sum(1 for _ in self.pattern.finditer(text))


# Invisible characters: controls that are not white space, and the default ignorable characters of Unicode. The joiners
# and marks of other scripts and emoji count only when no letter or symbol of these is next to them.
_CONTROLS: Final = r"\x01-\x08\x0e-\x1b\x7f"
_HIDDEN: Final = (
    r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001d173-\U0001d17a\U000e0100-\U000e0fff"
)
_JOINING: Final = r"\u061c\u200c-\u200f\u2066-\u2069\ufe00-\ufe0f\U000e0000-\U000e007f"
#: Scripts from Hebrew to Khmer and from Mongolian to Tai; Arabic presentation forms; symbols and their joiners.
_JOINED: Final = (
    r"\u0590-\u109f\u1780-\u1aff\ufb1d-\ufdff\ufe70-\ufefc\u203c-\u303d\U0001f000-\U0001faff\u200c-\u200f\u2066-\u2069"
    r"\ufe0f\U000e0020-\U000e007f"
)
_INVISIBLE: Final = rf"(?:[{_CONTROLS}{_HIDDEN}]|(?<![{_JOINED}])[{_JOINING}](?![{_JOINED}]))"

# HTML elements that format text. Other element names are XML structure, which the models know.
_ELEMENT: Final = (
    r"(?i:a|abbr|b|big|blockquote|body|caption|center|code|content|dd|del|div|dl|dt|em|font|h[1-6]|head|html|i|"
    r"img|ins|label|li|link|mark|meta|o:p|ol|p|paragraph|pre|q|s|script|small|span|strike|strong|style|sub|sup|table|"
    r"tbody|td|tfoot|th|thead|title|tr|tt|u|ul)"
)
_IN_TAG: Final = r"(?:\s[^<>]{0,500})?/?>"

# UTF-8 read as Windows-1252, Latin-1 or Mac Roman: a first byte, then the number of continuation bytes it requires.
# Excluded are first bytes that can end a word before a quote or no-break space (`JOSÉ”`). Letters count as continuation
# bytes only after `Â` and `Ã`.
_OTHER: Final = r"\x80-\x9f\xa1-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf€‚„…†‡ˆ‰‹‘’“”•–—˜™›"
_MOJIBAKE: Final = (
    rf"(?:[ÂÃ][{_OTHER}\xa0ªµºƒŠŒŽšœžŸ]|[ÄÅÎÏÐÑÙ][{_OTHER}]|[âï][{_OTHER}ƒŠŒŽšœžŸªµº]{{2}}|ð[Ÿ\x9f][{_OTHER}]{{2}}"
    r"|√[^\x00-\x7f]|‚Ä[^\w\s]|\ufffd|[\x80-\x84\x86-\x9f])"
)

# Look-alikes of Latin letters. Other Greek letters are symbols (`βhCG`).
_LATIN: Final = "A-Za-zÀ-ÖØ-öø-ɏ"
_LIKE_LATIN: Final = "\u0400-\u052f\u0531-\u0587\u13a0-\u13ffΑΒΕΖΗΙΚΜΝΟΡΤΥΧοινυκρχ"
_STYLED: Final = (
    "\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7cbⒶ-ⓩ\U0001f130-\U0001f169\u1d00-\u1d2b\ua730\ua731ɢɪɴʀʏʙʜʟ"
)

_SPELLED_BY: Final = r"(?: {1,3}|\xa0|[._~*·/-])"

_DECODE: Final = "decode the source again with its actual encoding"
_UNESCAPE: Final = "let the source write plain text instead of HTML"
_UNSPELL: Final = "write words and numbers without gaps"
_JOIN: Final = "join the lines of such words in the source"
_TYPE: Final = "write these letters and digits in their usual form"
_DELETE: Final = "remove these characters from the source, or decode it again with its actual encoding"

# Gates: plain character sets and rare characters, which are fast to search. Every row of four letters ends with three
# letters that each follow a separator.
_ANY_INVISIBLE: Final = re.compile(rf"[{_CONTROLS}{_HIDDEN}{_JOINING}]")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_AMPERSAND: Final = re.compile("&")
_BRACKET: Final = re.compile("<")
_BACKSLASH: Final = re.compile(r"\\")
_GAP: Final = r"[ \xa0._~*·/-]"
_ROW: Final = re.compile(rf"{_GAP}[^\W\d_]{_GAP}{{1,3}}[^\W\d_]{_GAP}{{1,3}}[^\W\d_](?![^\W_])")
_DIGIT_ROW: Final = re.compile(r"[ \xa0]\d[ \xa0]{1,3}(?:[-/.()] {0,2})?\d[ \xa0]")

_BROKEN: Final = re.compile(
    r"-(?:(?<=[a-z]-)[ \t]{0,8}\r?\n[ \t]{0,40}[a-z]|(?<=[A-Z]-)[ \t]{0,8}\r?\n[ \t]{0,40}[A-Z])"
)
_LETTER_ROW: Final = re.compile(rf"(?<![^\W_])[^\W\d_](?:{_SPELLED_BY}[^\W\d_](?![^\W_])){{3,}}")
_MORE: Final = r"(?: {1,2}\d){0,3}"
_SPACED_DIGIT: Final = r"(?:(?: {1,3}|\xa0)(?:[-/.()] {0,2})?\d(?![^\W_]))"

#: All signs. The reason of a quarantine names the first one, in this order, that the note shows.
SIGNS: Final = (
    Sign(
        "invisible characters inside words", _ANY_INVISIBLE,
        re.compile(rf"(?<=[^\W_]){_INVISIBLE}+(?=[^\W_])"), 1, 0.0, _DELETE,
    ),
    Sign(
        "words shown backwards", re.compile("\u202e"),
        re.compile(r"\u202e(?=[^\u202c]{0,40}[A-Za-z0-9])"), 1, 0.0, _DELETE,
    ),
    Sign("invisible characters", _ANY_INVISIBLE, re.compile(rf"(?!\A\ufeff){_INVISIBLE}"), 2, 0.0, _DELETE),
    Sign(
        "HTML entities for letters or spaces", _AMPERSAND,
        re.compile(
            r"&(?:nbsp|[lr]squo|apos|[A-Za-z]{1,2}(?:acute|grave|uml|circ|tilde|cedil|ring|slash|caron|lig)"
            r"|(?<=[^\W_]&)#[xX]?[0-9A-Fa-f]{2,7});|&#[xX]?[0-9A-Fa-f]{2,7};(?=[^\W_&])"
        ),
        1, 0.0, _UNESCAPE,
    ),
    Sign(
        "HTML entities", _AMPERSAND, re.compile(r"&(?:#[xX]?[0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});"),
        2, 0.0, _UNESCAPE,
    ),
    Sign(
        "tags inside words", _BRACKET,
        re.compile(rf"<(?<=[^\W_]<)(?!br[\s/>])/?[A-Za-z][\w:-]{{0,30}}{_IN_TAG}(?=[^\W_])"), 1, 0.0, _UNESCAPE,
    ),
    Sign("HTML tags", _BRACKET, re.compile(rf"</?{_ELEMENT}{_IN_TAG}"), 2, 0.0, _UNESCAPE),
    Sign(
        "wrongly decoded characters in words", _NOT_ASCII,
        re.compile(
            rf"(?<=[^\W\d_]){_MOJIBAKE}|{_MOJIBAKE}(?=[^\W\d_])|(?<=\d)[\ufffd\x80-\x84\x86-\x9f](?=\d)"
        ),
        1, 0.0, _DECODE,
    ),
    Sign("wrongly decoded characters", _NOT_ASCII, re.compile(_MOJIBAKE), 2, 0.0, _DECODE),
    Sign(
        "question marks inside words", re.compile(r"\?[A-Za-z]"),
        re.compile(r"\?(?:(?<=[A-Za-z]\?)(?=[a-z])|(?<=[A-Z]\?)(?=[A-Z]))(?![\w-]{1,30}=)"), 2, 0.0,
        "decode the source again with its actual encoding, or write a space after question marks",
    ),
    Sign(
        "escape sequences", _BACKSLASH, re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|'[0-9a-fA-F]{2})"), 1, 0.0,
        "let the source write plain text instead of JSON or RTF",
    ),
    Sign(
        "control words of RTF", _BACKSLASH,
        re.compile(r"\\(?:rtf1|pard?|plain|tab|line|[bi]0?|ul(?:none)?|(?:fs?|cf)\d{1,3})(?!\w)"), 2, 0.0,
        "let the source write plain text instead of RTF",
    ),
    Sign(
        "percent-encoded characters", re.compile("%[0-9A-F]"), re.compile(r"%(?:[02][0-9A-F]|3[A-F]|C3%|E2%)"), 2, 0.0,
        "let the source write plain text instead of URL encoding",
    ),
    Sign(
        "quoted-printable characters", re.compile("=[0-9A-F]"),
        re.compile(r"=(?:0[9AD]|20(?=[A-Za-z])|2[A-F]|3[A-F]|C[23]=|E2=)"), 2, 0.0,
        "decode the source from quoted-printable",
    ),
    Sign(
        "words spelled with gaps between their letters", _ROW,
        re.compile(rf"(?<![^\W_])[A-ZÀ-ÖØ-Þ]({_SPELLED_BY})[a-zß-öø-ÿ](?:\1[a-zß-öø-ÿ](?![^\W_])){{2,}}"),
        1, 0.0, _UNSPELL,
    ),
    Sign("letters with gaps between them", _ROW, _LETTER_ROW, 34, 0.0, _UNSPELL, by_letter=True),
    Sign("letters with gaps between them", _ROW, _LETTER_ROW, 8, 0.36, _UNSPELL, by_letter=True),
    Sign(
        "dates and numbers with gaps between their digits", _DIGIT_ROW,
        re.compile(
            rf"(?<![^\W_])(?:\d{_MORE}(?: ?[-/] ?\d{_MORE}){{1,3}} ?[-/] ?\d(?: {{1,2}}\d){{1,3}}"
            r"|\d(?: {1,2}\d){2} ?[-.] ?\d(?: {1,2}\d){3})(?![^\W_])"
        ),
        1, 0.0, _UNSPELL,
    ),
    Sign(
        "rows of twelve digits or more with gaps between them", _DIGIT_ROW,
        re.compile(rf"(?<![^\W_])\d{_SPACED_DIGIT}{{11,}}"), 1, 0.0, _UNSPELL,
    ),
    Sign(
        "digits with gaps between them", _DIGIT_ROW,
        re.compile(rf"(?<![^\W_])\d{_SPACED_DIGIT}{{3,}}"), 50, 0.0, _UNSPELL, by_letter=True,
    ),
    Sign(
        "words broken by a hyphen at a line end", re.compile(r"-[ \t]{0,8}\r?\n"),
        _BROKEN, 6, 0.0, _JOIN,
    ),
    Sign(
        "words broken by a hyphen at a line end", re.compile(r"-[ \t]{0,8}\r?\n"),
        _BROKEN, 2, 0.1, _JOIN,
    ),
    Sign(
        "words joined by underscores", re.compile("_"), re.compile(r"[^\W_]_(?=[^\W_])"), 8, 0.5,
        "write spaces between words",
    ),
    Sign(
        "accents apart from their letters", _NOT_ASCII, re.compile(r"[A-Za-z][\u0300-\u036f]"), 2, 0.0,
        "normalise the source to NFC",
    ),
    Sign(
        "letters of other scripts in words", _NOT_ASCII,
        re.compile(rf"[{_LATIN}][{_LIKE_LATIN}]|[{_LIKE_LATIN}][{_LATIN}]"), 1, 0.0, _TYPE,
    ),
    Sign("letters in other styles", _NOT_ASCII, re.compile(rf"[{_STYLED}]{{2,}}"), 1, 0.0, _TYPE),
    Sign("digits of other scripts", _NOT_ASCII, re.compile(r"(?:(?![0-9])\d){2,}"), 1, 0.0, _TYPE),
)  # fmt: skip


def find_signs(text: str) -> Iterator[tuple[Sign, int]]:
    """Yield every sign that has marks in ``text``, with the number of marks."""
    gates: dict[re.Pattern[str], bool] = {_NOT_ASCII: not text.isascii()}
    counts: dict[re.Pattern[str], int] = {}
    for sign in SIGNS:
        if sign.gate not in gates:
            gates[sign.gate] = sign.gate.search(text) is not None
        if not gates[sign.gate]:
            continue
        if sign.pattern not in counts:
            counts[sign.pattern] = sign.count(text)
        if counts[sign.pattern]:
            yield sign, counts[sign.pattern]


def illegible(text: str) -> str:
    """Return why detectors cannot read ``text``, the view of a note, or an empty string when they can.

    The answer quotes no text. The time is proportional to the length of ``text``.
    """
    for sign, count in find_signs(text):
        if count < sign.least:
            continue
        words = len(text.split())
        if count < sign.share * words:
            continue
        share = f" and {sign.share:.0%} of the words" if sign.share else ""
        return (
            f"{count:,} {sign.form} among {words:,} words; expected fewer than {sign.least}{share}, because "
            f"identifiers in such text would be missed; {sign.remedy}"
        )
    return ""

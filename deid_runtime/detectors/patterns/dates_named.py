"""Dates with words: months, weekdays, ordinals, holidays, seasons; also spelled out.

Many of these words are also names or verbs (``May``, ``march``, ``sat``, ``Sunday``). The more ambiguous a word is, the
more context its row requires.
"""

import re
from collections.abc import Mapping
from typing import Final

from deid_runtime.detectors.patterns.context import Context, context_of
from deid_runtime.detectors.patterns.rows import Check, Grade
from deid_runtime.detectors.patterns.validators import is_day_of_year, is_month_day
from deid_runtime.detectors.patterns.words import MONTHS, WEEKDAYS, either
from deid_runtime.lexicon.calendar_words import MONTH_NAMES, month_words
from deid_runtime.lexicon.tables import listed_words
from deid_runtime.lexicon.vocabulary import alternation, credentials

#: Months that are also English words or names, and abbreviations with a medical meaning (MAR, OCT, "dec." = decreased).
_AMBIGUOUS_MONTHS: Final = frozenset(month_words("ambiguous"))
_NAME_MONTHS: Final = frozenset(month_words("name"))
_PLAIN_MONTHS: Final = frozenset(month_words("plain"))
_SHORT_MONTHS: Final = frozenset(month_words("abbreviation"))


def _is_proper(word: str, context: Context) -> bool:
    """Return whether the word is capitalised as a name: title case, or capitals where all text is in capitals."""
    return word.istitle() or (word.isupper() and not any(char.islower() for char in context.before + context.after))


# --- month with a day or a year ------------------------------------------------------------------------------------


def _month(word: str) -> int:
    # With IGNORECASE, a dotless i matches i and a long s matches s.
    return MONTHS[word.lower().replace("\u0131", "i").replace("\u017f", "s")]


_MONTH_THEN_BLANK: Final = re.compile(rf"(?i)\b(?:{either(MONTHS)})\.?[ \t]$")


def _is_day_month(match: re.Match[str]) -> bool:
    value = match["value"]
    month = match["month"].rstrip(".")
    if not is_month_day(_month(month), int(value[:2] if value[:2].isdigit() else value[0])):
        return False
    before = match.string[max(0, match.start() - 12) : match.start()]
    if _MONTH_THEN_BLANK.search(before) or re.search(r"[^\W\d_]-$", before):
        return False  # "Mar 13-Mar 20" has the month first; "III-3 April" is a person in a pedigree
    if match["rest"] or re.match(r"\d\d[A-Z]{3}(?![a-z])", value):  # 01MAR, the military format
        return True
    if before[-1:].isalpha():
        return False
    # "1-2 may repeat", "5 dec" (decreased), "2 mar" (a chart): without a year, an ambiguous month needs a capital.
    if month.lower() in _AMBIGUOUS_MONTHS:
        return month.istitle() or (month.isupper() and not any(char.islower() for char in before))
    return True


_DAY_FIRST_ONLY: Final = frozenset("mayo mai ago ene dic mars".split())
_BEFORE_LOWER_MONTH: Final = frozenset("on since until til till by of due in from".split()) | WEEKDAYS


def _is_month_day_named(match: re.Match[str]) -> bool:
    month = match["month"].rstrip(".")
    number = _month(month)
    second = match["day2"]
    if not is_month_day(number, int(match["day"])) or (second and not is_month_day(number, int(second))):
        return False
    if month.lower() in _DAY_FIRST_ONLY:
        return False  # Spanish and similar put the day first; "Mayo 9" is a score
    if month in ("may", "dec") and not match["year"]:
        return context_of(match).last in _BEFORE_LOWER_MONTH
    return True


# --- month alone ---------------------------------------------------------------------------------------------------

_PERIOD_WORDS: Final = frozenset(listed_words("pattern_context", "period")) | {
    "end of", "beginning of", "start of", "middle of", "month of", "this past",
}  # fmt: skip
_MONTH_WORDS_BEFORE: Final = _PERIOD_WORDS | frozenset(listed_words("pattern_context", "month"))
_LOOSE: Final = frozenset("for and or to by from of".split())
_TITLE_MONTHS: Final = either(month.title() for month in MONTHS)
_MONTH_BESIDE: Final = re.compile(
    rf"\b(?:{_TITLE_MONTHS})\.?(?:[ \t](?:and|or|to|through|thru|\d{{4}},?)[ \t]|[,/–-][ \t]?)$"
)
_BESIDE_MONTH: Final = re.compile(rf"(?:[ \t](?:and|or|to|through|thru)[ \t]|[,/–-][ \t]?)(?:{_TITLE_MONTHS})\b")
_NOT_MONTH_AFTER: Final = re.compile(
    r"[ \t]{1,3}(?:\d{1,4} ?(?:mg|%|mm|cm)|"
    rf"[A-Z][a-z]{{1,16}}[ \t]{{1,2}}(?:{alternation(credentials('not-month'))})\b)|"
    r"[ \t]?[a-z]{0,20}@|['’]s\b"
)


def _grade_month(match: re.Match[str]) -> Grade:
    month = match["value"].rstrip(".")
    lower = month.lower()
    context = context_of(match)
    if _NOT_MONTH_AFTER.match(context.after):
        return Grade.NO
    proper = _is_proper(month, context)
    if proper and (_MONTH_BESIDE.search(context.before[-20:]) or _BESIDE_MONTH.match(context.after)):
        return Grade.SURE
    in_period = context.last in _PERIOD_WORDS or context.two in _PERIOD_WORDS or context.before.lower().endswith("mid-")
    expected = in_period or context.last in _MONTH_WORDS_BEFORE or context.before[-1:] in ("(", "/", "–", "-")
    name_follows = re.match(r"[ \t]{1,3}[A-Z][a-z]", context.after) is not None
    if lower in _PLAIN_MONTHS:
        return Grade.SURE if expected or not month.islower() else Grade.NO
    if lower in _NAME_MONTHS and lower != "jan":
        if proper and in_period and not name_follows:
            return Grade.SURE
    elif lower in _SHORT_MONTHS and proper:
        return (
            Grade.SURE if expected else Grade.PROBABLE if lower not in ("oct", "dec") and not name_follows else Grade.NO
        )
    if name_follows or (lower in _AMBIGUOUS_MONTHS | _NAME_MONTHS and not proper):
        return Grade.NO
    return Grade.PROBABLE if expected and context.last not in _LOOSE else Grade.NO


# --- weekdays ------------------------------------------------------------------------------------------------------

_DAY_WORDS_BEFORE: Final = frozenset(
    "on by til till until since next last this every from after before start starting due appt thru through of or "
    "not and".split()
)
_DAY_WORD_AFTER: Final = re.compile(
    r"(?i)[ \t]?(?:[/,&+?)–-]|and\b|thru\b|to\b|am\b|pm\b|morning|night|eve|noon|afternoon|\d{1,2}(?::\d\d)? ?[ap]m?\b)"
)
_SATURATION_AFTER: Final = re.compile(
    r"(?i)[ \t]{0,2}(?:now[ ])?(?:was|of|is|were|are|at|in the|low|mid|upper|>|<|=|:|~|"
    r"\d\d\d?\b(?![:/]))|[ \t]{0,2}(?:phone|ph\b|down|up\b|out\b|with\b|check|probe|monitor|drop|goal|target|"
    r"remain|stable|trace|dip|improv|read)|/SBT"
)
_SUN_AFTER: Final = re.compile(r"(?i)[ \t]{0,2}(?:exposure|block|screen|burn|light|damage|protect|avoid|sens)")


def _is_date_after_weekday(match: re.Match[str]) -> bool:
    numbers = [int(number) for number in re.findall(r"\d+", match["rest"])]
    if re.search(r"[^\W\d_]{3,}", match["rest"]):
        return True
    if match["s"] and match["s"] != "/" and re.fullmatch(r"\D*(?:\d\d\D\d\d|\d+\D\d+\D\d+)", match["rest"]) is None:
        return False  # "Fri 9-4" is opening hours, "Fri, 2.5" a dose
    return len(numbers) < 2 or is_day_of_year(*numbers[-2:] if len(numbers) == 3 and numbers[0] > 31 else numbers[:2])


def _grade_weekday(match: re.Match[str]) -> Grade:
    word = match["day"].rstrip(".")
    lower = word.lower()
    if match["rest"]:
        sure = _is_date_after_weekday(match) and (
            lower not in ("sat", "sun") or not word.islower() or bool(re.search(r"\d\D\d|[a-z]{3}", match["rest"]))
        )
        return Grade.SURE if sure else Grade.NO
    if lower == "thus" or word == "sats":
        return Grade.NO  # "thus" is an adverb; "sats" are oxygen saturations
    context = context_of(match)
    if lower == "sats" and not (_DAY_WORD_AFTER.match(context.after) or context.last in _DAY_WORDS_BEFORE):
        return Grade.NO  # at the start of a sentence, far more often saturations than Saturdays
    if lower in ("sat", "sats") and (
        _SATURATION_AFTER.match(context.after)
        or context.last in ("o2", "spo2", "ra", "air", "he", "she", "patient", "pt")
    ):
        return Grade.NO
    if lower == "sun" and (_SUN_AFTER.match(context.after) or context.last in ("the", "arctic")):
        return Grade.NO
    if lower == "sunday" and re.match(r"[ \t]{1,2}School|,[ \t]{1,2}[A-Z]", context.after):
        return Grade.NO
    if word.islower() and lower in ("mon", "wed"):
        return Grade.NO if re.match(r"[ \t]{1,2}[A-Z][a-z]", context.after) else Grade.PROBABLE
    if word.islower() and lower in ("sun", "sat"):
        likely = (
            context.last in _DAY_WORDS_BEFORE
            or context.before[-1:] in ("/", ",", "&", "+", "-")
            or _DAY_WORD_AFTER.match(context.after)
        )
        return Grade.PROBABLE if likely else Grade.NO
    if word.isupper() and lower in ("sun", "sat", "mon", "wed") and not _is_proper(word, context):
        return Grade.NO
    if lower in ("mar", "lunes") and word.islower():
        return Grade.NO
    return Grade.SURE


# --- holidays ------------------------------------------------------------------------------------------------------

_LOWER_IS_WORD: Final = frozenset({"easter", "holi", "eid", "mlk", "lohri", "onam", "burns night"})


def _is_holiday(match: re.Match[str]) -> bool:
    name = match["name"]
    if name is not None:
        if (name.lower() in _LOWER_IS_WORD and name.islower()) or name in ("EID", "Burns night"):
            return False
        return not re.match(r"(?i)[ -]tree|[ ](?:disease|factor)", match.string[match.end() : match.end() + 8])
    return True


# --- ordinals ------------------------------------------------------------------------------------------------------

#: Text that may follow ``the 29th`` as a day; a noun would make it a rank, a grade or a floor.
_AFTER_ORDINAL_DAY: Final = re.compile(
    r"(?i)[ \t]{0,3}(?:$|[^\w \t-]|[–—]|\d|-[ \t]?\d|(?:and|at|for|to|with|w|w/|if|so|but|in|or|after|before|because|"
    r"when|by|then|is|was|until|till|til|he|she|"
    r"they|we|pt|please|per|from|due|on|as|noon|am|pm|through|thru|via|unless|since|no|not|will|w/o)\b|"
    rf"of[ ](?:the|this|next|each|every|last|{alternation(MONTH_NAMES)})\b)"
)


#: The next ordinal of a series, ``and 5th``: what follows the last one says what all of them are.
_NEXT_ORDINAL: Final = re.compile(
    r"(?i)(?:[ \t]?[,/&-][ \t]?|[ \t])(?:(?:and|or|to|through|&)[ \t](?:the[ \t])?)?\d{1,2}(?:st|nd|rd|th)\b"
)
_MOST_ORDINALS: Final = 5


def _is_ordinal_day(match: re.Match[str]) -> bool:
    if not 1 <= int(match["n"]) <= 31:
        return False
    after = context_of(match).after
    for _ in range(_MOST_ORDINALS):
        following = _NEXT_ORDINAL.match(after)
        if following is None:
            break
        after = after[following.end() :]
    return _AFTER_ORDINAL_DAY.match(after) is not None


def _is_spelled_day(match: re.Match[str]) -> bool:
    """Return whether a spelled day is a date: ``May first``, but not ``may first try`` or ``the second time``."""
    after = match.string[match.end() : match.end() + 8]
    return match["month"] not in ("may", "march") and not re.match(r"(?i)[ ](?:be|week|time|try)", after)


#: Checks by their name in the table.
CHECKS: Final[Mapping[str, Check]] = {
    "grade_month": _grade_month,
    "grade_weekday": _grade_weekday,
    "is_day_month": _is_day_month,
    "is_holiday": _is_holiday,
    "is_month_day_named": _is_month_day_named,
    "is_ordinal_day": _is_ordinal_day,
    "is_spelled_day": _is_spelled_day,
}

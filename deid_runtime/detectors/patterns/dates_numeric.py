"""Dates in figures: full, compact, month and day, month and year, years alone, decades.

A month and day without a year looks like a fraction, a score or a ratio. A bare year looks like a time of day. Both are
graded by points for their form and their context; the points were set on annotated notes.
"""

import re
from collections.abc import Mapping
from typing import Final

from deid_runtime.detectors.patterns.context import Context, context_of
from deid_runtime.detectors.patterns.fractions import COUNTED, GRADED, is_counted
from deid_runtime.detectors.patterns.rows import Check, Grade
from deid_runtime.detectors.patterns.validators import is_day_of_year, is_month_day
from deid_runtime.detectors.patterns.words import MONTHS, SEASONS, WEEKDAYS, either
from deid_runtime.lexicon.tables import listed_words
from deid_runtime.lexicon.vocabulary import alternation, credential_keys, street_kinds

# --- whole dates ---------------------------------------------------------------------------------------------------

_VERSION_BEFORE: Final = re.compile(r"(?i)(?:\bv|ver|version|software|firmware|release|rev)[ .:]{0,2}$")


#: Words after three numbers that are measurements: "8/11/14 beats".
_MEASURES_AFTER: Final = re.compile(r"[ ]?(?:beats|cm|mm|mg|mcg|mL|ml|units|inches)\b|[ ]in(?=[ ]*(?:$|[,.;\n]))")


#: Scores that are written one after the other: *Apgar 8/9/10*.
_SCORES_IN_TIME: Final = frozenset({"apgar", "apgars"})


_LIKELY_YEAR: Final = 15  # of two figures: from here on, "NovoRapid 10-5-23" is a day rather than units before meals
_CHANGED_AFTER: Final = re.compile(r"(?i)[ ]{0,2}(?:start|stop|commenc|begun|d/c|dc|refill|chang|increas|decreas)")
_INSULINS: Final = alternation(listed_words("pattern_context", "insulin"))
_INSULIN_BEFORE: Final = re.compile(rf"(?i)\b(?:{_INSULINS})(?:[ ](?:mix|pen|penfill|flexpen))?[ :]{{1,3}}$")


def _is_full(match: re.Match[str]) -> bool:
    if _MEASURES_AFTER.match(match.string, match.end("value")) is not None:
        return False
    if context_of(match).last in _SCORES_IN_TIME:
        return False
    if not is_day_of_year(int(match["a"]), int(match["b"])):
        return False
    if match["sep"] == "-" and len(match["y"]) < 4 and int(match["y"]) < _LIKELY_YEAR:
        context = context_of(match)
        if _INSULIN_BEFORE.search(context.before[-24:]) and not _CHANGED_AFTER.match(context.after):
            return False  # units before each meal: "NovoRapid 8-6-10"
    if match["sep"] == "." and len(match["y"]) < 4:
        return _VERSION_BEFORE.search(match.string, max(0, match.start() - 12), match.start()) is None
    return True


def _is_iso(match: re.Match[str]) -> bool:
    return is_day_of_year(int(match["m"]), int(match["d"]))


def _is_compact(match: re.Match[str]) -> bool:
    digits = match["value"]
    if is_month_day(int(digits[4:6]), int(digits[6:])) and 1900 <= int(digits[:4]) <= 2199:
        return True
    return is_month_day(int(digits[:2]), int(digits[2:4])) and 1900 <= int(digits[4:]) <= 2199


#: Behind the figures of one eye, the other: *R 6/9 L 6/18*, where R is no Thursday.
_OTHER_EYE: Final = re.compile(r"[ ,;]{1,3}(?:L|R|LE|RE)[ :]{1,2}6/")


def _is_pair_of_weekday(match: re.Match[str]) -> bool:
    is_day = is_day_of_year(int(match["a"]), int(match["b"]))
    return is_day and _OTHER_EYE.match(match.string, match.end("value")) is None


# --- month and day without a year ----------------------------------------------------------------------------------

#: Words directly before a date that rarely precede any other figures with a slash.
_DATE_WORDS_SURE: Final = (
    frozenset(listed_words("pattern_context", "date-sure")) | {"week of", "wk of", "as of", "follow up"} | WEEKDAYS
)
#: Words that often stand before a date.
_DATE_WORDS: Final = frozenset(listed_words("pattern_context", "date"))
#: Words directly before a fraction, a score, a ratio or a setting.
_SCORE_WORDS: Final = frozenset(listed_words("pattern_context", "score"))
_SCORE_AFTER: Final = re.compile(
    r"(?i)[ \t]{0,2}(?:[\"”°%]|-?(?:ppd|pack|packs|tab|tabs|tablets?|cups?|cans?|tsp|tbsp|bottles?|glass|mile|mi|"
    r"blocks?|dose|inch|in|"
    r"up|way|of|cm|mm|mg|ml|oz|strength|sem|hsm|systolic|diastolic|holosystolic|murmur|words?|sessions?|cores?|"
    r"nodes?|positive|pos|achilles|patell\w+|ble|bue|mm ?hg|"
    r"neg|pt|c|h|hrs?|gauge|g|ga|proximal|distal|throughout|bilat|bilaterally|bilateral|symmetric|sensory|motor|ue|"
    r"le|rue|lue|rle|"
    r"lle|technique|nights|days|ago|pain|feet|rest|twist|sharp|at[ ]rest|on[ ]exertion|intensity|severity|headache|"
    r"[rl](?![ ](?:hip|knee|foot|hand|arm|leg))|quads?|abd|grip|hand|leg|prox|muscle|scap|half|share|cap|lunch|"
    r"breakfast|dinner|"
    r"meal|tray|scale|score|points?|correct|items?|criteria|hyp|cartridge|liter|litre|gallon|acre|ns|"
    r"w/[ ]?(?:movement|mvmt|amb|activity|cue|drsg|dsg))(?![\w/]))"
)
#: Oral contraceptives, whose strengths look like dates after their names: ``Junel Fe 1/20``, ``Ortho-Novum 10/11``.
_PILLS: Final = frozenset(listed_words("pattern_context", "pill"))
_PILL_FORMS: Final = frozenset({"fe", "lo", "21", "24", "28"})
_PILL_STRENGTHS: Final = frozenset({"1/10", "1/20", "10/11"})
#: Words after a duration such as ``3/7 hx``: British notes write days as sevenths of a week, months as twelfths.
_DURATION_AFTER: Final = re.compile(
    r"(?i)[ \t]{0,2}(?:(?:hx|h/o|history|ago)\b|(?:in )?(?:total|course)(?=[ ]{0,2}(?:[.,;)\r\n]|$)))"
)
_TIME_AFTER: Final = re.compile(
    r"(?i)[ \t]{0,3}(?:@|at\b)?[ \t]{0,3}(?:(?:[01]\d|2[0-3])[0-5]\d\b(?![ ]?(?:mg|ml|cal|units?))|\d{1,2}[:.h]\d\d|"
    r"\d{1,2} ?[ap]\.?m?\b|am\b|pm\b|noon|a\b(?! [a-z])|p\b)"
)
_JOIN: Final = r"[ \t]{0,2}(?:-|–|—|,|;|&|\+|and|to|thru|through|or)[ \t]{0,2}"
_DATE_THEN_JOIN: Final = re.compile(rf"(?i)(?:\d{{1,2}}/\d{{1,2}}|(?:{either(MONTHS)})\.?[ ]\d{{1,2}}){_JOIN}$")
_JOIN_THEN_DATE: Final = re.compile(rf"(?i){_JOIN}\d{{1,2}}/\d{{1,2}}(?!\d)")
_PAIR: Final = re.compile(r"(?<![\d/.])(?P<a>\d{1,2})/(?P<b>\d{1,2})(?![\d/])")
_COMMON_DENOMINATORS: Final = frozenset({2, 3, 4, 5, 10})


def _form_points(first: str, second: str) -> int:
    """Return points for the form: ``06/12`` and ``3/14`` are nearly always dates, ``5/5`` and ``1/2`` rarely."""
    a, b = int(first), int(second)
    if "0" in (first[0], second[0]):
        return 4
    if b > 12 or a > b or b == 11:
        return 2 if a > 12 else 3
    return -2 if b in _COMMON_DENOMINATORS else 0


def _is_fraction(pair: re.Match[str]) -> bool:
    """Return whether a pair can be a score but not a date: ``22/30`` beside ``3/15`` makes ``3/15`` a score, too."""
    a, b = int(pair["a"]), int(pair["b"])
    return a <= b <= 60 and b > 12 and not is_day_of_year(a, b)


def _word_points(context: Context) -> int:
    if context.last in _DATE_WORDS_SURE or context.two in _DATE_WORDS_SURE:
        return 4
    if context.last in _SCORE_WORDS or context.ends_in("<>=≥≤×*^/"):
        return -3
    return int(context.last in _DATE_WORDS or context.ends_in("(@&,;:+["))


def _grade_month_day(match: re.Match[str]) -> Grade:
    if not is_day_of_year(int(match["a"]), int(match["b"])):
        return Grade.NO
    context = context_of(match)
    after_date = _DATE_THEN_JOIN.search(context.before[-24:]) is not None
    if context.before[-1:] in ("-", "–") and not after_date:
        return Grade.NO
    if match["b"] in ("7", "12") and _DURATION_AFTER.match(context.after):
        return Grade.NO
    if match["value"] == "24/7" and not (context.last in _DATE_WORDS_SURE or context.is_at_line_start):
        return Grade.NO  # far more often "round the clock" than 24 July
    form = _form_points(match["a"], match["b"])
    named = context.two.partition(" ")[0] if context.last in _PILL_FORMS else context.last
    if match["value"] in _PILL_STRENGTHS and named in _PILLS:
        return Grade.NO  # "Junel 1/20" may also mean started on 20 January: the models decide
    beside = _word_points(context)
    beside += 4 * (_TIME_AFTER.match(context.after) is not None)
    beside += 2 * context.after.startswith(":")
    beside += 2 * (after_date or _JOIN_THEN_DATE.match(context.after) is not None)
    points = form + beside + 4 * context.is_at_line_start
    if points <= 0:
        return Grade.NO  # the rules below only subtract points
    if _SCORE_AFTER.match(context.after):
        points -= 2 if form > 2 else 4
    if points > 0 and any(_is_fraction(other) for other in _PAIR.finditer(f"{context.before} {context.after}")):
        points -= 2
    if points <= 0:
        return Grade.NO
    if beside <= 0 and context.is_at_line_start:
        return Grade.PROBABLE  # a date at the start of a line, or a count: "4/19 contained tumour"
    if beside <= 0:
        return Grade.BARE  # only the form suggests a date, so the models must find it too
    return Grade.SURE if points >= 2 and not _may_be_clinical(match, context) else Grade.PROBABLE


_MONTHS_AHEAD: Final = frozenset("1 2 3 4 6 9 12".split())


def _may_be_clinical(match: re.Match[str], context: Context) -> bool:
    """Return whether it may be a count (``3/14 axillary nodes``), a grade, or months (``RTC 3/12``, or 12 March)."""
    counted = COUNTED.match(match.string, match.start("value"))
    return (
        (counted is not None and is_counted(counted))
        or GRADED.match(match.string, match.start("value")) is not None
        or (context.last == "rtc" and match["b"] == "12" and match["a"] in _MONTHS_AHEAD)
    )


_DASH_WORDS: Final = WEEKDAYS | frozenset(
    "date dated exp on since until seen dos dob lmp d/c adm due sent from".split()
)


def _is_month_dash_day(match: re.Match[str]) -> bool:
    """Return whether ``10-14``, usually a range, is a date: beside a weekday, a label or a time of day."""
    if not is_day_of_year(int(match["a"]), int(match["b"])):
        return False
    context = context_of(match)
    padded = len(match["a"]) == 2 == len(match["b"])
    if padded and context.is_at_line_start:
        return _TIME_AFTER.match(context.after) is not None
    return (
        context.last in _DASH_WORDS
        and (padded or int(match["b"]) > 12 or int(match["a"]) > 12)
        and _SCORE_AFTER.match(context.after) is None
    )


# --- decades -------------------------------------------------------------------------------------------------------

_MEASURED_BEFORE: Final = re.compile(
    r"(?i)\b(?:pressures?|systolics?|diastolics?|sbp|bp|hr|heart|rate|tones|sats?|saturat\w+|spo2|o2|oxygen|sugars?|"
    r"glucoses?|bgs?|pulse|maps?|ef|iq|fsbs|readings?|values?|scores?|dropp\w+|ranging|runn?ing|levels?)\b[^.;]{0,30}$"
)


def _is_calendar_decade(match: re.Match[str]) -> bool:
    """Return whether ``in the 80s`` is a decade, and not a pressure or a rate in the 80s."""
    return _MEASURED_BEFORE.search(context_of(match).before) is None


# --- years ---------------------------------------------------------------------------------------------------------

_YEAR_WORDS: Final = frozenset(listed_words("pattern_context", "year")) | SEASONS
_CLOCK_WORDS: Final = frozenset(listed_words("pattern_context", "clock"))
_YEAR_NOUNS: Final = frozenset(listed_words("pattern_context", "year-noun"))
_NOT_YEAR_AFTER: Final = re.compile(
    r"(?i)[ \t]?(?:mg|mcg|ug|g|kg|ml|l|cc|cm|mm|units?|u|iu|tabs?|x|%|°|hrs?|hours?|h|min|minutes?|weeks?|days?|am|"
    r"pm|mmol|meq|bpm|lbs?|"
    r"ft|feet|cal|kcal|calories|cells|copies|cgy|gy|hz|rpm|steps|meters|m|bp|hr|call|pain|relief|off|"
    rf"out|{alternation(credential_keys('not-year'))})\b|"
    r"[ \t]\d{3,4}\b|:\d|[\-/.]\d|[ \t]?[%+°]|-[A-Za-z]"
)
_STREET_AFTER: Final = re.compile(
    r"[ \t]{1,3}(?:[NSEW]{1,2}\.?[ \t])?(?:[A-Z0-9][\w'’.]{0,16}[ \t]){1,3}"
    rf"(?i:{alternation(street_kinds('after-year'))})\b"
)


def _grade_year(match: re.Match[str]) -> Grade:
    """Return how likely a bare four-digit year is, against times of day, amounts and house numbers."""
    context = context_of(match)
    year = int(match["value"])
    if _NOT_YEAR_AFTER.match(context.after) or _STREET_AFTER.match(context.after):
        return Grade.NO
    can_be_clock = year % 100 < 60 and year < 2360
    points = 0 if can_be_clock else 2 + (1960 <= year <= 2059)
    if can_be_clock and not 1900 <= year <= 2059:
        points -= 2
    if context.last in _CLOCK_WORDS and context.last not in ("by", "seen", "last"):
        points -= 3
    if context.ends_in("#@<>=×*^$£€~+./") and context.before[-1] == context.mark:
        points -= 2
    if context.last.isdigit() and context.mark.isdigit():
        points -= 2
    if context.last in _YEAR_WORDS:
        points += 2
    elif context.last in _YEAR_NOUNS or context.ends_in("([,;&-–~"):
        points += 1
    if context.after[:1] in ("", ")", "]") or re.match(r"[,;.](?:\s|$)|[ \t]*$", context.after):
        points += 1
    if 1990 <= year <= 2035:
        points += 1
    if context.is_at_line_start:
        points -= 1
    if points >= 3:
        return Grade.SURE
    # Minutes in times of day are usually multiples of five; years often are not.
    return Grade.PROBABLE if points == 2 or (points == 1 and 2001 <= year <= 2029 and year % 5 != 0) else Grade.NO


def _is_year_range(match: re.Match[str]) -> bool:
    """Return whether it is a range of years: ``1944-45``, ``1966-1970``; not ``1900-2230`` (a shift) or ``2010-41``."""
    first, second = int(match["value"]), int(match["value2"])
    if second < 100:
        return 0 < second - first % 100 <= 25
    return 0 < second - first <= 75


#: Checks by their name in the table.
CHECKS: Final[Mapping[str, Check]] = {
    "grade_month_day": _grade_month_day,
    "grade_year": _grade_year,
    "is_calendar_decade": _is_calendar_decade,
    "is_compact": _is_compact,
    "is_full": _is_full,
    "is_iso": _is_iso,
    "is_month_dash_day": _is_month_dash_day,
    "is_pair_of_weekday": _is_pair_of_weekday,
    "is_year_range": _is_year_range,
}

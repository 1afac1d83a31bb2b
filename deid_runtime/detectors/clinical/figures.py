"""Find numbers that are not a date, age or code: by form, by the text beside them, or by model scores."""

import re
from dataclasses import replace
from typing import Final

from deid_runtime.detectors.clinical.terms import is_term
from deid_runtime.detectors.patterns.validators import is_day_of_year
from deid_runtime.detectors.patterns.words import MONTHS, SEASONS, WEEKDAYS, either
from deid_runtime.lexicon.calendar_words import SHORT_MONTHS
from deid_runtime.lexicon.name_cues import fold, is_listed_name
from deid_runtime.lexicon.numbers import ONES, TEENS
from deid_runtime.spans import Span

_CALENDAR: Final = rf"(?i:[^\d]*\b(?:{either([*MONTHS, *WEEKDAYS, *SEASONS])})\b)"
#: Lowest scores at which models alone make a bare number an identifier, without a cue beside it. In 1,720 training
#: notes model spans below these scores were wrong 180 times and right 20 times (the forms with figures).
_LEAST_SURE: Final = (
    ("DATE", re.compile(r"\d{1,2}(?:/\d{1,2}){1,2}"), 0.4),
    ("DATE", re.compile(r"/?\d{1,2}/?"), 0.5),
    ("DATE", re.compile(r"(?!(?:19|20)\d\d$)[^A-Z]*\d[^A-Z]*"), 0.3),
    ("DATE", re.compile(rf"(?!{_CALENDAR})[a-z][^\d]*"), 0.2),  # "on the first evening", "for a time"
    ("DATE", re.compile(r"[A-Z]{1,5}"), 0.3),
    # In 5,300 training notes none of 43 such spans was right.
    ("DATE", re.compile(r"(?:[01]\d|2[0-3])[0-5]\d"), 0.15),
    ("PHONE", re.compile(r"(?:[01]\d|2[0-3])[0-5]\d"), 0.15),
    ("IDNUM", re.compile(r"\d{5}|(?=\D{0,9}\d)[\w.-]*[A-Za-z][\w.-]*"), 0.15),
    ("LICENSE", re.compile(r"[A-Z]{2,4}"), 0.3),
    ("DEVICE", re.compile(r"[A-Z]{2,4}"), 0.15),
    ("AGE", re.compile(r"\d{1,2}"), 0.25),
    ("AGE", re.compile(r"[^\W\d_]+(?:[ ,-]{1,2}[^\W\d_]+){0,3}"), 0.6),  # spelled: "slept from nine to five"
)

#: From this score on, a part of a word or code is believed to be an identifier.
_LEAST_OF_PART: Final = 0.5

#: The rest of a contraction: ``Haven`` in ``Haven't``.
_NOT: Final = re.compile(r"(?<=n)['’]t(?!\w)")
#: The end of a possessive: ``Teresa's``.
_POSSESSIVE_END: Final = re.compile(r"(?<=[^\W\d_]['’])s(?!\w)")
_MANY: Final = re.compile(r"\d{1,3}(?:/\d{1,3}){3,6}")
_MONTHS: Final = frozenset(SHORT_MONTHS)
_FRACTION_AFTER: Final = re.compile(r"/\d{1,2}(?:\.\d)?(?![\d/])")
_PAIR: Final = re.compile(r"(\d{1,2})/(\d{1,2})")


def is_unsure(text: str, span: Span) -> bool:
    """Return whether only models found ``span``, a bare number, with a score that is low for its form."""
    if any(not source.startswith("model:") for source in span.sources):
        return False
    value = text[span.start : span.end].strip()
    for label, form, least in _LEAST_SURE:
        if span.label == label and form.fullmatch(value) is not None:
            return span.score < least
    return False


def is_part_of_word(text: str, span: Span) -> bool:
    """Return whether only models found ``span``, with a low score, and it is a part of a word or code.

    The ``s`` of a possessive counts with any score.
    """
    if _POSSESSIVE_END.fullmatch(text, span.start, span.end) is not None:
        return True
    if span.score >= _LEAST_OF_PART or any(not source.startswith("model:") for source in span.sources):
        return False
    value = text[span.start : span.end].strip()
    if span.label == "DATE" and value.isdigit() and text[span.end : span.end + 1].isupper():
        return True  # the figures of "2022F"
    return value.isalpha() and (_is_within_word(text, span) or _NOT.match(text, span.end) is not None)


def _is_within_word(text: str, span: Span) -> bool:
    """Return whether letters of one case adjoin ``span``, a part of a word: ``Norm`` in ``RxNorm``.

    Small letters behind a figure are a unit: ``0655hrs``.
    """
    before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
    return span.label != "USERNAME" and (
        (before.islower() and text[span.start].isupper())
        or (after.islower() and text[span.end - 1].islower())
        or (before.isdecimal() and text[span.start : span.end].islower() and not after.isalnum())
    )


#: Behind a number that is an age of nobody: seconds, a risk over years, a size.
_NO_AGE_AFTER: Final = re.compile(
    r"[ -]?(?i:year|yr|y|month|mo|mth|week|wk|day)s?[ -](?:history|hx|h/o|duration|gap|interval|smok\w{2,3}|"
    r"marriage|remission|"
    r"relationship|sobriety|sentence|period|wait|stay|trial|block|sx|symptoms?)\b|[ ]s\b(?!['’/])|[ -]?(?i:year|yr|"
    r"y)s?[ -](?i:risk|survival|mortality|follow|recurrence|relapse|event|ASCVD|"
    r"cardiovascular|"
    r"fracture|probability|course of)|F(?:r)?[ ](?i:sheath|cath|pigtail|drain|foley|chest tube|stent|introducer)|"
    r"[ ]?(?i:wkr|weeker|wk(?:er)?s?[ ](?:gestation|preterm|ex))|[ ]and[ ]\d(?:/7|[ ]seven)|[ ]sevenths"
)
_NO_AGE_BEFORE: Final = re.compile(
    r"(?i)\b(?:bone|mental|developmental|gestational|reading|language|vascular|heart|lung|skeletal|dental|motor)[ -]age"
    r"[ :]{1,2}(?:\d{1,2}[ ]?(?:y|yrs?|years?)[ ,]{1,2})?$|"
    r"\b(?:m[aou]m|mother|parent)[ ]of[ ]{1,2}$|"
    r"\bage[ -]eq(?:uiv\w{0,6})?\.?[ :]{1,2}$"
)


#: "half two", "quarter to six": a time of day
_CLOCK: Final = re.compile(rf"(?i:half|half past|quarter past|quarter to) (?i:{'|'.join((*ONES, *TEENS[:3]))})")
_FEW: Final = frozenset("one two three four five six seven eight nine ten twins triplets".split())


def is_other_number(text: str, span: Span) -> bool:
    """Return whether the words beside a number that only models found say that it is no age of a person."""
    value = text[span.start : span.end].strip(" s")
    if span.label == "AGE" and _CLOCK.fullmatch(value) is not None:
        return True
    if not (value.isdigit() or value.lower() in _FEW) or any(source == "pattern" for source in span.sources):
        return False
    return (
        _NO_AGE_AFTER.match(text, span.end) is not None
        or _NO_AGE_BEFORE.search(text, max(0, span.start - 36), span.start) is not None
    )


#: A placeholder of a template, which the record system replaces with a value: ``@VITALS24@``.
_PLACEHOLDER: Final = re.compile(r"@([A-Z]{3,24})\d{0,3}@")
_PLACEHOLDERS: Final = re.compile(rf"(?<![\w.]){_PLACEHOLDER.pattern}(?:[ ]?(?:{_PLACEHOLDER.pattern}|\*{{3}})){{0,9}}")
_PLACEHOLDER_CHARS: Final = 80


def is_placeholder(text: str, span: Span) -> bool:
    """Return whether only models found ``span``, and it lies in placeholders of a template that are no names."""
    if any(not source.startswith("model:") for source in span.sources):
        return False
    start, end = max(0, span.start - _PLACEHOLDER_CHARS), span.end + _PLACEHOLDER_CHARS
    return any(
        found.start() <= span.start
        and span.end <= found.end()
        and not any(is_listed_name(fold(each[1])) for each in _PLACEHOLDER.finditer(found[0]))
        for found in _PLACEHOLDERS.finditer(text, start, end)
    )


#: The beginning and end of a meeting or shift, in steps of five minutes. Telephone numbers have the same form, so a
#: word before them must say what lasts so long.
_HOURS: Final = re.compile(
    r"(?i:\b(?:meeting|conference|mdt|teams|zoom|session|shift|clinic|theatre|theater|hours|times?|nap|slept|visiting)\b"
    r"[ ,:(]{1,3})(?P<value>([01]\d|2[0-3])[0-5][05][ ]?[-\u2013][ ]?([01]\d|2[0-3])[0-5][05])(?![\w-])"
)
_HOURS_CHARS: Final = 24


def is_hours(text: str, span: Span) -> bool:
    """Return whether only models found ``span``, and it lies in the hours of something: ``on Teams, 1400-1440``."""
    if any(not source.startswith("model:") for source in span.sources):
        return False
    return any(
        found.start("value") <= span.start and span.end <= found.end("value")
        for found in _HOURS.finditer(text, max(0, span.start - _HOURS_CHARS), span.end + _HOURS_CHARS)
    )


def adjoins_fraction(text: str, span: Span) -> bool:
    """Return whether another number is beside it with a slash between: ``5/5/5/7.5`` is not a date."""
    return "/" in text[span.start : span.end] and _FRACTION_AFTER.match(text, span.end) is not None


#: Haemophilia B, called after a patient.
_HAEMOPHILIA: Final = re.compile(r"(?i:Christmas (?:disease|factor))\b")
#: ``Sun`` and ``Sat`` are short for weekdays; the sun is none, nor is the verb: *Sat up for lunch*.
_SUN_OR_SITTING: Final = re.compile(r"(?:the |(?<=\bthe ))sun(?!\w)|[Ss]at(?= (?:up|down|out|in the|beside|there)\b)")
#: A transdermal therapeutic system; elsewhere ``TTS`` is Tuesday, Thursday and Saturday.
_PATCH: Final = re.compile(r"TTS(?=[ ](?i:patch(?:es)?|system)\b)")


def is_term_alone(text: str, span: Span) -> bool:
    """Return whether a date without digits is a clinical term or a plain word: ``Yaz``, ``TTS patch``, ``the sun``."""
    value = text[span.start : span.end]
    if any(map(str.isdigit, value)) or value.lower() in _MONTHS:
        return False
    if _SUN_OR_SITTING.match(text, span.start) is not None or _HAEMOPHILIA.match(text, span.start) is not None:
        return True
    return _PATCH.match(text, span.start) is not None or is_term(text, replace(span, label="DOCTOR"))


def is_no_day(value: str) -> bool:
    """Return whether two numbers are neither a day nor a month of a year, as ``22/30``; ``3/95`` may be a month."""
    if _MANY.fullmatch(value.strip(" /")) is not None:
        return True  # "8/5/10/28": four numbers
    pair = _PAIR.fullmatch(value.strip())
    if pair is None:
        return False
    first, second = int(pair[1]), int(pair[2])
    is_month = 1 <= first <= 12 and len(pair[2]) == 2
    return not is_month and not is_day_of_year(first, second)

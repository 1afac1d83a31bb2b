"""Find numbers that are not a date, age or code: by form, by the text beside them, or by model scores."""

import re
from dataclasses import replace
from typing import Final

from deid_runtime.detectors.clinical.terms import is_term
from deid_runtime.detectors.patterns.validators import is_day_of_year
from deid_runtime.detectors.patterns.words import MONTHS, SEASONS, WEEKDAYS, either
from deid_runtime.lexicon.calendar_words import SHORT_MONTHS
from deid_runtime.spans import Span

_CALENDAR: Final = rf"(?i:[^\d]*\b(?:{either([*MONTHS, *WEEKDAYS, *SEASONS])})\b)"
#: Lowest scores at which models alone make a bare number an identifier, without a cue beside it. In 1,720 training
#: notes model spans below these scores were wrong 180 times and right 20 times (the forms with figures).
_LEAST_SURE: Final = (
    ("DATE", re.compile(r"\d{1,2}(?:/\d{1,2}){1,2}"), 0.4),
    ("DATE", re.compile(r"/?\d{1,2}/?"), 0.5),
    ("DATE", re.compile(r"(?!(?:19|20)\d\d$)[^A-Z]*\d[^A-Z]*"), 0.3),
    ("DATE", re.compile(rf"(?!{_CALENDAR})[a-z][^\d]*"), 0.2),  # "on the first evening", "for a time"
    ("AGE", re.compile(r"\d{1,2}"), 0.25),
    ("AGE", re.compile(r"[^\W\d_]+(?:[ ,-]{1,2}[^\W\d_]+){0,3}"), 0.6),  # spelled: "slept from nine to five"
)

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


#: Behind a number that is an age of nobody: seconds, a risk over years, a size.
_NO_AGE_AFTER: Final = re.compile(
    r"[ ]s\b(?!['’/])|[ -]?(?i:year|yr|y)s?[ -](?i:risk|survival|mortality|follow|recurrence|relapse|event|ASCVD|"
    r"cardiovascular|"
    r"fracture|probability|course of)|F(?:r)?[ ](?i:sheath|cath|pigtail|drain|foley|chest tube|stent|introducer)|"
    r"[ ]?(?i:wkr|weeker|wk(?:er)?s?[ ](?:gestation|preterm|ex))|[ ]and[ ]\d(?:/7|[ ]seven)|[ ]sevenths"
)
_NO_AGE_BEFORE: Final = re.compile(
    r"(?i)\b(?:bone|mental|developmental|gestational|reading|language|vascular|heart|lung)[ -]age[ :]{1,2}$"
)


def is_other_number(text: str, span: Span) -> bool:
    """Return whether the words beside a number that only models found say that it is no age of a person."""
    if not text[span.start : span.end].strip(" s").isdigit() or any(source == "pattern" for source in span.sources):
        return False
    return (
        _NO_AGE_AFTER.match(text, span.end) is not None
        or _NO_AGE_BEFORE.search(text, max(0, span.start - 24), span.start) is not None
    )


def adjoins_fraction(text: str, span: Span) -> bool:
    """Return whether another number is beside it with a slash between: ``5/5/5/7.5`` is not a date."""
    return "/" in text[span.start : span.end] and _FRACTION_AFTER.match(text, span.end) is not None


def is_term_alone(text: str, span: Span) -> bool:
    """Return whether a date without digits is a clinical term: ``Yaz``, ``SAT``."""
    value = text[span.start : span.end]
    return (
        not any(map(str.isdigit, value))
        and value.lower() not in _MONTHS
        and is_term(text, replace(span, label="DOCTOR"))
    )


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

"""Decide which spans of models and weak patterns are dropped as clinical facts.

Only a span that no strong detector (template, pattern, record) touches can be dropped, and only if

- it is in a stretch of the grammar that excludes its label, has no cue of identity beside it, and no model is very
  confident about it, or no identifier looks like this kind of stretch; or
- it is an age over 120, or an age over 89 without a cue or a confident model; or
- it is a date of two numbers that does not exist in a calendar; or
- it is a bare number without a cue beside it, and the models are not confident about it; or
- it is a fraction with the same denominator as a fraction beside it, which makes it a count or a score; or
- every word of it is a clinical term and not a name (:mod:`deid_runtime.detectors.clinical.terms`), or the words
  beside it show that it is a role, a kind of place, a drug, a gene, a trial or a plain word (``generic``, ``named``,
  ``phrases``).

A name is never dropped for a number beside it. The grammar is tried only on the lines around such spans: texts
without them take no time.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from deid_runtime.detectors.clinical.eponyms import is_eponym_alone
from deid_runtime.detectors.clinical.figures import (
    adjoins_fraction,
    is_hours,
    is_no_day,
    is_other_number,
    is_part_of_word,
    is_placeholder,
    is_term_alone,
    is_unsure,
)
from deid_runtime.detectors.clinical.forms import AGE_BEHIND
from deid_runtime.detectors.clinical.generic import is_generic
from deid_runtime.detectors.clinical.grammar import GRAMMAR
from deid_runtime.detectors.clinical.named import is_brand, is_gene, is_marker, is_part_of_symbol, is_trial
from deid_runtime.detectors.clinical.phrases import is_phrase
from deid_runtime.detectors.clinical.plain_words import is_plain
from deid_runtime.detectors.clinical.rows import FIGURES, NAMES, Covered, Stretch
from deid_runtime.detectors.clinical.terms import is_term
from deid_runtime.detectors.clinical.times import is_half_of_day, is_relative
from deid_runtime.detectors.patterns.words import WEEKDAYS, either
from deid_runtime.labels import HEADS
from deid_runtime.lexicon.calendar_words import SHORT_MONTHS
from deid_runtime.lexicon.vocabulary import alternation, kin, titles
from deid_runtime.spans import Span, covered

#: From this score on a model outvotes the grammar. On dev it was right in all six such spans.
VERY_SURE: Final = 0.98
#: From these scores on, a model is trusted that a bare number over 89 is an age. The second one applies beside words of
#: measurement. In a sixth of the training notes all 117 such ages scored .9 or more, all 9 wrong ones .7 or less.
SURE_OF_HIGH_AGE: Final = 0.8
SURE_AMONG_MEASURES: Final = 0.9
#: Kinds of facts whose form or name outvotes even such a model: of 158,000 identifiers of the training
#: notes, tested as if a model were confident about them, seven had such a form. On dev and test, no right span was
#: dropped.
_PLAIN_KINDS: Final = frozenset({"edition", "lab", "code", "gestation", "level", "score", "people", "shorthand"})
#: Labels that models give to the hours of something (``1400-1440``) by mistake.
_NUMBERS: Final = frozenset({"PHONE", "FAX", "IDNUM", "ACCOUNT", "MEDICALRECORD"})
HIGHEST_AGE: Final = 120
#: Ages over this are rare, but numbers over it are common: saturations, rates, pressures.
COMMON_AGE: Final = 89

_TERM_LABELS: Final = frozenset((*HEADS["name"], *HEADS["location"], *HEADS["organization"]))
_BEFORE_CHARS: Final = 100
_AFTER_CHARS: Final = 48
_LONGEST: Final = 60

_AGE_AFTER: Final = re.compile(AGE_BEHIND, re.IGNORECASE)
_AGE_BEFORE: Final = re.compile(
    r"(?i)(?:\b(?:aged?|ages|born|turned|turning|turns|dob|edad|âge|age/sex|(?:he|she|who|patient|pt|"
    r"i)(?:['’]s|['’]m|[ ](?:is|was|am))|"
    rf"{alternation(kin('age-before'))}|grand\w{{2,8}}|died|deceased|{alternation(titles('age-before'))})"
    r"\b[^\w\n]{0,3}(?:(?:at|of|is|was|now|about|age|aged|in)[ ]){0,2}[(~]?)$"
)
#: ``mar`` alone also begins medical words.
_MONTH_BEGINNING: Final = "|".join("mar[ c.]" if month == "mar" else month for month in SHORT_MONTHS)
_MEASURE_CHARS: Final = 60
_MEASURE: Final = re.compile(
    r"(?i)\b(?:sat|sats|sating|satting|desat\w{0,6}|spo2|sao2|o2|oxygen|ra|room air|sugars?|glucoses?|"
    r"bg|bgs|fsbg|fever\w?|febrile|temps?|"
    r"temperature|tmax|hr|heart rate|pulse|rate|bp|sbp|map|wt|weight|wheez\w{1,3}|nadir|ketones|ldl|ecg|"
    r"ekg|ppm|lpm|bpm|"
    r"psalms?|ps|units|mg|ml)\b[^.;\n]{0,50}$"
)
_DATE_BEFORE: Final = re.compile(
    rf"(?i)(?:\b(?:on|since|until|till?|thru|date|dated|dos|dob|lmp|edd|edc|due|seen|admitted|admit|"
    rf"discharged|appt|exp|expires|"
    rf"scheduled|collected|drawn|as of|week of|wk of|{either(WEEKDAYS)})\b\.?[ ,:]{{0,3}}|"
    rf"\b(?:{either(WEEKDAYS)})[., ]{{1,3}})$"
)
_CLOCK_AFTER: Final = re.compile(
    r"[ ]{0,2}(?:@|at)?[ ]{0,2}(?:\d{1,2}[:]\d\d|(?:[01]\d|2[0-3])[0-5]\d(?!\d|[ ]?m)|\d{1,2}[ ]?[ap]\.?m\b)"
)
_ID_BEFORE: Final = re.compile(
    r"(?i)(?:#|\b(?:no|number|num|id|mrn|acct|account|accession|acc|lot|serial|s/?n|ref|model|case|"
    r"order|specimen|badge|policy|claim|"
    r"auth\w{0,10}|ticket|trial|study|encounter|csn|visit|member|group|ssn|npi|dea|license|lic|rx|fin|"
    r"har|unit|imei|plate|vin|"
    r"phone|tel|fax|pager|ext|x|cell|call\w{0,3})\b)[ .:#]{0,4}$"
)
#: Numbers in the form of values; an identifier has letters, hyphens or more digits.
_PLAIN: Final = re.compile(r"\d{1,4}(?:[.,]\d{1,4})?(?:/\d{1,4}(?:\.\d{1,2})?){0,4}")
_SHORT_DATE: Final = re.compile(r"(?:19|20)\d\d|\d{1,2}/\d{1,2}")
_WORDS: Final = re.compile(r"[^\W\d_]+")
#: Words at which rows for names are tried: peoples, languages, scores, bodies, and words before codes.
_NAMED_WORDS: Final = frozenset(
    word for row in GRAMMAR.rows if not NAMES.isdisjoint(row.excludes) for word in row.words if len(word) > 1
)
_PAIR: Final = re.compile(r"(\d{1,2})/(\d{1,2})")
_PAIRS: Final = re.compile(r"(?<![\d/.])(\d{1,2})/(\d{1,2})(?![\d/])")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
#: Courses of treatment in days of a week: "28/7".
_DAYS: Final = frozenset({"10", "14", "21", "28"})
_SURE_OF_COURSE: Final = 0.3  # from this score on, a model is believed that one of these is a date
_CLAUSE_CHARS: Final = 48
_LEAST_TOTAL: Final = 4
_CLAUSE_END: Final = re.compile(r"[.!?][ ]|[ ]{3}|\||\b(?i:on|to|until|since|seen|stop|due)[ ]$|^[ ]?[-–]")


def without_clinical(text: str, spans: Sequence[Span], *, has_models: bool = True) -> list[Span]:
    """Return ``spans``, in their order, without those that only mistake a clinical fact of ``text`` for an identifier.

    ``spans`` are those of all detectors and may overlap. ``has_models`` says whether models read the text, found they
    anything or not. The same arguments give the same result; a span that stays is not changed.
    """
    weak = [span for span in spans if _is_doubtful(span) or _is_short_date(text, span)]
    if not weak:
        return list(spans)
    strong = covered(span for span in spans if not (_goes_by_form(span) or _is_short_date(text, span)))
    doubtful = [span for span in weak if not _touches(strong, span)]
    if not doubtful:
        return list(spans)
    asked = set(doubtful)
    judge = _Judge(text, doubtful, [span for span in spans if span not in asked], has_models=has_models)
    dropped = {span for span in doubtful if judge.drops(span)}
    return [span for span in spans if span not in dropped]


def _goes_by_form(span: Span) -> bool:
    return (
        all(source == "pattern:weak" or source.startswith("model:") for source in span.sources) and span.sources != ()
    )


def _is_short_date(text: str, span: Span) -> bool:
    """Return whether only a pattern found a year, or a month and day: the words around may be of a value."""
    return (
        span.label == "DATE"
        and span.sources == ("pattern",)
        and _SHORT_DATE.fullmatch(text, span.start, span.end) is not None
    )


def _is_doubtful(span: Span) -> bool:
    return (
        _goes_by_form(span)
        and span.end - span.start <= _LONGEST
        and (span.label in FIGURES or span.label in NAMES or span.label in _TERM_LABELS or span.label == "EMAIL")
    )


def _touches(stretches: Sequence[tuple[int, int]], span: Span) -> bool:
    at = bisect_right(stretches, span.end - 1, key=lambda stretch: stretch[0]) - 1
    return at >= 0 and stretches[at][1] > span.start


class _Judge:
    """Decides which doubtful spans of one text are clinical facts, by the grammar around them."""

    def __init__(self, text: str, spans: Sequence[Span], others: Sequence[Span], *, has_models: bool) -> None:
        """``spans`` are the doubtful ones, ``others`` all other spans found in ``text``."""
        self._text = text
        asked = [span for span in spans if self._may_be_fact(span)]
        found: set[Stretch] = set()
        for start, end in _windows(text, asked):
            found.update(GRAMMAR.find(text, start, end))
        self._names = covered(
            span for span in (*spans, *others) if span.label in _TERM_LABELS and not _is_no_name(text, span)
        )
        self._dates = covered(
            span for span in (*spans, *others) if span.label == "DATE" and not is_relative(text[span.start : span.end])
        )
        self._all = (*spans, *others)
        self._has_models = has_models
        self._by_label: dict[str, Covered] = {}
        self._found = found
        self._sure = [each for each in found if each.sure]

    def _may_be_fact(self, span: Span) -> bool:
        """Return whether to try the grammar around ``span``."""
        value = self._text[span.start : span.end]
        if span.label in NAMES:
            return span.label == "COUNTRY" or any(word.lower() in _NAMED_WORDS for word in _WORDS.findall(value))
        if span.label == "AGE":
            return _may_be_value(self._text, span) and _AGE_AFTER.match(self._text, span.end) is None
        return span.label in FIGURES and _may_be_value(self._text, span)

    def drops(self, span: Span) -> bool:
        """Say whether ``span`` is no identifier."""
        text = self._text
        if span.label == "EMAIL":
            return is_placeholder(text, span)
        if span.label in _TERM_LABELS and _is_no_name(text, span):
            return not self._is_beside_name(span)
        if is_part_of_word(text, span) or (span.label in NAMES and is_half_of_day(text, span)):
            return True
        if span.label == "DATE" and self._is_form_alone(span):
            return True
        if is_marker(text, span) or is_part_of_symbol(text, span):
            return True
        if span.label == "AGE" and (self._is_no_age(span) or is_other_number(text, span)):
            return True
        if span.label == "DATE" and "pattern" not in span.sources:
            value = text[span.start : span.end]
            if (
                is_no_day(value)
                or adjoins_fraction(text, span)
                or is_term_alone(text, span)
                or (is_relative(value) and not _touches(self._dates, _widened(span)))
            ):
                return True
        if (is_unsure(text, span) or (span.label in _NUMBERS and is_hours(text, span))) and not self._has_cue(span):
            return True
        start, end = _trimmed(text, span)
        if span.label in FIGURES and not _may_be_value(text, span):
            return False
        if span.label in FIGURES and span.label not in ("AGE", "DATE") and not _PLAIN.fullmatch(text, start, end):
            return self._is_code(span.label, start, end)
        is_very_sure = span.score >= VERY_SURE and any(source.startswith("model:") for source in span.sources)
        if any(
            each.start <= start
            and end <= each.end
            and span.label in each.excludes
            and not (is_very_sure and each.kind not in _PLAIN_KINDS)
            for each in self._sure
        ):
            return True
        if is_very_sure and not self._plainly_covered(span.label).holds(start, end):
            return False
        is_fact = self._covered(span.label).holds(start, end) or (span.label == "DATE" and self._is_like_fraction(span))
        return is_fact and not self._has_cue(span)

    def _is_form_alone(self, span: Span) -> bool:
        """Say whether a weak pattern alone took a count (``2/3``), a duration (``14/7``) or a year for a date.

        In 1,774 training notes such finds were wrong 17 times and right once. Without models, the form must do.
        """
        if not self._has_models:
            return False
        if span.sources != ("pattern:weak",) or self._has_cue(span):
            return False
        pair = _PAIR.fullmatch(self._text, span.start, span.end)
        if pair is not None and pair[2] == "7" and pair[1] in _DAYS:
            return not self._is_of_model(span, _SURE_OF_COURSE)
        if self._is_of_model(span):
            return False
        if pair is not None:
            return int(pair[1]) <= int(pair[2])
        return _YEAR.fullmatch(self._text, span.start, span.end) is not None

    def _is_of_model(self, span: Span, least: float = 0.0) -> bool:
        """Say whether a model found something with at least the score ``least`` that ``span`` overlaps."""
        return any(
            other.start < span.end
            and span.start < other.end
            and other.score >= least
            and any(source.startswith("model:") for source in other.sources)
            for other in self._all
        )

    def _is_beside_name(self, span: Span) -> bool:
        """Return whether a name touches ``span`` or is one space or hyphen away: both are parts of one name."""
        return _touches(self._names, _widened(span))

    def _is_code(self, label: str, start: int, end: int) -> bool:
        return Covered(
            each for each in self._found if each.kind in ("code", "sequence") and label in each.excludes
        ).holds(start, end)

    def _covered(self, label: str) -> Covered:
        if label not in self._by_label:
            self._by_label[label] = Covered(each for each in self._found if label in each.excludes)
        return self._by_label[label]

    def _is_like_fraction(self, span: Span) -> bool:
        """Return whether a fraction with the same denominator is beside it: ``21/28 days on and 7/28 off``."""
        pair = _PAIR.fullmatch(self._text, span.start, span.end)
        if pair is None:
            return False
        start = self._text.rfind("\n", max(0, span.start - _CLAUSE_CHARS), span.start) + 1
        start = max(start, span.start - _CLAUSE_CHARS, 0)
        end = self._text.find("\n", span.end, span.end + _CLAUSE_CHARS)
        end = end if end >= 0 else min(len(self._text), span.end + _CLAUSE_CHARS)
        for other in _PAIRS.finditer(self._text, start, end):
            if (
                int(pair[2]) < _LEAST_TOTAL
                or other[2] != pair[2]
                or other[1] == pair[1]
                or int(other[1]) > int(other[2])
            ):
                continue
            between = self._text[min(span.end, other.end()) : max(span.start, other.start())]
            if _CLAUSE_END.search(between) is None and (
                is_no_day(other[0]) or self._fractions().holds(other.start(), other.end())
            ):
                return True
        return False

    def _fractions(self) -> Covered:
        key = "fractions"
        if key not in self._by_label:
            self._by_label[key] = Covered(each for each in self._found if each.kind == "score")
        return self._by_label[key]

    def _plainly_covered(self, label: str) -> Covered:
        key = f"{label} plainly"
        if key not in self._by_label:
            self._by_label[key] = Covered(
                each for each in self._found if label in each.excludes and each.kind in _PLAIN_KINDS
            )
        return self._by_label[key]

    def _has_cue(self, span: Span) -> bool:
        before = self._text[max(0, span.start - 24) : span.start].rpartition("\n")[2]
        after = self._text[span.end : span.end + 16]
        if span.label == "AGE":
            return _AGE_AFTER.match(after) is not None or _AGE_BEFORE.search(before) is not None
        if span.label == "DATE":
            return _DATE_BEFORE.search(before) is not None or _CLOCK_AFTER.match(after) is not None
        return span.label in FIGURES and _ID_BEFORE.search(before) is not None

    def _is_no_age(self, span: Span) -> bool:
        value = self._text[span.start : span.end]
        if not value.isdigit():
            return False
        if int(value) > HIGHEST_AGE:
            return True
        if int(value) <= COMMON_AGE:
            return False
        before = self._text[max(0, span.start - _MEASURE_CHARS) : span.start].rpartition("\n")[2]
        least = SURE_AMONG_MEASURES if _MEASURE.search(before) is not None else SURE_OF_HIGH_AGE
        return span.score < least and not self._has_cue(span)


def _widened(span: Span) -> Span:
    return replace(span, start=max(0, span.start - 2), end=span.end + 2)


def _is_no_name(text: str, span: Span) -> bool:
    return any(
        is_no_name(text, span)
        for is_no_name in (is_term, is_plain, is_generic, is_brand, is_gene, is_trial, is_phrase, is_eponym_alone)
    )


def _windows(text: str, spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Return the stretches of the lines around ``spans`` in which the grammar searches for anchors, disjoint."""
    windows: list[tuple[int, int]] = []
    for span in sorted(spans):
        start = max(text.rfind("\n", max(0, span.start - _BEFORE_CHARS), span.start) + 1, span.start - _BEFORE_CHARS, 0)
        end = text.find("\n", span.end, span.end + _AFTER_CHARS)
        end = min(len(text), span.end + _AFTER_CHARS) if end < 0 else end
        while start > 0 and text[start - 1].isalnum() and span.start - start < _BEFORE_CHARS + 20:
            start -= 1  # not from within a word
        if windows and start <= windows[-1][1]:
            windows[-1] = (windows[-1][0], max(windows[-1][1], end))
        else:
            windows.append((start, end))
    return windows


def _may_be_value(text: str, span: Span) -> bool:
    """Return whether a span has the form of a clinical value: no month in letters, no date with its year."""
    value = text[span.start : span.end]
    if not any(char.isdigit() for char in value):
        return span.label == "AGE" and text[span.start - 1 : span.start].isdigit()  # the "s" of "40s"
    return re.search(rf"\d[/.-]\d{{1,2}}[/.-](?:19|20)\d\d|(?i:{_MONTH_BEGINNING})|[@]", value) is None


def _trimmed(text: str, span: Span) -> tuple[int, int]:
    """Return the bounds of a span without its article, and without white space and punctuation at its ends."""
    start, end = span.start, span.end
    if text.startswith("the ", start, end):
        start += len("the ")
    while start < end - 1 and not text[start].isalnum():
        start += 1
    while end > start + 1 and not text[end - 1].isalnum():
        end -= 1
    return start, end

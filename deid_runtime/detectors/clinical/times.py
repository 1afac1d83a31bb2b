"""Times that do not refer to a calendar: days after an operation, durations, gestational ages."""

import re
from typing import Final

from deid_runtime.detectors.clinical.rows import FIGURES, NAMES, ClinicalRow, line_of
from deid_runtime.detectors.patterns.words import either
from deid_runtime.lexicon.tables import listed_words
from deid_runtime.spans import Span

#: Days of a week, weeks of a year or months of a year, as notes in Britain and Ireland write durations.
_DURATION: Final = r"(?:\d{1,2}(?:[-–]\d{1,2})?/52|(?:[1-9]|1[0-4])/7|(?:[1-9]|1[0-2]|15|18|24)/12)(?![\d/])"
#: Labels excluded by a duration. AGE is not among them, because it may be the age of an infant: "baby, 3/52".
_NOT_OF_INFANTS: Final = FIGURES - {"AGE"}

#: Words for a time without a calendar. Seasons without a year are not dates, either.
_RELATIVE: Final = frozenset(listed_words("clinical_words", "relative-time"))
_WORD: Final = re.compile(r"[^\W\d_]+")

_BIRTH_BEFORE: Final = re.compile(r"(?i)\b(?:since|born|b\.?|dob|in|from)[ ]{1,2}$")

#: An ordinal, or several: ``5th``, ``2nd and 3rd``, ``1st, 2nd or 4th``.
ORDINALS: Final = (
    r"\d{1,2}(?:st|nd|rd|th)"
    r"(?:(?:,[ ]|[ ]?[-–][ ]?|,?[ ](?:and|or|to|through)[ ](?:the[ ])?)\d{1,2}(?:st|nd|rd|th)){0,4}"
)

_HALF_OF_DAY: Final = re.compile(r"[AaPp]\.[ ]?[Mm]\.?")
_BEFORE_HALF: Final = re.compile(r"(?i)\b(?:tomorrow|today|yesterday|tonight|in the|this|every|each|next)[ ]{1,2}$")

#: Shorthand for days near today. In lower case it is no name, whatever a model says.
_NEAR_TODAY: Final = frozenset("yday ystday ystdy tday tmrw tmro tmoro tomoz".split())
_DAY: Final = either(sorted(_NEAR_TODAY))
#: Words before *tmw* and *tdy*, which may also be initials.
_DUE: Final = frozenset("review reviewed due again home bloods".split())

#: What a child does for the first time. The age in months or weeks stands behind it; a line must name two of these.
_FIRSTS: Final = (
    "sat rolled crawled crawling cruised cruising walked walking smiled smiling babbled babbling words talking pincer"
)
_MILESTONES: Final = rf"(?i:\b(?:{_FIRSTS.replace(' ', '|')}))"
_MILESTONE_BEFORE: Final = re.compile(
    _MILESTONES + r"(?:[ ](?:as yet|all day|by|at|grasp)){0,2}[\"]?[ ]{1,2}(?:by|at)?[ ]?$"
)
_MILESTONE_CHARS: Final = 40
_INFANT: Final = re.compile(r"(?i)\b(?:rolled|crawl|cruis|babbl|smil|pincer)")


def _is_milestone(match: re.Match[str]) -> bool:
    """Return whether a milestone stands directly before an age in a line that names two, one of them of an infant."""
    line, before = line_of(match), match.string[max(0, match.start() - _MILESTONE_CHARS) : match.start()]
    named = {found[0].lower() for found in re.finditer(_MILESTONES, line)}
    return len(named) > 1 and _INFANT.search(line) is not None and _MILESTONE_BEFORE.search(before) is not None


ROWS: Final = (
    ClinicalRow(
        name="day-shorthand",
        kind="shorthand",
        # "seen yday, rv tmw"
        pattern=(
            rf"(?:(?:{_DAY})(?:[,;]?[ ](?:rv|rvw)[ ](?:{_DAY}|tmw|tdy))?|(?:rv|rvw)[ ](?:{_DAY}|tmw|tdy))(?![\w'’-])"
        ),
        words=_NEAR_TODAY | {"rv", "rvw"},
        excludes=NAMES | {"DATE"},
    ),
    ClinicalRow(
        name="day-shorthand-due",
        kind="shorthand",
        # "review tmw"
        pattern=rf"(?:{either(sorted(_DUE))})[ ](?P<value>tmw|tdy)(?![\w'’-])",
        words=_DUE,
        excludes=NAMES | {"DATE"},
    ),
    ClinicalRow(
        name="duration-weeks",
        kind="relative time",
        # 52 is neither a day nor a month.
        pattern=r"\d{1,2}(?:[ ]?[-–][ ]?\d{1,2})?/52(?![\d/])",
        at_numbers=True,
        after="/- –",
        excludes=_NOT_OF_INFANTS,
    ),
    ClinicalRow(
        name="gestation-fortieths",
        kind="gestation",
        # "31/40", "36/40 uncomplicated", "40/40 + 3": weeks of forty, but "born 4/40"
        pattern=r"(?:[4-9]|[1-3]\d|4[0-4])(?:-\d\d)?/40(?:[ ]?\+[ ]?\d{1,2})?(?![\d/])",
        at_numbers=True,
        after="/-",
        check=lambda match: _BIRTH_BEFORE.search(match.string, max(0, match.start() - 12), match.start()) is None,
    ),
    ClinicalRow(
        name="milestone",
        kind="relative time",
        # "rolled 5/12, talking by 20/12": months of age
        pattern=r"\d{1,2}/(?:12|52)(?![\d/])",
        at_numbers=True,
        after="/",
        excludes=_NOT_OF_INFANTS,
        check=_is_milestone,
    ),
    ClinicalRow(
        name="duration-hours",
        kind="relative time",
        # "every 4/24", "x 18/24", "turns 2/24": hours as parts of a day
        pattern=(
            r"(?i:for|over|past|last|within|every|max|x|q|sleeps|about|approx|at least|up to|dwell|turns)[ ]{1,2}"
            r"(?P<value>(?:[1-9]|1\d|2[0-4])/24)(?![\d/])"
        ),
        words=frozenset("for over past last within every max x q sleeps about approx at up dwell turns".split()),
        excludes=_NOT_OF_INFANTS,
    ),
    ClinicalRow(
        name="duration-hours-named",
        kind="relative time",
        # "8/24 h", "home 2/24 later"
        pattern=r"(?:[1-9]|1\d|2[0-4])/24(?:[ ]?(?:h|hrs?|hours|hourly)|[ ](?:later|apart|ago))(?!\w)",
        at_numbers=True,
        after="/",
        excludes=_NOT_OF_INFANTS,
    ),
    ClinicalRow(
        name="hours-of-test",
        kind="relative time",
        # "SBR at 6/24, then 12/24": tests named as where hours are written so; "A1c at 6/24" may be June 2024
        pattern=(
            r"(?:SBRs?|BGLs?|BSLs?|(?i:trops?|gas(?:es)?))[ ]at[ ](?P<value>(?:[1-9]|1\d|2[0-4])/24"
            r"(?:,?[ ](?:and[ ])?then[ ](?:at[ ])?(?:[1-9]|1\d|[2-7]\d)/24){0,4})(?![\d/])"
        ),
        words=frozenset("sbr sbrs bgl bgls bsl bsls trop trops gas gases".split()),
        excludes=_NOT_OF_INFANTS,
    ),
    ClinicalRow(
        name="interval-of-volume",
        kind="relative time",
        # "feeds 60 ml 3/24": a volume every three hours
        pattern=r"\d{1,4}[ ]?(?i:mls?)[ ]{1,2}(?P<value>(?:[1-4]|6|8|12)/24)(?![\d/])",
        at_numbers=True,
        after=" x",
        excludes=_NOT_OF_INFANTS,
    ),
    ClinicalRow(
        name="duration-before",
        kind="relative time",
        # "5/7 of trimethoprim", "6/12 ago", "3/7 hx", "2/12 history"
        pattern=(
            rf"{_DURATION}[ ]{{1,2}}(?i:of\b(?![ ](?:this|last|next|the|19|20))|hx\b|h/o|history|ago\b|"
            rf"duration|previously|beforehand|prior|pre-admission|post[ -]?op|off\b|on\b(?=[ ](?:and|then|/)))"
        ),
        at_numbers=True,
        after="/-–",
        excludes=_NOT_OF_INFANTS,
        sure=True,
    ),
    ClinicalRow(
        name="duration-series",
        kind="relative time",
        # "scan at 3/12, then 6/12, then yearly"
        pattern=(
            r"(?:[1-9]|1[0-2])/12(?:,?[ ](?:and[ ])?then[ ](?:at[ ])?(?:(?:[1-9]|1[0-2]|18|24)/12|yearly|"
            r"annual\w{0,2}|6-monthly)){1,4}(?![\d/])"
        ),
        at_numbers=True,
        after="/",
        excludes=_NOT_OF_INFANTS,
    ),
    ClinicalRow(
        name="duration-beside-weeks",
        kind="relative time",
        # "review 2/52, bloods 6/12", "2nd dose in 8/52 to 6/12": who counts weeks like this, counts months, too
        pattern=(
            r"\d{1,2}/52(?:[^\d\n]{1,40}(?:[1-9]|1[0-2])/12){0,2}[^\d\n]{1,40}(?P<value>(?:[1-9]|1[0-2])/12)(?![\d/-])"
        ),
        at_numbers=True,
        excludes=_NOT_OF_INFANTS,
    ),
    ClinicalRow(
        name="duration-after",
        kind="relative time",
        # "RTC 3/12", "review in 6/12", "for 5/7", "x 3/12"
        pattern=(
            r"(?i:rtc|tca|review in|rv in|see in|seen in|back in|again in|repeat in|rpt in|recheck in|f/u "
            r"in|clinic in|opd in|in|for|over|past|"
            r"x|every|within)[ ]{1,2}(?:(?:in|the|approx|about|a further|another|a total of)[ ]){0,2}"
            rf"(?P<value>{_DURATION})(?!-|[ ](?:at\b|@|\d))"
        ),
        words=frozenset(
            "rtc tca review rv see seen back again repeat rpt recheck f clinic opd in for over past x "
            "every within".split()
        ),
        excludes=_NOT_OF_INFANTS,
        check=lambda match: match[0][:3].lower() not in ("rtc", "tca") or match["value"].endswith(("12", "52")),
    ),
    ClinicalRow(
        name="times",
        kind="count",
        # "vomited x2", "called son x 3, no answer"; behind a figure it may be the extension of a telephone
        pattern=r"(?i:x)[ ]?(?P<value>[1-9])(?![\w/:+-]|[.,]\d|[ ]\d)",
        words=frozenset({"x"}),
        sure=True,
        check=lambda match: not match.string[max(0, match.start() - 4) : match.start()].rstrip()[-1:].isdigit(),
    ),
    ClinicalRow(
        name="ordinal-day-of-stay",
        kind="relative time",
        # "the 5th postoperative day", "the 2nd and 3rd hospital days"
        pattern=(
            rf"(?i:the)[ ]{ORDINALS}[ ](?i:"
            r"post[ -]?(?:op|operative|partum|natal|transplant|procedural?|injury|infusion|treatment)\b|"
            r"(?:hospital|icu|inpatient|admission)[ ](?:day|night|week)s?\b|(?:gestational|menstrual)[ ])"
        ),
        words=frozenset({"the"}),
        sure=True,
    ),
    ClinicalRow(
        name="day-of-stay",
        kind="relative time",
        pattern=(
            r"(?i:pod|hd|ppd|dol|icu day|hospital day|post[ -]?op day|postoperative day|postop day|day of "
            r"life|vent day|cycle|"
            r"d|day|wk|week|visit|dose|no\.?)(?:[ ]{0,2}#|[ ]?:)?[ ]{0,2}(?P<value>\d{1,3}(?:[ ]?[-–+][ "
            r"]?\d{1,3})?)(?![\d/:.]\d|[\w/])"
        ),
        words=frozenset("pod hd ppd dol icu hospital post postop postoperative day vent cycle".split()),
    ),
    ClinicalRow(
        name="gestation",
        kind="gestation",
        pattern=(
            r"(?:(?:2|3)\d|4\d|5[0-5]|1\d|\d)[ ]?(?:\+[ ]?[0-6](?:/7)?|[ ]?w(?:ks?|eeks?)?[ ,]{0,2}[0-6](?:/7|[ "
            r"]?d(?:ays?)?)?|"
            r"[ ][0-6]/7|-?[ ]?(?:wk?s?|weeks?))(?!\w)(?:[ ,]{1,2}(?:GA\b|EGA\b|gestation\w{0,2}|G\d|IUP|"
            r"pregnan\w{1,5}|preterm|"
            r"PMA\b|CGA\b|PCA\b|corrected\b|fetus|foetus|fetal|foetal|fundal|size\b|viable|IVF\b|scan\b|twins?|by "
            r"(?:US|LMP|dates)|singleton|gravid))"
        ),
        at_numbers=True,
        after="+ -x",
    ),
    ClinicalRow(
        name="gestation-plus",
        kind="gestation",
        pattern=(
            r"(?<![#\w/.])(?:(?:[1-3]\d|4[0-3]|[4-9])\+[ ]?[0-6](?:/7)?|(?:2\d|3\d|4[0-3])[ ][0-6]/7|"
            r"(?:[1-3]\d|4[0-3]|[4-9])(?:[ ]?w(?:k|ks|eeks)?[ ]?[0-6](?:/7|[ ]?d(?:ays?)?)?))(?![\w/])"
        ),
        at_numbers=True,
        after="+ x",
    ),
    ClinicalRow(
        name="gestation-over",
        kind="relative time",
        # "suspected at 27+": some days over 27 weeks
        pattern=(r"(?i:at|from|till|until|by|now|@)[ ](?P<value>(?:2\d|3\d|4[0-2])\+)(?=[\s,;.)]|$)(?![ ]?y)"),
        words=frozenset("at from till until by now".split()),
    ),
    ClinicalRow(
        name="gestation-label",
        kind="gestation",
        pattern=(
            r"(?i:EGA|GA|gestation(?:al age)?|CGA|PMA|PCA|born at|delivered at|preterm at|pregnant|IUP(?: "
            r"at)?|gestation of|"
            r"corrected(?: age)?|dates)(?:[ ]?[:=@,]|[ ](?:of|at|is|was|now|about|approx|today)){0,2}[ "
            r"]?(?P<value>\d{1,2}(?:[ ]?\+[ ]?[0-6]|[ ][0-6]/7|"
            r"[ .-]?(?:w|wk|wks|week|weeks)(?:[ ,]{0,2}\d(?:/7|[ ]?d(?:ays?)?)?)?)(?:/7)?)(?!\d)(?![ ]{0,2}old)"
        ),
        words=frozenset(
            "ega ga gestation gestational cga pma pca born delivered preterm pregnant iup corrected dates".split()
        ),
    ),
    ClinicalRow(
        name="gestation-at",
        kind="relative time",
        # "delivered at 37 and 4", "SVD at 39": weeks, unless a word of age follows
        pattern=(
            r"(?i:delivered|delivery|induced|induction|IOL|SVD|NVD|NSVD|FTND|PP?ROM|SROM|PTB|PTD|PTL|preterm|IUD|"
            r"IUFD|miscarriage|misc|loss|losses|"
            r"booked|scan|cerclage|steroids|sweep|version|ECV|VBAC|TOLAC)[ ](?:at|@)[ ]"
            r"(?P<value>(?:1\d|2\d|3\d|4[0-3])(?:[ ](?:and|&)[ ](?:[0-6]|[1-3]\d|4[0-2])|[.][0-6])?)(?![\d/:]|"
            r"[.]\d|[ ]?(?:y|h|am|pm|min|%)|[- ]old)"
        ),
        words=frozenset(
            "delivered delivery induced induction iol svd nvd nsvd ftnd ptb ptd ptl preterm iud iufd miscarriage "
            "misc loss losses pprom prom srom booked "
            "scan cerclage steroids sweep version ecv vbac tolac".split()
        ),
    ),
    ClinicalRow(
        name="age-of-bone",
        kind="gestation",
        # "bone age 9 y 6 m", "age equiv 15 mo", "functions at a 4-year level": nobody's age
        pattern=(
            r"(?i:bone|mental|developmental|reading|spelling|skeletal|dental|height|language|motor|cognitive|"
            r"vascular|lung|heart|"
            r"metabolic|biological)[ -]age(?:[ ]?[:=~]|[ ](?:is|was|of|equiv\w{0,6}|approx|about|eq)){0,2}[ ]?"
            r"(?P<value>\d{1,2}(?:[.]\d{1,2})?(?:[ ]?(?:y|yrs?|years?|m|mo|mos|months?|/12)\b)?"
            r"(?:[ ,]{0,2}\d{1,2}[ ]?(?:m|mo|mos|months?|/12)\b)?)"
        ),
        words=frozenset(
            "bone mental developmental reading spelling skeletal dental height language motor cognitive vascular "
            "lung heart "
            "metabolic biological".split()
        ),
    ),
    ClinicalRow(
        name="age-equivalent",
        kind="gestation",
        pattern=(
            r"(?i:age)[ -](?i:equiv\w{0,6}|eq\b)\.?(?:[ ]?[:=~]|[ ](?:is|was|of|about)){0,2}[ ]?"
            r"(?P<value>\d{1,2}(?:[.:;-]\d{1,2})?(?:[ ]?(?:y|yrs?|years?|m|mo|mos|months?|/12)\b)?)"
        ),
        words=frozenset({"age"}),
    ),
    ClinicalRow(
        name="range-of-time",
        kind="relative time",
        # "6-8 mths", "4/8 wks"
        pattern=(
            r"\d{1,2}[ ]?[-\u2013/][ ]?\d{1,2}[ -]?(?:mths?|mnths?|mos|wks|wkly|yrs|weekly|monthly|hrly|hourly|hrs|"
            r"mins)\b"
        ),
        at_numbers=True,
        sure=True,
        after=" -/\u2013",
    ),
    ClinicalRow(
        name="clock-hour",
        kind="relative time",
        # "woke at 2, again at 4"
        pattern=(
            r"(?i:woke|wakes|waking|awake|asleep|up|again|fed|feeds|voided|vomited|slept|sleeps|bed|meds|dose|snack|nap|"
            r"naps|nebs?|"
            r"breakfast|lunch|dinner|supper|tea|rounds|shift)[ ](?:at|by|@|from|until|till)[ ](?P<value>\d{1,"
            r"2})(?![\d/:.-])"
        ),
        words=frozenset(
            "woke wakes waking awake asleep up again fed feeds voided vomited slept sleeps bed meds dose "
            "snack nap naps "
            "neb nebs "
            "breakfast lunch dinner supper tea rounds shift".split()
        ),
        excludes=frozenset({"AGE"}),
    ),
    ClinicalRow(
        name="mixed-number",
        kind="relative time",
        # "6 1/2 months", "2 3/4 tabs"
        pattern=(
            r"\d{1,2}[ -](?P<value>1/2|1/4|3/4|1/3|2/3)(?=[ -]?(?:months?|mo\b|mos\b|yrs?\b|years?|tabs?\b|"
            r"tablets?|weeks?|wks?\b|hours?|hrs?\b|packs?|ppd\b|cm\b|inch\w{0,2}|in\b|lbs?\b|days?\b|cups?|pints?|,"
            r"[ ][a-z]))"
        ),
        at_numbers=True,
        after=" -",
    ),
    ClinicalRow(
        name="gravida",
        kind="gestation",
        pattern=(
            r"[Gg]\d{1,2}[ ]?[Pp][ ]?\d{1,4}(?:-\d-\d-\d|\+\d)?(?:[ ]?[AaLl]\d){0,2}(?:[, ]{1,2}(?:at[ "
            r"])?\d{1,2}(?=[ ]?(?:\+|w|[0-6]/7)))?"
        ),
        words=frozenset({"g"}),
    ),
)


def is_half_of_day(text: str, span: Span) -> bool:
    """Return whether ``span`` is the A.M. of ``tomorrow A.M.``, not the initials of ``signed by A.M.``"""
    return (
        _HALF_OF_DAY.fullmatch(text, span.start, span.end) is not None
        and _BEFORE_HALF.search(text, max(0, span.start - 16), span.start) is not None
    )


def is_relative(value: str) -> bool:
    """Return whether ``value`` is a time without a calendar: ``last winter``, ``the week before``."""
    words = _WORD.findall(value)
    return bool(words) and not any(map(str.isdigit, value)) and all(word.lower() in _RELATIVE for word in words)

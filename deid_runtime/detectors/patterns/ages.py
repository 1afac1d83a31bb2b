"""Ages of persons: the number only. Gestational ages, hours and days of life, durations and thresholds are not ages."""

import re
from typing import Final

from deid_runtime.detectors.patterns.context import context_of
from deid_runtime.detectors.patterns.rows import Row
from deid_runtime.detectors.patterns.words import either
from deid_runtime.lexicon.calendar_words import MONTH_NAMES, SHORT_MONTHS, WEEKDAY_NAMES, weekday_words
from deid_runtime.lexicon.numbers import ONES, TEENS, TENS
from deid_runtime.lexicon.vocabulary import kin

_NUMBER: Final = r"(?:1[01]\d|120|\d{1,2})"
_HALF: Final = r"(?:[ ]?½|\.5|[ ]1/2|[ ]and[ ]a[ ]half)?"
_SPELLED: Final = (
    rf"(?:(?:(?:one|a)[ -])?hundred(?:[ -](?:and[ -])?(?:{'|'.join(ONES + TEENS)}))?|"
    rf"(?:{'|'.join(TENS)})(?:[ -]?(?:{'|'.join(ONES)}))?|{'|'.join(TEENS)}|{'|'.join(ONES)})(?![^\W\d_])"
)
_EITHER: Final = rf"(?:{_NUMBER}{_HALF}|{_SPELLED})"
_SPELLED_WORDS: Final = frozenset([*ONES, *TEENS, *TENS, "hundred", "a"])
_YEARS_OLD: Final = (
    r"(?:years?[ -]?olds?|yrs?[ .-]{0,2}olds?|y\.?[ ]?/?[ ]?o\.?(?![a-z])|years?[ ]of[ ]age|yrs?[ ]of[ ]age)"
)
_MONTHS_OLD: Final = r"(?:months?|mos?|weeks?|wks?|mths?)[ \t\-]{1,2}olds?\b"
#: After a number that shall be an age: no longer number, no unit, no clock, no quantity.
_NOT_QUANTITY: Final = (
    r"(?!\w|[./:,%\-–]\d|[ ]?(?:%|°|am\b|pm\b|a\.m|p\.m|o['’]clock|mg|mcg|units?|ml|mm|cm|kg|lbs?|pounds|weeks?|wks?|"
    r"months?|mos?|"
    r"days?|d\b|hours?|hrs?|h\b|min|minutes?|times|x\b|bpm|st\b|street|degrees|deg\b|hz|in\b(?![ ](?:a|an|the|his|"
    rf"her|19|20|{'|'.join(SHORT_MONTHS)}))|"
    r"miles|ft|feet|steps|cigs?|packs?|ppd|doses?|tabs?|visits?|sessions?|beats|w\b|wk\b|yrs?\b|years?\b|y\b|/|"
    r"to[ ]\d))"
)
_KIN_WORDS: Final = frozenset(kin("age"))
_KIN: Final = either(_KIN_WORDS)
_NAME: Final = r"(?:[ ][A-Z][\w'’.\-]{1,20})"


def _is_no_threshold(match: re.Match[str]) -> bool:
    """``age > 65`` and ``over 50 years old`` are thresholds."""
    start = match.start("value")
    before = match.string[max(0, start - 12) : start]
    return re.search(r"[<>≤≥][=]?[ ]?$|(?i:\b(?:over|under|above|below|than|least)[ ]$)", before) is None


def _is_human(value: str) -> bool:
    return not value.isdigit() or (value[0] != "0" and 1 <= int(value) <= 115)


def _is_labelled(match: re.Match[str]) -> bool:
    return _is_human(match["value"]) and context_of(match).two not in (
        "bone age",
        "gestational age",
        "mental age",
        "by age",
        "to age",
        "at age",
    )


# --- number and sex ------------------------------------------------------------------------------------------------

#: Words around ``6F`` or ``36 F`` when it is a French size or a temperature.
_SIZE_WORDS: Final = frozenset(
    "cfa radial rfv fem femoral access basilic cath catheter foley chest tube l r rad artery vein sheath drain "
    "drains retrograde v brachial "
    "cephalic jugular ij picc size below exceeds exceed under above temp temperature t type grade class count gate "
    "ward session semi-pvt calle "
    "receiver concourse".split()
)
_SIZE_AFTER: Final = re.compile(
    r"[ ]?(?i:sheath|glidesheath|bougie|chest|tube|catheter|cath|pigtail|introducer|guide|foley|sutures?|silk|drain|"
    r"w/o glove|CT\b)|[ ]\d"
)


def _is_sexed(match: re.Match[str]) -> bool:
    """``67M`` is an age if nothing around makes it a size, a code or a temperature."""
    value = match["value"]
    context = context_of(match)
    if (
        not _is_human(value)
        or context.last in _SIZE_WORDS
        or (context.ends_in("#.<>=+") and context.before[-1] == context.mark)
    ):
        return False
    if re.fullmatch(r"x\d?", context.last):
        return False
    if (
        len(value) == 1
        and context.last not in ("pt", "hpi", "cc", "id")
        and not context.is_at_line_start
        and match["sex"] in "MF"
        and match["gap"]
    ):
        return False
    return _SIZE_AFTER.match(context.after[len(match[0]) - len(value) :]) is None


# --- in sentences --------------------------------------------------------------------------------------------------

_NOT_NAMES: Final = frozenset(
    "table figure fig grade stage type score day week visit total group level phase case item page pain bed room "
    "line dose cycle step class "
    "suite unit room apt "
    "floor gcs moca phq gad mmse bmi ef "
    "age ages section chapter step hr bp rr temp fev1 inr hgb wbc route hwy st street ave rd road box lot ward vol "
    "pp no ulnar median".split()
) | {*MONTH_NAMES, *SHORT_MONTHS, "sept", *WEEKDAY_NAMES, *weekday_words("short")}


def _is_after_name(match: re.Match[str]) -> bool:
    return _is_human(match["value"]) and match["name"].lower() not in _NOT_NAMES and not match["name"].isupper()


def _is_life_event(match: re.Match[str]) -> bool:
    """``at 58`` beside a relative, a person or a milestone; not ``positive at 40`` or ``snack at 10``."""
    value = match["value"]
    if not _is_human(value) or (value.isdigit() and int(value) < 4):
        return False
    start = match.start("value")
    clause = match.string[max(0, start - 60) : start].rpartition("\n")[2]
    words = {word.strip(".,;:()").lower() for word in clause.split()[-9:]}
    return not words.isdisjoint(_LIFE_WORDS) and words.isdisjoint(_MEASURE_WORDS)


_LIFE_WORDS: Final = _KIN_WORDS | frozenset(
    "died dies death d passed diagnosed dx dx'd onset menarche menopause married widowed divorced quit "
    "stroke mi cancer ca deceased "
    "alive living dead retired conscripted came moved left worked jailed suicide hanged cabg colon breast "
    "ovarian prostate lynch lived "
    "pregnancy birth appy appendectomy tonsillectomy overdose drank smoking smoked drinking using he she fell mono "
    "chd dm htn".split()
)
_MEASURE_WORDS: Final = frozenset(
    "rate rhythm regular hr ecg ekg sinus vent paced lasegue hz peak peaked titrated positive rings phoned phones "
    "intake screening visit bed snack appt clinic arrives "
    "lands seen fever flexion am pm bp".split()
)


def _is_turning(match: re.Match[str]) -> bool:
    return _is_human(match["value"]) and match["value"].lower() not in ("one", "two", "three")


def _is_predicate(match: re.Match[str]) -> bool:
    """``he is 63.``, ``Billie is 92, here since``: a subject that is a person, a number that ends the clause."""
    return _is_human(match["value"]) and (not match["value"].isdigit() or int(match["value"]) >= 3)


_FIRST_AFTER: Final = " -x.½"

ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="age-years-old",
        label="AGE",
        pattern=re.compile(rf"(?<![\w/.,\-–<>≥≤])(?P<value>{_NUMBER}{_HALF})[ \t\-]{{0,2}}{_YEARS_OLD}", re.IGNORECASE),
        digits=frozenset({1, 2, 3}),
        after=_FIRST_AFTER,
        then="yYa1",
        check=_is_no_threshold,
    ),
    Row(
        name="age-years-old-glued",
        label="AGE",
        pattern=re.compile(rf"(?<=[a-z])(?P<value>{_NUMBER})[ \-]?{_YEARS_OLD}", re.IGNORECASE),
        digits=frozenset({2, 3}),
        after=" -x",
        then="yY",
        before="abcdefghijklmnopqrstuvwxyz",
    ),
    Row(
        name="age-years-sex",
        label="AGE",
        pattern=re.compile(
            rf"(?<![\w/.,\-–<>≥≤])(?P<value>{_NUMBER})[ \t\-]{{0,2}}(?i:years?|yrs?\.?|y\.?)[ ,/]{{0,4}}(?:(?i:male|"
            r"female|man|woman|boy|girl|[rl]hd?|[rl]hd?[mf])|M|F)\b"
        ),
        digits=frozenset({1, 2, 3}),
        after=" -x",
        then="yY",
        check=_is_no_threshold,
    ),
    Row(
        name="age-years-months",
        label="AGE",
        pattern=re.compile(
            rf"(?<![\w/.,\-–<>≥≤])(?P<value>{_NUMBER})(?:[ ]?y(?:rs?|ears?)?|-year)[ \-,]{{1,2}}"
            r"(?P<value2>\d{1,2})[ \-]?(?:mos?|months?)(?![^\W\d_])",
            re.IGNORECASE,
        ),
        digits=frozenset({1, 2}),
        after=" -x",
        then="yY",
    ),
    Row(
        name="age-spelled-years-old",
        label="AGE",
        pattern=re.compile(
            rf"(?<![\w\-])(?P<value>{_SPELLED}(?:[ ]and[ ]a[ ]half)?)[ \t\-]{{1,2}}{_YEARS_OLD}", re.IGNORECASE
        ),
        words=_SPELLED_WORDS,
        check=_is_no_threshold,
    ),
    Row(
        name="age-months-old",
        label="AGE",
        pattern=re.compile(rf"(?<![\w/.,\-–<>≥≤])(?P<value>\d{{1,2}}{_HALF})[ \t\-]?{_MONTHS_OLD}", re.IGNORECASE),
        digits=frozenset({1, 2}),
        after=_FIRST_AFTER,
        then="mwMW",
        check=_is_no_threshold,
    ),
    Row(
        name="age-label",
        label="AGE",
        pattern=re.compile(
            r"(?i:ages?|age/sex|sex/age|edad|âge)[ \t]?(?:/[ \t]?sex)?[ \t]{0,2}[:=]?[ \t]{0,16}(?:of[ ]|"
            rf"about[ ]|approx\.?[ ])?(?P<value>(?i:{_EITHER}))"
            r"(?!\d|[.:]\d|[ ]?%|[ ]?[/\-–][ ]?\d|[ ]?(?i:[ ]?(?:weeks?|wks?|days?|hours?|hrs?|d)\b|in \d|JAN|FEB|"
            r"MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC))"
        ),
        words=frozenset({"age", "ages", "edad", "âge"}),
        check=_is_labelled,
        labelled=True,
    ),
    Row(
        name="age-dob-age-sex",
        label="AGE",
        pattern=re.compile(
            r"(?i:age[ ]?/[ ]?sex|dob[ ]?/[ ]?age(?:[ ]?/[ ]?sex)?)[ \t]{0,2}:?[ \t]{0,12}(?:[\w/\-]{6,11}|"
            r"\d{1,2} [A-Z]{3} \d{4})?[ \t/]{0,4}(?P<value>\d{1,3})(?=[ ]?[/ ][ ]?[MFmf]\b|[MFyY]|[ ]?$)"
        ),
        words=frozenset({"age", "dob"}),
        labelled=True,
    ),
    Row(
        name="age-aged",
        label="AGE",
        pattern=re.compile(
            rf"aged[ ](?P<value>{_EITHER})(?:(?:[ ]and[ ]|[ ]?,[ ]?|[ ]?&[ ]?)(?P<value2>{_EITHER}))?(?!\w|[./%]\d|"
            r"[ ]?(?:to|-)[ ]?\d)",
            re.IGNORECASE,
        ),
        words=frozenset({"aged"}),
        check=lambda match: _is_human(match["value"]),
    ),
    Row(
        name="age-decade",
        label="AGE",
        pattern=re.compile(
            r"(?:his|her|their|my|your)[ ](?:(?:early|mid|late)[ -](?:to[ -](?:mid|late)[ -])?)?"
            r"(?P<value>[2-9]0['’]?s|twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties|teens)\b",
            re.IGNORECASE,
        ),
        words=frozenset("his her their my your".split()),
    ),
    Row(
        name="age-sex",
        label="AGE",
        pattern=re.compile(
            r"(?<![\d/.,\-–])(?<![A-Za-z])(?P<value>\d{1,3})(?P<gap>[ ]?)(?P<sex>M|F|YO[MF]|yo[MF]|YM|YF|yM|yF|RHM|"
            r"RHF|LHM|LHF)(?![\w°/]|-\d)"
        ),
        digits=frozenset({1, 2, 3}),
        after=" x",
        then="MFYyRL",
        check=_is_sexed,
        weak=True,
    ),
    Row(
        name="age-sex-column",
        label="AGE",
        pattern=re.compile(
            r"(?<![\d/.,\-–#])(?<![A-Za-z])(?P<value>\d{1,3})(?:[ ]{0,2}[/|,][ ]{0,2}|[ ]{2,5})(?:M|F|Male|Female|"
            r"MALE|FEMALE)(?![\w°/\-]|[ ]\d)"
        ),
        digits=frozenset({1, 2, 3}),
        after=" /|,",
        check=lambda match: _is_human(match["value"]),
        weak=True,
    ),
    Row(
        name="age-sex-word",
        label="AGE",
        pattern=re.compile(
            r"(?<![\d/.,\-–#])(?<![A-Za-z])(?P<value>\d{2,3})[ \-](?:male|female|man|woman|gentleman|lady|MALE|"
            r"FEMALE)\b"
        ),
        digits=frozenset({2, 3}),
        after=" -",
        then="mfwglMF",
        check=lambda match: _is_human(match["value"]),
    ),
    Row(
        name="age-kin",
        label="AGE",
        # "wife Nora (88)", "son Miles, 5,", "sister Verlie Guillory (71, Lake Charles)", "daughters (8 and 5)"
        pattern=re.compile(
            rf"(?i:{_KIN})\b(?:{_NAME}{{0,3}}|[ ][A-Z][\w'’.\-]{{1,20}}[ ]&{_NAME}{{1,2}})[ ]?(?:\(|,[ ])(?:age[ ]|"
            rf"aged[ ])?(?P<value>{_NUMBER})"
            rf"(?:(?:,[ ]|[ ]and[ ]|[ ]&[ ]|/)(?P<value2>{_NUMBER})(?=[)]))?(?=[),;.](?!\d)|[ ](?:mo|wk|y)\b|[ ]at[ ])"
        ),
        words=_KIN_WORDS - {"great-aunt"} | {"law"},
        check=lambda match: _is_human(match["value"]),
    ),
    Row(
        name="age-kids",
        label="AGE",
        pattern=re.compile(
            r"(?i:kids|children|sons|daughters|boys|girls|grandkids|grandchildren|siblings|twins|brothers|"
            rf"sisters)[ ,(]{{1,2}}(?:age[sd]?[ ])?(?P<value>{_NUMBER})(?:,[ ](?P<value2>{_NUMBER}))?(?:,[ ]"
            rf"(?P<value3>{_NUMBER}))?"
            rf"(?:[ ](?:and|&)[ ]|,[ ]and[ ]|,[ ])(?P<value4>{_NUMBER}){_NOT_QUANTITY}"
        ),
        words=frozenset(
            "kids children sons daughters boys girls grandkids grandchildren siblings twins brothers sisters".split()
        ),
    ),
    Row(
        name="age-name-bracket",
        label="AGE",
        pattern=re.compile(
            r"(?<![\w(])(?P<name>[A-Z][a-zé'’\-]{1,15})[ ]\((?P<value>\d{1,3})(?=\)|,[ ][a-zA-Z]|[ ](?:mo|wk|y|yo)\))"
        ),
        chars="(",
        lookback=17,
        probe=re.compile(r"\(\d{1,3}[,) ]"),
        check=_is_after_name,
        weak=True,
    ),
    Row(
        name="age-name-comma",
        label="AGE",
        pattern=re.compile(
            r"(?<![\w,])(?:[A-Z][a-zé'’.\-]{1,15}[ ])(?P<name>[A-Z][a-zé'’\-]{1,18})"
            r"(?:[ ]\"[A-Z][a-z]{1,12}\"|[ ]Jr\.?|[ ]Sr\.?)?"
            rf",[ ](?:age[ ])?(?P<value>{_NUMBER})(?=,(?!\d)|;|\.(?:\s|$)|[ ](?:who|was|is|has|had|with|w/|here|seen|"
            r"from|retired|presents|"
            r"presented|admitted|and)\b|$|\n)"
        ),
        chars=",",
        probe=re.compile(r",[ ](?:age[ ])?\d{1,3}(?!\d)"),
        lookback=40,
        check=_is_after_name,
        weak=True,
    ),
    Row(
        name="age-life-event",
        label="AGE",
        pattern=re.compile(
            rf"\bat[ ](?:age[ ]|about[ ])?(?P<value>{_NUMBER}|{_SPELLED}){_NOT_QUANTITY}", re.IGNORECASE
        ),
        words=frozenset({"at"}),
        check=_is_life_event,
    ),
    Row(
        name="age-family-history",
        label="AGE",
        # "d. 58", "dx 52", "died 54", "menopause 51", "since 15" are read where a line of family history is likely.
        pattern=re.compile(
            r"(?:\b(?:d\.|died|dx|dx'd|deceased|menopause|menarche|alive|a&w|living|well|onset)[ ,]{1,2}(?:~|"
            rf"c\.?[ ]?|age[ ])?(?P<value>{_NUMBER}))(?=[,;.)](?!\d)|[ ](?:of|from|with|w/|in|MVA|MI|CA|CVA)\b|"
            r"[ ]?[(\n]|$)",
            re.IGNORECASE,
        ),
        words=frozenset("d died dx deceased menopause menarche alive living well onset".split()),
        check=lambda match: _is_human(match["value"]) and int(match["value"]) >= 8,
        weak=True,
    ),
    Row(
        name="age-turning",
        label="AGE",
        pattern=re.compile(
            r"(?:turned|turns|turning|will[ ]turn|(?:will|['’]ll)[ ]be|she['’]s|he['’]s)[ ](?:now[ ])?"
            rf"(?P<value>{_NUMBER}|{_SPELLED}){_NOT_QUANTITY}",
            re.IGNORECASE,
        ),
        words=frozenset("turned turns turning will she he ll".split()),
        check=_is_turning,
    ),
    Row(
        name="age-predicate",
        label="AGE",
        pattern=re.compile(
            r"(?:\b(?:he|she|who|(?:mr|mrs|ms|dr|sr|miss)\.?[ ][a-z'’\-]{2,20}|patient|pt|veteran|wife|husband|"
            r"mother|father|son|daughter|sister|brother|i)[ ](?:is|was|am)|\bI['’]m)[ ](?:now[ ]|nearly[ ]|almost[ ]|"
            r"about[ ])?"
            rf"(?P<value>{_NUMBER}|{_SPELLED})(?=[,;.](?!\d)|[ ](?:and|but|with|who|years)\b|[ ]?[(\n]|$)"
            r"(?![ ]years?[ ](?!old))",
            re.IGNORECASE,
        ),
        words=frozenset(
            "he she who mr mrs ms dr sr miss patient pt veteran wife husband mother father son daughter sister "
            "brother i".split()
        ),
        check=_is_predicate,
    ),
)

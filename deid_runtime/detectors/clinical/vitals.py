"""Vital signs, saturations, fluids and body measures: their names and the numbers after them."""

import re
from typing import Final

from deid_runtime.detectors.clinical.forms import (
    FILL,
    JOIN,
    NOT_AGE,
    NUMBER,
    SMALL,
    anchors,
    any_of,
    by_lower_case,
    chain,
)
from deid_runtime.detectors.clinical.rows import ClinicalRow
from deid_runtime.lexicon.tables import listed_words, words_for

_SIGNS: Final = words_for("measures", "sign", "name", "uses")
_SATURATIONS: Final = words_for("measures", "saturation", "name", "uses")
_OXYGEN: Final = (
    r"(?:[ ]?%?[ ]?(?:\(?[ ]?(?:on|w/|with|@|at)[ ])?(?:RA\b|room air|\d{1,2}(?:\.\d)?[ ]?(?:L|l|lpm|"
    r"LPM|liters?|litres?)?(?![\w/])"
    r"(?:[ ]?(?:NC|nc|O2|/min|per))?)?)?"
)
_SATURATION_VALUE: Final = rf"(?:(?:100|[3-9]\d)(?:\.\d)?s?(?![\d/]|\.\d){_OXYGEN})"
#: Numbers of this size after a comma are further saturations, unless words of age follow them.
_SATURATION_JOIN: Final = (
    rf"(?:{JOIN}|[ ]?[,;/][ ]?|[ ]?,?[ ](?:(?i:bumped|weaned|titrated|up|down)[ ]to[ ]\d{{1,2}}L?[ "
    rf"])?(?i:and|but|then|still|only|now|holding|holds)"
    r"(?:[ ](?i:still|only|now|then|back|up|to|at)){0,3}[ ])"
)

ROWS: Final = (
    ClinicalRow(
        name="saturation",
        kind="vital sign",
        pattern=rf"{any_of(_SATURATIONS)}(?![^\W\d_]){FILL}{chain(_SATURATION_VALUE, 5, _SATURATION_JOIN)}",
        words=anchors(_SATURATIONS),
    ),
    ClinicalRow(
        name="saturation-on",
        kind="vital sign",
        # "96 RA", "92 on room air", "94 on 2 L", "88-92% on 4L"
        pattern=(
            r"(?:(?:100|[5-9]\d)[ ]?[-–][ ]?)?(?:100|[5-9]\d)[ ]?%?[ ]?(?:(?:on|w/|with|@)[ "
            r"])?(?:RA(?![\w/])|(?i:room air)|"
            r"(?<=on )\d{1,2}(?:\.\d)?[ ]?(?:L|lpm|LPM|l|liters?|litres?)(?![\w])|(?<=on )(?i:bipap|cpap|hfnc|nrb|vent|"
            r"trach collar|o2|oxygen|nasal cannula|nc)(?![\w]))"
        ),
        at_numbers=True,
        after=" %-–x",
    ),
    ClinicalRow(
        name="course-to",
        kind="vital sign",
        # "dropped to 76", "recovered to 94", "weaned from 6 to 4": an age never does this
        pattern=(
            r"(?i:drop(?:s|ped|ping)?|dip(?:s|ped|ping)?|fell|falls|rose|rises|bump(?:ed|s)?|increased?|"
            r"decreased?|improved|recover(?:s|ed)|"
            r"titrated|weaned|climb(?:s|ed)|peaked|desat\w{0,8}|spiked|uptitrated|downtitrated|rebounded|nadired)"
            r"(?:[ ](?:back|down|up|only|further|again|slowly|quickly|briefly|transiently))?(?:[ ]from[ "
            r"]\d{1,3}(?:\.\d)?%?)?[ ]to[ ]"
            rf"(?:as low as[ ]|about[ ]|the[ ])?(?P<value>\d{{1,3}}(?:\.\d)?(?![\d/])){NOT_AGE}"
        ),
        words=frozenset(
            "drop drops dropped dropping dip dips dipped dipping fell falls rose rises bumped bump bumps "
            "increase increased decrease "
            "decreased improved recovers recovered titrated weaned climbs climbed peaked desat desats "
            "desatted desaturated desaturates "
            "desaturating spiked uptitrated downtitrated rebounded nadired".split()
        ),
        excludes=frozenset({"AGE"}),
    ),
    ClinicalRow(
        name="vital-sign",
        kind="vital sign",
        pattern=rf"{any_of(_SIGNS)}(?![^\W\d_]|['’]){FILL}{chain(SMALL, 5)}",
        words=anchors(_SIGNS),
        check=lambda match: _is_sign(match),
    ),
    ClinicalRow(
        name="temperature",
        kind="vital sign",
        pattern=r"(?:T|Tm|Tc|TM)[ :=]{1,2}(?:(?:9[4-9]|10[0-6])(?:\.\d)?|3[4-9]\.\d|4[01]\.\d)(?![\d/])",
        words=frozenset({"t", "tm", "tc"}),
        check=lambda match: "." in match[0] or match[0][1:2] in ("m", "c", "M", ":"),
    ),
    ClinicalRow(
        name="vital-signs-in-a-row",
        kind="vital sign",
        # "BP 132/78 P 94 R 18 T 98.6 Wt 80": single letters count only beside other vital signs.
        pattern=(
            r"(?i:BP|B/P)[ :]{1,2}\d{2,3}/\d{2,3}(?:[,;|]?[ ]{1,3}(?:P|R|T|HR|RR|Sat|SpO2|SaO2|O2|Sats|Wt|"
            r"Ht|BMI|Pulse|Resp|Temp|MAP)"
            r"[ :=]{1,2}\d{1,3}(?:\.\d{1,2})?%?(?![\d/])){1,8}"
        ),
        words=frozenset({"bp", "b"}),
    ),
    ClinicalRow(
        name="fluid-balance",
        kind="vital sign",
        pattern=(
            r"(?i:I/Os?|I&Os?|in/out|UOP?|urine output|EBL|net|output|intake|PVR|bladder scan|tidal volume|residuals?)"
            rf"(?![^\W\d_]){FILL}{NUMBER}(?:[ ]?/[ ]?\d{{1,5}})?(?:[ ]?(?:ml|mL|cc|L|l))?(?!\w)"
        ),
        words=frozenset("i in uo uop urine ebl net output intake pvr bladder tidal residual residuals".split()),
        check=lambda match: (
            not match[0].lower().startswith("in ") and re.search(r"(?<!\d)(?:19|20)\d\d$", match[0]) is None
        ),
    ),
    ClinicalRow(
        name="blood-pressure",
        kind="vital sign",
        pattern=(
            rf"(?i:BPs?|B/P|blood pressures?|ABP|NIBP|art line|A-line|orthostatics?|pressures?)(?![^\W\d_]){FILL}"
            rf"\d{{2,3}}s?[ ]?/[ ]?(?:\d{{2,3}}s?|P|palp)(?![\d/])(?:(?:{JOIN}|,[ ])\d{{2,3}}s?[ ]?/[ "
            rf"]?\d{{2,3}}s?(?![\d/])){{0,5}}"
        ),
        words=frozenset("bp bps b blood abp nibp art a orthostatic orthostatics pressure pressures".split()),
    ),
    ClinicalRow(
        name="pressure-decade",
        kind="vital sign",
        pattern=(
            r"(?i:sbps?|systolics?|maps?|sats?|hrs?|heart rate|rate|sugars?|glucoses?|bgs?|bs|fsbg|"
            r"pressures?|pulse|rr|ef|"
            r"saturat\w{1,5}|temps?|fs|fingersticks?|readings?|numbers?|diastolics?|o2|spo2|bps?)"
            r"(?:[ ](?:now|are|is|was|were|been|in|the|running|ran|to|low|mid|high|upper|lower|around|about|"
            r"into|down|up|"
            r"back|mostly|still|stable|overnight|at|have|has|remain|remained|staying|steady|generally|usually|"
            r"fasting|ranging|range)|[ ]?[~<>=:-]){0,6}[ ]?(?P<value>\d{1,2}0['’]?s(?:[ ]?(?:[-/–]|to|and)[ "
            r"]?\d{1,2}0['’]?s){0,2})"
        ),
        words=frozenset(
            "sbp sbps systolic systolics map maps sat sats hr hrs heart rate sugar sugars glucose glucoses "
            "bg bgs bs fsbg pressure "
            "pressures pulse rr ef saturating saturation saturations temp temps fs fingerstick "
            "fingersticks reading readings "
            "number numbers diastolic diastolics o spo bp bps".split()
        ),
    ),
)

#: Names that are also words, initials or codes, with the case in which they count as vital signs.
_CASES: Final = by_lower_case(listed_words("clinical_words", "sign-case"))


def _is_sign(match: re.Match[str]) -> bool:
    word = re.match(r"[^\W\d_]+", match[0])
    if word is None or match.string[match.start() - 1 : match.start()] in ("-", "_", "#", "@"):
        return False
    if re.match(r"[A-Za-z]{1,4}-?\d{1,}", match[0]) and word.group().lower() in _CASES:
        return False  # no gap before the number: a code
    cases = _CASES.get(word.group().lower())
    return cases is None or word.group() in cases

"""Years of guidelines, classifications and editions, which are not dates of a patient's events."""

import re
from typing import Final

from deid_runtime.detectors.clinical.forms import anchors, any_of
from deid_runtime.detectors.clinical.rows import FIGURES, NAMES, ClinicalRow
from deid_runtime.lexicon.tables import words_for

_YEAR: Final = r"(?:19[6-9]\d|20[0-4]\d)(?!\d|[/.-]\d)"
#: Bodies that issue guidelines, and names of classifications.
_BODIES: Final = words_for("guidelines", "body", "name", "uses")
_BODY: Final = any_of(_BODIES)
_NOUN: Final = (
    r"(?:(?i:guidelines?|guidances?|criteria|classifications?|consensus|statement|recommendations?|"
    r"standards?|editions?|ed\.?|nomenclature|advice|bundle|terminology|targets|definitions?|"
    r"update|revision|risk calculator|pooled cohort|equations?|staging|protocol|pathway|algorithm|"
    r"position statement|focused update|scheme|schema|schedule|system|report|code|policy|version|"
    r"grading|nomogram|thresholds?|"
    r"formula|reference|norms?|chart)(?![^\W\d_]))"
)
_GUIDE_WORDS: Final = (
    "guideline guidelines guidance criteria classification consensus statement recommendation "
    "recommendations standards edition "
    "ed update revision definition definitions staging protocol equation equations schedule version reference "
    "nomenclature terminology nomogram bundle"
).split()
#: Between a body and its year: a version, an edition, the subject.
_BETWEEN: Final = (
    rf"(?:[ ,(]{{1,2}}(?:\d{{1,2}}(?:st|nd|rd|th)?|v?\.?[ ]?\d(?:\.\d)?|(?:CG|NG|QS|TA|PH|GTG|DG|SG|GL)[ ]?\d{{0,"
    rf"4}}|I{{1,3}}|IV|{_NOUN}|(?i:for|of|the|by|on|"
    rf"ed|in|per|"
    r"adult|staging|grade|system|manual|cancer|score|v|version|heart failure|asthma|hypertension|diabetes|lipid|"
    r"sepsis|revised|modified|updated|standards of care))){0,4}"
)

ROWS: Final = (
    ClinicalRow(
        name="year-body",
        kind="edition",
        sure=True,
        # "2013 ACC/AHA", "the 2021 updated KDIGO guideline"
        pattern=(
            rf"(?P<value>(?:19[6-9]\d|20[0-4]\d)(?:[/-](?:\d\d|20\d\d))?)[ ](?:(?i:updated|revised|modified|joint|"
            rf"international|american|european|intl|"
            rf"british|new|current|focused|consensus|annual)[ ]){{0,2}}(?:{_BODY}(?![\w])|{_NOUN})"
        ),
        at_numbers=True,
        after=" /-",
        is_whole=True,
        check=lambda match: _is_no_event(match),
    ),
    ClinicalRow(
        name="year-noun-behind",
        kind="edition",
        sure=True,
        # "2019 sepsis bundle guideline": the noun within a few words
        pattern=(
            r"(?P<value>(?:19[6-9]\d|20[0-4]\d))(?:[ ][A-Za-z][\w/&-]{1,18}){1,3}?[ ](?i:guidelines?|"
            r"criteria|classification|consensus|recommendations|nomenclature|equations?|revision of)(?!\w)"
        ),
        at_numbers=True,
        after=" ",
        check=lambda match: _is_no_event(match),
    ),
    ClinicalRow(
        name="body-year",
        kind="edition",
        sure=True,
        # "WHO 2016", "AJCC 8th edition 2017", "GOLD guidelines (2023)", "Chicago v4 2020"
        pattern=(
            rf"{_BODY}(?![^\W\d_])(?:-\w{{1,4}}){{0,2}}{_BETWEEN}"
            rf"[ ,]{{0,2}}[(]?(?P<value>{_YEAR}(?:[/-](?:20)?\d\d(?!\d))?)"
        ),
        words=anchors(_BODIES),
        check=lambda match: _is_body(match),
    ),
    ClinicalRow(
        name="body-of-year",
        kind="edition",
        sure=True,
        # the body itself: "Bethesda 2023 category III", "Amsel (1983)"
        pattern=(rf"(?P<body>{_BODY})(?![^\W\d_])(?:-\w{{1,4}}){{0,2}}{_BETWEEN}[ ,]{{0,2}}[(]?(?P<value>{_YEAR})"),
        words=anchors(_BODIES),
        excludes=NAMES | FIGURES,
        is_whole=True,
        check=lambda match: _is_body(match),
    ),
    ClinicalRow(
        name="year-updated",
        kind="edition",
        # "NICE NG28 2015, updated 2022"
        pattern=rf"(?i:updated|revised|amended|reaffirmed|was)[ ](?:in[ ])?(?P<value>{_YEAR})",
        words=frozenset("updated revised amended reaffirmed was".split()),
        check=lambda match: _follows_edition(match),
    ),
    ClinicalRow(
        name="noun-year",
        kind="edition",
        sure=True,
        # "8th edition (2017)", "revised criteria 2010", "guideline, 2021"
        pattern=rf"{_NOUN}(?:[ ](?:of|from|for|in))?[ ,]{{0,2}}[(]?(?P<value>{_YEAR})",
        words=frozenset(_GUIDE_WORDS),
        check=lambda match: match[0][:2].lower() != "ed" or match[0][:7].lower() == "edition",
    ),
)

_EDITION_BEFORE: Final = re.compile(rf"{_BODY}[^\n]{{0,24}}{_YEAR}[^\n]{{0,6}}[ ,(;]{{1,3}}$")
_EVENT_BEFORE: Final = re.compile(r"(?i)\b(?:since|until|till|before|after|from|dx|diagnosed|hx|dated|during)[ ]{1,2}$")
#: Text behind a classification that is named after a town: "Tokyo 2018 grade II".
_GRADED_AFTER: Final = re.compile(
    r"\)?[:,]?[ ]{0,2}(?i:gr\b|grade|category|cat\b|class|criteria|mild|moderate\w{0,2}|severe|CR\b|PR\b|"
    r"stage|score|III|II|IV|I\b|guideline|group|type|definite|probable|possible|positive|negative|met\b|not met|"
    r"definition|classification|response|points?|pts\b|major|minor|\d/\d|\d[ ](?:major|minor|points?|of\b)|algorithm|"
    r"[a-z]{3,12}(?:itis|osis|oma|emia|aemia|pathy)\b|Deauville|borderline|revision|staging|used\b|"
    r"system\b|nomenclature|confirmed\b|diagnos\w{2,4}\b|consensus\b|version\b|semen\b|[A-Z]{2,5}\b[ ,]{1,"
    r"2}(?:with|gr)|"
    r"[it]\d\b)"
)
#: Text before a classification that is named after a town: "per Rome 2016", "meets Rotterdam 2003".
_RULED_BEFORE: Final = re.compile(
    r"(?i)\b(?:per|under|using|meet(?:s|ing)?|met|fulfil\w{0,4}|fits|satisf\w{2,4}|according to|based on|"
    r"in line with|classif\w{2,4}(?: (?:as|per|by|under))?|reported (?:per|by)|revised|modified|updated|criteria)"
    r"(?: the)?[ (]{1,2}$"
)
_VERSION: Final = re.compile(r"[ ](?:v\.?[ ]?\d|\d\.\d|I{1,3}V?|IV)\b")
_BEFORE_CHARS: Final = 28
#: Classifications named after towns and people, and societies whose abbreviation has another meaning.
_WHOLE: Final = frozenset(_BODIES) - frozenset(words_for("guidelines", "ambiguous", "name", "uses"))
_AMBIGUOUS: Final = re.compile(rf"{any_of(words_for('guidelines', 'ambiguous', 'name', 'uses'))}\b")
#: Capitals that a body needs, because in lower case its name is a verb, place or person.
_CASED: Final = re.compile(r"[A-Z].*[A-Z]|[A-Z][a-z]{3,}|[A-Z]{2,}")


def _follows_edition(match: re.Match[str]) -> bool:
    """Return whether a body and the year of an edition of its guideline stand before the match."""
    return _EDITION_BEFORE.search(match.string, max(0, match.start() - 64), match.start()) is not None


def _is_no_event(match: re.Match[str]) -> bool:
    start = match.start("value")
    return _EVENT_BEFORE.search(match.string, max(0, start - 14), start) is None and _is_body(match)


def _is_body(match: re.Match[str]) -> bool:
    """Return whether the match names a body: ``ASA 2019`` may be one, ``who 2016`` and ``Paris 2019`` are not."""
    body = match[0].replace(match["value"], " ").strip(" (,")
    if body in _WHOLE:
        return True
    if re.search(_NOUN, match[0]):
        return True
    if _AMBIGUOUS.match(body) is not None:
        return not body.endswith(" in") and (
            "/" in body
            or _VERSION.search(body) is not None
            or _GRADED_AFTER.match(match.string, match.end()) is not None
            or _RULED_BEFORE.search(match.string, max(0, match.start() - _BEFORE_CHARS), match.start()) is not None
        )
    return _CASED.match(body) is not None

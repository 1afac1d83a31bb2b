"""Years of guidelines, classifications and editions, which are not dates of a patient's events."""

import re
from typing import Final

from deid_runtime.detectors.clinical.forms import anchors, any_of, words_of
from deid_runtime.detectors.clinical.rows import ClinicalRow

_YEAR: Final = r"(?:19[6-9]\d|20[0-4]\d)(?!\d|[/.-]\d)"
_BODIES: Final = words_of(
    "ACC/AHA,AHA/ACC,ACC,AHA,ACC/AHA/HRS,AHA/ASA,ACCF,HFSA,HRS,SCAI,ESC,ESC/EAS,ESC/ERS,ESH,EAS,ADA,EASD,ADA/EASD,AACE,"
    "ATS,ATS/ERS,ATS/IDSA,IDSA,IDSA/ATS,SHEA,SCCM,SSC,Surviving Sepsis,CHEST,ACCP,GINA,GOLD,NICE,SIGN,BTS,BTS/SIGN,BSG,"
    "BHIVA,BASHH,RCOG,RCP,RCPCH,UKMEC,JBDS,Resus Council,ACOG,ASCCP,SMFM,USPSTF,ACIP,CDC,WHO,AAP,AAN,"
    "AAO,AAOS,AUA,EAU,ACG,"
    "AGA,ASGE,AASLD,EASL,ACR,ACR/EULAR,EULAR,EULAR/ACR,SLICC,KDIGO,KDOQI,NKF,NCCN,ASCO,ASCO/CAP,CAP,"
    "ESMO,AJCC,UICC,FIGO,"
    "ISUP,WHO classification,ELN,ICC,IMWG,Lugano,Cheson,RECIST,iwCLL,ASH,ASTRO,ESTRO,ASRM,Endocrine "
    "Society,NAMS,NOF,AACAP,"
    "APA,DSM,Beers,AGS Beers,AGS,STOPP/START,JNC,JNC 7,JNC 8,ATP III,NCEP,Rome,Atlanta,revised Atlanta,Berlin,Tokyo,"
    "Tokyo guidelines,Bethesda,Paris,Chicago,McDonald,revised McDonald,Rotterdam,Jones,Duke,modified "
    "Duke,Sydney,Sapporo,"
    "Fleischner,ACR TI-RADS,PI-RADS,ILAE,IHS,ICHD,ISTH,ASRA,ASA,ASPEN,ESPEN,SAGES,EAST,ATLS,ACLS,PALS,BLS,NRP,ILCOR,"
    "Baveno,BCLC,Milan,CKD-EPI,ADA Standards,FDA,EMA,NIA-AA,NIAAA,SAMHSA,DHHS,AASM,ICSD,ESPGHAN,"
    "NASPGHAN,ERS,GLI,NHANES,"
    "ACMG,CASPAR,Amsel,Sepsis-3,Sepsis-2,PI-RADS,LI-RADS,BI-RADS,TI-RADS,O-RADS,Lung-RADS,Cardiac Risk "
    "Index,RCRI,Nugent,Ghent,WHO-HAEM5,WHO-HAEM,DSM-5,DSM-IV,ICD-10,ICD-11,qSOFA,CKD-EPI,MDRD,ASIA,"
    "ISNCSCI,ISHLT,SVS,STS,ESVS,UNOS,OPTN,BOSTON criteria,Movement Disorder Society,MDS,AAD,BAD,AHRQ,AANA,CMS"
)
_NOUN: Final = (
    r"(?:(?i:guidelines?|guidances?|criteria|classifications?|consensus|statement|recommendations?|"
    r"standards?|editions?|ed\.?|"
    r"update|revision|definitions?|risk calculator|pooled cohort|equations?|staging|protocol|pathway|algorithm|"
    r"position statement|focused update|scheme|schema|schedule|system|report|code|policy|version|"
    r"grading|nomogram|thresholds?|"
    r"formula|reference|norms?|chart)(?![^\W\d_]))"
)
_WORDS: Final = r"(?:[ ](?:the[ ])?[A-Za-z][\w/&-]{1,18}){0,4}?"
_GUIDE_WORDS: Final = (
    "guideline guidelines guidance criteria classification consensus statement recommendation "
    "recommendations standards edition "
    "ed update revision definition definitions staging protocol equation equations schedule version reference"
).split()

ROWS: Final = (
    ClinicalRow(
        name="year-body",
        kind="edition",
        # "2013 ACC/AHA", "the 2021 updated KDIGO guideline"
        pattern=re.compile(
            rf"(?P<value>(?:19[6-9]\d|20[0-4]\d)(?:[/-](?:\d\d|20\d\d))?)[ ](?:(?i:updated|revised|joint|"
            rf"international|american|european|"
            rf"british|new|current|focused|consensus|annual)[ ]){{0,2}}(?:{any_of(_BODIES)}(?![\w])|{_NOUN})"
        ),
        at_numbers=True,
        after=" /-",
        check=lambda match: _is_no_event(match),
    ),
    ClinicalRow(
        name="year-noun-behind",
        kind="edition",
        # "2019 sepsis bundle guideline": the noun within a few words
        pattern=re.compile(
            r"(?P<value>(?:19[6-9]\d|20[0-4]\d))(?:[ ][A-Za-z][\w/&-]{1,18}){1,3}?[ ](?i:guidelines?|"
            r"criteria|classification|consensus|recommendations|revision of)(?!\w)"
        ),
        at_numbers=True,
        after=" ",
        check=lambda match: _is_no_event(match),
    ),
    ClinicalRow(
        name="body-year",
        kind="edition",
        # "WHO 2016", "AJCC 8th edition 2017", "GOLD guidelines (2023)"
        pattern=re.compile(
            rf"{any_of(_BODIES)}(?![^\W\d_])(?:-\w{{1,4}}){{0,2}}(?:[ ]v\d(?:\.\d)?)?(?:[ ,]{{1,2}}(?:\d{{1,"
            rf"2}}(?:st|nd|rd|th)|{_NOUN}|(?i:for|of|the|by|on|ed|in|per|adult|"
            rf"staging|grade|system|manual|cancer|score|v|version|heart failure|asthma|hypertension|diabetes|"
            rf"lipid|sepsis))){{0,4}}"
            rf"[ ,]{{0,2}}[(]?(?P<value>{_YEAR}(?:[/-](?:20)?\d\d(?!\d))?)"
        ),
        words=anchors(_BODIES),
        check=lambda match: _is_body(match),
    ),
    ClinicalRow(
        name="noun-year",
        kind="edition",
        # "8th edition (2017)", "revised criteria 2010", "guideline, 2021"
        pattern=re.compile(rf"{_NOUN}(?:[ ](?:of|from|for|in))?[ ,]{{0,2}}[(]?(?P<value>{_YEAR})"),
        words=frozenset(_GUIDE_WORDS),
        check=lambda match: match[0][:2].lower() != "ed" or match[0][:7].lower() == "edition",
    ),
)

_EVENT_BEFORE: Final = re.compile(r"(?i)\b(?:since|until|till|before|after|from|dx|diagnosed|hx|dated|during)[ ]{1,2}$")
#: Text behind a classification that is named after a town: "Tokyo 2018 grade II".
_GRADED_AFTER: Final = re.compile(
    r"\)?[ ]{0,2}(?i:gr\b|grade|category|cat\b|class|criteria|mild|moderate\w{0,2}|severe|CR\b|PR\b|"
    r"stage|score|III|II|IV|I\b|guideline|"
    r"definition|classification|response|points?)"
)
#: Classifications named after towns and people, and societies whose abbreviation has another meaning.
_AMBIGUOUS: Final = re.compile(
    r"(?i)(?:Paris|Chicago|Berlin|Tokyo|Atlanta|Rome|Boston|Bethesda|Sydney|Milan|Lugano|Rotterdam|Jones|Duke|"
    r"GOLD|McDonald|Sapporo|CAP|EAST|ASA|MDS|CMS|BAD|ICC|ASH|CDC|HRS|AGS|SSC|STS)\b"
)
#: Capitals that a body needs, because in lower case its name is a verb, place or person.
_CASED: Final = re.compile(r"[A-Z].*[A-Z]|[A-Z][a-z]{3,}|[A-Z]{2,}")


def _is_no_event(match: re.Match[str]) -> bool:
    start = match.start("value")
    return _EVENT_BEFORE.search(match.string, max(0, start - 14), start) is None and _is_body(match)


def _is_body(match: re.Match[str]) -> bool:
    """Return whether the match names a body: ``ASA 2019`` may be one, ``who 2016`` and ``Paris 2019`` are not."""
    body = match[0].replace(match["value"], " ").strip(" (,")
    if re.search(_NOUN, match[0]):
        return True
    if _AMBIGUOUS.match(body) is not None:
        return "/" in body or body in ("GOLD", "CDC") or _GRADED_AFTER.match(match.string, match.end()) is not None
    return _CASED.match(body) is not None

"""Codes after the name of their classification: ICD, CPT, SNOMED, LOINC, RxNorm."""

import re
from typing import Final

from deid_runtime.detectors.clinical.labs import TEST_WORDS
from deid_runtime.detectors.clinical.rows import FIGURES, ORIGINS, ClinicalRow, line_of

_ALL: Final = FIGURES | ORIGINS

#: A procedure code: five figures of CPT with or without its modifier, or a letter and four figures of HCPCS.
_PROCEDURE: Final = r"(?:\d{5}|\d{4}[FTU]|[ACDEGHJ-MP-V]\d{4})(?:-(?:\d\d|[A-Z][A-Z0-9])){0,2}(?![\w.]|-\d)"
_DIAGNOSIS: Final = r"(?:[A-TV-Z]\d[\dA-Z](?:\.[\dA-Z]{1,4})?)(?![\w.]|-\d)"
_TIMES: Final = r"(?:[ ]?x[ ]?\d{1,2}(?!\d))?"
_TEST_BEHIND: Final = re.compile(r"[ ]\(?([A-Za-z]{2,20})")
#: Before a number that belongs to somebody or something.
_NUMBERED: Final = re.compile(r"(?i)(?:#|\b(?:id|ids|no|number|lot|lic|mrn))[ .:]{0,2}$")
_NEXT: Final = r"(?:[ ]?[,;/&+][ ]?|[ ](?:and|or|with|plus|vs)[ ])"

_SYSTEM: Final = (
    r"(?:SNOMED|SCTID|SCT|LOINC|RxNorm|RxCUI|RXCUI|ATC|CPT|HCPCS|ICD|ICPC|OPCS|MBS|(?i:items?)|READ|Read|CTV|HRG|"
    r"OMIM|ORPHA|NDC|"
    r"CVX|CDT|ICF|MeSH|HPO|A?DRG|ACHI|BNF|DMD|PBS|MedDRA|NAPPI)"
)
#: One code of any system: letters and figures, at least one of these, with full stops and hyphens.
_LISTED: Final = (
    r"(?:[A-Z]{1,2}:)?(?:(?=[A-Za-z.]{0,4}\d)[A-Za-z]{0,2}\d[\dA-Za-z]{0,17}|X[a-z][A-Za-z0-9]{3}(?![A-Za-z0-9]))"
    r"(?:[.-][\dA-Z]{1,5}){0,3}\.{0,2}(?![\w/:])"
)
#: Between two codes of a list: punctuation, and words that are no cue of an identifier or a date.
_MEANING: Final = (
    r"(?:[ ]?[,;/&+]|[ ](?=[a-z&]))?(?:[ ](?!(?i:mrn|ids?|acct|account|phone|tel|ph|fax|policy|claim|npi|dob|visit|"
    r"csn|lic|ssn|case|"
    r"ref|auth|inv|invoice|clm|order|accession|acc|pager|fin|har|member|group|rx|on|since|in|age|aged|zip|by|seen|"
    r"at|call|pt|patient|ext|no|number|from|until|dated|dr|lot|serial|room|bed)\b)"
    r"[A-Za-z&(][\w'()-]{0,18}[,;]?){0,4}[ ]"
)

#: Words of a line about codes of procedures.
_CODED: Final = re.compile(r"(?i)\b(?:cpt|cat ii|cod(?:e|ed|es|er|ing)|bill(?:ed|ing|s)?|modifier)\b")

ROWS: Final = (
    ClinicalRow(
        name="code-billed",
        kind="code",
        # "Billing: 66984-LT, H25.12", "Panel 80053, 85025, dx R53.83", "coded 47562"
        pattern=(
            r"(?i:bill(?:ed|ing|s)?|cod(?:e|ed|es|ing)|charge[ds]?|panels?|procedures?|dx|diagnos[ei]s|primary|"
            r"secondary|"
            r"OPCS|ICPC|registry)(?:[ ](?:codes?|as|is|to|under|for))?[ ]?[:#=]?[ ]"
            rf"(?P<value>(?:{_PROCEDURE}|{_DIAGNOSIS}){_TIMES}"
            rf"(?:{_NEXT}(?:(?i:dx|mod(?:ifier)?|code)[ ])?(?:{_PROCEDURE}|{_DIAGNOSIS}|"
            rf"\d\d(?![\d/.:-])){_TIMES}){{0,9}})"
        ),
        words=frozenset(
            "bill billed billing bills code coded codes coding charge charged charges panel panels procedure "
            "procedures dx "
            "diagnosis diagnoses primary secondary opcs icpc registry".split()
        ),
        excludes=_ALL,
        check=lambda match: "." in match["value"] or re.search(r"[A-Z]?\d{4}", match["value"]) is not None,
    ),
    ClinicalRow(
        name="code-grouped",
        kind="code",
        # "HCC 85, 18, 22", "DRG 470", "POS 10", "Rev code 0450"
        pattern=(
            r"(?:HCC(?=[ ]\d+,)|DRG|POS|GMLOS|(?i:(?:rev(?:enue)?|cond(?:ition)?|value|occurrence|status|type|"
            r"tariff|discharge|billing|fee|service|procedure|tooth|activity|benefit) codes?|mod(?:ifiers?)?|reason "
            r"code))s?[ :#]{1,2}"
            r"(?P<value>\d{1,4}(?![\d/:-])(?:(?:,[ ]?|[ ]and[ ]|[ ]vs[ ])\d{2,3}(?![\d/:-])){0,8})"
        ),
        words=frozenset(
            "hcc hccs drg drgs pos gmlos rev revenue cond condition value occurrence status type tariff discharge "
            "billing fee service procedure tooth activity benefit mod modifier modifiers reason".split()
        ),
        excludes=_ALL,
    ),
    ClinicalRow(
        name="code-procedures",
        kind="code",
        # "99214-25", "66984-79-RT", "90837 telehealth": modifiers, or a word about the use of codes
        pattern=(
            r"\d{5}(?:-(?:25|26|50|59|76|78|79|95|LT|RT|TC|GT)(?:-(?:LT|RT|TC|GT))?(?![\w-])|"
            r"(?=[ ](?:billed|coded|charged|telehealth|mod|modifier|"
            r"AWV|ACP|CPT)\b))"
            rf"(?:{_NEXT}{_PROCEDURE}{_TIMES}){{0,9}}"
        ),
        at_numbers=True,
        after="- ",
        excludes=_ALL,
        check=lambda match: _NUMBERED.search(match.string, max(0, match.start() - 8), match.start()) is None,
    ),
    ClinicalRow(
        name="code-hcpcs",
        kind="code",
        # "G0439 AWV", "J3301 x 4", "E0601, A7030"
        pattern=(
            rf"[ACDEGHJ-MP-V]\d{{4}}(?=[ ]?(?:x[ ]?\d|[,;/][ ]?(?:[A-V]\d{{4}}|\d{{5}})(?!\d)|[ ](?:AWV|ACP|"
            rf"billed|coded|CPT|HCPCS)\b))"
            rf"{_TIMES}(?:{_NEXT}{_PROCEDURE}{_TIMES}){{0,9}}"
        ),
        words=frozenset("acdeghjklmpqrstuv"),
        excludes=_ALL,
    ),
    ClinicalRow(
        name="code-diagnoses",
        kind="code",
        # "I10, E78.5, Z79.4": two or more codes of diagnoses, one of them with its subdivision
        pattern=rf"{_DIAGNOSIS}(?:(?:[ ]?[,;/&+]|[ ]and|->)?[ ]{_DIAGNOSIS}){{1,9}}",
        words=frozenset("abcdefghijklmnopqrstvwxyz"),
        excludes=_ALL,
        check=lambda match: "." in match[0],
    ),
    ClinicalRow(
        name="code-procedures-compared",
        kind="code",
        # "44204 vs 44207"; "0518F, 1101F": codes of quality measures
        pattern=r"\d{5}[ ]vs\.?[ ]\d{5}(?![\w-])|\d{4}F(?:[,;][ ]?\d{4}F(?!\w)){1,9}",
        at_numbers=True,
        after=" x",
        excludes=_ALL,
        check=lambda match: _CODED.search(line_of(match)) is not None,
    ),
    ClinicalRow(
        name="code-interventions",
        kind="code",
        # "ACHI 49518-00 [1489], anaes 92514-29, physio 95550-03": Australian codes, in a line that names them
        pattern=r"\d{5}-\d\d(?![\w-])",
        at_numbers=True,
        after="-",
        excludes=_ALL,
        check=lambda match: "ACHI" in line_of(match),
    ),
    ClinicalRow(
        name="code-axes",
        kind="code",
        # "T-81230 M-81202": axes of SNOMED, topography and morphology among them
        pattern=r"[TMDFPEL]-[0-9A-F]{5}(?:[,;]?[ ][TMDFPEL]-[0-9A-F]{5}(?!\w)){1,5}",
        words=frozenset("tmdfpel"),
        excludes=_ALL,
        check=lambda match: {"T-", "M-"} <= set(re.findall(r"[A-Z]-", match[0])),
    ),
    ClinicalRow(
        name="code-drug-of-canada",
        kind="code",
        # "DIN 02242903 etanercept": figures and then words; numbers of donations have letters
        pattern=r"DIN[ :#]{1,2}0\d{7}(?=[ ][a-z]{4})",
        words=frozenset({"din"}),
        excludes=_ALL,
    ),
    ClinicalRow(
        name="code-morphology",
        kind="code",
        # "8500/3": the morphology of a tumour
        pattern=r"[89]\d{3}/[01236](?![\d/])",
        at_numbers=True,
        after="/",
        excludes=_ALL,
    ),
    ClinicalRow(
        name="code-loinc-form",
        kind="code",
        # "2160-0 creatinine", "LOINC 2345-7, 2951-2 and 2823-3": figures, a hyphen and the check digit
        pattern=r"\d{3,5}-\d(?!\d)",
        at_numbers=True,
        after="-",
        excludes=_ALL,
        check=lambda match: _has_check_digit(match[0]) and _is_of_tests(match),
    ),
    ClinicalRow(
        name="code-snomed-term",
        kind="code",
        # "38341003 |hypertensive disorder|"
        pattern=r"\d{6,18}[ ]?(?=\|[A-Za-z][^|\n]{2,60}\|)",
        at_numbers=True,
        after=" |",
        excludes=_ALL,
    ),
    ClinicalRow(
        name="code-icd",
        kind="code",
        pattern=(
            r"(?i:ICD)[ -]?(?:9|10|11|O)?(?:[ -]?(?:CM|PCS|O))?(?:[ ](?:codes?|dx))?[ ]?[:#=(]?[ ]{0,2}"
            r"(?:[A-TV-Z]\d[\dA-Z](?:\.[\dA-Z]{1,4})?|[VE]?\d{2,3}\.\d{1,2})(?!\w)"
            r"(?:(?:[,;/&]|[ ]and)?[ ]?[A-TV-Z]\d[\dA-Z](?:\.[\dA-Z]{1,4})?(?!\w)){0,8}"
        ),
        words=frozenset({"icd"}),
        excludes=_ALL,
    ),
    ClinicalRow(
        name="code-icd-form",
        kind="code",
        # The form alone is enough: a letter, two figures, a full stop ("E11.65", "S62.633B").
        pattern=r"[A-TV-Za-tv-z]\d[\dA-Za-z]\.[\dA-Za-z]{1,4}(?![\w.]|-\d)",
        words=frozenset("abcdefghijklmnopqrstvwxyz"),
        check=lambda match: (
            match.string[match.start() - 1 : match.start()] in ("", " ", "(", "[", "\n", "\t", ",", ":", "/")
        ),
    ),
    ClinicalRow(
        name="code-procedure",
        kind="code",
        pattern=(
            r"(?i:CPT|HCPCS|E/M|modifier|MS-DRG|DRG|revenue code)(?:-4)?(?:[ ](?:codes?|level|is|billed))?[ "
            r"]?[:#=(]?[ ]{0,2}"
            r"(?:[A-Z]\d{4}|\d{4,5}[A-Z]?|\d{2,3}(?!\d))(?!\w|-\d)(?:[ ]?(?:[,;/&+x-]|and)?[ "
            r"]?(?:[A-Z]\d{4}|\d{5}|\d{2})(?!\w)){0,8}"
        ),
        words=frozenset("cpt hcpcs e modifier drg ms revenue".split()),
        excludes=_ALL,
    ),
    ClinicalRow(
        name="code-listed",
        kind="code",
        # "SNOMED 195967001 asthma, 84229001 fatigue", "MBS item 721 and 723", "Read v2 C10F., H33..":
        # behind the name of a system, each code with up to four words of its meaning
        pattern=(
            rf"{_SYSTEM}(?![^\W\d_])(?:[ -]?(?:CT|CM|PCS|AM|CA|v[23]|\d{{1,2}}))?"
            r"(?:[ ](?i:codes?|items?|ids?|concepts?|nos?\.?|numbers?|claimed|is|for|v[23])){0,3}"
            rf"[ ]?[:#=(]{{0,2}}[ ]{{0,2}}{_LISTED}(?:{_MEANING}{_LISTED}){{0,7}}(?:[ ][A-Za-z][\w]{{0,14}})?"
        ),
        words=frozenset(
            "snomed sctid sct loinc rxnorm rxcui atc cpt hcpcs icd icpc opcs mbs item items read ctv hrg omim orpha "
            "ndc cvx cdt icf mesh hpo drg achi bnf dmd pbs adrg meddra nappi".split()
        ),
        excludes=FIGURES,
        check=lambda match: match[0][:4] not in ("item", "Item", "read", "Read") or not match[0].startswith("read "),
    ),
    ClinicalRow(
        name="code-terminology",
        kind="code",
        pattern=(
            r"(?i:SNOMED|SCTID|SCT|LOINC|RxNorm|RxCUI|RXCUI|UMLS|CUI|NDC|OPCS-?4?|OMIM|ORPHA|CVX|DSM)"
            r"(?:[ -]?(?:CT|IV|V|5|TR))?(?:[ ](?:codes?|ID|concept|no\.?|number))?[ ]?[:#=(]{0,2}[ ]{0,2}"
            r"(?:[A-Z]{1,3}[:.]?)?\d{2,18}(?:[-.]\d{1,5}){0,3}(?!\w)(?:(?:[,;/&]|[ ]and)[ ]?\d{3,"
            r"18}(?:-\d{1,4}){0,2}(?!\w)){0,6}"
        ),
        words=frozenset("snomed sctid sct loinc rxnorm rxcui umls cui ndc opcs omim orpha cvx dsm".split()),
        excludes=_ALL,
    ),
)


def _has_check_digit(code: str) -> bool:
    """Return whether the digit after the hyphen is the LOINC check digit (Luhn) of the digits before it."""
    number, _, digit = code.partition("-")
    total = 0
    for at, figure in enumerate(reversed(number)):
        value = int(figure) * (2 if at % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return (10 - total % 10) % 10 == int(digit)


def _is_of_tests(match: re.Match[str]) -> bool:
    """Return whether LOINC is before the code in its line, or a test after it."""
    line = match.string[max(0, match.start() - 80) : match.start()].rpartition("\n")[2]
    word = _TEST_BEHIND.match(match.string, match.end())
    return "LOINC" in line.upper() or (word is not None and word[1].lower() in TEST_WORDS)

"""Codes behind the name of their classification: ICD, CPT, SNOMED, LOINC, RxNorm."""

import re
from typing import Final

from deid_runtime.detectors.clinical.rows import FIGURES, ORIGINS, ClinicalRow

_ALL: Final = FIGURES | ORIGINS

ROWS: Final = (
    ClinicalRow(
        name="code-icd",
        kind="code",
        pattern=re.compile(
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
        pattern=re.compile(r"[A-TV-Za-tv-z]\d[\dA-Za-z]\.[\dA-Za-z]{1,4}(?![\w.]|-\d)"),
        words=frozenset("abcdefghijklmnopqrstvwxyz"),
        check=lambda match: (
            match.string[match.start() - 1 : match.start()] in ("", " ", "(", "[", "\n", "\t", ",", ":", "/")
        ),
    ),
    ClinicalRow(
        name="code-procedure",
        kind="code",
        pattern=re.compile(
            r"(?i:CPT|HCPCS|E/M|modifier|MS-DRG|DRG|revenue code)(?:-4)?(?:[ ](?:codes?|level|is|billed))?[ "
            r"]?[:#=(]?[ ]{0,2}"
            r"(?:[A-Z]\d{4}|\d{4,5}[A-Z]?|\d{2,3}(?!\d))(?!\w|-\d)(?:[ ]?(?:[,;/&+x-]|and)?[ "
            r"]?(?:[A-Z]\d{4}|\d{5}|\d{2})(?!\w)){0,8}"
        ),
        words=frozenset("cpt hcpcs e modifier drg ms revenue".split()),
        excludes=_ALL,
    ),
    ClinicalRow(
        name="code-terminology",
        kind="code",
        pattern=re.compile(
            r"(?i:SNOMED|SCTID|SCT|LOINC|RxNorm|RxCUI|RXCUI|UMLS|CUI|NDC|OPCS-?4?|OMIM|ORPHA|CVX|DSM)"
            r"(?:[ -]?(?:CT|IV|V|5|TR))?(?:[ ](?:codes?|ID|concept|no\.?|number))?[ ]?[:#=(]{0,2}[ ]{0,2}"
            r"(?:[A-Z]{1,3}[:.]?)?\d{2,18}(?:[-.]\d{1,5}){0,3}(?!\w)(?:(?:[,;/&]|[ ]and)[ ]?\d{3,"
            r"18}(?:-\d{1,4}){0,2}(?!\w)){0,6}"
        ),
        words=frozenset("snomed sctid sct loinc rxnorm rxcui umls cui ndc opcs omim orpha cvx dsm".split()),
        excludes=_ALL,
    ),
)

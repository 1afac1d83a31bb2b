"""Laboratory values: the name of a test and the numbers after it."""

import re
from typing import Final

from deid_runtime.detectors.clinical.forms import (
    FILL,
    JOIN,
    NOT_AGE,
    NUMBER,
    SMALL,
    UNIT,
    anchors,
    any_of,
    chain,
    words_of,
)
from deid_runtime.detectors.clinical.rows import ClinicalRow

#: Tests whose values are below a thousand in the units of clinical notes.
_SMALL_TESTS: Final = words_of(
    "Na,Cl,CO2,HCO3,bicarb,bicarbonate,BUN,Cr,creat,creatinine,glu,gluc,glucose,calcium,iCa,Mg,mag,magnesium,Phos,"
    "phosphorus,phosphate,potassium,sodium,chloride,anion gap,AG,WBC,WCC,Hgb,Hb,haemoglobin,hemoglobin,"
    "H&H,Hct,hematocrit,"
    "haematocrit,plt,plts,platelets,platelet count,MCV,MCH,MCHC,RDW,ANC,ALC,neuts,neutrophils,lymphs,lymphocytes,monos,"
    "monocytes,eos,eosinophils,basos,basophils,bands,segs,retic,INR,PT,PTT,aPTT,ESR,CRP,hsCRP,A1c,HbA1c,HgbA1c,"
    "hemoglobin A1c,TSH,FT4,free T4,T4,T3,free T3,albumin,alb,prealbumin,bili,T bili,tbili,total bili,bilirubin,"
    "total bilirubin,lactate,lactic acid,procalcitonin,PCT,uric acid,urate,PSA,LDL,HDL,total "
    "cholesterol,cholesterol,chol,"
    "TC,non-HDL,haptoglobin,haptoglobins,TIBC,iron,Fe,transferrin,tsat,iron sat,folate,vitamin D,vit D,"
    "25-OH vitamin D,pH,"
    "pCO2,PaCO2,pO2,PaO2,base excess,osm,osms,osmolality,serum osm,FENa,GFR,eGFR,CrCl,anti-Xa,vanc trough,"
    "vanco trough,vancomycin trough,trough,gent trough,tacro,tacro level,tacrolimus level,FK level,dig "
    "level,digoxin level,"
    "lithium level,Li level,phenytoin level,valproate level,VPA level,CA 19-9,CA-125,CA 125,CEA,AFP,beta hCG,cortisol,"
    "ceruloplasmin,PTH,iPTH,testosterone,estradiol,FSH,LH,prolactin,D-dimer,fibrinogen,troponin,trop,trops,TnI,TnT,"
    "hs-troponin,MB,CK-MB,BNP,lipase,amylase,ALT,AST,SGOT,SGPT,AST/ALT,ALP,alk phos,alkaline "
    "phosphatase,GGT,ammonia,NH3,"
    "T prot,total protein,BG,BGs,FSBG,FSBS,FBS,POC glucose,POCT glucose,fingerstick,fingersticks,accucheck,accuchecks,"
    "blood sugar,blood sugars,sugars,CBG,blood glucose,glucoses,fasting sugar,fasting glucose,B12,vitamin B12,ferritin,"
    "LDH,CK,CPK,CD4,NT-proBNP,proBNP,triglycerides,TG,trigs,anti-CCP,dsDNA,C3,C4,IgG,IgA,IgM,IgE,SpGr,specific gravity,"
    "RBC,RBCs,G6PD,zinc,copper,lead level,UPCR,ACR,UACR,microalbumin,protein,ketones,BHB,beta-hydroxybutyrate,"
    "AMH,HCG,methotrexate level,AM cortisol,MELD,TEG,TPO,kappa,lambda,free light chain ratio,M spike,viral load"
)
#: Tests whose values can be in the thousands, like years.
_LARGE_TESTS: Final = words_of(
    "BNP,NT-proBNP,proBNP,pro-BNP,CK,CPK,LDH,ferritin,AST,ALT,AST/ALT,SGOT,SGPT,lipase,amylase,D-dimer,trop,troponin,"
    "hs-troponin,GGT,alk phos,triglycerides,TG,trigs,B12,vitamin B12,CA 19-9,CA-125,CA 125,CEA,AFP,beta hCG,HCG,"
    "quant,bHCG,viral load,CD4,IgE,IgG,ANC,ALC,glucose,PTH,iPTH,haptoglobin,IL-6,soluble IL-2,sIL-2R,"
    "myoglobin,prolactin,ammonia,acetaminophen level,APAP level,anti-CCP,tryptase,calprotectin,fecal calprotectin,CPKs,"
    "CKs,LFTs,WBC,nucleated cells,TNC,cell count,PMNs,neutrophils,eos,absolute eos,UPCR,UACR,thyroglobulin,aldosterone,"
    "chromogranin A,metanephrines,gluc,vit B12,normetanephrine,EBV PCR,CMV PCR,BK virus"
)
#: The first words of the names of tests.
TEST_WORDS: Final = anchors((*_SMALL_TESTS, *_LARGE_TESTS))
_QUALIFIER: Final = r"(?:[ ](?i:ratio|level|count|titer|titre|peak|trough|quant|index|today|serum|total|absolute|%))?"

#: A number that may be a year counts only when no further number or colon follows: not ``ferritin 2019: 340``.
_LARGE: Final = rf"(?:(?!(?:19|20)\d\d(?:[ ]?:|[ ]{{1,2}}\d|[ ]?\()){NUMBER})"
_LATER: Final = rf"(?:(?!(?:19|20)\d\d(?!\d)){NUMBER})"

ROWS: Final = (
    ClinicalRow(
        name="lab-value",
        kind="lab",
        # In a table row, the next value may follow after white space only.
        pattern=(
            rf"{any_of(_SMALL_TESTS)}(?![^\W\d_]|['’]s){_QUALIFIER}{FILL}{chain(SMALL, 4)}(?:[ \t]{{1,"
            rf"4}}{SMALL}{NOT_AGE}(?=[ \t\n]|$)){{0,3}}"
        ),
        words=anchors(_SMALL_TESTS),
        check=lambda match: _is_written_as_test(match),
    ),
    ClinicalRow(
        name="lab-large-value",
        kind="lab",
        pattern=(
            rf"{any_of(_LARGE_TESTS)}(?![^\W\d_]|['’]s){_QUALIFIER}{FILL}{_LARGE}{NOT_AGE}(?:[ ]?{UNIT})?"
            rf"(?:{JOIN}{_LATER}{NOT_AGE}(?:[ ]?{UNIT})?){{0,5}}"
        ),
        words=anchors(_LARGE_TESTS),
        check=lambda match: _is_written_as_test(match),
    ),
    ClinicalRow(
        name="lab-sequence",
        kind="sequence",
        # "glucose 388-291-204-168", "Cr 1.2/1.4/1.9": three or more values, none of them a year
        pattern=(
            rf"{any_of(_SMALL_TESTS)}(?![^\W\d_]|['’]s){FILL}\d{{1,3}}(?:\.\d{{1,2}})?(?:(?P<by>[ ]?(?:[-/>]|"
            rf"->|→)[ ]?)\d{{1,3}}(?:\.\d{{1,2}})?(?![\d])){{2,9}}"
        ),
        words=anchors(_SMALL_TESTS),
        check=lambda match: (
            _is_written_as_test(match) and ("." in match[0] or match[0].count("-") + match[0].count(">") > 2)
        ),
    ),
    ClinicalRow(
        name="lab-calcium",
        kind="lab",
        # "CA" and "ca" are omitted: they also mean cancer, California and calendar age.
        pattern=r"(?:Ca|iCa|Ca\+\+|corr(?:ected)? Ca)[ :=]{1,2}\d{1,2}\.\d{1,2}(?!\d)",
        words=frozenset({"ca", "ica", "corr", "corrected"}),
    ),
    ClinicalRow(
        name="lab-blood-gas",
        kind="lab",
        pattern=(
            r"[67]\.\d{1,2}[ ]?/[ ]?\d{1,3}(?:\.\d)?[ ]?/[ ]?\d{1,3}(?:\.\d)?(?:[ ]?/[ ]?[-+]?\d{1,"
            r"3}(?:\.\d)?){0,2}(?![\d/])"
        ),
        at_numbers=True,
        after=".",
    ),
)

#: Tests whose names are also words, units, initials or codes: they count as tests only in this case.
_CASES: Final = {
    "pt": ("PT",),
    "ag": ("AG",),
    "tc": ("TC",),
    "mb": ("MB",),
    "cr": ("Cr", "cr"),
    "fe": ("Fe",),
    "tg": ("TG",),
    "lh": ("LH",),
    "ph": ("pH",),
    "mg": ("Mg",),
    "na": ("Na",),
    "cl": ("Cl",),
    "ck": ("CK",),
    "cks": ("CKs",),
    "bg": ("BG",),
    "be": ("BE",),
    "hb": ("Hb",),
    "tt": ("TT",),
    "ca": ("CA",),
    "bk": ("BK",),
    "h": ("H",),
    "eos": ("eos", "Eos"),
    "igg": ("IgG",),
    "acr": ("ACR",),
    "alt": ("ALT", "alt"),
    "ast": ("AST", "ast"),
    "lead": ("lead", "Lead"),
    "alb": ("alb", "Alb"),
    "pct": ("PCT",),
    "phos": ("phos", "Phos"),
    "beta": ("beta", "Beta"),
    "mag": ("mag", "Mag"),
    "quant": ("quant",),
    "anc": ("ANC",),
    "cea": ("CEA",),
    "tnc": ("TNC",),
}


def _is_written_as_test(match: re.Match[str]) -> bool:
    """Return whether the name is written as a test: ``PT 14``; not ``pt 14`` or a code (``CEA-19-2562``, ``H-114``)."""
    text, start = match.string, match.start()
    word = re.match(r"[^\W\d_]+", match[0])
    if word is None or text[start - 1 : start] in ("-", "_", "#", "@"):
        return False
    if re.match(r"[A-Z]{1,4}-?\d{2,}-?\d*$", match[0]):
        return False  # no gap before the number: a code
    cases = _CASES.get(word.group().lower())
    return cases is None or word.group() in cases

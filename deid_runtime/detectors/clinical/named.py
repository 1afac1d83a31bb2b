"""Find drugs, genes and trials with names of people and places, if the words around show that they are none.

*Camila refilled*, *Yasmin 30/3 mg*, *SHANK3 deletion*, *HOPE trial criteria*. A brand or a trial is listed
(``data/lexicon/named_facts.tsv``); a gene is any symbol in capitals beside words for variants. Without such words the
span stays: *Camila is better*.
"""

import re
from functools import lru_cache
from typing import Final

from deid_runtime.detectors.clinical.terms import is_introduced, is_term_word
from deid_runtime.labels import HEADS
from deid_runtime.lexicon.name_cues import fold
from deid_runtime.lexicon.tables import words_for
from deid_runtime.lexicon.word_codes import FAMILY, FAMILY_SHIFT, GIVEN, load_lexicon
from deid_runtime.spans import Span

_LABELS: Final = frozenset((*HEADS["name"], *HEADS["location"], *HEADS["organization"])) - {"USERNAME"}
_WORD: Final = re.compile(r"[^\W\d_]+")
_BEFORE_CHARS: Final = 32

# --- brands --------------------------------------------------------------------------------------------------------

#: Behind a drug: a strength, a form, how often, or what only a drug undergoes.
_DRUG_AFTER: Final = re.compile(
    r"(?i)[ ]{1,2}(?:(?:ED|OCP|nocte|mane|BD|OD|tds|qds|SOS|vials?|sachets?|pessar\w{1,3}|MDI|DPI|Turbuhaler|"
    r"Accuhaler|injections?|depot|gave spotting|XR|XL|SR|ER|CR|LA|Fe|Lo|HFA|HCT|DS|24|28|1/\d\d|pens?|pills?|"
    r"packs?|patch(?:es)?|ring|tabs?|"
    r"tablets?|caps(?:ules)?|inhaler|cream|drops|gel|OCPs?|IUD|samples?|rx|script|prescription|dose|dosing|coupon|"
    r"refill(?:s|ed)?|renewed|restarted|q(?:hs|am|pm|d|od|wk|\d)\w{0,2}|qd|bid|tid|qid|prn|nightly|monthly|"
    r"x[ ]?\d{1,3}(?![\d:/])|d/c['’]?d|dc['’]d|discontinued|extended cycle|monophasic|triphasic|biosimilar|OTC)\b|"
    r"\d{1,4}(?:[.,]\d{1,3})?(?:/\d{1,3}(?:\.\d{1,2})?)?[ ]?(?:mg|mcg|µg|ug|g|units?|%|bid|tid|qd|daily|qhs|prn|hs)\b|"
    r"(?:was |were )?dispensed (?:at|by|from|with)\b|worked (?:well|fine) for|started (?:post[- ]?partum|after "
    r"delivery)|(?:both )?gave (?:her|him|me) "
    r"(?:headaches?|nausea|acne|spotting|hives|a rash|palpitations)|caused\b)"
)
#: Before a drug: verbs for drugs and not for people.
_DRUG_BEFORE: Final = re.compile(
    r"(?i)\b(?:refill(?:ed|s|ing)?|prescribed?|rx['’]?d|prefers|allerg(?:y|ic|ies)(?: to|:)|intoleran(?:t|ce) "
    r"(?:to|of)|"
    r"tolerat(?:es|ed|ing)|cross[- ]taper(?: to)?|switch(?:ed|ing)?(?: from \w{3,15})? to|titrate[sd]?|uptitrated|"
    r"restart(?:ed|ing)?|resume[sd]?|takes|taking|missed (?:her|his|some|two|a few) |doses? of|pills? of|packs? of|"
    r"course of|"
    r"trial of|failed|compliant with|adherent (?:to|with)|start (?:on)?|started on|stop|hold|holding)[ ]{1,2}$"
)
#: A further drug: "Levora and Lessina".
_DRUG_LISTED: Final = re.compile(r"[ ]?(?:/|,|\band\b|\bor\b|\bvs\b|\bthen\b)[ ]?(?:then[ ])?([^\W\d_]{4,})")
#: After the word, evidence that it is a person nevertheless: "started Ella on iron", "hold Nikki for rounds".
_PERSON_AFTER: Final = re.compile(
    r"(?i)[ ]{1,2}(?:on|her|his|home|off|with|to|has|is|says|said|reports?|denies|who)\b|['’]s\b"
)


def is_brand(text: str, span: Span) -> bool:
    """Return whether ``span`` is a listed brand beside words that occur only beside drugs."""
    if span.label not in _LABELS or is_introduced(text, span):
        return False
    return names_drug(text, span.start, span.end)


def names_drug(text: str, start: int, end: int) -> bool:
    """Return whether ``[start, end)`` is a listed brand beside words that occur only beside drugs."""
    if fold(text[start:end].strip(" .,")) not in _brands():
        return False
    if _DRUG_AFTER.match(text, end) is not None:
        return True
    other = _DRUG_LISTED.match(text, end)
    if other is not None and is_term_word(other[1]):
        return True
    return (
        _DRUG_BEFORE.search(text, max(0, start - _BEFORE_CHARS), start) is not None
        and _PERSON_AFTER.match(text, end) is None
    )


# --- genes ---------------------------------------------------------------------------------------------------------

_SYMBOL: Final = re.compile(r"[A-Z][A-Z0-9]{1,7}(?:[-/][A-Z0-9]{2,8}){0,2}")
_VARIANT: Final = (
    r"(?:p\.|c\.\d|[A-Z]\d{2,4}(?:[A-Z*]|fs|del|dup)\b|exon\b|del(?:etion)?s?\b|dup(?:lication)?\b|mut(?:ant|ated|"
    r"ation)?s?\b|"
    r"wt\b|wild[- ]?type\b|VUS\b|variants?\b|copies\b|copy number|fusion\b|rearrang\w{2,5}\b|amplif\w{3,7}\b|VAF\b|"
    r"(?:homo|hetero|hemi)zyg\w{2,4}\b|(?:likely )?pathogenic\b|unmutated\b|methylat\w{2,4}\b|haplotype\b|"
    r"genotyp\w{1,4}\b|"
    r"gene\b|\d{2,5}(?:ins|del|dup)|[ACGT]\d{3,5}[ACGT]\b|expression\b|"
    r"(?:loss|del) (?:by|on|of) (?:IHC|FISH|NGS)|\d{1,3}[ ]?/[ ]?\d{1,3} repeats)"
)
_VARIANT_AFTER: Final = re.compile(
    rf"(?:[ ]|,[ ]|:[ ]|[ ]\()(?:{_VARIANT})|[ ]\d[ ]copies|(?<=\d)[ ](?:neg|pos|negative|positive|loss|normal)\b"
)
_VARIANT_BEFORE: Final = re.compile(
    r"(?i)(?:mutations?|variants?|VUS|deletions?|duplications?|fusions?|rearrangements?|pathogenic|alterations?|"
    r"amplification|loss|genes?) (?:in|of|for|involving)[ ](?:the[ ])?$|\b(?:germline|somatic|biallelic|"
    r"pathogenic|de novo)[ ]$"
)


def is_gene(text: str, span: Span) -> bool:
    """Return whether ``span`` is a symbol in capitals beside words for variants: ``SHANK3 del``."""
    if span.label not in (*_LABELS, "USERNAME") or _SYMBOL.fullmatch(text, span.start, span.end) is None:
        return False
    if _is_symbol_of_list(text, span):
        return True
    return (
        _VARIANT_AFTER.match(text, span.end) is not None
        or _VARIANT_BEFORE.search(text, max(0, span.start - _BEFORE_CHARS), span.start) is not None
    )


def _is_symbol_of_list(text: str, span: Span) -> bool:
    """Return whether ``span`` is a listed symbol with a figure, or beside a further one: ``PTEN, STK11``."""
    symbols = _genes()
    symbol = text[span.start : span.end]
    if symbol.lower() not in symbols or is_introduced(text, span):
        return False
    if len(symbol) > 3 and any(map(str.isdigit, symbol)):
        return True
    beside = (
        _SYMBOL_AFTER.match(text, span.end),
        _SYMBOL_BEFORE.search(text, max(0, span.start - _BEFORE_CHARS), span.start),
    )
    return any(other is not None and other[1].lower() in symbols for other in beside)


_SYMBOL_AFTER: Final = re.compile(r"(?:[ ]?[,/;&+][ ]?|[ ](?:and|or|with)[ ])([A-Z][A-Z0-9]{2,7})\b")
_SYMBOL_BEFORE: Final = re.compile(r"\b([A-Z][A-Z0-9]{2,7})(?:[ ]?[,/;&+][ ]?|[ ](?:and|or|with)[ ])$")

# --- trials --------------------------------------------------------------------------------------------------------

_TRIAL: Final = re.compile(
    r"(?P<name>[A-Z]{3,14})(?P<more>-(?:[A-Z]{2,3}\d{0,2}|\d{1,4}|[A-Z][a-z]{3,10}\d{0,2}))?(?: \d{1,3})?"
)
_ALL_TRIALS: Final = re.compile(r"[A-Z]{4,14}(?:(?:[ ]?[,/;&]|[ ]and|[ ]or|[ ]vs?)[ ][A-Z]{4,14}){1,3}")
_LONGEST: Final = 16
#: The name of a trial alone needs as many letters, and a score below this, to be none of a person.
_LEAST_ALONE: Final = 5
_SURE_OF_NAME: Final = 0.95
_LINE_CHARS: Final = 80
_IN_SYMBOL: Final = re.compile(r"[A-Z]{2,6}\d{0,2}[A-Z]?\d|[A-V]\d\d[A-Z]{2}\d\d")
#: A variant of a protein, by its amino acids (``L265P``), or a group of drugs in the anatomical classification
#: (``C09AA``). From this score on, a model is believed that it is a code.
_CODE: Final = re.compile(r"[ACDEFGHIKLMNPQRSTVWY]\d{2,4}[ACDEFGHIKLMNPQRSTVWY*]|[A-DGHJL-NPRSV]\d\d[A-Z]{2}")
_SURE_OF_CODE: Final = 0.3
#: Below this score, one letter that only a model found is the name of a group, a type or an arm: ``group E``.
_LEAST_OF_LETTER: Final = 0.35
_CODES: Final = frozenset(
    {"USERNAME", "DOCTOR", "IDNUM", "DEVICE", "LICENSE", "ORGANIZATION", "HOSPITAL", "LOCATION-OTHER"}
)
_MARKER: Final = re.compile(
    r"HLA-[A-Z]{1,4}\d{0,2}(?:\*\d{2}(?::\d{2})?)?|SGLT[12]i?|GLP-?1|DPP-?4|PCSK9i?|CTLA-?4|PD-?L?1|IL-?\d{1,2}R?|"
    r"HER-?[23]|"
    r"EGFR|P2Y12|COX-?[12]|5-?HT\d[A-C]?|CD\d{1,3}|CDK4/6|JAK[12]i?|BCL-?[26]|CYP\d[A-Z]\d{1,2}|PARP|mTOR|VEGF|"
    r"TNF|Ki-?67|"
    r"NS5A|CA-?(?:125|15-3|19-9)|S-?100|A1AT|G6PD|PLA2R|GAD-?65|LDL-?C|ApoB|Nav1\.\d"
)
_TRIAL_AFTER: Final = re.compile(
    r"(?:-\w{1,12})?[ ](?:trial|study|data|criteria|dose|dosing|arm|regimen|protocol|target|results?|"
    r"eligib\w{2,6}|cohort|"
    r"subgroup|substudy|extension|inclusion|population|paper|evidence|investigators|investigations|enrol\w{2,8}|"
    r"randomi[sz]\w{1,6}|showed|neutral|negative|positive|quoted|discussed|window|sizes?|entry|schema|registry|"
    r"screen\w{0,4}|candidate|participant|consent|visit)\b|[ ]?:[ ]"
)
#: A further trial: "PLATO, TRITON", "DAWN v DEFUSE".
_TRIAL_LISTED: Final = re.compile(
    r"(?:[ ]?(?:,|/|;|&|\bv(?:s\.?)?\b|\band\b|\bor\b|\bnot\b)){1,2}[ ]?(?:not[ ])?([A-Z]{4,14})\b"
)
_TRIAL_LISTED_BEFORE: Final = re.compile(
    r"\b([A-Z]{4,14})(?:[ ]?(?:,|/|;|&|\bv(?:s\.?)?\b|\band\b|\bor\b|\bnot\b)){1,2}[ ]?$"
)

_TRIAL_BEFORE: Final = re.compile(
    r"(?i)\b(?:based on|basis of|strength of|evidence (?:of|from)|data from|results of|enrolled (?:in|on)|"
    r"randomi[sz]ed in|"
    r"according to|as in|trials?(?: like)?|like in|study)[ ](?:the[ ])?$"
)


def is_trial(text: str, span: Span) -> bool:
    """Return whether ``span`` is, or is a part of, the name of a trial in capitals.

    Its number (``KEYNOTE-522``) or a word for trials must stand beside it when it is also a word or a name.
    """
    if span.label not in HEADS["name"] and span.label not in _LABELS:
        return False
    if _ALL_TRIALS.fullmatch(text, span.start, span.end) is not None:
        words = _WORD.findall(text, span.start, span.end)
        return all(word.lower() in _trials() for word in words) and not is_introduced(text, span)
    start, end = span.start, span.end
    while start > 0 and span.start - start < _LONGEST and (text[start - 1].isalnum() or text[start - 1] == "-"):
        start -= 1
    while end < len(text) and end - span.end < _LONGEST and (text[end].isalnum() or text[end] == "-"):
        end += 1
    found = _TRIAL.fullmatch(text, start, end)
    if found is None or found["name"].lower() not in _trials():
        return False
    name = found["name"].lower()
    if found["more"] is not None:
        return True
    if (
        len(name) >= _LEAST_ALONE
        and span.score < _SURE_OF_NAME
        and _is_rare_name(name)
        and not _is_in_capitals(text, start)
    ):
        return True
    if is_introduced(text, span):
        return False
    for listed in (
        _TRIAL_LISTED.match(text, end),
        _TRIAL_LISTED_BEFORE.search(text, max(0, start - _BEFORE_CHARS), start),
    ):
        if listed is not None and listed[1].lower() in _trials():
            return True
    return (
        _TRIAL_AFTER.match(text, end) is not None
        or _TRIAL_BEFORE.search(text, max(0, start - _BEFORE_CHARS), start) is not None
    )


def _is_rare_name(word: str) -> bool:
    code = load_lexicon().get(word, 0)
    return code & GIVEN <= 1 and (code & FAMILY) >> FAMILY_SHIFT <= 1


def _is_in_capitals(text: str, start: int) -> bool:
    """Return whether the line around ``start`` is written in capitals, which then tell nothing."""
    first = text.rfind("\n", max(0, start - _LINE_CHARS), start) + 1
    last = text.find("\n", start, start + _LINE_CHARS)
    line = text[max(first, start - _LINE_CHARS) : last if last >= 0 else start + _LINE_CHARS]
    return not any(map(str.islower, line))


def is_part_of_symbol(text: str, span: Span) -> bool:
    """Return whether ``span`` is a character or two within a gene or a code of a drug: the ``7`` of ``MYH7``.

    With a low score it may be a variant of a protein or a part of it (``265P`` of ``L265P``), or a single letter
    (``group E``).
    """
    length = span.end - span.start
    if span.label not in _CODES or (length > 2 and span.score >= _SURE_OF_CODE):
        return False
    start, end = span.start, span.end
    while start > 0 and span.start - start < _LONGEST and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and end - span.end < _LONGEST and text[end].isalnum():
        end += 1
    if span.score < _SURE_OF_CODE and _CODE.fullmatch(text, start, end) is not None:
        return True
    if length > 2:
        return False
    if end - start > length:
        return _IN_SYMBOL.fullmatch(text, start, end) is not None
    return (
        text[start:end].isalpha()
        and length == 1
        and span.label not in ("ORGANIZATION", "HOSPITAL")
        and span.score < _LEAST_OF_LETTER
        and not text[end : end + 2].strip().isdigit()
    )


def is_marker(text: str, span: Span) -> bool:
    """Return whether ``span`` is a protein, receptor or antigen with a figure in its name: ``SGLT2``, ``HLA-B27``."""
    if span.label not in _CODES:
        return False
    value = text[span.start : span.end].strip(" .,;:()-")
    return _MARKER.fullmatch(value) is not None


@lru_cache(maxsize=1)
def _brands() -> frozenset[str]:
    return frozenset(words_for("named_facts", "brand", "name", "uses"))


@lru_cache(maxsize=1)
def _genes() -> frozenset[str]:
    return frozenset(words_for("named_facts", "gene", "name", "uses"))


@lru_cache(maxsize=1)
def _trials() -> frozenset[str]:
    return frozenset(words_for("named_facts", "trial", "name", "uses"))

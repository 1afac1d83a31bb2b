"""Numbers that identify a person, a stay, a plan, a device or a document, mostly by the label printed before them.

Each label is a row; the part after it, ``{number}``, is the same for all. Numbers with a distinctive form (SSN, NPI,
VIN, accession numbers) have a row without a label.
"""

import re
from collections.abc import Mapping
from typing import Final

from deid_runtime.detectors.patterns.rows import Check
from deid_runtime.detectors.patterns.validators import is_dea, is_nhs_number, is_npi, is_ssn, is_vin

# --- the value after a label -------------------------------------------------------------------------------------

_DATE_LIKE: Final = re.compile(
    r"\d{1,2}/\d{1,2}(?:/(?:\d{4}|\d\d))?|\d{1,2}[-.]\d{1,2}[-.](?:19|20)\d\d|(?:19|20)\d\d-\d\d(?:-\d\d)?|\d{1,2}/"
    r"(?:19|20)\d\d|\d{1,2}-?[A-Z][a-z]{2}-?\d{2,4}|\d{1,2}:\d\d"
)
_RATIO: Final = re.compile(r"[\dl]{1,3}(?:[./][\dl]{1,3}){1,3}")
_AMOUNT: Final = re.compile(
    r"(?i)\d+(?:[.,]\d+)?(?:mg|mcg|g|kg|ml|l|cm|mm|m|fr|ga|cc|u|units?|x|h|hr|hrs|d|w|y|yo|yr|yrs|am|pm|st|nd|rd|th|"
    r"%|k|f|s|t|c)?|\d+x\d+|[a-z]\d|q\d+h?|t\d-?\d*|[lcs]\d-\d|\d+(?:-[a-z]+)+|pgy-?\d|day\d+|x\d+"
)


#: A questionnaire with its score, a grade or an amount: ``PHQ-2``, ``EPDS 12``, ``PO 3rd``, ``RRA 6F``, ``TURP 42g``.
_SCORED: Final = re.compile(r"[A-Za-z]{2,5}[ -]\d{1,2}(?:st|nd|rd|th|[Ffg])?")


#: Lengths of several canals, screws or lesions: ``20.5/20/19.5``.
_LENGTHS: Final = re.compile(r"(?:[A-Za-z]{1,3} )?(?=\S*\.)\d{1,3}(?:\.\d{1,2})?(?:/\d{1,3}(?:\.\d{1,2})?)+")


def _looks_like_number(value: str, *, least: int) -> bool:
    """Return whether a value can be an identifier: ``least`` or more characters, neither a date nor an amount."""
    if (
        _SCORED.fullmatch(value)
        or _LENGTHS.fullmatch(value)
        or any(_DATE_LIKE.fullmatch(chunk) or _RATIO.fullmatch(chunk) for chunk in value.split(" "))
    ):
        return False
    core = re.sub(r"\W", "", value)
    if len(core) < least or not any(char.isdigit() for char in core):
        return False
    return core.isdigit() or sum(map(str.isdigit, core)) >= 5 or _AMOUNT.fullmatch(value) is None


def at_least(least: int, most_letters: int = 24) -> Check:
    """Return a check for values with a minimum of letters and digits and a maximum of letters."""

    def check(match: re.Match[str]) -> bool:
        for group in ("value", "value2", "value3"):
            value = match.groupdict().get(group)
            if value and (not _looks_like_number(value, least=least) or sum(map(str.isalpha, value)) > most_letters):
                return False
        return True

    return check


# --- forms without a label -----------------------------------------------------------------------------------------


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _is_ssn(match: re.Match[str]) -> bool:
    return is_ssn(_digits(match["value"]))


def _is_npi(match: re.Match[str]) -> bool:
    return is_npi(match["value"])


def _is_dea(match: re.Match[str]) -> bool:
    return is_dea(match["value"])


def _is_vin(match: re.Match[str]) -> bool:
    value = match["value"]
    return is_vin(value) and any(char.isalpha() for char in value) and sum(char.isdigit() for char in value) >= 3


def _is_plate(match: re.Match[str]) -> bool:
    """Return whether ``tag KDR-5348`` is the tag of a car, not of a wheelchair, a wrist or a toe."""
    words = match.string[max(0, match.start() - 16) : match.start()].split()
    return bool(_plate_check(match)) and (
        not words or words[-1].lower() not in ("asset", "hugs", "name", "toe", "skin", "id")
    )


_plate_check: Final = at_least(4)


def _is_nhs(match: re.Match[str]) -> bool:
    return is_nhs_number(_digits(match["value"]))


def _is_series(match: re.Match[str]) -> bool:
    """Return whether a series and groups of digits are an identifier; "BP 138 80" and "HR 96 20" are measurements."""
    value = match["value"]
    return len(_digits(value)) >= 7 and value.split(" ")[0] not in {"BP", "HR", "RR", "WBC", "PLT", "INR", "ANC"}


def _is_mixed_code(match: re.Match[str]) -> bool:
    """Return whether it looks like a serial number: 7+ letters and digits, 4+ digits, and no known notation."""
    value = match["value"]
    digits = sum(map(str.isdigit, value))
    letters = sum(map(str.isalpha, value))
    return digits >= 4 and letters >= 1 and digits + letters >= 7 and not _NOTATION.fullmatch(value)


# Notations that also mix letters and digits: dates, doses, obstetric history, variants, antigens.
_NOTATION: Final = re.compile(
    r"(?i)\d+(?:x\d+)+\w*|\d{1,2}[a-z]{3}\d{2,4}|[a-z]{3,5}\d{1,4}|g\d{1,2}p\d{1,4}\w*|\d+g\d+p\d+|"
    r"t\d\w?n\d\w?m\d\w?|\d+(?:mg|mcg|ml|cm|mm|units?|iu|kg|lbs?|gm|hrs?|h|am|pm|min)\w{0,3}|"
    r"h\d+n\d+|(?:[a-z]\d){2,4}|(?:[cdlst]\d{1,2}){2}|cpt\d{5}|[jg]\d{4}"
)


def _is_digit_groups(match: re.Match[str]) -> bool:
    """Return whether 7+ digits in groups are an identifier: not hours (``0845-1230``), an NDC or a range."""
    value = match["value"]
    parts = value.split("-")
    if len(parts) == 2 and (len(parts[0]) == len(parts[1]) or all(map(_is_clock, parts))):
        return False
    before = match.string[max(0, match.start() - 6) : match.start()].upper()
    return len(_digits(value)) >= 7 and not before.rstrip(" :#").endswith(
        ("NDC", "CPT", "CAS", "RIGHT", "LEFT", "LIMB")
    )


def _has_four_digits(match: re.Match[str]) -> bool:
    return len(_digits(match["value"])) >= 4


def _is_clock(part: str) -> bool:
    return re.fullmatch(r"(?:[01]\d|2[0-3])[0-5]\d", part) is not None


#: Checks by their name in the table.
CHECKS: Final[Mapping[str, Check]] = {
    "has_four_digits": _has_four_digits,
    "is_dea": _is_dea,
    "is_digit_groups": _is_digit_groups,
    "is_mixed_code": _is_mixed_code,
    "is_nhs": _is_nhs,
    "is_npi": _is_npi,
    "is_plate": _is_plate,
    "is_series": _is_series,
    "is_ssn": _is_ssn,
    "is_vin": _is_vin,
}

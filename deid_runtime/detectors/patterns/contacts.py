"""Telephone, pager and fax numbers, e-mail and web addresses, IP addresses."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Final

from deid_runtime.detectors.patterns.rows import Check
from deid_runtime.detectors.patterns.validators import is_ipv4
from deid_runtime.lexicon.tables import listed_words

# --- telephone -----------------------------------------------------------------------------------------------------


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _is_labelled_phone(match: re.Match[str]) -> bool:
    value = match["value"]
    digits = _digits(value)
    if not 7 <= len(digits) <= 15:
        return False
    if re.fullmatch(r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}(?:[ ]\d{4})?", value) or re.match(
        r"\d{1,2}/\d{1,2}(?!\d)", value
    ):
        return False  # a date
    # Groups of one or two digits are measurements unless the number begins with a plus, bracket or zero.
    if value[0] not in "+(0" and re.search(r"(?<!\d)\d{1,2}(?!\d)", value[3:]):
        return False
    return bool(re.search(r"\d{3}", value))


def _is_unlabelled_phone(match: re.Match[str]) -> bool:
    """Return whether ten digits in groups are a telephone number: no label or mark of another number is before them."""
    before = match.string[max(0, match.start() - 24) : match.start()]
    return _NUMBER_LABEL_BEFORE.search(before) is None


_NUMBER_LABEL_BEFORE: Final = re.compile(
    r"(?i)(?:\b(?:mrn|mr|nhs|phn|chi|hcn|ohip|id|acct|account|claim|policy|member|lic|license|npi|case|order|"
    r"tracking|track|ref|auth|lot|sn|s/n|"
    r"serial|csn|fin|chart|plan|medicare|medicaid|file|card|unit|rx|confirmation|conf|acc)(?:[ ](?:no|number|num|nbr|"
    r"id|card))?\b\.?[ \t:#=]{0,4}|#|[\d$]-?)$"
)


def _is_international(match: re.Match[str]) -> bool:
    return 8 <= len(_digits(match["value"])) <= 15


def _is_trunk_number(match: re.Match[str]) -> bool:
    """Return whether it is a national number with leading zero (UK, IE, AU, NZ, IN): nine to twelve digits."""
    return 9 <= len(_digits(match["value"])) <= 12 and _is_unlabelled_phone(match)


def _is_seven_digits(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 40) : match.start()]
    return _CALL_BEFORE.search(before) is not None and _NUMBER_LABEL_BEFORE.search(before[-24:]) is None


def _is_no_round_range(match: re.Match[str]) -> bool:
    """Return whether the number is not a range of round numbers, such as ``500-4000``."""
    return not match["value"].endswith("00") or match["value"][1:3] != "00"


_CALL_BEFORE: Final = re.compile(
    r"(?i)\b(?:tel|telephone|phone|ph|cell|mobile|call(?:ed|s)?|cb#?|pager?|paged|pgr|beeper|bleep|ext|fax|office|"
    r"home|work|via|or|desk|line|at)\b[^\d\n]{0,16}$"
)


def _is_pager(match: re.Match[str]) -> bool:
    digits = _digits(match["value"])
    if match["label"].lower() in {"paged", "bleeped", "page"}:  # "MD paged 1100" is a time, "paged 4403" a pager
        return len(digits) >= 4 and re.fullmatch(r"(?:[01]\d|2[0-3])[0-5]\d", digits) is None
    return len(digits) >= 3


def _is_extension(match: re.Match[str]) -> bool:
    if match["label"] == "x":
        return True
    return _PHONE_NEAR.search(match.string, max(0, match.start() - 16), match.start()) is not None


def _is_spelled_extension(match: re.Match[str]) -> bool:
    """Return whether it is an extension, not degrees (``ext 14``): 3+ digits, a longer word or a phone before it."""
    before = match.string[max(0, match.start() - 24) : match.start()]
    return len(match["value"]) >= 3 or len(match["label"]) > 4 or _PHONE_NEAR.search(before) is not None


def _is_after_phone(match: re.Match[str]) -> bool:
    return _PHONE_NEAR.search(match.string, max(0, match.start() - 16), match.start() + 1) is not None


_PHONE_NEAR: Final = re.compile(r"\d{3}[-. ]?\d{4}\)?,?[ \t]?$")

# --- e-mail, web ---------------------------------------------------------------------------------------------------


def _is_host(match: re.Match[str]) -> bool:
    """Return whether it is a host: ``clinic.org/portal``, but not ``pt.in`` (two joined sentences) or ``e.g``."""
    host = match["host"]
    ending = host.rpartition(".")[2].lower()
    labels = host.lower().split(".")
    if match["path"] and "/" in match["path"]:
        return not any(char.isupper() for char in ending) and len(ending) >= 2
    if ending in _SAFE_ENDINGS:
        return not (len(labels) == 2 and len(labels[0]) < 2) and not (
            host[0].islower() and labels[-1].title() == host.rpartition(".")[2]
        )
    return (
        len(labels) >= 3
        and ending in _COUNTRY_ENDINGS
        and host == host.lower()
        and all(len(part) > 1 for part in labels)
    )


_SAFE_ENDINGS: Final = frozenset(
    "com org net edu gov mil info biz health clinic hospital healthcare dental example online website".split()
)
_COUNTRY_ENDINGS: Final = frozenset("uk ie ca au nz in za us eu de fr nl es it ch io".split())


def _is_mail(match: re.Match[str]) -> bool:
    """Return whether the address ends in letters, as all top-level domains do; ``5@0.5`` and ``@ 100 mmHg`` do not."""
    ending = match["value"].rpartition(".")[2]
    return 2 <= len(ending) <= 18 and ending.isalpha()


def _is_spelled_mail(match: re.Match[str]) -> bool:
    """Return whether ``name (at) site.org`` is an address; before a bare ``at``, common words do not count."""
    value = match["value"].lower()
    if "(at)" in value or "[at]" in value:
        return True
    local, _, host = re.sub(r"[ ]?[(\[ ]dot[ )\]][ ]?", ".", value).partition(" at ")
    ending = host.rpartition(".")[2]
    return (
        ending in _SAFE_ENDINGS
        and not host.startswith("www.")
        and "@" not in match.string[match.end() - 40 : match.start()]
        and (any(not char.isalpha() for char in local) or local not in _WORDS_BEFORE_AT)
    )


_WORDS_BEFORE_AT: Final = frozenset(listed_words("pattern_context", "before-at"))


def _is_ipv6(match: re.Match[str]) -> bool:
    """Return whether the standard library accepts the address (``::``, eight groups); ``12:30:45`` is not one."""
    value = match["value"]
    if value.count(":") < 4 and "::" not in value:
        return False
    if "::" in value and len(value) < 6:
        return False
    try:
        ipaddress.IPv6Address(value)
    except ValueError:
        return False
    return True


def _is_ip(match: re.Match[str]) -> bool:
    value = match["value"]
    before = match.string[max(0, match.start() - 12) : match.start()]
    return is_ipv4(value) and re.search(r"(?i)\b(?:v|ver|version|section|sec|rev)[. ]{0,2}$", before) is None


#: Checks by their name in the table.
CHECKS: Final[Mapping[str, Check]] = {
    "is_after_phone": _is_after_phone,
    "is_extension": _is_extension,
    "is_host": _is_host,
    "is_international": _is_international,
    "is_ip": _is_ip,
    "is_ipv6": _is_ipv6,
    "is_labelled_phone": _is_labelled_phone,
    "is_mail": _is_mail,
    "is_no_round_range": _is_no_round_range,
    "is_pager": _is_pager,
    "is_seven_digits": _is_seven_digits,
    "is_spelled_extension": _is_spelled_extension,
    "is_spelled_mail": _is_spelled_mail,
    "is_trunk_number": _is_trunk_number,
    "is_unlabelled_phone": _is_unlabelled_phone,
}

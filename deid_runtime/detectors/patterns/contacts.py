"""Telephone, pager and fax numbers, e-mail and web addresses, IP addresses."""

import ipaddress
import re
from typing import Final

from deid_runtime.detectors.patterns.rows import Row
from deid_runtime.detectors.patterns.validators import is_ipv4

# --- telephone -----------------------------------------------------------------------------------------------------

#: Ten digits as North America writes them, with or without the country code. The area never begins with 0 or 1.
_NORTH_AMERICA: Final = r"(?:\+?1[-. /]{0,2})?(?:\([2-9]\d\d\)[-. /]{0,2}|[2-9]\d\d[-. /]{1,2})\d{3}[-. ]{0,2}\d{4}"
#: What a label such as "tel" makes into a number: groups of digits with single separators, seven digits or more.
_ANY_NUMBER: Final = r"\d{7,12}|(?:\+[ ]?)?\(?\d{1,5}\)?(?:[-./ ]{0,2}\(?\d{2,6}\)?){1,5}"
#: Four to six digits: extensions, pagers, bleeps.
_SHORT: Final = r"\d{1,2}-\d{3,5}|\d{3}-\d{4}|\d{2,7}"
_END: Final = r"(?!\w|[-./]\d)"
_PHONE_LABEL: Final = (
    r"(?:tele?(?:phone)?s?|phones?|ph|cell(?:ular|[ ]?phone)?|mobile|mob|home|work|office|direct[ ]dial|call(?:ed|s|"
    r"ing)?|cb|call[ ]?back|callback|reached?(?:[ ]at)?|"
    r"contact|hotline|voicemail|vm|text(?:ed)?|msg|sms|toll[ ]free|line|desk|switchboard|answering[ ]service|number|"
    r"ring|rang|dial(?:ed)?)"
)
_TAIL: Final = (
    r"(?:[ \t]?(?:no|nos|num|number|nbr|phone|cell|ph|is|at|to|on|(?:her|his|me|him|them|us)"
    r"(?:[ ]at)?)\b\.?){0,2}[ \t]{0,8}[#:=.]{0,2}[ \t]{0,8}\(?"
)


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
    # Groups of two digits or less are measurements unless a plus or a zero opens the number.
    if value[0] not in "+(0" and re.search(r"(?<!\d)\d{1,2}(?!\d)", value[3:]):
        return False
    return bool(re.search(r"\d{3}", value))


def _is_unlabelled_phone(match: re.Match[str]) -> bool:
    """Ten digits in groups are a telephone number unless a label or a mark before them says otherwise."""
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
    """A national number with its leading zero (UK, Ireland, Australia, New Zealand, India): nine to twelve digits."""
    return 9 <= len(_digits(match["value"])) <= 12 and _is_unlabelled_phone(match)


def _is_seven_digits(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 40) : match.start()]
    return _CALL_BEFORE.search(before) is not None and _NUMBER_LABEL_BEFORE.search(before[-24:]) is None


_CALL_BEFORE: Final = re.compile(
    r"(?i)\b(?:tel|telephone|phone|ph|cell|mobile|call(?:ed|s)?|cb#?|pager?|paged|pgr|beeper|bleep|ext|fax|office|"
    r"home|work|via|or|desk|line|at)\b[^\d\n]{0,16}$"
)


def _is_pager(match: re.Match[str]) -> bool:
    digits = _digits(match["value"])
    if match["label"].lower() in {"paged", "bleeped", "page"}:  # "MD paged 1100" is when, "paged 4403" is where
        return len(digits) >= 4 and re.fullmatch(r"(?:[01]\d|2[0-3])[0-5]\d", digits) is None
    return len(digits) >= 3


def _is_extension(match: re.Match[str]) -> bool:
    if match["label"] == "x":
        return True
    return _PHONE_NEAR.search(match.string, max(0, match.start() - 16), match.start()) is not None


def _is_spelled_extension(match: re.Match[str]) -> bool:
    """``ext 14`` alone may be degrees of extension; longer numbers, the whole word and a number before it settle it."""
    before = match.string[max(0, match.start() - 24) : match.start()]
    return len(match["value"]) >= 3 or len(match["label"]) > 4 or _PHONE_NEAR.search(before) is not None


_NOT_COUNT: Final = (
    r"(?![ \t]?(?:min|mins|minutes|h\b|hr|hrs|hours|d\b|days?|wks?|weeks?|mos?|months?|y\b|yrs?|"
    r"years?|doses?|mg|ml|cm|mm|in\b|ft|tabs?|times|%))"
)


def _is_after_phone(match: re.Match[str]) -> bool:
    return _PHONE_NEAR.search(match.string, max(0, match.start() - 16), match.start() + 1) is not None


_PHONE_NEAR: Final = re.compile(r"\d{3}[-. ]?\d{4}\)?,?[ \t]?$")

# --- e-mail, web ---------------------------------------------------------------------------------------------------

_LOCAL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._%+\-']{0,62}[A-Za-z0-9_])?"
_HOST: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?){0,5}"
_PATH: Final = r"(?:[/?#](?:[^\s<>\"'()\[\],;]{0,300}[^\s<>\"'()\[\],;.:!?])?)?"
#: The rest of a long address: tokens of hundreds of characters are usual.
_URL_REST: Final = re.compile(r"[^\s<>\"'()\[\],;]*(?<![.:!?])")
_PORT: Final = r"(?::\d{2,5})?"


def _is_host(match: re.Match[str]) -> bool:
    """Tell ``clinic.org/portal`` from ``pt.in`` (two sentences run together) and ``e.g``."""
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
    """The part after the ``@`` ends in letters, as all top-level domains do; ``5@0.5`` and ``@ 100 mmHg`` do not."""
    ending = match["value"].rpartition(".")[2]
    return 2 <= len(ending) <= 18 and ending.isalpha()


def _is_spelled_mail(match: re.Match[str]) -> bool:
    """``name (at) site.org`` always; ``name at site.org`` if the name is no word that a sentence has before "at"."""
    value = match["value"].lower()
    if "(at)" in value or "[at]" in value:
        return True
    local, _, host = value.partition(" at ")
    ending = host.rpartition(".")[2]
    return (
        ending in _SAFE_ENDINGS
        and not host.startswith("www.")
        and "@" not in match.string[match.end() - 40 : match.start()]
        and (any(not char.isalpha() for char in local) or local not in _WORDS_BEFORE_AT)
    )


_WORDS_BEFORE_AT: Final = frozenset(
    "more chat us online booklet last look looked found available visit info information form forms seen portal page "
    "it email e-mail mail "
    "works work account questions details website site video reach contact me him her them is are was be back "
    "records pay list listed".split()
)


def _is_ipv6(match: re.Match[str]) -> bool:
    """Let the standard library judge: it knows ``::`` and the eight groups. ``12:30:45`` is no address."""
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


ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="fax-labelled",
        label="FAX",
        pattern=re.compile(
            r"(?:fax(?:ed|es)?|facsimile|fx|télécopie|telefax)(?![^\W\d_])(?:[ \t]?(?:no|num|number|nbr|line|to|at|"
            r"is|attn|on)\b\.?){0,2}[ \t]{0,8}[#:=.|]{0,2}[ \t]{0,8}"
            rf"(?P<value>{_NORTH_AMERICA}|{_ANY_NUMBER}){_END}",
            re.IGNORECASE,
        ),
        words=frozenset("fax faxed faxes facsimile fx télécopie telefax".split()),
        check=_is_labelled_phone,
        labelled=True,
    ),
    Row(
        name="fax-letter",
        label="FAX",
        pattern=re.compile(rf"(?<![\w.])[Ff](?:\.|:|[ ])[ \t]{{0,3}}(?P<value>{_NORTH_AMERICA}){_END}"),
        words=frozenset("f"),
        labelled=True,
    ),
    Row(
        name="fax-nearby",
        label="FAX",
        pattern=re.compile(
            rf"fax(?:ed)?\b[^\d\n]{{1,28}}?\b(?:to|at)[ ](?P<value>{_NORTH_AMERICA}){_END}", re.IGNORECASE
        ),
        words=frozenset({"fax", "faxed"}),
        labelled=True,
    ),
    Row(
        name="phone-labelled",
        label="PHONE",
        pattern=re.compile(
            rf"{_PHONE_LABEL}(?![^\W\d_]){_TAIL}(?P<value>{_NORTH_AMERICA}|{_ANY_NUMBER}){_END}", re.IGNORECASE
        ),
        words=frozenset(
            "tel telephone tele phone phones ph cell cellular mobile mob home work office direct call called calls "
            "calling cb callback "
            "reach reached contact hotline voicemail vm text texted msg sms toll line desk switchboard answering "
            "number ring rang dial dialed".split()
        ),
        check=_is_labelled_phone,
    ),
    Row(
        name="phone-north-america",
        label="PHONE",
        pattern=re.compile(rf"(?<![\w+/])(?<![\w][-.])(?P<value>{_NORTH_AMERICA}){_END}"),
        digits=frozenset({3}),
        after="-. /",
        then="0",
        first="23456789",
        check=_is_unlabelled_phone,
    ),
    Row(
        name="phone-north-america-one",
        label="PHONE",
        pattern=re.compile(rf"(?<![\w+/])(?<![\w][-.])(?P<value>{_NORTH_AMERICA}){_END}"),
        digits=frozenset({1}),
        first="1",
        after="-. /",
        then="0(",
        check=_is_unlabelled_phone,
    ),
    Row(
        name="phone-parenthesised",
        label="PHONE",
        pattern=re.compile(
            r"(?<![\w(])(?P<value>(?:\+?\d{1,3}[-. ]?)?\((?:[2-9]\d\d|0\d{1,4}|"
            rf"0)\)[-. /]{{0,2}}\d{{3,4}}[-. ]{{0,2}}\d{{3,4}}(?:[ ]?\d{{2,4}})?){_END}"
        ),
        chars="(",
        check=_is_unlabelled_phone,
    ),
    Row(
        name="phone-glued",
        label="PHONE",
        pattern=re.compile(r"(?<=[a-z])(?P<value>[2-9]\d\d[-. ]\d{3}[-. ]?\d{4})(?!\d)"),
        digits=frozenset({3}),
        after="-. ",
        then="0",
        before="abcdefghijklmnopqrstuvwxyz",
    ),
    Row(
        name="phone-ten-digits",
        label="PHONE",
        pattern=re.compile(r"(?<![\w+/#.\-])(?P<value>[2-9]\d\d[ ]?[2-9]?\d{2,3}-?\d{4})(?![\w/]|[-.]\d)"),
        digits=frozenset({3, 6, 10}),
        first="23456789",
        then="0-",
        check=_is_seven_digits,
        weak=True,
    ),
    Row(
        name="phone-international",
        label="PHONE",
        pattern=re.compile(rf"(?<![\w+])(?P<value>\+[ ]?[1-9]\d{{0,2}}(?:[-. ]{{0,2}}\(?\d{{1,5}}\)?){{1,6}}){_END}"),
        chars="+",
        check=_is_international,
    ),
    Row(
        name="phone-double-zero",
        label="PHONE",
        pattern=re.compile(rf"(?<![\w+./\-])(?P<value>00[1-9]\d{{0,2}}(?:[ ]\d{{2,5}}){{2,4}}){_END}"),
        digits=frozenset({4, 5}),
        first="0",
        after=" ",
        then="0",
        check=_is_international,
        weak=True,
    ),
    Row(
        name="phone-trunk",
        label="PHONE",
        pattern=re.compile(
            r"(?<![\w+./\-])(?P<value>0\d{2}[ ]\d{4}[ ]\d{4}|0\d{3,4}[ ]\d{3}[ ]?\d{3,4}|"
            r"0\d{4}[ ]\d{5,6}|0\d{2}[ ]\d{3}[ ]?\d{4}|0\d[ ]\d{3,4}[ ]\d{4}|"
            r"07\d{9}|04\d{2}[ ]\d{3}[ ]\d{3}|08\d[ ]\d{3}[ ]\d{4}|"
            rf"0\d{{2,4}}-\d{{3,4}}[ ]?\d{{3,4}}){_END}"
        ),
        digits=frozenset({2, 3, 4, 5, 11}),
        first="0",
        check=_is_trunk_number,
    ),
    Row(
        name="phone-seven-digits",
        label="PHONE",
        pattern=re.compile(rf"(?<![\w+./#\-])(?P<value>[2-9]\d\d[-.][0-9]\d{{3}}){_END}"),
        digits=frozenset({3}),
        after="-.",
        check=_is_seven_digits,
    ),
    Row(
        name="phone-seven-digits-weak",
        label="PHONE",
        pattern=re.compile(
            rf"(?<![\w+./#\-])(?P<value>\d{{3}}-\d{{4}}){_END}(?![ \t]?(?:Hz|k|ms|mg|mL|cells|kcal|cal|cc|steps)\b)"
        ),
        digits=frozenset({3}),
        after="-",
        check=lambda match: not match["value"].endswith("00") or match["value"][1:3] != "00",
        weak=True,
    ),
    Row(
        name="pager",
        label="PHONE",
        pattern=re.compile(
            r"(?P<label>pager?s?|paged|pgr|beeper|beep|bleep(?:ed)?|vocera|spectralink)(?![^\W\d_])(?:[ \t]?(?:no|"
            r"num|number|id|is|at|to|on|me|him|her)\b\.?){0,2}[ \t]{0,3}[#:]{0,2}[ \t]{0,3}[(]?"
            rf"(?P<value>{_NORTH_AMERICA}|{_SHORT}){_END}(?!\s?(?:of|pages?)\b){_NOT_COUNT}",
            re.IGNORECASE,
        ),
        words=frozenset("pager pagers paged pgr beeper beep bleep bleeped vocera spectralink".split()),
        check=_is_pager,
        labelled=True,
    ),
    Row(
        name="page-number",
        label="PHONE",
        pattern=re.compile(
            rf"page[ \t](?:(?:me|him|her|at)[ \t]){{0,2}}(?P<value>{_NORTH_AMERICA}|\d{{4,5}}|"
            rf"\d{{3}}-\d{{4}}){_END}",
            re.IGNORECASE,
        ),
        words=frozenset({"page"}),
        labelled=True,
    ),
    Row(
        name="pager-letter",
        label="PHONE",
        pattern=re.compile(
            rf"(?<![\w.])[pP](?:[:#][ ]?)?(?P<value>\d{{4,5}}|\d{{3}}-\d{{4}}|[2-9]\d\d[-. ]\d{{3}}[-. ]\d{{4}}){_END}"
        ),
        words=frozenset("p"),
        weak=True,
    ),
    Row(
        name="extension",
        label="PHONE",
        pattern=re.compile(
            r"(?P<label>ext(?:ension|n)?)(?![^\W\d_])\.?[ \t]{0,2}[#:]?[ \t]{0,2}(?P<value>\d{1,2}-\d{3,5}|"
            rf"\d{{2,6}}){_END}(?![ \t]?(?:deg|°|lag|rot|fix|cm|mm|hip|[0-9]))",
            re.IGNORECASE,
        ),
        words=frozenset({"ext", "extension", "extn"}),
        check=_is_spelled_extension,
        labelled=True,
    ),
    Row(
        name="extension-letter",
        label="PHONE",
        pattern=re.compile(rf"(?<![\w.])(?P<label>[xX])(?P<value>\d{{1,2}}-\d{{3,5}}|\d{{4,6}}){_END}{_NOT_COUNT}"),
        words=frozenset("x"),
        check=_is_extension,
    ),
    Row(
        name="extension-letter-spaced",
        label="PHONE",
        pattern=re.compile(
            rf"(?<![\w.])x[ ](?P<value>\d[- ]\d{{4}}|\d{{4,5}}){_END}(?![ \t]?(?:mg|mcg|units?|iu|ml|days?|hz)\b)"
        ),
        words=frozenset("x"),
        weak=True,
    ),
    Row(
        name="pager-after-rank",
        label="PHONE",
        pattern=re.compile(
            r"(?:pgy|fy|sho|ct)[- ]?\d?,?[ \t]{1,3}(?:#|p|x|p\.[ ]?)(?P<value>\d{3,5}|\d{3}-\d{4})(?![\w/]|[-.]\d)",
            re.IGNORECASE,
        ),
        words=frozenset({"pgy", "fy", "sho"}),
    ),
    Row(
        name="extension-after-phone",
        label="PHONE",
        pattern=re.compile(
            rf"(?<=\d)[ \t]{{0,2}}(?:x|ext\.?|opt(?:ion)?|poste|local|anexo)[ \t]{{0,2}}#?(?P<value>\d{{1,6}}){_END}",
            re.IGNORECASE,
        ),
        words=frozenset({"x", "ext", "poste", "local"}),
        lookback=4,
        probe=re.compile(r"[A-Za-z.]{1,8}[ \t]{0,2}#?\d"),
        check=_is_after_phone,
    ),
    Row(
        name="email",
        label="EMAIL",
        pattern=re.compile(rf"(?<![\w.%+\-])(?P<value>{_LOCAL}[ ]?@[ ]?{_HOST.replace('{0,5}', '{1,5}')})(?![\w@])"),
        chars="@",
        probe=re.compile(r"@[ ]?[A-Za-z0-9]"),
        lookback=66,
        check=_is_mail,
        labelled=True,
    ),
    Row(
        name="email-obfuscated",
        label="EMAIL",
        pattern=re.compile(
            rf"(?<![\w.%+\-])(?P<value>{_LOCAL}[ ]?(?:\(at\)|\[at\]|[ ]at[ ])[ ]?"
            rf"(?:{_HOST.replace('{0,5}', '{1,5}')}|[A-Za-z0-9-]{{2,40}}[ ]?(?:\(dot\)|\[dot\]|"
            r"[ ]dot[ ])[ ]?[A-Za-z]{2,10}))(?!\w)",
            re.IGNORECASE,
        ),
        words=frozenset({"at"}),
        lookback=66,
        before=" ([",
        probe=re.compile(r"at[)\]]?[ ]?[A-Za-z0-9-]{1,60}(?:\.[A-Za-z]|[ ]?[(\[ ]dot)", re.IGNORECASE),
        check=_is_spelled_mail,
        labelled=True,
    ),
    Row(
        name="url-scheme",
        label="URL",
        pattern=re.compile(r"(?<!\w)(?P<value>(?:https?|ftps?)://[^\s<>\"'()\[\],;]{2,300}(?<![.:!?]))", re.IGNORECASE),
        words=frozenset("http https ftp ftps".split()),
        rest=_URL_REST,
        labelled=True,
    ),
    Row(
        name="url-www",
        label="URL",
        pattern=re.compile(rf"(?<![\w.@])(?P<value>www\.{_HOST}{_PORT}(?P<path>{_PATH}))", re.IGNORECASE),
        words=frozenset({"www"}),
        rest=_URL_REST,
        labelled=True,
    ),
    Row(
        name="url-bare",
        label="URL",
        pattern=re.compile(
            r"(?<![\w.@/\-])(?P<value>(?P<host>[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
            rf"(?:\.[A-Za-z0-9-]{{1,63}}){{0,4}}\.[A-Za-z]{{2,12}}){_PORT}(?P<path>{_PATH}))(?![\w@])"
        ),
        words=_SAFE_ENDINGS | _COUNTRY_ENDINGS | frozenset({"tv", "me", "app", "live", "care"}),
        rest=_URL_REST,
        lookback=64,
        before=".",
        check=_is_host,
        labelled=True,
    ),
    Row(
        name="ip-v4",
        label="IPADDR",
        pattern=re.compile(r"(?<![\w.\-])(?P<value>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?![\w\-]|\.\d)"),
        digits=frozenset({1, 2, 3}),
        after=".",
        then="0",
        check=_is_ip,
        labelled=True,
    ),
    Row(
        name="ip-v6",
        label="IPADDR",
        pattern=re.compile(
            r"(?<![\w:.])(?P<value>(?:[0-9A-Fa-f]{1,4}:){1,7}(?::?[0-9A-Fa-f]{1,4}){0,6}|::"
            r"(?:[0-9A-Fa-f]{1,4}:){0,6}[0-9A-Fa-f]{1,4})(?![\w:])"
        ),
        chars=":",
        lookback=5,
        probe=re.compile(r":[0-9A-Fa-f]{0,4}:"),
        check=_is_ipv6,
        labelled=True,
    ),
    Row(
        name="mac-address",
        label="DEVICE",
        pattern=re.compile(r"(?<![\w:.])(?P<value>[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5})(?![\w:])"),
        chars=":",
        lookback=2,
        probe=re.compile(r":[0-9A-Fa-f]{2}:"),
        labelled=True,
    ),
)

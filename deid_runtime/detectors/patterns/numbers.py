"""Numbers that name a person, a stay, a plan, a thing or a paper: mostly by the label printed before them.

A label is a row; what follows it, ``_ID``, is read alike for all. Where the form alone settles it (SSN, NPI, VIN,
accession numbers) there is a row without a label.
"""

import re
from typing import Final

from deid_runtime.detectors.patterns.rows import Check, Row
from deid_runtime.detectors.patterns.validators import is_dea, is_nhs_number, is_npi, is_ssn, is_vin

# --- what stands after a label -------------------------------------------------------------------------------------

#: The word that runs on from the last digit of a value: ``9514573Collected``.
_WORD_ON: Final = r"[A-Z][a-z]{2,24}(?![A-Za-z0-9])"
_SIGN: Final = rf"(?:(?<!\d)[A-Za-z*]|(?<=\d)(?!{_WORD_ON})[A-Za-z*]|\d)"
#: One chunk of letters and digits with a digit in it, joined inside by hyphens, slashes or dots. A dot before a word
#: ends it: ``18MC04482.Sent``.
_CHUNK: Final = rf"(?=[A-Za-z\-/.*]{{0,9}}\d){_SIGN}{{1,24}}(?:(?:[-/]|\.(?![A-Z][a-z]{{2}})){_SIGN}{{1,16}}){{0,6}}"
#: Further chunks after single spaces, as in ``8800 1247 6`` or ``1EG4 TE5 MK72``; not "67 M", "12 mg", "30 days".
_GROUP: Final = (
    r"[ ](?!\d{1,3}[ ]?(?:y|yo|yr|M|F|m|f|mg|ml|mm|cm|days?|wks?|h|hrs?|x|u|units?|min|%)\b|(?:19|20)\d\d\b)"
    r"(?=[A-Z]{0,3}\d)[A-Z0-9]{2,10}(?:-[A-Z0-9]{1,6}){0,2}(?![\w/:.]\w|[ ]?%)"
)
_MORE: Final = rf"(?:(?:{_GROUP}){{1,4}}(?:[ ](?:[A-EG-LN-Z0-9]|[A-Z]{{2}})(?![\w/:.'’-]))?)?"
#: Letters of a series or state before the digits: ``NM 00419908812``, ``CA 771180``.
_SERIES: Final = r"(?:[A-Z]{1,4}[ -](?=[A-Z]{0,3}\d))?"
_ID: Final = rf"{_SERIES}{_CHUNK}{_MORE}"
#: Between label and value: "no.", "number", "#", ":", leaders, blanks, an opening bracket, a line break.
_LINK: Final = (
    r"(?:[ \t]{0,2}[(]?(?:numbers|number|num|nbr|nos?|nr|id|ids|code|serial|is|was)(?![^\W\d_])\.?){0,2}[ \t]{0,12}"
    r"(?:\([^()\n]{1,14}\)[ \t]{0,3})?(?:[#:=.(,]|\.{2,24}:?|[ .]{2,24}:)?[#:]?[ \t]{0,12}(?:\n[ \t]{0,12})?[#:]?[ \t]?"
)
#: The same where something must mark the value as a number: "#", ":", "no", or the word "number".
_MARK: Final = (
    r"(?:[ \t]{0,2}(?:numbers|number|num|nbr|nos?|nr|id|ids)(?![^\W\d_])\.?[ \t]{0,6}[#:=]{0,2}|"
    r"[ \t]{0,8}[#:=]{1,2})[ \t]{0,12}(?:\n[ \t]{0,12})?#?"
)

_DATE_LIKE: Final = re.compile(
    r"\d{1,2}/\d{1,2}(?:/(?:\d{4}|\d\d))?|\d{1,2}[-.]\d{1,2}[-.](?:19|20)\d\d|(?:19|20)\d\d-\d\d(?:-\d\d)?|\d{1,2}/"
    r"(?:19|20)\d\d|\d{1,2}-?[A-Z][a-z]{2}-?\d{2,4}|\d{1,2}:\d\d"
)
_RATIO: Final = re.compile(r"[\dl]{1,3}(?:[./][\dl]{1,3}){1,3}")
_AMOUNT: Final = re.compile(
    r"(?i)\d+(?:[.,]\d+)?(?:mg|mcg|g|kg|ml|l|cm|mm|m|fr|ga|cc|u|units?|x|h|hr|hrs|d|w|y|yo|yr|yrs|am|pm|st|nd|rd|th|"
    r"%|k|f|s|t|c)?|\d+x\d+|[a-z]\d|q\d+h?|t\d-?\d*|[lcs]\d-\d|\d+(?:-[a-z]+)+|pgy-?\d|day\d+|x\d+"
)


#: A questionnaire with its score, a grade of school: ``PHQ-2``, ``EPDS 12``, ``PO 3rd``.
_SCORED: Final = re.compile(r"[A-Za-z]{2,5}[ -]\d{1,2}(?:st|nd|rd|th)?")


def _looks_like_number(value: str, *, least: int) -> bool:
    """Say whether a value after a label can be an identifier: ``least`` characters and neither a date nor an amount."""
    if _SCORED.fullmatch(value) or any(
        _DATE_LIKE.fullmatch(chunk) or _RATIO.fullmatch(chunk) for chunk in value.split(" ")
    ):
        return False
    core = re.sub(r"\W", "", value)
    if len(core) < least or not any(char.isdigit() for char in core):
        return False
    return core.isdigit() or sum(map(str.isdigit, core)) >= 5 or _AMOUNT.fullmatch(value) is None


def _at_least(least: int, most_letters: int = 24) -> Check:
    def check(match: re.Match[str]) -> bool:
        for group in ("value", "value2", "value3"):
            value = match.groupdict().get(group)
            if value and (not _looks_like_number(value, least=least) or sum(map(str.isalpha, value)) > most_letters):
                return False
        return True

    return check


def _labelled(
    name: str,
    label: str,
    words: str,
    pattern: str,
    *,
    marked: bool = False,
    least: int = 3,
    weak: bool = False,
    case: bool = False,
    several: bool = False,
) -> Row:
    """Build the row of a label: ``pattern`` reads the label from its first word, one of ``words``.

    ``marked`` asks for a "#", ":" or "no." before the value; ``least`` is the least number of letters and digits in
    it; ``several`` reads up to three values joined by commas, "&", "and" or slashes.
    """
    value = f"(?P<value>{_CHUNK if several else _ID})"
    if several:
        join = r"(?:[ ]?(?:,|&|/|\band\b|;)[ ]?)"
        value += rf"(?:{join}(?P<value2>{_CHUNK})(?:{join}(?P<value3>{_CHUNK}))?)?"
    flags = re.NOFLAG if case else re.IGNORECASE
    link = _MARK if marked else _LINK
    # Case matters inside _MORE and _SERIES, so only the label and the link ignore it.
    label_part = f"(?:{pattern})(?![^\\W\\d_])" if flags is re.NOFLAG else f"(?i:(?:{pattern})(?![^\\W\\d_]))"
    return Row(
        name=name,
        label=label,
        pattern=re.compile(
            rf"(?:(?<![^\W\d_])|(?<=[a-z])(?=[A-Z])){label_part}(?i:{link})(?<![\d]){value}(?:(?!\w|-\w)|(?<=\d)(?={_WORD_ON}))"
        ),
        words=frozenset(words.split()),
        check=_at_least(least),
        weak=weak,
        labelled=True,
    )


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
    """``tag KDR-5348`` of a car, not the tag of a wheelchair, a wrist or a toe."""
    words = match.string[max(0, match.start() - 16) : match.start()].split()
    return bool(_plate_check(match)) and (
        not words or words[-1].lower() not in ("asset", "hugs", "name", "toe", "skin", "id")
    )


_plate_check: Final = _at_least(4)


def _is_nhs(match: re.Match[str]) -> bool:
    return is_nhs_number(_digits(match["value"]))


def _is_series(match: re.Match[str]) -> bool:
    """A series and groups of digits; "BP 138 80" and "HR 96 20" are two measurements."""
    value = match["value"]
    return len(_digits(value)) >= 7 and value.split(" ")[0] not in {"BP", "HR", "RR", "WBC", "PLT", "INR", "ANC"}


def _is_mixed_code(match: re.Match[str]) -> bool:
    """A serial number's look: seven characters or more, letters and digits, four digits or more, no known notation."""
    value = match["value"]
    digits = sum(map(str.isdigit, value))
    letters = sum(map(str.isalpha, value))
    return digits >= 4 and letters >= 1 and digits + letters >= 7 and not _NOTATION.fullmatch(value)


# Dates, doses, obstetric history, variants and antigens that mix letters and digits as well.
_NOTATION: Final = re.compile(
    r"(?i)\d+(?:x\d+)+\w*|\d{1,2}[a-z]{3}\d{2,4}|[a-z]{3,5}\d{1,4}|g\d{1,2}p\d{1,4}\w*|\d+g\d+p\d+|"
    r"t\d\w?n\d\w?m\d\w?|\d+(?:mg|mcg|ml|cm|mm|units?|iu|kg|lbs?|gm|hrs?|h|am|pm|min)\w{0,3}|"
    r"h\d+n\d+|(?:[a-z]\d){2,4}|(?:[cdlst]\d{1,2}){2}|cpt\d{5}|[jg]\d{4}"
)


def _is_digit_groups(match: re.Match[str]) -> bool:
    """Seven digits or more in groups; ``0845-1230`` are hours, an NDC names a drug, ``1450-1750`` a range."""
    value = match["value"]
    parts = value.split("-")
    if len(parts) == 2 and (len(parts[0]) == len(parts[1]) or all(map(_is_clock, parts))):
        return False
    before = match.string[max(0, match.start() - 6) : match.start()].upper()
    return len(_digits(value)) >= 7 and not before.rstrip(" :#").endswith(
        ("NDC", "CPT", "CAS", "RIGHT", "LEFT", "LIMB")
    )


def _is_clock(part: str) -> bool:
    return re.fullmatch(r"(?:[01]\d|2[0-3])[0-5]\d", part) is not None


ROWS: Final[tuple[Row, ...]] = (
    # --- social security ---
    Row(
        name="ssn",
        label="SSN",
        pattern=re.compile(r"(?<![\w\-.])(?P<value>\d{3}([- ])\d{2}\2\d{4})(?![\w]|-\w)"),
        digits=frozenset({3}),
        after="- ",
        check=_is_ssn,
    ),
    Row(
        name="ssn-labelled",
        label="SSN",
        pattern=re.compile(
            r"(?:ss(?:n|#|an)?|social(?:[ ]security)?(?:[ ](?:number|no|num|#))?\.?)(?![^\W\d_])(?:[ ](?:number|no|"
            r"is|verified|card))?[ \t]{0,8}[#:=.]{0,6}[ \t]{0,10}(?P<value>\d{3}[- ]?\d{2}[- ]?\d{4})(?!\d)",
            re.IGNORECASE,
        ),
        words=frozenset({"ss", "ssn", "ssan", "social"}),
        labelled=True,
    ),
    Row(
        name="ssn-masked",
        label="SSN",
        pattern=re.compile(r"(?<!\w)(?:[xX*#]{3}-?[xX*#]{2}-?)(?P<value>\d{4})(?!\w)"),
        digits=frozenset({4}),
        lookback=8,
        before="-xX*#",
    ),
    Row(
        name="ssn-last-four",
        label="SSN",
        pattern=re.compile(
            r"(?:last[ ]?(?:4|four)(?:[ ](?:digits|of|ssn|ss|ss#|social|for|the|va|is|are)){0,4}|ssn?[ ](?:ends|"
            r"ending|last[ ]?(?:4|four))(?:[ ](?:in|with))?)[ \t]{0,2}[:#(]{0,2}[ \t]{0,4}(?:xxx-?xx-?)?"
            r"(?P<value>\d{4})(?!\w|[-/.]\d)",
            re.IGNORECASE,
        ),
        words=frozenset({"last", "ss", "ssn"}),
        labelled=True,
    ),
    # --- record numbers ---
    _labelled(
        "record-mrn", "MEDICALRECORD", "mrn mrns umrn hrn urn nhi chi uhid", "mrns?|umrn|hrn|urn|nhi|chi|uhid", least=3
    ),
    _labelled("record-mr", "MEDICALRECORD", "mr", r"mr|m\.r\.", case=False, marked=True),
    _labelled("record-mr-bare", "MEDICALRECORD", "mr", r"MR(?=[ \t:#\n])", case=True, least=6),
    _labelled(
        "record-medical",
        "MEDICALRECORD",
        "medical med health hospital hosp record rec",
        r"(?:medical|med\.?|health|hosp(?:ital)?\.?)[ ](?:record|rec|mrn|chart|unit)|(?:hosp(?:ital)?)[ ](?:no|"
        r"number|num|id|#)|record[ ](?:no|number|#)",
    ),
    _labelled(
        "record-chart",
        "MEDICALRECORD",
        "chart dossier folder exp expediente cr",
        "chart|dossier|folder|expediente|eh-chart",
        least=4,
    ),
    _labelled(
        "record-patient-number",
        "MEDICALRECORD",
        "patient pt pat",
        r"(?:patient|pt|pat)\.?(?:[ ]?(?:id|no|num|number|nbr))?",
        marked=True,
        least=4,
    ),
    _labelled("record-uk", "MEDICALRECORD", "nhs hn ur nric hkid rio", r"nhs|hn|ur|(?:id/)?nric|hkid|rio", least=5),
    Row(
        name="record-nhs-number",
        label="MEDICALRECORD",
        pattern=re.compile(r"(?<![\w+./\-])(?P<value>\d{3}[ ]\d{3}[ ]\d{4})(?![\w/]|[-.]\d)"),
        digits=frozenset({3}),
        after=" ",
        check=_is_nhs,
        weak=True,
    ),
    # --- plans ---
    _labelled(
        "plan-member",
        "HEALTHPLAN",
        "member mbr subscriber subscr beneficiary enrollee",
        r"(?:member|mbr|subscriber|subscr|beneficiary|enrollee)(?:ship)?(?:[ ](?:id|no|number|num|#))?",
        least=5,
    ),
    _labelled(
        "plan-policy",
        "HEALTHPLAN",
        "policy pol",
        r"policy|pol\.",
        least=5,
    ),
    _labelled("plan-group", "HEALTHPLAN", "group grp gp", r"group|grp|gp", marked=True, least=4),
    _labelled("plan-group-bare", "HEALTHPLAN", "group grp gp", r"group|grp|gp", least=6, weak=True),
    _labelled(
        "plan-public",
        "HEALTHPLAN",
        "medicare medicaid mcare mcaid medi mbi hic hicn hcn phn ohip ramq nhif mcd pps gms tricare dbn medical",
        r"(?:medicare|medicaid|mcaid|mcare|mcd|medi-?cal|medi-?care)(?:[ ](?:id|no|number|num|mbi|hic|hicn|card|"
        r"claim|state|part d))*|mbi|hicn?|hcn|phn|ohip|ramq|nhif|gms|medical[ ]card|dbn",
        least=6,
    ),
    _labelled(
        "plan-insurance",
        "HEALTHPLAN",
        "insurance ins plan coverage hmo ppo payer tpa card cert",
        r"(?:insurance|ins|plan|coverage|payer|hmo|ppo|tpa|health[ ]plan)(?:[ ](?:id|no|number|num|policy|card|"
        r"member))|(?:insurance|ins)",
        least=6,
        marked=False,
        weak=False,
    ),
    Row(
        name="plan-name-id",
        label="HEALTHPLAN",
        pattern=re.compile(
            r"(?:aetna|cigna|humana|anthem|regence|kaiser|bcbs\w{0,4}|bc/bs|blue[ ](?:cross|shield)"
            r"(?:[ ]blue[ ]shield)?|uhc|unitedhealthcare|tricare|medigap|premera|molina|centene|wellcare|caloptima|"
            r"bupa|vhi|laya|medibank)"
            rf"[ \t,:#]{{0,4}}(?i:(?:member[ ])?(?:id|no|#|policy|mbr)?)[ \t:#.]{{0,4}}(?P<value>{_ID})(?!\w|-\w)",
            re.IGNORECASE,
        ),
        words=frozenset(
            "aetna cigna humana anthem regence kaiser bcbs bcbsnc bcbsma bc blue uhc unitedhealthcare tricare "
            "medigap premera molina centene wellcare caloptima bupa vhi laya medibank".split()
        ),
        check=_at_least(6),
        labelled=True,
    ),
    Row(
        name="plan-medicare-mbi",
        label="HEALTHPLAN",
        # Centers for Medicare & Medicaid Services: the MBI is C A AN N A AN N A A N N, dashes for reading only.
        pattern=re.compile(r"(?<!\w)(?P<value>[1-9][A-Z][A-Z0-9]\d-?[A-Z][A-Z0-9]\d-?[A-Z]{2}\d{2})(?!\w)"),
        digits=frozenset({1}),
        after="x",
        then="ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    ),
    Row(
        name="plan-medicare-old",
        label="HEALTHPLAN",
        pattern=re.compile(r"(?<![\w\-])(?P<value>\d{3}-\d{2}-\d{4}-?[A-DTW][0-9]?)(?!\w)"),
        digits=frozenset({3}),
        after="-",
        labelled=True,
    ),
    # --- accounts ---
    _labelled(
        "account",
        "ACCOUNT",
        "account acct accts acc folio",
        r"accounts?|accts?|folio",
        least=4,
    ),
    _labelled("account-acc", "IDNUM", "acc accn access accession accs", r"acc(?:ession|n|ess|s)?\.?", least=4),
    _labelled(
        "account-encounter",
        "ACCOUNT",
        "csn fin har encounter enc contact",
        r"csn|fin|har|enc(?:ounter)?(?:[ ](?:id|no|num|number|#))?",
        least=5,
    ),
    _labelled(
        "account-visit",
        "ACCOUNT",
        "visit hospital ip op ipd opd",
        r"(?:visit|ip|op|ipd|opd)(?:[ ](?:no|id|number|num|#))?",
        marked=True,
        least=5,
    ),
    _labelled("account-visit-bare", "ACCOUNT", "visit", r"visit", least=7),
    _labelled(
        "account-invoice",
        "ACCOUNT",
        "invoice inv receipt rcpt stmt statement bill",
        r"invoice(?:[ ]inv)?|inv|receipt|rcpt|stmt|statement|bill",
        marked=False,
        least=5,
    ),
    Row(
        name="account-card-ending",
        label="ACCOUNT",
        pattern=re.compile(
            r"(?:card|acct|account)[ ](?:ending|ends|end)(?:[ ](?:in|with|w/))?[ ]?(?P<value>\d{4})(?!\w)",
            re.IGNORECASE,
        ),
        words=frozenset({"card", "acct", "account"}),
        labelled=True,
    ),
    # --- licences ---
    Row(
        name="license-dea-valid",
        label="LICENSE",
        pattern=re.compile(r"(?<!\w)(?P<value>[A-Za-z][A-Za-z9]\d{7})(?!\w)"),
        codes=True,
        check=_is_dea,
    ),
    Row(
        name="license-npi-valid",
        label="LICENSE",
        pattern=re.compile(r"(?<![\w.\-/])(?P<value>[12]\d{9})(?![\w\-]|\.\d)"),
        digits=frozenset({10}),
        check=_is_npi,
        weak=True,
    ),
    _labelled("license-npi", "LICENSE", "npi dea upin clia", r"npi|dea|upin|clia", least=5),
    _labelled(
        "license",
        "LICENSE",
        "license licence lic lics licensed",
        r"(?:driver['’]?s?[ ])?lic(?:ens|enc)?(?:e|ed)?s?\.?",
        least=4,
    ),
    _labelled("license-driver", "LICENSE", "dl cdl oln", "C?DL|OLN", case=True, least=5),
    _labelled(
        "license-certificate",
        "LICENSE",
        "cert certificate certification registry registration regn reg",
        r"(?:cert(?:ificat(?:e|ion))?|registry|registration|regn?)",
        marked=True,
        least=4,
    ),
    _labelled("license-certificate-bare", "LICENSE", "cert certificate", r"cert(?:ificate)?", least=6, weak=True),
    _labelled(
        "license-council",
        "LICENSE",
        "gmc nmc imc mcnz ahpra cpso hcpc kmpdc mcr hpcsa prc gphc rcvs provider nmbi corp",
        r"gmc|nmc|imc|mcnz|ahpra|cpso|hcpc|kmpdc|mcr|hpcsa|prc|gphc|nmbi|provider",
        least=5,
    ),
    Row(
        name="license-after-credential",
        label="LICENSE",
        pattern=re.compile(
            r"(?:RN|LPN|RPh|LCSW|LMSW|MD|DO|NP|PA-C|EMT-P|RRT|PT|OTR)[ ]{1,2}#[ ]?(?P<value>[A-Z]{0,2}\d{4,8})(?!\w|"
            r"-\w)"
        ),
        words=frozenset("rn lpn rph lcsw lmsw md do np pa emt rrt pt otr".split()),
        weak=True,
    ),
    # --- vehicles ---
    Row(
        name="vehicle-vin",
        label="VEHICLE",
        pattern=re.compile(r"(?<!\w)(?P<value>[A-HJ-NPR-Z0-9]{17})(?!\w)"),
        digits=frozenset(range(1, 5)),
        after="x",
        before=" \t\n:#(,",
        check=_is_vin,
    ),
    Row(
        name="vehicle-vin-letters-first",
        label="VEHICLE",
        pattern=re.compile(r"(?<!\w)(?P<value>[A-HJ-NPR-Z][A-HJ-NPR-Z0-9]{16})(?!\w)"),
        codes=True,
        check=_is_vin,
    ),
    Row(
        name="vehicle-vin-labelled",
        label="VEHICLE",
        pattern=re.compile(
            r"vin\b(?i:[ ](?:no|number|#|is|ends|ending|given to \w{1,12}|in|:)){0,3}[ \t:#.]{0,4}"
            r"(?P<value>[A-HJ-NPR-Z0-9]{5,17})(?!\w)",
            re.IGNORECASE,
        ),
        words=frozenset({"vin"}),
        check=_at_least(5),
        labelled=True,
    ),
    Row(
        name="vehicle-plate",
        label="VEHICLE",
        pattern=re.compile(
            r"(?i:(?:license[ ]|licence[ ]|lic\.?[ ]|number[ ]|truck[ ]|vehicle[ ]|veh[ ]|disabled[ ]|radio[ ])?"
            r"(?:plates?|tag|rego|registration|index|plaque|tail|hull|medallion))(?![^\W\d_])(?i:[ ](?:no|number|"
            r"num|#|is|was|reads?))?\.?[ \t]{0,2}[:#(,]{0,2}[ \t]{0,6}"
            r"(?:(?-i:[A-Z]{2,3})[ ])??(?P<value>(?=[A-Z0-9 \-]{0,9}\d)(?=[A-Z0-9 \-]{0,9}[A-Z])(?-i:[A-Z0-9]{1,7}"
            r"(?:[ -][A-Z0-9]{1,7}){0,3}))(?!\w|-\w)"
        ),
        words=frozenset(
            "license licence lic plate plates tag rego registration index plaque tail medallion truck vehicle "
            "veh disabled radio".split()
        ),
        check=_is_plate,
        labelled=True,
    ),
    Row(
        name="vehicle-plate-car",
        label="VEHICLE",
        pattern=re.compile(
            r"(?i:car|truck|van|ambulance|pickup|suv|sedan|a/c|aircraft|helicopter|helo|unit)[ ,:(]{1,3}"
            r"(?:[A-Z]{2}[ ](?i:tag|plate)[ ])?(?P<value>(?=[A-Z0-9 \-]{0,9}\d)[A-Z]{2,3}[ -]?\d{2,4}[A-Z]{0,3}|"
            r"[A-Z]{2}\d{2}[ ][A-Z]{3}|N\d{2,4}[A-Z]{1,2}|\d[A-Z]{3}\d{3}|\d{3}-[A-Z]{3}|[A-Z]{3}-\d{4})(?!\w|-\w)"
        ),
        words=frozenset("car truck van ambulance pickup suv sedan a aircraft helicopter helo".split()),
        weak=True,
    ),
    Row(
        name="vehicle-plate-uk",
        label="VEHICLE",
        # Driver and Vehicle Licensing Agency, current style since 2001: two letters, two digits, three letters.
        pattern=re.compile(r"(?<!\w)(?P<value>[A-HJ-PR-Y][A-HJ-PR-Y]\d{2}[ ][A-HJ-PR-Z]{3})(?!\w)"),
        codes=True,
        weak=True,
    ),
    # --- devices ---
    _labelled("device-serial", "DEVICE", "serial serials ser sn", r"serials?|ser|sn", least=4, several=True),
    Row(
        name="device-lead-model",
        label="DEVICE",
        pattern=re.compile(r"(?<![\w\-/.])(?P<value>[3-9]\d{3}(?:[A-Z]{2,3})?-\d{2})(?![\w/]|-\w|\.\d)"),
        digits=frozenset({4}),
        after="-x",
        weak=True,
    ),
    Row(
        name="device-serial-slash",
        label="DEVICE",
        pattern=re.compile(rf"(?i:s/n)[ \t]{{0,2}}[:#.]{{0,2}}[ \t]{{0,8}}(?P<value>{_ID})(?!\w|-\w)"),
        words=frozenset({"s"}),
        check=_at_least(4),
        labelled=True,
    ),
    _labelled("device-lot", "DEVICE", "lot lots lote batch", r"lot[es]?|batch", least=4, several=True),
    _labelled("device-model", "DEVICE", "model mdl catalog catalogue", r"model|mdl|catalog(?:ue)?", least=4),
    _labelled("device-ref", "DEVICE", "ref", r"REF", case=True, least=4),
    _labelled(
        "device-asset",
        "DEVICE",
        "asset device loaner udi imei hugs",
        r"asset(?:[ ]tag)?|device[ ](?:id|no|serial|#)|udi|imei|loaner|hugs[ ]tag",
        least=4,
    ),
    # --- biometric ---
    Row(
        name="biometric",
        label="BIOID",
        pattern=re.compile(
            r"(?:(?:finger|palm|thumb|hand|foot|voice)[ -]?(?:print|scan|vein|geometry|impression)s?|retina"
            r"(?:l)?[ ]scan|iris(?:[ ]scan|id)?|face[ ]?id|afis|fbi|biometric|voiceprint)"
            r"(?:[ ](?:scan|template|id|code|hit|enroll?(?:ed|ment)?|no|number|class|classification|"
            rf"\([^()\n]{{1,20}}\)|#)){{0,3}}[ \t]{{0,3}}[:#(]{{0,2}}[ \t]{{0,4}}(?:AFIS[ ])?(?P<value>{_ID})(?!\w|"
            r"-\w)",
            re.IGNORECASE,
        ),
        words=frozenset(
            "finger fingerprint fingerprints palm palmprint thumb thumbprint hand voice retina retinal iris irisid "
            "face faceid afis fbi biometric voiceprint".split()
        ),
        check=_at_least(5),
        labelled=True,
    ),
    # --- everything else ---
    _labelled(
        "id-case",
        "IDNUM",
        "case cases claim claims incident inc report rpt ticket event episode occurrence complaint docket warrant",
        r"(?:case|claim|incident|inc|report|rpt|ticket|event|episode|occurrence|complaint|docket|warrant)s?",
        marked=True,
        least=3,
    ),
    _labelled(
        "id-case-bare",
        "IDNUM",
        "case claim incident ticket report event auth authorization authorisation reference referral protocol",
        r"case|claim|incident|ticket|police[ ]report|report|event",
        least=6,
    ),
    _labelled(
        "id-authorization",
        "IDNUM",
        "auth authorization authorisation preauth precert pa prior",
        r"(?:pre-?)?auth(?:ori[sz]ation)?|precert",
        least=5,
    ),
    _labelled(
        "id-reference",
        "IDNUM",
        "ref reference referral confirmation conf tracking track waybill",
        r"ref(?:erence|erral)?|conf(?:irmation)?|track(?:ing)?|waybill",
        least=5,
    ),
    _labelled(
        "id-order",
        "IDNUM",
        "order orders ord requisition req po",
        r"orders?|ord|req(?:uisition)?",
        marked=True,
        least=3,
    ),
    _labelled("id-order-bare", "IDNUM", "order ord requisition req", r"order|ord|req(?:uisition)?", least=6),
    _labelled(
        "id-specimen",
        "IDNUM",
        "specimen spec sample slide block lab path cytology isolate",
        r"specimen|spec|sample|slide|block|(?:lab|path)[ ](?:no|id|number|ref|slip)|isolate",
        least=6,
    ),
    _labelled(
        "id-job",
        "IDNUM",
        "job document doc docs dictation conf voice tid",
        r"(?:voice[ ])?job|document|doc|dictation|conf",
        marked=True,
        least=4,
    ),
    _labelled(
        "id-job-bare", "IDNUM", "job document doc conf confirmation", r"job(?:[ ]?id)?|document|doc|conf", least=5
    ),
    _labelled(
        "id-study",
        "IDNUM",
        "study protocol trial subject subj irb screening randomization",
        r"study|protocol|trial|subject|subj|irb|screening|randomi[sz]ation|rand",
        marked=True,
        least=3,
    ),
    _labelled(
        "id-study-bare",
        "IDNUM",
        "study protocol subject subj irb site crew",
        r"study|protocol|subject|subj|irb",
        least=6,
    ),
    _labelled(
        "id-prescription",
        "IDNUM",
        "rx prescription script",
        r"rx|prescription|script",
        marked=True,
        least=5,
    ),
    _labelled("id-prescription-bare", "IDNUM", "rx", r"rx", least=6, weak=True),
    _labelled(
        "id-badge",
        "IDNUM",
        "badge star shield employee emp student stu inmate offender passport visa unos donor",
        r"badge|star|shield|(?:employee|emp|student|stu|inmate|offender|donor)(?:[ ](?:id|no|number|#))?|passport|"
        r"visa|unos(?:[ ](?:id|pt id|donor id|file))?",
        least=4,
    ),
    _labelled(
        "id-interpreter",
        "IDNUM",
        "interpreter interp translator",
        r"(?:interpreter|interp|translator)(?:[ ]\w{2,12}){0,2}?",
        marked=True,
        least=3,
    ),
    _labelled("id-blood-unit", "IDNUM", "unit units", r"units?", marked=True, least=6),
    _labelled(
        "id-code",
        "IDNUM",
        "gate door lockbox access enrollment activation family key keysafe keypad pin passcode",
        r"(?:gate|door|lockbox|access|enrollment|activation|family|key)[ ]code|pin|passcode|lockbox|key[ ]?safe|"
        r"keypad(?:[ ]on[ ]\w{2,8}(?:[ ]\w{2,8})?)?",
        least=4,
        weak=True,
    ),
    _labelled("id-id", "IDNUM", "id ids", r"id", marked=False, least=4),
    _labelled("id-number", "IDNUM", "no number num", r"no|number|num", marked=False, least=6, weak=True),
    Row(
        name="id-accession",
        label="IDNUM",
        # Laboratory and imaging accession numbers: a short prefix, a two-digit year, a running number.
        pattern=re.compile(
            r"(?<![\w\-/.])(?P<value>[A-Z]{1,4}-?(?:[0-3]\d|9\d|20[0-3]\d)-\d{3,8}(?:-[A-Z]?\d{1,2})?)(?![\w/]|-\w)"
        ),
        codes=True,
    ),
    Row(
        name="id-hash",
        label="IDNUM",
        pattern=re.compile(rf"(?<![\w#])#[ ]?(?P<value>{_CHUNK})(?!\w|-\w)"),
        chars="#",
        check=_at_least(5),
        weak=True,
    ),
    Row(
        name="id-blood-donation",
        label="IDNUM",
        # ISBT 128 donation identification: letter and four, two-digit year, six-digit serial, flag characters.
        pattern=re.compile(r"(?<!\w)(?P<value>[A-Z]\d{4}[ ]?\d\d[ ]?\d{6}(?:[ ]?\d\d?)?(?:[ ][A-Z0-9](?!\w))?)(?!\w)"),
        codes=True,
    ),
    Row(
        name="id-alien-number",
        label="IDNUM",
        pattern=re.compile(
            r"(?<!\w)(?:A#?[ ])?(?P<value>A?(?:\d{3}-\d{3}-\d{3}|(?<=A)\d{9}|(?<=A)\d{3}[ ]\d{3}[ ]\d{3}))(?!\w|-\d)"
        ),
        words=frozenset({"a"}),
        labelled=True,
    ),
    Row(
        name="id-hyphened-code",
        label="IDNUM",
        pattern=re.compile(
            r"(?<![\w\-/.@#])(?P<value>[A-Z]{1,5}-(?:\d{4,12}|\d{2,6}(?:-\d{1,7}){1,3})(?:-[A-Z]{1,2}\d?)?)(?![\w/@]|"
            r"-\w|\.\d)"
        ),
        codes=True,
        check=lambda match: len(_digits(match["value"])) >= 4,
        weak=True,
    ),
    Row(
        name="id-series-groups",
        label="IDNUM",
        pattern=re.compile(
            r"(?<![\w\-/.@#])(?P<value>[A-Z]{2,4}[ ]\d{2,6}(?:[ ]\d{2,6}){1,3}(?:-\d{1,3})?|[A-Z]{3}[ ]?\d{8,12})"
            r"(?![\w/@]|-\w|\.\d)"
        ),
        codes=True,
        check=_is_series,
        weak=True,
    ),
    Row(
        name="id-letter-four",
        label="IDNUM",
        pattern=re.compile(r"(?<=\()(?P<value>[A-Z]\d{4})(?=\))"),
        codes=True,
        before="(",
        weak=True,
    ),
    Row(
        name="id-mixed-code",
        label="DEVICE",
        pattern=re.compile(
            r"(?<![\w\-/.@#])(?P<value>[A-Z]{1,4}\d[A-Z0-9]{4,17}|[A-Z]{2,4}-?\d{5,12}[A-Z]{0,2})(?![\w\-/@]|\.\w)"
        ),
        codes=True,
        check=_is_mixed_code,
        weak=True,
    ),
    Row(
        name="id-mixed-code-digits-first",
        label="DEVICE",
        pattern=re.compile(r"(?<![\w\-/.@#])(?P<value>\d{1,8}[A-Z]{1,3}\d[A-Z0-9]{2,14})(?![\w\-/@]|\.\w)"),
        digits=frozenset(range(1, 9)),
        after="x",
        then="ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        check=_is_mixed_code,
        weak=True,
    ),
    Row(
        name="id-long-digits",
        label="IDNUM",
        pattern=re.compile(r"(?<![\w\-/.#$,:+@])(?P<value>\d{6,16})(?![\w\-/%@]|[.,:]\d)"),
        digits=frozenset(range(6, 17)),
        weak=True,
    ),
    Row(
        name="id-grouped-digits",
        label="IDNUM",
        pattern=re.compile(r"(?<![\w\-/.$+@])(?P<value>\d{2,6}-\d{2,6}-\d{1,6}|\d{3,5}-\d{4,8})(?![\w\-/%]|[.,:]\d)"),
        digits=frozenset(range(2, 7)),
        after="-",
        check=_is_digit_groups,
        weak=True,
    ),
)

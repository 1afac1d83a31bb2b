"""Street addresses, post boxes, postal codes, and where in a building: rooms, beds, wards, floors."""

import re
from collections.abc import Sequence
from typing import Final

from deid_runtime.detectors.patterns.context import context_of
from deid_runtime.detectors.patterns.rows import Grade, Row
from deid_runtime.detectors.patterns.words import US_STATES, either
from deid_runtime.lexicon.calendar_words import SHORT_MONTHS
from deid_runtime.lexicon.states import states
from deid_runtime.lexicon.vocabulary import alternation, street_kinds

# --- streets -------------------------------------------------------------------------------------------------------

#: Suffixes that end a street name whatever comes before them.
_SUFFIXES: Final = street_kinds("suffix")
#: Suffixes that may also be part of the name before another suffix ("Spring Hill Road"), or a common word.
_SOFT_SUFFIXES: Final = street_kinds("soft")
#: Those that make a street of a name without a house number.
_SURE_SUFFIXES: Final = street_kinds("sure")
#: Those that do so after "on", "off", "near".
_LIKELY_SUFFIXES: Final = street_kinds("likely")
_WAY: Final = (
    r"(?:[NS][EW]|[NSEW]|North|South|East|West|Northeast|Northwest|Southeast|Southwest|NORTH|SOUTH|EAST|WEST)\b\.?"
)
_NAME_WORD: Final = (
    r"(?:[A-Z][\w'’\-]{0,20}|[A-Z][a-z]{0,2}\.|[A-Z]\.[A-Z]\.|\d{1,3}(?:st|nd|rd|th|ST|ND|RD|TH)|of|"
    r"the|de|la|del|los|las|du|y)"
)
_UNIT: Final = (
    r"(?:,?[ ](?i:apt|apartment|unit|suite|ste|fl|floor|rm|room|lot|sp|spc|space|bldg|building|bur|trlr|"
    r"no)\b\.?[ ]?#?[ ]?"
    r"(?=[\w-]{0,5}[\dA-Z])[A-Z0-9][A-Z0-9\-]{0,5}(?!\w)|,?[ ]#[ ]?\w{1,6}|,?[ ]\d{1,2}(?:st|nd|rd|th)[ ](?i:floor|"
    r"fl)\b|,?[ ]\d{1,4}[A-Z]\b)"
)
#: The dot of "St." where the address goes on; at its end it ends the sentence.
_DOT: Final = r"(?:\.(?=,|[ ]{1,2}(?:#|(?i:apt|suite|ste|unit|bldg|fl)\b|[NSEW]{1,2}\b)))?"
_HOUSE: Final = r"\d{1,6}[A-Za-z]?(?:[-–]\d{1,5})?(?:[ ]1/2)?"


def _cased(words: Sequence[str]) -> str:
    """Return an alternation of the words as Title and as UPPER: in lower case they are words like any other."""
    return either([word.title() for word in words] + [word.upper() for word in words])


_STREET_END: Final = rf"(?:{_cased(_SUFFIXES)})\b{_DOT}"
_SOFT_END: Final = rf"(?:{_cased(_SOFT_SUFFIXES)})\b"


def _is_street(match: re.Match[str]) -> bool:
    """A house number, a name and a suffix; not ``36F CT``, ``28 Fr CT`` or ``20 SQ``."""
    words = match["name"].split()
    suffix = match["suffix"].rstrip(".")
    if not words or any(word.rstrip(".").lower() in _NOT_IN_STREET for word in words):
        return False
    if suffix in ("CT", "SQ", "PT", "DR", "ST", "HWY", "PL", "PASS") and not match["name"].isupper():
        return False
    return any(len(word) > 2 or word[0].isdigit() for word in words)


_NOT_IN_STREET: Final = frozenset(
    "mg mcg ml cm mm kg ft mi min units tab tabs cap caps po bid tid qid prn hs days weeks hours patient pt dr mrs "
    "mr ms am pm percent with or and for "
    "was is at to on in by per from fr chest head".split()
) | {*SHORT_MONTHS, "sept"}

_LOWER_STREET_END: Final = (
    rf"(?:{alternation(street_kinds('lower'))}|"
    r"(?:st|dr)(?=,|$|\n| apt| unit| #))\b"
)


def _is_lower_street(match: re.Match[str]) -> bool:
    return all(word not in _NOT_IN_STREET and len(word) > 1 for word in match["name"].split())


_STREET_PREPOSITIONS: Final = frozenset("on off near along at to from of by down up".split())


def _is_street_name(match: re.Match[str]) -> bool:
    return match["first"].lower() not in (
        "the",
        "on",
        "at",
        "in",
        "from",
        "near",
        "off",
        "dr",
        "mr",
        "mrs",
        "ms",
        "same",
    )


def _is_likely_street_name(match: re.Match[str]) -> bool:
    """``on Packard St``, but not ``to Grace Dr Lopez``: after a preposition, and no name may follow."""
    context = context_of(match)
    if not _is_street_name(match) or context.last not in _STREET_PREPOSITIONS:
        return False
    return match["value"].endswith("Drive") or re.match(r"\.?[ ][A-Z][a-z]", context.after) is None


# --- postal codes --------------------------------------------------------------------------------------------------

_STATE_CODES: Final = "|".join(US_STATES)
_STATE_NAMES: Final = either(US_STATES.values())
#: Ala, Mass: abbreviations without full stops inside; and three more of those that are the name or of old.
_STATE_SHORT: Final = either(
    {*(state.short[:-1] for state in states() if state.short.count(".") == 1), "Me", "Penna", "Tex"}
)
_STATE_BEFORE: Final = re.compile(
    rf"(?:\b(?:{_STATE_CODES})|\b[A-Z]\.[ ]?[A-Z]\.|\b(?:{_STATE_NAMES})|\b(?i:{_STATE_NAMES})|\b(?:{_STATE_SHORT})"
    rf"\.?|\b(?:{_STATE_CODES.title()}))[ ,.|:]{{1,5}}"
    r"(?:ZIP:?[ ]?)?$"
)
_STREET_BEFORE: Final = re.compile(
    rf"(?:\d[\w\- ]{{0,40}}\b(?i:{either(_SUFFIXES + _SOFT_SUFFIXES)}|"
    r"box[ ]\d+)\b[^\n]{0,36}?,?[ ]{1,2}[A-Z][A-Za-z.'\- ]{2,22},?[ ]{1,2})$"
)


def _is_zip(match: re.Match[str]) -> bool:
    """Five digits after a state, or after a town that follows a street."""
    text, start = match.string, match.start("value")
    before = text[max(0, start - 28) : start]
    if _STATE_BEFORE.search(before):
        return True
    return len(match["value"]) == 10 and re.search(r"[A-Za-z][ ,]{1,2}$", before) is not None


def _is_zip_after_town(match: re.Match[str]) -> bool:
    start = match.start("value")
    return not _is_zip(match) and _STREET_BEFORE.search(match.string[max(0, start - 110) : start]) is not None


#: Names that are as often persons, towns or rivers: sure after a town and a comma, or before a postal code.
_AMBIGUOUS_STATES: Final = frozenset(state.name for state in states("ambiguous"))
_NOT_AFTER_STATE: Final = (
    "university|state|general|hospital|street|st|ave|avenue|road|rd|blvd|clinic|medical|city|jones|county|health|county"
)
#: Codes that are credentials, words or abbreviations: only with a postal code after them.
_CREDENTIAL_CODES: Final = frozenset(state.code for state in states("word"))


def _grade_state(match: re.Match[str]) -> Grade:
    value = match["value"].title()
    context = context_of(match)
    in_address = context.before.endswith(", ") or re.match(r"[ ,]{1,3}\d{5}(?!\d)", context.after) is not None
    if value in _AMBIGUOUS_STATES and not in_address:
        return (
            Grade.PROBABLE
            if context.last in ("in", "from", "to") and not re.match(r"[ ][A-Z]", context.after)
            else Grade.NO
        )
    return Grade.SURE


def _is_state_code(match: re.Match[str]) -> bool:
    """A code after a town, ``Kasson, MN``; one that is also a credential or a word wants the postal code after it."""
    if re.match(r"\.?[ ,]{1,3}\d{5}(?!\d)", match.string[match.end("value") : match.end("value") + 10]):
        return True
    before = match.string[max(0, match.start() - 20) : match.start()]
    return (
        match["value"] not in _CREDENTIAL_CODES
        and match[0].startswith(",")
        and re.search(r"[A-Z][a-z]+$", before) is not None
    )


#: Royal Mail's areas: the one or two letters a UK postcode begins with.
_UK_AREAS: Final = (
    "AB AL B BA BB BD BH BL BN BR BS BT CA CB CF CH CM CO CR CT CV CW DA DD DE DG DH DL DN DT DY E EC EH EN EX FK FY "
    "G GL GU GY HA HD "
    "HG HP HR HS HU HX IG IM IP IV JE KA KT KW KY L LA LD LE LL LN LS LU M ME MK ML N NE NG NN NP NR NW OL OX PA PE "
    "PH PL PO PR RG RH RM "
    "S SA SE SG SK SL SM SN SO SP SR SS ST SW SY TA TD TF TN TQ TR TS TW UB W WA WC WD WF WN WR WS WV YO ZE"
).split()

# --- inside buildings ----------------------------------------------------------------------------------------------


def _is_room(match: re.Match[str]) -> bool:
    """A word of place with its number; not ``or 2 tabs``, ``OR 1230`` (a time), ``POD 4`` (a day), ``bed 0255``."""
    word, number = match["word"], match["number"]
    if word.lower() in ("or", "pod") and word not in ("OR", "Pod", "pod"):
        return False
    if re.fullmatch(r"(?:[01]\d|2[0-3])[0-5]\d", number) is not None and (number[0] == "0" or word == "OR"):
        return False
    return word != "OR" or len(number) <= 2


_ROAD_WORDS: Final = frozenset(
    "on via off along take took down up at to from of past near onto over east west north south between cross".split()
)


def _is_highway(match: re.Match[str]) -> bool:
    """``SR 84`` is a rhythm, ``I-131`` an isotope, ``US 30`` a probe, unless one drives on it."""
    if match["sure"]:
        return True
    context = context_of(match)
    return (
        context.last in _ROAD_WORDS
        or re.match(r"[ ](?:exit|near|at|east|west|north|south|eb|wb|nb|sb|mp|mile|&|and)\b", context.after.lower())
        is not None
    )


_ROMAN_DIRECTION: Final = (
    r"(?:North|South|East|West|NORTH|SOUTH|EAST|WEST|Tower|Center|Central|Northeast|Northwest|Southeast|Southwest)"
)
_AFTER_NUMBER: Final = (
    r"(?!\w|/\d|[.:]\d|[ ]?(?i:mg|ml|x|times|days?|weeks?|min|minutes|hours?|hrs?|"
    r"years?|yrs?|yo|y/o|y\.o|patients?|pts?|tabs?|%|f|c|ft|feet|degrees)\b)"
)

ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="street-number",
        label="STREET",
        pattern=re.compile(
            rf"(?<![\w\-/.#$:])(?P<value>{_HOUSE}[ ](?:{_WAY}[ ])?(?P<name>(?:{_NAME_WORD}[ ]){{1,4}})"
            rf"(?P<suffix>{_STREET_END})(?:[ ]{_WAY}(?![\w']))?{_UNIT}{{0,2}})"
        ),
        digits=frozenset(range(1, 7)),
        after=" -–x",
        then="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcn",
        check=_is_street,
        labelled=True,
    ),
    Row(
        name="street-number-soft",
        label="STREET",
        pattern=re.compile(
            rf"(?<![\w\-/.#$:])(?P<value>\d{{2,6}}[ ](?:{_WAY}[ ])?(?P<name>(?:{_NAME_WORD}[ ]){{1,2}})"
            rf"(?P<suffix>{_SOFT_END}){_UNIT}{{0,2}})(?![ ][A-Z][a-z]+[ ](?:Clinic|Hospital|Center))"
        ),
        digits=frozenset(range(2, 7)),
        after=" ",
        then="ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        check=_is_street,
        weak=True,
    ),
    Row(
        name="street-numbered-road",
        label="STREET",
        pattern=re.compile(
            r"(?<![\w\-/.#$:])(?P<value>\d{1,6}[ ](?:(?:County|State|Co\.?|US|COUNTY|STATE)[ ])?(?:Avenue|Ave|AVENUE|"
            r"RD|Rd|Road|Hwy|HWY|Highway|CR|FM|Route|Rte|Rt)[ ](?:[A-Z]|\d{1,4}[A-Z]?))(?!\w|[-./]\d)"
        ),
        digits=frozenset(range(1, 7)),
        after=" ",
        then="CSUARHFR",
        labelled=True,
    ),
    Row(
        name="street-number-lower",
        label="STREET",
        pattern=re.compile(
            r"(?<![\w\-/.#$:])(?P<value>\d{2,6}[ ](?:[nsew]{1,2}[ ])?(?P<name>(?:[a-z]{2,14}[ ]){1,2}|"
            rf"\d{{1,3}}(?:st|nd|rd|th)[ ]){_LOWER_STREET_END}(?:[ ][nsew]{{1,2}}\b)?(?:,?[ ](?:apt|unit|ste|"
            r"#)[ ]?\w{1,5})?)(?![\w.])"
        ),
        digits=frozenset(range(2, 7)),
        after=" ",
        then="0abcdefghijklmnopqrstuvwxyz",
        check=_is_lower_street,
        weak=True,
    ),
    Row(
        name="street-name",
        label="STREET",
        pattern=re.compile(
            rf"(?<![\w\-/.])(?P<value>(?P<first>(?:{_WAY}[ ])?(?:[A-Z][a-z'’]{{1,16}}|\d{{1,3}}(?:st|nd|rd|th)))"
            rf"(?:[ ][A-Z][a-z'’]{{1,16}}){{0,2}}[ ](?:{either(word.title() for word in _SURE_SUFFIXES)})\b{_DOT}"
            rf"(?:[ ]{_WAY}(?!\w))?)"
        ),
        words=frozenset(_SURE_SUFFIXES),
        before=" ",
        probe=re.compile(r"[A-Z]"),
        lookback=48,
        check=_is_street_name,
    ),
    Row(
        name="street-name-likely",
        label="STREET",
        pattern=re.compile(
            rf"(?<![\w\-/.])(?P<value>(?P<first>(?:{_WAY}[ ])?(?:[A-Z][a-z'’]{{1,16}}|\d{{1,3}}(?:st|nd|rd|th)))"
            rf"(?:[ ][A-Z][a-z'’]{{1,16}}){{0,2}}[ ](?:{either(word.title() for word in _LIKELY_SUFFIXES)})\b"
            rf"(?:[ ]{_WAY}(?!\w))?)"
        ),
        words=frozenset(_LIKELY_SUFFIXES),
        before=" ",
        probe=re.compile(r"[A-Z]"),
        lookback=48,
        check=_is_likely_street_name,
        weak=True,
    ),
    Row(
        name="street-ordinal",
        label="STREET",
        pattern=re.compile(
            rf"(?<![\w\-/.])(?P<value>(?:[NSEW]|[NS][EW]|North|South|East|West)\.?[ ]\d{{1,3}}(?:st|nd|rd|th)"
            rf"(?:[ ](?:St|Street|Ave|Avenue|Pl|Place)\b{_DOT})?)(?!\w|[ ](?:floor|fl)\b)"
        ),
        words=frozenset("n s e w ne nw se sw north south east west".split()),
        check=lambda match: context_of(match).last not in ("alden", "ward", "floor"),
    ),
    Row(
        name="street-box",
        label="STREET",
        pattern=re.compile(
            r"(?<!\w)(?P<value>(?:p\.?[ ]?o\.?[ ]?box|post office box|(?:hc|rr|rt|rte|route|"
            r"rural route)\.?[ ]#?\d{1,4},?[ ]box)[ ]#?(?:\d{1,6}[A-Z]?|[A-Z]{1,2}\d{0,5}))(?!\w)",
            re.IGNORECASE,
        ),
        words=frozenset("p po pob post hc rr rt rte route rural".split()),
        labelled=True,
    ),
    Row(
        name="street-apartment",
        label="STREET",
        pattern=re.compile(
            r"(?<!\w)(?P<value>(?i:apt|apartment)\b\.?[ ]?#?[ ]?(?:\d{1,5}[A-Za-z]?|[A-Z]\d{0,3})(?:-\d{1,4})?)(?!\w|"
            r"[./]\d)"
        ),
        words=frozenset({"apt", "apartment"}),
        weak=True,
    ),
    Row(
        name="state-name",
        label="STATE",
        pattern=re.compile(
            rf"(?<![\w\-])(?P<value>(?:{_cased(list(US_STATES.values()))}))(?![\w\-]|[ ](?:(?i:{_NOT_AFTER_STATE})\b|"
            r"[A-Z]\.[ ]))"
        ),
        words=frozenset(name.split()[0].lower() for name in US_STATES.values()),
        check=_grade_state,
        weak=True,
    ),
    Row(
        name="state-code",
        label="STATE",
        pattern=re.compile(
            rf"(?<=[a-zA-Z.])(?:,[ ]|[ ])(?P<value>{_STATE_CODES})(?:\.?(?=[ ,]{{1,3}}\d{{5}}(?!\d))|(?=[.,;)\n]|"
            r"[ ]{2}|$))"
        ),
        words=frozenset(code.lower() for code in US_STATES),
        probe=re.compile(r"[A-Z]{2}(?![A-Za-z])"),
        lookback=2,
        check=_is_state_code,
        weak=True,
    ),
    Row(
        name="zip-state",
        label="ZIP",
        pattern=re.compile(r"(?<![\w\-/.])(?P<value>\d{5}(?:-\d{4})?)(?![\w]|-\d|[./,]\d)"),
        digits=frozenset({5}),
        check=_is_zip,
        labelled=True,
    ),
    Row(
        name="zip-town",
        label="ZIP",
        pattern=re.compile(r"(?<![\w\-/.])(?P<value>\d{5})(?![\w]|-\d|[./,]\d)"),
        digits=frozenset({5}),
        check=_is_zip_after_town,
        weak=True,
    ),
    Row(
        name="zip-labelled",
        label="ZIP",
        pattern=re.compile(
            r"(?:zip|postal|post|postcode)(?:[ ]?code)?[ \t]{0,2}[:#.]{0,1}[ \t]{0,6}(?P<value>\d{5}(?:-\d{4})?|"
            r"\d{4}|[A-Z]{1,2}\d[A-Z\d]?[ ]?\d[A-Z]{2}|[A-Z]\d[A-Z][ ]?\d[A-Z]\d)(?!\w)",
            re.IGNORECASE,
        ),
        words=frozenset("zip postal post postcode".split()),
        labelled=True,
    ),
    Row(
        name="postcode-uk",
        label="ZIP",
        pattern=re.compile(rf"(?<!\w)(?P<value>(?:{either(_UK_AREAS)})\d[A-Z\d]?[ ]\d[ABD-HJLNP-UW-Z]{{2}})(?!\w)"),
        codes=True,
    ),
    Row(
        name="postcode-canada",
        label="ZIP",
        pattern=re.compile(r"(?<!\w)(?P<value>[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z][ ]\d[ABCEGHJ-NPRSTV-Z]\d)(?!\w)"),
        codes=True,
    ),
    Row(
        name="postcode-ireland",
        label="ZIP",
        pattern=re.compile(r"(?<!\w)(?P<value>(?:[AC-FHKNPRTV-Y]\d{2}|D6W)[ ][0-9AC-FHKNPRTV-Y]{4})(?!\w)"),
        codes=True,
        check=lambda match: any(char.isalpha() for char in match["value"][4:]),
    ),
    Row(
        name="postcode-australia",
        label="ZIP",
        pattern=re.compile(
            r"(?<!\w)(?:NSW|VIC|QLD|TAS|ACT|Vic|Qld|Tas|SA|WA|NT)[ ,]{1,3}(?P<value>\d{4})(?!\w|[-./:]\d)"
        ),
        words=frozenset("nsw vic qld tas act sa wa nt".split()),
    ),
    Row(
        name="postcode-india",
        label="ZIP",
        pattern=re.compile(r"(?<=[a-zA-Z])[ ]{0,2}[-–][ ]{0,2}(?P<value>[1-8]\d{2}[ ]?\d{3})(?!\w|-\d)"),
        digits=frozenset({3, 6}),
        probe=re.compile(r"[1-8]\d{2}[ ]?\d{3}"),
        lookback=5,
        before=" -–",
        weak=True,
    ),
    Row(
        name="room-label",
        label="LOCATION-OTHER",
        pattern=re.compile(
            r"(?i:rooms?|rms?|bed|ward|location|loc|bay|theatre|cabin|homeroom|station|floor|level|housing)[ \t]?"
            r"(?:\#|(?i:no)\.?)?[:#][ \t]{0,8}"
            r"(?P<value>(?:[A-Z]{1,4}[ -]?)?\d{1,4}[A-Z]{0,2}(?:-[A-Z0-9]{1,4}){0,2}(?:[ ][A-Z](?!\w))?)(?!\w|"
            r"[./:]\d|[ ](?:now|left|of)\b)"
        ),
        words=frozenset(
            "room rooms rm rms bed ward location loc bay theatre cabin homeroom station floor level housing".split()
        ),
        labelled=True,
    ),
    Row(
        name="room-running",
        label="LOCATION-OTHER",
        pattern=re.compile(
            r"(?<!\w)(?P<value>(?:(?P<word>rm|room|bed|bay|ward|pod|cubicle|chair|bldg|locker|cell|cabin|OR|LDR|"
            r"trauma[ ]bay|exam[ ]room)[ ]{1,2}#?(?P<number>\d{1,4}[A-WYZ]?|[A-Z]\d{1,4})"
            rf"(?:-[A-Za-z0-9]{{1,4}})?)(?:,?[ ](?:bed|chair|cell|rm|room)[ ]\d{{1,3}}[A-Z]?)?){_AFTER_NUMBER}",
            re.IGNORECASE,
        ),
        words=frozenset("rm room bed bay ward pod cubicle chair bldg locker cell cabin or ldr trauma exam".split()),
        check=_is_room,
    ),
    Row(
        name="room-glued",
        label="LOCATION-OTHER",
        pattern=re.compile(r"(?<!\w)(?P<value>(?:rm|room|bed)\d{1,4}[A-Z]?)(?!\w|[-./:]\d)"),
        words=frozenset({"rm", "room", "bed"}),
        weak=True,
    ),
    Row(
        name="ward-direction",
        label="LOCATION-OTHER",
        pattern=re.compile(
            rf"(?<![\w\-/.])(?P<value>\d{{1,2}}[ ]{_ROMAN_DIRECTION}(?:,?[ ](?:rm|room|bed)?[ ]?\d{{2,4}}[A-Z]?)?)"
            r"(?![\w]|[ ](?:[A-Z][a-z]+[ ])?(?:St|Ave|Street|Avenue|Road|Rd|Main)\b)"
        ),
        digits=frozenset({1, 2}),
        after=" ",
        then="NSEWTC",
    ),
    Row(
        name="floor",
        label="LOCATION-OTHER",
        pattern=re.compile(r"(?<![\w\-/.])(?P<value>\d{1,2}(?:st|nd|rd|th)[ ](?:floor|fl)\b)", re.IGNORECASE),
        digits=frozenset({1, 2}),
        after="x",
        then="snrtSNRT",
    ),
    Row(
        name="floor-number",
        label="LOCATION-OTHER",
        pattern=re.compile(r"(?<!\w)(?P<value>(?:floor|level|lvl)[ ]\d{1,2})(?!\w|[./:%-]\d)", re.IGNORECASE),
        words=frozenset({"floor"}),
        weak=True,
    ),
    Row(
        name="highway",
        label="LOCATION-OTHER",
        pattern=re.compile(
            r"(?<![\w-])(?P<value>(?:(?P<sure>(?:(?:US|State|County|Interstate|STATE|COUNTY)[ ](?:Hwy|Highway|Route|"
            r"Rte|Rt|HWY|ROUTE|HIGHWAY)|Hwy|HWY|hwy|Highway|highway|HIGHWAY|Rte|rte|Interstate)[ ]?\d)|"
            r"(?:I-|I |US[ -]|Route |SR |CR |FM )\d)\d{0,3}[A-Z]?)(?!\w|[-./:]\d|,\d{3})"
        ),
        words=frozenset("us state county interstate i hwy highway rte route sr cr fm".split()),
        check=_is_highway,
    ),
    Row(
        name="highway-exit",
        label="LOCATION-OTHER",
        pattern=re.compile(
            r"(?<!\w)(?P<value>(?:Exit|exit|EXIT|Mile Marker|mile marker|MM|milepost|Milepost)[ ]\d{1,3}[A-Z]?)(?!\w|"
            r"[-./:]\d)"
        ),
        words=frozenset("exit mile milepost".split()),
    ),
)

"""Amounts: numbers with a unit, doses, ranges, rates, vaccine series."""

import re
from typing import Final

from deid_runtime.detectors.clinical.rows import ClinicalRow
from deid_runtime.lexicon.tables import listed_words

_UNITS: Final = (
    r"(?:m[cg]g?|[unp]g|µg|μg|kg|kilos?|lbs?|pounds|oz|ounces|gm|gms|grams?|g(?![ ]?\d)|m[lL]|cc|dL|"
    r"liters?|litres?|lpm|LPM|cm|mm|"
    r"microns?|µm|um|inch(?:es)?|ft|feet|yards|yds|meters?|metres?|km|miles?|mmol|umol|µmol|nmol|pmol|mEq|meq|mOsm|"
    r"units?|IU|mIU|mU|kcal|cals|calories|k?Gy|cGy|mCi|mSv|kV|mA|mV|Hz|kHz|MHz|dB|joules?|watts?|METs?|"
    r"mm[ ]?Hg|mmhg|cm[ ]?H2O|cmH2O|torr|psi|bpm|breaths?|beats?|rpm|°[ ]?[CF]?|degrees?|deg|cells?|"
    r"copies|CFU|WBCs?|RBCs?|"
    r"ppm|ppd|packs?|pack-years?|pk-yrs?|pack years?|cigs?|cigarettes|drinks|beers|glasses|cups|cans|bottles|"
    r"tabs?|tablets?|caps|capsules?|puffs?|sprays?|gtts?|patches|pills|fractions|reps|PVCs|PACs|"
    r"flights|laps|pillows?|stitches|staples|screws|"
    r"minutes?|mins?|hours|hrs|seconds?|secs?|"
    r"msec|French|Fr|gauge|diopters?|PD|percent|percentile|%ile|centile|"
    r"x[ ]?ULN|times normal)"
)
_TAIL: Final = (
    r"(?![^\W_])(?:/(?:kg|min|hr?|day|d|dL|dl|mL|ml|L|wk|week|dose|m2|hpf|lpf|mm3|uL|µL|24[ ]?h(?:rs?)?|"
    r"kg/min|kg/hr?|kg/day)\b){0,2}"
)
_VACCINES: Final = listed_words("clinical_words", "vaccine")

ROWS: Final = (
    ClinicalRow(
        name="amount",
        kind="amount",
        # "25 mg", "10-12 beats", "5 x 3 cm". Fractions are excluded, because a unit may follow a date: "10/20 stairs"
        pattern=(
            r"(?<![\d/.\-])(?:\d{1,4}(?:[.,]\d{1,4})?[ ]?(?:[-–x×]|to|by|or)[ ]?){0,2}\d{1,6}(?:[.,]\d{1,4})?"
            rf"(?:[ ]?{_UNITS}|-(?=[A-Za-z]{{2}}){_UNITS}){_TAIL}(?!-?[ ]?old\b)"
        ),
        at_numbers=True,
        after=" .,-–x×%°",
        check=lambda match: re.match(r"\d{3}-\d{3}|\d{1,2}-\d{1,2}-", match[0]) is None,
    ),
    ClinicalRow(
        name="amount-litres",
        kind="amount",
        # "L" alone can also mean left.
        pattern=(
            r"(?<![\d/.\-])(?:\d{1,2}(?:\.\d)?[ ]?[-–][ ]?)?\d{1,2}(?:\.\d{1,2})?[ ]?L(?=/|[,;.)]|[ ]?$|[ "
            r"](?:NC|nc|O2|o2|via|of|HFNC|HF|fluids?|IVF|bolus|"
            r"LR|NS|nasal|mask|flow|oxygen|overnight|neg|pos|net|total|per|at|by|home|in|out|removed|"
            r"drained|ascites|paracentesis|"
            r"and|now|today|with|on|over|daily|a|UF|off|cannula)(?![\w]))"
        ),
        at_numbers=True,
        after=" .-–x",
    ),
    ClinicalRow(
        name="amount-ratio",
        kind="amount",
        # "2.5/325 mg", "160/4.5 mcg"; "1/2 tab" has its own row
        pattern=(
            r"(?<![\d/.\-])\d{1,4}(?:\.\d{1,3})?[ ]?/[ ]?\d{1,4}(?:\.\d{1,3})?(?:[ ]?/[ ]?\d{1,3})?[ "
            r"]?(?:mg|mcg|mL|ml|units|%|g/mL|puffs)(?![\w])"
        ),
        at_numbers=True,
        after="/. ",
    ),
    ClinicalRow(
        name="distance",
        kind="amount",
        # "a 338 m walk"; elsewhere "m" alone can also mean male or month
        pattern=(
            r"(?<![\d/.\-])(?:\d{3,4}|\d{2,4}(?=[ ]?m[ ](?:walk|without|with|sprint|dash|run|x|swim)))[ "
            r"]?m(?![\w/])(?![ ]?\.?\d)"
        ),
        at_numbers=True,
        after=" x",
    ),
    ClinicalRow(
        name="walk-distance",
        kind="amount",
        pattern=(
            r"(?:6[ -]?(?:MWT|MWD|minute walk)|(?i:walk(?:s|ed|ing)?|ambulat\w{2,4}|distance|covered|"
            r"completed))[^\n\d;]{0,24}?"
            r"(?P<value>\d{2,4}[ ]?(?:m|ft|feet|meters|metres|yards|yds)(?![\w/]))"
        ),
        words=frozenset(
            "mwt mwd walk walks walked walking ambulate ambulates ambulated ambulating ambulation distance "
            "covered completed".split()
        ),
    ),
    ClinicalRow(
        name="walk-test",
        kind="amount",
        pattern=r"6[ -]?(?:MWT|MWD|min(?:ute)?[ -]walk)",
        at_numbers=True,
        after=" -x",
    ),
    ClinicalRow(
        name="amount-percent",
        kind="amount",
        pattern=(
            r"\d{1,3}(?:\.\d{1,3})?(?:[ ]?(?:[-–/]|to)[ ]?\d{1,3}(?:\.\d{1,2})?)?[ ]?%(?:[ ]?(?:predicted|"
            r"pred|of|ile))?"
        ),
        at_numbers=True,
        after="%. -–/",
    ),
    ClinicalRow(
        name="amount-half",
        kind="amount",
        pattern=(
            r"(?:\d[ -])?(?:1/2|1/4|3/4|1/3|2/3)(?![\d/])[ ]?-?(?i:tab\w{0,4}|cup|pint|pack|ppd|bottle|"
            r"glass|can\b|mile|"
            r"block|inch|strength|NS\b|dose|(?:of )?(?:the|his|her) (?:way|dose|meal|time|tray|food)|meal|"
            r"tray|lunch|dinner|breakfast|hour|hr|"
            r"tsp|tbsp|normal saline|life|way|pill|patch|sandwich|liter|pound|lb|c\b)"
        ),
        at_numbers=True,
        after="/- ",
    ),
    ClinicalRow(
        name="dose-schedule",
        kind="amount",
        # "12 qhs", "2 tabs": a bare number before a frequency. "95 units qhs" is an amount with a unit, and has another
        # row.
        pattern=(
            r"\d{1,4}(?:\.\d{1,3})?(?:[ ]?[/-][ ]?\d{1,4}(?:\.\d{1,2})?)?[ ](?:(?i:po|iv|im|sq|subq|sc|sl|pr|inh)[ ])?"
            r"(?i:q\d{1,2}h|q[ ]?(?:am|pm|hs|day|d|od|wk|week|ac|\d{1,2}[ ]?h)|qhs|qd|qod|bid|tid|qid|"
            r"nightly|daily|prn|hs|"
            r"twice (?:a day|daily)|once (?:a day|daily)|weekly|bedtime|at bedtime|with meals|ac\b|BD|TDS|"
            r"QDS|OD|nocte|mane)(?!\w)"
        ),
        at_numbers=True,
        after=" ./-",
    ),
    ClinicalRow(
        name="rate-of",
        kind="amount",
        # "gtt at 12", "levo at 8", "running at 75", "TF at 45"
        pattern=(
            r"(?i:gtts?|drip|infusion|infusing|levo|levophed|norepi|norepinephrine|epi|vaso|vasopressin|neo|"
            r"phenylephrine|prop|"
            r"propofol|fentanyl|versed|midazolam|precedex|dexmedetomidine|heparin|insulin|dobutamine|"
            r"dopamine|milrinone|"
            r"amio|cardizem|diltiazem|nicardipine|cleviprex|nitro|NTG|ketamine|bival|argatroban|lasix|bumex|oxytocin|"
            r"pitocin|pit|mag|TFs?|tube feeds?|TPN|PPN|MIVF|IVF|NS|LR|D5\w{0,6}|jevity|osmolite|nepro|vital|glucerna|"
            r"titrated|running|basal)[ ]{1,2}(?:gtt|drip|infusion|running|rate|now|up|down|infusing|going|"
            r"currently)?[ ]?"
            r"(?:@|at|to|of|from)[ ]?\d{1,4}(?:\.\d{1,3})?(?:[ ]?(?:->|→|to)[ ]?\d{1,4}(?:\.\d{1,"
            r"3})?)?(?![\d/:]|[ ]?(?:am|pm|AM|PM)\b)"
        ),
        words=frozenset(
            "gtt gtts drip infusion infusing levo levophed norepi norepinephrine epi vaso vasopressin neo "
            "phenylephrine prop "
            "propofol fentanyl versed midazolam precedex dexmedetomidine heparin insulin dobutamine "
            "dopamine milrinone amio "
            "cardizem diltiazem nicardipine cleviprex nitro ntg ketamine bival argatroban lasix bumex "
            "oxytocin pitocin pit mag "
            "tf tfs tube tpn ppn mivf ivf ns lr d jevity osmolite nepro vital glucerna titrated running basal".split()
        ),
    ),
    ClinicalRow(
        name="vaccine-series",
        kind="vaccine",
        # "Shingrix 2/2", "Hep B 2/3 today", "COVID 3/3", "Prevnar 13", "Pneumovax 23"
        pattern=(
            r"(?i:[a-z]{2,14}(?:[ -](?:B|A|vaccine|vax|series|injection|inj|dose|shot|infusion|booster|\#)){0,3})[ ]?"
            r"(?:series[ ](?:incomplete|complete|started|done)[ ]?\(?|#|:|dose|\()?[ ]?(?P<value>[1-3][ ]?/[ "
            r"]?[23])(?![\d/])"
        ),
        words=frozenset(_VACCINES),
        check=lambda match: int(match["value"][0]) <= int(match["value"][-1]),
    ),
    ClinicalRow(
        name="vaccine-childhood",
        kind="vaccine",
        # "DTaP 4/5, IPV 3/4, Hib 4/4, PCV 4/4"
        pattern=(
            r"(?:(?:DTaP|DTP|IPV|OPV|Hib|HIB|PCV|PCV13|PCV20|HepB|Hep B|HBV|RV|MenB|MMR|Var)[ "
            r"][0-5]/[2-5](?![\d/])(?:,?[ ]{1,2}|$)){2,8}"
        ),
        words=frozenset("dtap dtp ipv opv hib pcv hepb hep hbv rv menb mmr var".split()),
    ),
    ClinicalRow(
        name="vaccine-valence",
        kind="vaccine",
        pattern=(
            r"(?i:prevnar|pcv|ppsv|pneumovax|pneumo|capvaxive|gardasil|vaxneuvance|pneumococcal)[ "
            r"-]?(?P<value>7|9|13|15|20|21|23)(?![\d/])"
        ),
        words=frozenset("prevnar pcv ppsv pneumovax pneumo capvaxive gardasil vaxneuvance pneumococcal".split()),
    ),
)

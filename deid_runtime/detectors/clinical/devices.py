"""Settings of machines and sizes of tubes: ventilators, pacemakers, pumps, catheters, lenses."""

import re
from typing import Final

from deid_runtime.detectors.clinical.forms import FILL, NUMBER, SMALL
from deid_runtime.detectors.clinical.rows import ClinicalRow

_SETTINGS: Final = (
    r"(?:PEEP|(?i:FiO2|Fi02|tidal volume|minute ventilation|Pplat|plateau pressure|driving pressure|"
    r"peak pressure|ipap|epap|peak inspiratory)|TV|Vt|"
    r"PIP|PSV|I:E|NIF|RSBI|iNO|HFNC|(?i:backup rate|lower rate|upper rate)|LRL|URL|(?i:pulse width|lead "
    r"impedance|threshold|thresholds|impedance|sensing)|"
    r"PVARP|(?i:basal rate|carb ratio|correction factor|sens factor)|ISF|ICR|RPMs?|(?i:pulsatility "
    r"index)|Qb|QB|BFR|DFR|(?i:K bath|delta P|sweep))"
)
_SIZED: Final = (
    r"(?i:foley|coude|catheter|sheath|chest tube|pigtail|drain|stent|ureteral stent|double[- ]J|"
    r"nephrostomy|PEG|G-tube|J-tube|NGT?|"
    r"OGT?|dobhoff|ETT|OETT|endotracheal tube|tube|trach|shiley|bivona|portex|LMA|iGel|i-gel|OPA|NPA|"
    r"bougie|needle|angiocath|IV|PIV|"
    r"PICC|midline|port|introducer|guide|wire|glidewire|balloon|dilator|cannula|cystoscope|scope|"
    r"resectoscope|ureteroscope|"
    r"bronchoscope|gastroscope|colonoscope|mac|miller|blade|glidescope|d-?blade|cuff|lens|IOL|implant|"
    r"screw|nail|plate|K-wires?|"
    r"pins?|suture|vicryl|monocryl|prolene|ethibond|silk|nylon|pds|chromic|stapler|load|cartridge|mesh|"
    r"graft|valve|ring|cup|head|"
    r"stem|liner|femoral component|tibial component|size|hollister|appliance|wafer|pessary|ring|"
    r"diaphragm|hearing aid battery)"
)

ROWS: Final = (
    ClinicalRow(
        name="ventilator-mode",
        kind="setting",
        # "AC 14/450/5/40", "SIMV 12, PS 10/5", "PRVC 16/400/8/50%"; but two numbers after CPAP are a date
        pattern=(
            r"(?:(?:A/C|AC|CMV|ACVC|AC/?VC|AC/?PC|VC/?AC|PC/?AC|PC/?PS|SIMV|PRVC|PCV|VC\+|APRV|HFOV|NIPPV)[ "
            r":]{1,2}\d{1,4}(?:\.\d)?%?"
            r"(?:[ ]?[/x][ ]?\+?\d{1,4}(?:\.\d)?%?){0,5}|(?:PS|PSV|BiPAP|BIPAP|bipap|SIMV/PS)[ :]{1,"
            r"2}(?:[5-9]|1\d|2\d)[ ]?/[ ]?\d{1,2}|"
            r"(?:CPAP|cpap|IPAP|EPAP)[ :]{1,2}\+?\d{1,2})(?![\d/]|[ ]\d|-\d)"
        ),
        words=frozenset("a ac cmv acvc vc pc simv prvc pcv ps psv cpap bipap aprv hfov nippv ipap epap".split()),
    ),
    ClinicalRow(
        name="ventilator-numbers",
        kind="setting",
        # "14/450/5/40": four numbers separated by slashes are never a date.
        pattern=r"\d{1,3}[ ]?/[ ]?\d{2,4}[ ]?/[ ]?\+?\d{1,3}(?:\.\d)?[ ]?/[ ]?(?:0?\.)?\d{1,3}%?(?![\d/])",
        at_numbers=True,
        after="/ ",
    ),
    ClinicalRow(
        name="machine-setting",
        kind="setting",
        pattern=rf"{_SETTINGS}(?![^\W\d_]){FILL}(?:{NUMBER}|[+]\d)(?:[ ]?[/:@-][ ]?{SMALL}){{0,3}}",
        words=frozenset(
            "peep fio fi tidal tv vt minute pip pplat plateau peak driving ipap epap psv i nif rsbi ino "
            "hfnc backup lower upper lrl "
            "url threshold thresholds sensing impedance lead pulse basal isf correction carb icr sens "
            "pvarp rpm rpms pulsatility qb "
            "bfr dfr k delta sweep".split()
        ),
        check=lambda match: re.search(r"(?<!\d)(?:19|20)\d\d(?!\d)", match[0]) is None,
    ),
    ClinicalRow(
        name="pacing-range",
        kind="setting",
        pattern=(
            r"(?i:DDDR?|VVIR?|AAIR?|DDIR?|VOO|AOO|DOO)[ ](?:at[ ]|mode[ ])?\d{2,3}(?:[ ]?[-–/][ ]?\d{2,"
            r"3}){0,2}(?![\d/])"
        ),
        words=frozenset("ddd dddr vvi vvir aai aair ddi ddir voo aoo doo".split()),
    ),
    ClinicalRow(
        name="tube-size",
        kind="size",
        # "20 Fr Foley", "14 G IV", "7.5 ETT at 23", "3-0 Vicryl"
        pattern=(
            r"(?:#[ ]?\d{1,2}|\d{1,2}(?:\.[05]|-0)|\d{1,2}(?:\.5)?[ ]?(?:F|Fr|FR|fr|French|french|G|g|ga|gauge))\.?[ ]"
            rf"(?:(?i:cuffed|uncuffed|single|double|triple|three|two|lumen|way|silicone|latex|coude|long|"
            rf"short|R|L|right|left|large|small|oral|nasal|"
            rf"pediatric|adult|ureteral|soft|non-locking|locking)[ ]){{0,3}}{_SIZED}(?![^\W\d_])"
        ),
        at_numbers=True,
        after=" .-x",
    ),
    ClinicalRow(
        name="tube-size-unit",
        kind="size",
        pattern=(
            r"#?\d{1,2}(?:\.5)?[ -]?(?:Fr\b|FR\b|French\b|french\b|gauge\b|ga\b|[gG]\b(?=[ ](?:IV|PIV|"
            r"needle|angio|R\b|L\b|in\b|AC|FA|hand|x))|F\b(?=[ ](?:sheath|cath|guide|foley|Foley|chest|pigtail)))"
        ),
        at_numbers=True,
        after=" .-x",
    ),
    ClinicalRow(
        name="tube-depth",
        kind="size",
        # "ETT at 23", "secured at 22 at the lip", "PICC 42 cm"
        pattern=(
            r"(?i:ETT|OETT|tube|NGT?|OGT?|PICC|taped|secured|advanced|lip|teeth|gum|incisors|hubbed|"
            r"catheter)(?:[ ]\d(?:\.\d)?)?(?:[ ](?:is|was|size|now|secured|taped|"
            r"placed|in|to|size))?[ ](?i:at|to|@)[ ](?:the[ ])?\d{1,2}(?:\.\d)?(?:[ ]?cm)?(?![\d/:]|[ ]?(?:am|pm)\b)"
        ),
        words=frozenset(
            "ett oett tube ng ngt og ogt picc taped secured advanced lip teeth gum incisors hubbed catheter".split()
        ),
    ),
    ClinicalRow(
        name="tube-number",
        kind="size",
        pattern=(
            r"(?:[Ss]hiley|[Bb]ivona|[Pp]ortex|LMA|ETT|OETT|[Mm]ac|MAC|[Mm]iller|[Bb]lade|[Ss]ize|iGel|"
            r"bougie)[ ](?:#|size[ ]|no\.?[ ])?[ ]?"
            r"\d(?!\d)(?:[.-]\d)?(?![\d/:]|[ ]?(?:am|pm|yo|y/o|F\b|M\b))"
        ),
        words=frozenset("shiley bivona portex lma ett oett mac miller blade size igel bougie".split()),
    ),
)

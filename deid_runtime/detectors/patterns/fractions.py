"""Words after two numbers with a slash that make them a count or a grade, not a date: ``3/14 axillary nodes``."""

import re
from typing import Final

_KINDS_OF_NODE: Final = (
    r"(?:(?:axillary|sentinel|positive|negative|pelvic|inguinal|mediastinal|regional|lymph|left|right|"
    r"para-?aortic|cervical|hilar|"
    r"biopsy|blood|core|SIRS|Ranson|Centor|Duke|Jones|Light|McDonald|tender|culture|diagnostic|major|"
    r"minor|harvested|resected)[ ]){0,3}"
)
_SIDES: Final = (
    r"(?i:throughout|bilaterally|bilat|b/l|symmetric\w{0,4}|proximally|distally|(?:in[ ])?(?:all[ ]|"
    r"both[ ])?(?:[RL]|B|Rt|Lt)?[ ]?"
    r"(?:UEs?|LEs?|RUE|LUE|RLE|LLE|BUE|BLE|EHL|DF|PF|extremities))\b"
)
#: A count out of a count: nodes with tumour, biopsies, criteria.
COUNTED: Final = re.compile(
    rf"(?P<a>\d{{1,2}})[ ]?/[ ]?(?P<b>\d{{1,2}})(?![\d/])[ ](?:of[ ](?:(?:the|his|her|their)[ "
    rf"])?)?(?i:(?-i:(?!per|on|for|with|and|from|the)(?:[a-z][a-z-]{{2,13}}|[A-Z]{{2,5}})[ "
    rf"]){{0,2}}?{_KINDS_OF_NODE}(?:nodes?|LNs?|SLNs?|cores|bottles|criteria|"
    r"points|slides|joints|tender points|axillary LNs?|glomeruli|embryos|blastocysts|oocytes|eggs|"
    r"follicles|nerves|tracts|fragments|"
    r"passes|foci|samples|swabs|smears|patches|lobes|quadrants|sperm(?:atozoa)?|limbs|muscles|vertebrae|"
    r"biopsies|specimens|"
    r"(?:migraine|headache|treatment|school)[ ](?:days|nights)|sessions|doses given|attempts|trials|"
    r"objects|words|questions|systems|pills|tablets|tabs|caps(?:ules)?|packets|readings|crescents|ports|pts|sheets|"
    r"items|blocks|beats|episodes|visits|appointments|antibodies|levels|chambers|leaflets|ribs|fingers|toes|digits|"
    r"pads|nappies|diapers|segments|arteries|vessels|stents|naevi|domains|subscales|commands|colou?rs|animals|shapes|spoons|"
    r"bites|sips|cups|lumens|electrodes|coils|zones|sinuses|ducts|sacs|fibroids|siblings|sibs|implants|molars|"
    r"canals|myotomes|dermatomes|quads|stations|aliquots|probes|components|elements|factors|"
    r"(?:bed[ ]?|side[ ]?)rails|cycles|courses|fractions|syringes|"
    r"(?:mini-?)?(?:R-)?CHOP|FOLFOX\w{0,4}|FOLFIRI\w{0,4}|FLOT|ABVD|BEACOPP|CAPOX|XELOX|FEC(?:-T|-D)?|EC-T|AC-T|TCHP?|"
    r"V[RC]D|KRd|DRd|"
    r"red flags|items|sextants|quarters|Amsel|Ranson|Centor|Beighton|"
    r"biopsy|fields|seconds|meals|feeds|days (?:a|per) week|follicles|genes|markers|exons|loci|stools|cultures|"
    r"contained|(?:globally|segmentally)(?:[ ]sclerosed)?)\b)"
)
#: A grade of a finding, each with its own maximum as the denominator.
GRADED: Final = re.compile(
    r"\d{1,2}(?:\.5)?[+\-]?[ ]?/[ ]?(?:10(?![\d/])[ ](?i:(?:\w{3,10}[ ])?(?:pain|severity|intensity|"
    r"headache)|at rest|at worst|at best|"
    r"with (?:movement|activity)|on exertion)\b|"
    rf"5[+\-]?(?![\d/])[ ](?:(?i:(?:muscle[ ]|motor[ ]|grip[ ])?(?:strength|motor|power))\b|(?:power|strength) "
    rf"in\b|(?:APB|FDI|ADM|EHL|FHL|TA|FPL|FDP|IP|DF|PF|ECRL|FCU)\b|(?i:deltoids?|biceps|triceps|quads|hamstrings|"
    rf"iliopsoas|gastrocs?)\b|{_SIDES})|"
    r"6(?![\d/])[ ](?i:(?:harsh|blowing|soft|early|late|mid|holo|crescendo|ejection|high[ -]pitched|"
    r"short|loud)?[ ]?(?:peaking[ ])?"
    r"(?:systolic|diastolic|holosystolic|[EPHM]SM|[EM]DM|SEM|murmur|ejection|pansystolic)\b)|"
    rf"[234][+\-]?(?![\d/])[ ](?:(?i:reflexes|pulses|DTRs?)\b|{_SIDES}))"
)


def is_counted(match: re.Match[str]) -> bool:
    """Return whether the count is not larger than its total."""
    return int(match["a"]) <= int(match["b"])

"""Words that several rows share: months, weekdays, holidays, states, streets. Facts of language and geography only."""

import re
from collections.abc import Iterable
from typing import Final

#: Month to its number, English first, then the French and Spanish that stand in English notes. No trailing dots.
MONTHS: Final[dict[str, int]] = {
    name: number
    for number, names in enumerate(
        (
            "january jan janvier enero ene",
            "february feb febr février fevrier fév febrero",
            "march mar mars marzo",
            "april apr avril abril abr",
            "may mai mayo",
            "june jun juin junio",
            "july jul juillet juil julio",
            "august aug août aout agosto ago",
            "september sept sep septembre septiembre setiembre",
            "october oct octobre octubre",
            "november nov novembre noviembre",
            "december dec décembre decembre diciembre dic",
        ),
        start=1,
    )
    for name in names.split()
}

WEEKDAYS: Final = frozenset(
    "monday mon tuesday tues tue wednesday weds wed thursday thurs thur thu friday fri saturday sat sunday sun "
    "lundi mardi mercredi jeudi vendredi samedi dimanche "
    "lunes martes miércoles miercoles jueves viernes sábado domingo".split()
)

SEASONS: Final = frozenset("spring summer autumn fall winter".split())

#: A year in four digits, from 1800 on; corpora whose dates were shifted reach into the 2200s.
YEAR: Final = r"(?:1[89]|2[0-2])\d\d"
#: A year in two digits, perhaps with its apostrophe.
YEAR2: Final = r"['’‘]?\d\d"

#: Two-letter codes and names of US states, Canadian provinces and Australian states.
US_STATES: Final[dict[str, str]] = {
    "AL": "Alabama", "AK": "Alaska", "AZ": "Arizona", "AR": "Arkansas", "CA": "California", "CO": "Colorado",
    "CT": "Connecticut", "DE": "Delaware", "DC": "District of Columbia", "FL": "Florida", "GA": "Georgia",
    "HI": "Hawaii", "ID": "Idaho", "IL": "Illinois", "IN": "Indiana", "IA": "Iowa", "KS": "Kansas", "KY": "Kentucky",
    "LA": "Louisiana", "ME": "Maine", "MD": "Maryland", "MA": "Massachusetts", "MI": "Michigan", "MN": "Minnesota",
    "MS": "Mississippi", "MO": "Missouri", "MT": "Montana", "NE": "Nebraska", "NV": "Nevada", "NH": "New Hampshire",
    "NJ": "New Jersey", "NM": "New Mexico", "NY": "New York", "NC": "North Carolina", "ND": "North Dakota",
    "OH": "Ohio", "OK": "Oklahoma", "OR": "Oregon", "PA": "Pennsylvania", "PR": "Puerto Rico", "RI": "Rhode Island",
    "SC": "South Carolina", "SD": "South Dakota", "TN": "Tennessee", "TX": "Texas", "UT": "Utah", "VT": "Vermont",
    "VA": "Virginia", "WA": "Washington", "WV": "West Virginia", "WI": "Wisconsin", "WY": "Wyoming", "GU": "Guam",
    "VI": "Virgin Islands",
}  # fmt: skip


def either(words: Iterable[str]) -> str:
    """Return a pattern for any of the words, the longest that fits, with common beginnings tried only once."""
    branches: dict[str, list[str]] = {}
    ends_here = False
    for word in words:
        if word:
            branches.setdefault(word[0], []).append(word[1:])
        else:
            ends_here = True
    parts = [re.escape(char) + either(rests) for char, rests in sorted(branches.items())]
    if not parts:
        return ""
    if len(parts) == 1 and not ends_here:
        return parts[0]
    return f"(?:{'|'.join(parts)})" + ("?" if ends_here else "")

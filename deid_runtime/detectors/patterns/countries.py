"""Countries whose names hold a word that is none of a name: ``Trinidad and Tobago``, ``the Netherlands``.

A closed list. A tagger that scores word by word finds such a name but for the ``and`` or ``the`` in it. An article left
before a stand-in tells that the country is one of a dozen, and reads badly: the stand-in comes without one. What names
the United States or the United Kingdom keeps its article, since its stand-in is another name of theirs.

All are weak: within a longer name, as of an embassy or a bank, they are part of that.
"""

import re
from typing import Final

from deid_runtime.detectors.patterns.rows import Row
from deid_runtime.detectors.patterns.words import either

_SAINT: Final = r"(?:Saint|St\.?)"
#: Two names with ``and`` between. The second may have an article.
_PAIRS: Final = (
    ("Antigua", "Barbuda"),
    ("Bosnia", "Her[zc]egovina"),
    ("Great Britain", "Northern Ireland"),
    (f"{_SAINT} Kitts", "Nevis"),
    (f"{_SAINT} Pierre", "Miquelon"),
    (f"{_SAINT} Vincent", "(?:the )?Grenadines"),
    ("S[ãa]o Tom[ée]", "Pr[íi]ncipe"),
    ("Serbia", "Montenegro"),
    ("Svalbard", "Jan Mayen"),
    ("Trinidad", "Tobago"),
    ("Turks", "(?:the )?Caicos"),
    ("Wallis", "Futuna"),
)
#: Short names that stand behind ``Republic of`` and the like, as the United Nations list them, and older ones.
_SHORT: Final = (
    "Afghanistan,Albania,Algeria,Andorra,Angola,Argentina,Armenia,Austria,Azerbaijan,Bahamas,Bahrain,Bangladesh,Belarus,"
    "Belgium,Benin,Bhutan,Bolivia,Botswana,Brazil,Bulgaria,Burma,Burundi,Cabo Verde,Cambodia,Cameroon,Cape Verde,Chad,"
    "Chile,China,Colombia,Comoros,Congo,Costa Rica,Côte d'Ivoire,Cote d'Ivoire,Croatia,Cuba,Cyprus,Czechoslovakia,"
    "Denmark,Djibouti,Dominica,Ecuador,Egypt,El Salvador,Equatorial Guinea,Eritrea,Estonia,Eswatini,Ethiopia,Fiji,"
    "Finland,France,Gabon,Gambia,Georgia,Germany,Ghana,Great Britain,Guatemala,Guinea,Guinea-Bissau,Guyana,Haiti,"
    "Honduras,Hungary,Iceland,India,Indonesia,Iran,Iraq,Ireland,Israel,Italy,Ivory Coast,Jordan,Kazakhstan,Kenya,"
    "Kiribati,Korea,Kosovo,Kuwait,Kyrgyzstan,Laos,Latvia,Lebanon,Lesotho,Liberia,Libya,Liechtenstein,Lithuania,"
    "Luxembourg,Macedonia,Madagascar,Malawi,Maldives,Mali,Malta,Marshall Islands,Mauritania,Mauritius,Mexico,"
    "Micronesia,Moldova,Monaco,Mongolia,Montenegro,Morocco,Mozambique,Myanmar,Namibia,Nauru,Nepal,Netherlands,Nicaragua,Niger,"
    "Nigeria,North Macedonia,Norway,Oman,Pakistan,Palau,Palestine,Panama,Paraguay,Peru,Philippines,Poland,Portugal,"
    "Qatar,Romania,Rwanda,San Marino,Saudi Arabia,Senegal,Serbia,Seychelles,Sierra Leone,Singapore,Slovakia,Slovenia,"
    "Somalia,Somaliland,South Africa,South Sudan,Spain,Sri Lanka,Sudan,Suriname,Swaziland,Sweden,Syria,Taiwan,"
    "Tajikistan,Tanzania,Thailand,Togo,Tonga,Trinidad,Tunisia,Turkey,Turkmenistan,Türkiye,Uganda,Ukraine,Uruguay,"
    "Uzbekistan,Vanuatu,Venezuela,Viet Nam,Vietnam,Yemen,Yugoslavia,Zaire,Zambia,Zimbabwe"
).split(",")
_OF_ADJECTIVES: Final = (
    r"(?:(?:Arab|Bolivarian|Co-?operative|Democratic|Eastern|Federal|Federative|Hashemite|Islamic|"
    r"Kyrgyz|Oriental|People['’]?s|Plurinational|Socialist|Swiss|Syrian|United|former) ){0,3}"
)
#: ``State of`` and ``Commonwealth of`` are also said of parts of a country: with these names alone.
_OF: Final = (
    rf"(?:{_OF_ADJECTIVES}(?:Republic|Kingdom|Principality|Sultanate|Grand Duchy|Union|Federation) of (?:the )?"
    rf"(?:{either(_SHORT)})"
    r"|(?:Plurinational |Independent )?State of (?:Bolivia|Eritrea|Israel|Kuwait|Libya|Palestine|Qatar|Samoa)"
    r"|Commonwealth of (?:(?:the )?Bahamas|Dominica|(?:the )?Northern Mariana Islands)"
    r"|Federated States of Micronesia)"
)
#: Names that are said with an article. Not those that are more than a country: "the Sudan stain", "the Congo".
_WITH_ARTICLE: Final = (
    "Bahamas,Caymans,Cayman Islands,Central African Republic,Comoros,Cook Islands,Czech Republic,Dominican Republic,"
    "Falklands,Falkland Islands,Faroes,Faroe Islands,Gambia,Holy See,Ivory Coast,Maldives,Marshall Islands,Netherlands,"
    "Philippines,Seychelles,Slovak Republic,Solomon Islands,Soviet Union,UAE,USSR,Ukraine,United Arab Emirates,Vatican"
).split(",")
#: A name in capitals behind it takes the article for itself: "the Bahamas Cruise Line".
_NO_NAME_BEHIND: Final = r"(?! (?-i:[A-Z])|-\w)"
_WHOLE: Final = (
    r"(?:United States of (?:America|Mexico)|Isle of Man|Tristan da Cunha|Union of Soviet Socialist Republics)"
)
_JOINED: Final = "|".join(f"{first}(?: (?:and|e|n|y) | ?& ?){second}" for first, second in _PAIRS)


def _spaced(pattern: str) -> re.Pattern[str]:
    """Compile, with one or two blanks for each blank, in any case."""
    blanks = pattern.replace(r"\ ", " ").replace(" ", "[ ]{1,2}")
    return re.compile(rf"(?<!\w)(?P<value>{blanks})(?!\w)", re.IGNORECASE)


ROWS: Final = (
    Row(
        name="country-pair",
        label="COUNTRY",
        pattern=_spaced(f"(?:{_JOINED})"),
        weak=True,
        words=frozenset("antigua bosnia great saint st são sao serbia svalbard trinidad turks wallis".split()),
    ),
    Row(
        name="country-of",
        label="COUNTRY",
        pattern=_spaced(f"(?:the )?{_OF}"),
        words=frozenset(
            "republic kingdom principality sultanate grand union federation state commonwealth states".split()
        ),
        lookback=60,
        weak=True,
    ),
    Row(
        name="country-article",
        label="COUNTRY",
        pattern=_spaced(f"the (?:{either(_WITH_ARTICLE)}){_NO_NAME_BEHIND}"),
        words=frozenset({"the"}),
        weak=True,
    ),
    Row(
        name="country-whole",
        label="COUNTRY",
        pattern=_spaced(_WHOLE),
        words=frozenset({"united", "isle", "tristan", "union"}),
        weak=True,
    ),
)

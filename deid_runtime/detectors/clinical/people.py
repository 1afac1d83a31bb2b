"""Ethnicity, language and religion, which name no country: ``African American``, ``speaks Arabic``, ``Irish Catholic``.

A demonym alone is kept, because it shows an origin: ``a Dutch tourist``.
"""

import re
from importlib.resources import files
from typing import Final

from deid_runtime.detectors.clinical.forms import anchors, any_of, words_of
from deid_runtime.detectors.clinical.rows import NAMES, ORIGINS, ClinicalRow

_COUNTRY: Final = frozenset({"COUNTRY", "STATE", "CITY", "LOCATION-OTHER"})
#: Peoples without a country of the same name.
_GROUPS: Final = words_of(
    "African,Asian,European,African American,African-American,African Americans,Black American,Black African,Black "
    "Caribbean,"
    "Afro-Caribbean,Afro Caribbean,"
    "Afro-American,Caucasian,Caucasians,Hispanic,Hispanics,non-Hispanic,Non Hispanic,Latino,Latina,"
    "Latinos,Latinas,Latinx,Latine,"
    "Chicano,Chicana,Asian American,Asian-American,East Asian,South Asian,Southeast Asian,South East "
    "Asian,Central Asian,"
    "Native American,American Indian,Alaska Native,Alaskan Native,Native Hawaiian,Pacific Islander,"
    "AAPI,BIPOC,First Nations,"
    "Aboriginal,Indigenous,Inuit,Metis,Métis,Maori,Māori,Torres Strait Islander,Mediterranean,Middle Eastern,Ashkenazi,"
    "Ashkenazi Jewish,Sephardic,Sephardi,Ashkenazim,Mizrahi,Cook Islands Maori,Jewish,Jew,Judaism,Hasidic,Orthodox "
    "Jewish,Eastern European,Northern European,"
    "Western European,Southern European,Anglo-Saxon,White British,White Irish,British Asian,Black "
    "British,British Pakistani,"
    "White European,Irish Traveller,Roma,Romani,Gypsy,Hmong,Karen,Kurdish,Kurd,Yoruba,Igbo,Hausa,Zulu,"
    "Xhosa,Tamil,Punjabi,"
    "Gujarati,Bengali,Sikh,Hindu,Muslim,Moslem,Islam,Islamic,Buddhist,Christian,Catholic,Roman "
    "Catholic,Protestant,Lutheran,"
    "Methodist,Baptist,Southern Baptist,Presbyterian,Episcopalian,Anglican,Pentecostal,Evangelical,"
    "Mennonite,Amish,Quaker,Mormon,"
    "Jehovah's Witness,Jehovahs Witness,Seventh-day Adventist,Seventh Day Adventist,Christian "
    "Scientist,Jain,Zoroastrian,"
    "Rastafarian,Wiccan,Pagan,Shia,Sunni,Bahai,Unitarian,Cajun,Creole,Mestizo,Arab,Persian,Slavic,"
    "Nordic,Scandinavian,Semitic,"
    "Wesleyan,Adventist,Adventists,Salvationist,Ratana,Ringatu,Copt,Copts,Druze,Alawite,Ismaili,Ahmadiyya,Ahmadi,"
    "Baha'i,Taoist,"
    "Daoist,Confucian,Shinto,Hare Krishna,Plymouth Brethren,Exclusive Brethren,Christadelphian,Hutterite,Jehovah "
    "Witness,JW,"
    "Latter-day Saint,Latter Day Saint,Melkite,Maronite,Chaldean,Yazidi,Hazara,Pashtun,Pathan,Rohingya,Uyghur,"
    "Berber,Amazigh,Fulani,"
    "Ashanti,Akan,Amhara,Tigrayan,Kikuyu,Shona,Ndebele,Sotho,Tswana,Han Chinese,Sinhalese,Telugu,Malayali,Marathi,"
    "Sindhi,Balochi,"
    "Parsi,Goan,Anglo-Indian,Eurasian,Ainu,Sami,Romany,Pasifika,Pacific Islands,Polynesian,Melanesian,Micronesian,"
    "Indo-Fijian,"
    "Fijian Indian,Cook Islander,Cook Island Maori,Indo-Caribbean,Indo-Trinidadian,Afro-Latino,Afro-Latina,"
    "Afro-Brazilian,"
    "Black Brazilian,White Hispanic,Black Hispanic,Garifuna,Mayan,Aymara,Quechua,Mapuche,Dene,Inupiat,Yup'ik,"
    "Tlingit,ATSI,CALD,"
    "Rastafari,Brahmin,Sylheti,Chittagonian,Konkani,Kashmiri,Dogra,Gurkha,Hokkien,Teochew,Peranakan,Bumiputera,"
    "Bedouin,Ayurvedic"
)
#: Languages whose names are also those of a people; they count as languages beside a word for a language.
_LANGUAGES: Final = words_of(
    "English,Spanish,French,German,Italian,Portuguese,Brazilian Portuguese,Dutch,Flemish,Danish,"
    "Swedish,Norwegian,Finnish,Icelandic,Polish,"
    "Czech,Slovak,Hungarian,Romanian,Bulgarian,Serbian,Croatian,Bosnian,Serbo-Croatian,Slovenian,"
    "Macedonian,Albanian,Greek,Turkish,"
    "Russian,Ukrainian,Belarusian,Lithuanian,Latvian,Estonian,Georgian,Armenian,Azerbaijani,Arabic,"
    "Hebrew,Yiddish,Farsi,Persian,Dari,Pashto,"
    "Kurdish,Sorani,Urdu,Hindi,Punjabi,Gujarati,Bengali,Marathi,Tamil,Telugu,Kannada,Malayalam,Nepali,"
    "Sinhala,Sinhalese,Burmese,Karen,"
    "Thai,Lao,Laotian,Khmer,Cambodian,Vietnamese,Hmong,Mandarin,Cantonese,Chinese,Toisanese,Taishanese,"
    "Taiwanese,Hokkien,Hakka,Fukienese,"
    "Japanese,Korean,Mongolian,Tibetan,Tagalog,Filipino,Ilocano,Cebuano,Visayan,Malay,Indonesian,"
    "Samoan,Tongan,Hawaiian,Chuukese,Marshallese,"
    "Swahili,Kinyarwanda,Kirundi,Lingala,Somali,Amharic,Tigrinya,Oromo,Yoruba,Igbo,Hausa,Twi,Akan,Fula,"
    "Wolof,Mandinka,Zulu,Xhosa,Afrikaans,"
    "Shona,Haitian Creole,Haitian-Creole,Haitian,Creole,Kreyol,Cape Verdean Creole,Cape Verdean,Patois,"
    "Navajo,Cherokee,Ojibwe,Lakota,Quechua,"
    "Mixteco,Mixtec,Zapotec,K'iche',Mam,Nahuatl,Kanjobal,Q'anjob'al,Welsh,Irish,Gaelic,Scots,Catalan,"
    "Basque,Romani,Maltese,ASL,BSL,"
    "American Sign Language,British Sign Language,American Sign,Uzbek,Kazakh,Tajik,Uyghur,Tatar,Chechen"
)
_DEMONYMS: Final = words_of(
    "Irish,Italian,Polish,German,French,Greek,Russian,Serbian,Ukrainian,Armenian,Ethiopian,Eritrean,"
    "Coptic,Syrian,Romanian,Bulgarian,"
    "Albanian,Assyrian,Indian,Syro-Malabar,Roman,Maronite,Eastern,Oriental,Antiochian,Southern,Free "
    "Will,Missouri Synod,Dutch,Swedish,Danish,"
    "Norwegian,Finnish,Korean,Chinese,Filipino,Mexican,Portuguese,Spanish,Scottish,English,American,"
    "African,Welsh,Russian Jewish,Iraqi,Persian,"
    "Cypriot,Kurd,Arab,Kosovan,Kosovar,Northern Irish,Ulster,Cornish,Manx,Breton,Sicilian,Sardinian,Basque,Catalan,"
    "Galician,Flemish,"
    "Walloon,Bavarian,Silesian,Ruthenian,Tatar,Chechen,Ingush,Circassian,Abkhaz,Ossetian,Azeri,Uighur,Tibetan,"
    "Taiwanese,Macanese,"
    "Hong Kong Chinese,Okinawan,Balinese,Javanese,Sundanese,Acehnese,Timorese,Papuan,Bougainvillean,Fijian,Tongan,"
    "Samoan,Niuean,"
    "Tokelauan,Tuvaluan,Kiribati,Nauruan,Chamorro,Palauan,Yapese,Pohnpeian,Chuukese,Marshallese,Tahitian,Rapa Nui,"
    "Hawaiian,"
    "Puerto Rican,Guadeloupean,Martiniquan,Curacaoan,Aruban,Bermudian,Caymanian,Anguillian,Montserratian,Kittitian,"
    "Vincentian,"
    "Quebecois,Acadian,Newfoundlander,Zanzibari,Ivorian,Burkinabe,Malagasy,Comorian,Reunionese,Seychellois,"
    "Saharawi,Emirati,Omani,"
    "Palestinian,Gazan,Yemenite,Keralite,Bihari,Assamese,Manipuri,Naga,Mizo,Khasi,Odia,Sikkimese,Ladakhi,Bhutanese,"
    "Lhotshampa"
)
#: Faiths whose names are hardly names of people.
_BELIEVERS: Final = words_of(
    "Catholic,Roman Catholic,Quaker,Mormon,Methodist,Presbyterian,Anglican,Episcopalian,Lutheran,Protestant,"
    "Pentecostal,Mennonite,Buddhist,Hindu,Muslim,Sikh,Rastafarian,Zoroastrian,Jehovah's Witness,Unitarian,"
    "Seventh-day Adventist,Adventist,Wiccan,Atheist,Agnostic,Evangelical,Sabbath,Shabbat,Eucharist,Eucharistic,Halal,"
    "Kosher"
)
_FAITHS: Final = (
    r"(?i:Catholics?|Orthodox(?: Christian)?|Protestants?|Presbyterians?|Baptists?|Methodists?|Reformed|"
    r"Lutherans?|Jewish|Jews?|Muslims?|"
    r"Christians?|Pentecostals?|Mennonites?|Methodism|Apostolic|Anglicans?|Episcopal)"
)
_SPOKEN: Final = (
    r"(?i:interpreters?|translators?|language|speaking|speakers?|only|proficien\w{1,3}|fluen\w{1,3}|"
    r"literate|literacy|dialect|translation|"
    r"interpretation|interp|subtitles|handouts?|version|consent form|materials?|pamphlets?|"
    r"instructions?|brochure|line|video interpreter|"
    r"leaflets?|booklets?|letters?|captions?|radio|television|TV|voiceover|cue cards?|flashcards?|script|signs?|"
    r"signer|audio|"
    r"phone interpreter|telephone interpreter|medical interpreter|is (?:(?:his|her|their|the) "
    r")?(?:primary|preferred|first|native|main)|"
    r"primary|preferred|and English|/English)"
)


def _peoples() -> tuple[str, ...]:
    """Return the demonyms of all countries, and the languages."""
    text = (files("deid_runtime") / "data" / "surrogates" / "countries.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return tuple(sorted({*_LANGUAGES, *_DEMONYMS, *(row[1] for row in rows if row[1])}))


_PEOPLES: Final = _peoples()

ROWS: Final = (
    ClinicalRow(
        name="people-group",
        kind="people",
        pattern=(
            rf"{any_of(_GROUPS)}s?(?![\w])(?:[ ]?/[ ]?{any_of(_GROUPS)}(?!\w))?(?:[ ](?:American|Indian|"
            rf"Native|or Latino|or Latina))?(?!\w)"
        ),
        words=anchors(_GROUPS),
        excludes=_COUNTRY,
        check=lambda match: _is_no_place(match),
    ),
    ClinicalRow(
        name="people-believers",
        kind="people",
        # "Pt Quaker, prefers silence", "a Catholic Mass"
        pattern=(
            rf"(?P<value>{any_of(_BELIEVERS)})s?(?!\w)(?=[ ](?:Mass|Bible|Sabbath|Eid|Diwali)\b|[ ]?[^\w\s]|[ ][a-z]|"
            r"[ ]?$)"
        ),
        words=anchors(_BELIEVERS),
        excludes=NAMES,
    ),
    ClinicalRow(
        name="people-faith",
        kind="people",
        pattern=(
            rf"{any_of(_DEMONYMS)}[ -]{_FAITHS}(?!\w)(?![ ](?:Church|Hospital|School|Charities|University|"
            rf"Parish|Cathedral|Diocese|Medical|Health))"
        ),
        words=anchors(_DEMONYMS),
        excludes=_COUNTRY,
    ),
    ClinicalRow(
        name="language-before",
        kind="people",
        pattern=(
            rf"(?P<value>{any_of(_LANGUAGES)}(?:[ ]?(?:/|and|or|&)[ ]?{any_of(_LANGUAGES)})?)[ \-]{{1,"
            rf"2}}{_SPOKEN}(?!\w)"
        ),
        words=anchors(_LANGUAGES),
        excludes=ORIGINS,
    ),
    ClinicalRow(
        name="language-after",
        kind="people",
        pattern=(
            rf"(?i:speaks?|spoke|speaking|spoken|understands?|reads?|language|languages|lang|tongue|"
            rf"interpreter|interpreters|fluent|translated|"
            rf"written|conversant|conducted|interpretation|video|english|limited|some|little|broken|"
            rf"bilingual|communicat\w{{1,4}})"
            r"(?:(?:[ ]?[:;,(=–-]|[ ](?:in|into|to|is|was|only|mainly|mostly|primarily|limited|some|little|"
            r"fluent|no|both|and|or|"
            r"used|preferred|spoken|at home|with|the|via|by|for|well|preference|primary|needed|requested|"
            r"required|ID)\b)[ ]?){0,4}[ ]?"
            rf"(?P<value>{any_of(_LANGUAGES)}(?:(?:,[ ]|[ ]?(?:/|and|or|&)[ ]?){any_of(_LANGUAGES)}){{0,3}})(?!\w)"
        ),
        words=frozenset(
            "speak speaks spoke speaking spoken understand understands read reads language languages lang "
            "tongue interpreter interpreters "
            "fluent translated written conversant conducted interpretation video english bilingual "
            "communicate communicates "
            "communicating".split()
        ),
        excludes=ORIGINS,
    ),
    ClinicalRow(
        name="people-pair",
        kind="origin",
        # "Turkish Cypriot", "White Scottish", "Iraqi Kurd", "Mixed White and Black Caribbean": two peoples make one
        pattern=(
            rf"(?P<value>(?:{any_of((*_PEOPLES, *_GROUPS))}|White|Black|Mixed)[ ](?:and[ "
            rf"])?{any_of((*_PEOPLES, *_GROUPS, 'white', 'Kurd', 'Arab'))})(?!\w)"
        ),
        words=anchors((*_PEOPLES, *_GROUPS, "White", "Black", "Mixed")),
        excludes=_COUNTRY,
        check=lambda match: _is_no_place(match) and match[0][0].isupper(),
    ),
    ClinicalRow(
        name="language-preferred",
        kind="people",
        # "prefers Brazilian Portuguese", "interpreter x2, Tigrinya"
        pattern=(
            rf"(?i:prefers?|preferred|native|mainly|mostly|only|fluent|leaflets?|subtitled|signed|interpreted|via|"
            rf"L1)[ :,]{{1,2}}"
            rf"(?P<value>{any_of(_LANGUAGES)})(?=[ ]?(?:[,.;)/]|$|[A-Za-z]{{2,12}}\b))(?![ ](?:Hospital|Church|"
            rf"School|food|restaurant))"
        ),
        words=frozenset(
            "prefer prefers preferred native mainly mostly only fluent leaflet leaflets subtitled signed "
            "interpreted via l".split()
        ),
        excludes=_COUNTRY,
    ),
    ClinicalRow(
        name="ethnicity",
        kind="origin",
        # "a Vietnamese man", "of Nigerian descent", "Indian diet": a people. A model that is very sure is believed.
        pattern=(
            rf"(?P<value>{any_of(_PEOPLES)}(?:[ /-](?:American|{any_of(_PEOPLES)}))?)[ -](?:and[ ]\w{{3,14}}[ ])?"
            r"(?i:(?:man|woman|male|female|lady|gentleman|boy|girl|descent|origin|heritage|ancestry|ethnicity|"
            r"extraction|parentage|grandmother|grandfather|grandparents|grandma|elder|patient|pt|child|toddler|"
            r"baby|infant|migrant|healer|remed(?:y|ies)|background|community|roots|people|household|refugee|"
            r"traveller|herbs?|herbal|foods?|diet|cuisine|cooking|tea|takeaway|mother|father|"
            r"parents|family|carers?|aide)(?!\w))"
        ),
        words=anchors(_PEOPLES),
        excludes=ORIGINS,
    ),
    ClinicalRow(
        name="ethnicity-label",
        kind="people",
        # "Ethnicity: Somali", "Race: White", "Religion: None"
        pattern=(
            rf"(?i:ethnicity|ethnic group|race|religion|faith)[ ]?[:=-][ ]{{0,2}}(?P<value>(?:not "
            rf")?{any_of((*_PEOPLES, *_GROUPS))})(?!\w)"
        ),
        words=frozenset("ethnicity ethnic race religion faith".split()),
        excludes=ORIGINS,
    ),
    ClinicalRow(
        name="demonym-term",
        kind="people",
        # Medical terms that contain a country.
        pattern=(
            r"(?i:german measles|spanish flu|japanese encephalitis|asian flu|african swine|french "
            r"(?:catheter|gauge|size|scale|press|tip|sheath)|"
            r"english bulldog|german shepherd|swiss cheese|dutch oven|brazil nuts?|turkey sandwich|turkish "
            r"bath|chinese food|mexican food|"
            r"indian food|italian food|thai food|mediterranean diet|asian diet|french fries|french toast|"
            r"greek yogurt|english muffin|canadian bacon|"
            r"american (?:college|heart|diabetes|cancer|academy|society|association|board|thoracic|medical|"
            r"urological|sign|joint|cheese|"
            r"football|psychiatric|geriatrics|lung|thyroid|burn|pain|red cross|spinal)|canadian (?:c-spine|"
            r"cardiovascular|ct head|syncope|neurological)|"
            r"european (?:society|association|league|respiratory)|british (?:thoracic|national)|american spinal|"
            r"russian (?:current|stimulation)|indian hedge|chinese restaurant|american depressive|swedish massage|"
            r"ottawa (?:ankle|knee|rules?|sah)|vienna (?:classification)|new york heart)(?!\w)"
        ),
        words=frozenset(
            "german spanish japanese asian african french english swiss dutch brazil turkey turkish "
            "chinese mexican indian italian thai "
            "mediterranean greek canadian american european british russian swedish ottawa vienna new".split()
        ),
        excludes=_COUNTRY,
    ),
)

#: Words that make the people before them part of a name: "Jewish Family Services", "Baptist Hospital", "Karen Smith".
_NAME_BEHIND: Final = re.compile(
    r"[ ](?:[A-Z][a-z]+[ ])?(?:Hospital|Church|School|Clinic|Center|Centre|Services|Medical|Health|"
    r"University|Home|Parish|Temple)\b"
)


def _is_no_place(match: re.Match[str]) -> bool:
    return _NAME_BEHIND.match(match.string, match.end()) is None and not match[0].isspace()

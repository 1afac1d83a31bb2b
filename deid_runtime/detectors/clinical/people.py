"""Ethnicity, language and religion, which name no country: ``African American``, ``speaks Arabic``, ``Irish Catholic``.

A demonym alone is kept, because it shows an origin: ``a Dutch tourist``.
"""

import re
from importlib.resources import files
from typing import Final

from deid_runtime.detectors.clinical.forms import anchors, any_of
from deid_runtime.detectors.clinical.rows import NAMES, ORIGINS, ClinicalRow
from deid_runtime.lexicon.tables import words_for
from deid_runtime.lexicon.vocabulary import alternation, kin
from deid_runtime.lexicon.word_codes import GIVEN, load_lexicon, word_key

_COUNTRY: Final = frozenset({"COUNTRY", "STATE", "CITY", "LOCATION-OTHER"})
_GROUPS: Final = words_for("peoples", "group")
_LANGUAGES: Final = words_for("peoples", "language")
#: Languages that are no common given names, unlike *Karen*.
_NO_NAMES: Final = tuple(name for name in _LANGUAGES if load_lexicon().get(word_key(name), 0) & GIVEN < GIVEN)
_DEMONYMS: Final = words_for("peoples", "demonym")
_BELIEVERS: Final = words_for("peoples", "believer")
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
#: Subjects of a sentence about a people: "the family is Dinka".
_WHO: Final = (*kin("term"), *"family families they both he she who patient pt couple community".split())

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
        name="language-no-name",
        kind="people",
        # "speaks only Aymara", "prefers Dinka": no person either
        pattern=(
            r"(?i:speaks?|speaking|spoken|understands?|prefers?|preferred|language|interpreter|interpreted|fluent|"
            r"translated|bilingual)"
            r"(?:(?:[ ]?[:;,(=–-]|[ ](?:in|into|to|is|only|mainly|mostly|primarily|some|little|no|both|and|"
            r"used|preferred|spoken|at home|with|the|via|by|for)\b)[ ]?){0,3}[ ]?"
            rf"(?P<value>{any_of(_NO_NAMES)})(?!\w)(?![ ][A-Z])"
        ),
        words=frozenset(
            "speak speaks speaking spoken understand understands prefer prefers preferred language interpreter "
            "interpreted fluent translated bilingual".split()
        ),
        excludes=NAMES,
    ),
    ClinicalRow(
        name="ethnicity-no-name",
        kind="people",
        # "the family is Dinka": no person either
        pattern=(
            rf"(?i:\b(?:{alternation(_WHO)})[ ](?:is|are|was|were|identif(?:y|ies)[ ]as)[ ](?:from[ ]the[ ])?)"
            rf"(?P<value>{any_of(_NO_NAMES)})(?!\w)(?![ ][A-Z])"
        ),
        words=anchors(_WHO),
        excludes=NAMES - ORIGINS,
    ),
    ClinicalRow(
        name="ethnicity",
        kind="origin",
        # "a Vietnamese man", "of Nigerian descent", "Indian diet": a people. A model that is very sure is believed.
        pattern=(
            rf"(?P<value>{any_of(_PEOPLES)}(?:[ /-](?:American|{any_of(_PEOPLES)}))?)[ -](?:and[ ]\w{{3,14}}[ ])?"
            r"(?i:(?:man|woman|male|female|lady|gentleman|boy|girl|descent|origin|heritage|ancestry|ethnicity|"
            r"extraction|parentage|elder|patient|pt|toddler|migrant|healer|remed(?:y|ies)|background|community|roots|"
            r"people|household|refugee|traveller|herbs?|herbal|foods?|diet|cuisine|cooking|tea|takeaway|family|carers?|"
            rf"aide|{alternation(kin('origin'))})(?!\w))"
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

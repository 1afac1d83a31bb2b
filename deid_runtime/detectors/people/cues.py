"""Tables of folded words before or after a name that show that it is a person."""

import re
from enum import Enum
from typing import Final

from deid_runtime.lexicon.calendar_words import month_words, weekday_words
from deid_runtime.lexicon.tables import listed_lines, listed_words
from deid_runtime.lexicon.vocabulary import (
    alternation,
    credential_keys,
    dotted_credentials,
    human_verbs,
    kin,
    particles,
    street_kinds,
    titles,
)
from deid_runtime.lexicon.word_codes import word_key


class Cue(Enum):
    """The kinds of words that announce a name."""

    TITLE = "title"
    LABEL = "label"
    KIN = "kin"
    STAFF = "staff"
    ROLE = "role"  # a person or a thing follows
    ACT = "act"  # an action on a person or with one: signed by, spoke with, paged
    GREETING = "greeting"
    WEAK = "weak"  # with, per, by, from: a person or a thing


#: Titles before a name; those of staff separately.
STAFF_TITLES: Final = frozenset(titles("staff"))
TITLES: Final = STAFF_TITLES | frozenset(titles("person"))

#: Titles that end in a full stop.
SHORT_TITLES: Final = frozenset(titles("stop"))

#: Words that a colon and a name follow: for a patient or relative, and for staff.
PATIENT_LABELS: Final = frozenset(listed_words("person_cues", "patient-label"))
STAFF_LABELS: Final = frozenset(listed_words("person_cues", "staff-label")) | credential_keys("label")

KIN: Final = frozenset(kin("cue"))

STAFF: Final = frozenset(listed_words("person_cues", "staff")) | credential_keys("staff")

#: Verbs whose object is a person.
ACTS: Final = frozenset(listed_words("person_cues", "act"))
#: Verbs whose object is a person or a thing, and words for people before a name: only a listed name counts after these.
ROLES: Final = frozenset(listed_words("person_cues", "role"))

#: Words before ``by``, ``with``, ``to`` and ``from`` that make the name after them certain.
BY: Final = frozenset(listed_words("person_cues", "by"))
WITH: Final = frozenset(listed_words("person_cues", "with"))
TO: Final = frozenset(listed_words("person_cues", "to"))
FROM: Final = frozenset(listed_words("person_cues", "from"))

GREETINGS: Final = frozenset(listed_words("person_cues", "greeting"))
WEAK: Final = frozenset(listed_words("person_cues", "weak"))

CREDENTIALS: Final = credential_keys("cue")
#: Credentials that are also words or abbreviations: they count only in capitals, after a comma.
DOUBTFUL_CREDENTIALS: Final = credential_keys("doubtful")
#: Credentials that count in lower case without a comma, and those that count when written with full stops.
SURE_CREDENTIALS: Final = credential_keys("sure")
DOTTED_CREDENTIALS: Final = tuple(word[:4] for word in dotted_credentials("dotted"))

#: Words after a lone name that show that it is a person who acts.
HUMAN_VERBS: Final = frozenset(human_verbs("acts"))

#: What only a person does or suffers, directly after a name; ``called in`` is also said of a prescription.
_PERSONAL: Final = re.compile(
    r"[ ](?:(?:was|is|has[ ]been|had[ ]been|will[ ]be|is[ ]being|was[ ]being)[ ](?:then[ ]|also[ ]|again[ ])?"
    r"(?:called(?![ ]in\b)|phoned|seen(?![ ]on[ ][a-z])|admitted|readmitted|discharged|examined|intubated|extubated|"
    r"consented|counsell?ed|reassured|notified|informed|interviewed|asked|told|escorted|accompanied|transferred|"
    r"born|hospitali[sz]ed|sedated)|"
    r"denie[sd]|complain(?:s|ed)|state[sd][ ]that|agree[sd]|refuse[sd]|declines|fell|phoned|called(?![ ]in\b)|"
    r"vomited|fainted|cried|slept|ate|drinks|smokes|lives|walked|endorses|understands|wept|asked|worries|underwent)\b"
)
_OWNED: Final = re.compile(
    rf"['’]s[ ](?:{alternation(kin('cue'))}|creatinine|ha?emoglobin|potassium|sodium|glucose|labs|bloods|lactate|"
    r"troponin|INR|ECG|EKG|vitals|pain|fever|breathing|mood|appetite|weight|wound|hip|knee|chest|family|parents|room|"
    r"condition|care|symptoms|medications|meds|records?|chart|insurance|appointment|surgery|discharge|death|home)\b",
    re.IGNORECASE,
)


def acts_as_person(text: str, at: int) -> bool:
    """Return whether the words from ``at`` on, directly after a name, say what only a person does, suffers or owns."""
    return _PERSONAL.match(text, at) is not None or _OWNED.match(text, at) is not None


#: Words after a name that make it part of a place, firm, street, disease, scale or device.
NOT_BEHIND: Final = frozenset(listed_words("person_cues", "not-behind")) | frozenset(street_kinds("no-person"))

#: Pairs that are not a person without a cue, although both words are names.
NO_PEOPLE: Final = frozenset(tuple(map(word_key, pair.split())) for pair in listed_lines("person_cues", "no-people"))

#: Words of the calendar that are never or rarely a person's name.
CALENDAR: Final = (
    frozenset(month_words("nobody")) | weekday_words("nobody") | frozenset(listed_words("person_cues", "feast"))
)

#: Words that join clauses: a lone name after one begins a clause.
JOINING: Final = frozenset(listed_words("person_cues", "joining"))

#: Syllables of hyphenated Korean and Chinese given names (*Min-jun*, *Mei-ling*), in common spellings.
SYLLABLES: Final = frozenset(listed_words("person_cues", "syllable"))

#: Words that begin a sentence; a name directly after one may stand alone.
OPENERS: Final = frozenset(listed_words("person_cues", "opener"))

#: Determiners: the word after one is rarely a person.
DETERMINERS: Final = frozenset(listed_words("person_cues", "determiner"))

#: Capitalised words that make the pair after them a place, street or house.
NOT_BEFORE: Final = frozenset(listed_words("person_cues", "not-before"))

#: Particles within names (van der Berg, de la Cruz, bin Rashid).
PARTICLES: Final = frozenset(particles("cue"))
SUFFIXES: Final = frozenset(particles("suffix"))

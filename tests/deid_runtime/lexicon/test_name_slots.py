"""Test that record and propagation find the same for names that are words and for names that are not."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.detectors.record import RecordFinder
from deid_runtime.lexicon.name_cues import fold, is_function_word, is_name_first, is_ordinary
from deid_runtime.merging.propagation import propagate
from deid_runtime.spans import PatientRecord, Span

_WORD = re.compile(r"[^\W\d_]+")


def by_record(given_name, family, text):
    found = RecordFinder().find(text, PatientRecord("p1", {"given": given_name, "family": family}))
    return [text[span.start : span.end] for span in found]


def by_propagation(given_name, family, text, score=0.95):
    """Return what propagation finds in ``text`` for a name that a model found in the line above."""
    first = f"{given_name} {family}"
    note = f"{first}\n\n{text}"
    spans = propagate(note, [Span(0, len(first), "PATIENT", score, ("model:name",))])
    return [note[span.start : span.end] for span in spans]


#: Given name, family name, text, and the parts of the text that are the name.
ROWS = [
    # Function words
    ("Bao", "Her", "Ms. Bao Her was seen. Her blood pressure is high.", ["Bao Her"]),
    ("Bao", "Her", "HER BLOOD PRESSURE; she told her sister", []),
    ("Bao", "Her", "Seen with Her, Bao", ["Her, Bao"]),
    ("Bao", "Her", "HER, BAO 54F", ["HER, BAO"]),
    ("Bao", "Her", "bao her slept", ["bao her"]),
    ("Bao", "Her", "We told Bao her sugar is up", ["Bao"]),
    ("Bao", "Her", "Bao, her mother and aunts came", ["Bao"]),
    ("Bao", "Her", "seen with Bao\nHer sugar is up", ["Bao"]),
    ("Bao", "Her", "Surname: Her\nSex: F", ["Her"]),
    ("Bao", "Her", "surname: her\nsex: f", ["her"]),
    ("Bao", "Her", "Mother: her diabetes is controlled", []),
    ("Bao", "Her", "on vitamin B. Her sugar is up", []),
    ("Bao", "Her", "Ms. Her and ms. her, MS. HER", ["Her", "her", "HER"]),
    ("Will", "Price", "Will follow. She will rest. WILL REPEAT.", []),
    ("Will", "Price", "she says Will came by", ["Will"]),
    ("Will", "Price", "Will denies pain", ["Will"]),
    ("Will", "Price", "The nurse will see him, the doctor will too, dr will call", []),
    ("Will", "Price", "her son Will was here", ["Will"]),
    ("Will", "Price", "Patient Will Follow Up", []),
    ("May", "Long", "May repeat labs. Long discussion. Not as long as in May.", []),
    ("May", "Long", "Long, May was seen", ["Long, May"]),
    ("May", "Long", "MAY LONG 54F", ["MAY LONG"]),
    ("An", "Do", "An apple. Do not give an opioid. DO NOT RESUSCITATE AN ARREST", []),
    ("An", "Do", "Mr. Do slept", ["Do"]),
    ("An", "Do", "patient An was seen", ["An"]),
    ("An", "Do", "AN DO, 54", ["AN DO"]),
    ("My", "So", "So my leg hurts. SO MY LEG HURTS. My leg, so to speak", []),
    ("My", "So", "So, My\nMRN 7", ["So, My"]),
    ("My", "So", "her daughter My called", ["My"]),
    ("Nai", "Not", "Not improved, NOT BETTER, not seen. Not reported", []),
    ("Nai", "Not", "Mrs. Not", ["Not"]),
    ("Tou", "Us", "US of the abdomen; told us; Us too", []),
    ("Kham", "Was", "Was seen. She WAS here", []),
    ("Kham", "Was", "Kham Was was here", ["Kham Was"]),
    ("Bing", "Of", "Of note, out of breath", []),
    ("Lan", "She", "She denies pain. SHE denies. she says", []),
    ("Jun", "He", "He denies pain. HE denies. he says, He says", []),
    ("Sue", "In", "In pain; IN PAIN", []),
    ("Thi", "On", "On admission", []),
    ("Hau", "The", "The patient. THE PATIENT", []),
    ("Son", "Mother", "Mother and son came. Her Mother. SON", []),
    # Ordinary words
    ("Nora", "Cane", "walks with a cane; the cane's tip; CANE at bedside", []),
    ("Nora", "Cane", "She says Cane is her name", ["Cane"]),
    ("Nora", "Cane", "nora cane and NORA CANE", ["nora cane", "NORA CANE"]),
    ("Nora", "Cane", "Cane-assisted gait. Cane in room", []),
    ("Hope", "Young", "seen with Hope today; we hope", ["Hope"]),
    ("Hope", "Young", "Young woman, a young man", []),
    ("Hope", "Young", "hope young slept", ["hope young"]),
    ("Grant", "Page", "Grant denies fever. Page 2 of 3. Page the intern.", ["Grant"]),
    ("Grant", "Page", "Spoke with Grant. Dear Grant,", ["Grant", "Grant"]),
    ("Rich", "Pain", "PAIN 5/10. Pain controlled, rich food", []),
    ("Joy", "Brown", "Brown sputum, BROWN SPUTUM, brown", []),
    ("Joy", "Brown", "J. Brown slept", ["J. Brown"]),
    ("Joy", "Brown", "mr. brown, Mr. Brown, MR. BROWN", ["brown", "Brown", "BROWN"]),
    ("Faith", "Walker", "uses a walker. Walker at bedside, her WALKER", []),
    ("Faith", "Walker", "WALKER, FAITH; faith walker", ["WALKER, FAITH", "faith walker"]),
    ("Mark", "Still", "Mark the site. Still in pain. still", []),
    ("Summer", "Cook", "last summer she would cook", []),
    ("Art", "Wood", "art therapy, ART THERAPY", []),
    ("Eve", "Day", "Post-op Day 3, day 3, Day 4", []),
    ("Rosa", "Sun", "seen Sun 3/4, the Sun, sun exposure", []),
    ("Don", "Short", "don't, Don't, short of breath; Don says hi", ["Don"]),
    ("Patience", "Obi", "patience is needed; obi came", ["obi"]),
    ("Precious", "Moyo", "a precious child of moyo", ["moyo"]),
    ("Rose", "Page", "her daughter Rose called", ["Rose"]),
    # Short names and symbols
    ("Jo", "Vu", "Vu denies. a deja vu. VU, JO", ["Vu", "VU, JO"]),
    ("Anna", "Li", "Li 0.8, on Li for mood, li level, LI", []),
    ("Anna", "Li", "Ms. Li; ANNA LI; Li, Anna", ["Li", "ANNA LI", "Li, Anna"]),
    ("Ana", "Quist", "ANA 1:320. Then ana slept, Ana slept", ["ana", "Ana"]),
    ("Ty", "Mo", "3 mo old, 3 Mo", []),
    ("Hien", "Le", "Le, Hien and hien le", ["Le, Hien", "hien le"]),
    ("Al", "Young", "et al. by all; al young", ["al young"]),
    # Names that are no words
    ("Chidi", "Okonkwo", "okonkwo, OKONKWO, Okonkwo's wife", ["okonkwo", "OKONKWO", "Okonkwo"]),
    ("Chidi", "Okonkwo", "seen: Chidi\nOkonkwo and Chidi   Okonkwo", ["Chidi\nOkonkwo", "Chidi   Okonkwo"]),
    ("Chidi", "Okonkwo", "OKONKWO,\n  CHIDI", ["OKONKWO,\n  CHIDI"]),
    ("Chidi", "Okonkwo", "C. Okonkwo and Chidi M. Okonkwo", ["C. Okonkwo", "Chidi M. Okonkwo"]),
    ("Chidi", "Okonkwo", "Okonkwo's hip, Okonkwo's tests", ["Okonkwo", "Okonkwo"]),
    ("Chidi", "Okonkwo", "Ms. Okonkwo-Bright", ["Okonkwo"]),
    ("Priya", "Ramanathan", "RAMANATHAN PRIYA; priya\tramanathan", ["RAMANATHAN PRIYA", "priya\tramanathan"]),
    ("José", "Núñez", "nunez, NUÑEZ JOSE, jose", ["nunez", "NUÑEZ JOSE", "jose"]),
    ("Nhia", "Vang", "vang nhia; NHIA\nVANG", ["vang nhia", "NHIA\nVANG"]),
    ("Min-jun", "Kwon", "Min-jun slept 5 min in Jun", ["Min-jun"]),
    ("Siobhán", "O'Malley", "siobhan o'malley; O’MALLEY; omalley", ["siobhan o'malley", "O’MALLEY", "omalley"]),
    ("Vera", "de la Cruz", "DE LA CRUZ, VERA; vera de la cruz", ["DE LA CRUZ, VERA", "vera de la cruz"]),
    ("Wanjiru", "Kamau", "wanjiru: W. Kamau", ["wanjiru", "W. Kamau"]),
    ("Krystyna", "Wójcik", "WOJCIK and wójcik", ["WOJCIK", "wójcik"]),
    ("Abdul", "Rahman", "abdul rahman", ["abdul rahman"]),
    ("Leilani", "Kealoha", "kealoha's aunt, leilani", ["kealoha", "leilani"]),
    ("Tenzin", "Dorji", "DORJI TENZIN", ["DORJI TENZIN"]),
    ("Aiyana", "Begay", "begay, aiyana", ["begay, aiyana"]),
    ("Olena", "Shevchuk", "O. Shevchuk, not vitamin D. Shevchuk", ["O. Shevchuk", "Shevchuk"]),
    # Eponyms that are mainly names, and eponyms that stand alone
    ("Thomas", "Wilson", "thomas slept; WILSON", ["thomas", "WILSON"]),
    ("Thomas", "Wilson", "Wilson's disease, the Thomas test, Wilson Street", []),
    ("Thomas", "Wilson", "Wilson's wife", ["Wilson"]),
    ("Dana", "Foley", "Foley in place, a foley", []),
    ("Dana", "Foley", "Ms. Foley has a Foley", ["Foley"]),
]


@pytest.mark.parametrize(("given_name", "family", "text", "expected"), ROWS)
def test_the_record_finds_the_name_and_no_word(given_name, family, text, expected):
    assert by_record(given_name, family, text) == expected


@pytest.mark.parametrize(("given_name", "family", "text", "expected"), ROWS)
def test_propagation_finds_the_name_and_no_word(given_name, family, text, expected):
    assert by_propagation(given_name, family, text) == expected


def test_what_a_model_is_not_sure_of_and_is_made_of_words_is_not_looked_for():
    assert by_propagation("Hope", "Young", "Then Hope Young slept", 0.8) == []
    assert by_propagation("Hope", "Quist", "Then Hope Quist slept", 0.8) == ["Hope Quist"]


_FUNCTION_WORDS = st.sampled_from(["her", "she", "was", "not", "will", "may", "an", "do", "so", "of", "the", "mother"])
_WORDS = st.sampled_from(["bao", "cane", "okonkwo", "li", "hope", "wilson", "denies", "pain"])
_CASES = st.sampled_from([str.lower, str.title, str.upper])
_GAPS = st.sampled_from([" ", " ", " ", "  ", ". ", ", ", "\n", "-", "/", ": ", " 5 ", "'s "])
_PIECES = st.tuples(st.one_of(_FUNCTION_WORDS, _WORDS), _CASES, _GAPS).map(lambda piece: piece[1](piece[0]) + piece[2])
_TEXTS = st.lists(_PIECES, min_size=1, max_size=16).map("".join)


def is_introduced_in(text, start, end):
    """Return whether a label, a relative, a name or a verb shows that it is a name, for texts of the pieces above."""
    before, behind = text[:start], text[end:]
    return bool(
        re.search(r"(?i)\b(?:mother|patient)(?:: | {1,2})$", before)
        or re.search(r"\b(?:Bao|Okonkwo|Wilson) $", before)
        or re.match(r" {1,2}denies", behind)
    )


@settings(deadline=None, max_examples=100)
@given(_TEXTS, st.tuples(_FUNCTION_WORDS, _FUNCTION_WORDS))
def test_a_function_word_is_never_a_name_alone(text, name):
    note = f"{name[0].title()} {name[1].title()}\n\n{text}"
    first = len(name[0]) + len(name[1]) + 1
    spans = propagate(note, [Span(0, first, "PATIENT", 1.0, ("template",))])
    spans += RecordFinder().find(note, PatientRecord("p1", {"given": name[0].title(), "family": name[1].title()}))

    for span in spans:
        words = [fold(word) for word in _WORD.findall(note[span.start : span.end])]
        assert len(set(words)) > 1 or is_introduced_in(note, span.start, span.end)


@settings(deadline=None, max_examples=100)
@given(_TEXTS, st.randoms())
def test_the_order_of_the_found_does_not_matter(text, random):
    names = ["Bao Her", "Her, Bao", "Will Cane", "C. Okonkwo", "Hope Wilson", "Li"]
    note = "\n".join([*names, "", text])
    spans = [Span(note.index(name), note.index(name) + len(name), "PATIENT", 0.95, ("model:name",)) for name in names]
    found = propagate(note, spans)
    random.shuffle(spans)

    assert propagate(note, spans) == found == sorted(found)


@settings(deadline=None, max_examples=100)
@given(_TEXTS)
def test_a_small_ordinary_word_is_found_beside_another_part_or_a_title_alone(text):
    for span in RecordFinder().find(text, PatientRecord("p1", {"given": "Hope", "family": "Cane"})):
        words = _WORD.findall(text[span.start : span.end])
        assert len(words) > 1 or not words[0].islower()


def test_the_lists_do_not_contradict_each_other():
    for word in ("her", "patient", "will"):
        assert is_function_word(word)
        assert is_ordinary(word)
        assert not is_name_first(word)
    for word in ("wilson", "bao"):
        assert is_name_first(word)
        assert is_ordinary(word)
        assert not is_function_word(word)


@pytest.mark.parametrize("piece", ["Her ", "B. ", "Bao, ", "Bao Her, ", "her\n", "Okonkwo B. ", "bao-", "Ms. "])
def test_hostile_text_takes_linear_time(piece):
    text = "Bao " + piece * (30_000 // len(piece))
    started = time.process_time()

    by_record("Bao", "Her", text)
    by_propagation("Bao", "Her", text)

    assert time.process_time() - started < 15

"""Test that every way of naming a person leads to one other person, and to one number in tags."""

import re

import pytest

from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.alphabets import from_latin
from deid_runtime.surrogates.context import read_context
from deid_runtime.surrogates.forms import loose_marks, normal_form
from deid_runtime.surrogates.name_pools import names
from deid_runtime.surrogates.unlisted import nearest
from tests.deid_runtime.surrogates.marked import KEY, read, surrogates_of

PATIENTS = [f"p{number}" for number in range(12)]


@pytest.mark.parametrize("patient", PATIENTS)
@pytest.mark.parametrize(
    "marked",
    [
        '<PATIENT>Oliver</PATIENT> ("<PATIENT>Ollie</PATIENT>")',
        "<PATIENT>William</PATIENT> <PATIENT>Bill</PATIENT>",
        "<PATIENT>Olivia</PATIENT> <PATIENT>Ollie</PATIENT>",
        "<PATIENT>Albert</PATIENT> <PATIENT>Bert</PATIENT>",
        "<PATIENT>Guadalupe</PATIENT> <PATIENT>Lupe</PATIENT>",
    ],
)
def test_a_nickname_becomes_a_nickname_of_the_new_name(marked, patient):
    formal, nickname = surrogates_of(marked, patient=patient)

    assert normal_form(formal) in names().formals_of[normal_form(nickname)]


@pytest.mark.parametrize("patient", PATIENTS)
def test_a_written_abbreviation_stays_one(patient):
    full, short, alone = surrogates_of(
        "<DOCTOR>William Hargrave</DOCTOR> <DOCTOR>Wm. Hargrave</DOCTOR> <DOCTOR>Wm</DOCTOR>", patient=patient
    )

    given, family = full.split()
    assert short == f"{alone}. {family}"
    assert alone == names().abbreviations.get(normal_form(given), given[: len(alone)])
    assert len(alone) < len(given)


@pytest.mark.parametrize("patient", PATIENTS)
def test_initials_under_a_mail_follow_its_person(patient):
    mail, initials, user = surrogates_of(
        "<EMAIL>anna.kowalski@clinic.org</EMAIL> signed <DOCTOR>A.K.</DOCTOR> <USERNAME>akowalski</USERNAME>",
        patient=patient,
    )

    given, family = mail.partition("@")[0].split(".")
    assert initials == f"{given[0]}.{family[0]}.".upper()
    assert user == given[0] + family


@pytest.mark.parametrize("patient", PATIENTS)
@pytest.mark.parametrize("family", ["Hargrave", "Zqvorblatt"])
def test_usernames_follow_names(family, patient):
    low = family.lower()
    full, *users = surrogates_of(
        f"<DOCTOR>William {family}</DOCTOR> <USERNAME>w{low}</USERNAME> <USERNAME>{low}w</USERNAME> "
        f"<USERNAME>w{low[:6]}</USERNAME> <USERNAME>{low}12</USERNAME> <USERNAME>w_{low}</USERNAME>",
        patient=patient,
    )

    given, made = full.lower().split()
    assert users[0] == given[0] + made
    assert users[1] == made + given[0]
    assert users[2] == given[0] + (made + made)[:6]
    assert re.fullmatch(rf"{made}\d\d", users[3])
    assert users[4] == f"{given[0]}_{made}"


def test_a_misspelt_name_of_the_record_follows_it():
    record = {"given": "Marisol", "family": "Hernandez"}
    for number in range(12):
        right, wrong = surrogates_of(
            "<PATIENT>Hernandez</PATIENT> <PATIENT>Hernadez</PATIENT>", record, patient=f"p{number}"
        )

        assert len(wrong) == len(right) - 1
        assert wrong[0] == right[0]


@pytest.mark.parametrize("word", ["Mogensen", "Lancizi", "Adebisi", "Coates", "DEAARON", "Marley", "Whitlock", "Letta"])
def test_an_ordinary_name_gets_no_misspelt_surrogate(word):
    for patient in PATIENTS:
        [made] = surrogates_of(f"<DOCTOR>{word}</DOCTOR>", patient=patient)

        # Lancizi is in no list, so most of its surrogates are in none either, and like no frequent name.
        assert names().listed(normal_form(made)) or names().listed(normal_form(word)) is None
        assert not nearest(normal_form(made)) or names().listed(normal_form(made))


@pytest.mark.parametrize("patient", PATIENTS)
@pytest.mark.parametrize(
    ("latin", "native", "script"),
    [("Ivan Petrov", "Иван Петров", "cyrillic"), ("Nikos Papadakis", "Νίκος Παπαδάκης", "greek script")],
)
def test_a_name_in_another_alphabet_follows_its_latin_spelling(latin, native, script, patient):
    first, second = surrogates_of(f"<PATIENT>{latin}</PATIENT>, <PATIENT>{native}</PATIENT>", patient=patient)

    assert [normal_form(word) for word in second.split()] == [
        normal_form(from_latin(word, script)) for word in first.split()
    ]


def test_surrogates_have_accents_only_where_the_note_has():
    for patient in PATIENTS:
        plain, accented = surrogates_of("<DOCTOR>Bogdanovic</DOCTOR> <PATIENT>Ana Peña</PATIENT>", patient=patient)

        assert plain.isascii()
        assert normal_form(accented).isascii()


def tags_of(*marked: str, record: dict[str, str] | None = None) -> list[str]:
    notes = [read(text, note=f"n{place}") for place, text in enumerate(marked)]
    context = read_context(notes)
    surrogates = Surrogates(KEY, operator="tag")
    return [tag for note, spans in notes for tag in surrogates.replacements(note, spans, None, context=context)]


def test_tags_number_persons_over_the_notes_of_a_patient():
    made = tags_of(
        "<PATIENT>John Smith</PATIENT> <PATIENT>Mr. Smith</PATIENT> <PATIENT>Jack</PATIENT> <PATIENT>J.S.</PATIENT> "
        "<PATIENT>Mary Smith</PATIENT> <PATIENT>SMITH, JOHN</PATIENT>",
        "<PATIENT>Mary</PATIENT> <PATIENT>Smith's</PATIENT> <DOCTOR>Lee Ortiz</DOCTOR> <DOCTOR>Dr. Ortiz</DOCTOR> "
        "<DOCTOR>LO</DOCTOR> <DOCTOR>Nair</DOCTOR>",
    )

    assert made == [
        *("[PATIENT-1]" for _ in range(4)), "[PATIENT-2]", "[PATIENT-1]", "[PATIENT-2]", "[PATIENT-1]",
        "[DOCTOR-1]", "[DOCTOR-1]", "[DOCTOR-1]", "[DOCTOR-2]",
    ]  # fmt: skip


def test_a_tag_keeps_the_marks_of_the_note():
    assert tags_of('<PATIENT>Oliver (</PATIENT>"<PATIENT>Ollie")</PATIENT>') == ["[PATIENT-1] (", '[PATIENT-1]")']


@pytest.mark.parametrize(
    ("value", "loose"),
    [
        ("Oliver (Ollie)", ("", "")), ("Oliver (", ("", " (")), ('Ollie")', ("", '")')), ('"Ollie"', ("", "")),
        ("(555) 123", ("", "")), ("[x", ("[", "")), ("()", ("", "")), ("Wm.", ("", "")), ("O’Hara’", ("", "")),
    ],
)  # fmt: skip
def test_loose_marks(value, loose):
    assert loose_marks(value) == loose


@pytest.mark.parametrize("patient", PATIENTS)
def test_a_name_found_in_three_pieces_is_one_person(patient):
    given, nickname, family, mail, initials = surrogates_of(
        "<PATIENT>William</PATIENT> (<PATIENT>Bill</PATIENT>) <PATIENT>Okafor</PATIENT>, "
        "<EMAIL>wokafor@example.org</EMAIL>, <DOCTOR>W.O.</DOCTOR>",
        patient=patient,
    )

    assert normal_form(nickname) in map(normal_form, names().nicknames[normal_form(given)])
    assert mail.startswith(f"{given[0]}{family}".lower())
    assert initials == f"{given[0]}.{family[0]}."

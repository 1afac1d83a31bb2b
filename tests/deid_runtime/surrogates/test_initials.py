"""Test surrogates of initials: no clinical letters, and the letters of their person."""

import pytest

from deid_runtime.lexicon.clinical_initials import clinical_initials
from tests.deid_runtime.surrogates.marked import surrogates_of

KEYS = [number.to_bytes(32, "big") for number in range(60)]


@pytest.mark.parametrize("letters", ["PA", "MS", "NP", "EP", "VT", "AF", "MN", "CHF"])
def test_the_list_knows_clinical_letters(letters):
    assert letters.lower() in clinical_initials()


@pytest.mark.parametrize("letters", ["JS", "K.L.", "tlh", "GB", "NG", "AL", "KA", "M.O."])
def test_lone_initials_are_never_clinical(letters):
    for key in KEYS:
        [made] = surrogates_of(f"signed <DOCTOR>{letters}</DOCTOR>", key=key)

        assert made.replace(".", "").lower() not in clinical_initials()
        assert made != letters


def test_initials_of_a_person_are_those_of_the_surrogate_and_never_clinical():
    for key in KEYS:
        full, letters, patient, own = surrogates_of(
            "<DOCTOR>Imogen Thackwray</DOCTOR> <DOCTOR>IT</DOCTOR> <PATIENT>John Smith</PATIENT> <PATIENT>JS</PATIENT>",
            {"given": "John", "family": "Smith"},
            key=key,
        )

        assert letters == "".join(word[0] for word in full.split())
        assert own == "".join(word[0] for word in patient.split())
        assert {letters.lower(), own.lower()}.isdisjoint(clinical_initials())


def test_the_patient_of_the_record_keeps_one_surrogate_with_and_without_initials():
    record = {"given": "John", "family": "Smith"}
    for key in KEYS[:20]:
        alone, _ = surrogates_of("<PATIENT>John Smith</PATIENT> <PATIENT>Smith</PATIENT>", record, key=key)
        beside, _ = surrogates_of("<PATIENT>John Smith</PATIENT> <PATIENT>JS</PATIENT>", record, key=key)

        assert alone == beside


def test_people_of_one_note_keep_apart():
    people = (
        "Smith Johnson Brown Jones Davis Miller Wilson Moore Taylor Anderson Thomas Jackson White Harris Martin Clark"
    )
    marked = " ".join(f"Dr. <DOCTOR>{name}</DOCTOR>" for name in people.split())
    for key in KEYS[:20]:
        made = surrogates_of(marked, key=key)

        assert len(set(made)) == len(made)
        assert set(made).isdisjoint(people.split())

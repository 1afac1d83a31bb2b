"""Test a former name in the patient's record: found in notes, and replaced by a family name of the same person."""

import gc
import weakref

import pytest

from deid_runtime.detectors.record import RecordFinder
from deid_runtime.records.fields import field_of
from deid_runtime.spans import PatientRecord
from deid_runtime.surrogates.name_parts import FAMILY, GIVEN, former_forms, record_roles
from tests.deid_runtime.surrogates.marked import surrogates_of

RECORD = {"given": "Marlene", "family": "Quist", "former_name": "Holloway", "sex": "F"}


@pytest.mark.parametrize("column", ["former_name", "maiden_name", "Maiden Name", "maiden-name"])
def test_a_former_name_has_one_field_under_all_its_names(column):
    assert field_of(column) is field_of("former_name")


@pytest.mark.parametrize("column", ["former_name", "maiden_name", "maiden"])
def test_surrogates_know_a_former_name_as_a_family_name(column):
    record = {"given": "Marlene", "family": "Quist", column: "Holloway"}

    assert record_roles(record) == {"quist": FAMILY, "holloway": FAMILY, "marlene": GIVEN}
    assert former_forms(record) == {"holloway"}


def test_a_former_name_that_is_also_the_name_of_today_is_no_other_one():
    assert former_forms({"family": "Quist-Holloway", "former_name": "Holloway"}) == frozenset()


def test_a_former_name_is_found_in_notes():
    text = "Marlene Holloway (now Quist) was seen. Mrs. HOLLOWAY agreed; holloway called."

    spans = RecordFinder().find(text, PatientRecord("p1", RECORD))

    assert [text[span.start : span.end] for span in spans] == ["Marlene Holloway", "Quist", "HOLLOWAY", "holloway"]


def test_each_name_of_a_patient_has_one_stand_in():
    today, former, alone, shouted, last_first = surrogates_of(
        "<PATIENT>Marlene Quist</PATIENT>, formerly <PATIENT>Marlene Holloway</PATIENT>. <PATIENT>Holloway</PATIENT> "
        "<PATIENT>HOLLOWAY</PATIENT> <PATIENT>Holloway, Marlene</PATIENT>",
        RECORD,
    )

    given_name, family = today.split()
    other_given, other = former.split()
    assert given_name == other_given
    assert len({family, other, "Quist", "Holloway"}) == 4
    assert (alone, shouted, last_first) == (other, other.upper(), f"{other}, {given_name}")


def test_initials_follow_the_name_of_today_and_the_former_one():
    # Separate mentions, so that only the record connects them.
    today, former, full, old = surrogates_of(
        "<PATIENT>MQ</PATIENT> <PATIENT>MH</PATIENT> <PATIENT>Marlene Quist</PATIENT> <PATIENT>Holloway</PATIENT>",
        RECORD,
    )

    given_name, family = full.split()
    assert today == given_name[0] + family[0]
    assert former == given_name[0] + old[0]


def test_records_compiled_live_no_longer_than_their_finder():
    finder = RecordFinder()
    finder.find("Marlene Quist", PatientRecord("p1", RECORD))
    [matcher] = finder._compiled.values()
    person = weakref.ref(matcher.persons[0])

    del finder, matcher
    gc.collect()

    assert person() is None

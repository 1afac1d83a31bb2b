from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_export.adapt.harvest.counting import DistinctCount, FrequentKeys, Tally, digest


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6))), st.integers(2, 8), st.integers(1, 4))
def test_no_frequent_key_is_missed(stream, capacity, least):
    keys, patients = FrequentKeys(capacity), defaultdict(set)
    for key, patient in stream:
        keys.add(key, patient)
        patients[key].add(patient)

    kept, floor = keys.most_frequent(least, limit=100)

    assert {key for key, of_key in patients.items() if len(of_key) > floor and len(of_key) >= least} <= kept
    assert len(kept) <= capacity


def test_with_room_for_all_nothing_can_be_missing():
    keys = FrequentKeys(10)
    for patient in range(3):
        keys.add(1, patient)
    keys.add(2, 0)

    assert keys.most_frequent(2, limit=10) == ({1}, 0)


def test_keys_left_out_by_the_limit_raise_the_floor():
    keys = FrequentKeys(10)
    for key, count in ((1, 5), (2, 4), (3, 3)):
        for patient in range(count):
            keys.add(key, patient)

    assert keys.most_frequent(2, limit=1) == ({1}, 4)


def test_one_patient_alone_makes_nothing_frequent():
    keys = FrequentKeys(10)
    for _ in range(50):
        keys.add(1, 7)

    assert keys.most_frequent(2, limit=10) == (set(), 0)


def test_distinct_counts_are_exact_up_to_the_cap():
    count = DistinctCount()
    for i in [*range(DistinctCount.CAP), *range(100)]:
        count.add(digest(str(i)))

    assert (len(count), count.is_exact) == (DistinctCount.CAP, True)


@pytest.mark.parametrize("distinct", [257, 3_000, 40_000])
def test_beyond_the_cap_they_are_close(distinct):
    count = DistinctCount()
    for i in range(distinct):
        count.add(digest(f"patient {i}"))
        count.add(digest(f"patient {i // 2}"))

    assert not count.is_exact
    assert len(count) == pytest.approx(distinct, rel=0.2)


def test_a_tally_counts_notes_and_patients_once():
    tally = Tally()
    for note, patient in ((0, 5), (0, 5), (1, 5), (2, 6)):
        tally.add(note, patient)

    assert (tally.occurrences, tally.notes, len(tally.patients)) == (4, 3, 2)

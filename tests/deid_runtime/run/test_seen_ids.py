from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.run.seen_ids import SeenIds


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3)))
def test_an_id_is_new_once(ids: list[str]) -> None:
    seen = SeenIds()
    known: set[str] = set()

    for note_id in ids:
        assert seen.add(note_id) == (note_id not in known)
        known.add(note_id)


def test_ids_are_remembered_while_the_table_grows() -> None:
    seen = SeenIds()

    assert all(seen.add(f"note {number}") for number in range(20_000))
    assert not any(seen.add(f"note {number}") for number in range(20_000))

"""Test that a key gives the same pseudonyms, date shifts and surrogates as in all earlier versions of the program."""

import pytest

from deid_runtime.labels import LABELS
from deid_runtime.surrogates.key_versions import KEY_VERSIONS, Kind, keyed_for
from tests.deid_runtime.surrogates.key_values import GOLDEN, golden_file, rows, table
from tests.deid_runtime.surrogates.marked import KEY

WHAT_TO_DO = """
A key now gives other {kind} than before. Users who continue a release with their key would get an output that does not
fit the earlier ones. Either undo the change, or, if it is worth that:
1. raise KEY_VERSIONS["{kind}"] in deid_runtime/surrogates/key_versions.py by one;
2. run `python -m tests.deid_runtime.surrogates.key_values`, which writes the golden file of the new version;
3. keep the golden file of the old version: it says what that version gave;
4. say it in CHANGELOG.md and in the table of docs/how-to/upgrade.md.
Version 1 may still change until 0.1.0 is released: then delete its golden file and do step 2 alone.
"""


@pytest.mark.parametrize("kind", KEY_VERSIONS)
def test_a_key_gives_what_it_gave_before(kind: Kind) -> None:
    assert golden_file(kind).is_file(), f"no golden file of this version; {WHAT_TO_DO.format(kind=kind)}"
    assert table(rows(kind)) == golden_file(kind).read_text(encoding="utf-8"), WHAT_TO_DO.format(kind=kind)


def test_the_golden_file_has_every_label_and_every_version_has_a_file() -> None:
    assert {label for _, label, _, _ in rows("surrogates")} == set(LABELS)
    for kind, version in KEY_VERSIONS.items():
        assert sorted(path.name for path in GOLDEN.glob(f"{kind}_*.tsv")) == sorted(
            f"{kind}_{number}.tsv" for number in range(1, version + 1)
        )


def test_a_new_version_of_one_kind_changes_all_its_values_and_no_other_kind() -> None:
    raised = {**KEY_VERSIONS, "surrogates": 2}

    assert keyed_for("surrogates", KEY, raised).digest("a", "b") != keyed_for("surrogates", KEY).digest("a", "b")
    assert keyed_for("date_shifts", KEY, raised).digest("a", "b") == keyed_for("date_shifts", KEY).digest("a", "b")
    third = {**KEY_VERSIONS, "surrogates": 3}
    assert keyed_for("surrogates", KEY, third).digest("a", "b") != keyed_for("surrogates", KEY, raised).digest("a", "b")

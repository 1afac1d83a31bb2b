"""Test the checkers of the benchmark: each must report the fault it exists for."""

import importlib.util
import json
import re
import sys
from datetime import date
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def load(name):
    """Import a script as a module; it imports its neighbours as scripts do."""
    before = list(sys.path)
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


@pytest.fixture(scope="module")
def forms():
    return load("surrogate_forms")


@pytest.fixture(scope="module")
def date_forms():
    return load("surrogate_date_forms")


@pytest.fixture(scope="module")
def code_forms():
    return load("surrogate_code_forms")


@pytest.fixture(scope="module")
def lists(forms):
    return forms.read_name_lists()


@pytest.fixture(scope="module")
def benchmark():
    return load("surrogates")


@pytest.mark.parametrize(
    ("original", "made", "faults"),
    [
        ("SMITH, JOHN C", "TUCKER, ROBERT M", set()),
        ("SMITH, JOHN C", "TUCKER ROBERT M", {"parts"}),
        ("SMITH, JOHN C", "Tucker, Robert M", {"case"}),
        ("SMITH, JOHN C", "TUCKER, ROBERT MAY", {"initials"}),
        ("Robert Banks Jr.", "Lee Stone Sr.", {"kept"}),
        ("Anna van Dyk", "Mia de Smit", {"kept"}),
        ("Smith's", "Tucker's", set()),
        ("Smith's", "Tucker", {"parts"}),
        ("O'Brien", "Murphy", {"parts"}),
        ("Mei-Ling Chen", "Hui-Fen Li", set()),
        ("Mei-Ling Chen", "Hui Li", {"parts"}),
        ("S-O-U-Z-A", "L-E-A-L-O", set()),
        ("S-O-U-Z-A", "LEALO", {"parts"}),
        ("JS", "RTM", {"initials"}),
    ],
)
def test_the_form_of_a_name(forms, original, made, faults):
    assert forms.form_faults(original, made) == faults


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("Lopez, Maria", ["family", "given"]),
        ("Maria G. Lopez", ["given", "", "family"]),
        ("Margaret", ["given"]),
        ("Kowalczyk", ["family"]),
        ("Zqvorblatt", [""]),
        ("ko", [""]),  # usually initials
        ("Hyun-woo", ["", ""]),
        ("Wu Guang-Li", ["", "", ""]),
        ("ZQVORBLATT MEI-LING", ["", "", ""]),
        ("HASHEMI NOOR", ["", ""]),
        ("Maria Lopez-Garcia", ["given", "", "family"]),
    ],
)
def test_roles_that_are_plain(forms, lists, name, roles):
    assert forms.roles(name, lists) == roles


@pytest.mark.parametrize(
    ("original", "made", "is_same"),
    [
        ("3/14/2014", "11/2/2014", True),
        ("3/14/2014", "11-2-2014", False),
        ("3/14/2014", "3/14/14", False),
        ("03/04/2014", "3/4/2014", False),
        ("March 5th, 2014", "April 23rd, 2013", True),
        ("March 5th, 2014", "Apr 23rd, 2013", False),
        ("Tues 3/14/17", "Wed 3/15/17", True),
        ("May 5, 2014", "June 5, 2014", True),
        ("Ash Wednesday, 3/1/2017", "Columbus Day, 10/15/2017", True),
        ("St. Patrick's Day, 3/17/2017", "Easter, 4/2/2017", True),
        ("O4-20-22", "O9-06-22", True),
        ("O4-20-22", "9-06-22", False),
    ],
)
def test_the_form_of_a_date(date_forms, original, made, is_same):
    assert date_forms.same_date_form(original, made) is is_same


@pytest.mark.parametrize(
    ("original", "made", "is_same"),
    [
        ("541 one five five oh", "943 six nine two oh", True),
        ("one fifty five, sixty", "six thirty two, ninety", True),
        ("one fifty five, sixty", "six thirty two, nineteen", False),
        ("one five five oh", "ods pzwb qlte dt", False),
        ("54-1x", "94-7q", True),
    ],
)
def test_the_shape_of_a_number(code_forms, original, made, is_same):
    assert (code_forms.shape(original) == code_forms.shape(made)) is is_same


def test_the_days_a_date_may_mean(date_forms):
    assert date_forms.full_dates("03-05-2014") == {date(2014, 3, 5), date(2014, 5, 3)}
    assert date_forms.full_dates("March 5th, 2014") == {date(2014, 3, 5)}
    assert date_forms.full_dates("2/30/2014") == set()
    assert date_forms.full_dates("3/14") == set()


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        ("1234567893", {"npi"}),
        ("943 476 5919", {"nhs"}),
        ("AB1234563", {"dea"}),
        ("4111 1111 1111 1111", {"luhn"}),
        ("4111 1111 1111 1112", set()),
        ("1234567890", set()),
    ],
)
def test_check_digits(code_forms, value, kinds):
    assert code_forms.check_kinds(value) == kinds


def test_the_kind_of_a_place_is_its_last_word_of_kind(code_forms):
    assert code_forms.kind_word("King Road Clinic", is_facility=True) == "clinic"
    assert code_forms.kind_word("Clinic", is_facility=True) == ""
    assert code_forms.kind_word("14 Quarry Hill Ct", is_facility=False) == "ct"


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notes")
    (folder / "p1.txt").write_text(
        "%% patient id=p1 given=John family=Smith sex=M\n"
        '%% note id=n1 type="Letter"\n'
        "<PATIENT>John Smith</PATIENT> of <CITY>Cambridge</CITY>, <STATE>MA</STATE> <ZIP>02139</ZIP>, seen on "
        "<DATE>03-05-2014</DATE> and <DATE>March 12th, 2014</DATE> by Dr. <DOCTOR>Lopez</DOCTOR> at "
        "<HOSPITAL>Harbor View Clinic</HOSPITAL> (<HOSPITAL>HVC</HOSPITAL>), NPI <LICENSE>1234567893</LICENSE>\n"
        '%% note id=n2 type="Letter"\n'
        "<PATIENT>JS</PATIENT>, <PATIENT>Mr. Smith</PATIENT>, Dr. <DOCTOR>LOPEZ</DOCTOR>\n",
        encoding="utf-8",
    )
    return folder


def test_surrogates_of_gold_spans_pass_every_check(benchmark, notes):
    tally = benchmark.Tally()
    corpus, records = benchmark.read_annotated([notes]), benchmark.read_records([notes])

    benchmark.measure(benchmark.replace_all(corpus, records, b"k" * 32, is_whole=True), records, tally)

    figures = tally.to_json()
    assert {name: row for name, row in figures.items() if row["share"] < 1} == {}
    assert {"names: form", "names: gender", "dates: form", "dates: intervals", "agreement: town in state",
            "agreement: ZIP in state", "numbers: check digits", "consistency: names"} <= figures.keys()  # fmt: skip


def test_originals_put_back_fail_the_checks(benchmark, notes):
    tally = benchmark.Tally()
    corpus, records = benchmark.read_annotated([notes]), benchmark.read_records([notes])
    rows = benchmark.replace_all(corpus, records, b"k" * 32, is_whole=True)
    rows[0].made[0] = "Jane Smith"
    rows[0].made[2] = "WY"
    rows[0].made[5] = "March 14th, 2015"

    benchmark.measure(rows, records, tally)

    figures = tally.to_json()
    for name in ("names: gender", "collisions: none with words of names", "agreement: town in state",
                 "dates: intervals", "consistency: words of names"):  # fmt: skip
        assert figures[name]["share"] < 1, name


def test_initials_that_do_not_follow_their_person_fail(benchmark, lists):
    tally = benchmark.Tally()
    spans = [benchmark.Span(0, 4, "PATIENT"), benchmark.Span(5, 7, "PATIENT")]
    note = benchmark.AnnotatedNote("n", "p", "", "Quist, Bart BQ", spans)

    for made in ("TW", "WT"):
        row = benchmark.Replaced(note, ["Quist, Bart", "BQ"], ["Tucker, Will", made])
        benchmark.measure_initials([row], [benchmark._owners(row)], lists, tally)

    assert (tally.kept["names: initials"], tally.of["names: initials"]) == (1, 2)


def test_initials_of_two_names_are_not_measured(benchmark, lists):
    tally = benchmark.Tally()
    spans = [benchmark.Span(0, 1, "PATIENT"), benchmark.Span(2, 3, "PATIENT"), benchmark.Span(4, 5, "PATIENT")]
    note = benchmark.AnnotatedNote("n", "p", "", "text of the note", spans)
    row = benchmark.Replaced(note, ["Bart Quist", "Bea Quist", "BQ"], ["Will Tucker", "Ann Tucker", "WT"])

    benchmark.measure_initials([row], [benchmark._owners(row)], lists, tally)

    assert not tally.of


def test_the_table_of_the_readme_holds_what_was_measured():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    table = text.partition("<!-- SURROGATES")[2].partition("<!-- END OF SURROGATES -->")[0]
    results = json.loads((FOLDER / "results" / "surrogates.json").read_text(encoding="utf-8"))["results"]

    rows = re.findall(r"^\| ([a-z].+?) \| ([\d.]+) % \| ([\d.]+) % \|$", table, re.MULTILINE)

    assert len(rows) >= 15
    for name, train, dev in rows:
        way = "note by note" if name.endswith(", note by note") else "whole patients"
        measure = name.removesuffix(", note by note")
        for corpus, shown in (("train", train), ("dev", dev)):
            assert shown == f"{100 * results[corpus][way][measure]['share']:.2f}", (name, corpus)

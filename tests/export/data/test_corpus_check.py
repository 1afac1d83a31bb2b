"""Test what the check of annotated notes reports as a problem, as a doubt, and not at all."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from deid_export.cli.corpus import check as corpus_check
from deid_export.data.corpus_check import Checked, check_corpus

CORPUS = Path(__file__).resolve().parents[3] / "export" / "corpus"
PARTS = [CORPUS / "notes" / part for part in ("train", "dev", "test")]

GOOD = """%% patient id=X1-001 given=Alma family=Orr mrn=0044178 phone="507 330 0139"
%% note id=X1-001-1 type="Phone note"

Mrs. <PATIENT>Orr</PATIENT>'s son, MRN <MEDICALRECORD>0044178</MEDICALRECORD>, age:<AGE>67</AGE>yrs, BP <140/90 > 120
%% note id=X1-001-2 type=Letter
Dear Dr. <DOCTOR>Quist</DOCTOR>,
"""


def check(folder: Path, content: str, name: str = "X1-001.txt") -> Checked:
    (folder / name).write_text(content, encoding="utf-8", newline="")
    return check_corpus([folder])


def test_notes_that_keep_the_rules_are_counted(tmp_path: Path) -> None:
    checked = check(tmp_path, GOOD)

    assert checked.findings == []
    assert (checked.notes, checked.patients, checked.words, checked.spans) == (2, 1, 13, 4)


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("id=X1-001 ", "", "X1-001.txt:1: header: no id"),
        ("family=Orr", "famly=Orr", "X1-001.txt:1: header: unknown field 'famly'"),
        ("id=X1-001 ", "id=X1-002 ", "X1-001.txt:1: header: the file is named neither after the patient's id nor"),
        ("\n%% note id=X1-001-1", "\nstray\n%% note id=X1-001-1", "X1-001.txt:2: header: text before the first"),
        (" type=Letter", "", "X1-001.txt:5: header: no type"),
        ("%% note id=X1-001-2", "%% nota id=X1-001-2", "X1-001.txt:5: header: neither %% patient nor %% note"),
        ("%% note id=X1-001-2", "%% note id=Y1-001-2", "X1-001.txt:5: header: the note id does not begin with"),
        ("%% note id=X1-001-2", "%% note id=X1-001-1", "id: this note id occurs twice"),
        ('type="Phone note"', 'type="Phone note', "X1-001.txt:2: unbalanced quotes in a %% line; close"),
        ("Dear Dr. <DOCTOR>Quist</DOCTOR>,", " ", "X1-001.txt:6:1: empty: a note without text"),
        ("<AGE>67</AGE>", "<AGES>67</AGES>", "X1-001.txt:4:84: markup: unknown tag 'AGES'"),
        ("<AGE>67</AGE>", "<AGE>67", "X1-001.txt:4: markup: AGE is not closed on its line"),
        ("Dear", "<DATE>May\n\n4</DATE>", "X1-001.txt:6: markup: DATE is not closed on its line or the next"),
        ("Dear", "<DATE>May\n4\nth</DATE>", "X1-001.txt:6: markup: DATE is not closed on its line or the next"),
        ("<AGE>67</AGE>", "67</AGE>", "X1-001.txt:4:86: markup: AGE closes, and nothing is open"),
        ("<AGE>67</AGE>", "<AGE><DATE>67</DATE></AGE>", "X1-001.txt:4:89: markup: DATE opens inside AGE"),
        ("<AGE>67</AGE>", "<AGE></AGE>67", "X1-001.txt:4:89: markup: AGE covers nothing"),
        ("<AGE>67</AGE>", "<AGE>67 </AGE>", "X1-001.txt:4:84: blank: AGE begins or ends with white space"),
        ("Dear", "MRN 0044178. Dear", "X1-001.txt:6:5: record: the patient's mrn is unmarked"),
        ("Dear", "Dear\r", "X1-001.txt:6: encoding: a byte order mark, or a line end that is not LF"),
        ("Dear", "Dear\u2028", "X1-001.txt:6: encoding"),
    ],
)  # fmt: skip
def test_what_breaks_the_rules_is_a_problem(tmp_path: Path, old: str, new: str, finding: str) -> None:
    assert old in GOOD
    found = [str(problem) for problem in check(tmp_path, GOOD.replace(old, new)).problems]

    assert any(finding in text for text in found), found


@pytest.mark.parametrize("name", ["X1-001.txt", "X1.txt"])
def test_a_file_is_named_after_its_patient_or_its_batch(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, GOOD, name).findings == []


@pytest.mark.parametrize("name", ["X.txt", "X1-00.txt", "X1-001-1.txt", "X2.txt"])
def test_a_file_of_another_name_is_a_problem(tmp_path: Path, name: str) -> None:
    assert [(finding.place, finding.rule) for finding in check(tmp_path, GOOD, name).problems] == [
        (f"{name}:1", "header")
    ]


def test_places_in_a_file_of_several_patients_count_from_its_first_line(tmp_path: Path) -> None:
    other = GOOD.replace("X1-001", "X1-002").replace("Dear", "Orr's sign\nDear")
    checked = check(tmp_path, GOOD + other.replace("BP <", "RR <"), "X1.txt")

    assert checked.patients == 2
    assert [(doubt.place, doubt.rule) for doubt in checked.findings] == [("X1.txt:12:1", "record")]


@pytest.mark.parametrize(
    ("line", "rule", "column"),
    [
        ("called <DOCTOR>Quist</DOCTOR>tonight", "inside-word", 8),
        ("by <DOCTOR>Dr. Quist</DOCTOR>", "edge", 4),
        ("by <DOCTOR>Quist's</DOCTOR> nurse", "edge", 4),
        ("at (<PHONE>507) 330 0140</PHONE>", "edge", 5),
        ("on <DATE>3/14,</DATE>", "edge", 4),
        ("seen with <DOCTOR>Orr</DOCTOR>", "two-labels", 11),
        ("<DOCTOR>Foley</DOCTOR> placed the Foley", "unmarked", 35),
        ("Orr's sign positive", "record", 1),
    ],
)
def test_what_is_often_right_is_a_doubt(tmp_path: Path, line: str, rule: str, column: int) -> None:
    checked = check(tmp_path, GOOD.replace("Dear", f"{line}\nDear"))

    assert [(doubt.rule, doubt.place, doubt.is_problem) for doubt in checked.findings] == [
        (rule, f"X1-001.txt:6:{column}", False)
    ]


@pytest.mark.parametrize(
    "line",
    [
        "run together: Age:<AGE>39</AGE>Sex:F seen<DATE>02/20/2087</DATE>NA MRN<PATIENT>Orr</PATIENT>",
        "ages and dates are numbers too: 67 mg, <DATE>2011</DATE>, 2011 mL",
        "broken over a line end: <DATE>March\n3</DATE>, by Sister <DOCTOR>Una\nGallacher</DOCTOR>.",
        "in parts of words it is another word: orr, Orra, Torr, 00441789",
        "<LOCATION-OTHER>Rm 3</LOCATION-OTHER>, <PATIENT>J.S.</PATIENT>, <PHONE>(507) 330</PHONE>",
    ],
)
def test_what_the_guidelines_allow_is_left_alone(tmp_path: Path, line: str) -> None:
    assert check(tmp_path, GOOD.replace("Dear", f"{line}\nDear")).findings == []


def test_notes_in_two_parts_are_found(tmp_path: Path) -> None:
    for part in ("a", "b"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "X1-001.txt").write_text(GOOD, encoding="utf-8")

    messages = [str(problem) for problem in check_corpus([tmp_path / "a", tmp_path / "b"]).problems]

    assert messages[0] == ("X1-001.txt:1: id: this patient id occurs twice; put all notes of the patient into one file")
    assert len(messages) == 3


def test_a_text_that_occurs_twice_is_named(tmp_path: Path) -> None:
    copy = GOOD.replace("X1-001", "X1-002")
    (tmp_path / "X1-002.txt").write_text(copy, encoding="utf-8")

    assert "X1-002.txt:4:1: id: the same text as note X1-001-1" in map(str, check(tmp_path, GOOD).problems)


def test_json_lines_are_checked_by_note_and_offset(tmp_path: Path) -> None:
    row = {"id": "n1", "patient": "p", "text": "seen by Quist ", "spans": [{"start": 8, "end": 14, "label": "DOCTOR"}]}
    overlapping = row | {"id": "n2", "spans": [*row["spans"], {"start": 9, "end": 12, "label": "AGE"}]}  # type: ignore[misc]

    assert [str(f) for f in check(tmp_path, json.dumps(row) + "\n", "a.jsonl").findings] == [
        "n1 at 8: blank: DOCTOR begins or ends with white space; keep it outside"
    ]
    [problem] = check(tmp_path, json.dumps(overlapping) + "\n", "a.jsonl").problems
    assert problem.rule == "unreadable"
    assert "overlap" in problem.message


def test_bytes_that_are_not_utf8_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "X1-001.txt").write_bytes(GOOD.replace("Alma", "Alm\xe5").encode("latin-1"))

    assert [problem.rule for problem in check_corpus([tmp_path]).problems] == ["encoding", "unreadable"]


def test_the_command_fails_on_problems_and_shows_no_text(tmp_path: Path) -> None:
    (tmp_path / "X1-001.txt").write_text(GOOD.replace("Dear", "Orr's sign\nDear"), encoding="utf-8")
    other = GOOD.replace("X1-001", "X1-002")
    (tmp_path / "X1-002.txt").write_text(other.replace("Dear", "sign <AGE>zebra\nDear"), encoding="utf-8")
    runner = CliRunner()
    short, long = (runner.invoke(corpus_check, [str(tmp_path), *more]) for more in ((), ("--doubts",)))

    assert (short.exit_code, long.exit_code) == (1, 1)
    assert "X1-002.txt:6: markup: AGE is not closed on its line or the next\n" in short.output
    assert "X1-002.txt: unreadable: " in short.output
    assert "2 problems, 1 doubts\n  record: 1\n" in short.output
    assert "X1-001.txt:6:1: record:" not in short.output
    assert "X1-001.txt:6:1: record: the patient's family is unmarked\n" in long.output
    assert not {"Orr", "zebra"} & set(long.output.replace(":", " ").split())


def test_doubts_alone_are_no_failure(tmp_path: Path) -> None:
    (tmp_path / "X1-001.txt").write_text(GOOD.replace("Dear", "Orr's sign\nDear"), encoding="utf-8")

    assert CliRunner().invoke(corpus_check, [str(tmp_path)]).exit_code == 0


def test_our_own_corpus_has_no_problem() -> None:
    assert [str(problem) for problem in check_corpus(PARTS).problems] == []


def test_the_example_of_the_data_card_keeps_the_rules(tmp_path: Path) -> None:
    card = (CORPUS / "README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```text\n(%% patient.*?)^```$", card, re.MULTILINE | re.DOTALL)

    assert check(tmp_path, example).findings == []

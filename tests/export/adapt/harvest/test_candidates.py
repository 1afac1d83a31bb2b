import json
import stat

import pytest

from deid_export.adapt.harvest.candidates import (
    Candidate,
    list_of,
    read_review,
    with_decisions,
    write_accepted,
    write_review,
)
from deid_runtime.detectors.inclusion import load_inclusion
from deid_runtime.detectors.templates import load_templates
from deid_runtime.errors import OutputError, SettingsError


def candidate(line, status="pending", kind="frequent", **values):
    return Candidate(line=line, status=status, kind=kind, **({"patients": 12, "notes": 14, "occurrences": 20} | values))


SENTENCES = [candidate("No fever", "accepted"), candidate("No rash", "rejected"), candidate("No cough", kind="term")]
TEMPLATES = [candidate("Rass {number:1-2}", "accepted", "template", evidence={"syntax_masks": ["W N"]})]


def test_a_review_file_comes_back_as_it_was_and_is_private(tmp_path):
    path = tmp_path / "r.jsonl"

    write_review(path, SENTENCES)

    assert read_review(path) == SENTENCES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["r.jsonl"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": "maybe"}, "line 2: unknown status"),
        ({"kind": "phrase"}, "line 2: expected a kind"),
        ({"line": " "}, "line 2: expected a kind .* a line that is not empty"),
        ({"patients": "12"}, "line 2: expected whole numbers"),
        ({"more": 1}, "line 2: expected the fields"),
        ({"kind": "template"}, "expected candidates of one list; both are there"),
    ],
)
def test_a_wrong_line_is_named_and_not_quoted(tmp_path, change, message):
    path = tmp_path / "r.jsonl"
    write_review(path, SENTENCES[:2])
    good, other = path.read_text(encoding="utf-8").splitlines()
    path.write_text(good + "\n" + json.dumps(json.loads(other) | change) + "\n", encoding="utf-8")

    with pytest.raises(SettingsError, match=message) as error:
        read_review(path)

    assert "rash" not in str(error.value)


def test_what_is_no_json_is_an_error(tmp_path):
    (tmp_path / "r.jsonl").write_text("No fever\n", encoding="utf-8")

    with pytest.raises(SettingsError, match="line 1: not JSON"):
        read_review(tmp_path / "r.jsonl")


def test_decisions_outlive_a_new_harvest():
    new = [candidate("No rash", patients=40), candidate("No wheeze")]

    united = with_decisions(new, SENTENCES)

    assert [(c.line, c.status, c.patients) for c in united] == [
        ("No rash", "rejected", 40), ("No wheeze", "pending", 12), ("No fever", "accepted", 12),
    ]  # fmt: skip


def test_only_accepted_sentences_are_written(tmp_path):
    path = tmp_path / "inclusion.txt"

    write_accepted(path, SENTENCES, "inclusion")

    inclusion = load_inclusion(path, screen=lambda texts: [[] for _ in texts])
    assert len(inclusion) == 1
    assert "- no fever." in inclusion


def test_only_accepted_templates_are_written_behind_what_was_there(tmp_path):
    path = tmp_path / "templates.txt"

    write_accepted(
        path, [*TEMPLATES, candidate("Gcs {number:1}", kind="template")], "templates", before=b"Seen {DATE}\n"
    )

    templates = load_templates(path)
    assert len(templates) == 2
    assert templates.match("Rass 12") == []
    assert templates.match("Gcs 3") is None
    assert len(templates.match("Seen 3/4/2031")) == 1


@pytest.mark.parametrize(
    ("name", "lines"),
    [("inclusion", [candidate("Seen on 3/4/2031", "accepted")]),
     ("templates", [candidate("Seen by {DOCTER}", "accepted", "template")])],
)  # fmt: skip
def test_what_a_run_would_refuse_is_not_written(tmp_path, name, lines):
    path = tmp_path / "out.txt"
    path.write_text("as before", encoding="utf-8")

    with pytest.raises(SettingsError):
        write_accepted(path, lines, name)

    assert path.read_text(encoding="utf-8") == "as before"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_the_list_of_nothing_is_unknown():
    assert (list_of(SENTENCES), list_of(TEMPLATES)) == ("inclusion", "templates")
    with pytest.raises(SettingsError, match="there are none"):
        list_of([])


def test_an_output_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        write_review(tmp_path / "nowhere" / "r.jsonl", SENTENCES)

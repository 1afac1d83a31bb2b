"""Test the model cards of heads: computed from measured reports, and refused when the inputs do not belong together."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deid_export.adapt.head_cards import MARK, head_cards
from deid_export.cli.models import card as command
from deid_export.data.corpus import batch_of, corpus_digest
from deid_export.data.marked_tables import with_tables
from deid_runtime.annotations.read import read_annotated
from deid_runtime.errors import InputError
from deid_runtime.labels import HEADS
from tests.export.data.test_corpus_check import CORPUS

ROOT = Path(__file__).parents[3]
MODELS = ROOT / "model_repository"
RESULTS = ROOT / "benchmarks" / "results"
LAST_BATCH_LEARNT = 76
TRAINED_ON = [
    note for note in read_annotated([CORPUS / "notes" / "train"]) if int(batch_of(note)[1:]) <= LAST_BATCH_LEARNT
]


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def manifest() -> Any:
    return _json(MODELS / "manifest.json")


@pytest.fixture
def accuracy() -> dict[str, Any]:
    return {profile: _json(RESULTS / f"accuracy_{profile}.json") for profile in ("fast", "full")}


def test_the_committed_cards_are_true(manifest: Any, accuracy: dict[str, Any]) -> None:
    page = (MODELS / "MODEL_CARD.md").read_text(encoding="utf-8")

    assert with_tables(page, head_cards(manifest, TRAINED_ON, accuracy), MARK) == page, (
        "deid-export models card --update"
    )


def test_errors_count_for_the_head_of_their_label(manifest: Any, accuracy: dict[str, Any]) -> None:
    line = "running text | body | 21-80"
    accuracy["fast"]["report"]["errors"] = {
        "missed": {"kinds": {f"AGE | 1 digit | nothing found | nowhere else | {line}": 3}},
        "wrong": {"kinds": {f"ZIP | pattern | code | no gold in it | found again | {line}": 2}},
    }

    cards = head_cards(manifest, TRAINED_ON, accuracy)

    assert "`fast` misses 3 tokens on dev: 1 digit 3; running text 3; nowhere else 3." in cards["age"]
    assert "`fast` wrongly finds none of its tokens on dev." in cards["age"]
    assert "`fast` wrongly finds 2 tokens on dev: code 2; running text 2; found again 2." in cards["location"]


def test_reports_of_other_models_are_refused(manifest: Any, accuracy: dict[str, Any]) -> None:
    accuracy["full"]["run"]["pipeline"]["models"]["graphs"]["v1"]["sha256"] = "0" * 64

    with pytest.raises(InputError, match="'full' measured another v1"):
        head_cards(manifest, TRAINED_ON, accuracy)


def test_reports_with_other_thresholds_are_refused(manifest: Any, accuracy: dict[str, Any]) -> None:
    accuracy["fast"]["run"]["pipeline"]["models"]["thresholds"]["age"] = 0.9

    with pytest.raises(InputError, match="'fast' has other thresholds"):
        head_cards(manifest, TRAINED_ON, accuracy)


def test_short_reports_are_refused(manifest: Any, accuracy: dict[str, Any]) -> None:
    del accuracy["fast"]["report"]["errors"]["missed"]["kinds"]

    with pytest.raises(InputError, match="'fast' has no errors by kind; .* without --short"):
        head_cards(manifest, TRAINED_ON, accuracy)


def test_notes_that_the_models_did_not_learn_from_are_refused(manifest: Any, accuracy: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="give their training notes"):
        head_cards(manifest, TRAINED_ON[1:], accuracy)


def test_the_command_updates_a_page(manifest: Any, tmp_path: Path) -> None:
    page, notes = tmp_path / "card.md", tmp_path / "notes.jsonl"
    page.write_text("".join(f"<!-- {MARK}: {head} -->\n<!-- /{MARK}: {head} -->\n" for head in HEADS))
    notes.write_text(
        "".join(
            json.dumps(
                {"id": note.id, "text": note.text,
                 "spans": [{"start": s.start, "end": s.end, "label": s.label} for s in note.spans]}
            ) + "\n"
            for note in TRAINED_ON
        ),
        encoding="utf-8",
    )  # fmt: skip
    reports = [f"--accuracy={RESULTS / f'accuracy_{profile}.json'}" for profile in ("fast", "full")]

    outcome = CliRunner().invoke(command, [str(MODELS), "--notes", str(notes), *reports, "--update", str(page)])

    assert outcome.exit_code == 0, outcome.output
    assert page.read_text(encoding="utf-8").count("| label | training spans |") == len(HEADS)
    assert corpus_digest(read_annotated([notes])) == manifest["corpus_sha256"]

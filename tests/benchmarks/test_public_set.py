"""Test the measures on a public set: what is identifying there, and what is counted."""

import gzip
import json
from pathlib import Path
from types import ModuleType

import pytest

from deid_runtime.spans import Span
from tests.benchmarks.scripts import load_script


@pytest.fixture(scope="module", name="public_set")
def public_set_script() -> ModuleType:
    return load_script("outside/public_set")


def test_a_set_becomes_annotated_notes(public_set: ModuleType, tmp_path: Path) -> None:
    rows = [
        {
            "full_text": "Mr. Oyelaran, 47",
            "spans": [
                {"entity_type": "AGE", "start_position": 14, "end_position": 16},
                {"entity_type": "TITLE", "start_position": 0, "end_position": 3},
                {"entity_type": "PERSON", "start_position": 4, "end_position": 12},
            ],
        }
    ]
    path = tmp_path / "set.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))

    [note], held_back = public_set.read_set(path)
    assert note.spans == (Span(4, 12, "PATIENT"), Span(14, 16, "AGE"))
    assert held_back == 0

    report = public_set.score([note], {"1": [Span(4, 8, "CITY"), Span(0, 3, "CITY")]})
    assert report["all_ages"]["found"]["share"] == pytest.approx(4 / 10)
    assert report["without_ages_under_90"]["found"]["share"] == pytest.approx(4 / 8)
    assert report["all_ages"]["redacted"]["share"] == pytest.approx(3 / 4)

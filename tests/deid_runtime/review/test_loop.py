"""Test the whole loop: detect, correct in the browser, train the heads further, and see the errors go.

It runs the script of the tutorial for site leads, with a very small model and 20 notes reviewed with the keyboard.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.commands import write_rows

from .conftest import served, spans_of

ROOT = Path(__file__).resolve().parents[3]
#: The words of the page: see note_view.js.
_WORD = re.compile(r"[^\W_]+|[^\s\w]|_")


def keys_for(text: str, spans: Sequence[tuple[int, int, str]], wrong: int) -> list[str]:
    """Return the keys that delete ``wrong`` spans, and add ``spans``, sorted, by choosing their words."""
    words = [match.span() for match in _WORD.finditer(text)]
    keys = ["x"] * wrong
    at = -1  # the last word of the span before; the first arrow chooses the first word
    for start, end, label in spans:
        first = next(number for number, word in enumerate(words) if word[1] > start)
        last = max(number for number, word in enumerate(words) if word[0] < end)
        keys += ["ArrowRight"] * (first - at) + ["Shift+ArrowRight"] * (last - first) + ["a", *label, "Enter"]
        at = last
    return [*keys, "r"]


def write_notes(path: Path, notes: Sequence[Any]) -> None:
    rows = [{"id": note.id, "patient": note.patient, "type": note.type, "text": note.text} for note in notes]
    write_rows(path, rows)


def reviewed(page: Page, folder: Path, notes: Sequence[Any], models: Path) -> list[str]:
    """Search the notes with ``models``, correct what is found with the keyboard, and return the lines of the export."""

    def deid(*arguments: str | Path) -> None:
        subprocess.run([sys.executable, "-m", "deid_runtime", *map(str, arguments)], check=True, capture_output=True)

    write_notes(folder / "notes.jsonl", notes)
    deid("detect", folder / "notes.jsonl", "-o", folder / "found.jsonl", "--models", models, "--trust-models")
    deid("review", "create", folder / "p.review", folder / "notes.jsonl", "--found", folder / "found.jsonl")
    wrong = {row["id"]: len(row["spans"]) for row in map(json.loads, (folder / "found.jsonl").read_text().splitlines())}
    by_id = {note.id: note for note in notes}
    with served("review", "open", folder / "p.review") as links:
        page.goto(links[0])
        for done in range(len(notes)):
            title = page.locator("#title")
            expect(title).not_to_have_text("No note")
            note = by_id[title.inner_text().split()[0]]
            spans = [(span.start, span.end, span.label) for span in note.spans]
            for key in keys_for(note.text, spans, wrong[note.id]):
                page.keyboard.press(key)
            expect(page.locator("#progress")).to_contain_text(f"{done + 1} of {len(notes)} notes read", timeout=20_000)
            if done + 1 < len(notes):
                expect(title).not_to_have_text(f"{note.id} ({note.type})")
    assert spans_of(folder / "p.review") == {
        note.id: [(span.start, span.end, span.label) for span in note.spans] for note in notes
    }
    return (folder / "gold.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)


def test_corrections_of_a_reviewer_train_better_heads(page: Page, commands: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    from deid_export.onnx.assemble import assemble
    from deid_runtime.annotations.jsonl import render_jsonl
    from tests.export.lists import write_lists
    from tests.export.onnx.test_restore import shaken
    from tests.export.tiny_model import annotated, write_base, write_trained

    (tmp_path / "base").mkdir()
    base = write_base(tmp_path / "base")
    trained = shaken(write_trained(tmp_path / "joint.pt", base, joint=True))
    assemble([trained], base / "tokenizer.json", annotated(4), tmp_path / "models", int8=False)
    (tmp_path / "review").mkdir()
    gold = reviewed(page, tmp_path / "review", annotated(20), tmp_path / "models")
    measure = [render_jsonl(note).decode() for note in annotated(10, first=20)]
    for name, lines in (("learn", gold[:10]), ("choose", gold[10:]), ("measure", measure)):
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    settings = {
        "MODELS": str(tmp_path / "models"),
        "BASE": str(base),
        "LAYERS": "1",
        "TOKENS": "80000",
        "THREADS": "1",
        "RECALL": "0.9",
        "ITERATE": "--learning-rate 6e-3",
        "ONNX": "--float32",
    }
    inputs = [str(tmp_path / f"{name}.jsonl") for name in ("learn", "choose", "measure")]
    done = subprocess.run(
        ["bash", str(ROOT / "examples" / "adapt_to_site.sh"), *inputs, str(write_lists(tmp_path / "lists")), "site"],
        cwd=tmp_path,
        env={**commands, **settings},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    reached = {
        name: float(f2) for name, f2 in re.findall(r"^(\d-\w+): F2, recall, precision (\S+)", done.stdout, re.MULTILINE)
    }
    assert list(reached) == ["0-before", "1-threshold", "2-heads"]
    assert os.readlink(tmp_path / "site" / "current") == max(reached, key=lambda name: reached[name])
    assert reached["2-heads"] > reached["0-before"]  # training had an effect
    registry = json.loads((tmp_path / "site" / "registry" / "registry.json").read_text(encoding="utf-8"))
    assert {version["name"] for version in registry["versions"]} == {"v0", "v1"}  # the old version is kept

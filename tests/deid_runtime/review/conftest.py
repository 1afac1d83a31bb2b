"""A real browser and a real server of the review page."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.commands import read_rows


# Playwright keeps an event loop running in its thread; tests of other folders must not meet it.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("no Chromium here; install it as scripts/test.sh does: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@contextmanager
def served(*arguments: str | Path) -> Iterator[list[str]]:
    """Run a ``deid`` command that serves a page, and yield the links that it prints."""
    command = [sys.executable, "-m", "deid_runtime", *map(str, arguments)]
    links = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stderr:  # it comes behind the links
                if "Ctrl-C stops" in line:
                    break
            else:
                pytest.fail("the page was not served")
            count = max(1, arguments.count("--reviewer"))
            links = [re.findall(r"http://\S+", process.stdout.readline())[0] for _ in range(count)]
            yield links
        finally:
            process.terminate()
            said = process.communicate(timeout=20)
    # Whatever people did on the page, nothing of it is printed.
    assert all("stopped by SIGTERM" in line or not line for line in said[1].splitlines()), said[1]
    assert said[0] == ""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("dialog", lambda dialog: problems.append("a dialog of the note text"))
    outside: list[str] = []
    opened.on(
        "request", lambda request: None if request.url.startswith("http://127.0.0.1:") else outside.append(request.url)
    )
    yield opened
    context.close()
    assert problems == []
    assert all(url.startswith("http://127.0.0.1:") for url in outside)


Found = tuple[int, int, str]


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a project of ``(text, found spans)`` with the command line."""

    def make(notes: list[tuple[str, list[Found]]], *arguments: str, patient: str = "p") -> Path:
        texts, found, project = tmp_path / "notes.jsonl", tmp_path / "found.jsonl", tmp_path / "p.review"
        with texts.open("w") as to_texts, found.open("w") as to_found:
            for number, (text, spans) in enumerate(notes):
                row: dict[str, Any] = {"id": f"note-{number:02}", "patient": patient, "type": "progress", "text": text}
                to_texts.write(json.dumps(row) + "\n")
                rows = [{"start": start, "end": end, "label": label} for start, end, label in spans]
                to_found.write(json.dumps({"id": row["id"], "spans": rows}) + "\n")
        command = [sys.executable, "-m", "deid_runtime", "review", "create", project, texts, "--found", found]
        subprocess.run([*map(str, command), *arguments], check=True, capture_output=True)
        return project

    return make


def spans_of(project: Path, *arguments: str) -> dict[str, list[Found]]:
    """Export a project with the command line, and return the spans of each note that was read whole."""
    out = project.with_name("gold.jsonl")
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "deid_runtime", "review", "export", str(project), "-o", str(out), *arguments]
    subprocess.run(command, check=False, capture_output=True)
    rows = read_rows(out)
    return {
        row["id"]: [(span["start"], span["end"], span["label"]) for span in row.get("spans", row.get("marks"))]
        for row in rows
    }

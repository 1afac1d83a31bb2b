"""Test the documentation: its code runs, its site builds without a warning and loads nothing from other hosts."""

import os
import re
import runpy
import subprocess
import sys
import textwrap
from html.parser import HTMLParser
from pathlib import Path

import pytest

from deid_runtime.labels import LABELS, group_of

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
#: Files of other folders that are pages of the site, too. tests/test_readme.py runs the code of README.md.
OTHER_PAGES = sorted(
    ROOT / name for name in runpy.run_path(str(ROOT / "scripts" / "docs_pages.py"))["PAGES"] if name != "README.md"
)
RUN_PAGES = [*PAGES, *OTHER_PAGES]
#: A block of code, after an optional mark with the reason why it is not run.
_BLOCK = re.compile(
    r"^(?P<mark>[ ]*<!-- not run: (?P<reason>[^>]+) -->\n)?"
    r"(?P<indent>[ ]*)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_SHOWN_ONLY = ("text", "")
#: A line that a reader would run. It must not stand in a block that is only shown.
_COMMAND = re.compile(
    r"^[ ]*(?:\$ |\S*/)?(?:deid|deid-export|python3?|bash|git|pip|curl|kubectl|docker|podman|buildah|psql|openssl) \S",
    re.MULTILINE,
)

has_models = pytest.mark.skipif(
    not (ROOT / "model_repository" / "manifest.json").exists(), reason="this checkout has no models"
)


def all_blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and code of each block that is run here, or elsewhere for a reason."""
    return [(language, code) for language, code, _ in _read_blocks(page) if language not in _SHOWN_ONLY]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and code of each block that is run here."""
    return [(language, code) for language, code, mark in _read_blocks(page) if not mark and language not in _SHOWN_ONLY]


def _read_blocks(page: Path) -> list[tuple[str, str, str | None]]:
    """Return language, code and mark of each block."""
    return [
        (match["language"], textwrap.dedent(match["code"]), match["mark"])
        for match in _BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a folder that looks like a clone, with the files that pages read; pages write only there."""
    for name in ("examples", "model_repository", "export", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@has_models
@pytest.mark.parametrize(
    "page", [page for page in RUN_PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_code_of_a_page_runs_in_order(page: Path, commands: dict[str, str], workspace: Path) -> None:
    if any("deid-export" in code for _, code in blocks(page)):
        pytest.importorskip("torch", reason="deid-export needs torch")
    for number, (language, code) in enumerate(blocks(page)):
        assert language in ("bash", "python"), (
            f"{page}: mark blocks of {language} as text or teach this test to run them"
        )
        if language == "python":
            (workspace / f"block{number}.py").write_text(code, encoding="utf-8")
            arguments = ["python", f"block{number}.py"]
        else:
            arguments = ["bash", "-euo", "pipefail", "-c", code]
        done = subprocess.run(
            arguments,
            cwd=workspace,
            env=commands,
            capture_output=True,
            text=True,
            timeout=600,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, (
            f"{page.name}, block {number}:\n{code}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        )


def test_what_is_not_run_says_why_and_is_rare() -> None:
    marks = [match["reason"] for page in RUN_PAGES for match in _BLOCK.finditer(page.read_text()) if match["mark"]]

    assert all(len(reason.split()) >= 2 for reason in marks)
    run_elsewhere = [
        reason for reason in marks if re.search(r"tests/\S+ runs (?:it|the commands of this page)$", reason)
    ]
    assert len(marks) - len(run_elsewhere) < sum(len(blocks(page)) for page in RUN_PAGES)
    named = {path for reason in marks for path in re.findall(r"tests/[\w./]*\w", reason)}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", RUN_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_block_that_is_only_shown_holds_no_command(page: Path) -> None:
    shown = [code for language, code, _ in _read_blocks(page) if language in _SHOWN_ONLY]

    assert [match[0] for code in shown for match in _COMMAND.finditer(code)] == []


def test_the_first_example_names_no_original_as_a_surrogate() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    before, after = re.findall(r"^\| (Ms\. [^|]+) \| (Ms\. [^|]+) \|$", text, re.MULTILINE)[0]

    assert not [
        word for word in ("Halvorsen", "3/11/2019", "Lindqvist", "Dundas") if word in after or word not in before
    ]


def test_the_page_of_labels_is_that_of_the_code() -> None:
    text = (DOCS / "concepts" / "labels.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z-]+) \| ([ABC])", text, re.MULTILINE)

    assert rows == [(label, group_of(label)) for label in LABELS]


class Resources(HTMLParser):
    """Collects the resources that a browser would load for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.classes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.classes |= set(named.get("class", "").split())
        if tag == "link" and named.get("rel") in ("next", "prev", "canonical"):
            return  # a link that loads nothing
        if tag in ("link", "script", "img", "iframe", "source", "video", "audio", "object", "embed"):
            self.fetched += [named[name] for name in ("href", "src", "srcset", "data") if named.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="needs requirements/docs.txt")
    folder = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run(
        ["bash", str(ROOT / "scripts" / "docs.sh"), "--site-dir", str(folder)],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_builds_without_a_warning(site: Path) -> None:
    built = {str(page.relative_to(site)) for page in site.rglob("*.html")}

    assert {str(page.relative_to(DOCS).with_suffix(".html")) for page in PAGES} <= built
    assert {"reference/deid.html", "reference/deid-export.html", "reference/python.html"} <= built


def test_the_site_asks_no_other_host_for_anything(site: Path) -> None:
    for page in site.rglob("*.html"):
        resources = Resources()
        resources.feed(page.read_text(encoding="utf-8"))
        assert resources.fetched
        for target in resources.fetched:
            assert not re.match(r"(?:\w+:)?//", target), f"{page.name} fetches {target}"
            there = (page.parent / target.partition("?")[0].partition("#")[0]).resolve()
            assert target.startswith("data:") or page.name == "404.html" or there.exists(), f"{page.name}: no {target}"
        assert "mermaid" not in resources.classes  # otherwise the theme would load a script
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", sheet.read_text(encoding="utf-8"))


def test_the_command_reference_has_every_command_and_option(site: Path) -> None:
    from deid_runtime.cli.main import main

    text = (site / "reference" / "deid.html").read_text(encoding="utf-8")
    assert {f'id="deid-{name}"' for name in main.commands if f'id="deid-{name}"' not in text} == set()
    options = {name for parameter in main.commands["run"].params for name in parameter.opts if name.startswith("--")}
    assert {name for name in options if name not in text} == set()


def test_tables_of_figures_are_filled_in(site: Path) -> None:
    text = (site / "benchmarks.html").read_text(encoding="utf-8")

    assert "TABLE:" not in text
    assert len(re.findall("<table>", text)) == 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_begins_with_what_it_is_for(page: Path) -> None:
    title, _, rest = page.read_text(encoding="utf-8").partition("\n")

    assert title.startswith("# ")
    assert rest.strip().startswith(("After this page you", "What was tried")) or page.name == "decisions.md"


def test_the_lock_of_the_documentation_fits_into_the_environment_of_all() -> None:
    pin = re.compile(r"^([a-z0-9.-]+)==(\S+)", re.MULTILINE)
    docs, everything = (
        dict(pin.findall((ROOT / "requirements" / name).read_text(encoding="utf-8")))
        for name in ("docs.txt", "export.txt")
    )

    assert "mkdocs-material" in docs
    assert {name: version for name, version in docs.items() if everything.get(name, version) != version} == {}

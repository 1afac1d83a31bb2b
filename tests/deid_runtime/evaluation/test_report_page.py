"""Test the page: it loads nothing, holds no text unless asked, machines can read it, hostile text is inert."""

import csv
import json
import re
import stat
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import OutputError, SettingsError
from deid_runtime.evaluation.forms import compare_form, rewritten
from deid_runtime.evaluation.full_report import compare_with, full_report
from deid_runtime.evaluation.report_files import write_report
from deid_runtime.evaluation.report_page import ReportInputs, inert, percent, render_page
from deid_runtime.evaluation.review import errors_in_context
from deid_runtime.spans import Span
from tests.deid_runtime.evaluation.invented import FOUND, GOLD, WORDS

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

INPUTS = ReportInputs("0.1.0", {"gold, gold.jsonl": "ab" * 32})
SECOND = {"a": [Span(0, 15, "PATIENT")], "b": [], "c": []}
#: Elements without an end tag.
_VOID = ("meta", "link", "br", "img", "input", "hr", "path", "use", "rect")


class Page(HTMLParser):
    """Collects what a browser would load or run, and what a screen reader needs."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.declarations: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


def parsed(html: str) -> Page:
    page = Page()
    page.feed(html)
    return page


@pytest.fixture(scope="module")
def report():
    altered = [compare_form("lower", GOLD, FOUND, [rewritten(note, "lower") for note in GOLD], FOUND)]
    against = compare_with(GOLD, FOUND, SECOND, shuffles=99)
    return full_report(GOLD, FOUND, altered=altered, against=against, bootstrap_resamples=20)


@pytest.fixture(scope="module")
def html(report):
    return render_page(report, INPUTS)


def with_text(gold, found):
    errors = list(errors_in_context(gold, found, shows_wrong=True))
    return full_report(gold, found, errors=errors, bootstrap_resamples=2)


def test_the_page_loads_and_runs_nothing(html):
    page = parsed(html)

    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "audio", "video"}
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        for name in ("href", "xlink:href", "src"):
            assert attributes.get(name, "#").startswith("#"), (tag, attributes)
    urls = set(re.findall(r"url\(([^)]*)\)", html))
    assert all(url.startswith("#") for url in urls)
    assert "@import" not in html
    [policy] = [each["content"] for each in page.of("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy


def test_the_page_begins_with_the_three_sentences(html):
    text = re.sub(r"<[^>]+>", "\n", html[html.index("<body") :])
    assert [line for line in text.split("\n") if line.strip()][3:6] == [
        "Of 3 notes, 2 had nothing missed.",
        "In 0 notes a name was missed.",
        "1 clinical word was removed that identifies nobody.",
    ]


def test_a_screen_reader_finds_its_way(html):
    page = parsed(html)

    assert page.of("html")[0]["lang"] == "en"
    assert len(page.of("main")) == len(page.of("h1")) == len(page.of("title")) == 1
    assert len(page.of("caption")) == len(page.of("table")) > 10
    assert all(each.get("scope") in ("col", "row") for each in page.of("th"))
    assert all(each.get("role") == "img" and each["aria-label"] for each in page.of("svg"))
    regions = [each for each in page.of("div") if each.get("role") == "region"]
    assert all(each["tabindex"] == "0" and each["aria-label"] for each in regions)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert [each for each, count in Counter(ids).items() if count > 1] == []
    links = [each["href"].removeprefix("#") for each in page.of("a")]
    assert set(links) <= set(ids)


def test_every_element_is_closed(html):
    class Nesting(HTMLParser):
        open: list[str] = []  # noqa: RUF012 - one page, one parser

        def handle_starttag(self, tag, attrs):
            if tag not in ("meta",):
                self.open.append(tag)

        def handle_startendtag(self, tag, attrs):
            pass

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    nesting = Nesting()
    nesting.feed(html)
    assert nesting.open == []


def test_text_is_dark_enough_on_its_background(html):
    def luminance(colour: str) -> float:
        channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        light, dark = sorted((luminance(one), luminance(other)), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    pairs = [("#1b1b1b", "#f2f5f9"), ("#4d4d4d", "#ffffff"), ("#0b5394", "#ffffff"), ("#6b2404", "#fff6f0"),
             ("#767676", "#ffffff"), ("#1b1b1b", "#fdeada"), ("#1b1b1b", "#ffe9a8")]  # fmt: skip
    for ink, paper in pairs:
        assert ink in html
        assert contrast(ink, paper) >= 4.5


def test_without_show_text_no_word_of_a_note_is_anywhere(tmp_path, report):
    paths = write_report(tmp_path / "out.html", report, INPUTS)

    assert [path.name for path in paths] == ["out.html", "out.json", "out.csv"]
    for path in paths:
        content = path.read_text(encoding="utf-8")
        assert not [word for word in WORDS if word in content]
    assert "real notes" not in paths[0].read_text()


def test_with_text_wrongly_removed_words_are_clear_and_identifiers_masked(tmp_path):
    path, *others = write_report(tmp_path / "out.html", with_text(GOLD, FOUND), INPUTS)
    content = path.read_text(encoding="utf-8")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "words of real notes" in content
    assert "Xxxx called, <mark>fever</mark>" in content
    assert "<mark>99</mark>" in content  # the missed age
    assert not [word for word in WORDS if word in content and word != "fever"]
    assert not [word for other in others for word in WORDS if word in other.read_text()]


def test_a_wrongly_removed_word_is_clear_also_where_it_is_a_name_elsewhere():
    note = AnnotatedNote(
        "n", "", "", "Mr. Brown has brown sputum, Brown", (Span(4, 9, "PATIENT"), Span(28, 33, "PATIENT"))
    )

    content = render_page(with_text([note], {"n": [Span(4, 9, "PATIENT"), Span(14, 19, "PATIENT")]}), INPUTS)
    assert "Mr. Xxxxx has <mark>brown</mark> sputum, " in content


def test_hostile_text_stays_inert():
    hostile = '<script>alert(1)</script> <img src=x onerror=y> \u202eevil\u2066 {{ 7 * 7 }} & "quoted" \x1b[31m'
    words = [Span(match.start(), match.end(), "CITY") for match in re.finditer(r"script|onerror|evil|quoted", hostile)]
    note = AnnotatedNote('"><script>id', "p", "<b>type</b>", hostile, ())

    content = render_page(with_text([note], {note.id: words}), ReportInputs("0", {"<script>": "x"}))
    page = parsed(content)
    assert not page.of("script")
    assert not page.of("img")
    assert "{{ 7 * 7 }}" in content
    assert not [each for each in content if each in "\u202e\u2066\x1b"]


def test_very_long_lines_do_not_make_a_long_page():
    text = "word " * 20_000
    note = AnnotatedNote("n", "", "", text, ())

    content = render_page(with_text([note], {"n": [Span(50_000, 50_004, "CITY")]}), INPUTS)
    assert len(content) < 200_000


def test_the_same_report_gives_the_same_files(tmp_path, report):
    first = [path.read_bytes() for path in write_report(tmp_path / "a.html", report, INPUTS)]

    assert [path.read_bytes() for path in write_report(tmp_path / "b.html", report, INPUTS)] == first


def test_files_are_replaced_only_when_asked(tmp_path, report):
    (tmp_path / "out.csv").write_text("mine")

    with pytest.raises(OutputError, match=r"out\.csv: already exists"):
        write_report(tmp_path / "out.html", report, INPUTS)
    assert not (tmp_path / "out.html").exists()
    write_report(tmp_path / "out.html", report, INPUTS, overwrite=True)
    with pytest.raises(SettingsError, match=r"ends in \.html"):
        write_report(tmp_path / "out.pdf", report, INPUTS)


def test_json_and_csv_hold_the_figures_of_the_page(tmp_path, report):
    page, values, table = write_report(tmp_path / "out.html", report, INPUTS)

    content = json.loads(values.read_text())
    recall = content["scores"]["groups"]["C"]["tokens"]["recall"]
    assert recall == pytest.approx(4 / 6, abs=1e-6)
    assert percent(recall) in page.read_text()
    rows = {
        (row["table"], row["row"], row["measure"]): row["value"]
        for row in csv.DictReader(table.read_text().splitlines())
    }
    assert float(rows["groups", "C", "tokens.recall"]) == recall
    assert rows["confusion", "AGE", "none"] == "1"
    assert rows["sources", "model:name", "only_right"] == "2"
    assert content["against"]["differences"]["C"]["recall"]["second"] == pytest.approx(0.333333)


def test_a_spreadsheet_reads_no_cell_as_a_formula(tmp_path):
    note = replace(GOLD[1], type="=cmd()")
    *_, table = write_report(tmp_path / "out.html", full_report([note], FOUND, bootstrap_resamples=2), INPUTS)

    rows = list(csv.reader(table.read_text().splitlines()))
    assert any("'=cmd()" in row for row in rows)
    assert not [cell for row in rows for cell in row if cell.startswith("=")]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.0, "0.0\u00a0%"), (1.0, "100.0\u00a0%"), (0.99996, "99.996\u00a0%"), (0.0004, "0.04\u00a0%")],
)
def test_shares_are_not_rounded_to_all_or_nothing(value, shown):
    assert percent(value) == shown


def test_controls_become_a_mark():
    assert inert("a\u202eb\x00c\n漢") == "a\ufffdb\ufffdc\ufffd漢"


def test_no_notes_at_all(tmp_path):
    assert "Of 0 notes" in render_page(full_report([], {}), INPUTS)

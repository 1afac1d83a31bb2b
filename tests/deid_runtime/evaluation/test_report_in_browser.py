"""Test the report page in a real headless Chromium: what it asks for, what it finds accessible, and a narrow screen."""

import shutil
from importlib import resources
from pathlib import Path

import pytest

from deid_runtime.evaluation.full_report import compare_with, full_report
from deid_runtime.evaluation.report_files import write_report
from deid_runtime.evaluation.report_page import ReportInputs
from deid_runtime.evaluation.review import errors_in_context
from tests.deid_runtime.evaluation.invented import FOUND, GOLD

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_playwright_python")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; install it as scripts/test.sh does")
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    errors = list(errors_in_context(GOLD, FOUND, shows_wrong=True))
    against = compare_with(GOLD, FOUND, FOUND, shuffles=9)
    report = full_report(GOLD, FOUND, errors=errors, against=against, bootstrap_resamples=2)
    path, *_ = write_report(tmp_path / "out.html", report, ReportInputs("0", {}))
    with playwright.sync_playwright() as opened:
        browser = opened.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": 390, "height": 800}, bypass_csp=True)  # else axe cannot run
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
        found = page.evaluate("axe.run()")
        width = page.evaluate("document.documentElement.scrollWidth")
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.className")
        browser.close()
    assert asked == [path.as_uri()]
    assert [(each["impact"], each["id"]) for each in found["violations"]] == []
    assert width <= 390  # tables scroll by themselves, the page does not
    assert focused == "skip"

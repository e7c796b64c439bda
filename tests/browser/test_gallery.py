"""The gallery in a real browser: every picture is drawn, nothing is asked of anybody, nothing is complained about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leakwise.papers.runner import run

pytest.importorskip("playwright")

CHROMIUM = Path("/usr/bin/chromium")
NAMES = ["WC", "EN/example_1", "EN/figure_2a", "EX/figure_1a", "EX/figure_4b"]


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("gallery")
    assert run(directory, NAMES, fast=True, jobs=1).failed == {}
    return directory


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    if not CHROMIUM.exists():
        pytest.skip("no chromium here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


class Visit:
    """A page with all that it asked for and complained about."""

    def __init__(self, browser: Any, address: str, width: int = 1000) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address, wait_until="load")

    def outside(self) -> list[str]:
        return [url for url in self.requests if not url.startswith(("file:", "data:"))]


def test_every_picture_is_there_and_nothing_is_asked_outside(chromium: Any, gallery: Path) -> None:
    visit = Visit(chromium, (gallery / "index.html").as_uri())
    page = visit.page
    widths = page.eval_on_selector_all("img", "images => images.map(image => image.naturalWidth)")
    assert len(widths) == 6  # three of [WC], one of [EN], two of [EX]
    assert min(widths) > 200
    assert all(page.eval_on_selector_all("img", "images => images.map(image => image.alt.length > 20)"))
    assert page.locator("article").count() == 8
    for heading in ("What it shows", "What the paper prints", "What we get"):
        assert page.locator("article h4", has_text=heading).count() == 8
    assert page.locator("#WC-figure_1 h4", has_text="Where we go further").count() == 1
    assert page.locator("#WC-figure_1 h4", has_text="Why they differ").count() == 0
    assert visit.outside() == []
    assert len(visit.requests) == 1  # the page itself: pictures and style are inside it
    assert visit.complaints == []
    page.close()


def test_the_contents_lead_to_the_exhibits_and_the_links_to_files(chromium: Any, gallery: Path) -> None:
    visit = Visit(chromium, (gallery / "index.html").as_uri())
    page = visit.page
    for link in page.locator("nav a").all():
        target = link.get_attribute("href")
        assert page.locator(f"article{target}").count() == 1
    for link in page.locator("article a").all():
        assert (gallery / link.get_attribute("href")).is_file()
    page.locator("a", has_text="the errata page").click()
    page.wait_for_url("**/errata.html")
    assert page.locator("article").count() > 20
    assert page.locator("td", has_text="differs").count() > 20
    assert visit.outside() == []
    assert visit.complaints == []
    page.close()


def test_a_narrow_screen_needs_no_sideways_scrolling(chromium: Any, gallery: Path) -> None:
    visit = Visit(chromium, (gallery / "index.html").as_uri(), width=400)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 400
    visit.page.close()

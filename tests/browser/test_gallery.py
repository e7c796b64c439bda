"""The gallery in a real browser: cards and a filter that need no script, and nothing is asked of anybody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import pictures
from leakwise.papers.errata import KINDS, WEIGHTS, Entry, errata
from leakwise.papers.runner import run

pytest.importorskip("playwright")

CHROMIUM = Path("/usr/bin/chromium")
NOTES = ".notes > table > tbody"
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

    def __init__(self, browser: Any, address: str, width: int = 1000, **kinds: Any) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, **kinds)
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
        assert page.locator(f"section{target} .card").count() >= 1
    for link in page.locator("article a").all():
        assert (gallery / link.get_attribute("href")).is_file()
    page.locator("a", has_text="the errata page").click()
    page.wait_for_url("**/errata.html")
    assert page.locator(NOTES).count() == len(errata())
    assert page.locator("td", has_text="differs").count() > 20
    assert visit.outside() == []
    assert visit.complaints == []
    page.close()


@pytest.mark.parametrize("name", ["index.html", "errata.html"])
def test_a_narrow_screen_needs_no_sideways_scrolling(chromium: Any, gallery: Path, name: str) -> None:
    visit = Visit(chromium, (gallery / name).as_uri(), width=400)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 400
    visit.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 400
    visit.page.close()


def test_a_card_shows_a_thumbnail_and_badges_and_opens_by_keyboard(chromium: Any, gallery: Path) -> None:
    page = Visit(chromium, (gallery / "index.html").as_uri()).page
    assert page.locator(".card").count() == page.locator(".card .badges").count() == 8
    assert page.locator(".card", has_text="small settings").count() == 8
    assert page.locator(".card h4:visible").count() == 0
    heights = page.eval_on_selector_all(".card img", "images => images.map(image => image.clientHeight)")
    assert min(heights) > 60
    assert max(heights) <= 160
    tops = page.eval_on_selector_all("#WC .card", "cards => cards.map(card => card.getBoundingClientRect().top)")
    assert tops[0] == tops[1]  # side by side
    card = page.get_by_role("article", name="Figure 1. ")
    assert card.locator(".badge", has_text="2 go further").is_visible()
    before = card.locator("img").bounding_box()["width"]
    card.locator("summary").focus()
    page.keyboard.press("Enter")
    assert card.locator("h4", has_text="What we get").is_visible()
    assert card.locator("img").bounding_box()["width"] > 1.5 * before
    page.close()


def test_the_picture_of_the_documentation_shows_cards(chromium: Any, gallery: Path, tmp_path: Path) -> None:
    if pictures.asked():  # more of them than the tests need
        gallery = tmp_path
        assert run(gallery, ["EX", "WC", "EN"], fast=True, jobs=1).failed == {}
    page = Visit(chromium, (gallery / "index.html").as_uri(), width=pictures.WIDTHS["gallery"]).page
    page.locator("#EX").evaluate("one => one.scrollIntoView()")
    assert page.locator("#EX .card img").first.is_visible()
    pictures.keep(page, "gallery")
    page.close()


def test_a_link_to_what_is_folded_opens_it(chromium: Any, gallery: Path) -> None:
    page = Visit(chromium, (gallery / "index.html").as_uri() + "#WC-figure_1-findings").page
    assert page.locator("#WC-figure_1 h4", has_text="What we get").is_visible()
    assert page.locator("details[open]").count() == 1
    page.close()


def shown(page: Any) -> list[str]:
    return page.eval_on_selector_all(NOTES, "all => all.filter(one => one.checkVisibility()).map(one => one.id)")


def told(page: Any, role: str) -> list[str]:
    """The names of all that a screen reader meets in a role, as the browser itself tells them."""
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    return [node["name"]["value"] for node in nodes if node.get("role", {}).get("value") == role]


def counted(page: Any) -> str:
    """What is said of how many notes are shown: the number is the style sheet's."""
    texts = told(page, "StaticText")
    place = next(i for i, text in enumerate(texts) if text.endswith("notes shown."))
    return "".join(texts[place - 1 : place + 1])


def test_the_notes_are_filtered_by_keyboard_without_a_script(chromium: Any, gallery: Path) -> None:
    visit = Visit(chromium, (gallery / "errata.html").as_uri(), java_script_enabled=False)
    page, entries = visit.page, errata()
    critical = {entry.name for entry in entries if entry.weight == "safety-critical"}
    assert len(shown(page)) == len(entries)
    assert set(shown(page)[: len(critical)]) == critical
    assert counted(page) == f"{len(entries)} of {len(entries)} notes shown."
    for _ in range(2):  # the link back, then the filter
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("radio", name=f"safety-critical ({len(critical)})").is_checked()
    assert set(shown(page)) == critical
    assert counted(page) == f"{len(critical)} of {len(entries)} notes shown."
    page.get_by_role("radio", name="[WC]").check()
    assert shown(page) == []
    assert counted(page) == f"0 of {len(entries)} notes shown."
    page.get_by_role("group", name="Show").get_by_role("radio", name="all").check()
    assert set(shown(page)) == {entry.name for entry in entries if entry.paper == "WC"}
    for rank in {entry.weight or entry.kind for entry in entries}:
        page.locator(f"#rank-{rank}").check()
        page.locator("#paper-PR").check()
        wanted = {entry.name for entry in entries if entry.paper == "PR" and rank in (entry.weight, entry.kind)}
        assert set(shown(page)) == wanted
    assert visit.complaints == []
    page.close()


def by_weight() -> list[Entry]:
    ranks = [*WEIGHTS, *KINDS]
    return sorted(errata(), key=lambda entry: ranks.index(entry.weight or entry.kind))


@pytest.mark.parametrize("width", [400, 1366])
def test_the_notes_are_a_table_with_names_at_every_width(chromium: Any, gallery: Path, width: int) -> None:
    page = Visit(chromium, (gallery / "errata.html").as_uri(), width=width).page
    assert "Notes on the papers" in told(page, "table")
    assert told(page, "rowheader") == [f"[{entry.paper}] {entry.where}" for entry in by_weight()]
    assert page.get_by_role("radio").count() == page.locator("label").count() == 13
    page.close()


@pytest.mark.parametrize("name", ["index.html", "errata.html"])
def test_paper_shows_what_is_folded_and_no_buttons(chromium: Any, gallery: Path, name: str) -> None:
    page = Visit(chromium, (gallery / name).as_uri()).page
    inside = "details td:first-child"
    assert page.locator(inside).first.is_visible() is False
    page.emulate_media(media="print")
    visible = page.eval_on_selector_all(
        inside, "all => all.map(one => one.checkVisibility({contentVisibilityAuto: true}))"
    )
    assert len(visible) > 20
    assert all(visible)
    assert page.locator("summary:visible").count() == page.locator("input:visible").count() == 0
    page.close()


CONTRAST = """all => {
  const light = text => text.match(/[0-9.]+/g).slice(0, 3).map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const back = light(getComputedStyle(document.body).backgroundColor);
  return Math.min(...all.map(one => light(getComputedStyle(one).color))
    .map(v => (Math.max(v, back) + .05) / (Math.min(v, back) + .05)));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index.html", "errata.html"])
def test_words_are_readable_in_light_and_dark(chromium: Any, gallery: Path, name: str, scheme: str) -> None:
    page = Visit(chromium, (gallery / name).as_uri(), color_scheme=scheme).page
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")
    assert page.eval_on_selector_all(".badge, summary, a, p, th, td, label, legend, h3, figure.table", CONTRAST) >= 4.5
    page.close()

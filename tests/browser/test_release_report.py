"""The report of a release on a phone and on paper: nothing runs over the edge, and nothing stays folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakwise as lw
from browser import pictures
from leakwise.data import adult_table

pytest.importorskip("playwright")

CHROMIUM = Path("/usr/bin/chromium")
VALUES = ["well", "influenza", "chronic obstructive pulmonary disease", "donaudampfschiffahrtsgesellschaftskapitaen"]
NAME = "the_register_of_all_patients_of_the_hospital_in_the_year_2026_final_version"
# All that reaches beyond the window, what can be scrolled to in a box of its own included: nothing is hidden there.
BEYOND = """() => [...document.querySelectorAll("body *")].filter(
  one => one.getBoundingClientRect().right > innerWidth + 0.5).map(one => one.tagName + ": " + one.textContent)"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of a report on one column, and of one on rows, with long names of values and files."""
    home, generator = tmp_path_factory.mktemp("reports"), np.random.default_rng(0)
    masses = [0.8, 0.1, 0.06, 0.04]
    rows = generator.choice(VALUES, size=3000, p=masses).tolist()
    prior = lw.Prior(dict(zip(VALUES, masses, strict=True)))
    # Four outcomes, so that the picture of the mechanism has room.
    response = lw.randomized_response(VALUES, lift=2)
    one = lw.protect({"diagnosis": rows}, "diagnosis", prior=prior, mechanism=response, lift=2, dataset=f"{NAME}.csv")
    table = {"diagnosis": rows, "sex": generator.choice(["f", "m"], size=3000).tolist()}
    by_sex = lw.PriorByStratum({"f": prior, "m": prior}, {"sex": ["f", "m"]})
    row = lw.protect(table, "diagnosis", prior=by_sex, lift=2, given=["sex"], order="shuffle")
    return {
        "one column": one.report(home / "one.html", certificate=f"{NAME}.certificate.json").as_uri(),
        "rows": row.report(home / "row.html", mechanism=f"{NAME}.mechanism.json").as_uri(),
    }


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


def test_nothing_runs_over_the_edge_of_a_phone(chromium: Any, reports: dict[str, str]) -> None:
    page = chromium.new_page(viewport={"width": 400, "height": 900})
    page.goto(reports["one column"])
    assert page.evaluate(BEYOND) == []
    assert page.get_by_text("cannot be told from 3,000 rows; about").count() > 0
    # The guarantee with both of its limits is on the first screen, and what follows names the real files.
    guarantee = page.locator(".promise")
    assert "more than 1.9231 times as likely as it was before" in guarantee.inner_text()
    assert "nor more than 2 times as likely for anyone, whatever they knew" in guarantee.inner_text()
    assert guarantee.bounding_box()["y"] < 600
    assert page.get_by_role("row", name=f"{VALUES[0]} 80%").first.get_by_role("cell").nth(2).inner_text() == "88.9%"
    assert page.get_by_text(f"leakwise verify {NAME}.certificate.json").is_visible()
    # The picture of a mechanism with many outcomes scrolls in a box of its own.
    page.goto(reports["rows"])
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    assert page.get_by_text("2 strata, one mechanism.").is_visible()
    assert page.get_by_text("than 2 times as likely as sex makes it already, for anyone who sees the row").is_visible()
    assert page.get_by_text(f"StratifiedMechanism.load('{NAME}.mechanism.json')").is_visible()
    page.close()


def test_paper_shows_what_a_screen_folds_and_nothing_runs_over_its_edge(chromium: Any, reports: dict[str, str]) -> None:
    page = chromium.new_page(viewport={"width": 657, "height": 986})  # A4 within its margins
    page.goto(reports["rows"])
    folded = page.locator("details:not([open]) table").first
    assert not folded.is_visible()
    page.emulate_media(media="print")
    assert folded.is_visible()
    assert page.evaluate(BEYOND) == []
    page.close()


def test_the_picture_of_the_documentation_is_a_report_on_the_adult_table(chromium: Any, tmp_path: Path) -> None:
    table = {"marital_status": adult_table()["marital_status"]}
    prior = lw.Prior.from_counts(Counter(table["marital_status"]))
    found = lw.protect(table, "marital_status", prior=prior, lift=2, dataset="adult.csv")
    page = chromium.new_page(viewport={"width": pictures.WIDTHS["report"], "height": 1230})
    page.goto(found.report(tmp_path / "report.html").as_uri())
    assert page.get_by_text("Seeing the released value of a row makes no guess").first.is_visible()
    assert page.get_by_role("rowheader", name="Married-AF-spouse").first.is_visible()
    pictures.keep(page, "report")
    page.close()

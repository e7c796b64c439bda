"""The live figures of the documentation, built and opened from a disk: they move, and show what the library finds."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leakwise as lw
from leakwise.guarantee import percent_at_most

playwright_api = pytest.importorskip("playwright.sync_api")
expect = playwright_api.expect

ROOT = Path(__file__).parents[2]
PAGE = "explanation/the-idea"
CHROMIUM = Path("/usr/bin/chromium")
CLINIC = lw.Prior({"none": "0.8", "diabetes": "0.18", "HIV": "0.02"})


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That page alone, as ``make docs`` builds it."""
    out = tmp_path_factory.mktemp("docs")
    only = [f"root_doc={PAGE}", f"include_patterns={PAGE}.md", "suppress_warnings=myst.xref_missing"]
    words = [word for setting in only for word in ("-D", setting)]
    command = [sys.executable, "-m", "sphinx", "-q", "-W", *words, str(ROOT / "docs"), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out / f"{PAGE}.html"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip("no chromium here")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def at_most_after(lift: str) -> list[str]:
    """How likely each answer can become, found without the studio."""
    matrix = lw.design(CLINIC, lift=lift, anyone=10 * float(lift), utility="frequencies").mechanism.matrix
    after = CLINIC.probabilities * (matrix / (CLINIC.probabilities @ matrix)).max(axis=1)
    return [percent_at_most(float(share) - 1e-9) for share in after]


def width_of_the_first_interval(page: Any) -> float:
    low, high = (f"getComputedStyle(bar).getPropertyValue('--{side}')" for side in ("low", "high"))
    return float(page.locator(".interval").first.evaluate(f"(bar) => parseFloat({high}) - parseFloat({low})"))


def test_the_figures_move_with_the_knob_and_show_what_design_finds(chromium: Any, built: Path) -> None:
    page = chromium.new_page(viewport={"width": 1366, "height": 768})
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda sent: None if sent.url.startswith(("file:", "data:")) else wrong.append(sent.url))
    page.goto(built.as_uri())
    after, lost, rows = page.locator("#leaks .after"), page.locator("#lost-bars td"), page.locator("#rows tr")
    expect(after).to_have_text(at_most_after("2"))
    expect(lost).to_have_text(["1,000", "105", "33"])
    expect(rows).to_have_count(5)
    page.locator("#slider").press("ArrowRight")
    expect(page.locator("#lift")).to_have_text("2.5")
    expect(after).to_have_text(at_most_after("2.5"))
    page.locator("#slider").press("Home")
    expect(page.locator("#lift")).to_have_text("1.05")
    expect(after).to_have_text(at_most_after("1.05"))

    trial = page.locator("[data-figure=trial]")
    trial.get_by_role("button", name="5 loose").click()
    expect(page.locator("#lift")).to_have_text("5")
    expect(after).to_have_text(at_most_after("5"))
    trial.get_by_role("button", name="100 rows").click()
    wide = width_of_the_first_interval(page)
    trial.get_by_role("button", name="100,000").click()
    expect(page.locator("#try-words")).to_contain_text("100,100 rows were released")
    assert 0 < width_of_the_first_interval(page) < wide / 5
    shares = [cell.split("%")[0] for cell in page.locator("#try-rows tr td:nth-child(3)").all_inner_texts()]
    assert [float(share) for share in shares] == pytest.approx([80, 18, 2], abs=3)  # over ten standard errors
    trial.get_by_role("radio", name="As an attacker").check()
    expect(page.locator("#game-words")).to_contain_text("What is the true value?")
    trial.get_by_role("button", name="Play 1,000 rounds").click()
    expect(page.locator("#game-score")).to_contain_text("1,000 rounds")
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.close()
    assert wrong == []


def test_without_a_script_there_are_pictures_and_the_text(chromium: Any, built: Path) -> None:
    page = chromium.new_page(java_script_enabled=False)
    page.goto(built.as_uri())
    for name in ("knob", "trial"):
        picture = page.locator(f"[data-figure={name}] img")
        expect(picture).to_be_visible()
        assert picture.bounding_box()["width"] > 200
    expect(page.locator("#slider")).to_have_count(0)
    page.close()


def test_the_figures_are_the_studio_s_own_code(built: Path) -> None:
    made = (built.parents[1] / "_static" / "live-figures.js").read_text(encoding="utf-8")
    for name in ("parts.js", "trial.js"):
        source = (ROOT / "src/leakwise/studio/static" / name).read_text(encoding="utf-8")
        (first,) = re.findall(r"^export ((?:function|class) \w+.*?^\})", source, re.MULTILINE | re.DOTALL)[:1]
        assert first in made
    text = (ROOT / "docs" / f"{PAGE}.md").read_text(encoding="utf-8")
    assert "as from 105 true answers" in text
    assert "its 1,000 rows are worth 33" in text

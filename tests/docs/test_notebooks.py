"""The four notebooks run from top to bottom, show what their cells end with, and are kept without outputs."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import leakwise as lw
import notebook_cells

ROOT = Path(__file__).parents[2]
# Each kind of reader of the README has one, which the page they start with links to.
PAGES = {
    "steward": "docs/start/first-table.md",
    "analyst": "docs/start/estimate.md",
    "privacy-engineer": "docs/how-to/audit.md",
    "researcher": "docs/research/tour.md",
}


def book(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))


def run(name: str) -> tuple[dict[str, Any], list[object]]:
    return notebook_cells.run(book(name), name)


class Balance(HTMLParser):
    """Counts what is open, so that a fold that is not closed cannot hide the rest of a notebook."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [value for key, value in attrs if key in ("src", "href") and value and value[:5] != "data:"]
        if tag in ("div", "svg", "details", "table", "p", "ul"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("div", "svg", "details", "table", "p", "ul"):
            assert self.open.pop() == tag


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def drawn(shown: list[object]) -> list[str]:
    """The names of the results that are shown as words, a picture and a fold, after a look at their HTML."""
    found = []
    for value in shown:
        html = value._repr_html_() if hasattr(value, "_repr_html_") else ""
        if "<details>" in html:
            balance = Balance()
            balance.feed(html)
            assert (balance.open, balance.fetched) == ([], [])
            assert html.index("<p>") < html.index('<div style="overflow-x:auto">') < html.index("<details>")
            found.append(type(value).__name__)
    return found


def test_the_steward_ends_with_a_table_a_report_and_an_entry() -> None:
    names, shown = run("steward")
    assert drawn(shown) == ["Protection", "GroupedEstimate"]
    assert Path("report.html").is_file()
    assert lw.StratifiedMechanism.load("mechanism.json") == names["r"].mechanism
    assert names["ledger"].total("adult", "marital_status").releases == 1


def test_the_analyst_comes_near_the_truth() -> None:
    names, shown = run("analyst")
    assert drawn(shown) == ["JointEstimate", "CrossTable", "CrossTable", "Regression", "CrossTable", "Regression"]
    found, true = names["e"], names["true_table"]
    assert (abs(found.frequencies - true.frequencies) < 6 * found.standard_error).all()


def test_the_privacy_engineer_finds_a_better_mechanism_and_refutes_a_claim() -> None:
    names, shown = run("privacy-engineer")
    assert drawn(shown) == ["Mechanism", "Audit", "MechanismComparison", "BlackBoxAudit"]
    rows = {row.name: row for row in names["compared"].rows}
    assert rows["design for frequencies"].rows_needed < 0.6 * rows["in production"].rows_needed
    assert names["quarter"].epsilon_upper < 2.4836  # of ninety releases, where 9 would be the sum
    assert names["verdict"].verdict == "refuted"
    assert lw.verify("certificate.json").holds


def test_the_researcher_sees_the_curve_and_its_proof() -> None:
    names, shown = run("researcher")
    assert drawn(shown) == ["Design", "Tradeoff", "MechanismComparison", "MechanismComparison"]
    assert names["curve"].gaps.max() < 1e-6
    assert names["compared"].rows[0].name == "design for frequencies"
    assert names["required"].rows[0].name == "design for mutual_information"
    assert names["large"].gap < 1e-6
    assert names["simulated"].lower < names["simulated"].upper < names["bounds"].epsilon_upper
    assert lw.verify("optimum.json").holds


@pytest.mark.parametrize(
    ("name", "script"), [("researcher", "experiment.py"), ("privacy-engineer", "production_check.sh")]
)
def test_tutorials_name_the_script_that_they_end_in(name: str, script: str) -> None:
    words = ["".join(cell["source"]) for cell in book(name)["cells"]]
    assert f"](../../examples/{script})" in words[0]
    assert any(f"examples/{script}`" in text or f"examples/{script} " in text for text in words[-2:])
    assert (ROOT / "examples" / script).is_file()


def test_there_are_no_other_notebooks() -> None:
    assert {path.stem for path in (ROOT / "docs" / "notebooks").iterdir()} == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_notebooks_are_kept_without_outputs(name: str) -> None:
    found = book(name)
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    codes = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
    assert all((cell["outputs"], cell["execution_count"], cell["metadata"]) == ([], None, {}) for cell in codes)
    ids = [cell["id"] for cell in found["cells"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", PAGES)
def test_page_and_notebook_link_to_each_other(name: str) -> None:
    page = PAGES[name]
    assert f"](../notebooks/{name}.ipynb)" in (ROOT / page).read_text(encoding="utf-8")
    assert f"](docs/notebooks/{name}.ipynb)" in (ROOT / "README.md").read_text(encoding="utf-8")
    words = "".join("".join(cell["source"]) for cell in book(name)["cells"] if cell["cell_type"] == "markdown")
    assert f"](../{page.removeprefix('docs/')})" in words

"""The errata: each demonstration runs and shows a difference, and the pages name them all."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from leakwise.errors import InvalidInput
from leakwise.papers import PAPERS
from leakwise.papers.errata import WEIGHTS, Erratum, errata, erratum, markdown

DOCS = Path(__file__).parents[2] / "docs" / "guide" / "papers.md"

ENTRIES = {entry.name: entry for entry in errata()}


def ours(name: str) -> list[float | str]:
    return [finding.ours for finding in ENTRIES[name].demonstrate()]


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=list(ENTRIES))
def test_each_demonstration_shows_what_it_says(entry: Erratum) -> None:
    findings = entry.demonstrate()
    assert findings
    assert entry.says != entry.truth
    assert entry.demonstrate.__doc__
    # An erratum that matters shows a number that differs; a harmless one may show that the rest is right.
    if entry.weight != "harmless" and entry.name != "pr_convexity":
        assert any(not finding.agrees for finding in findings)


def test_the_numbers_of_the_safety_critical_ones() -> None:
    assert ours("ed_linear_composition") == [pytest.approx(3)]
    missed, safe = ours("ed_plugged_in_estimate")
    assert missed == pytest.approx(0.985**60, abs=1e-3)  # a rare letter that is not seen gives a radius of 0
    assert float(safe) <= 0.05
    laplace, exponential, symmetric = ours("pr_local_optima")
    assert laplace == pytest.approx(0.0795, abs=5e-5)
    assert exponential == pytest.approx(0.0303, abs=5e-5)
    assert symmetric == pytest.approx(math.log(2) + 0.3 * math.log(0.3) + 0.7 * math.log(0.7), abs=1e-9)


def test_the_numbers_of_some_others() -> None:
    assert ours("wc_unequal_rows") == [pytest.approx(-math.log(0.55))]
    assert ours("wc_counting_query") == pytest.approx([1, 1, 1, 1, 2, 3.5, 7])
    assert ours("ex_number_of_vertices") == [20, 30, 20]
    assert ours("ed_large_radius") == [pytest.approx(math.log(3))]
    assert float(ours("en_without_the_condition")[1]) > 4.7


def test_every_paper_has_errata_the_worst_first() -> None:
    assert {entry.paper for entry in ENTRIES.values()} == set(PAPERS)
    for paper in PAPERS:
        own = errata(paper)
        assert [entry.weight for entry in own] == sorted([entry.weight for entry in own], key=WEIGHTS.index)
        assert {entry.paper for entry in own} == {paper}


def test_the_guide_has_the_errata_as_they_are() -> None:
    """After a change: put the text of leakwise.papers.errata.markdown() below the last example of the guide."""
    assert DOCS.read_text(encoding="utf-8").endswith(markdown())


def test_registration_is_checked() -> None:
    with pytest.raises(InvalidInput, match="one of EX, WC, ED, PR, EN"):
        errata("XX")
    with pytest.raises(InvalidInput, match="weight one of safety-critical"):
        erratum(paper="EX", where="x", weight="funny", says="a", truth="b")

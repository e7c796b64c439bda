"""The notes on the papers: each demonstration shows what its kind says, and the pages name them all."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.papers import PAPERS
from leakwise.papers.errata import KINDS, WEIGHTS, Entry, beyond, errata, erratum, markdown, warning

DOCS = Path(__file__).parents[2] / "docs" / "research" / "errata.md"

ENTRIES = {entry.name: entry for entry in errata()}


def ours(name: str) -> list[float | str]:
    return [finding.ours for finding in ENTRIES[name].demonstrate()]


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=list(ENTRIES))
def test_each_demonstration_shows_what_its_kind_says(entry: Entry) -> None:
    findings = entry.demonstrate()
    assert findings
    assert entry.says != entry.truth
    assert entry.demonstrate.__doc__
    # An erratum shows something that is not as printed; where the paper is not in error nothing may contradict it.
    assert any(not finding.agrees for finding in findings) == (entry.kind == "erratum")
    assert (entry.weight in WEIGHTS) == (entry.kind == "erratum")


def test_what_is_not_an_error_of_a_paper_is_not_called_one() -> None:
    """Extensions and sharper results are "beyond", hasty readings warnings; Fig. 3b is withdrawn."""
    kinds = {name: entry.kind for name, entry in ENTRIES.items()}
    assert {name for name, kind in kinds.items() if kind == "warning"} == {
        "ed_linear_composition",
        "ed_plugged_in_estimate",
        "wc_beyond_the_largest",
    }
    assert {name for name, kind in kinds.items() if kind == "beyond"} == {
        "ed_density",
        "ed_half_the_constant",
        "ed_large_radius",
        "ed_range_of_the_bound",
        "ed_samples_needed",
        "ed_sensitivity_twice",
        "ed_two_tails",
        "en_counts",
        "en_exact_value",
        "en_without_the_condition",
        "ex_last_region",
        "ex_symmetry",
        "pr_convexity",
        "pr_every_guess",
        "wc_counting_query",
        "wc_unequal_rows",
    }
    assert ours("pr_every_guess")[0] == pytest.approx(math.log(2))
    assert ours("pr_every_guess")[-1] == pytest.approx(0.3701, abs=5e-5)
    assert "ex_correlation" not in kinds
    assert "conditional leakage" in ENTRIES["ed_linear_composition"].truth


def test_what_a_paper_has_right_elsewhere_is_said() -> None:
    assert ENTRIES["pr_required_entropy"].weight == "harmless"
    assert "line 9 of Algorithm 3" in ENTRIES["pr_required_entropy"].truth
    (section,) = [f for f in ENTRIES["pr_capacities"].demonstrate() if "section 7.2 " in f.claim and "flip" in f.claim]
    assert section.printed == 0.0823
    assert section.agrees
    assert "rounding" in ENTRIES["pr_capacities"].truth
    assert "our reconstruction" in ENTRIES["pr_last_adversary"].truth
    assert "as Theorem 5 rightly has it" in ENTRIES["ed_sign_in_appendix_c"].truth


def test_the_numbers_of_the_warnings() -> None:
    assert ours("ed_linear_composition") == pytest.approx([1.5, 2, 3])
    missed, safe = ours("ed_plugged_in_estimate")
    assert missed == pytest.approx(0.985**60, abs=1e-3)  # a rare letter that is not seen gives a radius of 0
    assert float(safe) <= 0.05


def test_the_numbers_of_the_safety_critical_ones() -> None:
    assert {entry.name for entry in errata(kind="erratum") if entry.weight == "safety-critical"} == {
        "pr_last_adversary",
        "pr_local_optima",
    }
    laplace, exponential, symmetric = ours("pr_local_optima")
    assert laplace == pytest.approx(0.0795, abs=5e-5)
    assert exponential == pytest.approx(0.0303, abs=5e-5)
    assert symmetric == pytest.approx(math.log(2) + 0.3 * math.log(0.3) + 0.7 * math.log(0.7), abs=1e-9)


def test_the_numbers_of_some_others() -> None:
    assert ours("wc_unequal_rows")[1] == pytest.approx(-math.log(0.55))
    assert ours("wc_counting_query") == pytest.approx([1, 1, 1, 1, 2, 3.5, 7])
    assert ours("ex_number_of_vertices") == [20, 30, 20]
    assert ours("ed_large_radius") == [pytest.approx(math.log(3))]
    assert float(ours("en_without_the_condition")[1]) > 4.7
    assert ours("ed_samples_needed") == [6667]
    assert ours("en_exact_value")[0] == pytest.approx(math.log(22 / 9))


def test_the_matrix_of_wc_has_four_misprints_in_rows_4_to_7() -> None:
    wrong = [finding for finding in ENTRIES["wc_matrix"].demonstrate() if not finding.agrees]
    assert [finding.claim[-6:-1] for finding in wrong] == ["row 4", "row 5", "row 6", "row 7"]
    assert {(finding.printed, finding.ours) for finding in wrong} == {(-9.0, -10.0)}


def test_sensitivity_and_divergence_differ_for_an_optimal_mechanism_too() -> None:
    """π = (.8, .2), ε = .5, β = .3: an optimal mechanism of the last region."""
    differs, _, same = ENTRIES["ed_sensitivity_and_divergence"].demonstrate()
    assert (differs.printed, differs.ours) == (pytest.approx(0.207639, abs=1e-6), pytest.approx(0.129693, abs=1e-6))
    assert same.agrees


def test_ed_not_every_outcome_of_an_optimal_mechanism_leaks_epsilon() -> None:
    prior = lw.Prior(["4/5", "1/5"])
    assert sorted(lw.pml(lw.design(prior, 0.5).mechanism, prior)) == pytest.approx([math.log(1.25), 0.5])
    assert ours("ed_leakage_of_each_outcome") == pytest.approx([math.log(1.25), 0.5, 0.2, 0.2])


def test_ed_theorem_4_is_strict_for_a_merged_extremal_mechanism() -> None:
    whole, merged, _ = ENTRIES["ed_equality_in_the_first_region"].demonstrate()
    assert whole.agrees
    assert merged.printed == pytest.approx(-math.log(1 - 0.05 * 0.125 / 0.2))
    # What is left is the column of the first letter, whose entries differ by (e^ε - 1) / 0.4.
    assert merged.ours == pytest.approx(-math.log(1 - 0.05 * 0.125 / 0.4), abs=1e-9)


def test_pr_theorem_5_3_row_by_row_is_not_global() -> None:
    (finding,) = ENTRIES["pr_rows_one_by_one"].demonstrate()
    assert (finding.printed, finding.ours) == (pytest.approx(0.193, abs=5e-4), pytest.approx(0.430, abs=5e-4))


def test_pr_theorem_4_2_alternating_is_not_global_without_a_constraint() -> None:
    marginal, conditionals, record, stopped, run = ENTRIES["pr_without_a_constraint"].demonstrate()
    assert marginal.agrees
    assert conditionals.agrees
    assert record.agrees
    assert stopped.printed == pytest.approx(math.log(1.25))
    assert stopped.ours == pytest.approx(0.245832, abs=1e-6)
    assert run.ours == pytest.approx(0.4304, abs=5e-5)
    assert str(run.printed).startswith("0.3336")


def test_pr_theorem_6_1_the_worst_case_leakage_can_rise() -> None:
    allowed, answered, worst = ENTRIES["pr_rising_leakage"].demonstrate()
    assert allowed.agrees
    assert answered.agrees
    assert answered.ours == pytest.approx(math.log(2) + 0.4 * math.log(0.4) + 0.6 * math.log(0.6))
    assert worst.ours == pytest.approx(math.log(2), abs=1e-6)


def test_every_paper_has_notes_the_weightiest_errata_first() -> None:
    assert {entry.paper for entry in ENTRIES.values()} == set(PAPERS)
    for paper in PAPERS:
        assert {entry.paper for entry in errata(paper)} == {paper}
        assert [entry.kind for entry in errata(paper)] == sorted(
            [entry.kind for entry in errata(paper)], key=list(KINDS).index
        )
        weights = [entry.weight for entry in errata(paper, "erratum")]
        assert weights == sorted(weights, key=WEIGHTS.index)


def test_straight_quotes_only() -> None:
    assert not set("«»") & set(markdown())


def test_the_page_has_the_errata_as_they_are() -> None:
    """After a change: put the text of leakwise.papers.errata.markdown() below the last example of the page."""
    assert DOCS.read_text(encoding="utf-8").endswith(markdown())


def test_registration_is_checked() -> None:
    def xx_name() -> list[object]:
        return []

    with pytest.raises(InvalidInput, match="one of EX, WC, ED, PR, EN"):
        errata("XX")
    with pytest.raises(InvalidInput, match="kind must be one of erratum, warning, beyond"):
        errata(kind="slip")
    with pytest.raises(InvalidInput, match="weight must be one of safety-critical"):
        erratum(where="x", weight="funny", says="a", truth="b")
    for kind in (warning, beyond):
        with pytest.raises(InvalidInput, match="xx_name must begin with one of ex, wc, ed, pr, en"):
            kind(where="x", says="a", truth="b")(xx_name)

"""Mechanisms side by side: equal leakage, equal utility, and no mechanism above our design."""

from __future__ import annotations

import math

import numpy as np
import pytest

import leakwise as lw

PRIOR = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
ROUNDINGS = 1e-8  # of a value: designs are rounded into the limit


def _priors():
    random = np.random.default_rng(30)
    return [lw.Prior(random.dirichlet(np.ones(size))) for size in range(3, 9)] + [lw.Prior.uniform(5)]


@pytest.mark.parametrize("at", ["pml", "ldp"])
@pytest.mark.parametrize("prior", _priors(), ids=lambda prior: f"{len(prior)} values")
def test_no_mechanism_of_the_catalog_is_above_the_design(prior, at):
    found = lw.compare(prior, lift=1.8, at=at)
    leaks = {row.name: row.ldp if at == "ldp" else row.epsilon for row in found.rows}
    assert max(leaks.values()) <= math.log(1.8) * (1 + 1e-12)
    for goal in found.utilities:
        best = next(row.values[goal] for row in found.rows if row.name == f"design for {goal}")
        assert best <= found.bounds[goal]
        for row in found.rows:
            assert row.values[goal] <= best + ROUNDINGS * abs(best), (row.name, goal)
    # Most families reach the limit: the comparison is at equal leakage.
    assert sum(leak > 0.999 * math.log(1.8) for leak in leaks.values()) >= 6


def test_the_rows_needed_are_those_of_the_variances():
    found = lw.compare(PRIOR, ["randomized_response"], ["frequencies"], lift=2)
    rows = {row.name: row for row in found.rows}
    response, design = rows["randomized_response"], rows["design for frequencies"]
    assert response.rows_needed == response.values["frequencies"] / design.values["frequencies"]
    same = lw.randomized_response(list("abc"), pml=math.log(2), prior=PRIOR)
    assert response.values["frequencies"] == pytest.approx(lw.utility(same, PRIOR, "frequencies"), rel=1e-5)
    assert "randomized response needs" in repr(found)


def test_equal_utility_is_the_least_epsilon_of_each():
    found = lw.compare(PRIOR, ["randomized_response", "subset_selection"], utility="frequencies", value=-4)
    assert found.rows[0].name == "design for frequencies"
    for row in found.rows:
        assert row.values["frequencies"] >= -4
    response = next(row for row in found.rows if row.name == "randomized_response")
    less = lw.randomized_response(list("abc"), epsilon=response.parameter * (1 - 1e-5))
    assert lw.utility(less, PRIOR, "frequencies") < -4
    # A little less than the design leaks is proven not to suffice.
    design = found.rows[0]
    assert lw.design(PRIOR, epsilon=design.epsilon * 0.999, utility="frequencies").bound < -4
    assert "No mechanism reaches it with an ε for the prior of" in found.remarks[0]


def test_mechanisms_are_compared_as_they_are():
    mine = lw.randomized_response(list("cba"), lift=3)
    found = lw.compare(PRIOR, {"mine": mine, "nothing": lw.constant(list("abc"))}, delta="0.1")
    assert found["mine"] is mine
    rows = {row.name: row for row in found.rows}
    assert rows["mine"].epsilon == pytest.approx(lw.epsilon(mine, PRIOR))
    assert rows["mine"].ldp == lw.ldp(mine)
    assert rows["mine"].maximal_leakage == lw.maximal_leakage(mine)
    assert rows["mine"].envelope == pytest.approx(lw.envelope(mine, PRIOR, "0.1").epsilon)
    assert rows["mine"].values["mutual_information"] == lw.utility(mine, PRIOR)
    assert math.isinf(rows["nothing"].rows_needed)
    # The designs leak no more than the largest of them.
    assert rows["design for frequencies"].lift <= rows["mine"].lift
    above = lw.compare(PRIOR, {"mine": mine}, ["guessing"], lift=1.1)
    assert "mine leaks more" in above.remarks[0]


def test_every_utility_and_a_set_of_priors():
    goals = ["guessing", lw.Expected(np.eye(3)), lw.Gain(np.eye(3)), lw.FInformation("chi_square")]
    found = lw.compare(PRIOR.ball(0.05), ["randomized_response"], goals, lift=1.5)
    assert all(row.lift <= 1.5 for row in found.rows)
    assert found.utilities == ("guessing", "expected", "gain", "chi_square")


def test_a_value_of_probability_zero_counts_for_nobody_but_anyone():
    prior = lw.Prior({"a": 0.5, "b": 0.5, "c": 0})
    found = lw.compare(prior, ["randomized_response"], lift=1.5)
    assert next(row for row in found.rows if row.kind == "family").lift == pytest.approx(1.5, rel=1e-5)


def test_too_many_values_for_a_matrix_leave_a_gap_and_a_word():
    prior = lw.Prior.uniform(30_000)
    given = {"rr": lw.randomized_response(30_000, lift=100)}
    found = lw.compare(prior, given, ["mutual_information", lw.Gain(np.ones((30_000, 1)))], designs=False)
    assert found.rows[0].values["gain"] is None
    assert found.rows[0].values["mutual_information"] > 0
    assert "rr, gain: A matrix" in found.remarks[0]
    assert "—" in repr(found)


def test_families_that_take_long_are_left_out_where_none_are_named():
    found = lw.compare(lw.Prior.uniform(301), utilities=["frequencies"], designs=False, lift=2)
    names = {"binary_local_hashing", "hadamard_response", "optimized_local_hashing", "randomized_response"}
    assert {row.name for row in found.rows} == names
    assert "optimized_unary_encoding" in found.remarks[0]


def test_sets_that_are_not_listed_are_compared():
    prior = lw.Prior(np.random.default_rng(3).dirichlet(np.ones(25)))
    found = lw.compare(prior, ["optimized_unary_encoding", "subset_selection"], ["frequencies"], lift=2, delta=0.1)
    for row in found.rows:
        assert row.lift <= 2
        assert row.rows_needed < 100
    assert "optimized_unary_encoding, envelope: The mechanism has" in found.remarks[0]


def test_it_shows_itself_and_becomes_plain_data():
    found = lw.compare(PRIOR, ["randomized_response"], lift=2)
    plain = found.to_dict()
    assert plain["equal"] == "leakage"
    assert plain["asked"].startswith("At equal leakage, lift 2")
    assert {row["name"] for row in plain["rows"]} == {row.name for row in found.rows}
    table = found.to_pandas()
    assert list(table["name"]) == [row.name for row in found.rows]
    assert {"epsilon", "lift", "ldp", "maximal_leakage", "frequencies", "mutual_information"} <= set(table)
    assert len(found.chart()["vconcat"]) == 3
    assert found.plot() is not None
    text = repr(found)
    assert text.startswith("At equal leakage, lift 2 for anyone who knew the prior (ε 0.69315):")
    assert "upper bound" in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, r"^randomized_response depends on an ε: .* \(--epsilon, --lift\) .* \(--utility, --value\)"),
        ({"lift": 2, "at": "LDP"}, "at must be one of pml, ldp"),
        ({"utility": "frequencies"}, "go together"),
        ({"lift": 2, "utility": "guessing", "value": 0.5}, "Give either a leakage"),
        ({"utility": "guessing", "value": 1.5}, "the secret itself reaches"),
        ({"lift": 2, "utilities": []}, "at least one utility"),
        ({"lift": 2, "utilities": ["guessing", "guessing"]}, "twice"),
        ({"lift": 0.5}, "lift must be at least 1"),
        ({"lift": 2, "mechanisms": {"m": lw.constant(4)}}, r"mechanisms\['m'\]: The mechanism has 4 values"),
        ({"lift": 2, "mechanisms": {"m": lambda epsilon: lw.constant(list("xyz"))}}, "'a'"),
        ({"lift": 2, "mechanisms": {}, "designs": False}, "nothing to compare"),
    ],
)
def test_what_cannot_be_compared_is_named(options, words):
    with pytest.raises(lw.LeakwiseError, match=words):
        lw.compare(PRIOR, **{"mechanisms": ["randomized_response"], **options})


def test_strata_are_compared_one_by_one():
    strata = lw.PriorByStratum({"f": ["0.5", "0.5"], "m": ["0.1", "0.9"]}, given="sex")
    with pytest.raises(lw.InvalidInput, match="one by one"):
        lw.compare(strata, lift=2)


def test_comparison_names_its_mechanisms():
    found = lw.compare(PRIOR, ["randomized_response"], ["guessing"], lift=2)
    assert len(found) == 2
    with pytest.raises(lw.InvalidInput, match="Did you mean 'randomized_response'"):
        found["randomised_response"]


def test_what_the_secret_itself_is_worth_can_be_required():
    """Its worth is rounded down, to a hair below 1, and the requirement with it."""
    found = lw.compare([0.5, 0.3, 0.2], ["randomized_response"], ["guessing"], utility="guessing", value=1)
    assert found.rows[0].name == "design for guessing"
    assert found.rows[0].values["guessing"] == pytest.approx(1)
    with pytest.raises(lw.Infeasible, match="the secret itself reaches 1\\. Require less"):
        lw.compare([0.5, 0.3, 0.2], ["randomized_response"], ["guessing"], utility="guessing", value=2)


def test_a_family_over_other_values_is_named():
    with pytest.raises(lw.InvalidInput, match=r"mechanisms\['mine'\].*4 values and the prior has 2"):
        lw.compare([0.5, 0.5], {"mine": lambda epsilon: lw.randomized_response(4, epsilon=epsilon)}, lift=2)


def test_frequencies_of_sets_that_are_not_listed_are_said_to_be_bounds():
    prior = lw.Prior.from_counts(range(1, 31))
    families = ["subset_selection", "binary_local_hashing", "randomized_response"]
    found = lw.compare(prior, families, ["frequencies"], lift=2, designs=False)
    assert found.remarks == (
        "Too many outcomes to list: subset selection. The frequencies are at least as accurate as shown.",
    )
    assert "subset selection needs" not in str(found)
    assert not lw.compare(lw.Prior.uniform(30), families, ["frequencies"], lift=2, designs=False).remarks


def test_a_mechanism_that_needs_very_many_rows_has_no_bar():
    """Its bar would leave nothing to see of the others."""
    prior = lw.Prior.from_counts([1000, 50, 10, 4, 3, 2, 1])
    found = lw.compare(prior, ["geometric", "randomized_response"], ["frequencies"], lift="11/10")
    needed = {row.shown: row.rows_needed for row in found.rows}
    assert needed["geometric"] > 100
    part = found.chart()["vconcat"][1]
    bars = {record["label"]: record["v"] for record in part["data"]["values"]}
    assert bars["geometric"] is None
    assert "more than 100 times as many rows" in str(part["title"])
    assert all(value is None or value <= 100 for value in bars.values())


def test_a_comparison_says_how_far_it_is():
    seen = []
    lw.compare(
        lw.Prior.from_counts(range(1, 13)), ["randomized_response"], lift=2, progress=lambda *told: seen.append(told)
    )
    assert seen

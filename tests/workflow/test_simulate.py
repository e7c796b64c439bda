"""``lw.simulate``: what analysts and guessers get from a release, over many simulated ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import leakwise as lw

DESIGN = lw.design(lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2}), lift=2, anyone=20, utility="frequencies")


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    generator = np.random.default_rng(2)
    sex = generator.choice(["f", "m"], 6000, p=[2 / 3, 1 / 3])
    ill = np.where(generator.random(6000) < np.where(sex == "f", 0.3, 0.4), "yes", "no")
    return pd.DataFrame({"sex": sex, "ill": ill})


@pytest.fixture(scope="module")
def protected(people: pd.DataFrame) -> lw.results.Protection:
    asked = {"domain": ["no", "yes"], "prior": "table", "failure": 1e-3, "lift": 2, "given": ["sex"]}
    return lw.protect(people, "ill", **asked, dry_run=True)


def test_estimates_are_right_and_their_intervals_cover():
    found = lw.simulate(DESIGN, rows=3000, repeats=1000)
    spread = found.analyst.standard_error / np.sqrt(1000)
    assert np.abs(found.analyst.mean - [0.5, 0.3, 0.2]).max() < 4 * spread.max()
    assert found.analyst.standard_error == pytest.approx(found.analyst.expected_standard_error, rel=0.1)
    assert found.analyst.coverage == pytest.approx([0.95] * 3, abs=0.025)


def test_the_same_figures_as_releasing_and_estimating_one_by_one(people, protected):
    """The simulation's own shortcut (counts instead of rows) against the public way, release by release."""
    found = lw.simulate(protected, repeats=300, seed=1)
    generator, estimates = np.random.default_rng(9), []
    for seed in range(60):
        drawn = (
            people.groupby("sex")
            .sample(frac=1, replace=True, random_state=generator.integers(1 << 31))
            .reset_index(drop=True)
        )
        with pytest.warns(lw.UnsafeSeedWarning):
            table = lw.release(drawn, protected.mechanism, column="ill", order="keep", unsafe_seed=seed)
        estimates.append(lw.estimate(table, protected.mechanism, column="ill").frequencies)
    error = found.analyst.standard_error
    assert np.mean(estimates, axis=0) == pytest.approx(found.analyst.mean, abs=5 * error.max() / np.sqrt(60))
    assert np.std(estimates, axis=0) == pytest.approx(error, rel=0.4)


def test_nobody_guesses_better_than_is_guaranteed_and_the_worst_outcome_attains_it():
    generator = np.random.default_rng(4)
    for _ in range(10):
        prior = lw.Prior(generator.dirichlet(np.ones(4)))
        found = lw.simulate(lw.design(prior, lift=1.6, anyone=16, utility="frequencies"), rows=400, repeats=50)
        assert found.attacker.lift <= found.guaranteed * (1 + 1e-12)
        assert found.attacker.lift == pytest.approx(1.6, rel=1e-6)
        assert found.attacker.simulated == pytest.approx(found.attacker.expected.after, abs=0.02)
        most = np.max(prior.probabilities)
        assert found.attacker.expected.before == pytest.approx(most)
        assert found.attacker.expected.after <= 1.6 * most + 1e-12


def test_the_simulated_lift_of_the_worst_outcome_is_the_exact_one():
    attacker = lw.simulate(DESIGN, rows=5000, repeats=400).attacker
    assert attacker.simulated_lift == pytest.approx(attacker.lift, rel=0.01)
    m = DESIGN.mechanism
    place, value = m.outputs.index(attacker.outcome), m.inputs.index(attacker.value)
    law = np.array([0.5, 0.3, 0.2]) @ m.matrix
    assert attacker.lift == pytest.approx(m.matrix[value, place] / law[place])


def test_the_power_of_a_test_between_groups_is_that_of_the_normal_one(protected, people):
    found = lw.simulate(protected, repeats=600, between="sex")
    test = next(one for one in found.tests if one.value == "yes")
    shares = people.groupby("sex")["ill"].apply(lambda column: (column == "yes").mean())
    assert test.groups == ("f", "m")
    assert test.difference == pytest.approx(shares["f"] - shares["m"])
    variance = sum(protected.dry_run.by_group[key]["yes"] ** 2 for key in ("f", "m"))
    from scipy.stats import norm

    expected = norm.cdf(abs(test.difference) / np.sqrt(variance) - 1.96)
    assert test.power == pytest.approx(expected, abs=0.06)


def test_a_test_between_equal_groups_finds_a_difference_in_five_of_a_hundred():
    frame = pd.DataFrame({"ill": ["no", "yes", "no"] * 1000, "sex": ["f"] * 1500 + ["m"] * 1500})
    design = lw.design(lw.Prior({"no": 2 / 3, "yes": 1 / 3}), lift=1.5, anyone=15, utility="frequencies")
    found = lw.simulate(design, frame, column="ill", between="sex", repeats=1000)
    assert [one.difference for one in found.tests] == [0, 0]
    assert found.tests[0].power == pytest.approx(0.05, abs=0.025)


def test_designs_by_stratum_with_and_without_a_table(people):
    priors = lw.PriorByStratum({"f": {"no": 0.7, "yes": 0.3}, "m": {"no": 0.5, "yes": 0.5}}, given=["sex"])
    design = lw.design(priors, lift=2, anyone=20, utility="frequencies")
    alone = lw.simulate(design, rows=2000, repeats=50)
    assert (alone.rows, alone.of_table) == (2000, False)
    assert alone.analyst.true == pytest.approx([0.6, 0.4])
    counted = lw.simulate(design, people, column="ill", repeats=50)
    assert (counted.rows, counted.of_table) == (6000, True)
    assert counted.analyst.true[1] == pytest.approx((people["ill"] == "yes").mean())


def test_it_prints_draws_and_says_for_whom_it_is(protected):
    found = lw.simulate(protected, repeats=20, between="sex")
    assert "For the steward only" in repr(found)
    assert "at most 2 times is guaranteed" in repr(found)
    assert "For the steward only" not in repr(lw.simulate(DESIGN, repeats=20))
    assert found.chart()["vconcat"]
    assert found.to_dict()["attacker"]["after"] == found.attacker.expected.after


def test_outcomes_that_do_not_determine_a_value_are_said():
    m = lw.Mechanism([["1/2", "1/2"], ["1/2", "1/2"], [0, 1]], ["a", "b", "c"])
    prior = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    made = lw.protect(["a", "b", "c"] * 300, mechanism=m, prior=prior, anyone=None, order="keep", dry_run=True)
    found = lw.simulate(made, repeats=20)
    assert found.determined.tolist() == [False, False, True]
    assert found.to_dict()["analyst"]["standard_error"][:2] == [None, None]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("repeats must be a whole number", {"repeats": 1}),
        ("rows must be a whole number", {"rows": 0}),
        ("between must name a column", {"between": "sex"}),
        ("column must name the secret column", {"table": {"ill": ["a"]}}),
    ],
)
def test_odd_requests_are_refused(words, options):
    with pytest.raises(lw.InvalidInput, match=words):
        lw.simulate(DESIGN, **options)
    with pytest.raises(lw.InvalidInput, match="must be what"):
        lw.simulate(lw.Prior([0.5, 0.5]))


def test_each_of_several_secrets_is_simulated_beside_the_outcomes_before_it(people):
    domain = {"ill": ["no", "yes"], "sex": ["f", "m"]}
    asked = {"domain": domain, "prior": "table", "failure": 1e-3, "margin": 0.05, "order": "keep"}
    made = lw.protect(people, {"sex": None, "ill": None}, **asked, dry_run=True)
    for column in ("sex", "ill"):
        found = lw.simulate(made, column=column, repeats=1000)
        assert list(found.labels) == domain[column]
        assert found.analyst.coverage == pytest.approx([0.95] * 2, abs=0.025)
        # What was asked for is what an analyst gets.
        assert 1.96 * found.analyst.standard_error == pytest.approx([0.05] * 2, rel=0.1)
        assert found.attacker.lift <= found.guaranteed < 2
    assert lw.simulate(made, column="ill", repeats=20, between="sex").tests
    assert lw.simulate(made, column="sex", repeats=20).attacker.stratum == ()
    with pytest.raises(lw.InvalidInput, match="column must name one of the secrets that were released: 'sex', 'ill'"):
        lw.simulate(made)
    with pytest.raises(lw.InvalidInput, match="table must be left out"):
        lw.simulate(made, people, column="ill")


def test_people_like_a_few_rows_are_not_copies_of_them():
    """In strata of one row each, a guess would be right for every row, and no release would seem to tell anything."""
    generator = np.random.default_rng(0)
    ill = generator.choice(["no", "yes"], 600)
    frame = pd.DataFrame({"ill": ill, "place": [f"p{i % 300}" for i in range(600)]})
    asked = {"domain": ["no", "yes"], "prior": "table", "failure": 1e-3, "lift": 2, "given": ["place"], "order": "keep"}
    with pytest.warns(lw.LeakwiseWarning, match="too rare to learn from"):
        tried = lw.protect(frame, "ill", **asked, dry_run=True)
    found = lw.simulate(tried, repeats=20)
    assert 0.5 < found.attacker.expected.before < 0.75
    assert found.attacker.expected.after > found.attacker.expected.before + 0.02
    assert 0.5 < tried.dry_run.guesses.before < 0.8
    assert tried.dry_run.guesses.after > tried.dry_run.guesses.before + 0.02

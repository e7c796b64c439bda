"""Leakage from a sample alone: lower bounds on means, their coverage, and what they promise for mechanisms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.leakage.bounds.from_sample import epsilon_from_sample
from leakwise.leakage.bounds.mean import BOUNDS, best_bet, betting, chernoff, clopper_pearson, hoeffding
from leakwise.mechanism.catalog import k_singular
from leakwise.priors import Prior

VALUES = np.array([0.0, 0.15, 0.4, 1.0])
LAW = np.array([0.5, 0.3, 0.15, 0.05])


@pytest.mark.parametrize("method", sorted(BOUNDS))
@pytest.mark.parametrize("size", [25, 200])
def test_coverage_of_every_bound_by_simulation(method: str, size: int) -> None:
    """At a large failure probability the bound exceeds the mean no more often than it may (a test at level 1e-6)."""
    level, repeats = 0.2, 300 if method == "clopper-pearson" else 1500
    generator = np.random.default_rng(11)
    draws = generator.multinomial(size, LAW, repeats)
    mean = float(VALUES @ LAW)
    bounds = []
    for counts in draws:
        if method == "clopper-pearson":
            bounds.append(clopper_pearson(VALUES, counts, math.log(level), generator))
        else:
            bounds.append(BOUNDS[method](VALUES, counts, math.log(level)))
    missed = int((np.array(bounds) > mean).sum())
    assert binomtest(missed, repeats, level, alternative="greater").pvalue > 1e-6
    assert size < 200 or max(bounds) > 0


def test_betting_keeps_its_level_exactly() -> None:
    """Over all samples of eight draws from three values, the exact probability of a bound above the mean."""
    values, law, size, level = np.array([0.0, 0.5, 1.0]), (0.6, 0.3, 0.1), 8, 0.15
    mean = float(values @ law)
    for bet in (None, 1.3):
        missed = 0.0
        for a, b in itertools.product(range(size + 1), repeat=2):
            if a + b > size:
                continue
            counts = np.array([size - a - b, a, b])
            if betting(values, counts, math.log(level), bet) > mean:
                ways = math.factorial(size) / math.prod(math.factorial(int(n)) for n in counts)
                missed += ways * math.prod(p ** int(n) for p, n in zip(law, counts, strict=True))
        assert 0 < missed <= level


@given(st.lists(st.integers(0, 400), min_size=4, max_size=4).filter(any), st.sampled_from([0.3, 1e-3, 1e-9]))
def test_bounds_are_ordered_and_below_the_mean(counts: list[int], level: float) -> None:
    n = np.array(counts)
    mean = float(VALUES @ n) / n.sum()
    bounds = {name: bound(VALUES, n, math.log(level)) for name, bound in BOUNDS.items() if name != "clopper-pearson"}
    assert all(0 <= value <= mean for value in bounds.values())
    assert bounds["chernoff"] >= bounds["hoeffding"] - 1e-12


def test_a_plan_sharpens_the_bet() -> None:
    counts = np.array([5000, 3000, 1500, 500])
    level = math.log(1e-6)
    bet = best_bet(VALUES, LAW, 10_000, level)
    planned, plain = betting(VALUES, counts, level, bet), betting(VALUES, counts, level)
    assert planned > plain > chernoff(VALUES, counts, level) > hoeffding(VALUES, counts, level)


def test_two_valued_outcomes_take_clopper_pearson() -> None:
    sample = Prior.from_counts([2500] * 4)
    auto = epsilon_from_sample(k_singular(4, 2), sample, "1e-5")
    exact = epsilon_from_sample(k_singular(4, 2), sample, "1e-5", method="clopper-pearson")
    assert auto.epsilon == exact.epsilon
    assert auto.epsilon < epsilon_from_sample(k_singular(4, 2), sample, "1e-5", method="betting").epsilon
    # The same up to the last digits of floats: still two values.
    wobbly = lw.Mechanism([[0.75, 0.25], [0.75 - 1e-16, 0.25 + 1e-16], [0.1, 0.9], [0.1, 0.9]])
    assert epsilon_from_sample(wobbly, sample, "1e-5").epsilon == pytest.approx(
        epsilon_from_sample(wobbly, sample, "1e-5", method="clopper-pearson").epsilon
    )


@pytest.mark.parametrize("method", ["auto", "betting", "maurer-pontil", "chernoff", "clopper-pearson"])
def test_the_promise_holds_by_simulation(method: str) -> None:
    """ε' is below the true ε at most as often as the failure allows."""
    truth = Prior([0.55, 0.3, 0.15])
    mechanism = lw.Mechanism([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    true_epsilon = lw.epsilon(mechanism, truth)
    generator = np.random.default_rng(5)
    repeats, failure = 120 if method == "clopper-pearson" else 400, 0.4
    missed = 0
    for counts in generator.multinomial(60, truth.probabilities, repeats):
        found = epsilon_from_sample(mechanism, Prior.from_counts(counts), failure, method=method, generator=generator)
        missed += found.epsilon < true_epsilon
    assert binomtest(missed, repeats, failure, alternative="greater").pvalue > 1e-6


def test_the_result_speaks() -> None:
    found = epsilon_from_sample(lw.randomized_response(["a", "b"], lift=3), Prior.from_counts({"b": 40, "a": 60}), 0.01)
    assert found.samples == 100
    assert "unless the 100 samples mislead" in found.sentence
    assert "0.01" in repr(found)
    assert "<table" in found._repr_html_()
    assert found.to_dict()["failure"] == 0.01
    nothing = epsilon_from_sample(lw.identity(2), Prior.from_counts([3, 0]), 0.01)
    assert math.isinf(nothing.epsilon)
    assert "more are needed" in nothing.sentence
    silent = epsilon_from_sample(lw.constant(2), Prior.from_counts([3, 0]), 0.01)
    assert silent.epsilon == 0


def test_more_candidates_cost() -> None:
    sample, mechanism = Prior.from_counts([300, 200]), lw.randomized_response(2, lift=3)
    alone = epsilon_from_sample(mechanism, sample, 0.01)
    among = epsilon_from_sample(mechanism, sample, 0.01, candidates=10)
    assert among.epsilon > alone.epsilon
    assert epsilon_from_sample(mechanism, sample, 0.001).epsilon == among.epsilon


def test_bad_questions_are_refused() -> None:
    mechanism, sample = lw.randomized_response(2, lift=3), Prior.from_counts([300, 200])
    with pytest.raises(InvalidInput, match="Did you mean 'betting'"):
        epsilon_from_sample(mechanism, sample, 0.1, method="beting")
    with pytest.raises(InvalidInput, match="failure must be"):
        epsilon_from_sample(mechanism, sample, 0)
    with pytest.raises(InvalidInput, match="candidates"):
        epsilon_from_sample(mechanism, sample, 0.1, candidates=0)
    with pytest.raises(InvalidInput, match="how many samples"):
        epsilon_from_sample(mechanism, Prior([0.5, 0.5]), 0.1)

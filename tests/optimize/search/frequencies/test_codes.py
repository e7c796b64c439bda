"""Codes: optimal where a uniform prior fits them, and mechanisms for thousands of values with a stated gap."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.mechanism import CodeKernel, CommonLawKernel


def designed(prior, **limits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)  # of the gap
        return lw.design(prior, utility="frequencies", **limits)


@pytest.mark.parametrize(
    ("size", "lift"), [(64, 2), (27, 3), (27, "3/2"), (25, 5), (25, "5/4"), (25, "5/2"), (49, 7), (32, 2)]
)
def test_a_uniform_prior_over_all_words_of_a_code_has_its_closed_form(size, lift):
    design = designed(lw.Prior.uniform(size), lift=lift)
    assert isinstance(design.mechanism.kernel, CodeKernel)
    assert design.method.startswith("balanced code, optimal")
    assert design.gap <= 1e-9 * abs(design.bound)
    assert design.value == pytest.approx(-((size - 1) ** 2) / (size * (float(Fraction(lift)) - 1)), rel=1e-9)
    assert design.certificate.verify().ratio <= design.certificate.asked.above


def test_both_limits_have_a_closed_form_where_the_share_fits():
    # Two of five symbols, {t/a, t} with mass 2/5 at t: t + 3/2·t/a = 5/2.
    design = designed(lw.Prior.uniform(25), lift=2, anyone=6)
    assert isinstance(design.mechanism.kernel, CodeKernel)
    assert design.gap <= 1e-9 * abs(design.bound)
    assert design.certificate.verify().anyone <= 6


@pytest.mark.parametrize("limits", [{"ldp": 1}, {"ldp": 3}, {"lift": "23/4"}])
def test_a_prime_number_of_values_has_a_closed_form_with_as_many_outcomes_as_pairs(limits):
    # Words of one digit: all windows of d values, at all steps around the circle; subset selection by fewer sets.
    design = designed(lw.Prior.uniform(23), outcomes=23 * 11, **limits)
    assert isinstance(design.mechanism.kernel, CodeKernel)
    assert design.mechanism.shape[1] == (23 if limits == {"ldp": 3} else 23 * 11)  # single values, or windows
    assert (design.mechanism.outputs[0] == "{0}") == (limits == {"ldp": 3})
    assert design.gap <= 1e-8 * abs(design.bound)
    design.certificate.verify()


@pytest.mark.parametrize(
    ("law", "limits", "gap"),
    [
        ("Dirichlet", {"lift": 2}, 0.06),
        ("Dirichlet", {"lift": 5, "anyone": 50}, 0.2),
        ("Zipf", {"lift": 2}, 0.3),
        ("Zipf", {"ldp": 2}, 1.3),
    ],
)
def test_thousands_of_values_are_certified_released_and_estimated(law, limits, gap, tmp_path):
    size = 1500
    masses = np.random.default_rng(1).dirichlet(np.ones(size)) if law == "Dirichlet" else 1 / np.arange(1, size + 1)
    prior = lw.Prior(masses / masses.sum())
    p = prior.probabilities
    design = designed(prior, **limits)
    assert isinstance(design.mechanism.kernel, CodeKernel)
    assert design.mechanism.shape[1] <= 8 * size
    assert design.gap <= gap * abs(design.bound), design.gap / abs(design.bound)
    path = tmp_path / "certificate.json"
    design.certificate.save(path)
    loaded = lw.verify(path)
    assert loaded.holds
    assert loaded.optimality is not None
    asked = {"lift": limits.get("lift"), "anyone": limits.get("anyone"), "ldp": limits.get("ldp")}
    assert lw.certify(design.mechanism, prior, **asked).holds
    rows = np.random.default_rng(2).choice(size, size=200_000, p=p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.CertaintyWarning)
        released = lw.release(rows, design.mechanism)
    estimate = lw.estimate(released, design.mechanism)
    low, high = estimate.intervals.T
    assert ((low <= p) & (p <= high)).mean() > 0.93
    # The variances of one row, summed, are what the design is worth; rounding to the simplex only helps.
    assert (estimate.standard_error**2).sum() * len(rows) == pytest.approx(-design.value, rel=0.05)


def test_other_limits_and_few_outcomes_are_left_to_the_search():
    uniform = lw.Prior.uniform(25)
    for asked in ({"lift": 5, "lift_of": {0: 2}}, {"lip": 1}, {"lift": 5, "outcomes": 26}):
        assert not isinstance(designed(uniform, **asked).mechanism.kernel, CodeKernel)
    columns = designed(uniform, lift=5, method="columns")
    assert not isinstance(columns.mechanism.kernel, CodeKernel)
    assert columns.bound == pytest.approx(designed(uniform, lift=5).bound, rel=1e-8)


def test_values_that_the_prior_calls_impossible_have_words_as_well():
    weights = np.random.default_rng(3).integers(0, 4, 1800)
    prior = lw.Prior(weights)
    design = designed(prior, lift=2, anyone=20)
    assert isinstance(design.mechanism.kernel, CodeKernel)
    assert design.mechanism.shape[0] == 1800
    assert design.gap <= 0.25 * abs(design.bound)
    certificate = design.certificate.verify()
    assert certificate.optimality is not None
    assert certificate.anyone <= 20
    dense = lw.Mechanism(design.mechanism.matrix, inputs=prior.labels)
    assert lw.epsilon(dense, prior) == pytest.approx(certificate.epsilon_upper, rel=1e-9)


def test_few_values_among_many_that_are_impossible_are_searched_for():
    design = designed(lw.Prior([1, 2, 3, *[0] * 1500]), lift=2)
    assert not isinstance(design.mechanism.kernel, CodeKernel)
    assert design.gap <= 1e-6


@pytest.mark.parametrize("limits", [{"ldp": 20}, {"lift": 1500}, {"lift": 700, "ldp": 8}])
def test_for_large_limits_outcomes_are_single_values(limits):
    masses = 1 / np.arange(1, 1301)
    prior = lw.Prior(masses / masses.sum())
    design = designed(prior, **limits)
    assert isinstance(design.mechanism.kernel, CommonLawKernel)
    assert design.method.startswith("single values")
    assert design.gap <= 3 * abs(design.bound)
    assert design.certificate.verify().optimality is not None
    # The variances, summed, are those of the inverse.
    matrix, p = design.mechanism.matrix, prior.probabilities
    law = p @ matrix
    inverse = np.linalg.inv((matrix / law) @ matrix.T)
    assert design.value == pytest.approx(p @ p - np.trace(inverse), rel=1e-6)


def test_a_time_limit_too_short_for_listed_columns_takes_a_code():
    """The first listed columns of a thousand values took twenty seconds, whatever the time limit was."""
    weights = 1 / np.arange(1, 401)
    prior = lw.Prior(weights / weights.sum())
    design = designed(prior, lift=2, anyone=20, time_limit=1)
    assert isinstance(design.mechanism.kernel, CodeKernel)
    assert design.certificate.verify().anyone <= 20
    assert design.value <= design.bound <= 0
    unhurried = lw.design(lw.Prior(weights[:20] / weights[:20].sum()), lift=2, utility="frequencies", time_limit=1)
    assert unhurried.method.startswith("columns")

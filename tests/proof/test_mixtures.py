"""The checker's bound by mixtures: whatever multipliers it is given, below the optimum; and the finder's by its own."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.optimize.bounds.mixture import mixture_bound
from leakwise.proof.optimality.check import check_optimality
from leakwise.proof.optimality.mixtures import mixture_trace

OPTIMA: dict[tuple[int, ...], float] = {}


def optimum(weights):
    """Of trace J⁻¹ over every vertex at ε = 1, once for each prior."""
    if weights not in OPTIMA:
        prior = lw.Prior(list(weights))
        p = prior.probabilities
        OPTIMA[weights] = float(p @ p) - lw.design(prior, ldp=1.0, utility="frequencies").value
    return OPTIMA[weights]


@given(
    st.sampled_from([(3, 1), (5, 2, 1), (4, 3, 2, 1)]),
    st.lists(st.floats(-1.5, 1.5), min_size=16, max_size=16),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_no_multipliers_prove_more_than_there_is(weights, powers, turned):
    p = np.array(weights) / sum(weights)
    good = mixture_bound(p, math.e)[1]
    forged = good * np.exp(powers[: len(good)])
    if turned:
        forged[3::4] *= -1
    assert mixture_trace(forged, p, math.e) <= optimum(weights) * (1 + 1e-9)


@pytest.mark.parametrize("size", [2, 3, 18, 120])
@pytest.mark.parametrize("epsilon", [1e-6, 0.7, 5.0])
def test_the_checker_proves_what_the_finder_found(size, epsilon):
    p = np.random.default_rng(size).dirichlet(np.ones(size))
    least, multipliers = mixture_bound(p, math.exp(epsilon))
    assert mixture_trace(multipliers, p, math.exp(epsilon)) == pytest.approx(least, rel=1e-8)


def test_the_largest_of_all_columns_is_found_among_few():
    """Every pair of numbers of raised letters, by the lifts themselves."""
    k, n, ratio = 7, 12, 4.0
    generator = np.random.default_rng(0)
    for _ in range(50):
        e, f, g = generator.exponential(size=3)
        y = float(generator.normal())
        largest = -math.inf
        for r in range(k + 1):
            low = k / (k + (ratio - 1) * r)
            inside = np.repeat([low * ratio, low], [r, k - r])
            for s in range(n + 1):
                others = np.repeat([low * ratio, low], [s, n - s])
                worth = e * inside.var(ddof=1) + f * others.var(ddof=1)
                worth += g * (others.mean() - 1) ** 2 - y * (others.mean() - 1)
                largest = max(largest, worth)
        multipliers = np.zeros(4 * (k + n))
        multipliers[4 * k - 4 : 4 * k] = e, f, g, y
        p = np.array([1 / k] * k + [0.0] * n)
        least = 1 / k + 2 * sum(map(math.sqrt, ((k - 1) * e, (n - 1) * f, (1 / k + 1 / n) * g))) - largest
        assert mixture_trace(multipliers, p, ratio) == pytest.approx(max(least, 1.0), rel=1e-9)


@pytest.mark.parametrize("place", [0, 3])
@pytest.mark.parametrize("value", [-1.0, 1e200, math.inf])
def test_multipliers_that_are_none_prove_nothing(place, value):
    p = np.array([0.5, 0.3, 0.2])
    multipliers = mixture_bound(p, 2.0)[1]
    multipliers[4 + place] = value
    with np.errstate(all="ignore"):
        shown = mixture_trace(multipliers, p, 2.0)
    assert shown <= mixture_bound(p, 2.0)[0] * (1 + 1e-9)


def test_a_claim_of_fewer_mechanisms_or_a_better_bound_is_rejected():
    weights = 1 / np.arange(1, 25)
    design = lw.design(lw.Prior(weights / weights.sum()), ldp=0.5, utility="frequencies")
    claim, prior, mechanism = design.certificate.optimality, design.certificate.prior, design.mechanism
    assert len(claim.duals) == 4 * 24
    check_optimality(claim, mechanism, prior)
    for forged in (
        replace(claim, bound=claim.bound * (1 + 1e-6)),  # less is claimed to be possible than was proven
        replace(claim, ldp=None, high=claim.ldp),
        replace(claim, duals=claim.duals[:-4]),
    ):
        with pytest.raises(lw.CertificateRejected):
            check_optimality(forged, mechanism, prior)


@pytest.mark.parametrize("kind", ["all priors", "values without mass", "a looser limit beside it"])
def test_what_amounts_to_ldp_alone_is_proven_the_same_way(kind):
    weights = np.append(1 / np.arange(1, 25), np.zeros(2 if kind == "values without mass" else 0))
    prior = lw.Prior(weights / weights.sum())
    if kind == "all priors":
        design = lw.design(lw.AllPriors(prior), lift=1.6, utility="frequencies")
    else:
        lift = 3 if kind == "a looser limit beside it" else None
        design = lw.design(prior, anyone=1.6, lift=lift, utility="frequencies")
    assert len(design.certificate.verify().optimality.duals) == 4 * 24
    assert design.gap < 0.02 * -design.bound

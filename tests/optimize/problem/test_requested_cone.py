"""LDP, local information privacy, and intersections of bounds: each is kept, none beats another."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.exact import level
from leakwise.optimize.problem.cones import LDPCone
from leakwise.optimize.problem.utilities import as_utility
from optimize.promises import priors


@given(priors(most=5), st.floats(0.1, 1.5))
@settings(max_examples=20)
def test_ldp_design_is_ldp_and_below_the_pml_optimum(prior, epsilon):
    design = lw.design(prior, ldp=epsilon)
    assert lw.ldp(design.mechanism) <= epsilon + 1e-12
    assert LDPCone(prior, level(epsilon).below).contains([int(w) for w in design.mechanism.weights[:, 0]])
    assert design.value <= lw.design(prior, epsilon=epsilon).value + 1e-9
    assert design.epsilon <= epsilon


def test_ldp_binary_is_warner():
    design = lw.design(lw.Prior([0.3, 0.7]), ldp=1.0)
    response = lw.randomized_response(2, epsilon=1.0)
    expected = as_utility("mutual_information").interval(response.kernel, lw.Prior([0.3, 0.7]))[0]
    assert design.value == pytest.approx(expected, abs=1e-12)


@given(priors(most=4), st.floats(0.2, 1.0), st.floats(0.2, 1.5))
@settings(max_examples=10)
def test_intersections_satisfy_both_and_never_beat_either(prior, epsilon, ldp):
    both = lw.design(prior, epsilon=epsilon, ldp=ldp)
    assert both.epsilon <= epsilon
    assert lw.ldp(both.mechanism) <= ldp + 1e-12
    one, other = lw.design(prior, epsilon=epsilon), lw.design(prior, ldp=ldp)
    assert both.value <= min(one.value, other.value) + 1e-8
    assert both.value >= 0 or both.value == pytest.approx(0, abs=1e-9)


@given(priors(most=5), st.floats(0.1, 1.0))
@settings(max_examples=20)
def test_local_information_privacy_bounds_both_sides(prior, bound):
    design = lw.design(prior, lip=bound)
    law = prior.probabilities @ design.mechanism.matrix
    density = np.log(design.mechanism.matrix / law)
    assert np.abs(density).max() <= bound + 1e-12
    generic = lw.design(prior, lip=bound, ldp=8.0)  # a bound that never binds: the generic pricer
    assert generic.value == pytest.approx(design.value, abs=1e-6)


@pytest.mark.parametrize(
    ("lip", "utility"), [(4.462e-6, "total_variation"), (1e-7, "total_variation"), (3e-4, "chi_square")]
)
def test_narrow_boxes_of_lifts_keep_their_vertices(lip, utility):
    # A tolerance that is relative to the width of the box alone took raised letters for free ones.
    design = lw.design(lw.Prior([4, 1, 3, 2, 1, 2, 3, 1, 4, 3]), lip=lip, utility=utility)
    assert design.value > 0
    assert design.gap <= 1e-3 * design.bound + 1e-9


@pytest.mark.parametrize("letters", [9, 12, 24])
def test_intersections_with_ldp_are_exact_and_fast(letters):
    prior = lw.Prior(np.random.default_rng(letters).dirichlet(np.ones(letters)))
    design = lw.design(prior, epsilon=0.6, ldp=0.9)
    assert design.gap <= 1e-6 * design.bound
    assert design.value <= lw.design(prior, epsilon=0.6).value + 1e-9
    assert design.value <= lw.design(prior, ldp=0.9).value + 1e-9
    assert lw.ldp(design.mechanism) <= 0.9 + 1e-12


@pytest.mark.parametrize("utility", ["mutual_information", "frequencies", "guessing"])
@pytest.mark.parametrize(
    ("prior", "lift", "anyone"),
    [
        (lw.Prior.uniform(2), 2, 1),
        (lw.Prior.uniform(3), 2, "3/2"),
        (lw.AllPriors(lw.Prior(["1/5", "3/10", "1/2"])), 4, 3),
        (lw.AllPriors(lw.Prior(["1/5", "3/10", "1/2"])), 3, 4),
        (lw.AllPriors(lw.Prior.uniform(2)), 4, 3),
    ],
)
def test_a_limit_for_anyone_below_the_lift_is_kept(prior, lift, anyone, utility):
    """Closed forms and sets of all priors looked at the lift alone, and the certificate refused what they found."""
    d = lw.design(prior, lift=lift, anyone=anyone, utility=utility)
    assert d.certificate.holds
    assert lw.ldp(d.mechanism) <= np.log(float(Fraction(anyone))) + 1e-12

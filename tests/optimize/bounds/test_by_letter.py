"""The bound letter by letter: below every mechanism, exact for a uniform prior, hardly below the bound over J."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.bounds.by_letter import least_trace_by_letter
from leakwise.optimize.bounds.least_trace import least_trace_bound
from leakwise.optimize.problem.cones import Intersection, LDPCone, pml_cone
from leakwise.optimize.search.limits import Limits


def cones(prior):
    box, range_ = pml_cone(prior, Fraction(2)), LDPCone(prior, Fraction(5))
    return [box, pml_cone(prior, Fraction(7)), range_, Intersection([box, LDPCone(prior, Fraction(20))])]


@pytest.mark.parametrize("size", [3, 8, 40])
@pytest.mark.parametrize("law", ["uniform", "Dirichlet"])
def test_it_is_hardly_below_the_bound_over_all_information_matrices(size, law):
    masses = np.ones(size) if law == "uniform" else np.random.default_rng(size).dirichlet(np.ones(size))
    for cone in cones(lw.Prior(masses / masses.sum())):
        least, other = least_trace_by_letter(cone)[0], least_trace_bound(cone, Limits())[0]
        assert least <= other * (1 + (1e-9 if law == "uniform" else 1e-4))
        # For lifts that share a range the other one looks for duals letter by letter, if it has the time.
        same = other if cone.kind == "box" else least_trace_bound(cone, Limits(seconds=-1.0))[0]
        near = 1 - 1e-9 if law == "uniform" else 1 - 1.5 / size if cone.kind == "box" else 0.7
        assert least >= same * near


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_of_few_values_is_not_better(seed):
    generator = np.random.default_rng(seed)
    prior = lw.Prior(generator.dirichlet(np.ones(int(generator.integers(3, 7)))))
    limits = [{"lift": 2}, {"lift": 7}, {"anyone": 5}, {"lift": 2, "anyone": 20}]
    for cone, asked in zip(cones(prior), limits, strict=True):
        optimum = lw.design(prior, utility="frequencies", **asked).value
        squares = float(prior.probabilities @ prior.probabilities)
        assert optimum <= squares - least_trace_by_letter(cone)[0] + 1e-9 * abs(optimum)

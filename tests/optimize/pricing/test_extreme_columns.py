"""The extreme columns of ε-PML against brute force, a linear program and the list in floats."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.exact import level
from leakwise.optimize.pricing.vertex_list import list_vertices
from leakwise.optimize.problem.cones import pml_cone

PRIORS = [["1/2", "1/2"], ["1/2", "1/4", "1/4"], ["1/3", "1/3", "1/3"], ["2/5", "3/10", "1/5", "1/10"], [1]]


@pytest.mark.parametrize("weights", PRIORS, ids=lambda weights: f"N{len(weights)}")
@pytest.mark.parametrize("lift", ["1", "5/4", "3/2", "2", "7/2", "12"])
def test_the_columns_are_all_vertices(weights: list[str], lift: str) -> None:
    prior, top = lw.Prior(weights), Fraction(lift)
    p, size = prior.fractions, len(prior)
    brute = set()
    for free, others in itertools.product(range(size), itertools.product([Fraction(0), top], repeat=size - 1)):
        column = [*others[:free], Fraction(0), *others[free:]]
        column[free] = (1 - sum(a * b for a, b in zip(p, column, strict=True))) / p[free]
        if 0 <= column[free] <= top:
            brute.add(tuple(column))
    columns = lw.measures.extreme_columns(prior, lift=lift)
    assert [tuple(column) for column in columns.T] == sorted(brute)
    assert all(type(entry) is Fraction for entry in columns.flat)
    assert {tuple(v) for v in list_vertices(pml_cone(prior, top)).T.round(9)} == {
        tuple(v) for v in columns.T.astype(float).round(9)
    }
    for costs in np.random.default_rng(7).normal(size=(3, size)):
        best = linprog(costs, A_eq=[prior.probabilities], b_eq=[1], bounds=(0, float(top))).fun
        assert (costs @ columns.astype(float)).min() == pytest.approx(best, abs=1e-9)


def test_columns_for_epsilon_stay_within_it() -> None:
    prior = lw.Prior(["1/2", "1/4", "1/4"])
    columns = lw.measures.extreme_columns(prior, 0.5)
    assert all(sum(a * b for a, b in zip(prior.fractions, column, strict=True)) == 1 for column in columns.T)
    assert float(columns.max()) == pytest.approx(np.exp(0.5), rel=1e-12)
    assert level(0.5).allows(columns.max())  # decided without rounding


def test_what_cannot_be_listed_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"up to [\d,]{9,} columns for 40 values at lift = 2.*lw.design"):
        lw.measures.extreme_columns(lw.Prior.uniform(40), lift=2)
    with pytest.raises(InvalidInput, match="every value a positive probability"):
        lw.measures.extreme_columns([0.5, 0.5, 0], lift=2)
    with pytest.raises(InvalidInput, match="prior must be a single prior"):
        lw.measures.extreme_columns(lw.AllPriors(2), lift=2)

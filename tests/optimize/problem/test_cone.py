"""Cones of one's own: what a subclass of twenty lines gets, and what is refused."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import leakwise as lw
from leakwise.optimize import Cone

PRIOR = lw.Prior([5, 3, 2, 2])


class Neighbours(Cone):
    """Values next to each other stay within a factor of each other."""

    def __init__(self, prior, ratio):
        self.prior, self.ratio = prior, Fraction(ratio)

    def contains(self, column):
        pairs = [*itertools.pairwise(column), *itertools.pairwise(column[::-1])]
        return all(one <= self.ratio * other for one, other in pairs)

    def inequalities(self):
        eye, ratio = np.eye(len(self.prior)), float(self.ratio)
        return np.concatenate([eye[:-1] - ratio * eye[1:], eye[1:] - ratio * eye[:-1]])


class Scaled(Neighbours):
    """The same with a further variable for each pair: a slack of its own."""

    def inequalities(self):
        rows = super().inequalities()
        return np.concatenate([rows, np.eye(len(rows))], axis=1)


@pytest.mark.parametrize("kind", [Neighbours, Scaled])
@pytest.mark.parametrize("limits", [{}, {"lift": 2}, {"lift": 2, "ldp": 1.0}], ids=str)
def test_a_cone_of_ones_own_gets_the_best_of_all_its_vertices(kind, limits):
    cone = kind(PRIOR, 2)
    found = lw.design(PRIOR, within=cone, **limits)
    listed = lw.design(PRIOR, within=Neighbours(PRIOR, 2), method="enumeration", **limits)
    assert found.value == pytest.approx(listed.value, abs=1e-7)
    assert found.bound >= listed.value
    assert found.gap <= 1e-7
    assert all(cone.contains(column) for column in found.mechanism.weights.T.tolist())
    assert found.certificate.holds
    assert found.epsilon == pytest.approx(lw.epsilon(found.mechanism, PRIOR), abs=1e-9)
    assert kind.__name__ in found.constraint
    assert found.certificate.remark == f"no checker for a {kind.__name__}"


def test_labelled_utilities_over_a_cone_of_ones_own_are_one_linear_program():
    found = lw.design(PRIOR, within=Neighbours(PRIOR, 2), lift=2, utility="guessing")
    p, size = PRIOR.probabilities, len(PRIOR)
    rows = np.concatenate([Neighbours(PRIOR, 2).inequalities(), np.eye(size) - 2 * p])
    every = np.kron(np.eye(size), rows)
    total = np.tile(np.eye(size), size)
    answer = linprog(-np.diag(p).ravel(), every, np.zeros(len(every)), total, np.ones(size))
    assert found.value == pytest.approx(-answer.fun, abs=1e-8)


def test_a_set_of_priors_and_a_cone_of_ones_own_hold_together():
    ball, cone = PRIOR.ball("0.1"), Neighbours(PRIOR, 2)
    both = lw.design(ball, lift=2, within=cone)
    assert both.certificate.holds
    assert all(cone.contains(column) for column in both.mechanism.weights.T.tolist())
    assert both.value <= min(lw.design(ball, lift=2).bound, lw.design(PRIOR, within=cone).bound)


def test_values_without_mass_get_rows_that_tell_nothing():
    prior = lw.Prior({"a": 5, "b": 0, "c": 3, "d": 2})
    inner = lw.Prior({"a": 5, "c": 3, "d": 2})
    found = lw.design(prior, within=Neighbours(inner, 2))
    assert found.mechanism.shape[0] == 4
    with pytest.raises(lw.InvalidInput, match="3 values of the prior"):
        lw.design(prior, within=Neighbours(lw.Prior([1, 1, 1]), 2))


def test_what_is_not_a_cone_is_refused():
    class Nothing(Neighbours):
        def contains(self, column):
            return False

    with pytest.raises(lw.InvalidInput, match="constant column"):
        lw.design(PRIOR, within=Nothing(PRIOR, 2))
    with pytest.raises(lw.InvalidInput, match="do not go with"):
        lw.design(PRIOR, lift=2, within=Neighbours(PRIOR, 2), utility=lw.WorstCase(np.eye(4)))
    with pytest.raises(lw.InvalidInput, match="Give a limit"):
        lw.design(PRIOR)


class Weaker(Neighbours):
    """Inequalities for half of the pairs."""

    def inequalities(self):
        return super().inequalities()[: len(self.prior) - 1]


class Stricter(Neighbours):
    """Inequalities for a smaller ratio."""

    def inequalities(self):
        return Neighbours(self.prior, self.ratio * Fraction(3, 4)).inequalities()


class Nearly(Neighbours):
    """One pair is missing."""

    def inequalities(self):
        return super().inequalities()[:-1]


class Cut(Weaker):
    """The other half is given when it is asked for."""

    def cut(self, column):
        rows = super(Weaker, self).inequalities()
        broken = rows @ column > 1e-9
        return rows[broken] if broken.any() else None


class Flat(Neighbours):
    """The first two values are never told from each other."""

    def contains(self, column):
        return column[0] == column[1] and super().contains(column)

    def inequalities(self):
        level = np.array([[1.0, -1.0, 0.0, 0.0]])
        return np.concatenate([super().inequalities(), level, -level])


@pytest.mark.parametrize("limits", [{}, {"lift": 2}, {"lift": 2, "utility": "guessing"}], ids=str)
@pytest.mark.parametrize(
    ("kind", "words"),
    [(Weaker, "Weaker does not contain"), (Nearly, "Nearly does not contain"), (Stricter, "Stricter contains")],
)
def test_inequalities_that_do_not_describe_the_cone_are_refused_with_a_column(kind, words, limits):
    with pytest.raises(lw.InvalidInput, match=rf"{words} \[.*inequalities"):
        lw.design(PRIOR, within=kind(PRIOR, 2), **limits)


@pytest.mark.filterwarnings("ignore:The proven gap")  # no integers beside the constant are as flat as that
@pytest.mark.parametrize("kind", [Neighbours, Scaled, Cut, Flat])
@pytest.mark.parametrize("ratio", ["1", "101/100", "2", "1000"])
def test_a_cone_that_says_the_same_by_both_is_taken(kind, ratio):
    assert lw.design(PRIOR, within=kind(PRIOR, ratio), lift=2).certificate.holds

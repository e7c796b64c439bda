"""The cones of sets of priors: linear programs, cuts, ranges of lifts, intersections, and sets of the user's own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.optimize.problem.cones import Intersection, LDPCone, pml_cone
from leakwise.optimize.problem.prior_set_cone import RobustCone
from leakwise.priors import AllPriors, Box, Hull, KLBall, LayerCake, Prior, PriorSet

PRIOR = Prior(["0.4", "0.3", "0.2", "0.1"])
CORNERS = [["0.4", "0.3", "0.2", "0.1"], ["0.25", "0.25", "0.25", "0.25"], ["0.1", "0.5", "0.2", "0.2"]]
SETS = {
    "ball": PRIOR.ball("0.1"),
    "wide ball": PRIOR.ball("0.5"),
    "box": Box(PRIOR, ["0.3", "0.2", "0.1", "0.05"], ["0.5", "0.4", "0.3", "0.2"], beta="0.2"),
    "hull": Hull(CORNERS),
    "kl": KLBall(PRIOR, "0.02"),
    "all": AllPriors(PRIOR),
    "prior": PRIOR,
}


class Own(PriorSet):
    """The least of several priors, said through ``exact_least_mass`` alone."""

    def __init__(self, corners=CORNERS, wrong=False):
        self.corners = [Prior(corner) for corner in corners]
        self.wrong = wrong

    alphabet = property(lambda self: self.corners[0].alphabet)
    nominal = property(lambda self: self.corners[0])
    failure = 0.0
    support = property(lambda self: np.ones(len(self.nominal), dtype=bool))

    def least_mass(self, columns):
        choose = np.max if self.wrong else np.min
        return choose([corner.least_mass(columns) for corner in self.corners], axis=0)

    def exact_least_mass(self, column):
        choose = max if self.wrong else min
        return choose(corner.exact_least_mass(column) for corner in self.corners)

    def reordered(self, order):
        return Own([corner.reordered(order).fractions for corner in self.corners])


@pytest.mark.parametrize("name", SETS)
def test_worst_members_attain_the_least_mass_and_bound_that_of_every_other_column(name):
    priors = SETS[name]
    columns = np.random.default_rng(1).random((4, 30)) ** 3
    least = priors.least_mass(columns)
    for number, column in enumerate(columns.T):
        member = priors.worst_member(column)
        assert member.sum() == pytest.approx(1, abs=1e-9)
        assert member @ column == pytest.approx(least[number], abs=1e-9)
        assert (member @ columns >= least - 1e-9).all()
        slopes = PriorSet.worst_member(priors, column)  # what a set has that says nothing but its least mass
        assert slopes @ column == pytest.approx(least[number], abs=1e-5)
        assert (slopes @ columns >= least - 1e-9).all()


@pytest.mark.parametrize("other", [None, "ldp", "pml", "ball"])
@pytest.mark.parametrize("name", SETS)
def test_linear_max_is_the_largest_of_random_columns_and_in_the_cone(name, other):
    cone = RobustCone(SETS[name], Fraction(2))
    if other is not None:
        further = {
            "ldp": LDPCone(cone.prior, Fraction(5, 2)),
            "pml": pml_cone(cone.prior, Fraction(3, 2)),
            "ball": RobustCone(cone.prior.ball("0.15"), Fraction(2)),
        }
        cone = Intersection([cone, further[other]])
    generator = np.random.default_rng(2)
    objectives = generator.standard_normal((4, 12))
    values, vertices = cone.linear_max(objectives)
    for number, vertex in enumerate(vertices.T):
        inside = [int((1 - 1e-8) * value * 2**50 + 1e-8 * 2**50) for value in vertex]
        assert cone.contains(inside)
        plain = cone.relaxed(objectives[:, number])  # the linear program, also where a range needs none
        assert plain is not None
        assert values[number] == pytest.approx(plain[0], abs=1e-7)
    for column in (generator.random((4, 400)) ** 4).T:
        if cone.contains([int(value * 2**40) for value in column]):
            lifts = column / (cone.prior.probabilities @ column)
            assert (objectives.T @ lifts <= values + 1e-7).all()


def test_a_set_of_ones_own_gets_the_design_of_the_hull_that_it_is():
    own, hull = Own(), Hull(CORNERS, nominal=CORNERS[0])
    for utility in ("mutual_information", "guessing"):
        mine, theirs = (lw.design(priors, lift="1.5", utility=utility) for priors in (own, hull))
        assert mine.certificate.holds
        assert mine.value == pytest.approx(theirs.value, abs=1e-6)
        assert mine.bound >= theirs.value - 1e-9
        assert mine.gap <= 1e-6


def test_a_least_mass_that_is_not_concave_is_refused():
    with pytest.raises(InvalidInput, match="not concave"):
        lw.design(Own(wrong=True), lift="1.5")
    with pytest.raises(InvalidInput, match="convex set"):
        RobustCone(LayerCake(Prior.from_counts([500, 300, 200]), "0.01"), Fraction(2)).linear_max(np.eye(3))

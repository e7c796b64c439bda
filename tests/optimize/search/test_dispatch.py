"""Every fast search of the table against the generic one, which serves every pair of cone and utility."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.problem.cones import Intersection, LDPCone, LiftBox, pml_cone
from leakwise.optimize.problem.prior_set_cone import RobustCone
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.search.any_cone import search_generic
from leakwise.optimize.search.dispatch import _SEARCHES, search
from leakwise.optimize.search.labelled import _columns
from leakwise.optimize.search.limits import Limits

LIFT = Fraction(8, 5)
CONES = {
    "pml": lambda prior: pml_cone(prior, LIFT),
    "lip": lambda prior: LiftBox(prior, 1 / LIFT, LIFT),
    "ldp": lambda prior: LDPCone(prior, LIFT),
    "pml and ldp": lambda prior: Intersection([pml_cone(prior, LIFT), LDPCone(prior, LIFT**2)]),
    "lip and ldp": lambda prior: Intersection([LiftBox(prior, 1 / LIFT**2, LIFT), LDPCone(prior, LIFT**2)]),
    "small ball": lambda prior: RobustCone(prior.ball(min(prior.fractions)), LIFT),
    "small ball and ldp": lambda prior: Intersection(
        [RobustCone(prior.ball(min(prior.fractions)), LIFT), LDPCone(prior, LIFT**2)]
    ),
    "all priors": lambda prior: RobustCone(lw.AllPriors(prior), LIFT),
}
UTILITIES = ["mutual_information", "total_variation", "chi_square", "guessing"]


def worth(cone, utility, found):
    return utility.value(found.lifts, found.weights, cone.prior)


@pytest.mark.parametrize("name", UTILITIES)
@pytest.mark.parametrize("kind", CONES)
def test_fast_searches_agree_with_the_generic_one(kind, name):
    generator = np.random.default_rng([len(kind), len(name)])
    for size in (3, 4):
        prior = lw.Prior(generator.integers(1, 9, size).tolist())
        cone, utility = CONES[kind](prior), as_utility(name)
        fast = search(cone, utility, Limits(1e-9), "columns").found
        # What is linear in a column is priced by one linear program for each label, without branching.
        slow = _columns if utility.labelled else search_generic
        generic = slow(cone, utility.weighted(prior) if utility.labelled else utility, Limits(1e-8))
        assert worth(cone, utility, fast) == pytest.approx(worth(cone, utility, generic), abs=1e-6)
        assert worth(cone, utility, fast) <= generic.bound + 1e-9
        assert worth(cone, utility, generic) <= fast.bound + 1e-9


def test_the_table_holds_every_kind_that_cones_and_utilities_have():
    prior = lw.Prior([3, 2, 1])
    kinds = {CONES[kind](prior).kind for kind in CONES} | {"bounded", "any"}
    assert {cone for cone, _ in _SEARCHES} == kinds
    assert ("any", "any") in _SEARCHES


def test_sets_of_priors_are_searched_as_finely_as_linear_programs_are_exact():
    # A finer gap made the design of the estimate, which is only a candidate there, take several times as long.
    limits = Limits(1e-13)
    search(RobustCone(lw.Prior([3, 2, 1]).ball("0.1"), LIFT), as_utility("mutual_information"), limits, "columns")
    assert limits.tolerance == 1e-9


@pytest.mark.parametrize("lift", [1.3, 2])
def test_near_forty_letters_windows_are_left_where_columns_of_nearly_perfect_mass_do_as_well(lift):
    prior = lw.Prior(np.random.default_rng(1).dirichlet(np.ones(40)))
    found = lw.design(prior, lift=lift)
    assert found.method.startswith("columns of nearly perfect mass")
    assert found.gap <= 1.1e-6 * found.bound


def test_masses_on_a_lattice_still_get_windows():
    counts = {letter: 3 + letter % 4 for letter in range(32)}
    found = lw.design(lw.Prior.from_counts(counts), lift=3)
    assert found.gap <= 1e-3 * found.bound

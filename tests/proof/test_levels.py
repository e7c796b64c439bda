"""The bound by levels over boxes of priors and KL balls: above every column there is, and hardly above the best."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from leakwise.optimize.pricing.branch_and_bound import BranchPricing
from leakwise.optimize.problem.prior_set_cone import RobustCone
from leakwise.optimize.problem.utilities import as_utility
from leakwise.priors import Ball, Box, KLBall, Prior, PriorSet
from leakwise.proof import largest_by_levels
from leakwise.proof.optimality.functions import FUNCTIONS

GENERATOR = np.random.default_rng(5)


def some_set(letters: int, *, ball: bool, unseen: bool) -> PriorSet:
    counts = [int(count) for count in GENERATOR.multinomial(1000, GENERATOR.dirichlet(np.ones(letters))) + 1]
    prior = Prior.from_counts([0, *counts[1:]] if unseen else counts)
    if ball:
        return KLBall(prior, Fraction(int(GENERATOR.integers(1, 100)), 1000))
    shares = [Fraction(int(share), 100) for share in GENERATOR.integers(1, 100, letters)]
    lower = [mass * share for mass, share in zip(prior.fractions, shares, strict=True)]
    upper = [mass + (1 - mass) * share / 5 for mass, share in zip(prior.fractions, shares, strict=True)]
    return Box(prior, lower, upper)


@pytest.mark.parametrize("ball", [False, True], ids=["box", "KL ball"])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_no_column_exceeds_the_bound(ball: bool, name: str) -> None:
    f = FUNCTIONS[name]
    for letters, unseen, lift, rounds in ((2, False, 1.3, 2), (4, name == "chi_square", 2.0, 5), (6, False, 20.0, 9)):
        priors = some_set(letters, ball=ball, unseen=unseen)
        p, cone = priors.nominal.probabilities, RobustCone(priors, Fraction(lift))
        y = p * GENERATOR.standard_normal(letters)
        starts = cone.linear_max(p.max() * GENERATOR.standard_normal((letters, 8)) - y[:, None])[1]
        climbed = BranchPricing(cone, as_utility(name)).climb(y, starts)
        columns = np.maximum(np.concatenate([starts, climbed, np.ones((letters, 1))], axis=1), 0.0)
        best, left = float((p @ f(columns) - y @ columns).max()), iter(range(rounds))
        shown = largest_by_levels(f, p, y, priors, lift, best - 1, lambda left=left: next(left, None) is None)
        assert shown >= best - 1e-9


def test_a_letter_between_two_choices_is_not_lost() -> None:
    """With the level of a box at M, the best column may have one lift strictly between 0 and M."""
    prior = Prior.from_counts([40, 25, 20, 15])
    box = Box(prior, [m / 2 for m in prior.fractions], [m * 11 / 10 for m in prior.fractions])
    p, f = prior.probabilities, FUNCTIONS["mutual_information"]
    # Letter 0 is at M, letter 1 at x, the others at 0: π·λ = 1, and what they are below M costs 1 - M/t.
    up = p / 10
    top, x = np.linalg.solve([[p[0], p[1]], [up[1:].sum() + 0.5, -up[1]]], [1.0, 1.0])
    column = np.array([top, x, 0.0, 0.0])
    assert 0 < x < top
    assert 2 * box.least_mass(column[:, None])[0] == pytest.approx(top, abs=1e-12)
    y = np.array([0.0, f(np.array([x]))[0] * p[1] / x, 0.0, 0.0])
    best, left = float(p @ f(column) - y @ column), iter(range(12))
    assert best > 0.2
    assert largest_by_levels(f, p, y, box, 2.0, 0.0, lambda: next(left, None) is None) >= best - 1e-12


def test_what_was_shown_is_shown_again() -> None:
    """A certificate names what the search was shown: asked for just that, the checker must not fall short of it."""
    for ball in (False, True):
        priors = some_set(12, ball=ball, unseen=False)
        f, p = FUNCTIONS["mutual_information"], priors.nominal.probabilities
        left = iter(range(12))
        shown = largest_by_levels(f, p, 0 * p, priors, 1.5, 0.0, lambda left=left: next(left, None) is None)
        eased = shown + 0.01 * abs(shown)
        assert largest_by_levels(f, p, 0 * p, priors, 1.5, eased) == eased


def test_what_is_within_the_room_is_shown_to_be() -> None:
    prior = Prior.from_counts([7, 5, 4, 4, 3, 3, 2, 2])
    box = Box(prior, [m * 9 / 10 for m in prior.fractions], [m * 11 / 10 for m in prior.fractions])
    f, p, y = FUNCTIONS["mutual_information"], prior.probabilities, np.zeros(8)
    left = iter(range(20))
    loose = largest_by_levels(f, p, y, box, 2.0, 0.0, lambda: next(left, None) is None)
    assert 0.5 < loose < np.log(2)  # the estimate alone would allow log 2
    assert largest_by_levels(f, p, y, box, 2.0, loose) == loose
    assert largest_by_levels(f, p, y, box, 2.0, 0.9) == 0.9


def test_other_sets_are_not_spoken_of() -> None:
    prior = Prior([0.5, 0.5])
    ball = Ball(prior, Fraction(1, 10))
    f = FUNCTIONS["mutual_information"]
    assert largest_by_levels(f, prior.probabilities, np.zeros(2), ball, 2.0, 1.0) == np.inf

"""Local differential privacy of many releases against listing them, and against dp_accounting."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.exact import log_lower
from leakwise.leakage.many_releases.privacy_loss import ComposedProfile, joint_ldp
from leakwise.leakage.measures.privacy_profile import PrivacyProfile

DELTAS = (1e-7, 1e-4, 0.01, 0.2)


def spread(values: int, outcomes: int, seed: int, alike: float = 3.0) -> lw.Mechanism:
    return lw.Mechanism(np.random.default_rng(seed).dirichlet(np.full(outcomes, alike), values) * 0.9 + 0.1 / outcomes)


@pytest.mark.parametrize(
    "many",
    [
        spread(2, 2, 1).repeat(30),
        spread(3, 3, 2).repeat(12),
        lw.compose(spread(2, 3, 3).repeat(9), spread(2, 2, 4).repeat(14)),
        lw.Mechanism([[0.999, 0.001, 0], [0.5, 0.5, 0], [0.4, 0.4, 0.2]]).repeat(6),
    ],
    ids=["two values", "three values", "two mechanisms", "an outcome that rules out"],
)
def test_never_below_the_listed_profile_and_close_to_it(many: lw.results.Composition) -> None:
    listed, convolved = PrivacyProfile(many), ComposedProfile(many)
    for delta in DELTAS:
        exact, found = listed.epsilon(delta), convolved.epsilon(delta)
        assert exact <= found
        assert found <= exact + 2e-3 or math.isinf(exact)
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        assert listed.delta(epsilon) <= convolved.delta(epsilon) <= listed.delta(epsilon) * 1.01 + 1e-9
    assert listed.limit <= convolved.limit <= listed.limit + 1e-12
    assert joint_ldp(many) == pytest.approx(lw.ldp(many)) or math.isinf(lw.ldp(many))


@pytest.mark.parametrize(("values", "times"), [(2, 365), (12, 90), (50, 1000)])
def test_at_most_what_dp_accounting_says_of_any_pair(values: int, times: int) -> None:
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    one = spread(values, values, 7, 300.0)
    found = lw.ldp(one.repeat(times), 1e-5)
    logs = np.log(one.matrix)
    apart = [float((one.matrix[0] * (logs[0] - logs[other])).sum()) for other in range(1, values)]
    other = 1 + int(np.argmax(apart))
    rows = [{place: float(log) for place, log in enumerate(logs[row])} for row in (other, 0)]
    peer = accounting.from_two_probability_mass_functions(*rows, value_discretization_interval=1e-4)
    # The other library rounds every loss of this pair up; ours covers all pairs, with a finer grid.
    theirs = peer.self_compose(times).get_epsilon_for_delta(1e-5)
    exact_pair = ComposedProfile(lw.Mechanism(one.matrix[[0, other]]).repeat(times)).epsilon(1e-5)
    assert exact_pair <= theirs + 1e-9
    assert theirs <= exact_pair + times * 1e-4
    assert exact_pair <= found + 1e-3  # a listed one has no grid


def test_large_compositions_are_convolved_and_small_ones_listed() -> None:
    one = spread(4, 4, 5)
    assert isinstance(lw.measures.privacy_profile(one.repeat(3)), PrivacyProfile)
    assert lw.measures.privacy_profile(one.repeat(3)).exact
    many = lw.measures.privacy_profile(one.repeat(500))
    assert isinstance(many, ComposedProfile)
    assert many.epsilon(0) == pytest.approx(500 * lw.ldp(one))
    assert many.epsilon(1e-6) < many.epsilon(0)
    epsilons, deltas = many.curve(points=5)
    assert deltas == sorted(deltas, reverse=True)
    assert len(epsilons) == 5


def two(*rows: list[Fraction]) -> lw.Mechanism:
    return lw.Mechanism([[*row, 1 - sum(row)] for row in rows])


@pytest.mark.parametrize("digits", [17, 20, 320, 400])
def test_the_limit_of_outcomes_beyond_floats_is_not_below_the_truth(digits: int) -> None:
    tiny = Fraction(1, 10**digits)
    rare = two([10 * tiny], [tiny]).repeat(3)
    assert 3 * log_lower(Fraction(10)) <= joint_ldp(rare) < 3 * math.log(10) + 1e-9
    alike = two([Fraction(1, 2) + tiny], [Fraction(1, 2)], [Fraction(1, 2)]).repeat(3)
    assert joint_ldp(alike) >= 3 * log_lower(1 + 2 * tiny)


def test_what_is_ruled_out_once_in_a_million_million_is_not_lost_in_rounding() -> None:
    tiny = Fraction(1, 10**17)
    many = ComposedProfile(two([tiny, Fraction(1, 2)], [Fraction(0), Fraction(1, 2)]).repeat(10**6))
    assert many.limit >= 0.99e-11
    assert many.delta(40.0) >= 0.99e-11
    assert many.epsilon(1e-12) == math.inf


@pytest.mark.parametrize("digits", [18, 40, 250])
def test_a_rare_outcome_takes_no_more_cells_than_there_are(digits: int) -> None:
    tiny, half = Fraction(1, 10**digits), Fraction(1, 2)
    profile = ComposedProfile(two([tiny, half - tiny], [tiny / 2, half - tiny / 2]).repeat(10))
    assert float(5 * tiny) * 0.8 <= profile.delta(0.1) < 1e-5


def test_more_releases_than_any_grid_holds_are_bounded_by_moments() -> None:
    one = lw.randomized_response(3, epsilon=1e-5)
    # The variance of the loss is about 2/3 of ε² for each release, and their number is 10¹².
    assert 4e-2 < ComposedProfile(one.repeat(10**12)).epsilon(1e-6) / 1e3 < 1e-1


def test_moments_hold_where_every_loss_of_a_release_is_below_zero() -> None:
    first = lw.Mechanism([["1/20", "9/20", "1/2"], ["9/20", "1/20", "1/2"]])
    many = lw.compose(first.repeat(2), lw.Mechanism([["3/5", "2/5"], [0, 1]]).repeat(2))
    for lift in (1, 1.5, 3, 13):
        assert ComposedProfile(many).delta(lift=lift) >= PrivacyProfile(many).delta(lift=lift)

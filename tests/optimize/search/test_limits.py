"""Limits of time and memory: one deadline for every stage, a proven gap whatever is left undone, and a warning."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import leakwise as lw
from leakwise.lp import LinearProgram
from leakwise.optimize.search import limits as search
from leakwise.optimize.search.frequencies.search import most_outcomes
from leakwise.optimize.search.frequencies.weights import regular
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.search.master import Master
from leakwise.priors import PriorSet


def dirichlet(size, seed=0, concentration=1.0):
    return lw.Prior(np.random.default_rng(seed).dirichlet(np.full(size, concentration)))


class Clock:
    """A clock that a test moves; every linear program takes a second on it."""

    def __init__(self, monkeypatch):
        self.time, self.limits = 100.0, []
        solve = LinearProgram.solve

        def timed(program, time_limit=None):
            self.limits.append((self.time, time_limit))
            self.time += 1.0
            return solve(program, None if time_limit is None else 60.0)

        monkeypatch.setattr(search, "now", lambda: self.time)
        monkeypatch.setattr(LinearProgram, "solve", timed)


REQUESTS = {
    "columns of nearly perfect mass": (dirichlet(60), "mutual_information"),
    "windows": (dirichlet(12), "mutual_information"),
    "linear": (dirichlet(9), "guessing"),
    "frequencies": (dirichlet(9), "frequencies"),
}


@pytest.mark.parametrize("request_", sorted(REQUESTS))
def test_every_linear_program_gets_the_time_that_is_left_and_no_more(request_, monkeypatch):
    prior, utility = REQUESTS[request_]
    clock = Clock(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        design = lw.design(prior, lift=2, utility=utility, time_limit=10)
    assert design.certificate.holds
    assert clock.limits
    for moment, limit in clock.limits:
        assert limit is not None
        assert limit <= max(110.0 - moment, 1e-3)


def test_no_search_goes_on_when_the_time_is_up(monkeypatch):
    clock = Clock(monkeypatch)
    with pytest.warns(lw.LeakwiseWarning, match=r"time limit of 2 s was reached.*proven gap"):
        design = lw.design(dirichlet(60, concentration=0.3), epsilon=2, time_limit=2)
    assert design.certificate.holds
    assert len(clock.limits) <= 4


def test_a_master_that_has_no_time_keeps_what_it_has():
    master = Master(np.array([0.0, 1.0]), np.array([[1.0, 2.0], [1.0, 0.0]]))
    master._program = SimpleNamespace(solve=lambda seconds: SimpleNamespace(optimal=False))
    assert master.solve(1e-3).weights.tolist() == [1.0, 0.0]


def test_parts_and_shares_of_a_limit(monkeypatch):
    clock = Clock(monkeypatch)
    limits = Limits(seconds=10)
    clock.time += 4
    assert limits.remaining == 6
    assert limits.part(0.5).seconds == 3
    assert limits.part(0.5, 2).seconds == 2
    assert Limits().part(0.5).seconds is None
    assert limits.until(0.3).exhausted
    limits.check()
    clock.time += 7
    with pytest.raises(lw.errors.NotConverged, match="within 10 s"):
        limits.check()
    assert limits.stopped


# -- frequencies of many values ----------------------------------------------------------------------------------------


def test_frequencies_of_two_hundred_letters_come_certified_with_their_gap():
    with pytest.warns(lw.LeakwiseWarning, match="time limit"):
        design = lw.design(dirichlet(200), lift=2, utility="frequencies", time_limit=0.5)
    assert design.certificate.holds
    assert -220 < design.value < design.bound < -195
    assert design.mechanism.shape[1] <= 1600


def test_the_columns_of_a_search_for_frequencies_fit_in_memory():
    for size in (100, 1_000, 3_000, 7_000):
        assert size < most_outcomes(size, None) <= 8 * size
        assert 8 * size * most_outcomes(size, 10**9) <= 500e6  # bytes of one array; a handful are held at once
    with pytest.raises(lw.NotConverged, match="memory"):
        most_outcomes(10_000, None)


def test_a_singular_information_matrix_is_not_taken_for_a_perfect_one():
    assert not regular(np.ones((3, 2)), np.full(2, 0.5))
    for seed in range(4):
        prior = dirichlet(30, seed)
        with pytest.warns(lw.LeakwiseWarning, match="gap"):
            design = lw.design(prior, epsilon=0.8, utility="frequencies", time_limit=1e-9)
        assert -math.inf < design.value <= design.bound < 0


# -- a gap is never left unsaid ----------------------------------------------------------------------------------------


class Two(PriorSet):
    """A set of the user's own, two priors, that makes no claim of being convex."""

    convex = False

    def __init__(self, *members):
        self.members = members

    @property
    def alphabet(self):
        return self.members[0].alphabet

    @property
    def support(self):
        return np.ones(len(self.members[0]), dtype=bool)

    @property
    def nominal(self):
        return self.members[0]

    @property
    def failure(self):
        return 0.0

    def least_mass(self, columns):
        return np.min([member.least_mass(columns) for member in self.members], axis=0)

    def exact_least_mass(self, column):
        return min(member.exact_least_mass(column) for member in self.members)

    def reordered(self, order):
        return Two(*(member.reordered(order) for member in self.members))


def test_a_set_of_the_users_own_tells_its_gap():
    pair = Two(lw.Prior([5, 3, 2]), lw.Prior([2, 3, 5]))
    with pytest.warns(lw.LeakwiseWarning, match=r"proven gap .* [0-9.]+% of it"):
        design = lw.design(pair, lift=2)
    assert design.certificate.holds
    assert design.gap > 0.01 * design.bound


def test_numbers_too_extreme_for_a_search_tell_their_gap():
    with pytest.warns(lw.LeakwiseWarning, match="gap"):
        design = lw.design([0.5, 0.25, 0.25 - 1e-14, 1e-14], lift=2, utility="frequencies")
    assert design.gap > 0.01 * abs(design.bound)


# -- every option with every kind of request ---------------------------------------------------------------------------

KINDS = {
    "one prior": lw.Prior([5, 3, 2]),
    "ball": lw.Prior([5, 3, 2]).ball("0.1"),
    "hull": lw.priors.Hull([lw.Prior([5, 3, 2]), lw.Prior([4, 3, 3])]),
    "all": lw.priors.AllPriors(lw.Prior([5, 3, 2])),
    "own": Two(lw.Prior([5, 3, 2]), lw.Prior([4, 3, 3])),
}
UTILITIES = {
    "mutual_information": "mutual_information",
    "guessing": "guessing",
    "frequencies": "frequencies",
    "worst case": lw.WorstCase([[2, 1, 0], [1, 2, 1], [0, 1, 2]]),
}


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("utility", sorted(UTILITIES))
def test_a_method_works_or_is_refused(kind, utility):
    prior, goal = KINDS[kind], UTILITIES[utility]
    if (kind, utility) == ("own", "worst case"):
        with pytest.raises(lw.errors.InvalidInput, match="Got Two instead"):
            lw.design(prior, lift=2, utility=goal)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        auto = lw.design(prior, lift=2, utility=goal)
        columns = lw.design(prior, lift=2, utility=goal, method="columns")
        assert columns.value == pytest.approx(auto.value, abs=1e-6)
        if kind == "one prior" and utility in ("mutual_information", "frequencies"):
            listed = lw.design(prior, lift=2, utility=goal, method="enumeration")
            assert "vertices" in listed.method
            assert listed.value == pytest.approx(auto.value, abs=1e-6)
        else:
            with pytest.raises(lw.errors.InvalidInput, match="enumeration"):
                lw.design(prior, lift=2, utility=goal, method="enumeration")
